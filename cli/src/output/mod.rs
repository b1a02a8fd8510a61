//! What is printed. What somebody may want to read or to pass on goes to the standard output, everything else to the
//! standard error.
//!
//! - [`words`]: sizes, ages, and texts from outside, made harmless
//! - [`table`]: tables, and details of one thing
//! - [`snapshots`], [`workspaces`], [`retention`], [`checkpoints`], [`diff`], [`tree`], [`health`]: each answer, for people

pub mod checkpoints;
pub mod diff;
pub mod health;
pub mod retention;
pub mod snapshots;
pub mod spinner;
pub mod style;
pub mod table;
pub mod tree;
pub mod words;
pub mod workspaces;

use std::io::{ErrorKind, Write};

use sandbox_snapshotter::model::{Timestamp, json};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::{Failure, Result};
use words::{as_flags, lines, safe};

/// An answer, as people are shown it.
pub trait Show: DeserializeOwned {
    /// The ids or names of what it is about, for programs.
    fn ids(&self) -> Vec<String>;

    /// All of it, for people, in lines that end.
    fn text(&self, now: Timestamp) -> String;
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
    /// Prints an answer.
    pub fn show<T: Show>(self, answer: &Value) -> Result<()> {
        if self.json {
            return document(answer);
        }
        let answer: T =
            json::read(answer).map_err(|why| Failure::foreign(&format!("its answer can't be read: {why}")))?;
        if self.quiet {
            let lines: Vec<_> = answer.ids().iter().map(|id| format!("{}\n", safe(id))).collect();
            return print(&lines.concat());
        }
        print(&answer.text(now()))
    }

    /// Tells something that is not part of the answer.
    pub fn note(self, text: &str) {
        if !self.quiet {
            // There is nobody else to tell.
            let _ = write!(anstream::stderr(), "{text}");
        }
    }

    /// Prints a failure: in JSON mode as a document, else for people.
    pub fn fail(self, failure: &Failure, command: &str) {
        match failure {
            // When that fails too, the exit status still tells.
            Failure::Told(told) if self.json => drop(document(&told.envelope(command))),
            _ => tell(failure),
        }
    }
}

/// Prints a JSON document.
pub fn document(document: &Value) -> Result<()> {
    print_plain(&format!("{document}\n"))
}

/// Tells what people should know although nothing failed.
pub fn warn(text: &str) {
    let warning = style::styled(style::WARNING, "warning");
    let _ = writeln!(anstream::stderr(), "{warning}: {}", safe(text));
}

/// Tells people of a failure.
pub fn tell(failure: &Failure) {
    let Failure::Told(told) = failure else { return };
    let error = style::styled(style::BAD, &format!("error[{}]", safe(&told.code)));
    let key = told.key.as_deref().filter(|key| !told.remediation.contains(key));
    let further = [
        ("cause", told.cause.as_ref().map(ToString::to_string)),
        ("help", Some(as_flags(&told.remediation)).filter(|help| !help.is_empty())),
        ("note", key.map(|key| format!("with `--idempotency-key {key}` the same command does nothing twice"))),
        ("correlation id", told.correlation_id.clone()),
    ];
    let line = |(name, text): (&str, String)| format!("{}: {}", style::styled(style::STRONG, name), safe(&text));
    let further = further.into_iter().filter_map(|(name, text)| Some(line((name, text?))));
    let first = format!("{error}: {}", safe(&told.message));
    // There is nobody else to tell.
    let _ = write!(anstream::stderr(), "{}", lines(std::iter::once(first).chain(further)));
}

/// Prints to the standard output. Colours are left out where they are not wanted.
pub fn print(text: &str) -> Result<()> {
    write_to(anstream::stdout().lock(), text)
}

/// Prints to the standard output, byte for byte.
pub fn print_plain(text: &str) -> Result<()> {
    write_to(std::io::stdout().lock(), text)
}

fn write_to(mut out: impl Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| unprinted(&error))
}

/// Why something could not be printed.
fn unprinted(error: &std::io::Error) -> Failure {
    if error.kind() == ErrorKind::BrokenPipe {
        return Failure::Closed;
    }
    let message = format!("The answer could not be printed: {error}.");
    let remediation = "What was asked for is done. Look where the standard output goes.";
    Failure::own(crate::exit::Exit::Failed, "OUTPUT_FAILED", message, remediation)
}

/// The time on this machine.
pub fn now() -> Timestamp {
    Timestamp::from_millis(chrono::Utc::now().timestamp_millis())
}
