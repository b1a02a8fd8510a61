//! What the other objects of this Worker ask of a workspace, and tell it: those of other sandboxes, and of named workspaces.

use super::lifecycle::{self, Sight};
use super::{CloudflareSandboxSnapshotter, hold, select, sweep, workspace};
use crate::model::named::messages::{
    Condition, HaltRequest, Halted, LastSnapshot, ReserveRequest, ResumeRequest, Resumed, Retired,
};
use crate::model::named::standing::Standing;
use crate::model::named::{Address, Tenant};
use crate::model::record::Parent;
use crate::model::{BackupId, Error, Result, SandboxId, Selection, SnapshotId};
use crate::ports::{Loan, Ports};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// What a snapshot is, by whatever names it.
    pub async fn find(&self, selection: Selection, tenant: &Tenant) -> Result<LastSnapshot> {
        self.begin().await?;
        lifecycle::source::is_of(self, tenant)?;
        let found = select::select(self, &selection).await?.snapshot;
        select::ready(&found)?;
        lifecycle::source::remembered(&found, &self.id).ok_or_else(Error::defect)
    }

    /// The newest snapshot that the sandbox could be started from.
    pub async fn newest(&self) -> Result<Option<LastSnapshot>> {
        self.begin().await?;
        lifecycle::source::newest(self)
    }

    /// Lends a snapshot to a sandbox that was made from it.
    pub async fn lend(&self, snapshot_id: &SnapshotId, holder: &SandboxId) -> Result<Loan> {
        self.begin().await?;
        lifecycle::source::lend(self, snapshot_id, holder).await
    }

    /// Notes that a sandbox is going to be made from a snapshot; `false` when its id is somebody's already.
    pub async fn reserve(&self, request: &ReserveRequest) -> Result<bool> {
        self.begin().await?;
        lifecycle::reserve::reserve(self, request).await
    }

    /// What has become of a sandbox that stands for a name. Nothing is started, unless its container ended unnoticed.
    pub async fn look(&self) -> Result<Condition> {
        self.begin().await?;
        Ok(match lifecycle::note_late(self, lifecycle::look(self).await)? {
            Sight::Alive(_) => Condition::Alive,
            Sight::Asleep => Condition::Asleep,
            Sight::Unfinished | Sight::Woken => Condition::Woken,
            Sight::Diverged { .. } => Condition::Diverged,
        })
    }

    /// Whether anything has changed in the files of a sandbox that stands for a name, since this was asked last.
    pub async fn stirred(&self) -> Result<bool> {
        self.begin().await?;
        // Whoever ends the sandbox asks the same, and must hear of every change.
        let _turn = self.memory.lifecycle.lock().await;
        lifecycle::note_late(self, lifecycle::capture::stirred(self).await)
    }

    /// Gives a sandbox that stands for a name its files, where they are not in place.
    pub async fn resume(&self, request: ResumeRequest) -> Result<Resumed> {
        self.begin().await?;
        let resumed = lifecycle::to_the_end(self, lifecycle::resume::resume(self.clone(), request)).await?;
        Ok(Resumed { root_id: Some(self.root()?), ..resumed })
    }

    /// Ends a sandbox that stands for a name.
    pub async fn halt(&self, request: HaltRequest) -> Result<Halted> {
        self.begin().await?;
        lifecycle::to_the_end(self, lifecycle::halt::halt(self.clone(), request)).await
    }

    /// Ends a sandbox that is nobody's any more, and lets go of its snapshots as soon as nobody needs them.
    pub async fn retire(&self, address: Address) -> Result<Retired> {
        self.begin().await?;
        lifecycle::to_the_end(self, lifecycle::retire::retire(self.clone(), address)).await
    }

    /// Notes where this sandbox comes from, what it stands for, and the marker of its container; `false` when the id is taken.
    pub fn claim(
        &self,
        root_id: &SandboxId,
        parent: Option<&Parent>,
        standing: Option<&Standing>,
        marker: Option<&str>,
    ) -> Result<bool> {
        workspace::claim(self, root_id, parent, standing, marker)
    }

    /// Notes that `holder` does not need a snapshot any more.
    pub fn release(&self, snapshot_id: &SnapshotId, holder: &SandboxId) -> Result<()> {
        hold::released(self, snapshot_id, holder)
    }

    /// Deletes those backups with the mark of this workspace that it does not own, and answers how many; with `dry_run`
    /// it counts them.
    pub async fn sweep(&self, backups: &[(BackupId, SnapshotId)], dry_run: bool) -> Result<usize> {
        sweep::sweep_own(self, backups, dry_run).await
    }
}
