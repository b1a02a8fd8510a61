//! How a snapshot goes: first in the ledger, which says so from then on, then in R2.

use std::slice;

use super::container;
use super::failures::from_storage;
use super::lifecycle::source::newest_whole;
use super::memory::Work;
use super::planted::{Bug, planted};
use super::retry::retry;
use super::select::{Selected, select};
use super::{Abort, CloudflareSandboxSnapshotter, label, lifecycle, trace};
use crate::model::answer::Deletion;
use crate::model::record::{DerivationState, End, LooseEnd, SnapshotRecord, Stage, Stored};
use crate::model::request::DeleteRequest;
use crate::model::{Code, Error, Mark, Result, SandboxId, Selector, SnapshotId, Status};
use crate::ports::{BackupStore, Clock, Ledger, Ports};

/// How long after a failure the deletion is tried again, in milliseconds; doubled with each.
const AGAIN_MILLIS: i64 = 60_000;

/// How long it is known of a snapshot that it was deleted, in milliseconds: 30 days.
pub(super) const REMEMBERED_MILLIS: i64 = 30 * 24 * 3600 * 1000;

/// Deletes a snapshot. One that is gone already is fine.
///
/// # Errors
/// [`Code::SnapshotHeld`] unless forced, [`Code::SnapshotBusy`] while it is being made or restored. When R2 fails, the
/// snapshot is gone for callers, and its objects follow.
pub(super) async fn delete<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &DeleteRequest,
) -> Result<Deletion> {
    let has_stopped = !request.force && has_stopped(this).await?;
    let selected = select(this, &request.selection).await;
    let snapshot = match selected {
        Ok(Selected { snapshot, .. }) => snapshot,
        // Who has a ref that is signed had the snapshot.
        Err(error) if error.code() == Code::SnapshotNotFound => return gone(request, error),
        Err(error) => return Err(error),
    };
    let snapshot_id = snapshot.snapshot_id.clone();
    match snapshot.stage {
        Stage::Deleted { .. } => Ok(Deletion { snapshot_id, removed: false }),
        Stage::Deleting { .. } => {
            finish(this, &snapshot_id).await?;
            Ok(Deletion { snapshot_id, removed: false })
        }
        Stage::Making(_) => Err(busy(&snapshot, "it is still being made")),
        Stage::Ready { .. } => {
            if has_stopped {
                is_not_all_there_is(this, &snapshot)?;
            }
            may_go(this, &snapshot, request.force)?;
            let_go(this, snapshot, "deleted by a caller")?;
            finish(this, &snapshot_id).await?;
            Ok(Deletion { snapshot_id, removed: true })
        }
    }
}

fn gone(request: &DeleteRequest, error: Error) -> Result<Deletion> {
    match &request.selection.selector {
        Selector::Ref { r#ref } => Ok(Deletion { snapshot_id: r#ref.snapshot_id().clone(), removed: false }),
        _ => Err(error),
    }
}

fn may_go<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, snapshot: &SnapshotRecord, force: bool) -> Result<()> {
    let derived = this.ports.ledger()?.derived_from(slice::from_ref(&snapshot.snapshot_id))?;
    let is_restored = derived.iter().any(|derivation| matches!(derivation.state, DerivationState::Pending(_)));
    if is_restored && !planted(Bug::DeletedWhileRestored) {
        return Err(busy(snapshot, "a sandbox is being made from it"));
    }
    let holders = this.holders(&snapshot.snapshot_id)?;
    if force || (holders.is_empty() && !snapshot.pinned) {
        return Ok(());
    }
    let names: Vec<_> = holders.iter().map(|holder: &SandboxId| format!("{:?}", holder.as_str())).collect();
    let why = match (snapshot.pinned, names.as_slice()) {
        (true, []) => "is pinned".to_owned(),
        (false, names) => format!("is held by {}", names.join(", ")),
        (true, names) => format!("is pinned, and held by {}", names.join(", ")),
    };
    Err(Error::new(
        Code::SnapshotHeld,
        format!("The snapshot {} {why}.", snapshot.snapshot_id),
        "Unpin it; a workspace that was made from it holds it until it has a snapshot of its own. `force: true` deletes it \
         all the same.",
    ))
}

