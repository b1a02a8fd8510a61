//! The output of commands. Answers go to the standard output; warnings, errors and questions to the standard error.
//!
//! - [`answer`]: the answers of the server
//! - [`stream`]: writing to the standard output
//! - [`render`], [`named`], [`times`], [`sanitize`], [`style`], [`table`], [`spinner`]: sizes and times, escaping, colors, tables, progress
//! - [`snapshots`], [`files`], [`changes`], [`workspaces`], [`deleted`], [`stopped`], [`switched`], [`retention`], [`checkpoints`], [`diff`], [`patch`], [`tree`], [`tools`],
//!   [`tokens`], [`health`], [`exec`], [`commands`], [`revive`], [`hooks`], [`loss`], [`last_snapshot`]: the text output of each answer

pub mod answer;
pub mod changes;
pub mod checkpoints;
mod commands;
pub mod deleted;
pub mod diff;
pub mod exec;
pub mod files;
pub mod health;
mod hooks;
pub mod last_snapshot;
pub mod loss;
mod named;
pub mod patch;
pub mod render;
pub mod retention;
mod revive;
pub mod sanitize;
pub mod secrets;
pub mod snapshots;
pub mod spinner;
pub mod stopped;
mod stream;
pub mod style;
pub mod switched;
pub mod table;
mod times;
mod tokens;
mod tools;
pub mod tree;
mod usage;
pub mod workspaces;

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use sandbox_snapshotter_client::ErrorCode;
use sandbox_snapshotter_client::model::Timestamp;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, FailureReport, INPUT_INVALID, Result};
use answer::Answer;
use named::{with_newest, with_target};
use render::{lines, with_flags};
use sanitize::{sanitize, sanitize_for_terminal, sanitize_lines};
pub use stream::{
    is_terminal, print, print_bytes, print_error_bytes, print_final_json, print_indented_json, print_json, print_plain,
};

/// An answer that can be printed.
pub trait Show: DeserializeOwned {
    /// Returns the ids or names of the objects in the answer, for `--quiet`.
    fn ids(&self) -> Vec<String>;

    /// Returns the text output of the answer. Each line ends with a line break.
    fn text(&self, now: Timestamp) -> String;

    /// Returns the output for a file or another program, if it differs from the text output. It is written unchanged.
    fn raw(&self) -> Option<&str> {
        None
    }

    /// Returns a warning about the answer.
    fn warning(&self) -> Option<String> {
        None
    }
}

/// The output settings.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Whether to print one JSON document.
    pub json: bool,
    /// Whether to print only ids and names.
    pub quiet: bool,
}

impl Output {
    /// Prints an answer. If printing fails, the failure contains the ids in the answer.
    pub fn show<T: Show>(self, answer: &Answer<T>) -> Result<()> {
        let printed = match self {
            Self { json: true, .. } => print_json(&answer.raw),
            Self { quiet: true, .. } => print(&ids(&answer.value)),
            Self { .. } => {
                if let Some(warning) = answer.value.warning() {
                    print_warning(&warning);
                }
                match answer.value.raw() {
                    // The output stays that of the diff: none. The reader learns why.
                    Some("") if !is_terminal() => {
                        print_note(&answer.value.text(now()));
                        Ok(())
                    }
                    Some(raw) if !is_terminal() => print_plain(raw),
                    _ => print(&as_called(answer.value.text(now()))),
                }
            }
        };
        printed.map_err(|failure| failure.with_ids(&answer.value.ids()).with_key(answer.key.as_deref()))
    }

    /// Prints one page of a list, except in JSON mode. Only the first page has the header of the table.
    pub fn show_page<T: Show>(self, page: &T, is_first: bool) -> Result<()> {
        if self.quiet {
            return print(&ids(page));
        }
        let text = as_called(page.text(now()));
        match text.split_once('\n') {
            Some((_, rows)) if !is_first => print(rows),
            _ => print(&text),
        }
    }

    /// Prints a failure: in JSON mode as a JSON document, otherwise as text.
    pub fn fail(self, failure: &Failure, command: &str) {
        if let Failure::Reported(report) = failure
            && (!self.json || print_json(&report.envelope(command)).is_err())
        {
            print_failure(failure);
        }
    }
}

fn ids(answer: &impl Show) -> String {
    lines(answer.ids().iter().map(|id| sanitize(id)))
}

/// Prints to the standard error.
pub fn print_note(text: &str) {
    // An error of the standard error cannot be reported.
    let _ = write!(anstream::stderr(), "{}", as_called(text.to_owned()));
}

/// The variable with the command line that runs this program from a clone of the repository.
const PROGRAM: &str = "SNAPSHOTTER_PROGRAM";

/// Replaces the name of this program in the command lines of a text with what the user types to run it.
pub fn as_called(text: String) -> String {
    match std::env::var(PROGRAM) {
        Ok(program) if !program.is_empty() => with_program(&text, &program),
        _ => text,
    }
}

fn with_program(text: &str, program: &str) -> String {
    let begins = ["`", "| ", "&& ", "\n  "];
    begins.iter().fold(text.to_owned(), |text, begin| {
        text.replace(&format!("{begin}snapshotter "), &format!("{begin}{program} "))
    })
}

/// Prints a warning.
pub fn print_warning(text: &str) {
    print_note(&format!("{}: {}\n", style::styled(style::WARNING, "warning"), sanitize_for_terminal(text)));
}

