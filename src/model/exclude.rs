//! Checks of what a capture excludes: the patterns of `excludes`, and what git ignores.
//!
//! For each of them, the SDK's server (0.12) passes mksquashfs a second pattern, `... <pattern>`, which applies at any
//! depth. Of a pattern with several components, mksquashfs applies only the first one at any depth: `... a/b` drops all
//! of `a`. So what git ignores is excluded by the names of the files and directories, if no other path has such a name.

use super::{Error, Result};

/// The maximum number of names that `gitignore` excludes.
pub const MAX_IGNORED_NAMES: usize = 500;

/// The maximum number of patterns or paths that a message quotes.
pub const MAX_QUOTED: usize = 10;

/// The maximum length of each quoted pattern or path, in characters.
const MAX_LENGTH: usize = 120;

/// The names by which a capture excludes what git ignores in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnoredNames {
    /// The names, as patterns of `excludes`: at most one more than [`MAX_IGNORED_NAMES`].
    pub names: Vec<String>,
    /// Paths with such a name that git does not ignore: at most one more than [`MAX_QUOTED`].
    pub kept: Vec<String>,
}

impl IgnoredNames {
    /// Verifies that the names exclude what git ignores in `dir`, and nothing else.
    ///
    /// # Errors
    /// [`Code::ExcludeUnsupported`](super::Code::ExcludeUnsupported), which quotes the paths that would be missing.
    pub fn check(&self, dir: &str) -> Result<()> {
        if self.names.len() > MAX_IGNORED_NAMES {
            return Err(Error::too_many_ignored_names(dir, MAX_IGNORED_NAMES));
        }
        let kept: Vec<&String> = self.kept.iter().collect();
        if kept.is_empty() { Ok(()) } else { Err(Error::ignored_names_kept(dir, &quoted_list(&kept))) }
    }
}

/// Verifies that each pattern excludes what it names and nothing else.
///
/// # Errors
/// [`Code::ExcludeUnsupported`], which quotes the patterns that would exclude more.
pub fn check_patterns(patterns: &[String]) -> Result<()> {
    let with_slash: Vec<&String> = patterns.iter().filter(|pattern| has_slash(pattern)).collect();
    if with_slash.is_empty() {
        return Ok(());
    }
    Err(Error::excludes_with_slash(&quoted_list(&with_slash)))
}

/// Whether the SDK passes mksquashfs a pattern with several components, or one that mksquashfs refuses.
fn has_slash(pattern: &str) -> bool {
    normalized(pattern).trim_end_matches('/').contains('/')
}

/// Returns the pattern as the SDK passes it to mksquashfs, which does not support `**`. Empty if the SDK passes
/// nothing.
pub fn normalized(pattern: &str) -> String {
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

/// Quotes the first [`MAX_QUOTED`] of them.
fn quoted_list(texts: &[&String]) -> String {
    let quoted = texts.iter().take(MAX_QUOTED).map(|text| {
        let shown: String = text.chars().take(MAX_LENGTH).collect();
        let more = if shown.len() < text.len() { "…" } else { "" };
        format!("{shown:?}{more}")
    });
    let quoted: Vec<String> = quoted.collect();
    let more = if texts.len() > MAX_QUOTED { ", and more" } else { "" };
    format!("{}{more}.", quoted.join(", "))
}
