//! The methods of the client: one for each operation, and a stream for each list.

use futures_util::Stream;

use crate::model::checkpoint::{Checkpoint, CheckpointCursor};
use crate::model::files::{FileCursor, FileEntry};
use crate::model::named::answer::WorkspaceEntry;
use crate::model::named::{Address, WorkspaceName};
use crate::model::operation::{Operation, operations, types};
use crate::model::request::{
    CurrentTokenRequest, HealthRequest, ListCheckpointsRequest, ListFilesRequest, ListRequest, ListWorkspacesRequest,
    SnapshotCursor, StopRequest,
};
use crate::pages::stream_items;
use crate::{Client, Result, Transport};

/// The operations on named workspaces, whose files persist across sandboxes.
#[derive(Debug)]
pub struct Workspaces<'a, T>(pub(crate) &'a Client<T>);

/// The operations on checkpoints: named states inside a sandbox that are cheap and local, and disappear with the
/// container.
#[derive(Debug)]
pub struct Checkpoints<'a, T>(pub(crate) &'a Client<T>);

/// The operations on background commands, which run while no caller waits for them.
#[derive(Debug)]
pub struct Commands<'a, T>(pub(crate) &'a Client<T>);

/// The operations on the files of snapshots, and of running sandboxes and workspaces.
#[derive(Debug)]
pub struct Files<'a, T>(pub(crate) &'a Client<T>);

/// The operations on access tokens.
#[derive(Debug)]
pub struct Tokens<'a, T>(pub(crate) &'a Client<T>);

/// The operations on tools for language models.
#[derive(Debug)]
pub struct Tools<'a, T>(pub(crate) &'a Client<T>);

/// Declares the methods of all operations.
macro_rules! methods {
    ($($client:ty {$(
        $(#[doc = $summary:literal])+
        $name:ident = $text:literal, $(fn $method:ident)? ($Request:ident) -> $Answer:ident,
            in $object:ident $(($id:expr))?,
            permission: $permission:ident, needs_bucket: $needs_bucket:literal, repeat: $repeat:ident;
    )+})+) => {$(
        impl<T: Transport> $client {
            $(method! { [$($summary)+] $name $($method)? ($Request) -> $Answer })+
        }
    )+};
}

/// Declares the method of one operation, if the table names it.
macro_rules! method {
    ([$($summary:literal)+] $name:ident $method:ident ($Request:ident) -> $Answer:ident) => {
        $(#[doc = $summary])+
        pub async fn $method(&self, request: &types::$Request) -> Result<types::$Answer> {
            self.client().call_typed(Operation::$name, request).await
        }
    };
    ([$($summary:literal)+] $name:ident ($Request:ident) -> $Answer:ident) => {};
}

operations!(methods);

impl<T: Transport> Client<T> {
    /// Returns a stream of the snapshots of a sandbox, newest first. It reads pages of `limit` on demand.
    pub fn snapshots(&self, request: ListRequest) -> impl Stream<Item = Result<types::Summary>> {
        stream_items(request.cursor.clone(), async move |cursor| {
            let types::Page { snapshots, cursor, .. } = self.list(&ListRequest { cursor, ..request.clone() }).await?;
            Ok((snapshots, cursor.as_deref().map(SnapshotCursor::parse).transpose()?))
        })
    }

    /// Checks the configuration of the deployment, and whether the bucket and the list of workspaces respond.
    pub async fn health(&self) -> Result<types::Health> {
        self.call_typed(Operation::Health, &HealthRequest::default()).await
    }

    const fn client(&self) -> &Self {
        self
    }
}

impl<T: Transport> Workspaces<'_, T> {
    /// As [`stop`](Self::stop), with options of the snapshot.
    pub async fn stop_with(&self, request: &StopRequest) -> Result<types::StoppedWorkspace> {
        self.0.call_typed(Operation::StopWorkspace, request).await
    }

    /// Takes a snapshot if the workspace is persistent, and destroys the sandbox.
    pub async fn stop(&self, address: &Address) -> Result<types::StoppedWorkspace> {
        self.0.call_typed(Operation::StopWorkspace, address).await
    }

    /// Returns a stream of a tenant's workspaces, sorted by name. It reads pages of `limit` on demand.
    pub fn all(&self, request: ListWorkspacesRequest) -> impl Stream<Item = Result<WorkspaceEntry>> {
        stream_items(request.cursor.clone(), async move |cursor| {
            let request = ListWorkspacesRequest { cursor, ..request.clone() };
            let types::WorkspacePage { workspaces, cursor } = self.list(&request).await?;
            Ok((workspaces, cursor.as_deref().map(WorkspaceName::parse).transpose()?))
        })
    }

    const fn client(&self) -> &Client<T> {
        self.0
    }
}

impl<T: Transport> Checkpoints<'_, T> {
    /// Returns a stream of the checkpoints in a running sandbox, newest first. It reads pages of `limit` on demand.
    pub fn all(&self, request: ListCheckpointsRequest) -> impl Stream<Item = Result<Checkpoint>> {
        stream_items(request.cursor.clone(), async move |cursor| {
            let request = ListCheckpointsRequest { cursor, ..request.clone() };
            let types::CheckpointPage { checkpoints, cursor } = self.list(&request).await?;
            Ok((checkpoints, cursor.as_deref().map(CheckpointCursor::parse).transpose()?))
        })
    }

    const fn client(&self) -> &Client<T> {
        self.0
    }
}

impl<T: Transport> Commands<'_, T> {
    const fn client(&self) -> &Client<T> {
        self.0
    }
}

impl<T: Transport> Files<'_, T> {
    /// Returns a stream of the files in a directory, sorted by name. It reads pages of `limit` on demand.
    pub fn all(&self, request: ListFilesRequest) -> impl Stream<Item = Result<FileEntry>> {
        stream_items(request.cursor.clone(), async move |cursor| {
            let request = ListFilesRequest { cursor, ..request.clone() };
            let types::FilePage { files, cursor, .. } = self.list(&request).await?;
            Ok((files, cursor.as_deref().map(FileCursor::parse).transpose()?))
        })
    }

    const fn client(&self) -> &Client<T> {
        self.0
    }
}

impl<T: Transport> Tokens<'_, T> {
    /// Returns what the caller may do.
    pub async fn current(&self) -> Result<types::CurrentToken> {
        self.0.call_typed(Operation::CurrentToken, &CurrentTokenRequest::default()).await
    }

    const fn client(&self) -> &Client<T> {
        self.0
    }
}

impl<T: Transport> Tools<'_, T> {
    const fn client(&self) -> &Client<T> {
        self.0
    }
}
