//! The sandboxes port, with the behavior of the SDK 0.12.10, or of the class for containers (`runtime`).

use std::collections::BTreeMap;
use std::rc::Rc;

use sandbox_snapshotter::model::delta::{
    CaptureBegin, CaptureBegun, Carrier, RestoreFinish, RestoreFinished, TracedBase, is_carrier,
};
use sandbox_snapshotter::model::exclude::IgnoredNames;
use sandbox_snapshotter::model::freeze::{Freeze, FreezeReport};
use sandbox_snapshotter::model::freeze_call::FreezeFailed;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::named::binding::{DirectoryListing, RestoreBegun};
use sandbox_snapshotter::model::named::platform_snapshot::StoredDisk;
use sandbox_snapshotter::model::named::settings::Hook;
use sandbox_snapshotter::model::secret_search::{FoundSecrets, SecretSearch};
use sandbox_snapshotter::model::{
    Arrival, BackupHandle, BackupOptions, ChangeCursor, ContainerId, ContainerIdentity, Directory, DirectoryContent,
    Failure, FullReason, MarkerOutcome, MarkerUpdate, Probe, Provenance, SandboxId, SandboxStatus, SnapshotId, Status,
};
use sandbox_snapshotter::ports::{SandboxSession, Sandboxes};

use super::commands::{HookCall, run_default};
use super::containers::is_under;
use super::sandbox_session::MemorySession;
use super::{Container, Event, Method, Namespace, Sandbox, Scheduler, Work, World};

impl<S: Scheduler> Sandboxes for Namespace<S> {
    type SandboxSession<'a> = MemorySession<'a, S>;

    fn open_session<'a>(&'a self, id: &'a SandboxId) -> MemorySession<'a, S> {
        MemorySession::new(self, id)
    }

    async fn status(&self, id: &SandboxId) -> Result<SandboxStatus, Failure> {
        let runtime = self.world.runtime.get();
        let read = move |sandbox: &mut Sandbox<S>, now| sandbox.report_status(runtime, now);
        self.call_object(Method::Status, id, read).await
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>, image: Option<&str>) -> Result<(), Failure> {
        let (own, image) = (self.key(id), image.map(str::to_owned));
        let configure = move |sandbox: &mut Sandbox<S>, _| {
            sandbox.assign_name(&own);
            sandbox.sleeps_after = Some(idle_seconds);
            sandbox.image = image;
        };
        self.call_object(Method::Configure, id, configure).await
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        let dir = dir.clone();
        self.in_container(Method::Probe, id, move |container, now| container.probe(&dir, now)).await
    }

    async fn set_replaced_note(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        let method = if note { Method::AddReplacedNote } else { Method::RemoveReplacedNote };
        self.in_container(method, id, move |container, _| container.is_replacement = note).await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        S::observe(&self.world, Event::DestroyRequested(&self.key(id)));
        let requested_at = self.world.current_time().as_millis();
        let destroy = move |world: Rc<World<S>>, id| async move {
            S::observe(&world, Event::Destroyed(&id, requested_at));
            world.with_sandbox(&id, |sandbox, now| {
                sandbox.container = None;
                sandbox.set_status(Status::Down, now);
            });
            Ok(())
        };
        self.call(Method::Destroy, id, destroy).await
    }

    async fn set_idle_timeout(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        let set = move |sandbox: &mut Sandbox<S>, _| sandbox.sleeps_after = Some(seconds);
        self.call_object(Method::SetIdleTimeout, id, set).await
    }

    async fn set_env(&self, id: &SandboxId, env: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        let env = env.clone();
        let set = |sandbox: &mut Sandbox<S>, _| {
            for (name, value) in env {
                match value {
                    Some(value) => sandbox.env.insert(name, value),
                    None => sandbox.env.remove(&name),
                };
            }
        };
        self.call_object(Method::SetEnv, id, set).await
    }

