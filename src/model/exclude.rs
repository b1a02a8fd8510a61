//! What a capture leaves out: the patterns of `excludes`, and the paths that git ignores.
//!
//! For each of them the server of the SDK (0.12) gives mksquashfs a second pattern, `... <pattern>`, which applies at any depth.
//! Of a pattern with several components mksquashfs applies the first one alone in that form: `... a/b` drops all of `a`.

use super::{Code, Error, Result};

/// How many patterns or paths a message names.
pub const MAX_NAMED: usize = 10;

/// How much of each a message names, in characters.
const MAX_LENGTH: usize = 120;

/// Checks that each pattern leaves out what it names and nothing else.
///
/// # Errors
/// [`Code::ExcludeUnsupported`], which names those that would not.
pub fn check_patterns(patterns: &[String]) -> Result<()> {
    let wide: Vec<&String> = patterns.iter().filter(|pattern| has_slash(pattern)).collect();
    if wide.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        Code::ExcludeUnsupported,
        format!("`excludes` has patterns with a slash, which SDK 0.12 applies to whole directories: {}", named(&wide)),
        "Use patterns without a slash, such as \"node_modules\" or \"*.log\": each leaves out everything of that name, at any \
         depth. A leading \"**/\" and a trailing \"/**\" or \"/\" change nothing and are accepted.",
    ))
}

/// The error for paths that git ignores below a subdirectory of `dir`; `None` where there are none.
pub fn refuse_ignored(dir: &str, paths: &[String]) -> Option<Error> {
    let paths: Vec<&String> = paths.iter().collect();
    (!paths.is_empty()).then(|| {
        Error::new(
            Code::ExcludeUnsupported,
            format!(
                "git ignores paths in subdirectories of {dir:?}, and for these SDK 0.12 leaves out whole directories: {}",
                named(&paths)
            ),
            "Take the snapshot without `gitignore`. To make it smaller, pass `excludes` with names such as \"node_modules\": \
             each leaves out everything of that name, at any depth.",
        )
    })
}

/// Whether mksquashfs gets a pattern of several components, or one that it refuses, from the SDK.
fn has_slash(pattern: &str) -> bool {
    normalized(pattern).trim_end_matches('/').contains('/')
}

/// The pattern as the SDK passes it on: mksquashfs has no `**`. Empty where nothing is passed on.
fn normalized(pattern: &str) -> String {
    let mut pattern = pattern;
    while let Some(rest) = pattern.strip_prefix("**/") {
        pattern = rest;
    }
    let mut pattern = pattern.to_owned();
    while pattern.contains("/**/") {
        pattern = pattern.replace("/**/", "/");
    }
    pattern.strip_suffix("/**").unwrap_or(&pattern).to_owned()
}

/// The first of them, quoted.
fn named(all: &[&String]) -> String {
    let quoted = all.iter().take(MAX_NAMED).map(|text| {
        let shown: String = text.chars().take(MAX_LENGTH).collect();
        let more = if shown.len() < text.len() { "…" } else { "" };
        format!("{shown:?}{more}")
    });
    let quoted: Vec<String> = quoted.collect();
    let more = if all.len() > MAX_NAMED { ", and more" } else { "" };
    format!("{}{more}.", quoted.join(", "))
}
