//! Why a command failed.

use sandbox_snapshotter::client::{self, ErrorCode};
use sandbox_snapshotter::model::{self, Code, Kind};
use serde_json::{Value, json};

use crate::exit::Exit;

/// The result of everything fallible here.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// Something to be told.
    Reported(Box<FailureReport>),
    /// The reader closed the output, so nothing can be reported.
    OutputClosed,
}

/// A failure that is told: the server's, or one of this program's own in the same form.
#[derive(Debug)]
pub struct FailureReport {
    /// What the command ends with.
    pub exit: Exit,
    /// The stable code.
    pub code: String,
    /// What sort of failure it is.
    pub kind: Kind,
    /// What happened, to what.
    pub message: String,
    /// What to do about it.
    pub remediation: String,
    /// Whether the same command may succeed later.
    pub retryable: bool,
    /// By which the call is found in the server's log.
    pub correlation_id: Option<String>,
    /// What the platform threw, where something did.
    pub cause: Option<model::Failure>,
    /// The idempotency key of the call, where asking again with it makes sense.
    pub key: Option<String>,
}

impl Failure {
    /// That arguments, settings or input are wrong.
    pub fn invalid(code: &str, message: impl Into<String>, remediation: impl Into<String>) -> Self {
        Self::local(Exit::Invalid, code, message, remediation)
    }

    /// A failure of this program's own, which stays until something is changed.
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
            key: None,
        }))
    }

    /// A failure that may not come again.
    pub fn transient(
        exit: Exit,
        code: &str,
        message: impl Into<String>,
        remediation: impl Into<String>,
        retryable: bool,
    ) -> Self {
        match Self::local(exit, code, message, remediation) {
            Self::Reported(told) => {
                Self::Reported(Box::new(FailureReport { kind: Kind::Transient, retryable, ..*told }))
            }
            Self::OutputClosed => Self::OutputClosed,
        }
    }

    /// That an answer can't be understood.
    pub fn foreign_answer(what: &str) -> Self {
        let code = ErrorCode::ForeignAnswer;
        let message = format!("What answered is not the snapshotter that this program knows: {what}.");
        Self::local(Exit::NoAnswer, code.as_str(), message, remediation_for(&code).unwrap_or_default())
    }

    /// What the command ends with.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Reported(told) => told.exit,
            Self::OutputClosed => Exit::OutputClosed,
        }
    }

    /// The code, where something is told.
    pub const fn code(&self) -> Option<&str> {
        match self {
            Self::Reported(told) => Some(told.code.as_str()),
            Self::OutputClosed => None,
        }
    }

    /// With another sentence of what happened.
    #[must_use]
    pub fn with_sentence(mut self, sentence: &str) -> Self {
        if let Self::Reported(told) = &mut self {
            told.message = format!("{} {sentence}", told.message);
        }
        self
    }

    /// After something else was done: what that was, and what to do now.
    #[must_use]
    pub fn after_step(mut self, done: &str, remediation: &str) -> Self {
        if let Self::Reported(told) = &mut self {
            told.message = format!("{done} {}", told.message);
            remediation.clone_into(&mut told.remediation);
        }
        self
    }

    /// Of something that is done, and is about these.
    #[must_use]
    pub fn with_ids(self, ids: &[String]) -> Self {
        if ids.is_empty() { self } else { self.with_sentence(&format!("It is about {}.", ids.join(", "))) }
    }

    /// Of a call with this idempotency key.
    #[must_use]
    pub fn with_key(mut self, key: Option<&str>) -> Self {
        if let Self::Reported(told) = &mut self
            && (told.retryable
                || told.code == "OUTPUT_FAILED"
                || matches!(told.exit, Exit::NoAnswer | Exit::Interrupted))
        {
            told.key = key.map(str::to_owned);
        }
        self
    }
}

