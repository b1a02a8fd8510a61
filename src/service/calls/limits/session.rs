//! The time limit of each call of a session with a sandbox.

use super::{CallKind, with_timeout};
use crate::model::delta::{CaptureBegin, CaptureBegun, Carrier, RestoreFinish, RestoreFinished, TracedBase};
use crate::model::named::ContainerMarker;
use crate::model::{
    Arrival, BackupHandle, BackupOptions, ContainerId, Directory, Failure, FullReason, MarkerUpdate, Probe, SnapshotId,
};
use crate::ports::{Clock, SandboxSession};

/// A session whose calls have time limits.
pub struct TimeLimitedSession<'a, V, C> {
    pub(super) session: V,
    pub(super) clock: &'a C,
}

impl<V: SandboxSession, C: Clock> SandboxSession for TimeLimitedSession<'_, V, C> {
    async fn set_name(&self) -> Result<(), Failure> {
        with_timeout(self.clock, CallKind::Configure, self.session.set_name()).await
    }

    async fn probe(&self, dir: &Directory) -> Result<Probe, Failure> {
        with_timeout(self.clock, CallKind::Command, self.session.probe(dir)).await
    }

    async fn make_directory(&self, dir: &Directory) -> Result<(), Failure> {
        with_timeout(self.clock, CallKind::Command, self.session.make_directory(dir)).await
    }

    async fn update_marker(
        &self,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
    ) -> Result<MarkerUpdate, Failure> {
        with_timeout(self.clock, CallKind::Command, self.session.update_marker(from, to)).await
    }

    async fn complete_restore(
        &self,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        with_timeout(self.clock, CallKind::Command, self.session.complete_restore(backup, from, to, may_be_empty)).await
    }

    async fn create_backup(&self, options: &BackupOptions, bytes: Option<u64>) -> Result<BackupHandle, Failure> {
        with_timeout(self.clock, CallKind::Backup(bytes), self.session.create_backup(options, bytes)).await
    }

    async fn restore_backup(
        &self,
        backup: &BackupHandle,
        bytes: u64,
        expected: Option<&ContainerId>,
    ) -> Result<(), Failure> {
        with_timeout(self.clock, CallKind::Restore(bytes), self.session.restore_backup(backup, bytes, expected)).await
    }

    async fn begin_capture(&self, begin: &CaptureBegin) -> Result<CaptureBegun, Failure> {
        with_timeout(self.clock, CallKind::Walk, self.session.begin_capture(begin)).await
    }

    async fn finish_inventory(
        &self,
        dir: &Directory,
        snapshot_id: &SnapshotId,
    ) -> Result<Result<TracedBase, FullReason>, Failure> {
        with_timeout(self.clock, CallKind::Walk, self.session.finish_inventory(dir, snapshot_id)).await
    }

    async fn release_carrier(&self, carrier: &Carrier) -> Result<bool, Failure> {
        with_timeout(self.clock, CallKind::Walk, self.session.release_carrier(carrier)).await
    }

    async fn clear_directory(&self, dir: &Directory, marker: &ContainerMarker) -> Result<bool, Failure> {
        with_timeout(self.clock, CallKind::Walk, self.session.clear_directory(dir, marker)).await
    }

    async fn finish_restore(
        &self,
        finish: &RestoreFinish,
        marker: &ContainerMarker,
    ) -> Result<RestoreFinished, Failure> {
        with_timeout(self.clock, CallKind::Walk, self.session.finish_restore(finish, marker)).await
    }
}
