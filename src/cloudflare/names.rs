//! The named workspaces' objects and the Directories, seen from the entrypoint and from each other.
//!
//! Each named workspace has one, called `<tenant>/<name>`, and each tenant a Directory, which lists them. Arguments and answers
//! pass as those of [`super::workspaces`].

use js_sys::Array;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wasm_bindgen::JsValue;
use worker::{Env, ObjectNamespace};

use super::workspaces::{Outcome, call, namespace};
use crate::model::json::Printed;
use crate::model::named::answer::Entry;
use crate::model::named::record::Origin;
use crate::model::named::{Address, Tenant};
use crate::model::request::{CreateRequest, NamesRequest};
use crate::model::{Code, Error, Failure, Result, json};
use crate::ports::Names;
use crate::service::from_object;

/// The objects of named workspaces, and the Directories.
pub struct NamedObjects {
    named: ObjectNamespace,
    directories: ObjectNamespace,
}

/// What is told to the object of a named workspace by others of this Worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NamedMessage {
    /// [`Names::source`]
    Source {
        /// The idempotency key.
        key: Option<String>,
    },
}

/// What is told to a Directory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DirectoryMessage {
    /// [`Names::note`]
    Note(Entry),
    /// [`Names::list`]
    List(NamesRequest),
}

impl NamedObjects {
    /// Those in the namespaces that are bound as `NamedWorkspace` and `Directory`.
    pub fn open(env: &Env) -> Result<Self> {
        Ok(Self { named: namespace(env, "NamedWorkspace")?, directories: namespace(env, "Directory")? })
    }

    /// Has the object of a named workspace carry an operation out. `signal` is an `AbortSignal`, or undefined.
    pub async fn perform(
        &self,
        address: &Address,
        operation: &str,
        arguments: &Value,
        signal: &JsValue,
    ) -> Result<Printed> {
        let name = address.to_string();
        let list = Array::of4(&name.as_str().into(), &operation.into(), &json::text(arguments).into(), signal);
        let outcome = call(&self.named, &name, "perform", &list).await;
        outcome.map_err(|failure| from_object(failure, &format!("The workspace {name:?}")))?.answer()
    }

    async fn tell<T: DeserializeOwned>(&self, address: &Address, message: &NamedMessage) -> Result<T> {
        let name = address.to_string();
        let message = json::print(message).map_err(unexpected)?;
        let list = Array::of2(&name.as_str().into(), &message.into());
        let outcome = call(&self.named, &name, "receive", &list).await;
        let answer = outcome.map_err(|failure| from_object(failure, &format!("The workspace {name:?}")))?.answer()?;
        answer.read().map_err(unexpected)
    }

    async fn ask(&self, tenant: &Tenant, message: &DirectoryMessage) -> Result<Outcome, Failure> {
        let message = json::print(message).map_err(|error| Failure::unexpected("the Directory", error))?;
        call(&self.directories, tenant.as_str(), "receive", &Array::of1(&message.into())).await
    }
}

impl Names for NamedObjects {
    async fn note(&self, tenant: &Tenant, entry: &Entry) -> Result<(), Failure> {
        match self.ask(tenant, &DirectoryMessage::Note(entry.clone())).await? {
            Outcome::Answer(_) => Ok(()),
            Outcome::Error(error) => Err(Failure::new(error.code().as_str(), error.message())),
        }
    }

    async fn list(&self, request: &NamesRequest) -> Result<Value> {
        let unavailable = |failure: Failure| {
            Error::new(
                Code::DirectoryUnavailable,
                format!("The list of workspaces could not be read: {}", failure.message),
                "Try again. Workspaces can be started and stopped all the same.",
            )
            .caused_by(failure)
        };
        let outcome = self.ask(&request.tenant, &DirectoryMessage::List(request.clone())).await;
        outcome.map_err(unavailable)?.answer()?.read().map_err(unexpected)
    }

    async fn source(&self, address: &Address, key: Option<&str>) -> Result<Origin> {
        self.tell(address, &NamedMessage::Source { key: key.map(str::to_owned) }).await
    }

    async fn create(&self, request: &CreateRequest) -> Result<Value> {
        let arguments = request.to_arguments().map_err(unexpected)?;
        self.perform(&request.address, "workspaces/create", &arguments, &JsValue::UNDEFINED)
            .await?
            .read()
            .map_err(unexpected)
    }
}

#[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
fn unexpected(error: String) -> Error {
    Error::new(Code::Internal, format!("Objects of this Worker do not understand each other: {error}."), "Report it.")
}