/// Prints a failure as text.
pub fn print_failure(failure: &Failure) {
    let Failure::Reported(report) = failure else { return };
    let error = style::styled(style::BAD, &format!("error[{}]", sanitize_for_terminal(&report.code)));
    let key = report.key.as_deref().filter(|key| !report.remediation.contains(key));
    let further = [
        ("cause", report.cause.as_ref().map(ToString::to_string)),
        ("help", Some(remediation(report)).filter(|help| !help.is_empty())),
        ("note", key.map(|key| format!("repeat the same command with `--idempotency-key {key}` to get its answer"))),
        ("correlation id", report.correlation_id.clone()),
    ];
    let line = |(name, text): (&str, String)| {
        format!("{}: {}", style::styled(style::STRONG, name), sanitize_lines(&text, INDENT))
    };
    let further = further.into_iter().filter_map(|(name, text)| Some(line((name, text?))));
    let first = format!("{error}: {}", sanitize_lines(&message(report), INDENT));
    print_note(&lines(std::iter::once(first).chain(further)));
}

/// The begin of each further line of a text.
const INDENT: &str = "    ";

/// Returns the remediation of a failure, with the flags of this program and the complete addresses of the server's pages.
pub fn remediation(report: &FailureReport) -> String {
    let text = with_flags(&in_times(report, &report.remediation));
    let text = report.target.as_ref().map_or_else(|| text.clone(), |target| with_target(&text, target));
    let text = with_newest(&text, &report.message);
    report.server.as_ref().map_or_else(|| text.clone(), |server| text.replace(" /docs/", &format!(" {server}/docs/")))
}

/// Returns the message of a failure, with the flags of this program. A document, as an answer that can't be decoded, has fields and
/// no options.
pub fn message(report: &FailureReport) -> String {
    let is_of_document = [ErrorCode::ForeignAnswer.as_str(), INPUT_INVALID].contains(&report.code.as_str());
    if is_of_document { report.message.clone() } else { with_flags(&in_times(report, &report.message)) }
}

/// Replaces numbers of seconds in a text of a failure with times, if an option takes a time.
fn in_times(report: &FailureReport, text: &str) -> String {
    if times::refuses_time(&report.message) { times::with_times(text, &as_typed) } else { text.to_owned() }
}

/// Returns an argument of this program, or the value of one, that is this number of seconds.
fn as_typed(seconds: u64) -> Option<String> {
    let arguments = std::env::args_os().skip(1).filter_map(|argument| argument.into_string().ok());
    times::as_typed(seconds, arguments)
}

/// Returns the time of this machine.
pub fn now() -> Timestamp {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::Error;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn command_lines_begin_with_what_the_user_types() {
        let text = "snapshotter: run `snapshotter ls @n`, or `tar c d | snapshotter exec @n tar x`.";
        assert_eq!(
            with_program(text, "npm run -s cli --"),
            "snapshotter: run `npm run -s cli -- ls @n`, or `tar c d | npm run -s cli -- exec @n tar x`."
        );
        assert_eq!(
            with_program("To get them back:\n  snapshotter checkpoint restore @n undo\n", "npm run -s cli --"),
            "To get them back:\n  npm run -s cli -- checkpoint restore @n undo\n"
        );
    }

    #[test]
    fn only_options_in_messages_become_flags() {
        let text = |failure: Failure| match failure {
            Failure::Reported(report) => message(&report),
            Failure::OutputClosed => String::new(),
        };
        let foreign = text(Failure::foreign_answer("the answer can't be decoded: missing field `workspaces`"));
        assert!(foreign.ends_with("missing field `workspaces`."), "{foreign}");
        assert_eq!(text(Failure::invalid("X", "`force: true` is missing", "")), "`--force` is missing");
        let document =
            text(Failure::invalid(INPUT_INVALID, "unknown field `x`, expected `storage` or `incremental`", ""));
        assert!(document.ends_with("expected `storage` or `incremental`"), "{document}");
    }

    /// Returns the texts of the failure of a request with these options.
    fn refused(read: impl FnOnce(&Value) -> Option<Error>, options: &Value) -> (String, String) {
        let Failure::Reported(report) = Failure::from(read(options).unwrap()) else { panic!() };
        (message(&report), remediation(&report))
    }

    #[test]
    fn limits_of_times_have_the_form_that_the_option_takes() {
        use sandbox_snapshotter_client::model::SnapshotRequest;
        use sandbox_snapshotter_client::model::request::{CreateCheckpointRequest, ExecRequest, GrantRequest};
        let snapshot = |options: &Value| SnapshotRequest::decode(options).err();
        let (message, help) = refused(snapshot, &json!({ "sandboxId": "a", "expirationSeconds": 10 }));
        assert_eq!(message, "`--expires` must be 0 or 1m–36500d, got 10s.");
        assert!(
            help.starts_with("Pass 1m to 36500d after the last use, or 0 for a snapshot that never expires."),
            "{help}"
        );

        let checkpoint = |options: &Value| CreateCheckpointRequest::decode(options).err();
        let (message, help) = refused(checkpoint, &json!({ "sandboxId": "a", "name": "b", "expirationSeconds": 30 }));
        assert_eq!(message, "`--expires` must be 0 or 1m–36500d, got 30s.");
        assert_eq!(help, "Pass 1m to 36500d from now, or 0 for a checkpoint that never expires.");

        let grant = |options: &Value| GrantRequest::decode(options).err();
        let workspaces = json!([{ "name": "a", "snapshot": true, "sandboxId": "a" }]);
        let (message, help) = refused(grant, &json!({ "workspaces": workspaces, "expirationSeconds": 31 * 86_400 }));
        assert_eq!((message.as_str(), help.as_str()), ("`--expires` must be 1s–30d, got 31d.", "Pass 1s to 30d."));

        let exec = |options: &Value| ExecRequest::decode(options).err();
        let (message, help) = refused(exec, &json!({ "sandboxId": "a", "command": "b", "timeoutSeconds": 7200 }));
        assert_eq!((message.as_str(), help.as_str()), ("`--timeout` must be 1s–1h, got 2h.", "Pass 1s to 1h."));
    }
}