/// Whether the sandbox stands for a name, and does not run: its files are in its newest snapshot alone.
async fn has_stopped<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<bool> {
    let stands = this.workspace()?.standing.is_some() && lifecycle::is_not_retired(this).is_ok();
    Ok(stands && container::state(&*this.ports, &this.id).await?.status != Status::Healthy)
}

/// Makes sure that the snapshot is not the one from which a workspace that has stopped is started.
fn is_not_all_there_is<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, snapshot: &SnapshotRecord) -> Result<()> {
    let standing = this.standing()?;
    let newest = newest_whole(this, &standing.dir)?;
    if newest.is_none_or(|newest| newest.snapshot_id != snapshot.snapshot_id) {
        return Ok(());
    }
    let name = standing.address.name;
    Err(Error::new(
        Code::SnapshotHeld,
        format!(
            "The files of a sandbox of the workspace {:?}, which has stopped, are in the snapshot {} alone.",
            name.as_str(),
            snapshot.snapshot_id
        ),
        "Start the workspace first, or go back to another snapshot. `force: true` deletes it all the same: the next start gives \
         what was there before.",
    ))
}

fn busy(snapshot: &SnapshotRecord, why: &str) -> Error {
    Error::new(
        Code::SnapshotBusy,
        format!("The snapshot {} can't be deleted now: {why}.", snapshot.snapshot_id),
        "Try again when that is done.",
    )
}

/// Lets a snapshot go in the ledger. From now on it can't be restored, and its objects will be deleted.
pub(super) fn let_go<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut snapshot: SnapshotRecord,
    reason: &str,
) -> Result<()> {
    let Stage::Ready { stored } = snapshot.stage else { return Ok(()) };
    let at = this.ports.clock().now();
    let loose = LooseEnd { due: at.plus_millis(AGAIN_MILLIS), tries: 0 };
    snapshot.stage = Stage::Deleting { stored, end: End { at, reason: reason.to_owned() }, loose };
    this.ports.ledger()?.put_snapshot(&snapshot)?;
    trace::let_go(&snapshot.snapshot_id);
    this.wake_by(loose.due)
}

/// Deletes what is in R2 of a snapshot that was let go. When R2 fails, the alarm goes on with it.
pub(super) async fn finish<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &SnapshotId) -> Result<()> {
    let Some(_underway) = this.memory.take(Work::Snapshot(id.clone())) else { return Ok(()) };
    let Some(mut snapshot) = this.ports.ledger()?.snapshot(id)? else { return Ok(()) };
    let mark = snapshot.mark(&this.id);
    let Stage::Deleting { stored, end, loose } = snapshot.stage else { return Ok(()) };
    let deleted = delete_objects(this, &stored, &mark).await;
    let now = this.ports.clock().now();
    snapshot.stage = if deleted.is_ok() || planted(Bug::DeletedTooEarly) {
        this.wake_by(now.plus_millis(REMEMBERED_MILLIS))?;
        Stage::Deleted { stored, end }
    } else {
        let tries = loose.tries + 1;
        let due = now.plus_millis(AGAIN_MILLIS << tries.min(5));
        this.wake_by(due)?;
        Stage::Deleting { stored, end, loose: LooseEnd { due, tries } }
    };
    label::note(this, &mut snapshot)?;
    this.ports.ledger()?.put_snapshot(&snapshot)?;
    deleted.map_err(|error| error.and("The snapshot is gone all the same; its objects in R2 will be deleted later."))
}

/// Deletes both objects, as far as they are the product's.
async fn delete_objects<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, stored: &Stored, mark: &Mark) -> Result<()> {
    let id = stored.backup.id();
    let failed = |failure| from_storage(failure, &format!("deleting the backup {id}"));
    if stored.imported {
        return Ok(());
    }
    retry(&*this.ports, &Abort::never(), async || {
        let backups = this.ports.backups()?;
        let is_ours = match backups.metadata(id).await {
            Ok(Some(metadata)) => metadata.name.as_deref().and_then(Mark::parse).as_ref() == Some(mark),
            Ok(None) => true,
            // Metadata that can't be read carries no mark.
            Err(failure) if failure.is_unexpected() => false,
            Err(failure) => return Err(failed(failure)),
        };
        if is_ours { backups.delete(id).await.map_err(failed) } else { Ok(()) }
    })
    .await
}
