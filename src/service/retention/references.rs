//! References to snapshots: a sandbox that was made from a snapshot depends on it until it has a snapshot of its own.

use std::collections::BTreeMap;
use std::slice;

use futures_util::FutureExt;

use crate::model::answer::SnapshotState;
use crate::model::record::{Derivation, DerivedState, Release, SandboxRecord};
use crate::model::{Result, SandboxId, SnapshotId, derivation_kind_of};
use crate::ports::{Background, Ledger, Ports, SandboxLedgerClient};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::in_process::WorkKey;
use crate::service::tasks::backoff::Backoff;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the sandboxes that depend on a snapshot.
    pub(in crate::service) fn dependents(&self, id: &SnapshotId) -> Result<Vec<SandboxId>> {
        Ok(self.dependents_of(slice::from_ref(id))?.remove(id).unwrap_or_default())
    }

    /// Returns the sandboxes that depend on each of these snapshots; snapshots without dependents are absent.
    pub(in crate::service) fn dependents_of(&self, ids: &[SnapshotId]) -> Result<BTreeMap<SnapshotId, Vec<SandboxId>>> {
        let mut dependents = BTreeMap::<_, Vec<_>>::new();
        for derivation in self.ledger.derived_from(ids)?.into_iter().filter(Derivation::needs_snapshot) {
            dependents.entry(derivation.snapshot_id).or_default().push(derivation.sandbox_id);
        }
        Ok(dependents)
    }

    /// Releases the snapshot that this sandbox was made from, now that it has one of its own. Delivers the release to
    /// the ledger of that snapshot in the background.
    pub(in crate::service) fn release_parent(&self, sandbox: &mut SandboxRecord) -> Result<()> {
        let Some(parent) = sandbox.parent.as_mut().filter(|parent| parent.needs_snapshot) else { return Ok(()) };
        parent.needs_snapshot = false;
        let snapshot_id = parent.snapshot_id.clone();
        let release = Release {
            origin_id: parent.origin_id.clone(),
            snapshot_id: snapshot_id.clone(),
            task: self.schedule_task(Backoff::RELEASE, 0)?,
        };
        self.ledger.put_sandbox(sandbox)?;
        self.ledger.put_release(&release)?;
        let snapshotter = self.clone();
        // The alarm retries a failed delivery.
        self.ports.background().run(async move { drop(snapshotter.deliver_release(&snapshot_id).await) }.boxed_local());
        Ok(())
    }

    /// Delivers a release to the ledger of the snapshot. Schedules another attempt when that fails.
    pub(in crate::service) async fn deliver_release(&self, id: &SnapshotId) -> Result<()> {
        let Some(_lease) = self.in_process.try_acquire(WorkKey::Release(id.clone())) else { return Ok(()) };
        let Some(release) = self.ledger.releases()?.into_iter().find(|release| release.snapshot_id == *id) else {
            return Ok(());
        };
        let delivered = self.sandbox_ledgers()?.release(&release.origin_id, id, &self.id).await;
        if delivered.is_ok() {
            return self.ledger.delete_release(id);
        }
        let task = self.schedule_task(Backoff::RELEASE, release.task.attempt + 1)?;
        self.ledger.put_release(&Release { task, ..release })
    }

    /// Records that `dependent` no longer needs a snapshot, and schedules the expiration of that snapshot.
    pub fn release(&self, snapshot_id: &SnapshotId, dependent: &SandboxId) -> Result<()> {
        let Some(derivation) = self.ledger.derived_sandbox(dependent)? else {
            // The release arrived before the reference was recorded. This row prevents that the reference is recorded
            // later.
            return derivation_kind_of(dependent).map_or(Ok(()), |kind| {
                self.ledger.put_derived_sandbox(&Derivation {
                    sandbox_id: dependent.clone(),
                    snapshot_id: snapshot_id.clone(),
                    kind,
                    runtime: None,
                    began_at: self.now(),
                    state: DerivedState::Ready { needs_snapshot: false },
                })
            });
        };
        if derivation.snapshot_id != *snapshot_id || derivation.state != (DerivedState::Ready { needs_snapshot: true })
        {
            return Ok(());
        }
        self.ledger
            .put_derived_sandbox(&Derivation { state: DerivedState::Ready { needs_snapshot: false }, ..derivation })?;
        self.update_expiration(snapshot_id)
    }

    /// Recalculates when a snapshot expires, after a reference to it ended.
    pub(in crate::service) fn update_expiration(&self, snapshot_id: &SnapshotId) -> Result<()> {
        if let Some(snapshot) = self.ledger.snapshot(snapshot_id)?
            && snapshot.state() == SnapshotState::Ready
        {
            self.save_snapshot(&self.sandbox_record()?, snapshot)?;
            self.schedule_retention(&self.sandbox_record()?)?;
        }
        Ok(())
    }
}
