//! The freeze of files during a capture. A process in the container runs both commands, so it thaws the files also where
//! this object ends in between.

use std::cell::Cell;
use std::pin::pin;

use futures_util::future::{Either, select};

use crate::model::freeze::FreezeReport;
use crate::model::record::{SnapshotRecord, Stage};
use crate::model::{ContainerIdentity, Error, Result, SnapshotId, SnapshotRequest};
use crate::ports::{Ports, Sandboxes};
use crate::service::calls::failures::During;
use crate::service::container::identity::ContainerExpectation;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// Files that are frozen for a capture.
pub(super) struct Frozen {
    snapshot_id: SnapshotId,
    expected: Option<ContainerIdentity>,
    /// Whether their thaw was requested.
    thawed: Cell<bool>,
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Freezes the files in the container that is to be captured, if the caller wants it.
    ///
    /// # Errors
    /// [`Code::HookFailed`](crate::model::Code::HookFailed) if the command failed; then the container has thawed the files.
    /// After any other error, and after an abort, their thaw was requested.
    pub(super) async fn freeze(
        &self,
        request: &SnapshotRequest,
        record: &SnapshotRecord,
        expectation: &ContainerExpectation,
        abort: &CancellationToken,
    ) -> Result<Option<Frozen>> {
        let Some(freeze) = &request.freeze else { return Ok(None) };
        abort.check()?;
        let Stage::Creating(progress) = &record.stage else { return Err(Error::internal()) };
        let expected = progress.observation.identity();
        let frozen = Frozen { snapshot_id: record.snapshot_id.clone(), expected, thawed: Cell::new(false) };
        let call = self.sandboxes()?.freeze(&self.id, &record.dir, &frozen.snapshot_id, freeze, expected).await;
        let outcome = match self.note_late_call(call.map_err(self.failed(During::Hook))) {
            Ok(Ok(())) => abort.check(),
            Ok(Err(failed)) => {
                // In another container, the command fails, too.
                self.verify_captured(&record.dir, expectation).await?;
                return Err(Error::freeze_failed(&self.id, failed.exit_code, &failed.output));
            }
            Err(error) => Err(error),
        };
        if outcome.is_err() {
            self.thaw_after_failure(Some(&frozen)).await;
        }
        outcome.map(|()| Some(frozen))
    }

    /// Thaws the files, unless that was requested before. Returns whether they were frozen until now. A failure does not fail
    /// the capture: the container thaws the files by itself.
    pub(super) async fn thaw(&self, frozen: Option<&Frozen>) -> Option<FreezeReport> {
        let frozen = frozen?;
        if frozen.thawed.replace(true) {
            return None;
        }
        let Ok(sandboxes) = self.sandboxes() else { return Some(FreezeReport::default()) };
        let thawed = sandboxes.thaw(&self.id, &frozen.snapshot_id, frozen.expected).await;
        let report = self.note_late_call(thawed.map_err(self.failed(During::Hook)));
        Some(report.unwrap_or_default())
    }

    /// Archives frozen files. If the capture is canceled meanwhile, thaws them at once: the archive is discarded when it is
    /// stored.
    pub(super) async fn thaw_if_canceled<T>(
        &self,
        frozen: Option<&Frozen>,
        abort: &CancellationToken,
        archive: impl Future<Output = T>,
    ) -> T {
        let Some(frozen) = frozen else { return archive.await };
        let thaw = async {
            abort.clone().cancelled().await;
            self.thaw_after_failure(Some(frozen)).await;
        };
        match select(pin!(archive), pin!(thaw)).await {
            Either::Left((archived, thaw)) => {
                if frozen.thawed.get() {
                    thaw.await;
                }
                archived
            }
            Either::Right(((), archive)) => archive.await,
        }
    }

    /// Thaws the files after a failure, unless their container has ended: where the call does not name its container, it would
    /// start an empty one.
    pub(super) async fn thaw_after_failure(&self, frozen: Option<&Frozen>) {
        let Some(frozen) = frozen.filter(|frozen| !frozen.thawed.get()) else { return };
        if frozen.expected.is_some() || self.verify_running().await.is_ok() {
            self.thaw(Some(frozen)).await;
        }
    }
}
