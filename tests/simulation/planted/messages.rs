//! The messages to the objects of sandboxes: messages that are dropped or changed, and answers that are misread.

use std::rc::Rc;

use sandbox_snapshotter::model::answer::{Page, SandboxParent, WorkspaceLineage};
use sandbox_snapshotter::model::archive::LocatedSnapshot;
use sandbox_snapshotter::model::exec_call::{ObservedForExec, PrepareExecRequest, PreparedExec};
use sandbox_snapshotter::model::named::answer::StartOutcome;
use sandbox_snapshotter::model::named::label_search::LabelSearch;
use sandbox_snapshotter::model::named::messages::{
    AutosaveRequest, Autosaved, CheckImageRequest, ClaimRequest, Condition, Decommissioned, EnsureRunningRequest,
    EnsuredRunning, FoundSnapshot, NewestSnapshot, ReserveRequest, SandboxStopped, StopSandboxRequest,
    SwitchRuntimeRequest,
};
use sandbox_snapshotter::model::named::{Address, PlatformSnapshot, StoragePolicy, Tenant};
use sandbox_snapshotter::model::record::RestoreSource;
use sandbox_snapshotter::model::request::{ListRequest, ReviveRequest};
use sandbox_snapshotter::model::revive::RevivedSandbox;
use sandbox_snapshotter::model::usage::SandboxUsage;
use sandbox_snapshotter::model::{
    BackupLocation, Error, Failure, Label, Policy, Result, Runtime, SandboxId, Selection, SnapshotId, SnapshotRequest,
    TakenSnapshot, Timestamp, root_of,
};
use sandbox_snapshotter::ports::{Ledger, Ports, SandboxLedgerClient};

use super::ports::Place;
use super::{Bug, PlantedPorts};
use crate::memory::ObjectPorts;
use crate::world::{Simulation, World};

/// A call in progress that starts, stops or decommissions a sandbox.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Lifecycle {
    /// A start, and whether the sandbox was probed since.
    Start { is_probed: bool },
    /// A stop.
    Stop,
    /// A decommission.
    Decommission,
}

/// Removes the note about a call when the call ends.
struct LifecycleCall {
    world: Rc<World>,
    id: SandboxId,
}

impl Drop for LifecycleCall {
    fn drop(&mut self) {
        self.world.planted.lifecycle_calls.borrow_mut().remove(&self.id);
    }
}

impl PlantedPorts {
    fn client(&self) -> &ObjectPorts<Simulation> {
        self.ports.sandbox_ledgers().unwrap()
    }

    fn begin_lifecycle_call(&self, id: &SandboxId, call: Lifecycle) -> LifecycleCall {
        self.world().planted.lifecycle_calls.borrow_mut().insert(id.clone(), call);
        LifecycleCall { world: Rc::clone(self.world()), id: id.clone() }
    }

    /// Returns the call in progress that starts, stops or decommissions a sandbox.
    pub(super) fn lifecycle_call(&self, id: &SandboxId) -> Option<Lifecycle> {
        self.world().planted.lifecycle_calls.borrow().get(id).copied()
    }

    /// Returns whether this is the first probe of a sandbox since a start was requested.
    pub(super) fn is_first_probe(&self, id: &SandboxId) -> bool {
        let mut calls = self.world().planted.lifecycle_calls.borrow_mut();
        match calls.get_mut(id) {
            Some(Lifecycle::Start { is_probed }) => !std::mem::replace(is_probed, true),
            _ => false,
        }
    }
}

