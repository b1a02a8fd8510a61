//! The fake sandboxes port, with the behavior of the SDK 0.12.10.

use std::collections::{BTreeMap, BTreeSet};

use sandbox_snapshotter::model::checkpoint_call::{
    CheckpointCall, CheckpointOutcome, CheckpointRefusal, RequiredContainer,
};
use sandbox_snapshotter::model::exclude::MAX_QUOTED;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::binding::{DirectoryListing, RestoreBegun};
use sandbox_snapshotter::model::named::messages::HookRun;
use sandbox_snapshotter::model::named::settings::Hook;
use sandbox_snapshotter::model::{
    Arrival, BackupHandle, BackupOptions, Directory, DirectoryContent, Failure, MarkerOutcome, MarkerUpdate, Probe,
    SandboxId, SandboxStatus, Status,
};
use sandbox_snapshotter::ports::{SandboxSession, Sandboxes};
use sha2::{Digest, Sha256};

use super::commands::{HookCall, run_default};
use super::containers::is_under;
use super::{Method, World};

/// The duration of a restore, in milliseconds, from the start of the container.
const RESTORE_MILLIS: i64 = 2000;

/// The code of a call that the SDK interrupts because its container ended.
const INTERRUPTED: &str = "OPERATION_INTERRUPTED";

/// A session of a sandbox.
pub struct FakeSession<'a> {
    world: &'a World,
    id: &'a SandboxId,
}

impl SandboxSession for FakeSession<'_> {
    async fn set_name(&self) -> Result<(), Failure> {
        let update = || {
            self.world.assign_name(self.id);
            Ok(())
        };
        self.world.call(Method::SetName, self.id.as_str(), update).await
    }

    async fn probe(&self, dir: &Directory) -> Result<Probe, Failure> {
        self.world.probe(self.id, dir).await
    }

    async fn update_marker(
        &self,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
    ) -> Result<MarkerUpdate, Failure> {
        Sandboxes::update_marker(self.world, self.id, from, to, None).await
    }

    async fn complete_restore(
        &self,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        self.world.complete_restore(self.id, backup, from, to, may_be_empty).await
    }

    async fn make_directory(&self, dir: &Directory) -> Result<(), Failure> {
        let id = self.id.as_str();
        let make = || {
            self.world.with_container(id, |container| container.directories.insert(dir.to_string()));
            Ok(())
        };
        self.world.call(Method::MakeDirectory, id, make).await
    }

    async fn create_backup(&self, options: &BackupOptions, _: Option<u64>) -> Result<BackupHandle, Failure> {
        let id = self.id.as_str();
        self.world.call(Method::CreateBackup, id, || Ok(self.world.store_backup(id, options))).await
    }

    async fn restore_backup(&self, backup: &BackupHandle, _: u64) -> Result<(), Failure> {
        let id = self.id.as_str();
        let apply = || {
            self.world.restore_requests.borrow_mut().push(serde_json::to_value(backup).unwrap());
            let files = self.world.extract_files(backup.id())?;
            let parent = backup.required_parent();
            let content =
                |dir: &Directory| self.world.with_container(id, |container| container.directory_content(dir.as_str()));
            if parent.is_some_and(|parent| content(&parent) == DirectoryContent::Missing) {
                return Err(Failure::new("BackupRestoreError", "unsquashfs").with_code("BACKUP_RESTORE_FAILED"));
            }
            self.world.with_container(id, |container| container.write_files(files));
            self.world.advance_clock(RESTORE_MILLIS);
            Ok(())
        };
        self.world.call(Method::RestoreBackup, id, apply).await
    }
}

impl Sandboxes for World {
    type SandboxSession<'a> = FakeSession<'a>;

    fn open_session<'a>(&'a self, id: &'a SandboxId) -> FakeSession<'a> {
        FakeSession { world: self, id }
    }

