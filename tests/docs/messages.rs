//! The messages that the sources contain, as patterns with placeholders.

use std::fs;
use std::path::Path;

use super::markdown::root;

/// The shortest pattern, in bytes without placeholders. A shorter one would match unrelated messages.
const MIN_TEXT: usize = 12;

/// The patterns of all messages.
pub struct Messages {
    /// Each as the pieces between its placeholders.
    patterns: Vec<Vec<String>>,
}

impl Messages {
    /// Reads the messages of the Worker and of both clients.
    pub fn from_sources() -> Self {
        let mut patterns = Vec::new();
        for folder in ["src", "clients/rust/src", "client/src"] {
            visit_files(&root().join(folder), &mut |text| {
                patterns.extend(literals(text).map(|literal| split_placeholders(&literal)));
            });
        }
        patterns.retain(|pieces| pieces.iter().map(String::len).sum::<usize>() >= MIN_TEXT);
        Self { patterns }
    }

    /// Whether a pattern matches the message. The code may add the full stop later, so it is ignored.
    pub fn matches(&self, message: &str) -> bool {
        let message = message.trim_end_matches('.');
        self.patterns.iter().any(|pieces| fits_pattern(message, pieces))
    }
}

fn fits_pattern(message: &str, pieces: &[String]) -> bool {
    let Some((first, others)) = pieces.split_first() else { return false };
    let Some(rest) = message.strip_prefix(first.as_str()) else {
        return others.is_empty() && message == trim_full_stop(first);
    };
    let Some((last, between)) = others.split_last() else { return rest.is_empty() };
    let after = |rest: &str, piece: &String| rest.split_once(piece.as_str()).map(|(_, after)| after.to_owned());
    let rest = between.iter().try_fold(rest.to_owned(), |rest, piece| after(&rest, piece));
    rest.is_some_and(|rest| rest.ends_with(trim_full_stop(last)))
}

/// Removes the full stop at the end of a piece.
fn trim_full_stop(piece: &str) -> &str {
    piece.trim_end_matches('.')
}

/// Splits a literal at its placeholders: `{…}` in Rust, `${…}` in TypeScript.
fn split_placeholders(literal: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut depth = 0;
    for c in literal.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    pieces.push(String::new());
                }
            }
            c if depth == 0 => pieces.last_mut().expect("a piece").push(c),
            _ => (),
        }
    }
    pieces.iter().map(|piece| piece.trim_end_matches('$').to_owned()).collect()
}

/// The string literals of a source, with their escapes resolved. Ignores quotes in comments and character literals.
fn literals(source: &str) -> impl Iterator<Item = String> {
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n").replace("'\"'", "").replace("'`'", "");
    let mut found = Vec::new();
    let mut chars = code.chars().peekable();
    while let Some(quote) = chars.next() {
        if !matches!(quote, '"' | '`') {
            continue;
        }
        let mut text = String::new();
        while let Some(c) = chars.next() {
            match c {
                c if c == quote => break,
                '\\' => match chars.next() {
                    Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                    Some(escaped) => text.push(if escaped == 'n' { '\n' } else { escaped }),
                    None => break,
                },
                c => text.push(c),
            }
        }
        found.push(text);
    }
    found.into_iter()
}

fn visit_files(folder: &Path, visit: &mut impl FnMut(&str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit_files(&path, visit);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "ts") {
            visit(&fs::read_to_string(&path).unwrap());
        }
    }
}
