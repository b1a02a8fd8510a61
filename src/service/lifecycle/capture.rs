//! Snapshots in which everything is that there is when they are done. What was changed meanwhile is captured again.

use super::{look_after, stamp};
use crate::model::named::Stamp;
use crate::model::named::messages::LastSnapshot;
use crate::model::{Result, SnapshotId, SnapshotRequest, Taken};
use crate::ports::{Ports, Sandboxes};
use crate::service::failures::{During, from_sandbox};
use crate::service::guard::Guard;
use crate::service::planted::{Bug, planted};
use crate::service::{Abort, CloudflareSandboxSnapshotter};

/// How often files are captured that go on changing.
const CAPTURES: u32 = 3;

/// Takes a snapshot that the workspace goes on from; says beside whether files were still being changed.
pub(super) async fn capture<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<(LastSnapshot, bool)> {
    let dir = this.standing()?.dir;
    let request = SnapshotRequest { dir: Some(dir.clone()), fresh: true, ..SnapshotRequest::of((*this.id).clone()) };
    let (taken, is_unsettled) = until_settled(this, request).await?;
    let snapshot = LastSnapshot {
        id: taken.snapshot.snapshot_id().clone(),
        origin_id: (*this.id).clone(),
        dir,
        size_bytes: taken.capture.size_bytes,
        created_at: taken.snapshot.created_at(),
    };
    Ok((snapshot, is_unsettled))
}

/// Keeps the files that somebody wrote since the sandbox woke by itself, in a snapshot that it is never started from unasked.
pub(super) async fn save<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<SnapshotId> {
    // A capture may start a container, which nobody would end.
    look_after(this)?;
    let dir = Some(this.standing()?.dir);
    let request =
        SnapshotRequest { dir, wake: true, fresh: true, aside: true, ..SnapshotRequest::of((*this.id).clone()) };
    let (taken, _) = until_settled(this, request).await?;
    Ok(taken.snapshot.snapshot_id().clone())
}

/// As [`save`], of a container that is ended then, which carries the stamp `carried`. Calls of a start that was given up may come
/// late, and would fill the container or hand it out. They are bound to the stamp that it had, so it gets a new one first.
pub(super) async fn save_to_end<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    carried: Option<&Stamp>,
) -> Result<SnapshotId> {
    look_after(this)?;
    match carried {
        Some(_) => drop(stamp::keep(this, carried).await?),
        None => stamp::spare(this).await?,
    }
    save(this).await
}

/// Whether anything has changed in the files since this was asked last.
pub(in crate::service) async fn stirred<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<bool> {
    let stirred = this.ports.sandboxes()?.stirred(&this.id, &this.standing()?.dir).await;
    stirred.map_err(|failure| from_sandbox(failure, &this.id, During::Look))
}

async fn until_settled<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: SnapshotRequest,
) -> Result<(Taken, bool)> {
    let watched = this.ports.sandboxes()?.watch(&this.id).await;
    watched.map_err(|failure| from_sandbox(failure, &this.id, During::Look))?;
    let mut captures = 1;
    loop {
        let taken = Guard::capture(this, request.clone(), Abort::never()).await?;
        let is_changed = stirred(this).await?;
        if !is_changed || captures == CAPTURES || planted(Bug::CapturedOnce) {
            return Ok((taken, is_changed));
        }
        captures += 1;
    }
}