    async fn update_marker(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        older_than_millis: Option<i64>,
    ) -> Result<MarkerUpdate, Failure> {
        S::observe(&self.world, Event::MarkerRequested(from, to));
        let (from, to) = (from.cloned(), to.clone());
        let update = move |world: &Rc<World<S>>, id: &SandboxId| {
            let (marker, is_replacement, age_millis) = world.with_container(id, |container, now| {
                (container.marker.clone(), container.is_replacement, container.age_millis(now))
            });
            let outcome = if older_than_millis.is_some() && is_replacement {
                MarkerOutcome::TooYoung
            } else if marker != from {
                MarkerOutcome::OtherMarker(marker)
            } else if older_than_millis.is_some_and(|millis| age_millis < millis) {
                MarkerOutcome::TooYoung
            } else {
                world.set_marker(id, &to);
                MarkerOutcome::Updated
            };
            let provenance = world.with_container(id, |container, _| Provenance::parse(&container.image));
            MarkerUpdate { age_millis, elapsed_millis: 0, outcome, container_id: world.container_id(id), provenance }
        };
        self.run_script(Method::UpdateMarker, id, update).await
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
        S::observe(&self.world, Event::MarkerRequested(from, to));
        let (from, to, dir, files) = (from.cloned(), to.clone(), dir.clone(), files.to_vec());
        let token = token.map(str::to_owned);
        let begin = move |world: &Rc<World<S>>, id: &SandboxId| {
            let disk_token = world.with_container(id, |container, _| container.disk_token.clone());
            if world.marker_of(id) != from || (token.is_some() && disk_token != token) {
                return None;
            }
            world.set_marker(id, &to);
            let container_id = world.container_id(id);
            Some(world.with_container(id, |container, _| RestoreBegun {
                listing: if token.is_some() { DirectoryListing::unknown() } else { container.list_directory(&dir) },
                hashes: container.hashes(&dir, &files),
                container_id,
            }))
        };
        self.run_script(Method::BeginRestore, id, begin).await
    }

    async fn complete_restore(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        S::observe(&self.world, Event::MarkerRequested(Some(from), to));
        let (from, to, backup) = (from.clone(), to.clone(), backup.clone());
        let complete = move |world: &Rc<World<S>>, id: &SandboxId| {
            S::observe(world, Event::ArrivalRequested(id));
            let refusal = world.with_container(id, |container, _| {
                if container.marker.as_ref().is_none_or(|marker| *marker != from && *marker != to) {
                    return Some(Arrival::OtherContainer);
                }
                let content = container.directory_content(backup.dir().as_str());
                let has_arrived = match content {
                    _ if !backup.is_extracted() => container.mounted.as_ref() == Some(backup.id()),
                    DirectoryContent::NonEmpty => true,
                    DirectoryContent::Empty => may_be_empty,
                    _ => false,
                };
                let process = container.process_below.clone().map(Arrival::ProcessBelowMount);
                if has_arrived { process } else { Some(Arrival::FilesMissing(content)) }
            });
            if let Some(refusal) = refusal {
                return refusal;
            }
            if world.marker_of(id).as_ref() != Some(&to) {
                let carrier = world.with_container(id, |container, _| container.deltas.unpacked.take());
                S::observe(world, Event::Arrived(id, carrier.as_ref().unwrap_or(backup.id())));
            }
            world.set_marker(id, &to);
            Arrival::Complete
        };
        self.run_script(Method::CompleteRestore, id, complete).await
    }

    async fn list_directory(&self, id: &SandboxId, dir: &Directory) -> Result<DirectoryListing, Failure> {
        let dir = dir.clone();
        self.in_container(Method::ListDirectory, id, move |container, _| container.list_directory(&dir)).await
    }

    async fn hash_files(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        if files.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (dir, files) = (dir.clone(), files.to_vec());
        self.in_container(Method::HashFiles, id, move |container, _| container.hashes(&dir, &files)).await
    }

