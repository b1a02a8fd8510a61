//! The sessions of sandboxes: captures and restores that are not verified.

use sandbox_snapshotter::model::delta::{
    CaptureBegin, CaptureBegun, Carrier, RestoreFinish, RestoreFinished, TracedBase,
};
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{
    Arrival, BackupHandle, BackupOptions, ContainerId, Directory, Failure, FullReason, MarkerUpdate, Probe, SandboxId,
    SnapshotId,
};
use sandbox_snapshotter::ports::{SandboxSession, SandboxSessionOf, Sandboxes};

use super::messages::Lifecycle;
use super::ports::Place;
use super::sandboxes::PlantedSandboxes;
use super::{Bug, PlantedPorts};
use crate::memory::ObjectPorts;
use crate::world::Simulation;

/// The number of attempts of a call that the service would repeat.
const ATTEMPTS: u32 = 3;

/// A session of a sandbox.
pub struct PlantedSession<'a> {
    pub(super) sandboxes: &'a PlantedSandboxes,
    pub(super) id: &'a SandboxId,
    pub(super) session: SandboxSessionOf<'a, ObjectPorts<Simulation>>,
}

impl SandboxSession for PlantedSession<'_> {
    async fn set_name(&self) -> Result<(), Failure> {
        self.session.set_name().await
    }

    #[track_caller]
    fn probe(&self, dir: &Directory) -> impl Future<Output = Result<Probe, Failure>> {
        let place = Place::here();
        async move { Ok(self.sandboxes.planted().misread_probe(place, self.session.probe(dir).await?, true)) }
    }

    async fn make_directory(&self, dir: &Directory) -> Result<(), Failure> {
        self.session.make_directory(dir).await
    }

    async fn create_backup(&self, options: &BackupOptions, bytes: Option<u64>) -> Result<BackupHandle, Failure> {
        let created = self
            .session
            .create_backup(&self.sandboxes.planted().misplace_expectation(self.id, options.clone()), bytes)
            .await;
        let is_stopped = self.sandboxes.planted().lifecycle_call(self.id) == Some(Lifecycle::Stop);
        if created.is_err() && is_stopped && self.sandboxes.planted().is_planted(Bug::EndedAfterFailedCapture) {
            self.sandboxes.all().destroy(self.id).await.ok();
        }
        let late_marker = self.sandboxes.planted().notes.late_marker.take();
        if let Some(marker) = late_marker.filter(|_| created.is_ok()) {
            for _ in 0..ATTEMPTS {
                if self.sandboxes.all().update_marker(self.id, None, &marker, None).await.is_ok() {
                    break;
                }
            }
        }
        created
    }

    async fn update_marker(
        &self,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
    ) -> Result<MarkerUpdate, Failure> {
        let update = self.session.update_marker(from, to).await?;
        let is_compared = !self.sandboxes.planted().is_planted(Bug::ImageNotCompared);
        Ok(MarkerUpdate { provenance: update.provenance.filter(|_| is_compared), ..update })
    }

    async fn restore_backup(
        &self,
        backup: &BackupHandle,
        bytes: u64,
        expected: Option<&ContainerId>,
    ) -> Result<(), Failure> {
        self.session.restore_backup(backup, bytes, expected).await
    }

    async fn complete_restore(
        &self,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        self.session.complete_restore(backup, from, to, may_be_empty).await
    }

    async fn begin_capture(&self, begin: &CaptureBegin) -> Result<CaptureBegun, Failure> {
        let mut begin = begin.clone();
        let inventory = || {
            self.sandboxes.planted().world().with_container(self.id, |container, _| container.deltas.inventory.clone())
        };
        if begin.base.is_some() && self.sandboxes.planted().is_planted(Bug::InventoryNotCompared) {
            begin.base = inventory().map(|inventory| inventory.base).or(begin.base);
        }
        self.session.begin_capture(&begin).await
    }

    async fn finish_inventory(
        &self,
        dir: &Directory,
        snapshot_id: &SnapshotId,
    ) -> Result<Result<TracedBase, FullReason>, Failure> {
        self.session.finish_inventory(dir, snapshot_id).await
    }

    async fn release_carrier(&self, carrier: &Carrier) -> Result<bool, Failure> {
        self.session.release_carrier(carrier).await
    }

    async fn clear_directory(&self, dir: &Directory, marker: &ContainerMarker) -> Result<bool, Failure> {
        self.session.clear_directory(dir, marker).await
    }

    async fn finish_restore(
        &self,
        finish: &RestoreFinish,
        marker: &ContainerMarker,
    ) -> Result<RestoreFinished, Failure> {
        let finished = self.session.finish_restore(finish, marker).await;
        if finish.carrier.is_some() && self.sandboxes.planted().is_planted(Bug::DigestNotCompared) {
            self.sandboxes.planted().world().with_container(self.id, |container, _| {
                let missing = container.files_in(finish.dir.as_str()).into_keys().next();
                container.retain_files(|path| missing.as_deref() != Some(path));
            });
        }
        finished
    }
}

impl PlantedPorts {
    /// Returns the options of a capture as the sandbox reads them.
    fn misplace_expectation(&self, id: &SandboxId, options: BackupOptions) -> BackupOptions {
        if self.is_planted(Bug::ExpectedContainerNotPassed) {
            return BackupOptions { expected_last_change: None, ..options };
        }
        if options.expected_last_change.is_some() && self.is_planted(Bug::ExpectedContainerNotCompared) {
            return BackupOptions { expected_last_change: self.world().identity(id), ..options };
        }
        options
    }
}
