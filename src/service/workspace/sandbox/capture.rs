//! Captures of a sandbox that is about to be stopped or destroyed. If files change during a capture, it is repeated
//! (`snapshot/settle.rs`).

use crate::model::named::answer::LastSnapshot;
use crate::model::named::messages::{SandboxStopped, StopSandboxRequest};
use crate::model::named::{ContainerMarker, StoragePolicy};
use crate::model::request::{CapturePurpose, StopSnapshot};
use crate::model::{ChangeCursor, Error, Result, SnapshotCause, SnapshotId, SnapshotRequest};
use crate::ports::{Ports, Sandboxes};
use crate::service::calls::failures::During;
use crate::service::snapshot::settle::{MAX_CAPTURES, capture_until_unchanged};
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns whether the files of a sandbox that belongs to a named workspace have changed since the last call.
    pub async fn changed_since_watch(&self) -> Result<bool> {
        self.prepare_call().await?;
        // The operation that ends the sandbox makes the same check, and must see every change.
        let _lock = self.in_process.lifecycle_lock.lock().await;
        self.note_late_call(self.files_changed(&ChangeCursor::Idle).await)
    }

    /// Stores the files from which the workspace continues, in each storage of the workspace. With an archive, a failure
    /// of the platform snapshot is only reported. If the next start uses another image, an archive is stored in any case: the
    /// platform snapshot could not be restored.
    pub(super) async fn capture_for_stop(
        &self,
        marker: &ContainerMarker,
        request: &StopSandboxRequest,
        stopped: &mut SandboxStopped,
    ) -> Result<()> {
        let (storage, options, cause) = (request.storage, request.options.as_ref(), request.cause());
        let has_archive = storage.has_archive() || self.image_will_change(request.image.as_ref()).await?;
        let mut is_repeated = false;
        let capture = async || {
            let is_repeated = std::mem::replace(&mut is_repeated, true);
            let known = if is_repeated { None } else { self.snapshot_before_switch(request).await? };
            let archive = match known {
                None if has_archive => Some(self.capture_archive(options, cause, is_repeated).await?),
                known => known,
            };
            let platform = self.capture_platform(marker, storage, has_archive).await?;
            Ok((archive, platform))
        };
        let ((archive, platform), changed_during_capture) = self.capture_last_change(capture).await?;
        if platform.as_ref().is_none_or(Option::is_some) {
            // The archive is newer than any earlier platform snapshot.
            self.update_binding(|binding| binding.platform_snapshot = None)?;
        }
        stopped.snapshot = archive;
        stopped.changed_during_capture = changed_during_capture;
        stopped.platform_snapshot = self.binding()?.platform_snapshot;
        stopped.platform_failure = platform.flatten();
        Ok(())
    }

    pub(super) async fn capture_archive(
        &self,
        options: Option<&StopSnapshot>,
        cause: SnapshotCause,
        is_repeated: bool,
    ) -> Result<LastSnapshot> {
        let dir = self.start_state()?.dir;
        let StopSnapshot { label, replace, expiration_seconds } = options.cloned().unwrap_or_default();
        let request = SnapshotRequest {
            dir: Some(dir.clone()),
            // The previous capture has the label.
            replace: replace || (is_repeated && label.is_some()),
            label,
            expiration_seconds,
            ..self.request_for(CapturePurpose::Stop(cause))
        };
        let taken = self.share_capture(request, CancellationToken::never()).await?;
        Ok(LastSnapshot {
            id: taken.snapshot.snapshot_id().clone(),
            origin_id: (*self.id).clone(),
            dir,
            size_bytes: taken.capture.size_bytes,
            created_at: taken.snapshot.created_at(),
        })
    }

    /// Takes a platform snapshot if the storage has one. Returns why it failed, if there is an archive.
    #[allow(clippy::option_option)] // No platform snapshot, and no failure, are different.
    async fn capture_platform(
        &self,
        marker: &ContainerMarker,
        storage: StoragePolicy,
        has_archive: bool,
    ) -> Result<Option<Option<String>>> {
        if !storage.has_platform() {
            return Ok(None);
        }
        match self.note_late_call(self.take_platform_snapshot(marker, has_archive).await) {
            Ok(()) => Ok(Some(None)),
            Err(error) if has_archive => Ok(Some(Some(error.message().to_owned()))),
            Err(error) => Err(error),
        }
    }

    /// Saves the files that were written since the sandbox cold-started, as a rescue snapshot. The sandbox starts from
    /// a rescue snapshot only if a caller selects it.
    pub(super) async fn take_rescue_snapshot(&self) -> Result<SnapshotId> {
        // A capture may start a container. The task makes sure that it is ended.
        self.schedule_reconcile()?;
        let dir = Some(self.start_state()?.dir);
        let request = SnapshotRequest { dir, wake: true, ..self.request_for(CapturePurpose::Rescue) };
        let capture = async || self.share_capture(request.clone(), CancellationToken::never()).await;
        let (taken, _) = self.capture_last_change(capture).await?;
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

    fn request_for(&self, purpose: CapturePurpose) -> SnapshotRequest {
        SnapshotRequest { fresh: true, purpose, ..SnapshotRequest::of((*self.id).clone()) }
    }

    /// Returns whether any file changed since the previous check.
    async fn files_changed(&self, cursor: &ChangeCursor) -> Result<bool> {
        let dir = self.start_state()?.dir;
        match self.sandboxes()?.changed_since_watch(&self.id, &dir, cursor, None).await {
            Err(failure) if failure.is_unmounted() => Err(Error::unmounted_directory(&dir)),
            check => check.map_err(self.failed(During::Probe)),
        }
    }

    /// Repeats a capture until no file changed during it, up to a limit. The second value is `true` if files still changed
    /// during the last capture.
    async fn capture_last_change<T>(&self, mut capture: impl AsyncFnMut() -> Result<T>) -> Result<(T, bool)> {
        let cursor = ChangeCursor::Stop(self.random_short_id()?);
        let watched = self.sandboxes()?.watch_changes(&self.id, &cursor, None).await;
        watched.map_err(self.failed(During::Probe))?;
        let capture = async || Ok((capture().await?, Some(self.files_changed(&cursor).await?)));
        let (taken, changed) = capture_until_unchanged(MAX_CAPTURES, capture).await?;
        Ok((taken, changed.unwrap_or(true)))
    }
}
