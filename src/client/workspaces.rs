//! The operations on named workspaces.

use futures_util::Stream;

use super::pages::stream_items;
use super::{Client, Result, Transport};
use crate::model::named::answer::{
    DeletedWorkspace, ForkedWorkspaces, StartedWorkspace, StoppedWorkspace, WorkspaceDescription, WorkspaceEntry,
    WorkspacePage,
};
use crate::model::named::{Address, WorkspaceName};
use crate::model::request::{
    CreateRequest, ForkRequest, GetOrCreateRequest, ListWorkspacesRequest, StartRequest, UpdateRequest,
};

/// The operations on named workspaces, whose files persist across sandboxes.
#[derive(Debug)]
pub struct Workspaces<'a, T>(pub(super) &'a Client<T>);

impl<T: Transport> Workspaces<'_, T> {
    /// Creates a workspace. Fails with `NAME_TAKEN` if a workspace with the name exists.
    pub async fn create(&self, request: &CreateRequest) -> Result<StartedWorkspace> {
        self.0.call_typed("workspaces/create", request).await
    }

    /// Starts a workspace, or creates it if it does not exist. If it exists, only its fingerprint is changed.
    pub async fn get_or_create(&self, request: &GetOrCreateRequest) -> Result<StartedWorkspace> {
        self.0.call_typed("workspaces/getOrCreate", request).await
    }

    /// Returns the description of a workspace. It starts no container.
    pub async fn get_by_name(&self, address: &Address) -> Result<WorkspaceDescription> {
        self.0.call_typed("workspaces/getByName", address).await
    }

    /// Returns a page of a tenant's workspaces, sorted by name. The list may lag behind the latest changes.
    pub async fn list(&self, request: &ListWorkspacesRequest) -> Result<WorkspacePage> {
        self.0.call_typed("workspaces/list", request).await
    }

    /// Returns a stream of a tenant's workspaces, sorted by name. It reads pages of `limit` on demand.
    pub fn all(&self, request: ListWorkspacesRequest) -> impl Stream<Item = Result<WorkspaceEntry>> {
        stream_items(request.cursor.clone(), async move |cursor| {
            let WorkspacePage { workspaces, cursor } =
                self.list(&ListWorkspacesRequest { cursor, ..request.clone() }).await?;
            Ok((workspaces, cursor.as_deref().map(WorkspaceName::parse).transpose()?))
        })
    }

    /// Starts a workspace: its sandbox runs with the workspace's files in place.
    pub async fn start(&self, request: &StartRequest) -> Result<StartedWorkspace> {
        self.0.call_typed("workspaces/start", request).await
    }

    /// Stops a workspace: takes a snapshot, and destroys the sandbox.
    pub async fn stop(&self, address: &Address) -> Result<StoppedWorkspace> {
        self.0.call_typed("workspaces/stop", address).await
    }

    /// Creates workspaces from the present files of a workspace, all of them from one snapshot.
    pub async fn fork(&self, request: &ForkRequest) -> Result<ForkedWorkspaces<StartedWorkspace>> {
        self.0.call_typed("workspaces/fork", request).await
    }

    /// Changes the settings of a workspace, or goes back to an earlier snapshot in a new sandbox.
    pub async fn update(&self, request: &UpdateRequest) -> Result<WorkspaceDescription> {
        self.0.call_typed("workspaces/update", request).await
    }

    /// Deletes a workspace and its snapshots, and frees its name.
    pub async fn delete(&self, address: &Address) -> Result<DeletedWorkspace> {
        self.0.call_typed("workspaces/delete", address).await
    }
}
