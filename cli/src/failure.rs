//! The failures of commands.

use std::fmt::Display;

use sandbox_snapshotter_client::model::exec::StartedForExec;
use sandbox_snapshotter_client::model::{self, Kind};
use sandbox_snapshotter_client::{self as client, ErrorCode};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output;
use crate::remediation::{remediation_for, remediation_or, with_permission};

/// The result of a fallible function.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// The code of a document that a command reads and that is invalid. Its fields are no options of this program.
pub const INPUT_INVALID: &str = "INPUT_INVALID";

/// The failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// A failure with a report.
    Reported(Box<FailureReport>),
    /// The reader closed the output, so no report can be printed.
    OutputClosed,
}

/// The report of a failure: an error of the server, or one of this program in the same format.
#[derive(Debug)]
pub struct FailureReport {
    /// The exit status of the command.
    pub exit: Exit,
    /// The stable code.
    pub code: String,
    /// The kind of failure.
    pub kind: Kind,
    /// What failed, and for which object.
    pub message: String,
    /// How to correct the failure.
    pub remediation: String,
    /// Whether the same command may succeed when it is repeated.
    pub retryable: bool,
    /// The id of the call in the server's log.
    pub correlation_id: Option<String>,
    /// The exception of the platform that caused the failure, if there is one.
    pub cause: Option<model::Failure>,
    /// How the workspace was started, or the sandbox revived, for the call before it failed.
    pub started: Option<StartedForExec>,
    /// The idempotency key of the call, if the call can be repeated with it.
    pub key: Option<String>,
    /// The sandbox of the call, or its workspace as `@name`. The commands in the remediation have it in place of placeholders.
    pub target: Option<String>,
    /// The address of the server that reported the failure. It serves the pages whose paths are in the texts.
    pub server: Option<String>,
}

impl Failure {
    /// Returns the failure of invalid arguments, settings or input.
    pub fn invalid(code: &str, message: impl Into<String>, remediation: impl Into<String>) -> Self {
        Self::local(Exit::Invalid, code, message, remediation)
    }

    /// Returns a failure of this program that is not transient.
    pub fn local(exit: Exit, code: &str, message: impl Into<String>, remediation: impl Into<String>) -> Self {
        Self::Reported(Box::new(FailureReport {
            exit,
            code: code.to_owned(),
            kind: if exit == Exit::Denied { Kind::PolicyDenied } else { Kind::Permanent },
            message: message.into(),
            remediation: remediation.into(),
            retryable: false,
            correlation_id: None,
            cause: None,
            started: None,
            key: None,
            target: None,
            server: None,
        }))
    }

    /// Returns a transient failure of this program.
    pub fn transient(
        exit: Exit,
        code: &str,
        message: impl Into<String>,
        remediation: impl Into<String>,
        retryable: bool,
    ) -> Self {
        match Self::local(exit, code, message, remediation) {
            Self::Reported(report) => {
                Self::Reported(Box::new(FailureReport { kind: Kind::Transient, retryable, ..*report }))
            }
            Self::OutputClosed => Self::OutputClosed,
        }
    }

    /// Returns the failure of an answer that this program cannot decode. `what` is the reason.
    pub fn foreign_answer(what: &str) -> Self {
        let code = ErrorCode::ForeignAnswer;
        let message = format!("The answer is not from a snapshotter that this program supports: {what}.");
        Self::local(Exit::NoAnswer, code.as_str(), message, remediation_for(&code, false).unwrap_or_default())
    }

