//! The client of this Worker's own Durable Objects, and the form of their responses.
//!
//! Arguments and answers are passed as text, which preserves JSON exactly. The objects have two methods, which must stay
//! the same, because a release calls the objects of the one before during a rollout: `perform` runs an operation, and
//! `receive` handles a message of another object.

use js_sys::Array;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wasm_bindgen::JsValue;
use worker::{Env, ObjectNamespace};

use super::stub;
use crate::model::json::RawJson;
use crate::model::operation::Operation;
use crate::model::{Error, Failure, Result, json};
use crate::service::calls::call_context::{self, CallContext, SideEffects};
use crate::service::from_object;

/// The objects of one class of this Worker.
pub struct Objects {
    namespace: ObjectNamespace,
    /// What an object is, for messages: the name of the object follows it.
    description: &'static str,
}

impl Objects {
    /// Opens the namespace that is bound as `binding`.
    ///
    /// # Errors
    /// [`Code::WorkspaceBindingMissing`].
    pub(super) fn open(env: &Env, binding: &str, description: &'static str) -> Result<Self> {
        let namespace = env.durable_object(binding).map_err(|_| Error::own_binding_missing(binding))?;
        Ok(Self { namespace, description })
    }

    /// Runs an operation in the object with the name `name`. `signal` is an `AbortSignal`, or undefined.
    pub async fn run(&self, name: &str, operation: Operation, arguments: &Value, signal: &JsValue) -> Result<RawJson> {
        let arguments = json::value_to_string(arguments);
        let list = Array::of4(&name.into(), &operation.name().into(), &arguments.into(), signal);
        self.call_method(name, "perform", &list).await.map_err(|failure| self.unavailable(name, failure))?.answer()
    }

    /// Sends a message to the object with the name `name`. Returns its errors unchanged, for the caller of the
    /// operation.
    pub(super) async fn call<T: DeserializeOwned>(&self, name: &str, message: &impl Serialize) -> Result<T> {
        let outcome = self.send(name, message).await.map_err(|failure| self.unavailable(name, failure))?;
        outcome.answer()?.parse().map_err(Error::message_unreadable)
    }

    /// As [`call`](Self::call), for a caller that handles each failure in the same way.
    pub(super) async fn try_call<T: DeserializeOwned>(
        &self,
        name: &str,
        message: &impl Serialize,
    ) -> Result<T, Failure> {
        match self.send(name, message).await? {
            Outcome::Answer(answer) => answer.parse().map_err(|error| Failure::protocol("the workspace", error)),
            Outcome::Error(error) => Err(Failure::new(error.code().as_str(), error.message())),
        }
    }

    async fn send(&self, name: &str, message: &impl Serialize) -> Result<Outcome, Failure> {
        let message = json::to_string(message).map_err(|error| Failure::protocol("the workspace", error))?;
        self.call_method(name, "receive", &Array::of2(&name.into(), &message.into())).await
    }

    /// Calls a method with the correlation id of the current call, and records the side effects of the call.
    pub(super) async fn call_method(&self, name: &str, method: &str, arguments: &Array) -> Result<Outcome, Failure> {
        let correlation_id = CallContext::current().map(|context| context.correlation_id.clone()).unwrap_or_default();
        arguments.push(&correlation_id.into());
        let answer = stub::call(&stub::get(&self.namespace, name)?, method, arguments).await?;
        let envelope = RpcEnvelope::parse(&answer.as_string().unwrap_or_default())
            .map_err(|error| Failure::protocol("the workspace", error))?;
        call_context::record(envelope.side_effects);
        Ok(envelope.outcome)
    }

    fn unavailable(&self, name: &str, failure: Failure) -> Error {
        from_object(failure, &format!("{} {name:?}", self.description))
    }
}

/// The answer of an object, or its error. Objects do not throw, because an exception would lose the members of an
/// error.
#[derive(Debug)]
pub enum Outcome {
    /// The answer.
    Answer(RawJson),
    /// The error.
    Error(Error),
}

/// The response of one object of this Worker to another. Its text is a line of JSON, the head, and then the answer
/// unchanged.
#[derive(Debug)]
pub struct RpcEnvelope {
    /// The answer or the error.
    pub outcome: Outcome,
    /// The side effects of the call.
    pub side_effects: SideEffects,
}

/// The head of an [`RpcEnvelope`].
#[derive(Serialize, Deserialize)]
struct EnvelopeHead {
    error: Option<Error>,
    #[serde(alias = "deeds")]
    side_effects: SideEffects,
}

impl RpcEnvelope {
    /// Returns the text of the envelope.
    pub fn print(self) -> Result<String, String> {
        let (error, answer) = match self.outcome {
            Outcome::Answer(answer) => (None, Some(answer)),
            Outcome::Error(error) => (Some(error), None),
        };
        let mut text = json::to_string(&EnvelopeHead { error, side_effects: self.side_effects })?;
        if let Some(answer) = answer {
            text.push('\n'); // The head contains no line break.
            text.push_str(answer.as_str());
        }
        Ok(text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (head, answer) = text.split_once('\n').map_or((text, None), |(head, answer)| (head, Some(answer)));
        let EnvelopeHead { error, side_effects } = json::from_str(head)?;
        let outcome = match (error, answer) {
            (None, Some(answer)) => Outcome::Answer(RawJson::from_text(answer)),
            (Some(error), None) => Outcome::Error(error),
            _ => return Err("expected either an answer or an error".to_owned()),
        };
        Ok(Self { outcome, side_effects })
    }
}

impl Outcome {
    /// Returns the answer, or the error.
    pub fn answer(self) -> Result<RawJson> {
        match self {
            Self::Answer(answer) => Ok(answer),
            Self::Error(error) => Err(error),
        }
    }
}
