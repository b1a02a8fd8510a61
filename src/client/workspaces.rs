//! The operations on workspaces that persist by name.

use futures_util::Stream;

use super::pages::each;
use super::{Client, Result, Transport};
use crate::model::named::answer::{DeletedWorkspace, Described, Entries, Entry, Forked, Started, Stopped};
use crate::model::named::{Address, WorkspaceName};
use crate::model::request::{
    CreateRequest, ForkRequest, GetOrCreateRequest, NamesRequest, StartRequest, UpdateRequest,
};

/// Workspaces that persist by name, across sandboxes that come and go.
#[derive(Debug)]
pub struct Workspaces<'a, T>(pub(super) &'a Client<T>);

impl<T: Transport> Workspaces<'_, T> {
    /// Makes a workspace; `NAME_TAKEN` where there is one of the name.
    pub async fn create(&self, request: &CreateRequest) -> Result<Started> {
        self.0.ask("workspaces/create", request).await
    }

    /// Starts a workspace, or makes it where there is none. Of one that exists, only the fingerprint is changed.
    pub async fn get_or_create(&self, request: &GetOrCreateRequest) -> Result<Started> {
        self.0.ask("workspaces/getOrCreate", request).await
    }

    /// What is known of a workspace. Starts nothing.
    pub async fn get_by_name(&self, address: &Address) -> Result<Described> {
        self.0.ask("workspaces/getByName", address).await
    }

    /// A page of a tenant's workspaces, by their names. It may lag a little behind.
    pub async fn list(&self, request: &NamesRequest) -> Result<Entries> {
        self.0.ask("workspaces/list", request).await
    }

    /// All workspaces of a tenant, by their names, read in pages of `limit` as they are needed.
    pub fn all(&self, request: NamesRequest) -> impl Stream<Item = Result<Entry>> {
        each(request.cursor.clone(), async move |cursor| {
            let Entries { workspaces, cursor } = self.list(&NamesRequest { cursor, ..request.clone() }).await?;
            Ok((workspaces, cursor.as_deref().map(WorkspaceName::parse).transpose()?))
        })
    }

    /// Gives a workspace a sandbox that runs with its files in place.
    pub async fn start(&self, request: &StartRequest) -> Result<Started> {
        self.0.ask("workspaces/start", request).await
    }

    /// Takes a snapshot, and ends the sandbox.
    pub async fn stop(&self, address: &Address) -> Result<Stopped> {
        self.0.ask("workspaces/stop", address).await
    }

    /// Makes other workspaces that begin where this one is now, all of them from one snapshot.
    pub async fn fork(&self, request: &ForkRequest) -> Result<Forked<Started>> {
        self.0.ask("workspaces/fork", request).await
    }

    /// Changes how a workspace is kept, or goes back to an earlier snapshot, in a new sandbox.
    pub async fn update(&self, request: &UpdateRequest) -> Result<Described> {
        self.0.ask("workspaces/update", request).await
    }

    /// Ends a workspace, removes its snapshots and frees its name.
    pub async fn delete(&self, address: &Address) -> Result<DeletedWorkspace> {
        self.0.ask("workspaces/delete", address).await
    }
}