    /// Returns the exit status of the command.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Reported(report) => report.exit,
            Self::OutputClosed => Exit::OutputClosed,
        }
    }

    /// Returns the code, if there is a report.
    pub const fn code(&self) -> Option<&str> {
        match self {
            Self::Reported(report) => Some(report.code.as_str()),
            Self::OutputClosed => None,
        }
    }

    /// Replaces the exit status of this program.
    #[must_use]
    pub fn with_exit(mut self, exit: Exit) -> Self {
        if let Self::Reported(report) = &mut self {
            report.exit = exit;
        }
        self
    }

    /// Appends a sentence to the message.
    #[must_use]
    pub fn with_sentence(mut self, sentence: &str) -> Self {
        if let Self::Reported(report) = &mut self {
            report.message = format!("{} {sentence}", report.message);
        }
        self
    }

    /// Replaces a term in the message and in the remediation with that of the user.
    #[must_use]
    pub fn with_term(mut self, term: &str, of_user: &str) -> Self {
        if let Self::Reported(report) = &mut self {
            report.message = report.message.replace(term, of_user);
            report.remediation = report.remediation.replace(term, of_user);
        }
        self
    }

    /// Returns whether the server says when and why a snapshot was removed.
    pub fn is_about_removal(&self) -> bool {
        self.is_about(" was removed at ")
    }

    /// Returns whether the message contains a text.
    pub fn is_about(&self, text: &str) -> bool {
        matches!(self, Self::Reported(report) if report.message.contains(text))
    }

    /// Replaces the message.
    #[must_use]
    pub fn with_message(mut self, message: String) -> Self {
        if let Self::Reported(report) = &mut self {
            report.message = message;
        }
        self
    }

    /// Returns how to correct the failure; empty if there is no output to report it to.
    pub fn remediation(&self) -> &str {
        match self {
            Self::Reported(report) => &report.remediation,
            Self::OutputClosed => "",
        }
    }

    /// Replaces the remediation.
    #[must_use]
    pub fn with_remediation(mut self, remediation: String) -> Self {
        if let Self::Reported(report) = &mut self {
            report.remediation = remediation;
        }
        self
    }

    /// Prepends a sentence about a step that succeeded before, and replaces the remediation.
    #[must_use]
    pub fn after_step(mut self, done: &str, remediation: &str) -> Self {
        if let Self::Reported(report) = &mut self {
            report.message = format!("{done} {}", report.message);
            remediation.clone_into(&mut report.remediation);
        }
        self
    }

    /// Appends the ids in the answer of the completed operation.
    #[must_use]
    pub fn with_ids(self, ids: &[String]) -> Self {
        if ids.is_empty() { self } else { self.with_sentence(&format!("Ids in the answer: {}.", ids.join(", "))) }
    }

    /// Returns how the workspace was started for the call before it failed.
    pub fn started(&self) -> Option<&StartedForExec> {
        match self {
            Self::Reported(report) => report.started.as_ref(),
            Self::OutputClosed => None,
        }
    }

    /// Replaces how the workspace was started with the start for an earlier call of the command.
    #[must_use]
    pub fn with_first_start(mut self, first: &StartedForExec) -> Self {
        if let Self::Reported(report) = &mut self
            && let Some(started) = report.started.replace(first.clone())
            && let (Some(note), Some(of_first)) = (started.loss_note(), first.loss_note())
        {
            report.message = report.message.replace(note, of_first);
        }
        self
    }

    /// Sets the sandbox of the call, or its workspace as `@name`.
    #[must_use]
    pub fn of_target(mut self, target: Option<String>) -> Self {
        if let Self::Reported(report) = &mut self
            && report.target.is_none()
        {
            report.target = target;
        }
        self
    }

    /// Sets the address of the server that reported the failure.
    #[must_use]
    pub fn of_server(mut self, address: impl Display) -> Self {
        if let Self::Reported(report) = &mut self {
            report.server = Some(address.to_string());
        }
        self
    }

    /// Sets the idempotency key of the call, if the call may have had an effect and can be repeated with it.
    #[must_use]
    pub fn with_key(mut self, key: Option<&str>) -> Self {
        if let Self::Reported(report) = &mut self
            && report.code != ErrorCode::Unreachable.as_str()
            && (report.retryable
                || report.code == "OUTPUT_FAILED"
                || matches!(report.exit, Exit::NoAnswer | Exit::Interrupted))
        {
            report.key = key.map(str::to_owned);
        }
        self
    }
}

impl FailureReport {
    /// Returns the document that JSON mode prints.
    pub fn envelope(&self, command: &str) -> Value {
        json!({ "ok": false, "command": command, "error": self.to_json(), "exitCode": self.exit.number() })
    }