impl FailureReport {
    /// The document that is printed in JSON mode.
    pub fn envelope(&self, command: &str) -> Value {
        let fields = [
            ("code", json!(self.code)),
            ("kind", json!(self.kind)),
            ("message", json!(self.message)),
            ("remediation", json!(self.remediation)),
            ("retryable", json!(self.retryable)),
            ("correlationId", json!(self.correlation_id)),
            ("cause", json!(self.cause)),
            ("idempotencyKey", json!(self.key)),
        ];
        let error: serde_json::Map<_, _> = fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.into(), value))
            .collect();
        json!({ "ok": false, "command": command, "error": error, "exitCode": self.exit.number() })
    }
}

/// What to do about it, where that is another thing for this program than for others.
fn remediation_for(code: &ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::Unreachable => {
            Some("Nothing was done. Check the address and that the server is up; `snapshotter doctor` looks into it.")
        }
        ErrorCode::ForeignAnswer => Some(
            "Check the address: it is that of the Worker, without `/v1`. `snapshotter doctor` says who answers there.",
        ),
        ErrorCode::Known(code) => remediation_for_code(*code),
        _ => None,
    }
}

/// What to do about a problem that an answer tells, whose `own` advice is in terms of the API.
pub fn remediation_or(code: Code, own: &str) -> &str {
    remediation_for_code(code).unwrap_or(own)
}

/// The same for the server's codes.
fn remediation_for_code(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::Unauthorized => {
            "Give the API_TOKEN of the deployment, with --token-file, SNAPSHOTTER_TOKEN or the file of settings."
        }
        Code::InvalidSandboxId => {
            "Give the id that the application passes to getSandbox(), or @NAME for a named workspace."
        }
        Code::InvalidRef => "Give the ref as `snapshot create --json` or `snapshot show --json` prints it.",
        Code::RefMismatch => {
            "Give the ref exactly as it was printed. Where the key was rotated, `snapshot show --json` prints another."
        }
        Code::SnapshotNotFound => "Use another snapshot: `snapshotter snapshot list` shows those that are there.",
        Code::WorkspaceNotFound => {
            "Make it with `snapshotter workspace create`; `snapshotter workspace list` shows those that there are."
        }
        Code::NameTaken => {
            "Use another name, start it with `workspace create --or-start`, or end it with `workspace delete`."
        }
        Code::WorkspaceDiverged => {
            "Start it with --on-diverged: `rescue` saves what was written as a rescue snapshot and restores the newest one before; \
             `adopt` continues with what was written; `discard` restores without it."
        }
        Code::SnapshotStale => {
            "--accept-stale starts it all the same; `workspace update --back-to` goes back to another snapshot; a new \
             workspace begins anew."
        }
        Code::HookFailed => "Mend the command, or let its failure be a warning: --hook-failure warn.",
        _ => return None,
    })
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        let remediation = remediation_for(error.code()).unwrap_or_else(|| error.remediation());
        Self::Reported(Box::new(FailureReport {
            exit: Exit::of(error.code(), error.kind()),
            code: error.code().to_string(),
            kind: error.kind(),
            message: error.message().to_owned(),
            remediation: remediation.to_owned(),
            retryable: error.retryable(),
            correlation_id: error.correlation_id().map(str::to_owned),
            cause: error.cause().cloned(),
            key: None,
        }))
    }
}

/// What is wrong with an id or a name is known before anything is sent.
impl From<model::Error> for Failure {
    fn from(error: model::Error) -> Self {
        client::Error::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_in_words_of_the_command_line() {
        for code in
            [Code::SnapshotNotFound, Code::NameTaken, Code::WorkspaceNotFound, Code::HookFailed, Code::InvalidRef]
        {
            let advice = remediation_for(&ErrorCode::Known(code)).unwrap();
            for word in ["list()", "create()", "onFailure", "snapshot()"] {
                assert!(!advice.contains(word), "{advice}");
            }
        }
    }

    #[test]
    fn a_key_is_told_where_it_can_be_used() {
        let key = |failure: Failure| match failure.with_key(Some("k")) {
            Failure::Reported(told) => told.key,
            Failure::OutputClosed => None,
        };
        assert_eq!(key(Failure::invalid("X", "", "")), None);
        assert_eq!(key(Failure::transient(Exit::Transient, "X", "", "", true)), Some("k".into()));
        assert_eq!(key(Failure::local(Exit::Failed, "OUTPUT_FAILED", "", "")), Some("k".into()));
    }
}
