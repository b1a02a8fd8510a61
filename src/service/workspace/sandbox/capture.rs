//! Captures of a sandbox that is about to be stopped or destroyed. If files change during a capture, the capture is
//! repeated.

use super::{marker, schedule_reconcile};
use crate::model::named::ContainerMarker;
use crate::model::named::messages::LastSnapshot;
use crate::model::{Result, SnapshotId, SnapshotRequest, TakenSnapshot};
use crate::ports::{Ports, Sandboxes};
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::planted::{Bug, planted};
use crate::service::snapshot::coalesce::SnapshotCoalescer;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// The maximum number of captures when files keep changing.
const MAX_CAPTURES: u32 = 3;

/// Takes a snapshot from which the workspace continues. The second value is `true` if files still changed during the
/// last capture.
pub(super) async fn capture<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<(LastSnapshot, bool)> {
    let dir = this.binding()?.dir;
    let request = SnapshotRequest { dir: Some(dir.clone()), fresh: true, ..SnapshotRequest::of((*this.id).clone()) };
    let (taken, changed_during_capture) = capture_until_unchanged(this, request).await?;
    let snapshot = LastSnapshot {
        id: taken.snapshot.snapshot_id().clone(),
        origin_id: (*this.id).clone(),
        dir,
        size_bytes: taken.capture.size_bytes,
        created_at: taken.snapshot.created_at(),
    };
    Ok((snapshot, changed_during_capture))
}

/// Saves the files that were written since the sandbox cold-started, as a rescue snapshot. The sandbox starts from a
/// rescue snapshot only if a caller selects it.
pub(super) async fn take_rescue_snapshot<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<SnapshotId> {
    // A capture may start a container. The task makes sure that it is ended.
    schedule_reconcile(this)?;
    let dir = Some(this.binding()?.dir);
    let request =
        SnapshotRequest { dir, wake: true, fresh: true, rescue: true, ..SnapshotRequest::of((*this.id).clone()) };
    let (taken, _) = capture_until_unchanged(this, request).await?;
    Ok(taken.snapshot.snapshot_id().clone())
}

/// As [`take_rescue_snapshot`], for a container that the caller destroys afterwards. `current` is the marker that the
/// container carries. Late calls of an abandoned start would restore into the container or mark it as ready. They
/// require the marker that the container had, so this function replaces it first.
pub(super) async fn rescue_before_destroy<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    current: Option<&ContainerMarker>,
) -> Result<SnapshotId> {
    schedule_reconcile(this)?;
    match current {
        Some(_) => drop(marker::mark_adopted(this, current).await?),
        None => marker::protect_unmarked(this).await?,
    }
    take_rescue_snapshot(this).await
}

/// Returns whether any file changed since the previous check.
pub(in crate::service) async fn changed_since_watch<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<bool> {
    let changed = this.ports.sandboxes()?.changed_since_watch(&this.id, &this.binding()?.dir).await;
    changed.map_err(|failure| from_sandbox(failure, &this.id, During::Probe))
}

async fn capture_until_unchanged<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: SnapshotRequest,
) -> Result<(TakenSnapshot, bool)> {
    let watched = this.ports.sandboxes()?.watch_changes(&this.id).await;
    watched.map_err(|failure| from_sandbox(failure, &this.id, During::Probe))?;
    let mut captures = 1;
    loop {
        let taken = SnapshotCoalescer::capture(this, request.clone(), CancellationToken::never()).await?;
        let is_changed = changed_since_watch(this).await?;
        if !is_changed || captures == MAX_CAPTURES || planted(Bug::ChangesNotRecaptured) {
            return Ok((taken, is_changed));
        }
        captures += 1;
    }
}