    async fn status(&self, id: &SandboxId) -> Result<SandboxStatus, Failure> {
        let read = || {
            #[allow(clippy::cast_precision_loss)] // Current timestamps in milliseconds are exact as `f64`.
            let status = self.with_sandbox(id.as_str(), |sandbox| SandboxStatus {
                status: sandbox.status.unwrap_or(Status::Down),
                last_change: sandbox.last_change as f64,
            });
            Ok(status)
        };
        self.call(Method::Status, id.as_str(), read).await
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>) -> Result<(), Failure> {
        let update = || {
            self.assign_name(id);
            self.with_sandbox(id.as_str(), |sandbox| sandbox.sleeps_after = Some(idle_seconds));
            Ok(())
        };
        self.call(Method::Configure, id.as_str(), update).await
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        let read = || {
            let now = self.now_millis();
            Ok(self.with_container(id.as_str(), |container| Probe {
                age_millis: now - container.started_at,
                elapsed_millis: 0,
                directory_content: container.directory_content(dir.as_str()),
                is_replacement: container.is_replacement,
                marker: container.marker.clone(),
            }))
        };
        self.call(Method::Probe, id.as_str(), read).await
    }

    async fn set_replaced_note(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        let change = || {
            self.with_container(id.as_str(), |container| container.is_replacement = note);
            Ok(())
        };
        self.call(if note { Method::AddReplacedNote } else { Method::RemoveReplacedNote }, id.as_str(), change).await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        let end = || {
            self.end_container(id.as_str());
            Ok(())
        };
        self.call(Method::Destroy, id.as_str(), end).await
    }

    async fn set_idle_timeout(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        let update = || {
            self.with_sandbox(id.as_str(), |sandbox| sandbox.sleeps_after = Some(seconds));
            Ok(())
        };
        self.call(Method::SetIdleTimeout, id.as_str(), update).await
    }

    async fn set_env(&self, id: &SandboxId, env: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        let update = || {
            self.with_sandbox(id.as_str(), |sandbox| {
                for (name, value) in env {
                    match value {
                        Some(value) => sandbox.env.insert(name.clone(), value.clone()),
                        None => sandbox.env.remove(name),
                    };
                }
            });
            Ok(())
        };
        self.call(Method::SetEnv, id.as_str(), update).await
    }

    async fn update_marker(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        older_than_millis: Option<i64>,
    ) -> Result<MarkerUpdate, Failure> {
        self.marker_calls.borrow_mut().push((from.cloned(), to.clone()));
        let change = || {
            let now = self.now_millis();
            Ok(self.with_container(id.as_str(), |container| {
                let age_millis = now - container.started_at;
                let outcome = if older_than_millis.is_some() && container.is_replacement {
                    MarkerOutcome::TooYoung
                } else if container.marker.as_ref() != from {
                    MarkerOutcome::OtherMarker(container.marker.clone())
                } else if older_than_millis.is_some_and(|millis| age_millis < millis) {
                    MarkerOutcome::TooYoung
                } else {
                    container.set_marker(to);
                    MarkerOutcome::Updated
                };
                MarkerUpdate { age_millis, elapsed_millis: 0, outcome }
            }))
        };
        self.call(Method::UpdateMarker, id.as_str(), change).await
    }

    async fn begin_restore(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        dir: &Directory,
        files: &[String],
    ) -> Result<Option<RestoreBegun>, Failure> {
        self.marker_calls.borrow_mut().push((from.cloned(), to.clone()));
        let begin = || {
            Ok(self.with_container(id.as_str(), |container| {
                if container.marker.as_ref() != from {
                    return None;
                }
                container.set_marker(to);
                Some(RestoreBegun { listing: container.list_directory(dir), hashes: container.hashes(dir, files) })
            }))
        };
        self.call(Method::BeginRestore, id.as_str(), begin).await
    }

