//! The internal API of a workspace: the calls that other objects of this Worker make to it, those of other sandboxes
//! and of named workspaces.

use super::retention::{references, sweep};
use super::snapshot::select;
use super::workspace::sandbox::{self, SandboxCondition};
use super::{CloudflareSandboxSnapshotter, ledger};
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::messages::{
    Condition, Decommissioned, EnsureRunningRequest, EnsuredRunning, LastSnapshot, ReserveRequest, SandboxStopped,
    StopSandboxRequest,
};
use crate::model::named::{Address, Tenant};
use crate::model::record::ParentLink;
use crate::model::{BackupId, Error, Result, SandboxId, Selection, SnapshotId};
use crate::ports::{Ports, RestoreSource};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the selected snapshot, if it can be restored.
    pub async fn find_snapshot(&self, selection: Selection, tenant: &Tenant) -> Result<LastSnapshot> {
        self.prepare_call().await?;
        sandbox::source::ensure_same_tenant(self, tenant)?;
        let found = select::select(self, &selection).await?.snapshot;
        select::require_ready(&found)?;
        sandbox::source::to_last_snapshot(&found, &self.id).ok_or_else(Error::internal)
    }

    /// Returns the newest snapshot that the sandbox can be started from.
    pub async fn newest_snapshot(&self) -> Result<Option<LastSnapshot>> {
        self.prepare_call().await?;
        sandbox::source::newest(self)
    }

    /// Returns a snapshot for a restore into `dependent`, a sandbox that was made from it.
    pub async fn get_for_restore(&self, snapshot_id: &SnapshotId, dependent: &SandboxId) -> Result<RestoreSource> {
        self.prepare_call().await?;
        sandbox::source::get_for_restore(self, snapshot_id, dependent).await
    }

    /// Records that a sandbox will be made from a snapshot. Returns `false` if the id of the sandbox is taken.
    pub async fn reserve(&self, request: &ReserveRequest) -> Result<bool> {
        self.prepare_call().await?;
        sandbox::reserve::reserve(self, request).await
    }

    /// Returns the condition of a sandbox that belongs to a named workspace. Starts nothing, unless its container has
    /// ended unnoticed.
    pub async fn condition(&self) -> Result<Condition> {
        self.prepare_call().await?;
        Ok(match sandbox::note_late_call(self, sandbox::probe_condition(self).await)? {
            SandboxCondition::Running(_) => Condition::Running,
            SandboxCondition::Ended => Condition::Ended,
            SandboxCondition::Unfinished | SandboxCondition::ColdStarted => Condition::ColdStarted,
            SandboxCondition::Diverged { .. } => Condition::Diverged,
        })
    }

    /// Returns whether the files of a sandbox that belongs to a named workspace have changed since the last call.
    pub async fn changed_since_watch(&self) -> Result<bool> {
        self.prepare_call().await?;
        // The operation that ends the sandbox makes the same check, and must see every change.
        let _lock = self.in_process.lifecycle_lock.lock().await;
        sandbox::note_late_call(self, sandbox::capture::changed_since_watch(self).await)
    }

    /// Restores the files of a sandbox that belongs to a named workspace, if they are not in place.
    pub async fn ensure_running(&self, request: EnsureRunningRequest) -> Result<EnsuredRunning> {
        self.prepare_call().await?;
        let ensured =
            sandbox::run_to_completion(self, sandbox::ensure_running::ensure_running(self.clone(), request)).await?;
        Ok(EnsuredRunning { root_id: Some(self.root()?), ..ensured })
    }

    /// Ends a sandbox that belongs to a named workspace.
    pub async fn stop_sandbox(&self, request: StopSandboxRequest) -> Result<SandboxStopped> {
        self.prepare_call().await?;
        sandbox::run_to_completion(self, sandbox::stop_sandbox::stop_sandbox(self.clone(), request)).await
    }

    /// Ends a sandbox that no longer belongs to a named workspace, and deletes its snapshots as soon as they have no
    /// dependents.
    pub async fn decommission(&self, address: Address) -> Result<Decommissioned> {
        self.prepare_call().await?;
        sandbox::run_to_completion(self, sandbox::decommission::decommission(self.clone(), address)).await
    }

    /// Records the parent of this sandbox, the named workspace that it belongs to, and the marker of its container.
    /// Returns `false` if the id is taken.
    pub fn claim(
        &self,
        root_id: &SandboxId,
        parent: Option<&ParentLink>,
        binding: Option<&WorkspaceBinding>,
        marker: Option<&str>,
    ) -> Result<bool> {
        ledger::claim(self, root_id, parent, binding, marker)
    }

    /// Records that `dependent` no longer needs a snapshot.
    pub fn release(&self, snapshot_id: &SnapshotId, dependent: &SandboxId) -> Result<()> {
        references::record_release(self, snapshot_id, dependent)
    }

    /// Deletes those of the backups with the mark of this workspace that it does not own, and returns their number.
    /// With `dry_run`, only counts them.
    pub async fn sweep(&self, backups: &[(BackupId, SnapshotId)], dry_run: bool) -> Result<usize> {
        sweep::sweep_workspace(self, backups, dry_run).await
    }
}
