//! The Workspace objects, seen from the entrypoint.
//!
//! Each sandbox has one, by the sandbox's id. It is one place with one memory, where isolates of a Worker share nothing,
//! so it does the work: guards that hold for all callers can only be there. Arguments and answers pass as text, which
//! keeps JSON as it is.

use js_sys::Array;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wasm_bindgen::JsValue;
use worker::{Env, ObjectNamespace};

use super::stub;
use crate::model::{Code, Error, Failure, Result, SandboxId};

const BINDING: &str = "Workspace";

/// The Workspace objects of this Worker.
pub struct Workspaces {
    namespace: ObjectNamespace,
}

/// What a Workspace object answers: an exception would lose what an error carries.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The JSON that was asked for.
    Answer(Value),
    /// Why there is none.
    Error(Error),
}

impl Workspaces {
    /// Those in the namespace that is bound as `Workspace`.
    pub fn open(env: &Env) -> Result<Self> {
        let namespace = env.durable_object(BINDING).map_err(|_| {
            Error::new(
                Code::WorkspaceBindingMissing,
                format!("This Worker's own Durable Objects are not bound to it as {BINDING:?}. Nothing was touched."),
                format!(
                    "Add to wrangler.toml and deploy again:\n\n[[durable_objects.bindings]]\nname = \"{BINDING}\"\n\
                     class_name = \"{BINDING}\"\n\n[[migrations]]\ntag = \"<a new one>\"\nnew_sqlite_classes = [\"{BINDING}\"]"
                ),
            )
        })?;
        Ok(Self { namespace })
    }

    /// Has the Workspace object of `id` carry an operation out. `signal` is an `AbortSignal`, or undefined.
    pub async fn perform(&self, id: &SandboxId, operation: &str, arguments: &Value, signal: &JsValue) -> Result<Value> {
        let failed = |failure: Failure| {
            Error::new(
                Code::WorkspaceUnavailable,
                format!("The workspace of the sandbox {:?} could not be reached: {}", id.as_str(), failure.message),
                "Whether the operation was carried out is not known. Look before you try again.",
            )
            .caused_by(failure)
        };
        let list = Array::of3(&operation.into(), &arguments.to_string().into(), signal);
        let answer = stub::call(&self.namespace, id.as_str(), "perform", &list).await.map_err(failed)?;
        let outcome = serde_json::from_str(&answer.as_string().unwrap_or_default());
        match outcome.map_err(|error| failed(Failure::unexpected("the workspace", error)))? {
            Outcome::Answer(answer) => Ok(answer),
            Outcome::Error(error) => Err(error),
        }
    }
}
