//! The port of a session of a sandbox.

use std::rc::Rc;

use sandbox_snapshotter::model::delta::{
    CaptureBegin, CaptureBegun, Carrier, RestoreFinish, RestoreFinished, TracedBase, is_carrier,
};
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{
    Arrival, BackupHandle, BackupOptions, ContainerId, Directory, DirectoryContent, Failure, FullReason, MarkerUpdate,
    Probe, SandboxId, SnapshotId,
};
use sandbox_snapshotter::ports::{SandboxSession, Sandboxes};

use super::containers::is_under;
use super::{Container, Event, Method, Namespace, Scheduler, Work, World};

/// A session of a sandbox.
pub struct MemorySession<'a, S: Scheduler> {
    sandboxes: &'a Namespace<S>,
    id: &'a SandboxId,
}

impl<'a, S: Scheduler> MemorySession<'a, S> {
    /// Returns a session of the sandbox `id`.
    pub const fn new(sandboxes: &'a Namespace<S>, id: &'a SandboxId) -> Self {
        Self { sandboxes, id }
    }
}

impl<S: Scheduler> SandboxSession for MemorySession<'_, S> {
    async fn set_name(&self) -> Result<(), Failure> {
        let own = self.sandboxes.key(self.id);
        self.sandboxes.call_object(Method::SetName, self.id, move |sandbox, _| sandbox.assign_name(&own)).await
    }

    async fn probe(&self, dir: &Directory) -> Result<Probe, Failure> {
        self.sandboxes.probe(self.id, dir).await
    }

    async fn update_marker(
        &self,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
    ) -> Result<MarkerUpdate, Failure> {
        Sandboxes::update_marker(self.sandboxes, self.id, from, to, None).await
    }

    async fn complete_restore(
        &self,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        self.sandboxes.complete_restore(self.id, backup, from, to, may_be_empty).await
    }

    async fn make_directory(&self, dir: &Directory) -> Result<(), Failure> {
        let dir = dir.to_string();
        let make = |container: &mut Container<S>, _| _ = container.directories.insert(dir);
        self.sandboxes.in_container(Method::MakeDirectory, self.id, make).await
    }

    async fn create_backup(&self, options: &BackupOptions, _: Option<u64>) -> Result<BackupHandle, Failure> {
        let options = options.clone();
        let create = move |world: Rc<World<S>>, id| {
            let mut turn = world.with_sandbox(&id, |sandbox, _| sandbox.enqueue());
            async move {
                turn.wait().await;
                let number = world.enter_for_capture(&id, &options).await?;
                let capture = world.capture(&id, &options);
                S::work(&world, Work::Archive).await?;
                world.check_captured(&id, number)?;
                Ok(world.store_backup(capture, &options))
            }
        };
        self.sandboxes.call(Method::CreateBackup, self.id, create).await
    }

    async fn restore_backup(
        &self,
        backup: &BackupHandle,
        _: u64,
        expected: Option<&ContainerId>,
    ) -> Result<(), Failure> {
        let (backup, requested_at) = (backup.clone(), self.sandboxes.world.current_time().as_millis());
        let expected = expected.cloned();
        let restore = move |world: Rc<World<S>>, id| {
            let mut turn = world.with_sandbox(&id, |sandbox, _| sandbox.enqueue());
            async move {
                turn.wait().await;
                S::observe(&world, Event::RestoreRequested(&backup));
                let (files, format) = world.read_backup(backup.id())?;
                world.enter_for_restore(&id, format, expected.as_ref()).await?;
                let is_missing = |parent: Directory| {
                    let content =
                        world.with_container(&id, |container, _| container.directory_content(parent.as_str()));
                    content == DirectoryContent::Missing
                };
                if !world.owns_containers() && backup.required_parent().is_some_and(is_missing) {
                    return Err(Failure::new("BackupRestoreError", "unsquashfs").with_code("BACKUP_RESTORE_FAILED"));
                }
                let carrier = is_carrier(backup.dir()).then(|| backup.id().clone());
                if carrier.is_none() {
                    S::observe(&world, Event::Unpacked(&id, backup.id(), requested_at));
                }
                world.with_container(&id, |container, _| {
                    container.unpack(&backup, files, world.runtime.get());
                    container.deltas.unpacked = carrier;
                });
                S::work(&world, Work::Unpack).await
            }
        };
        self.sandboxes.call(Method::RestoreBackup, self.id, restore).await
    }

    async fn begin_capture(&self, begin: &CaptureBegin) -> Result<CaptureBegun, Failure> {
        let begin = begin.clone();
        let run = move |container: &mut Container<S>, _| container.begin_capture(&begin);
        self.sandboxes.in_container(Method::BeginCapture, self.id, run).await
    }

    async fn finish_inventory(
        &self,
        _: &Directory,
        snapshot_id: &SnapshotId,
    ) -> Result<Result<TracedBase, FullReason>, Failure> {
        let snapshot_id = snapshot_id.clone();
        let run = move |container: &mut Container<S>, _| container.finish_inventory(&snapshot_id);
        self.sandboxes.in_container(Method::FinishInventory, self.id, run).await
    }

    async fn release_carrier(&self, carrier: &Carrier) -> Result<bool, Failure> {
        let carrier = carrier.clone();
        let run = move |container: &mut Container<S>, _| container.release_carrier(&carrier);
        self.sandboxes.in_container(Method::ReleaseCarrier, self.id, run).await
    }

    async fn clear_directory(&self, dir: &Directory, marker: &ContainerMarker) -> Result<bool, Failure> {
        let (dir, marker) = (dir.clone(), marker.clone());
        let clear = move |container: &mut Container<S>, _| {
            let is_expected = container.marker.as_ref() == Some(&marker);
            if is_expected {
                container.retain_files(|path| !is_under(path, dir.as_str()));
            }
            is_expected
        };
        self.sandboxes.in_container(Method::ClearDirectory, self.id, clear).await
    }

    async fn finish_restore(
        &self,
        finish: &RestoreFinish,
        marker: &ContainerMarker,
    ) -> Result<RestoreFinished, Failure> {
        let (finish, marker) = (finish.clone(), marker.clone());
        let run = move |world: &Rc<World<S>>, id: &SandboxId| {
            let finished = world.with_container(id, |container, _| container.finish_restore(&finish, &marker));
            if finish.carrier.is_some() && finished != RestoreFinished::OtherContainer {
                S::observe(world, Event::DeltaApplied(id));
            }
            finished
        };
        self.sandboxes.run_script(Method::FinishRestore, self.id, run).await
    }
}
