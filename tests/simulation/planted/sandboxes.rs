//! The sandboxes: calls that are dropped or delayed, and answers that are misread.

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use sandbox_snapshotter::model::background_call::{BackgroundCall, BackgroundOutcome, BackgroundRefusal};
use sandbox_snapshotter::model::checkpoint_call::{
    CheckpointCall, CheckpointOutcome, CheckpointRefusal, RequiredContainer,
};
use sandbox_snapshotter::model::delta::{
    CaptureBegin, CaptureBegun, Carrier, RestoreFinish, RestoreFinished, TracedBase,
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
use sandbox_snapshotter::model::record::ExpectedMarker;
use sandbox_snapshotter::model::{
    Arrival, BackupHandle, BackupOptions, ChangeCursor, ContainerId, ContainerIdentity, Directory, DirectoryContent,
    Failure, FullReason, MarkerOutcome, MarkerUpdate, Probe, Provenance, Runtime, SandboxId, SandboxStatus, SnapshotId,
    Status,
};
use sandbox_snapshotter::ports::{Ledger, Ports, SandboxSession, SandboxSessionOf, Sandboxes};

use super::messages::Lifecycle;
use super::ports::Place;
use super::{Bug, PlantedPorts};
use crate::memory::ObjectPorts;
use crate::world::Simulation;

/// The age of a container that no time precedes, in milliseconds.
const OLDEST_MILLIS: i64 = 1 << 50;

/// The number of attempts of a call that the service would repeat.
const ATTEMPTS: u32 = 3;

type MemorySandboxes = <ObjectPorts<Simulation> as Ports>::Sandboxes;

/// The sandboxes of one runtime.
pub struct PlantedSandboxes {
    pub(super) runtime: Option<Runtime>,
    pub(super) ports: Rc<ObjectPorts<Simulation>>,
    pub(super) planted: Weak<PlantedPorts>,
}

impl PlantedSandboxes {
    fn all(&self) -> &MemorySandboxes {
        self.ports.sandboxes(self.runtime).unwrap()
    }

    fn planted(&self) -> Rc<PlantedPorts> {
        self.planted.upgrade().unwrap()
    }
}

impl PlantedPorts {
    /// Returns a probe as the service reads it. After a capture, the service first probes the container in the session of
    /// the capture; recovery has no session.
    fn misread_probe(&self, place: Place, probe: Probe, in_session: bool) -> Probe {
        if place.is_in("workspace/sandbox/condition.rs") {
            return self.misread_condition(probe);
        }
        if place.is_in("workspace/sandbox/revive.rs") && self.is_planted(Bug::RevivedWithoutComparison) {
            let own = self.world().ledger(self.own()).workspace().unwrap().and_then(|row| row.marker);
            return Probe { marker: own.map(ContainerMarker::Ready), ..probe };
        }
        if place.is_in("container/identity.rs") { self.misread_identity(probe, in_session) } else { probe }
    }

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

    /// Misreads a probe that tells the condition of the sandbox of a named workspace.
    fn misread_condition(&self, mut probe: Probe) -> Probe {
        let is_unfinished = matches!(probe.marker, Some(ContainerMarker::Restoring(_) | ContainerMarker::Restored(_)));
        let is_ready = probe.marker.as_ref().is_some_and(ContainerMarker::is_ready);
        let is_empty = matches!(probe.directory_content, DirectoryContent::Empty | DirectoryContent::Missing);
        self.notes.is_unfinished.set(is_unfinished || (is_empty && !is_ready));
        if self.is_planted(Bug::MarkerNotChecked) {
            let nonce = probe.marker.map(|marker| nonce_of(&marker)).unwrap_or_default();
            probe.marker = Some(ContainerMarker::Ready(nonce));
        }
        if let Some(ContainerMarker::Adopted(nonce)) = &probe.marker
            && self.is_planted(Bug::AdoptionTreatedAsRestore)
        {
            probe.marker = Some(ContainerMarker::Restored(nonce.clone()));
        }
        if self.is_planted(Bug::DivergedOverwritten)
            && matches!(self.lifecycle_call(self.own()), Some(Lifecycle::Start { .. }))
        {
            probe.directory_content = DirectoryContent::Empty;
        }
        if self.is_planted(Bug::RevivalDiscardsFiles) && self.world().is_revived(self.own()) {
            probe.directory_content = DirectoryContent::Empty;
        }
        if self.notes.is_adopting.get() {
            probe.marker.clone_from(&self.notes.adopted_marker.borrow());
            probe.directory_content = DirectoryContent::NonEmpty;
        }
        probe
    }

    /// Misreads a probe that tells whether a container is the expected one.
    fn misread_identity(&self, mut probe: Probe, in_session: bool) -> Probe {
        probe.is_replacement &= !self.is_planted(Bug::ReplacementFlagIgnored);
        if self.is_planted(Bug::CapturedDuringRestore) {
            probe.marker = probe.marker.filter(|marker| !marker.is_restoring());
        }
        if self.is_planted(Bug::ContainerNotCompared)
            || (self.is_planted(Bug::RecoveredWithoutComparison) && !in_session)
        {
            let Some((_, capture)) = self.find_capture(|progress| progress.backup.is_some()) else { return probe };
            probe.marker = match capture.expected_marker {
                Some(expected) => marker_of(&expected),
                None => probe.marker.filter(ContainerMarker::is_ready).or(Some(ContainerMarker::Ready(String::new()))),
            };
            return Probe { age_millis: OLDEST_MILLIS, is_replacement: false, ..probe };
        }
        if self.is_planted(Bug::MarkerNotRequired)
            && let Some((_, capture)) = self.find_capture(|progress| progress.expected_marker.is_some())
            && let Some(expected) = capture.expected_marker
            && self.world().current_time().millis_since(capture.observation.observed_at) <= probe.age_millis
        {
            probe.marker = marker_of(&expected);
        }
        probe
    }
}

/// Returns the marker that a container must carry.
fn marker_of(expected: &ExpectedMarker) -> Option<ContainerMarker> {
    match expected {
        ExpectedMarker::Own(nonce) => Some(ContainerMarker::Ready(nonce.clone())),
        ExpectedMarker::Foreign(text) => ContainerMarker::parse(text),
    }
}

fn nonce_of(marker: &ContainerMarker) -> String {
    match marker {
        ContainerMarker::Restoring(nonce)
        | ContainerMarker::Restored(nonce)
        | ContainerMarker::Adopted(nonce)
        | ContainerMarker::Ready(nonce) => nonce.clone(),
    }
}

/// A session of a sandbox.
pub struct PlantedSession<'a> {
    sandboxes: &'a PlantedSandboxes,
    id: &'a SandboxId,
    session: SandboxSessionOf<'a, ObjectPorts<Simulation>>,
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

macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(async fn $name(&self, id: &SandboxId, $($argument: $type),*) -> Result<$answer, Failure> {
            self.all().$name(id, $($argument),*).await
        })*
    };
}

