//! The messages that the sources can make: their texts, with places for what is filled in.

use std::fs;
use std::path::Path;

use super::markdown::root;

/// The shortest text that tells a message, without what is filled in. Shorter ones could be anything.
const MIN_TEXT: usize = 12;

/// What can be said.
pub struct Messages {
    /// Each as its pieces: something is filled in between two of them.
    patterns: Vec<Vec<String>>,
}

impl Messages {
    /// The texts of the Worker, and of both clients.
    pub fn from_sources() -> Self {
        let mut patterns = Vec::new();
        for folder in ["src", "client/src"] {
            visit_files(&root().join(folder), &mut |text| {
                patterns.extend(literals(text).map(|literal| split_placeholders(&literal)));
            });
        }
        patterns.retain(|pieces| pieces.iter().map(String::len).sum::<usize>() >= MIN_TEXT);
        Self { patterns }
    }

    /// Whether the message is one of them, with something filled in. Its full stop may be added late.
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
    let behind = |rest: &str, piece: &String| rest.split_once(piece.as_str()).map(|(_, behind)| behind.to_owned());
    let rest = between.iter().try_fold(rest.to_owned(), |rest, piece| behind(&rest, piece));
    rest.is_some_and(|rest| rest.ends_with(trim_full_stop(last)))
}

/// The end of a message, without its full stop.
fn trim_full_stop(piece: &str) -> &str {
    piece.trim_end_matches('.')
}

/// The text, cut where something is filled in: `{…}` in Rust, `${…}` in TypeScript.
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

/// The literals in a source, with their escapes resolved. Quotes in comments, and single ones as characters, begin none.
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

fn visit_files(folder: &Path, see: &mut impl FnMut(&str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit_files(&path, see);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "ts") {
            see(&fs::read_to_string(&path).unwrap());
        }
    }
}
