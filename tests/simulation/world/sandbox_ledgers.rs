//! The client by which objects call the ledgers of sandboxes.

use std::future::Future;
use std::rc::Rc;

use sandbox_snapshotter::model::answer::WorkspaceLineage;
use sandbox_snapshotter::model::named::binding::WorkspaceBinding;
use sandbox_snapshotter::model::named::messages::{
    Condition, Decommissioned, EnsureRunningRequest, EnsuredRunning, LastSnapshot, OnDiverged, ReserveRequest,
    SandboxStopped, StopSandboxRequest,
};
use sandbox_snapshotter::model::named::{Address, Tenant};
use sandbox_snapshotter::model::record::ParentLink;
use sandbox_snapshotter::model::request::SetRetentionRequest;
use sandbox_snapshotter::model::{
    BackupId, Code, Error, Failure, Policy, Result, SandboxId, Selection, SnapshotId, SnapshotRequest, TakenSnapshot,
};
use sandbox_snapshotter::ports::{RestoreSource, SandboxLedgerClient};
use sandbox_snapshotter::service::CancellationToken;

use super::{AnswerLost, SandboxService, Service, World, transient_failure};

/// The clients by which an object calls other objects.
pub struct PeerClients(pub Rc<World>);

impl PeerClients {
    /// Makes a call that may arrive twice.
    async fn call_maybe_twice<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        id: &SandboxId,
        message: impl Fn(SandboxService) -> F + Clone + 'static,
    ) -> Result<Result<T>, Failure> {
        let Self(world) = self;
        world.reach_service(Service::Workspaces).await?;
        if world.inject_fault(world.profile.duplicate_rate) {
            let (again, id, message) = (Rc::clone(world), id.clone(), message.clone());
            world.executor.spawn(0, async move {
                again.pass_step().await;
                again.call_sandbox(&id, message).await.ok();
            });
        }
        world.call_sandbox(id, message).await.map_err(|AnswerLost| transient_failure(Service::Workspaces))
    }

    /// Makes a call that may arrive twice, and reports its error as a failure of the platform.
    async fn call_as_failure<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        id: &SandboxId,
        message: impl Fn(SandboxService) -> F + Clone + 'static,
    ) -> Result<T, Failure> {
        let answer = self.call_maybe_twice(id, message).await?;
        answer.map_err(|error| Failure::new(error.code().as_str(), error.message()))
    }

    /// Makes a call that may arrive twice, and reports a lost answer as `WORKSPACE_UNAVAILABLE`.
    async fn call_repeatable<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        id: &SandboxId,
        message: impl Fn(SandboxService) -> F + Clone + 'static,
    ) -> Result<T> {
        self.call_maybe_twice(id, message).await.unwrap_or_else(|_| Err(unreachable(id)))
    }

    /// Makes a call that arrives at most once.
    async fn call_once<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        id: &SandboxId,
        message: impl FnOnce(SandboxService) -> F,
    ) -> Result<T> {
        let Self(world) = self;
        if world.reach_service(Service::Workspaces).await.is_err() {
            return Err(unreachable(id));
        }
        world.call_sandbox(id, message).await.unwrap_or_else(|AnswerLost| Err(unreachable(id)))
    }
}

fn unreachable(id: &SandboxId) -> Error {
    Error::new(Code::WorkspaceUnavailable, format!("The object of {id} could not be reached."), "Try again.")
}

impl SandboxLedgerClient for PeerClients {
    async fn claim(
        &self,
        id: &SandboxId,
        root_id: &SandboxId,
        parent: Option<&ParentLink>,
        binding: Option<&WorkspaceBinding>,
        marker: Option<&str>,
    ) -> Result<bool, Failure> {
        let Self(world) = self;
        if world.inject_fault(world.profile.id_collision_rate) {
            world.claim_by_other(id);
        }
        let (root_id, parent, binding) = (root_id.clone(), parent.cloned(), binding.cloned());
        let marker = marker.map(str::to_owned);
        let claim = move |workspace: SandboxService| {
            let claimed = workspace.claim(&root_id, parent.as_ref(), binding.as_ref(), marker.as_deref());
            async move { claimed }
        };
        self.call_as_failure(id, claim).await
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, dependent: &SandboxId) -> Result<(), Failure> {
        let (snapshot_id, dependent) = (snapshot_id.clone(), dependent.clone());
        let release = move |workspace: SandboxService| {
            let released = workspace.release(&snapshot_id, &dependent);
            async move { released }
        };
        self.call_as_failure(id, release).await
    }