    async fn complete_restore(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        self.marker_calls.borrow_mut().push((Some(from.clone()), to.clone()));
        let complete = || {
            Ok(self.with_container(id.as_str(), |container| {
                if container.marker.as_ref() != Some(from) && container.marker.as_ref() != Some(to) {
                    return Arrival::OtherContainer;
                }
                let content = container.directory_content(backup.dir().as_str());
                if content != DirectoryContent::NonEmpty && !(may_be_empty && content == DirectoryContent::Empty) {
                    return Arrival::FilesMissing(content);
                }
                if let Some(process) = &container.process_below {
                    return Arrival::ProcessBelowMount(process.clone());
                }
                container.set_marker(to);
                Arrival::Complete
            }))
        };
        self.call(Method::CompleteRestore, id.as_str(), complete).await
    }

    async fn list_directory(&self, id: &SandboxId, dir: &Directory) -> Result<DirectoryListing, Failure> {
        let read = || Ok(self.with_container(id.as_str(), |container| container.list_directory(dir)));
        self.call(Method::ListDirectory, id.as_str(), read).await
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
        let read = || Ok(self.with_container(id.as_str(), |container| container.hashes(dir, files)));
        self.call(Method::HashFiles, id.as_str(), read).await
    }

    async fn watch_changes(&self, id: &SandboxId) -> Result<(), Failure> {
        let watch = || {
            self.with_container(id.as_str(), |container| container.changed_since_watch = Some(BTreeSet::new()));
            Ok(())
        };
        self.call(Method::WatchChanges, id.as_str(), watch).await
    }

    async fn ignored_paths(&self, id: &SandboxId, dir: &Directory) -> Result<Vec<String>, Failure> {
        let list = || {
            Ok(self.with_container(id.as_str(), |container| {
                let in_dir = |path: &String| path.strip_prefix(&format!("{dir}/")).map(str::to_owned);
                let is_ignored = |path: &String| container.ignored.iter().any(|own| path == own || is_under(path, own));
                let paths = container.files.keys().filter_map(in_dir);
                paths.filter(|path| path.contains('/') && is_ignored(path)).take(MAX_QUOTED + 1).collect()
            }))
        };
        self.call(Method::IgnoredPaths, id.as_str(), list).await
    }

    async fn changed_since_watch(&self, id: &SandboxId, dir: &Directory) -> Result<bool, Failure> {
        let read = || {
            let changed =
                self.with_container(id.as_str(), |container| container.changed_since_watch.replace(BTreeSet::new()));
            Ok(changed.is_none_or(|changed| changed.iter().any(|path| is_under(path, dir.as_str()))))
        };
        self.call(Method::ChangedSinceWatch, id.as_str(), read).await
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
        let run = || {
            let is_expected_container =
                || self.with_container(id.as_str(), |container| container.marker.as_ref() == Some(marker));
            if !is_expected_container() {
                return Ok(None);
            }
            let (sandbox, env) = (id.to_string(), self.env_of(id.as_str()).into_iter().chain(env.clone()).collect());
            let call = HookCall { sandbox, name: name.into(), dir: dir.to_string(), env };
            self.hook_calls.borrow_mut().push(call.clone());
            let planned = self.commands.borrow().get(&hook.command).cloned();
            let result = planned.map_or_else(|| run_default(&hook.command), |effect| effect(self, &call));
            if !self.running_sandboxes().contains(id.as_str()) || !is_expected_container() {
                return Err(Failure::new("Error", "The container ended.").with_code(INTERRUPTED));
            }
            if result.exit_code.is_none() {
                self.advance_clock(i64::from(hook.timeout_seconds) * 1000);
            }
            Ok(Some(HookRun {
                hook: name.into(),
                ok: result.exit_code == Some(0),
                exit_code: result.exit_code,
                timed_out: result.exit_code.is_none(),
                output: result.output,
            }))
        };
        self.call(Method::RunHook, id.as_str(), run).await
    }

    async fn run_checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: RequiredContainer,
        call: &CheckpointCall,
    ) -> Result<Result<CheckpointOutcome, CheckpointRefusal>, Failure> {
        let work = || Ok(self.run_checkpoint_call(id.as_str(), dir.as_str(), required, call));
        self.call(Method::RunCheckpoint, id.as_str(), work).await
    }
}

pub(super) fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|nibble| char::from_digit(nibble.into(), 16))
        .collect()
}
