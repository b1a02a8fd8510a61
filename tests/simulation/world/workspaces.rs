//! The workspaces of sandboxes, as other objects see them.

use std::future::Future;
use std::rc::Rc;

use sandbox_snapshotter::model::answer::Description;
use sandbox_snapshotter::model::named::messages::{
    Condition, HaltRequest, Halted, LastSnapshot, OnDiverged, ReserveRequest, ResumeRequest, Resumed, Retired,
};
use sandbox_snapshotter::model::named::standing::Standing;
use sandbox_snapshotter::model::named::{Address, Tenant};
use sandbox_snapshotter::model::record::Parent;
use sandbox_snapshotter::model::request::PolicyRequest;
use sandbox_snapshotter::model::{
    BackupId, Code, Error, Failure, Policy, Result, SandboxId, Selection, SnapshotId, SnapshotRequest, Taken,
};
use sandbox_snapshotter::ports::{Loan, Workspaces};
use sandbox_snapshotter::service::{Abort, Snapshotter as _};

use super::{Lost, Service, Snapshotter, World, passing};

/// The workspaces, as one of them sees the others.
pub struct Others(pub Rc<World>);

impl Others {
    /// Asks something that may arrive twice.
    async fn deliver<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        id: &SandboxId,
        message: impl Fn(Snapshotter) -> F + Clone + 'static,
    ) -> Result<Result<T>, Failure> {
        let Self(world) = self;
        world.reach(Service::Workspaces).await?;
        if world.strikes(world.weather.twice) {
            let (again, id, message) = (Rc::clone(world), id.clone(), message.clone());
            world.executor.spawn(0, async move {
                again.moment().await;
                again.ask(&id, message).await.ok();
            });
        }
        world.ask(id, message).await.map_err(|Lost| passing(Service::Workspaces))
    }

    /// Asks for something of which a failure is the platform's, as far as the service can tell.
    async fn tell<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        id: &SandboxId,
        message: impl Fn(Snapshotter) -> F + Clone + 'static,
    ) -> Result<T, Failure> {
        let answer = self.deliver(id, message).await?;
        answer.map_err(|error| Failure::new(error.code().as_str(), error.message()))
    }

    /// Has an operation carried out that may be carried out twice.
    async fn repeatable<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        id: &SandboxId,
        message: impl Fn(Snapshotter) -> F + Clone + 'static,
    ) -> Result<T> {
        self.deliver(id, message).await.unwrap_or_else(|_| Err(unreachable(id)))
    }

    /// Has an operation carried out, once at most.
    async fn once<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        id: &SandboxId,
        message: impl FnOnce(Snapshotter) -> F,
    ) -> Result<T> {
        let Self(world) = self;
        if world.reach(Service::Workspaces).await.is_err() {
            return Err(unreachable(id));
        }
        world.ask(id, message).await.unwrap_or_else(|Lost| Err(unreachable(id)))
    }
}

fn unreachable(id: &SandboxId) -> Error {
    Error::new(Code::WorkspaceUnavailable, format!("The object of {id} could not be reached."), "Try again.")
}

impl Workspaces for Others {
    async fn claim(
        &self,
        id: &SandboxId,
        root_id: &SandboxId,
        parent: Option<&Parent>,
        standing: Option<&Standing>,
        marker: Option<&str>,
    ) -> Result<bool, Failure> {
        let Self(world) = self;
        if world.strikes(world.weather.taken) {
            world.is_taken(id);
        }
        let (root_id, parent, standing) = (root_id.clone(), parent.cloned(), standing.cloned());
        let marker = marker.map(str::to_owned);
        let claim = move |workspace: Snapshotter| {
            let claimed = workspace.claim(&root_id, parent.as_ref(), standing.as_ref(), marker.as_deref());
            async move { claimed }
        };
        self.tell(id, claim).await
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, holder: &SandboxId) -> Result<(), Failure> {
        let (snapshot_id, holder) = (snapshot_id.clone(), holder.clone());
        let release = move |workspace: Snapshotter| {
            let released = workspace.release(&snapshot_id, &holder);
            async move { released }
        };
        self.tell(id, release).await
    }