    async fn watch_changes(
        &self,
        id: &SandboxId,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<Provenance>, Failure> {
        let cursor = cursor.clone();
        let watch = move |container: &mut Container<S>, now| {
            container.end_other_watches(&cursor);
            container.watch(&cursor, now);
            Provenance::parse(&container.image)
        };
        self.in_expected_container(Method::WatchChanges, id, expected, watch).await
    }

    async fn ignored_names(&self, id: &SandboxId, dir: &Directory) -> Result<IgnoredNames, Failure> {
        let dir = dir.clone();
        self.in_container(Method::IgnoredNames, id, move |container, _| container.ignored_names(&dir)).await
    }

    async fn find_secrets(
        &self,
        id: &SandboxId,
        search: &SecretSearch,
        expected: Option<ContainerIdentity>,
    ) -> Result<FoundSecrets, Failure> {
        let search = search.clone();
        let find = move |container: &mut Container<S>, _| container.find_secrets(&search);
        self.in_expected_container(Method::FindSecrets, id, expected, find).await
    }

    async fn changed_since_watch(
        &self,
        id: &SandboxId,
        dir: &Directory,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> Result<bool, Failure> {
        let (dir, cursor) = (dir.clone(), cursor.clone());
        let check = move |container: &mut Container<S>, now| {
            container.check_mounts(&dir)?;
            let changed = container.watch(&cursor, now);
            let is_used = container.commands > 0 || container.running_in_background() > 0;
            Ok((cursor == ChangeCursor::Idle && is_used)
                || changed.is_none_or(|changed| changed.iter().any(|path| is_under(path, dir.as_str()))))
        };
        self.in_expected_container(Method::ChangedSinceWatch, id, expected, check).await?
    }

    async fn changed_since_save(
        &self,
        id: &SandboxId,
        dir: &Directory,
        saved: Option<&str>,
        next: &str,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<bool>, Failure> {
        let (dir, saved, next) = (dir.clone(), saved.map(str::to_owned), next.to_owned());
        let check = move |world: &Rc<World<S>>, id: &SandboxId| {
            let check = |container: &mut Container<S>, _| {
                container.check_mounts(&dir)?;
                Ok(container.check_for_save(&dir, saved.as_deref(), &next))
            };
            let changed = world.with_container(id, check)?;
            if let Some(is_changed) = changed {
                S::observe(world, Event::CheckedForSave(id, is_changed));
            }
            Ok(changed)
        };
        self.run_expected_script(Method::ChangedSinceSave, id, expected, check).await?
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
        let (marker, hook) = (marker.clone(), hook.clone());
        let (name, dir, env) = (name.to_owned(), dir.to_string(), env.clone());
        let run = move |world: Rc<World<S>>, id: SandboxId| async move {
            let number = world.enter_container(&id).await?;
            if world.marker_of(&id).as_ref() != Some(&marker) {
                return Ok(None);
            }
            let env = world.with_sandbox(&id, |sandbox, _| sandbox.env.clone()).into_iter().chain(env).collect();
            let call = HookCall { sandbox: id.to_string(), name: name.clone(), dir, env };
            S::observe(&world, Event::Hook(&call));
            let planned = world.commands.borrow().get(&hook.command).cloned();
            let result = planned.map_or_else(|| run_default(&hook.command), |effect| effect(&world, &call));
            let timed_out = result.exit_code.is_none();
            if timed_out {
                S::work(&world, Work::Hook(i64::from(hook.timeout_seconds) * 1000)).await?;
            }
            world.check_same_container(&id, number)?;
            let (ok, exit_code) = (result.exit_code == Some(0), result.exit_code);
            Ok(Some(HookRun { hook: name, ok, exit_code, timed_out, output: result.output }))
        };
        self.call(Method::RunHook, id, run).await
    }

    async fn freeze(
        &self,
        id: &SandboxId,
        dir: &Directory,
        snapshot_id: &SnapshotId,
        freeze: &Freeze,
        expected: Option<ContainerIdentity>,
    ) -> Result<Result<(), FreezeFailed>, Failure> {
        let (dir, snapshot_id, freeze) = (dir.clone(), snapshot_id.clone(), freeze.clone());
        let run = move |world: &Rc<World<S>>, id: &SandboxId| world.freeze_files(id, &dir, &snapshot_id, &freeze);
        self.run_expected_script(Method::Freeze, id, expected, run).await
    }

    async fn thaw(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        expected: Option<ContainerIdentity>,
    ) -> Result<FreezeReport, Failure> {
        let snapshot_id = snapshot_id.clone();
        let run = move |world: &Rc<World<S>>, id: &SandboxId| world.thaw_files(id, &snapshot_id);
        self.run_expected_script(Method::Thaw, id, expected, run).await
    }

    async fn image_names(&self, id: &SandboxId) -> Result<Option<Vec<String>>, Failure> {
        self.call(Method::ImageNames, id, |world, _| async move { Ok(S::image_names(&world)) }).await
    }

    async fn platform_image(&self, id: &SandboxId) -> Result<Option<String>, Failure> {
        let read = |world: Rc<World<S>>, id| async move {
            Ok(world.with_sandbox(&id, |sandbox, _| S::platform_image(&world, sandbox)))
        };
        self.call(Method::PlatformImage, id, read).await
    }

    async fn take_platform_snapshot(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        token: &str,
    ) -> Result<Option<StoredDisk>, Failure> {
        self.store_disk(id, marker, token).await
    }

    async fn start_from_platform_snapshot(&self, id: &SandboxId, snapshot_id: &str) -> Result<(), Failure> {
        self.start_disk(id, snapshot_id).await
    }
}