impl SandboxLedgerClient for PlantedPorts {
    #[track_caller]
    fn claim(&self, id: &SandboxId, request: &ClaimRequest) -> impl Future<Output = Result<bool, Failure>> {
        let place = Place::here();
        async move {
            let is_claimed = self.client().claim(id, request).await?;
            if is_claimed
                && self.is_planted(Bug::ReservedAfterDecommission)
                && place.is_in("workspace/sandbox/reserve.rs")
            {
                self.notes.claimed.replace(Some(id.clone()));
            }
            Ok(is_claimed
                || (self.is_planted(Bug::ClaimIgnored) && place.is_in("restore/"))
                || (self.is_planted(Bug::ClaimedFromOtherWorkspace) && request.binding.is_some()))
        }
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, dependent: &SandboxId) -> Result<(), Failure> {
        if self.is_planted(Bug::ReleaseIgnored) {
            return Ok(());
        }
        self.client().release(id, snapshot_id, dependent).await
    }

    #[track_caller]
    fn root_id(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxId, Failure>> {
        let place = Place::here();
        async move {
            if self.is_planted(Bug::LineageScopeNotChecked) && place.is_in("lineage/scope.rs") {
                let sandbox = self.stored().sandbox().unwrap();
                return Ok(sandbox.map_or_else(|| root_of(self.own()), |sandbox| sandbox.root_id));
            }
            self.client().root_id(id).await
        }
    }

    async fn describe(&self, id: &SandboxId) -> Result<WorkspaceLineage, Failure> {
        self.client().describe(id).await
    }

    async fn parent_of(&self, id: &SandboxId) -> Result<SandboxParent> {
        self.client().parent_of(id).await
    }

    async fn sweep(
        &self,
        id: &SandboxId,
        backups: &[(BackupLocation, SnapshotId)],
        dry_run: bool,
    ) -> Result<usize, Failure> {
        self.client().sweep(id, backups, dry_run).await
    }

    async fn get_for_restore(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        dependent: &SandboxId,
    ) -> Result<RestoreSource> {
        self.client().get_for_restore(id, snapshot_id, dependent).await
    }

    async fn locate_snapshot(&self, selection: &Selection) -> Result<LocatedSnapshot> {
        self.client().locate_snapshot(selection).await
    }

    async fn search_label(&self, id: &SandboxId, label: &Label, key: Option<&str>) -> Result<LabelSearch> {
        self.client().search_label(id, label, key).await
    }

    async fn find_snapshot(&self, selection: &Selection, tenant: &Tenant) -> Result<FoundSnapshot> {
        let origin = self.world().ledger(selection.selector.origin_id()).sandbox()?;
        let binding = origin.and_then(|row| row.binding).filter(|_| self.is_planted(Bug::TenantNotChecked));
        let tenant = binding.map_or_else(|| tenant.clone(), |binding| binding.address.tenant);
        self.client().find_snapshot(selection, &tenant).await
    }

    async fn platform_snapshot(&self, id: &SandboxId) -> Result<Option<PlatformSnapshot>> {
        self.client().platform_snapshot(id).await
    }

    async fn check_storage(&self, id: &SandboxId, storage: StoragePolicy) -> Result<()> {
        self.client().check_storage(id, storage).await
    }

    async fn check_image(&self, id: &SandboxId, request: &CheckImageRequest) -> Result<()> {
        self.client().check_image(id, request).await
    }

    async fn newest_snapshot(&self, id: &SandboxId) -> Result<Option<NewestSnapshot>> {
        self.client().newest_snapshot(id).await
    }

    async fn take_snapshot(&self, request: &SnapshotRequest) -> Result<TakenSnapshot> {
        let fresh = request.fresh && !self.is_planted(Bug::StaleCaptureShared);
        self.client().take_snapshot(&SnapshotRequest { fresh, ..request.clone() }).await
    }

    async fn revive(&self, request: &ReviveRequest) -> Result<RevivedSandbox> {
        self.client().revive(request).await
    }

    async fn list(&self, id: &SandboxId, request: &ListRequest) -> Result<Page> {
        self.client().list(id, request).await
    }

    async fn set_policy(&self, id: &SandboxId, policy: &Policy) -> Result<()> {
        self.client().set_policy(id, policy).await
    }

    async fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> Result<bool> {
        self.client().reserve(id, request).await
    }

    async fn probe_condition(&self, id: &SandboxId) -> Result<Condition> {
        self.client().probe_condition(id).await
    }

    async fn changed_since_watch(&self, id: &SandboxId) -> Result<bool> {
        SandboxLedgerClient::changed_since_watch(self.client(), id).await
    }

    async fn autosave(&self, id: &SandboxId, request: &AutosaveRequest) -> Result<Autosaved> {
        self.client().autosave(id, request).await
    }

    async fn usage(&self, id: &SandboxId) -> Result<SandboxUsage> {
        SandboxLedgerClient::usage(self.client(), id).await
    }

    async fn has_ended(&self, id: &SandboxId) -> Result<bool> {
        self.client().has_ended(id).await
    }

    async fn last_saved_at(&self, id: &SandboxId) -> Result<Option<Timestamp>> {
        self.client().last_saved_at(id).await
    }

    #[track_caller]
    fn ensure_running(
        &self,
        id: &SandboxId,
        request: &EnsureRunningRequest,
    ) -> impl Future<Output = Result<EnsuredRunning>> {
        let place = Place::here();
        async move {
            let is_new = || self.current_sandbox().as_ref() != Some(id);
            if self.is_planted(Bug::BoundTooEarly) && place.is_in("workspace/switch.rs") && is_new() {
                return Ok(EnsuredRunning {
                    how: StartOutcome::Running,
                    is_missing: false,
                    has_lost_files: false,
                    restore: None,
                    platform_fallback: None,
                    platform_snapshot: None,
                    rescue_snapshot_id: None,
                    root_id: None,
                    runtime: None,
                    stale: Vec::new(),
                    hooks: Vec::new(),
                });
            }
            let _call = self.begin_lifecycle_call(id, Lifecycle::Start { is_probed: false });
            let mut ensured = self.client().ensure_running(id, request).await?;
            if let Some(restore) = ensured.restore.as_mut().filter(|_| self.is_planted(Bug::LossNotReported)) {
                restore.may_have_lost = false;
            }
            Ok(ensured)
        }
    }

    async fn switch_runtime(&self, id: &SandboxId, request: &SwitchRuntimeRequest) -> Result<Option<Runtime>> {
        self.client().switch_runtime(id, request).await
    }

    #[track_caller]
    fn stop_sandbox(
        &self,
        id: &SandboxId,
        request: &StopSandboxRequest,
    ) -> impl Future<Output = Result<SandboxStopped>> {
        let place = Place::here();
        async move {
            let _call = self.begin_lifecycle_call(id, Lifecycle::Stop);
            let stopped = self.client().stop_sandbox(id, request).await;
            if self.is_planted(Bug::TaskNotRetried) && place.is_in("workspace/tasks.rs") {
                let stopped = stopped.unwrap_or_default();
                return Ok(SandboxStopped { destroy_unconfirmed: false, ..stopped });
            }
            stopped
        }
    }

    async fn prepare_exec(&self, id: &SandboxId, request: &PrepareExecRequest) -> Result<PreparedExec> {
        self.client().prepare_exec(id, request).await
    }

    async fn confirm_exec(&self, id: &SandboxId, observed: ObservedForExec) -> Result<()> {
        self.client().confirm_exec(id, observed).await
    }

    async fn flag_replaced(&self, id: &SandboxId) -> Result<Error> {
        self.client().flag_replaced(id).await
    }

    #[track_caller]
    fn decommission(&self, id: &SandboxId, address: &Address) -> impl Future<Output = Result<Decommissioned>> {
        let place = Place::here();
        async move {
            let _call = self.begin_lifecycle_call(id, Lifecycle::Decommission);
            let decommissioned = self.client().decommission(id, address).await;
            if self.is_planted(Bug::TaskNotRetried) && place.is_in("workspace/tasks.rs") {
                return Ok(decommissioned.unwrap_or_default());
            }
            decommissioned
        }
    }
}
