//! The client of the `NamedWorkspace` and Directory objects, for the entrypoint and for other objects.
//!
//! Each named workspace has one object, whose name is `<tenant>/<name>`. Each tenant has one Directory, which lists its
//! named workspaces.

use js_sys::Array;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use worker::Env;

use super::objects::{Objects, Outcome};
use crate::model::named::answer::WorkspaceEntry;
use crate::model::named::messages::{ForkSource, ResumedWorkspace, SnapshotKey};
use crate::model::named::{Address, Tenant};
use crate::model::prices::InstanceType;
use crate::model::request::{CreateRequest, ListWorkspacesRequest};
use crate::model::token_record::TokenMessage;
use crate::model::usage::WorkspaceUsage;
use crate::model::{Error, Failure, Label, Result, SandboxId, SnapshotId, json};
use crate::ports::NamedWorkspaceClient;

/// The `NamedWorkspace` objects and the Directory objects.
pub struct NamedWorkspaceObjects {
    /// The objects of the named workspaces.
    pub named: Objects,
    directories: Objects,
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
    /// [`NamedWorkspaceClient::resume`]
    Resume {
        /// Whether to verify that the sandbox runs with the files in place.
        verify: bool,
    },
    /// [`NamedWorkspaceClient::active_sandbox`]
    ActiveSandbox,
    /// [`NamedWorkspaceClient::sandbox_ids`]
    SandboxIds,
    /// [`NamedWorkspaceClient::is_stopped`]
    IsStopped,
    /// [`NamedWorkspaceClient::source_of`]
    SourceOf {
        /// The sandbox that must be one of the workspace.
        of: Option<SandboxId>,
    },
    /// [`NamedWorkspaceClient::usage`]
    Usage {
        /// The type of the containers.
        instance: InstanceType,
    },
    /// [`NamedWorkspaceClient::origin_of`]
    OriginOf {
        /// The snapshot.
        id: SnapshotId,
    },
    /// [`NamedWorkspaceClient::create_fork`]
    CreateFork {
        /// The options of `workspaces/create`.
        options: Value,
        /// Whether files of the workspace that it is forked from may be lost.
        may_have_lost: bool,
    },
    /// [`NamedWorkspaceClient::find_label`]
    FindLabel {
        /// The label.
        label: Label,
        /// The idempotency key of the call that uses the snapshot.
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
    /// [`NamedWorkspaceClient::call_tokens`]
    Tokens(TokenMessage),
}

impl NamedWorkspaceObjects {
    /// Opens the namespaces that are bound as `NamedWorkspace` and `Directory`.
    pub fn open(env: &Env) -> Result<Self> {
        Ok(Self {
            named: Objects::open(env, "NamedWorkspace", "The workspace")?,
            directories: Objects::open(env, "Directory", "The Directory")?,
        })
    }

    async fn call_directory(&self, tenant: &Tenant, message: &DirectoryMessage) -> Result<Outcome, Failure> {
        let message = json::to_string(message).map_err(|error| Failure::protocol("the Directory", error))?;
        self.directories.call_method(tenant.as_str(), "receive", &Array::of1(&message.into())).await
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
        let outcome = self.call_directory(&request.tenant, &DirectoryMessage::List(request.clone())).await;
        outcome.map_err(Error::directory_unavailable)?.answer()?.parse().map_err(Error::message_unreadable)
    }

    async fn fork_source(&self, address: &Address, key: Option<&str>) -> Result<ForkSource> {
        self.named.call(&address.to_string(), &NamedMessage::Source { key: key.map(str::to_owned) }).await
    }

    async fn resume(&self, address: &Address, verify: bool) -> Result<ResumedWorkspace> {
        self.named.call(&address.to_string(), &NamedMessage::Resume { verify }).await
    }

    async fn active_sandbox(&self, address: &Address) -> Result<SandboxId> {
        self.named.call(&address.to_string(), &NamedMessage::ActiveSandbox).await
    }

    async fn sandbox_ids(&self, address: &Address) -> Result<Vec<SandboxId>> {
        self.named.call(&address.to_string(), &NamedMessage::SandboxIds).await
    }

    async fn is_stopped(&self, address: &Address) -> Result<bool> {
        self.named.call(&address.to_string(), &NamedMessage::IsStopped).await
    }

    async fn source_of(&self, address: &Address, of: Option<&SandboxId>) -> Result<Option<SandboxId>> {
        self.named.call(&address.to_string(), &NamedMessage::SourceOf { of: of.cloned() }).await
    }

    async fn usage(&self, address: &Address, instance: InstanceType) -> Result<WorkspaceUsage> {
        self.named.call(&address.to_string(), &NamedMessage::Usage { instance }).await
    }

    async fn origin_of(&self, address: &Address, snapshot_id: &SnapshotId) -> Result<SandboxId> {
        self.named.call(&address.to_string(), &NamedMessage::OriginOf { id: snapshot_id.clone() }).await
    }

    async fn find_label(&self, address: &Address, label: &Label, key: Option<&str>) -> Result<SnapshotKey> {
        let key = key.map(str::to_owned);
        self.named.call(&address.to_string(), &NamedMessage::FindLabel { label: label.clone(), key }).await
    }

    async fn call_tokens<T: DeserializeOwned + 'static>(&self, tenant: &Tenant, message: &TokenMessage) -> Result<T> {
        let outcome = self.call_directory(tenant, &DirectoryMessage::Tokens(message.clone())).await;
        outcome.map_err(Error::tokens_unavailable)?.answer()?.parse().map_err(Error::message_unreadable)
    }

    async fn create_fork(&self, request: &CreateRequest, may_have_lost: bool) -> Result<Value> {
        let options = json::to_value(request).map_err(Error::message_unreadable)?;
        let message = NamedMessage::CreateFork { options, may_have_lost };
        self.named.call(&request.address.to_string(), &message).await
    }
}
