//! Captures of a sandbox that is about to be stopped or destroyed. If files change during a capture, the capture is
//! repeated.

use crate::model::named::ContainerMarker;
use crate::model::named::answer::LastSnapshot;
use crate::model::{Result, SnapshotId, SnapshotRequest, TakenSnapshot};
use crate::ports::{Ports, Sandboxes};
use crate::service::calls::failures::During;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// The maximum number of captures when files keep changing.
const MAX_CAPTURES: u32 = 3;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns whether the files of a sandbox that belongs to a named workspace have changed since the last call.
    pub async fn changed_since_watch(&self) -> Result<bool> {
        self.prepare_call().await?;
        // The operation that ends the sandbox makes the same check, and must see every change.
        let _lock = self.in_process.lifecycle_lock.lock().await;
        self.note_late_call(self.files_changed().await)
    }

    /// Takes a snapshot from which the workspace continues. The second value is `true` if files still changed during
    /// the last capture.
    pub(super) async fn capture_for_stop(&self) -> Result<(LastSnapshot, bool)> {
        let dir = self.binding()?.dir;
        let request =
            SnapshotRequest { dir: Some(dir.clone()), fresh: true, ..SnapshotRequest::of((*self.id).clone()) };
        let (taken, changed_during_capture) = self.capture_until_unchanged(request).await?;
        let snapshot = LastSnapshot {
            id: taken.snapshot.snapshot_id().clone(),
            origin_id: (*self.id).clone(),
            dir,
            size_bytes: taken.capture.size_bytes,
            created_at: taken.snapshot.created_at(),
        };
        Ok((snapshot, changed_during_capture))
    }

    /// Saves the files that were written since the sandbox cold-started, as a rescue snapshot. The sandbox starts from
    /// a rescue snapshot only if a caller selects it.
    pub(super) async fn take_rescue_snapshot(&self) -> Result<SnapshotId> {
        // A capture may start a container. The task makes sure that it is ended.
        self.schedule_reconcile()?;
        let dir = Some(self.binding()?.dir);
        let request =
            SnapshotRequest { dir, wake: true, fresh: true, rescue: true, ..SnapshotRequest::of((*self.id).clone()) };
        let (taken, _) = self.capture_until_unchanged(request).await?;
        Ok(taken.snapshot.snapshot_id().clone())
    }

    /// As [`take_rescue_snapshot`](Self::take_rescue_snapshot), for a container that the caller destroys afterwards.
    /// `current` is the marker that the container carries. Late calls of an abandoned start would restore into the
    /// container or mark it as ready. They require the marker that the container had, so this function replaces it
    /// first.
    pub(super) async fn rescue_before_destroy(&self, current: Option<&ContainerMarker>) -> Result<SnapshotId> {
        self.schedule_reconcile()?;
        match current {
            Some(_) => drop(self.mark_adopted(current).await?),
            None => self.protect_unmarked().await?,
        }
        self.take_rescue_snapshot().await
    }

    /// Returns whether any file changed since the previous check.
    async fn files_changed(&self) -> Result<bool> {
        self.sandboxes()?.changed_since_watch(&self.id, &self.binding()?.dir).await.map_err(self.failed(During::Probe))
    }

    async fn capture_until_unchanged(&self, request: SnapshotRequest) -> Result<(TakenSnapshot, bool)> {
        self.sandboxes()?.watch_changes(&self.id).await.map_err(self.failed(During::Probe))?;
        let mut captures = 1;
        loop {
            let taken = self.share_capture(request.clone(), CancellationToken::never()).await?;
            let is_changed = self.files_changed().await?;
            if !is_changed || captures == MAX_CAPTURES {
                return Ok((taken, is_changed));
            }
            captures += 1;
        }
    }
}
