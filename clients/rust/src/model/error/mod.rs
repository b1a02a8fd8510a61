//! The error type of the product, and the constructors of all errors: one for each situation, in a file for each
//! subject. A constructor is named by what failed, and its doc comment names the code.
//!
//! Rules:
//! - An error says what failed for which object (`message`), what to do about it (`remediation`), and whether the same
//!   call may succeed later (`retryable`). Programs switch on `code`, never on `message`.
//! - What the platform or the SDK threw is stored as the [`cause`](Error::cause).
//! - An error of [`Kind::NotFound`] requires a definite answer. An unknown outcome is [`Kind::Transient`].
//! - A message never contains a secret or the content of a file.

mod argument;
mod backup;
mod call;
mod checkpoint;
mod deployment;
mod exec;
mod failure;
mod files;
mod image;
mod ledger;
mod reference;
mod request;
mod restore;
mod revive;
mod runtime;
mod sandbox;
mod sandbox_files;
mod secrets;
mod snapshot;
mod token;
mod tool;
mod workspace;

use serde::{Deserialize, Serialize};

use super::exec::StartedForExec;
use super::{Code, Failure, Kind};

/// The result of every fallible function of the model and of the Worker.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure, readable by people and programs.
///
/// It is serialized when it passes between the objects of this Worker. The serialized form includes the kind of the
/// code, for a release that does not define the code. [`body`](Self::body) is the public form.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Error {
    code: Code,
    message: String,
    remediation: String,
    #[source]
    cause: Option<Box<Failure>>,
    started: Option<Box<StartedForExec>>,
}

/// An error as it passes between objects, which may run different releases.
#[derive(Serialize, Deserialize)]
struct SerializedError {
    code: Code,
    /// Absent in an error of an earlier release. `None` if a later release wrote a kind that this one does not define.
    #[serde(default, deserialize_with = "deserialize_known_kind")]
    kind: Option<Kind>,
    message: String,
    remediation: String,
    cause: Option<Box<Failure>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started: Option<Box<StartedForExec>>,
}

fn deserialize_known_kind<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Kind>, D::Error> {
    serde_json::Value::deserialize(deserializer).map(|kind| Kind::deserialize(kind).ok())
}

impl Serialize for Error {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self { code, message, remediation, cause, started } = self.clone();
        SerializedError { code, kind: Some(code.kind()), message, remediation, cause, started }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let serialized = SerializedError::deserialize(deserializer)?;
        let SerializedError { code, kind, message, remediation, cause, started } = serialized;
        let code = match (code, kind) {
            (Code::Later(later), Some(kind)) => Code::Later(later.with_kind(kind)),
            (code, _) => code,
        };
        Ok(Self { code, message, remediation, cause, started })
    }
}

/// Returns the sentence about the output of a command that failed; empty if there is no output.
fn output_note(output: &str) -> String {
    match output.trim() {
        "" => String::new(),
        output => format!(" Output: \"{output}\"."),
    }
}

impl Error {
    /// Creates a failure with `code`. `message` says what failed for which object, `remediation` what to do about it.
    fn new(code: Code, message: impl Into<String>, remediation: impl Into<String>) -> Self {
        let mut message = message.into();
        // The message may end in text of the SDK, and other sentences may follow it.
        if !message.ends_with(['.', '?', '!', '…']) {
            message.push('.');
        }
        Self { code, message, remediation: remediation.into(), cause: None, started: None }
    }

    /// Returns the code, the message and the remediation as one text. A caller that receives only a text splits it at the arrow.
    pub fn to_text(&self) -> String {
        format!("{}: {} → {}", self.code, self.message, self.remediation)
    }

    /// Returns an example of an error with `code`, for the generated documents.
    #[cfg(feature = "schema")]
    pub fn example(code: Code, message: &str, remediation: &str) -> Self {
        Self::new(code, message, remediation)
    }

    /// Adds what the platform or the SDK threw.
    #[must_use]
    pub fn caused_by(mut self, cause: Failure) -> Self {
        self.cause = Some(Box::new(cause));
        self
    }

    /// Adds a sentence to the message: what else failed, or what remains.
    #[must_use]
    pub fn with_note(mut self, sentence: &str) -> Self {
        self.message.push(' ');
        self.message.push_str(sentence);
        self
    }

    /// Replaces the remediation with one that fits the caller's operation.
    #[must_use]
    pub fn with_remediation(self, remediation: &str) -> Self {
        Self { remediation: remediation.to_owned(), ..self }
    }

    /// Adds how the workspace or the sandbox was started before the call failed. Where files may be lost, the message says
    /// so, because no other answer may report it.
    #[must_use]
    pub fn after_start(mut self, started: Option<StartedForExec>) -> Self {
        let Some(started) = started else { return self };
        if let Some(note) = started.loss_note() {
            self = self.with_note(note);
        }
        self.started = Some(Box::new(started));
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What failed, for which object.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn remediation(&self) -> &str {
        &self.remediation
    }

    /// What the platform or the SDK threw, if it threw something.
    pub fn cause(&self) -> Option<&Failure> {
        self.cause.as_deref()
    }

    /// How the workspace or the sandbox was started before the call failed; `None` as in the answer of a command.
    pub fn started(&self) -> Option<&StartedForExec> {
        self.started.as_deref()
    }

    /// Whether the same call may succeed later. See [`Code::is_retryable`].
    pub fn is_retryable(&self) -> bool {
        self.code.is_retryable()
    }

    /// Returns the public form of the error, which is the same over RPC and HTTP.
    pub fn body<'a>(&'a self, correlation_id: &'a str) -> ErrorBody<'a> {
        ErrorBody {
            code: self.code,
            kind: self.code.kind(),
            message: &self.message,
            remediation: &self.remediation,
            retryable: self.is_retryable(),
            correlation_id,
            cause: self.cause.as_deref(),
            started: self.started.as_deref(),
        }
    }
}

/// An error, in the form that RPC and HTTP share.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Problem"))]
pub struct ErrorBody<'a> {
    /// The stable code, for programs.
    code: Code,
    /// The class of the failure.
    kind: Kind,
    /// What failed, for which object.
    message: &'a str,
    /// What to do about it.
    remediation: &'a str,
    /// Whether the same call may succeed later.
    retryable: bool,
    /// The id under which the log contains the call.
    correlation_id: &'a str,
    /// What the platform or the SDK threw, if it threw something.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a Failure>,
    /// How the workspace was started, or the sandbox revived, before the call failed; absent if it was running. One further
    /// answer says that an earlier start may have lost files.
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<&'a StartedForExec>,
}
