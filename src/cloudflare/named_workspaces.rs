//! The client of the `NamedWorkspace` and Directory objects, for the entrypoint and for other objects.
//!
//! Each named workspace has one object, whose name is `<tenant>/<name>`. Each tenant has one Directory, which lists its
//! named workspaces. Arguments and answers are encoded as in [`super::workspaces`].

use js_sys::Array;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wasm_bindgen::JsValue;
use worker::{Env, ObjectNamespace};

use super::workspaces::{Outcome, call_object, namespace};
use crate::model::json::RawJson;
use crate::model::named::answer::WorkspaceEntry;
use crate::model::named::record::SnapshotKey;
use crate::model::named::{Address, Tenant};
use crate::model::request::{CreateRequest, ListWorkspacesRequest};
use crate::model::{Code, Error, Failure, Result, json};
use crate::ports::NamedWorkspaceClient;
use crate::service::from_object;

/// The `NamedWorkspace` objects and the Directory objects.
pub struct NamedWorkspaceObjects {
    named: ObjectNamespace,
    directories: ObjectNamespace,
}

/// A message from another object of this Worker to a `NamedWorkspace` object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NamedMessage {
    /// [`NamedWorkspaceClient::fork_source`]
    Source {
        /// The idempotency key.
        key: Option<String>,
    },
}

/// A message to a Directory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DirectoryMessage {
    /// [`NamedWorkspaceClient::update_directory`]
    Note(WorkspaceEntry),
    /// [`NamedWorkspaceClient::list_workspaces`]
    List(ListWorkspacesRequest),
}

impl NamedWorkspaceObjects {
    /// Opens the namespaces that are bound as `NamedWorkspace` and `Directory`.
    pub fn open(env: &Env) -> Result<Self> {
        Ok(Self { named: namespace(env, "NamedWorkspace")?, directories: namespace(env, "Directory")? })
    }

    /// Runs an operation in the object of a named workspace. `signal` is an `AbortSignal`, or undefined.
    pub async fn call(
        &self,
        address: &Address,
        operation: &str,
        arguments: &Value,
        signal: &JsValue,
    ) -> Result<RawJson> {
        let name = address.to_string();
        let list =
            Array::of4(&name.as_str().into(), &operation.into(), &json::value_to_string(arguments).into(), signal);
        let outcome = call_object(&self.named, &name, "perform", &list).await;
        outcome.map_err(|failure| from_object(failure, &format!("The workspace {name:?}")))?.answer()
    }

    async fn call_message<T: DeserializeOwned>(&self, address: &Address, message: &NamedMessage) -> Result<T> {
        let name = address.to_string();
        let message = json::to_string(message).map_err(protocol)?;
        let list = Array::of2(&name.as_str().into(), &message.into());
        let outcome = call_object(&self.named, &name, "receive", &list).await;
        let answer = outcome.map_err(|failure| from_object(failure, &format!("The workspace {name:?}")))?.answer()?;
        answer.parse().map_err(protocol)
    }

    async fn call_directory(&self, tenant: &Tenant, message: &DirectoryMessage) -> Result<Outcome, Failure> {
        let message = json::to_string(message).map_err(|error| Failure::protocol("the Directory", error))?;
        call_object(&self.directories, tenant.as_str(), "receive", &Array::of1(&message.into())).await
    }
}

impl NamedWorkspaceClient for NamedWorkspaceObjects {
    async fn update_directory(&self, tenant: &Tenant, entry: &WorkspaceEntry) -> Result<(), Failure> {
        match self.call_directory(tenant, &DirectoryMessage::Note(entry.clone())).await? {
            Outcome::Answer(_) => Ok(()),
            Outcome::Error(error) => Err(Failure::new(error.code().as_str(), error.message())),
        }
    }

    async fn list_workspaces(&self, request: &ListWorkspacesRequest) -> Result<Value> {
        let unavailable = |failure: Failure| {
            Error::new(
                Code::DirectoryUnavailable,
                format!("The list of workspaces could not be read: {}", failure.message),
                "Try again. Workspaces can still be started and stopped.",
            )
            .caused_by(failure)
        };
        let outcome = self.call_directory(&request.tenant, &DirectoryMessage::List(request.clone())).await;
        outcome.map_err(unavailable)?.answer()?.parse().map_err(protocol)
    }

    async fn fork_source(&self, address: &Address, key: Option<&str>) -> Result<SnapshotKey> {
        self.call_message(address, &NamedMessage::Source { key: key.map(str::to_owned) }).await
    }

    async fn create_workspace(&self, request: &CreateRequest) -> Result<Value> {
        let arguments = json::to_value(request).map_err(protocol)?;
        self.call(&request.address, "workspaces/create", &arguments, &JsValue::UNDEFINED)
            .await?
            .parse()
            .map_err(protocol)
    }
}

#[allow(clippy::needless_pass_by_value)] // `map_err` passes the error by value.
fn protocol(error: String) -> Error {
    Error::new(
        Code::Internal,
        format!("An object of this Worker can't read a message of another: {error}."),
        "Report it.",
    )
}