impl Sandboxes for PlantedSandboxes {
    type SandboxSession<'a> = PlantedSession<'a>;
    type RunningCommand = <MemorySandboxes as Sandboxes>::RunningCommand;
    type Input = <MemorySandboxes as Sandboxes>::Input;

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
        ignored_paths(dir: &Directory) -> Vec<String>;
        watch_changes(cursor: &ChangeCursor, expected: Option<ContainerIdentity>) -> Option<Provenance>;
        begin_restore(
            from: Option<&ContainerMarker>,
            to: &ContainerMarker,
            token: Option<&str>,
            dir: &Directory,
            files: &[String]
        ) -> Option<RestoreBegun>;
        run_command(container: &ExecContainer, command: &ContainerCommand) -> Self::RunningCommand;
        write_input(path: &str, input: Self::Input) -> ();
        kill_command(command_id: &str) -> ();
        call_background(
            container: &ExecContainer,
            call: &BackgroundCall
        ) -> Result<BackgroundOutcome, BackgroundRefusal>;
        call_files(container: &ExecContainer, call: &FileCall) -> Result<FileOutcome, FileRefusal>;
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
        write_file_part(
            dir: &Directory,
            required: RequiredContainer,
            part: &FilePart
        ) -> Result<PartOutcome, PartRefusal>;
        run_checkpoint(
            dir: &Directory,
            required: RequiredContainer,
            call: &CheckpointCall
        ) -> Result<CheckpointOutcome, CheckpointRefusal>;
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
