//! A handle of a named workspace: the operations on it, without its address in each call.

use crate::model::named::Address;
use crate::model::operation::types::{
    DeletedWorkspace, ExecResult, ForkedWorkspaces, StartedWorkspace, StoppedWorkspace, Tree, TurnEnded, Usage,
    WorkspaceDescription,
};
use crate::model::request::{
    ExecRequest, ForkRequest, GetOrCreateRequest, LineageRequest, MigrateRequest, PromoteFrom, PromoteRequest,
    SettingsUpdate, SnapshotRequest, SnapshotText, StartRequest, StopRequest, StopSnapshot, UpdateRequest,
    UsageRequest,
};
use crate::model::{Runtime, TakenSnapshot};
use crate::workspace_commands::WorkspaceCommands;
use crate::workspace_files::WorkspaceFiles;
use crate::{Client, Result, Transport};

/// A handle of a named workspace. It has no connection: each method is one call by the name of the workspace, except for
/// [`snapshot`](Self::snapshot) and [`lineage`](Self::lineage), which first ask for its sandbox, and [`diff`](Self::diff), which
/// first asks for the snapshots.
#[derive(Debug)]
pub struct WorkspaceHandle<'a, T> {
    client: &'a Client<T>,
    address: Address,
}

impl<T> Clone for WorkspaceHandle<'_, T> {
    fn clone(&self) -> Self {
        Self { client: self.client, address: self.address.clone() }
    }
}

impl<T: Transport> Client<T> {
    /// Returns the handle of a workspace by its address, which need not exist, or by an answer about it. Makes no call.
    pub fn workspace(&self, address: impl Into<Address>) -> WorkspaceHandle<'_, T> {
        WorkspaceHandle { client: self, address: address.into() }
    }
}

impl<T: Transport> WorkspaceHandle<'_, T> {
    pub(crate) const fn client(&self) -> &Client<T> {
        self.client
    }

    /// Returns the address of the workspace.
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// Starts the workspace, or creates it if it does not exist.
    pub async fn get_or_create(&self) -> Result<StartedWorkspace> {
        let request = GetOrCreateRequest::of(self.address.clone());
        self.client.workspaces().get_or_create(&request).await
    }

    /// Returns the description of the workspace. Does not start it.
    pub async fn describe(&self) -> Result<WorkspaceDescription> {
        self.client.workspaces().get_by_name(&self.address).await
    }

    /// Returns the files of the workspace, which is started if it is not running.
    pub fn files(&self) -> WorkspaceFiles<'_, T> {
        WorkspaceFiles::new(self.client, self.address.clone())
    }

    /// Returns the background commands of the workspace.
    pub fn commands(&self) -> WorkspaceCommands<'_, T> {
        WorkspaceCommands::new(self.client, self.address.clone())
    }

    /// Runs a command line in the workspace, which is started if it is not running.
    pub async fn exec(&self, command: &str) -> Result<ExecResult> {
        self.client.exec(&ExecRequest::named(self.address.clone(), command)).await
    }

    /// As [`exec`](Self::exec), with options.
    pub async fn exec_with(&self, request: ExecRequest) -> Result<ExecResult> {
        let selection = request.selection.with_address(self.address.clone());
        self.client.exec(&ExecRequest { selection, ..request }).await
    }

    /// Captures the files of the running workspace. `options` changes the request.
    pub async fn snapshot(&self, options: impl FnOnce(SnapshotRequest) -> SnapshotRequest) -> Result<TakenSnapshot> {
        let WorkspaceDescription { sandbox_id, dir, .. } = self.describe().await?;
        let request = SnapshotRequest { dir: Some(dir), ..SnapshotRequest::of(sandbox_id) };
        self.client.snapshot(&options(request)).await
    }

    /// Starts the workspace: a sandbox runs with its files in place.
    pub async fn start(&self) -> Result<StartedWorkspace> {
        self.client.workspaces().start(&StartRequest::of(self.address.clone())).await
    }

    /// As [`start`](Self::start). `options` changes the request.
    pub async fn start_with(&self, options: impl FnOnce(StartRequest) -> StartRequest) -> Result<StartedWorkspace> {
        self.client.workspaces().start(&options(StartRequest::of(self.address.clone()))).await
    }

    /// Takes a snapshot if the workspace is persistent, and destroys its sandbox.
    pub async fn stop(&self) -> Result<StoppedWorkspace> {
        self.client.workspaces().stop(&self.address).await
    }

    /// Takes a snapshot with this label and expiration, and destroys the sandbox.
    pub async fn stop_with(&self, snapshot: StopSnapshot) -> Result<StoppedWorkspace> {
        let request = StopRequest { snapshot: Some(snapshot), ..StopRequest::of(self.address.clone()) };
        self.client.workspaces().stop_with(&request).await
    }

    /// Tells the Worker that an agent's turn has ended. It saves the files soon, if they changed and the settings say so.
    pub async fn turn_ended(&self) -> Result<TurnEnded> {
        self.client.workspaces().turn_ended(&self.address).await
    }

    /// Creates workspaces from the present files of this one, all from one snapshot. `options` changes the request.
    pub async fn fork(&self, options: impl FnOnce(ForkRequest) -> ForkRequest) -> Result<ForkedWorkspaces> {
        self.client.workspaces().fork(&options(ForkRequest::of(self.address.clone()))).await
    }

    /// Changes the settings of the workspace.
    pub async fn update(&self, settings: SettingsUpdate) -> Result<WorkspaceDescription> {
        self.client.workspaces().update(&UpdateRequest::of(self.address.clone(), settings)).await
    }

    /// Continues the workspace from one of its earlier snapshots, in a new sandbox. The present sandbox is stopped with a
    /// snapshot of its own.
    pub async fn rollback(&self, snapshot: impl Into<SnapshotText>) -> Result<WorkspaceDescription> {
        let request = UpdateRequest {
            current_snapshot_id: Some(snapshot.into()),
            ..UpdateRequest::of(self.address.clone(), SettingsUpdate::default())
        };
        self.client.workspaces().update(&request).await
    }

    /// Continues the workspace with the files of another workspace or snapshot of its lineage, in a new sandbox.
    pub async fn promote(&self, from: PromoteFrom) -> Result<WorkspaceDescription> {
        self.client.workspaces().promote(&PromoteRequest::of(self.address.clone(), from)).await
    }

    /// Moves the stopped workspace to another runtime. A running one is stopped with a snapshot before.
    pub async fn migrate(&self, runtime: Runtime) -> Result<StoppedWorkspace> {
        let request = MigrateRequest { address: self.address.clone(), runtime };
        self.client.workspaces().migrate(&request).await
    }

    /// Returns the tree of sandboxes and snapshots that the workspace belongs to.
    pub async fn lineage(&self) -> Result<Tree> {
        self.client.lineage(&LineageRequest::of(self.describe().await?.sandbox_id)).await
    }

    /// Returns what the workspace uses, and its cost by Cloudflare's price list.
    pub async fn usage(&self) -> Result<Usage> {
        let Address { tenant, name } = self.address.clone();
        self.client.usage(&UsageRequest::of_workspace(tenant, name)).await
    }

    /// Deletes the workspace and its snapshots, and frees its name.
    pub async fn delete(&self) -> Result<DeletedWorkspace> {
        self.client.workspaces().delete(&self.address).await
    }
}
