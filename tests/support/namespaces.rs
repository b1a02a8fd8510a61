//! The Durable Object namespaces of the sandboxes, one for each binding. The same id in two of them is two sandboxes.

use std::collections::BTreeMap;
use std::rc::Rc;

use sandbox_snapshotter::model::background_call::{BackgroundCall, BackgroundOutcome, BackgroundRefusal};
use sandbox_snapshotter::model::checkpoint_call::{
    CheckpointCall, CheckpointOutcome, CheckpointRefusal, RequiredContainer,
};
use sandbox_snapshotter::model::exec_call::{ContainerCommand, ExecContainer};
use sandbox_snapshotter::model::file_call::{FileCall, FileOutcome, FileRefusal};
use sandbox_snapshotter::model::file_part::{FilePart, PartOutcome, PartRefusal};
use sandbox_snapshotter::model::freeze::{Freeze, FreezeReport};
use sandbox_snapshotter::model::freeze_call::FreezeFailed;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::named::binding::{DirectoryListing, RestoreBegun};
use sandbox_snapshotter::model::named::platform_snapshot::StoredDisk;
use sandbox_snapshotter::model::named::settings::Hook;
use sandbox_snapshotter::model::{
    Arrival, BackupHandle, ChangeCursor, ContainerIdentity, Directory, Failure, MarkerUpdate, Probe, Provenance,
    Runtime, SandboxBinding, SandboxId, SandboxStatus, SnapshotId,
};
use sandbox_snapshotter::ports::Sandboxes;

use super::exec::MemoryCommand;
use super::sandbox_session::MemorySession;
use super::{Scheduler, World};

/// The binding whose sandboxes have the same id in the world.
pub const USUAL_BINDING: &str = "Sandbox";

/// The sandboxes of one binding.
pub struct Namespace<S: Scheduler> {
    world: Rc<World<S>>,
    prefix: Option<Runtime>,
}

impl<S: Scheduler> Namespace<S> {
    /// Returns the sandboxes of `binding`.
    pub fn new(world: Rc<World<S>>, binding: &SandboxBinding) -> Self {
        Self { world, prefix: binding.runtime.filter(|_| binding.name != USUAL_BINDING) }
    }

    fn key(&self, id: &SandboxId) -> SandboxId {
        self.prefix.map_or_else(|| id.clone(), |runtime| in_namespace(runtime, id))
    }
}

/// Returns the id that the sandbox `id` of another binding than [`USUAL_BINDING`] has in the world.
pub fn in_namespace(runtime: Runtime, id: &SandboxId) -> SandboxId {
    SandboxId::parse(&format!("{runtime}:{id}")).unwrap()
}

impl<S: Scheduler> Sandboxes for Namespace<S> {
    type SandboxSession<'a> = MemorySession<'a, S>;
    type RunningCommand = MemoryCommand<S>;
    type Input = String;

    fn open_session<'a>(&'a self, id: &'a SandboxId) -> MemorySession<'a, S> {
        MemorySession::new(&self.world, self.key(id))
    }

    async fn status(&self, id: &SandboxId) -> Result<SandboxStatus, Failure> {
        self.world.status(&self.key(id)).await
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>, image: Option<&str>) -> Result<(), Failure> {
        self.world.configure(&self.key(id), idle_seconds, image).await
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        self.world.probe(&self.key(id), dir).await
    }

    async fn set_replaced_note(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        self.world.set_replaced_note(&self.key(id), note).await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        self.world.destroy(&self.key(id)).await
    }

    async fn set_idle_timeout(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        self.world.set_idle_timeout(&self.key(id), seconds).await
    }

    async fn set_env(&self, id: &SandboxId, env: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        self.world.set_env(&self.key(id), env).await
    }

    async fn update_marker(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        older_than_millis: Option<i64>,
    ) -> Result<MarkerUpdate, Failure> {
        self.world.update_marker(&self.key(id), from, to, older_than_millis).await
    }

    async fn begin_restore(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        token: Option<&str>,
        dir: &Directory,
        files: &[String],
    ) -> Result<Option<RestoreBegun>, Failure> {
        self.world.begin_restore(&self.key(id), from, to, token, dir, files).await
    }

    async fn complete_restore(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        self.world.complete_restore(&self.key(id), backup, from, to, may_be_empty).await
    }

