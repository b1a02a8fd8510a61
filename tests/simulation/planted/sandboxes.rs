//! The sandboxes: calls that are dropped or delayed, and answers that are misread.

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use sandbox_snapshotter::model::background_call::{BackgroundCall, BackgroundOutcome, BackgroundRefusal};
use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use sandbox_snapshotter::model::exclude::IgnoredNames;
use sandbox_snapshotter::model::exec_call::ContainerCommand;
use sandbox_snapshotter::model::file_call::{FileCall, FileOutcome, FileRefusal};
use sandbox_snapshotter::model::file_part::{FileParts, PartOutcome, PartsRefusal};
use sandbox_snapshotter::model::freeze::{Freeze, FreezeReport};
use sandbox_snapshotter::model::freeze_call::FreezeFailed;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::named::binding::{DirectoryListing, RestoreBegun};
use sandbox_snapshotter::model::named::platform_snapshot::StoredDisk;
use sandbox_snapshotter::model::named::settings::Hook;
use sandbox_snapshotter::model::required_container::{Refusal, RequiredContainer};
use sandbox_snapshotter::model::secret_search::{FoundSecrets, SecretSearch};
use sandbox_snapshotter::model::{
    Arrival, BackupHandle, ChangeCursor, ContainerIdentity, Directory, Failure, MarkerOutcome, MarkerUpdate, Probe,
    Provenance, Runtime, SandboxId, SandboxStatus, SnapshotId, Status,
};
use sandbox_snapshotter::ports::{CallerCommands, Ledger, Ports, Sandboxes};

use super::ports::Place;
use super::probes::OLDEST_MILLIS;
use super::sandbox_session::PlantedSession;
use super::{Bug, PlantedPorts};
use crate::memory::ObjectPorts;
use crate::world::Simulation;

type MemorySandboxes = <ObjectPorts<Simulation> as Ports>::Sandboxes;

/// The sandboxes of one runtime.
pub struct PlantedSandboxes {
    pub(super) runtime: Option<Runtime>,
    pub(super) ports: Rc<ObjectPorts<Simulation>>,
    pub(super) planted: Weak<PlantedPorts>,
}

impl PlantedSandboxes {
    pub(super) fn all(&self) -> &MemorySandboxes {
        self.ports.sandboxes(self.runtime).unwrap()
    }

    pub(super) fn planted(&self) -> Rc<PlantedPorts> {
        self.planted.upgrade().unwrap()
    }
}

/// Implements methods with those of the sandboxes in memory.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(async fn $name(&self, id: &SandboxId, $($argument: $type),*) -> Result<$answer, Failure> {
            self.all().$name(id, $($argument),*).await
        })*
    };
}

impl Sandboxes for PlantedSandboxes {
    type SandboxSession<'a> = PlantedSession<'a>;

    async fn thaw(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        expected: Option<ContainerIdentity>,
    ) -> Result<FreezeReport, Failure> {
        let report = self.all().thaw(id, snapshot_id, expected).await?;
        let is_planted = self.planted().is_planted(Bug::FreezeNotCompared);
        Ok(FreezeReport { consistent: report.consistent || is_planted, ..report })
    }

    pass_on! {
        set_replaced_note(note: bool) -> ();
        set_idle_timeout(seconds: Option<u64>) -> ();
        hash_files(dir: &Directory, files: &[String]) -> BTreeMap<String, String>;
        ignored_names(dir: &Directory) -> IgnoredNames;
        find_secrets(search: &SecretSearch, expected: Option<ContainerIdentity>) -> FoundSecrets;
        watch_changes(cursor: &ChangeCursor, expected: Option<ContainerIdentity>) -> Option<Provenance>;
        begin_restore(
            from: Option<&ContainerMarker>,
            to: &ContainerMarker,
            token: Option<&str>,
            dir: &Directory,
            files: &[String]
        ) -> Option<RestoreBegun>;
        freeze(
            dir: &Directory,
            snapshot_id: &SnapshotId,
            freeze: &Freeze,
            expected: Option<ContainerIdentity>
        ) -> Result<(), FreezeFailed>;
        image_names() -> Option<Vec<String>>;
        platform_image() -> Option<String>;
        take_platform_snapshot(marker: &ContainerMarker, token: &str) -> Option<StoredDisk>;
        start_from_platform_snapshot(snapshot_id: &str) -> ();
        complete_restore(
            backup: &BackupHandle,
            from: &ContainerMarker,
            to: &ContainerMarker,
            may_be_empty: bool
        ) -> Arrival;
        run_hook(
            marker: &ContainerMarker,
            dir: &Directory,
            name: &str,
            hook: &Hook,
            env: &BTreeMap<String, String>
        ) -> Option<HookRun>;
    }

    fn open_session<'a>(&'a self, id: &'a SandboxId) -> PlantedSession<'a> {
        PlantedSession { sandboxes: self, id, session: self.all().open_session(id) }
    }