    async fn root_id(&self, id: &SandboxId) -> Result<SandboxId, Failure> {
        self.call_as_failure(id, async |workspace: SandboxService| workspace.root()).await
    }

    async fn describe(&self, id: &SandboxId) -> Result<WorkspaceLineage, Failure> {
        self.call_as_failure(id, async |workspace: SandboxService| workspace.describe()).await
    }

    async fn sweep(&self, id: &SandboxId, backups: &[(BackupId, SnapshotId)], dry_run: bool) -> Result<usize, Failure> {
        let backups = backups.to_vec();
        let sweep = move |workspace: SandboxService| {
            let backups = backups.clone();
            async move { workspace.sweep(&backups, dry_run).await }
        };
        self.call_as_failure(id, sweep).await
    }

    async fn get_for_restore(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        dependent: &SandboxId,
    ) -> Result<RestoreSource> {
        let (snapshot_id, dependent) = (snapshot_id.clone(), dependent.clone());
        let get = move |workspace: SandboxService| {
            let (snapshot_id, dependent) = (snapshot_id.clone(), dependent.clone());
            async move { workspace.get_for_restore(&snapshot_id, &dependent).await }
        };
        self.call_repeatable(id, get).await
    }

    async fn find_snapshot(&self, selection: &Selection, tenant: &Tenant) -> Result<LastSnapshot> {
        let (selection, tenant) = (selection.clone(), tenant.clone());
        let id = selection.selector.origin_id().clone();
        self.call_once(&id, |workspace| async move { workspace.find_snapshot(selection, &tenant).await }).await
    }

    async fn newest_snapshot(&self, id: &SandboxId) -> Result<Option<LastSnapshot>> {
        self.call_once(id, |workspace| async move { workspace.newest_snapshot().await }).await
    }

    async fn take_snapshot(&self, request: &SnapshotRequest) -> Result<TakenSnapshot> {
        let (id, request) = (request.sandbox_id.clone(), request.clone());
        self.call_once(&id, |workspace| async move { workspace.snapshot(request, CancellationToken::never()).await })
            .await
    }

    async fn set_policy(&self, id: &SandboxId, policy: &Policy) -> Result<()> {
        let request = SetRetentionRequest { sandbox_id: id.clone(), policy: policy.clone(), dry_run: false };
        let set = move |workspace: SandboxService| {
            let request = request.clone();
            async move { workspace.set_retention(request).await.map(drop) }
        };
        self.call_repeatable(id, set).await
    }

    async fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> Result<bool> {
        let request = request.clone();
        let reserve = move |workspace: SandboxService| {
            let request = request.clone();
            async move { workspace.reserve(&request).await }
        };
        self.call_repeatable(id, reserve).await
    }

    async fn probe_condition(&self, id: &SandboxId) -> Result<Condition> {
        self.call_repeatable(id, async |workspace: SandboxService| workspace.condition().await).await
    }

    async fn changed_since_watch(&self, id: &SandboxId) -> Result<bool> {
        self.call_once(id, |workspace| async move { workspace.changed_since_watch().await }).await
    }

    async fn ensure_running(&self, id: &SandboxId, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        let request = request.clone();
        {
            let mut history = self.0.history.borrow_mut();
            let requests = history.file_requests.entry(id.clone()).or_default();
            requests.allow_empty |= request.start.allow_empty;
            if request.start.on_diverged == OnDiverged::Discard {
                requests.discarded_at = Some(self.0.now());
            }
        }
        self.call_once(id, |workspace| async move { workspace.ensure_running(request).await }).await
    }

    async fn stop_sandbox(&self, id: &SandboxId, request: &StopSandboxRequest) -> Result<SandboxStopped> {
        let request = request.clone();
        if !request.snapshot {
            self.0.history.borrow_mut().file_requests.entry(id.clone()).or_default().ended_unsaved_at =
                Some(self.0.now());
        }
        self.call_once(id, |workspace| async move { workspace.stop_sandbox(request).await }).await
    }

    async fn decommission(&self, id: &SandboxId, address: &Address) -> Result<Decommissioned> {
        let address = address.clone();
        let decommission = move |workspace: SandboxService| {
            let address = address.clone();
            async move { workspace.decommission(address).await }
        };
        self.call_repeatable(id, decommission).await
    }
}
