//! Changes during captures: they are reported, and a capture is repeated where its caller requires settled files.

use crate::model::request::CapturePurpose;
use crate::model::{
    ChangeCursor, Consistency, ContainerIdentity, Directory, Error, Label, Provenance, Result, SnapshotRequest,
    TakenSnapshot,
};
use crate::ports::{Ledger, Ports, Sandboxes};
use crate::service::calls::failures::During;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// The maximum number of captures when files keep changing.
pub(in crate::service) const MAX_CAPTURES: u32 = 3;

/// A watch for changes during one capture, in the expected container.
pub(super) struct CaptureWatch {
    cursor: ChangeCursor,
    expected: Option<ContainerIdentity>,
    /// What the container runs on.
    pub provenance: Option<Provenance>,
}

impl CaptureWatch {
    /// Returns whether captures with this purpose have a watch: the callers of others check the directory.
    pub fn is_of(purpose: &CapturePurpose) -> bool {
        matches!(purpose, CapturePurpose::Caller | CapturePurpose::Workspace(_))
    }
}

/// Repeats a capture until no file changed during it, up to `max_captures` times. `capture` returns whether files changed,
/// where that is known.
pub(in crate::service) async fn capture_until_unchanged<T>(
    max_captures: u32,
    mut capture: impl AsyncFnMut() -> Result<(T, Option<bool>)>,
) -> Result<(T, Option<bool>)> {
    let mut captures = 1;
    loop {
        let (taken, changed) = capture().await?;
        if changed != Some(true) || captures >= max_captures {
            return Ok((taken, changed));
        }
        captures += 1;
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Captures the sandbox with the consistency that the caller requires. Continues after the captures of an earlier attempt
    /// of the call.
    pub(super) async fn capture_consistently(
        &self,
        request: SnapshotRequest,
        abort: CancellationToken,
    ) -> Result<TakenSnapshot> {
        if request.consistency == Consistency::Reported {
            return self.share_capture(request, abort).await;
        }
        let (captures_left, mut previous) = self.resume_captures(request.idempotency_key.as_deref(), MAX_CAPTURES)?;
        let capture = async || {
            let request = SnapshotRequest {
                consistency: Consistency::Reported,
                fresh: request.fresh || previous.is_some(),
                replace: request.replace || self.has_label(previous.as_ref(), request.label.as_ref())?,
                ..request.clone()
            };
            let taken = self.share_capture(request, abort.clone()).await?;
            let changed = taken.capture.changed_during_capture;
            previous = Some(taken.clone());
            Ok((taken, changed))
        };
        capture_until_unchanged(captures_left, capture).await.map(|(taken, _)| taken)
    }

    /// Returns whether the snapshot has the label.
    fn has_label(&self, taken: Option<&TakenSnapshot>, label: Option<&Label>) -> Result<bool> {
        let (Some(taken), Some(label)) = (taken, label) else { return Ok(false) };
        let labeled = self.ledger.snapshot_by_label(label)?;
        Ok(labeled.is_some_and(|labeled| labeled.snapshot_id == *taken.snapshot.snapshot_id()))
    }

    /// Starts to watch for changes during a capture, unless its caller does. A failure does not fail the capture.
    pub(super) async fn watch_capture(
        &self,
        purpose: &CapturePurpose,
        expected: Option<ContainerIdentity>,
    ) -> Option<CaptureWatch> {
        if !CaptureWatch::is_of(purpose) {
            return None;
        }
        let cursor = ChangeCursor::Capture(self.random_short_id().ok()?);
        let watched = self.sandboxes().ok()?.watch_changes(&self.id, &cursor, expected).await;
        let watched = self.note_late_call(watched.map_err(self.failed(During::Probe)));
        watched.ok().map(|provenance| CaptureWatch { cursor, expected, provenance })
    }

    /// Returns whether files changed since the watch began; `None` if that is not known.
    ///
    /// # Errors
    /// [`Code::InvalidDirectory`](crate::model::Code::InvalidDirectory) if the directory does not show its files.
    pub(super) async fn end_watch(&self, watch: Option<CaptureWatch>, dir: &Directory) -> Result<Option<bool>> {
        let (Some(CaptureWatch { cursor, expected, .. }), Ok(sandboxes)) = (watch, self.sandboxes()) else {
            return Ok(None);
        };
        match sandboxes.changed_since_watch(&self.id, dir, &cursor, expected).await {
            Err(failure) if failure.is_unmounted() => Err(Error::unmounted_directory(dir)),
            check => Ok(self.note_late_call(check.map_err(self.failed(During::Probe))).ok()),
        }
    }
}
