//! Changes during captures: they are reported, and a capture is repeated where its caller requires settled files.

use crate::model::request::CapturePurpose;
use crate::model::{
    ChangeCursor, Consistency, ContainerIdentity, Directory, Error, Provenance, Result, SnapshotRequest, TakenSnapshot,
};
use crate::ports::{Ports, Sandboxes};
use crate::service::calls::failures::During;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// The maximum number of captures when files keep changing.
const MAX_CAPTURES: u32 = 3;

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

/// Repeats a capture until no file changed during it, up to [`MAX_CAPTURES`] times. `capture` gets whether this is a
/// repetition, and returns whether files changed, where that is known.
pub(in crate::service) async fn capture_until_unchanged<T>(
    mut capture: impl AsyncFnMut(bool) -> Result<(T, Option<bool>)>,
) -> Result<(T, Option<bool>)> {
    let mut captures = 1;
    loop {
        let (taken, changed) = capture(captures > 1).await?;
        if changed != Some(true) || captures == MAX_CAPTURES {
            return Ok((taken, changed));
        }
        captures += 1;
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Captures the sandbox with the consistency that the caller requires.
    pub(super) async fn capture_consistently(
        &self,
        request: SnapshotRequest,
        abort: CancellationToken,
    ) -> Result<TakenSnapshot> {
        if request.consistency == Consistency::Reported {
            return self.share_capture(request, abort).await;
        }
        let capture = async |is_repeated: bool| {
            let request = SnapshotRequest {
                consistency: Consistency::Reported,
                fresh: request.fresh || is_repeated,
                // The previous capture has the label.
                replace: request.replace || (is_repeated && request.label.is_some()),
                ..request.clone()
            };
            let taken = self.share_capture(request, abort.clone()).await?;
            let changed = taken.capture.changed_during_capture;
            Ok((taken, changed))
        };
        capture_until_unchanged(capture).await.map(|(taken, _)| taken)
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
