//! The named workspaces as they see each other, and the Directories, which list them and may be down.

use std::future::Future;
use std::rc::Rc;

use sandbox_snapshotter::model::named::answer::Entry;
use sandbox_snapshotter::model::named::record::Origin;
use sandbox_snapshotter::model::named::{Address, Tenant};
use sandbox_snapshotter::model::request::{CreateRequest, NamesRequest};
use sandbox_snapshotter::model::{Code, Error, Failure, Result};
use sandbox_snapshotter::ports::{Index, Names};
use sandbox_snapshotter::service::{Abort, directory};
use serde_json::Value;

use super::workspaces::Others;
use super::{Lost, Named, Service, World};
use crate::index::MemoryIndex;

impl World {
    /// What the Directory of a tenant knows of a workspace.
    pub fn entry(&self, address: &Address) -> Option<Entry> {
        let directories = self.directories.borrow();
        directories.get(&address.tenant).and_then(|index| index.entry(&address.name).unwrap())
    }

    /// Does something with the Directory of a tenant.
    fn directory<T>(&self, tenant: &Tenant, act: impl FnOnce(&MemoryIndex) -> Result<T>) -> Result<T, Failure> {
        let mut directories = self.directories.borrow_mut();
        let index = directories.entry(tenant.clone()).or_default();
        act(index).map_err(|error| Failure::new(error.code().as_str(), error.message()))
    }
}

impl Others {
    async fn ask_named<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        address: &Address,
        message: impl FnOnce(Named) -> F,
    ) -> Result<T> {
        let Self(world) = self;
        let unreachable = || {
            let message = format!("The object of {address} could not be reached.");
            Err(Error::new(Code::WorkspaceUnavailable, message, "Try again."))
        };
        if world.reach(Service::Workspaces).await.is_err() {
            return unreachable();
        }
        world.ask_named(address, message).await.unwrap_or_else(|Lost| unreachable())
    }
}

impl Names for Others {
    async fn note(&self, tenant: &Tenant, entry: &Entry) -> Result<(), Failure> {
        let Self(world) = self;
        let (tenant, entry) = (tenant.clone(), entry.clone());
        let note = async move |world: Rc<World>| {
            world.moment().await;
            world.directory(&tenant, |index| directory::note(index, &entry))
        };
        world.change(Service::Directory, note).await
    }

    async fn list(&self, request: &NamesRequest) -> Result<Value> {
        let Self(world) = self;
        let list = || {
            let page = world.directory(&request.tenant, |index| directory::list(index, request))?;
            Ok(serde_json::to_value(page).unwrap())
        };
        world
            .look(Service::Directory, list)
            .await
            .map_err(|failure| Error::new(Code::DirectoryUnavailable, failure.message, "Try again."))
    }

    async fn source(&self, address: &Address, key: Option<&str>) -> Result<Origin> {
        let key = key.map(ToOwned::to_owned);
        self.ask_named(address, |named| async move { named.source(key).await }).await
    }

    async fn create(&self, request: &CreateRequest) -> Result<Value> {
        let (address, request) = (request.address.clone(), request.clone());
        let started = self.ask_named(&address, |named| async move { named.create(request, Abort::never()).await });
        Ok(serde_json::to_value(started.await?).unwrap())
    }
}
