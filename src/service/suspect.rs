//! Snapshots that are much smaller than the one before.
//!
//! The container is the sandbox's own, so the files were deleted in it: the snapshot counts. But that may have been a mistake, and
//! retention must not make it final: the snapshot before is spared until there is another one, or for some days.

use super::CloudflareSandboxSnapshotter;
use crate::model::record::{SnapshotRecord, SnapshotState, Spared, WorkspaceRecord};
use crate::model::{Result, Suspect, Timestamp};
use crate::ports::{Clock, Ledger, Ports};

/// How long the snapshot before is spared, in milliseconds.
const SPARED_MILLIS: i64 = 7 * 24 * 3600 * 1000;

/// Among how many of the newest snapshots the one before is looked for.
const NEWEST: u32 = 5;

/// Compares a snapshot that is about to be ready with the one before, and spares that where it has to.
pub(super) fn compare<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &mut WorkspaceRecord,
    snapshot: &mut SnapshotRecord,
    size_bytes: u64,
) -> Result<()> {
    if snapshot.rescue {
        return Ok(());
    }
    let before = predecessor(this, snapshot)?;
    let size_before = |row: &SnapshotRecord| row.stored().map_or(0, |stored| stored.size_bytes);
    snapshot.suspect = before.as_ref().and_then(|row| Suspect::of(size_before(row), size_bytes));
    let until = this.ports.clock().now().plus_millis(SPARED_MILLIS);
    let spared = before.filter(|_| snapshot.suspect.is_some());
    let spared = spared.map(|row| Spared { snapshot_id: row.snapshot_id, until });
    change(this, workspace, spared)
}

/// Ends what is over.
pub(super) fn follow_up<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let mut workspace = this.workspace()?;
    let now = this.ports.clock().now();
    if workspace.spared.as_ref().is_some_and(|spared| spared.until <= now) {
        change(this, &mut workspace, None)?;
    }
    Ok(())
}

/// When that is.
pub(super) fn due<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Timestamp>> {
    Ok(this.workspace()?.spared.map(|spared| spared.until))
}

/// The newest snapshot of the same files.
fn predecessor<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    snapshot: &SnapshotRecord,
) -> Result<Option<SnapshotRecord>> {
    let rows = this.ports.ledger()?.page(None, None, NEWEST)?;
    let is_of_the_same = |row: &SnapshotRecord| {
        (&row.dir, &row.excludes, row.gitignore) == (&snapshot.dir, &snapshot.excludes, snapshot.gitignore)
    };
    Ok(rows.into_iter().find(|row| row.state() == SnapshotState::Ready && !row.aside && is_of_the_same(row)))
}

/// Spares another snapshot, or none. Those concerned expire anew.
fn change<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &mut WorkspaceRecord,
    spared: Option<Spared>,
) -> Result<()> {
    if workspace.spared == spared {
        return Ok(());
    }
    let before = std::mem::replace(&mut workspace.spared, spared);
    let ledger = this.ports.ledger()?;
    ledger.put_workspace(workspace)?;
    for spared in before.iter().chain(&workspace.spared) {
        if let Some(row) = ledger.snapshot(&spared.snapshot_id)?.filter(|row| row.state() == SnapshotState::Ready) {
            this.keep(workspace, row)?;
        }
        this.wake_by(spared.until)?;
    }
    Ok(())
}