    /// Returns the error in the format of the API. Its texts are those for users of this program, in both output modes.
    pub fn to_json(&self) -> Value {
        let fields = [
            ("code", json!(self.code)),
            ("kind", json!(self.kind)),
            ("message", json!(output::message(self))),
            ("remediation", json!(output::remediation(self))),
            ("retryable", json!(self.retryable)),
            ("correlationId", json!(self.correlation_id)),
            ("cause", json!(self.cause)),
            ("started", json!(self.started)),
            ("idempotencyKey", json!(self.key)),
        ];
        let error: serde_json::Map<_, _> = fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.into(), value))
            .collect();
        Value::Object(error)
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        let remediation = match error.code() {
            ErrorCode::Known(code) => remediation_or(*code, error.remediation()),
            code => remediation_for(code, error.retryable()).unwrap_or_else(|| error.remediation()),
        };
        Self::Reported(Box::new(FailureReport {
            exit: Exit::of(error.code(), error.kind()),
            code: error.code().to_string(),
            kind: error.kind(),
            message: error.message().to_owned(),
            remediation: with_permission(remediation, error.message()),
            retryable: error.retryable(),
            correlation_id: error.correlation_id().map(str::to_owned),
            cause: error.cause().cloned(),
            started: error.started().cloned(),
            key: None,
            target: None,
            server: None,
        }))
    }
}

/// Converts the error of an invalid id or name, which is detected before a call is sent.
impl From<model::Error> for Failure {
    fn from(error: model::Error) -> Self {
        client::Error::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use sandbox_snapshotter_client::model::Code;

    use super::*;
    use crate::output::render::with_flags;

    /// Returns the sources of this program.
    fn sources(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: &Path| vec![fs::read_to_string(path).unwrap()];
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { read(&path) }).collect()
    }

    #[test]
    fn every_code_of_this_program_is_in_its_documentation() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let documentation = fs::read_to_string(root.join("../docs/cli.md")).unwrap();
        let is_code =
            |text: &&str| text.contains('_') && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let sources = sources(&root.join("src"));
        let failures = sources.iter().flat_map(|source| source.split("Failure::").skip(1));
        let codes: Vec<_> = failures.filter_map(|failure| failure.split('"').nth(1)).filter(is_code).collect();
        assert!(codes.contains(&"LOCAL_FILE_EXISTS"), "{codes:?}");
        let is_of_server = |code: &str| Code::ALL.iter().any(|known| known.as_str() == code);
        for code in codes.into_iter().filter(|code| !is_of_server(code)) {
            assert!(documentation.contains(&format!("`{code}`")), "{code}");
        }
    }

    #[test]
    fn options_in_texts_of_the_server_become_flags() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut texts = sources(&root.join("clients/rust/src/model/error"));
        texts.extend(sources(&root.join("src/service")));
        let without_comments = |text: &String| -> String {
            text.lines().filter(|line| !line.trim_start().starts_with("//")).fold(String::new(), |all, line| all + line)
        };
        let texts: String = texts.iter().map(without_comments).collect();
        let is_option = |part: &&str| {
            part.starts_with(|first: char| first.is_ascii_lowercase())
                && part.split_once(": ").is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphabetic()))
        };
        let options: Vec<_> = texts.split('`').filter(is_option).map(|part| part.replace("\\\"", "\"")).collect();
        assert!(options.iter().any(|option| option == "secrets: \"exclude\""), "{options:?}");
        // No command of this program calls `files/remove`.
        for option in options.iter().filter(|option| *option != "recursive: true") {
            let flag = with_flags(&format!("`{option}`"));
            assert!(flag.starts_with("`--"), "{flag}");
        }
    }

    #[test]
    fn the_texts_of_a_document_name_the_options_of_this_program() {
        let report = |message, remediation| match Failure::invalid("X", message, remediation) {
            Failure::Reported(report) => report.to_json(),
            Failure::OutputClosed => Value::Null,
        };
        let document = report("`expirationSeconds` must be 0 or 60–3153600000, got 1.", "Pass `force: true`.");
        assert_eq!(document["message"], "`--expires` must be 0 or 1m–36500d, got 1s.");
        assert_eq!(document["remediation"], "Pass `--force`.");
    }

    #[test]
    fn the_key_is_reported_if_the_call_can_be_repeated() {
        let key = |failure: Failure| match failure.with_key(Some("k")) {
            Failure::Reported(report) => report.key,
            Failure::OutputClosed => None,
        };
        assert_eq!(key(Failure::invalid("X", "", "")), None);
        assert_eq!(key(Failure::transient(Exit::Transient, "X", "", "", true)), Some("k".into()));
        assert_eq!(key(Failure::local(Exit::Failed, "OUTPUT_FAILED", "", "")), Some("k".into()));
        let unreachable = ErrorCode::Unreachable;
        assert_eq!(key(Failure::transient(Exit::NoAnswer, unreachable.as_str(), "", "", true)), None);
    }
}
