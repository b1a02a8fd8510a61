//! What a call fails with.

use std::fmt;

use serde_json::Value;

use super::transport::Loss;
use crate::model::{self, Code, Failure, Kind, json};

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed call: the snapshotter's own error, or that it was not reached or not understood.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message} {remediation}")]
pub struct Error {
    code: ErrorCode,
    kind: Kind,
    message: String,
    remediation: String,
    retryable: bool,
    correlation_id: Option<String>,
    #[source]
    cause: Option<Box<Failure>>,
}

/// The stable code of a failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// The snapshotter's.
    Known(Code),
    /// That of a later snapshotter, which this client does not know.
    Other(String),
    /// `SERVICE_UNREACHABLE`: nobody took the call, and nothing was done.
    Unreachable,
    /// `ANSWER_LOST`: the call was sent, and no answer came. It may have been carried out.
    AnswerLost,
    /// `FOREIGN_ANSWER`: what answered is not the snapshotter, or one that this client does not understand.
    ForeignAnswer,
}

impl ErrorCode {
    /// The code as it is written everywhere outside of Rust.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(code) => code.as_str(),
            Self::Other(code) => code,
            Self::Unreachable => "SERVICE_UNREACHABLE",
            Self::AnswerLost => "ANSWER_LOST",
            Self::ForeignAnswer => "FOREIGN_ANSWER",
        }
    }

    fn read(text: &str) -> Self {
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
    /// The stable code, for programs.
    pub const fn code(&self) -> &ErrorCode {
        &self.code
    }

    /// What sort of failure it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// What happened, to what.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn remediation(&self) -> &str {
        &self.remediation
    }

    /// Whether the same call, made again, may succeed.
    pub const fn retryable(&self) -> bool {
        self.retryable
    }

    /// By which the call is found in the snapshotter's log; absent where the failure is not the snapshotter's.
    pub fn correlation_id(&self) -> Option<&str> {
        self.correlation_id.as_deref()
    }

    /// What the platform or the SDK threw, where something did.
    pub fn cause(&self) -> Option<&Failure> {
        self.cause.as_deref()
    }

    fn new(code: ErrorCode, kind: Kind, message: String, remediation: &str) -> Self {
        let (retryable, remediation) = (kind == Kind::Transient, remediation.to_owned());
        Self { code, kind, message, remediation, retryable, correlation_id: None, cause: None }
    }

    /// The error that a body tells, if it tells one.
    pub(super) fn read(body: &Value) -> Option<Self> {
        let text = |field: &str| body.get(field)?.as_str().map(str::to_owned);
        Some(Self {
            code: ErrorCode::read(&text("code")?),
            kind: body.get("kind").and_then(|kind| json::read(kind).ok()).unwrap_or(Kind::Permanent),
            message: text("message")?,
            remediation: text("remediation")?,
            retryable: body.get("retryable")?.as_bool()?,
            correlation_id: text("correlationId"),
            cause: body.get("cause").and_then(|cause| json::read(cause).ok()),
        })
    }

    /// That there is no answer. `repeatable` is whether making the call twice does no more than making it once.
    pub(super) fn of_loss(loss: Loss, repeatable: bool) -> Self {
        match loss {
            Loss::Unreachable(why) => Self::new(
                ErrorCode::Unreachable,
                Kind::Transient,
                format!("The snapshotter could not be reached: {why}."),
                "Nothing was done. Try again; if it stays, look whether the service binding, or the address, is that of its Worker.",
            ),
            Loss::Lost(why) => Self {
                retryable: repeatable,
                ..Self::new(
                    ErrorCode::AnswerLost,
                    Kind::Transient,
                    format!("The call was sent, and no answer came: {why}."),
                    if repeatable {
                        "Try again, with the same idempotency key where there is one."
                    } else {
                        "It may have been carried out: look what is there before you call again."
                    },
                )
            },
            Loss::Aborted => Self::new(
                ErrorCode::Known(Code::Aborted),
                Kind::Transient,
                "The AbortSignal of the call has fired.".to_owned(),
                "What it left is taken back; call again when you want it.",
            ),
        }
    }

    /// That somebody else answered.
    pub(super) fn foreign(what: &str) -> Self {
        Self::new(
            ErrorCode::ForeignAnswer,
            Kind::Permanent,
            format!("What answered is not the snapshotter that this client knows: {what}."),
            "Check the service binding or the address, and that the client is not older than the Worker.",
        )
    }
}

/// What is wrong with an id or a name is known before anything is sent.
impl From<model::Error> for Error {
    fn from(error: model::Error) -> Self {
        let code = ErrorCode::Known(error.code());
        let cause = error.cause().cloned().map(Box::new);
        Self { cause, ..Self::new(code, error.code().kind(), error.message().to_owned(), error.remediation()) }
    }
}
