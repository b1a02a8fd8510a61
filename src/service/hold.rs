//! Who needs a snapshot: the sandboxes that were made from it, until they have one of their own.

use std::collections::BTreeMap;
use std::slice;

use futures_util::FutureExt;

use super::CloudflareSandboxSnapshotter;
use super::memory::Work;
use super::planted::{Bug, planted};
use crate::model::record::{Derivation, DerivationState, LooseEnd, Release, SnapshotState, WorkspaceRecord};
use crate::model::{Result, SandboxId, SnapshotId, lineage_of};
use crate::ports::{Background, Clock, Ledger, Ports, Workspaces};

/// How long after a failure word is passed on again, in milliseconds; doubled with each.
const AGAIN_MILLIS: i64 = 60_000;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// The workspaces that need a snapshot.
    pub(super) fn holders(&self, id: &SnapshotId) -> Result<Vec<SandboxId>> {
        Ok(self.holders_of(slice::from_ref(id))?.remove(id).unwrap_or_default())
    }

    /// The workspaces that need these snapshots, where there are any.
    pub(super) fn holders_of(&self, ids: &[SnapshotId]) -> Result<BTreeMap<SnapshotId, Vec<SandboxId>>> {
        let mut holders = BTreeMap::<_, Vec<_>>::new();
        for derivation in self.ports.ledger()?.derived_from(ids)?.into_iter().filter(Derivation::holds) {
            holders.entry(derivation.snapshot_id).or_default().push(derivation.sandbox_id);
        }
        Ok(holders)
    }
}

/// Gives up the hold on the snapshot that this sandbox was made from, now that it has one of its own. The workspace of that
/// snapshot is told in the background.
pub(super) fn give_up<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, workspace: &mut WorkspaceRecord) -> Result<()> {
    let Some(parent) = workspace.parent.as_mut().filter(|parent| parent.needed) else { return Ok(()) };
    parent.needed = false;
    let now = this.ports.clock().now();
    let release = Release {
        origin_id: parent.origin_id.clone(),
        snapshot_id: parent.snapshot_id.clone(),
        loose: LooseEnd { due: now.plus_millis(AGAIN_MILLIS), tries: 0 },
    };
    let ledger = this.ports.ledger()?;
    ledger.put_workspace(workspace)?;
    ledger.put_release(&release)?;
    this.wake_by(release.loose.due)?;
    let own = this.clone();
    // A failure is followed up by the alarm.
    this.ports.background().run(async move { drop(pass_on(&own, release).await) }.boxed_local());
    Ok(())
}

/// Passes word on to the workspace of a snapshot, now or later.
pub(super) async fn pass_on<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, release: Release) -> Result<()> {
    let Some(_underway) = this.memory.take(Work::Release(release.snapshot_id.clone())) else { return Ok(()) };
    let ledger = this.ports.ledger()?;
    let passed = this.ports.workspaces()?.release(&release.origin_id, &release.snapshot_id, &this.id).await;
    if passed.is_ok() {
        return ledger.forget_release(&release.snapshot_id);
    }
    let tries = release.loose.tries + 1;
    let due = this.ports.clock().now().plus_millis(AGAIN_MILLIS << tries.min(10));
    ledger.put_release(&Release { loose: LooseEnd { due, tries }, ..release })?;
    this.wake_by(due)
}

/// Notes that `holder` does not need a snapshot any more. From now on its expiration counts.
pub(super) fn released<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    snapshot_id: &SnapshotId,
    holder: &SandboxId,
) -> Result<()> {
    let ledger = this.ports.ledger()?;
    let Some(derivation) = ledger.derivation(holder)? else {
        // Whoever is about to note that it needs the snapshot comes too late.
        return lineage_of(holder).map_or(Ok(()), |lineage| {
            ledger.put_derivation(&Derivation {
                sandbox_id: holder.clone(),
                snapshot_id: snapshot_id.clone(),
                lineage,
                began_at: this.ports.clock().now(),
                state: DerivationState::Ready { holds: false },
            })
        });
    };
    if derivation.snapshot_id != *snapshot_id
        || derivation.state != (DerivationState::Ready { holds: true })
        || planted(Bug::ReleaseIgnored)
    {
        return Ok(());
    }
    ledger.put_derivation(&Derivation { state: DerivationState::Ready { holds: false }, ..derivation })?;
    reconsider(this, snapshot_id)
}

/// Works out anew when a snapshot expires, now that somebody does not need it any more.
pub(super) fn reconsider<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, snapshot_id: &SnapshotId) -> Result<()> {
    if let Some(snapshot) = this.ports.ledger()?.snapshot(snapshot_id)?
        && snapshot.state() == SnapshotState::Ready
    {
        this.keep(&this.workspace()?, snapshot)?;
        let workspace = this.workspace()?;
        if workspace.retired_at.is_some() || !workspace.policy.is_about_time_only() {
            this.wake_by(this.ports.clock().now())?;
        }
    }
    Ok(())
}
