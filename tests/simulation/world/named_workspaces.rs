//! The client by which objects call named workspaces and Directories.

use std::future::Future;
use std::rc::Rc;

use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::record::SnapshotKey;
use sandbox_snapshotter::model::named::{Address, Tenant};
use sandbox_snapshotter::model::request::{CreateRequest, ListWorkspacesRequest};
use sandbox_snapshotter::model::{Code, Error, Failure, Result};
use sandbox_snapshotter::ports::{DirectoryStore, NamedWorkspaceClient};
use sandbox_snapshotter::service::CancellationToken;
use sandbox_snapshotter::service::workspace::directory;
use serde_json::Value;

use super::sandbox_ledgers::PeerClients;
use super::{AnswerLost, NamedService, Service, World};
use crate::directory_store::MemoryDirectoryStore;

impl World {
    /// Returns the entry of a workspace in the Directory of its tenant.
    pub fn directory_entry(&self, address: &Address) -> Option<WorkspaceEntry> {
        let directories = self.directories.borrow();
        directories.get(&address.tenant).and_then(|directory| directory.entry(&address.name).unwrap())
    }

    /// Runs `act` on the Directory of a tenant.
    fn with_directory<T>(
        &self,
        tenant: &Tenant,
        act: impl FnOnce(&MemoryDirectoryStore) -> Result<T>,
    ) -> Result<T, Failure> {
        let mut directories = self.directories.borrow_mut();
        let directory = directories.entry(tenant.clone()).or_default();
        act(directory).map_err(|error| Failure::new(error.code().as_str(), error.message()))
    }
}

impl PeerClients {
    async fn call_named<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        address: &Address,
        message: impl FnOnce(NamedService) -> F,
    ) -> Result<T> {
        let Self(world) = self;
        let unreachable = || {
            let message = format!("The object of {address} could not be reached.");
            Err(Error::new(Code::WorkspaceUnavailable, message, "Try again."))
        };
        if world.reach_service(Service::Workspaces).await.is_err() {
            return unreachable();
        }
        world.call_named(address, message).await.unwrap_or_else(|AnswerLost| unreachable())
    }
}

impl NamedWorkspaceClient for PeerClients {
    async fn update_directory(&self, tenant: &Tenant, entry: &WorkspaceEntry) -> Result<(), Failure> {
        let Self(world) = self;
        let (tenant, entry) = (tenant.clone(), entry.clone());
        let update = async move |world: Rc<World>| {
            world.pass_step().await;
            world.with_directory(&tenant, |store| directory::record_entry(store, &entry))
        };
        world.write(Service::Directory, update).await
    }

    async fn list_workspaces(&self, request: &ListWorkspacesRequest) -> Result<Value> {
        let Self(world) = self;
        let list = || {
            let page = world.with_directory(&request.tenant, |store| directory::list(store, request))?;
            Ok(serde_json::to_value(page).unwrap())
        };
        world
            .read(Service::Directory, list)
            .await
            .map_err(|failure| Error::new(Code::DirectoryUnavailable, failure.message, "Try again."))
    }

    async fn fork_source(&self, address: &Address, key: Option<&str>) -> Result<SnapshotKey> {
        let key = key.map(ToOwned::to_owned);
        self.call_named(address, |named| async move { named.source(key).await }).await
    }

    async fn create_workspace(&self, request: &CreateRequest) -> Result<Value> {
        let (address, request) = (request.address.clone(), request.clone());
        let started =
            self.call_named(&address, |named| async move { named.create(request, CancellationToken::never()).await });
        Ok(serde_json::to_value(started.await?).unwrap())
    }
}
