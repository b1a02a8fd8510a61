//! The error of a failed call.

use std::fmt;

use serde_json::Value;

use crate::model::exec::StartedForExec;
use crate::model::{self, Code, Failure, Kind, json};
use crate::transport::TransportError;

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of a failed call: an error of the snapshotter, or a failure to reach it or to understand its answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message} → {remediation}")]
pub struct Error {
    code: ErrorCode,
    kind: Kind,
    message: String,
    remediation: String,
    retryable: bool,
    correlation_id: Option<String>,
    #[source]
    cause: Option<Box<Failure>>,
    started: Option<Box<StartedForExec>>,
}

/// The stable code of a failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// A code of the snapshotter.
    Known(Code),
    /// A code of a later snapshotter that this client does not know.
    Other(String),
    /// `SERVICE_UNREACHABLE`: the call did not reach the snapshotter, and had no effect.
    Unreachable,
    /// `ANSWER_LOST`: the call was sent, and no answer arrived. The call may have taken effect.
    AnswerLost,
    /// `FOREIGN_ANSWER`: the answer is not from the snapshotter, or from a version that this client does not
    /// understand.
    ForeignAnswer,
}

impl ErrorCode {
    /// Returns the code as it appears in JSON, in logs and in the documentation.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(code) => code.as_str(),
            Self::Other(code) => code,
            Self::Unreachable => "SERVICE_UNREACHABLE",
            Self::AnswerLost => "ANSWER_LOST",
            Self::ForeignAnswer => "FOREIGN_ANSWER",
        }
    }

    fn parse(text: &str) -> Self {
        let known = Code::ALL.iter().find(|code| code.as_str() == text);
        known.map_or_else(|| Self::Other(text.to_owned()), |code| Self::Known(*code))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq<Code> for ErrorCode {
    fn eq(&self, code: &Code) -> bool {
        matches!(self, Self::Known(known) if known == code)
    }
}

impl Error {
    /// Returns the stable code, for programs.
    pub const fn code(&self) -> &ErrorCode {
        &self.code
    }

    /// Returns the kind of failure.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns what failed, and for which object.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns how to correct the failure.
    pub fn remediation(&self) -> &str {
        &self.remediation
    }

    /// Returns whether the same call may succeed when it is repeated.
    pub const fn retryable(&self) -> bool {
        self.retryable
    }

    /// Returns the id of the call in the snapshotter's log; `None` if the error is not from the snapshotter.
    pub fn correlation_id(&self) -> Option<&str> {
        self.correlation_id.as_deref()
    }

    /// Returns the exception of the platform or the SDK that caused the failure, if there is one.
    pub fn cause(&self) -> Option<&Failure> {
        self.cause.as_deref()
    }

    /// Returns how the workspace was started, or the sandbox revived, for the call before it failed, if it was.
    pub fn started(&self) -> Option<&StartedForExec> {
        self.started.as_deref()
    }

    fn new(code: ErrorCode, kind: Kind, message: String, remediation: &str) -> Self {
        let (retryable, remediation) = (kind == Kind::Transient, remediation.to_owned());
        Self { code, kind, message, remediation, retryable, correlation_id: None, cause: None, started: None }
    }

    /// Parses the error in the body of a response. Returns `None` if the body contains none.
    pub fn from_json(body: &Value) -> Option<Self> {
        let text = |field: &str| body.get(field)?.as_str().map(str::to_owned);
        Some(Self {
            code: ErrorCode::parse(&text("code")?),
            kind: body.get("kind").and_then(|kind| json::from_value(kind).ok()).unwrap_or(Kind::Permanent),
            message: text("message")?,
            remediation: text("remediation")?,
            retryable: body.get("retryable")?.as_bool()?,
            correlation_id: text("correlationId"),
            cause: body.get("cause").and_then(|cause| json::from_value(cause).ok()),
            started: body.get("started").and_then(|started| json::from_value(started).ok()),
        })
    }

    /// Returns the error of a call without an answer. `repeatable` is whether a second call has no effect beyond the
    /// first one.
    pub fn from_transport(error: TransportError, repeatable: bool) -> Self {
        match error {
            TransportError::Unreachable(why) => Self::new(
                ErrorCode::Unreachable,
                Kind::Transient,
                format!("The snapshotter could not be reached: {why}."),
                "Nothing was done. Try again. If the error persists, check that the service binding or the address is that of the Worker.",
            ),
            TransportError::NoAnswer(why) => Self {
                retryable: repeatable,
                ..Self::new(
                    ErrorCode::AnswerLost,
                    Kind::Transient,
                    format!("The call was sent, but no answer arrived: {why}."),
                    if repeatable {
                        "Try again, with the same idempotency key if the call has one."
                    } else {
                        "The call may have taken effect. Check the current state before you repeat it."
                    },
                )
            },
            TransportError::Aborted => Self::new(
                ErrorCode::Known(Code::Aborted),
                Kind::Transient,
                "The caller's AbortSignal fired.".to_owned(),
                "Repeat the call if you still need it: the snapshotter rolls back the operation where possible. It ends a \
                 command, whose changes stay.",
            ),
        }
    }

    /// Returns the error of a call whose last attempt failed with `self` and had no effect, after one with an uncertain outcome.
    pub(crate) fn after_uncertain(self, uncertain: Self) -> Self {
        Self { message: format!("{} {}", uncertain.message, self.message), ..uncertain }
    }

    /// Returns the error for an answer that is not from the snapshotter that this client knows.
    pub(crate) fn foreign_answer(what: &str) -> Self {
        Self::new(
            ErrorCode::ForeignAnswer,
            Kind::Permanent,
            format!("The answer is not from a snapshotter that this client supports: {what}."),
            "Check the service binding or the address, and that the client is not older than the Worker.",
        )
    }
}

/// Converts the error of an invalid id or name, which the client detects before it sends a call.
impl From<model::Error> for Error {
    fn from(error: model::Error) -> Self {
        let code = ErrorCode::Known(error.code());
        let cause = error.cause().cloned().map(Box::new);
        Self { cause, ..Self::new(code, error.code().kind(), error.message().to_owned(), error.remediation()) }
    }
}