    #[track_caller]
    fn status(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxStatus, Failure>> {
        let place = Place::here();
        async move {
            let mut status = self.all().status(id).await?;
            if place.is_in("workspace/sandbox/condition.rs") {
                if self.planted().is_planted(Bug::RestoredWithoutProbe) && self.planted().is_first_probe(id) {
                    status.status = Status::Down;
                }
                if self.planted().notes.is_adopting.get() {
                    status.status = Status::Healthy;
                }
            }
            Ok(status)
        }
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>, image: Option<&str>) -> Result<(), Failure> {
        let configured = self.all().configure(id, idle_seconds, image).await;
        configured.inspect_err(|_| self.planted().notes.is_adopting.set(false))
    }

    async fn set_env(&self, id: &SandboxId, env: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        self.all().set_env(id, env).await.inspect_err(|_| self.planted().notes.is_adopting.set(false))
    }

    #[track_caller]
    fn probe(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<Probe, Failure>> {
        let place = Place::here();
        async move { Ok(self.planted().misread_probe(place, self.all().probe(id, dir).await?, false)) }
    }

    #[track_caller]
    fn list_directory(
        &self,
        id: &SandboxId,
        dir: &Directory,
    ) -> impl Future<Output = Result<DirectoryListing, Failure>> {
        let place = Place::here();
        async move {
            let mut listing = self.all().list_directory(id, dir).await?;
            if place.is_in("workspace/sandbox/condition.rs") && self.planted().notes.is_adopting.take() {
                listing.content_hash = Some("the adopted files".to_owned());
            }
            Ok(listing)
        }
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        self.planted().notes.is_adopting.set(false);
        if self.planted().is_planted(Bug::UnfinishedRestoreNotEnded)
            && self.planted().notes.is_unfinished.get()
            && self.planted().lifecycle_call(id).is_none()
        {
            self.planted().notes.is_spared.set(true);
            return Ok(());
        }
        let is_kept = !self.planted().is_own(id) && self.planted().is_planted(Bug::RestoreNotRolledBack);
        if !is_kept {
            self.all().destroy(id).await?;
        }
        if is_kept || (!self.planted().is_own(id) && self.planted().is_planted(Bug::DestroyNotRechecked)) {
            self.planted().stored().delete_derived_sandbox(id).unwrap();
        }
        Ok(())
    }

    #[track_caller]
    fn update_marker(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        older_than_millis: Option<i64>,
    ) -> impl Future<Output = Result<MarkerUpdate, Failure>> {
        let is_first_capture = Place::here().is_in("container/observation.rs");
        async move {
            if is_first_capture && self.planted().is_planted(Bug::MarkedAfterCapture) {
                self.planted().notes.late_marker.replace(Some(to.clone()));
                let outcome = MarkerOutcome::Updated;
                return Ok(MarkerUpdate {
                    age_millis: OLDEST_MILLIS,
                    elapsed_millis: 0,
                    outcome,
                    container_id: None,
                    provenance: None,
                });
            }
            if is_first_capture && self.planted().is_planted(Bug::AgeNotCompared) {
                let update = self.all().update_marker(id, from, to, None).await?;
                return Ok(MarkerUpdate { age_millis: OLDEST_MILLIS, ..update });
            }
            let update = self.all().update_marker(id, from, to, older_than_millis).await?;
            if matches!(to, ContainerMarker::Adopted(_)) && update.outcome == MarkerOutcome::Updated {
                self.planted().notes.adopted_marker.replace(Some(to.clone()));
            }
            Ok(update)
        }
    }

    async fn changed_since_save(
        &self,
        id: &SandboxId,
        dir: &Directory,
        saved: Option<&str>,
        next: &str,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<bool>, Failure> {
        let checked = self.planted().notes.checked_state.replace(Some(next.to_owned()));
        let saved = match &checked {
            Some(checked) if self.planted().is_planted(Bug::FailedSaveCounted) => Some(checked.as_str()),
            _ => saved,
        };
        self.all().changed_since_save(id, dir, saved, next, expected).await
    }

    async fn changed_since_watch(
        &self,
        id: &SandboxId,
        dir: &Directory,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> Result<bool, Failure> {
        let is_changed = Sandboxes::changed_since_watch(self.all(), id, dir, cursor, expected).await?;
        let is_hidden = matches!(cursor, ChangeCursor::Stop(_)) && self.planted().is_planted(Bug::ChangesNotRecaptured);
        Ok(is_changed && !is_hidden)
    }
}

impl CallerCommands for PlantedSandboxes {
    type RunningCommand = <MemorySandboxes as CallerCommands>::RunningCommand;
    type Input = <MemorySandboxes as CallerCommands>::Input;

    pass_on! {
        run_command(required: &RequiredContainer, command: &ContainerCommand) -> Self::RunningCommand;
        write_input(path: &str, input: Self::Input) -> ();
        kill_command(command_id: &str, expected: Option<ContainerIdentity>) -> ();
        call_background(
            required: &RequiredContainer,
            call: &BackgroundCall
        ) -> Result<BackgroundOutcome, Refusal<BackgroundRefusal>>;
        call_files(required: &RequiredContainer, call: &FileCall) -> Result<FileOutcome, Refusal<FileRefusal>>;
        write_file_parts(
            dir: &Directory,
            required: &RequiredContainer,
            parts: &FileParts
        ) -> Result<Vec<PartOutcome>, Refusal<PartsRefusal>>;
        run_checkpoint(
            dir: &Directory,
            required: &RequiredContainer,
            call: &CheckpointCall
        ) -> Result<CheckpointOutcome, Refusal<CheckpointRefusal>>;
    }
}
