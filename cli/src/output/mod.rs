//! What is printed. What somebody may want to read or to pass on goes to the standard output, everything else to the
//! standard error.
//!
//! - [`answer`]: what is shown; [`words`]: sizes, ages, and texts from outside, made harmless
//! - [`stream`]: how it gets out
//! - [`table`]: tables, and details of one thing
//! - [`snapshots`], [`workspaces`], [`retention`], [`checkpoints`], [`diff`], [`tree`], [`health`]: each answer, for people

pub mod answer;
pub mod checkpoints;
pub mod diff;
pub mod health;
pub mod render;
pub mod retention;
pub mod sanitize;
pub mod snapshots;
pub mod spinner;
mod stream;
pub mod style;
pub mod table;
pub mod tree;
pub mod workspaces;

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use sandbox_snapshotter::model::Timestamp;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, Result};
use answer::Answer;
use render::{lines, with_flags};
use sanitize::{sanitize, sanitize_for_terminal};
pub use stream::{is_terminal, print, print_final_json, print_json, print_plain};

/// An answer, as people are shown it.
pub trait Show: DeserializeOwned {
    /// The ids or names of what it is about, for programs.
    fn ids(&self) -> Vec<String>;

    /// All of it, for people, in lines that end.
    fn text(&self, now: Timestamp) -> String;

    /// What a file or another program gets in place of the text, byte for byte.
    fn raw(&self) -> Option<&str> {
        None
    }

    /// What people should know of it that is no part of it.
    fn warning(&self) -> Option<String> {
        None
    }
}

/// How things are printed.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// As one JSON document.
    pub json: bool,
    /// Only ids and names.
    pub quiet: bool,
}

impl Output {
    /// Prints an answer. Where that fails, the failure tells what it was about.
    pub fn show<T: Show>(self, answer: &Answer<T>) -> Result<()> {
        let printed = match self {
            Self { json: true, .. } => print_json(&answer.raw),
            Self { quiet: true, .. } => print(&ids(&answer.value)),
            Self { .. } => {
                if let Some(warning) = answer.value.warning() {
                    print_warning(&warning);
                }
                match answer.value.raw() {
                    Some(raw) if !is_terminal() => print_plain(raw),
                    _ => print(&answer.value.text(now())),
                }
            }
        };
        printed.map_err(|failure| failure.with_ids(&answer.value.ids()).with_key(answer.key.as_deref()))
    }

    /// Prints one part of an answer that comes in parts, for people or programs without JSON. Only the first has the head of
    /// the table.
    pub fn show_page<T: Show>(self, part: &T, is_first: bool) -> Result<()> {
        if self.quiet {
            return print(&ids(part));
        }
        let text = part.text(now());
        match text.split_once('\n') {
            Some((_, rows)) if !is_first => print(rows),
            _ => print(&text),
        }
    }

    /// Prints a failure: in JSON mode as a document, else for people.
    pub fn fail(self, failure: &Failure, command: &str) {
        if let Failure::Reported(told) = failure
            && (!self.json || print_json(&told.envelope(command)).is_err())
        {
            print_failure(failure);
        }
    }
}

fn ids(answer: &impl Show) -> String {
    lines(answer.ids().iter().map(|id| sanitize(id)))
}

/// Tells something that is no part of an answer.
pub fn print_note(text: &str) {
    // There is nobody else to tell.
    let _ = write!(anstream::stderr(), "{text}");
}

/// Tells what people should know although nothing failed.
pub fn print_warning(text: &str) {
    print_note(&format!("{}: {}\n", style::styled(style::WARNING, "warning"), sanitize_for_terminal(text)));
}

/// Tells people of a failure.
pub fn print_failure(failure: &Failure) {
    let Failure::Reported(told) = failure else { return };
    let error = style::styled(style::BAD, &format!("error[{}]", sanitize_for_terminal(&told.code)));
    let key = told.key.as_deref().filter(|key| !told.remediation.contains(key));
    let further = [
        ("cause", told.cause.as_ref().map(ToString::to_string)),
        ("help", Some(with_flags(&told.remediation)).filter(|help| !help.is_empty())),
        ("note", key.map(|key| format!("with `--idempotency-key {key}` the same command does nothing twice"))),
        ("correlation id", told.correlation_id.clone()),
    ];
    let line = |(name, text): (&str, String)| {
        format!("{}: {}", style::styled(style::STRONG, name), sanitize_for_terminal(&text))
    };
    let further = further.into_iter().filter_map(|(name, text)| Some(line((name, text?))));
    let first = format!("{error}: {}", sanitize_for_terminal(&with_flags(&told.message)));
    print_note(&lines(std::iter::once(first).chain(further)));
}

/// The time on this machine.
pub fn now() -> Timestamp {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
}