    async fn list_directory(&self, id: &SandboxId, dir: &Directory) -> Result<DirectoryListing, Failure> {
        self.world.list_directory(&self.key(id), dir).await
    }

    async fn hash_files(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        self.world.hash_files(&self.key(id), dir, files).await
    }

    async fn ignored_paths(&self, id: &SandboxId, dir: &Directory) -> Result<Vec<String>, Failure> {
        self.world.ignored_paths(&self.key(id), dir).await
    }

    async fn watch_changes(
        &self,
        id: &SandboxId,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<Provenance>, Failure> {
        self.world.watch_changes(&self.key(id), cursor, expected).await
    }

    async fn changed_since_watch(
        &self,
        id: &SandboxId,
        dir: &Directory,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> Result<bool, Failure> {
        self.world.changed_since_watch(&self.key(id), dir, cursor, expected).await
    }

    async fn changed_since_save(
        &self,
        id: &SandboxId,
        dir: &Directory,
        saved: Option<&str>,
        next: &str,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<bool>, Failure> {
        self.world.changed_since_save(&self.key(id), dir, saved, next, expected).await
    }

    async fn run_hook(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        dir: &Directory,
        name: &str,
        hook: &Hook,
        env: &BTreeMap<String, String>,
    ) -> Result<Option<HookRun>, Failure> {
        self.world.run_hook(&self.key(id), marker, dir, name, hook, env).await
    }

    async fn freeze(
        &self,
        id: &SandboxId,
        dir: &Directory,
        snapshot_id: &SnapshotId,
        freeze: &Freeze,
        expected: Option<ContainerIdentity>,
    ) -> Result<Result<(), FreezeFailed>, Failure> {
        self.world.freeze(&self.key(id), dir, snapshot_id, freeze, expected).await
    }

    async fn thaw(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        expected: Option<ContainerIdentity>,
    ) -> Result<FreezeReport, Failure> {
        self.world.thaw(&self.key(id), snapshot_id, expected).await
    }

    async fn image_names(&self, id: &SandboxId) -> Result<Option<Vec<String>>, Failure> {
        self.world.image_names(&self.key(id)).await
    }

    async fn platform_image(&self, id: &SandboxId) -> Result<Option<String>, Failure> {
        self.world.platform_image(&self.key(id)).await
    }

    async fn take_platform_snapshot(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        token: &str,
    ) -> Result<Option<StoredDisk>, Failure> {
        self.world.take_platform_snapshot(&self.key(id), marker, token).await
    }

    async fn start_from_platform_snapshot(&self, id: &SandboxId, snapshot_id: &str) -> Result<(), Failure> {
        self.world.start_from_platform_snapshot(&self.key(id), snapshot_id).await
    }

    async fn write_file_part(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: RequiredContainer,
        part: &FilePart,
    ) -> Result<Result<PartOutcome, PartRefusal>, Failure> {
        self.world.write_file_part(&self.key(id), dir, required, part).await
    }

    async fn run_command(
        &self,
        id: &SandboxId,
        container: &ExecContainer,
        command: &ContainerCommand,
    ) -> Result<MemoryCommand<S>, Failure> {
        self.world.run_command(&self.key(id), container, command).await
    }

    async fn write_input(&self, id: &SandboxId, path: &str, input: String) -> Result<(), Failure> {
        self.world.write_input(&self.key(id), path, input).await
    }

    async fn kill_command(&self, id: &SandboxId, command_id: &str) -> Result<(), Failure> {
        self.world.kill_command(&self.key(id), command_id).await
    }

    async fn call_background(
        &self,
        id: &SandboxId,
        container: &ExecContainer,
        call: &BackgroundCall,
    ) -> Result<Result<BackgroundOutcome, BackgroundRefusal>, Failure> {
        self.world.call_background(&self.key(id), container, call).await
    }

    async fn call_files(
        &self,
        id: &SandboxId,
        container: &ExecContainer,
        call: &FileCall,
    ) -> Result<Result<FileOutcome, FileRefusal>, Failure> {
        self.world.call_files(&self.key(id), container, call).await
    }

    async fn run_checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: RequiredContainer,
        call: &CheckpointCall,
    ) -> Result<Result<CheckpointOutcome, CheckpointRefusal>, Failure> {
        self.world.run_checkpoint(&self.key(id), dir, required, call).await
    }
}