    async fn root(&self, id: &SandboxId) -> Result<SandboxId, Failure> {
        self.tell(id, async |workspace: Snapshotter| workspace.root()).await
    }

    async fn describe(&self, id: &SandboxId) -> Result<Description, Failure> {
        self.tell(id, async |workspace: Snapshotter| workspace.describe()).await
    }

    async fn sweep(&self, id: &SandboxId, backups: &[(BackupId, SnapshotId)], dry_run: bool) -> Result<usize, Failure> {
        let backups = backups.to_vec();
        let sweep = move |workspace: Snapshotter| {
            let backups = backups.clone();
            async move { workspace.sweep(&backups, dry_run).await }
        };
        self.tell(id, sweep).await
    }

    async fn lend(&self, id: &SandboxId, snapshot_id: &SnapshotId, holder: &SandboxId) -> Result<Loan> {
        let (snapshot_id, holder) = (snapshot_id.clone(), holder.clone());
        let lend = move |workspace: Snapshotter| {
            let (snapshot_id, holder) = (snapshot_id.clone(), holder.clone());
            async move { workspace.lend(&snapshot_id, &holder).await }
        };
        self.repeatable(id, lend).await
    }

    async fn find(&self, selection: &Selection, tenant: &Tenant) -> Result<LastSnapshot> {
        let (selection, tenant) = (selection.clone(), tenant.clone());
        let id = selection.selector.origin_id().clone();
        self.once(&id, |workspace| async move { workspace.find(selection, &tenant).await }).await
    }

    async fn newest(&self, id: &SandboxId) -> Result<Option<LastSnapshot>> {
        self.once(id, |workspace| async move { workspace.newest().await }).await
    }

    async fn capture(&self, request: &SnapshotRequest) -> Result<Taken> {
        let (id, request) = (request.sandbox_id.clone(), request.clone());
        self.once(&id, |workspace| async move { workspace.snapshot(request, Abort::never()).await }).await
    }

    async fn set_policy(&self, id: &SandboxId, policy: &Policy) -> Result<()> {
        let request = PolicyRequest { sandbox_id: id.clone(), policy: policy.clone(), dry_run: false };
        let set = move |workspace: Snapshotter| {
            let request = request.clone();
            async move { workspace.set_retention(request).await.map(drop) }
        };
        self.repeatable(id, set).await
    }

    async fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> Result<bool> {
        let request = request.clone();
        let reserve = move |workspace: Snapshotter| {
            let request = request.clone();
            async move { workspace.reserve(&request).await }
        };
        self.repeatable(id, reserve).await
    }

    async fn look(&self, id: &SandboxId) -> Result<Condition> {
        self.repeatable(id, async |workspace: Snapshotter| workspace.look().await).await
    }

    async fn stirred(&self, id: &SandboxId) -> Result<bool> {
        self.once(id, |workspace| async move { workspace.stirred().await }).await
    }

    async fn resume(&self, id: &SandboxId, request: &ResumeRequest) -> Result<Resumed> {
        let request = request.clone();
        {
            let mut book = self.0.book.borrow_mut();
            let wishes = book.wishes.entry(id.clone()).or_default();
            wishes.allow_empty |= request.start.allow_empty;
            if request.start.on_diverged == OnDiverged::Discard {
                wishes.discarded_at = Some(self.0.now());
            }
        }
        self.once(id, |workspace| async move { workspace.resume(request).await }).await
    }

    async fn halt(&self, id: &SandboxId, request: &HaltRequest) -> Result<Halted> {
        let request = request.clone();
        if !request.snapshot {
            self.0.book.borrow_mut().wishes.entry(id.clone()).or_default().unsaved_at = Some(self.0.now());
        }
        self.once(id, |workspace| async move { workspace.halt(request).await }).await
    }

    async fn retire(&self, id: &SandboxId, address: &Address) -> Result<Retired> {
        let address = address.clone();
        let retire = move |workspace: Snapshotter| {
            let address = address.clone();
            async move { workspace.retire(address).await }
        };
        self.repeatable(id, retire).await
    }
}
