//! The calls of the service to sandboxes.

use std::collections::BTreeMap;
use std::rc::Rc;

use sandbox_snapshotter::model::checkpoint_call::{
    CheckpointCall, CheckpointOutcome, CheckpointRefusal, RequiredContainer,
};
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::binding::{DirectoryListing, RestoreBegun};
use sandbox_snapshotter::model::named::messages::HookRun;
use sandbox_snapshotter::model::named::settings::Hook;
use sandbox_snapshotter::model::{
    Arrival, BackupHandle, BackupOptions, BackupOwner, Directory, DirectoryContent, Failure, MarkerOutcome,
    MarkerUpdate, Probe, SandboxId, SandboxStatus, Status,
};
use sandbox_snapshotter::ports::{SandboxSession, Sandboxes};

use super::ports::SharedPorts;
use super::sandboxes::IMAGE_FILE;
use super::{GroundTruth, Service, World};
use crate::rules::lifecycle;

/// The longest download of an archive, in milliseconds.
const MAX_DOWNLOAD_MILLIS: u32 = 6000;

impl SharedPorts {
    /// Runs `act` in the container, which is started if none runs.
    async fn run_in_container<T: 'static>(
        &self,
        id: &SandboxId,
        act: impl FnOnce(&Rc<World>, &SandboxId) -> Result<T, Failure> + 'static,
    ) -> Result<T, Failure> {
        let has_binding = self.has_binding(id);
        let id = id.clone();
        let act = async move |world: Rc<World>| {
            let number = world.start_container(&id).await;
            world.pass_step().await;
            world.check_same_container(&id, number)?;
            act(&world, &id)
        };
        if has_binding {
            return self.write(Service::Sandboxes, act).await;
        }
        // A late call may start a container of a sandbox without a name after its container was verified. Only a marker in
        // each of its containers would show that, so these calls are never late.
        self.write_in_time(Service::Sandboxes, act).await
    }
}

/// Sets the marker of the container.
fn set_marker(world: &Rc<World>, id: &SandboxId, to: &ContainerMarker) {
    lifecycle::check_marker(world, id, to);
    world.trace(&format_args!("the marker of {id} is {to}"));
    let since = world.busy_since(id);
    world.with_container(id, |container, now| {
        if container.marker.replace(to.clone()).is_none() {
            (container.marker_set_at, container.marker_call_at) = (now, since);
        }
        (container.is_changed, container.watched_at) = (false, now);
    });
}

fn list_directory(world: &Rc<World>, id: &SandboxId) -> DirectoryListing {
    world.with_container(id, |container, _| DirectoryListing {
        image: format!("image {}", container.image),
        content_hash: (!container.files.is_empty()).then(|| format!("{:?}", container.files)),
    })
}

fn hash_files(world: &Rc<World>, id: &SandboxId, files: &[String]) -> BTreeMap<String, String> {
    world.with_container(id, |container, _| {
        let content = |path: &String| match path.parse::<u8>() {
            Ok(file) => container.files.get(&file).map(u64::to_string).unwrap_or_default(),
            Err(_) => container.image.to_string(),
        };
        files.iter().map(|path| (path.clone(), content(path))).collect()
    })
}

/// A session in a sandbox.
pub struct SimulatedSession<'a> {
    ports: &'a SharedPorts,
    id: &'a SandboxId,
}

impl SandboxSession for SimulatedSession<'_> {
    async fn set_name(&self) -> Result<(), Failure> {
        self.ports.read(Service::Sandboxes, || Ok(())).await
    }

    async fn probe(&self, dir: &Directory) -> Result<Probe, Failure> {
        self.ports.probe(self.id, dir).await
    }

    async fn update_marker(
        &self,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
    ) -> Result<MarkerUpdate, Failure> {
        Sandboxes::update_marker(self.ports, self.id, from, to, None).await
    }

    async fn complete_restore(
        &self,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        self.ports.complete_restore(self.id, backup, from, to, may_be_empty).await
    }

    async fn make_directory(&self, _: &Directory) -> Result<(), Failure> {
        self.ports.run_in_container(self.id, |_, _| Ok(())).await
    }

    async fn create_backup(&self, options: &BackupOptions, _: Option<u64>) -> Result<BackupHandle, Failure> {
        let (id, options) = (self.id.clone(), options.clone());
        let store = |world: Rc<World>| {
            let (before, done) = world.enqueue(&id);
            async move {
                if let Some(before) = before {
                    before.await.ok();
                }
                world.pass_step().await;
                let number = world.start_container(&id).await;
                world.pass_step().await;
                world.check_same_container(&id, number)?;
                let truth = world.with_container(&id, |container, now| {
                    container.captured_at.push(now);
                    GroundTruth {
                        sandbox: id.clone(),
                        files: container.files.clone(),
                        started_at: container.started_at,
                        is_untouched: container.is_untouched,
                        marker: container.marker.clone(),
                        captured_at: now,
                    }
                });
                world.pass_step().await;
                // No two backups are made in the same millisecond.
                world.sleep(1).await;
                if world.inject_fault(world.profile.failure_rate / 4) {
                    return Err(Failure::new("BackupCreateError", "mksquashfs").with_code("BACKUP_CREATE_FAILED"));
                }
                if BackupOwner::parse(&options.name).is_none_or(|owner| owner.origin_id != id) {
                    world.report_violation(
                        "rule 4, a stored backup names its owner",
                        &format_args!("{:?}", options.name),
                    );
                }
                let handle = world.store_backup(truth, Some(&options.name), options.dir.as_str(), options.ttl);
                drop(done);
                Ok(handle)
            }
        };
        self.ports.write(Service::Sandboxes, store).await
    }

    async fn restore_backup(&self, backup: &BackupHandle, _: u64) -> Result<(), Failure> {
        let (id, backup, requested_at) = (self.id.clone(), backup.id().clone(), self.ports.now());
        let apply = |world: Rc<World>| {
            let (before, done) = world.enqueue(&id);
            async move {
                if let Some(before) = before {
                    before.await.ok();
                }
                let files = world.read_backup(&backup)?;
                if world.rng.one_in(3) {
                    // The download of a large archive takes long. The container starts after it.
                    world.sleep(world.rng.millis(MAX_DOWNLOAD_MILLIS)).await;
                }
                world.pass_step().await;
                let number = world.start_container(&id).await;
                world.pass_step().await;
                world.check_same_container(&id, number)?;
                lifecycle::check_restore(&world, &id, &backup, requested_at);
                world.with_container(&id, |container, _| {
                    // The mount over the directory hides the files of the image.
                    container.files.remove(&IMAGE_FILE);
                    container.files.extend(files);
                    container.is_untouched = false;
                    container.is_changed = true;
                });
                world.trace(&format_args!("restored {backup} into {id}"));
                drop(done);
                Ok(())
            }
        };
        self.ports.write(Service::Sandboxes, apply).await
    }
}

impl Sandboxes for SharedPorts {
    type SandboxSession<'a> = SimulatedSession<'a>;

    fn open_session<'a>(&'a self, id: &'a SandboxId) -> SimulatedSession<'a> {
        SimulatedSession { ports: self, id }
    }

    async fn status(&self, id: &SandboxId) -> Result<SandboxStatus, Failure> {
        let read = || {
            #[allow(clippy::cast_precision_loss)] // Present-day timestamps in milliseconds are exact.
            let status = self.with_sandbox(id, |sandbox, _| SandboxStatus {
                status: sandbox.status.unwrap_or(Status::Down),
                last_change: sandbox.last_change as f64,
            });
            Ok(status)
        };
        self.read(Service::Sandboxes, read).await
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>) -> Result<(), Failure> {
        self.set_idle_timeout(id, idle_seconds).await
    }

    async fn probe(&self, id: &SandboxId, _: &Directory) -> Result<Probe, Failure> {
        let probe = |world: &Rc<World>, id: &SandboxId| {
            let probe = world.with_container(id, |container, now| Probe {
                age_millis: (now - container.started_at) / 10 * 10,
                elapsed_millis: 0,
                directory_content: if container.files.is_empty() {
                    DirectoryContent::Empty
                } else {
                    DirectoryContent::NonEmpty
                },
                is_replacement: container.is_replacement,
                marker: container.marker.clone(),
            });
            world.trace(&format_args!("probe of {id}: {probe:?}"));
            Ok(probe)
        };
        self.run_in_container(id, probe).await
    }

    async fn set_replaced_note(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        let set_note = move |world: &Rc<World>, id: &SandboxId| {
            world.with_container(id, |container, _| container.is_replacement = note);
            Ok(())
        };
        self.run_in_container(id, set_note).await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        let (id, requested_at) = (id.clone(), self.now());
        let destroy = async move |world: Rc<World>| {
            world.pass_step().await;
            lifecycle::check_end(&world, &id, requested_at);
            world.trace(&format_args!("destroys {id}"));
            world.with_sandbox(&id, |sandbox, now| {
                sandbox.container = None;
                sandbox.set_status(Status::Down, now);
            });
            Ok(())
        };
        self.write(Service::Sandboxes, destroy).await
    }

    async fn set_idle_timeout(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        let id = id.clone();
        let set = async move |world: Rc<World>| {
            world.with_sandbox(&id, |sandbox, _| sandbox.idle_timeout = Some(seconds));
            Ok(())
        };
        self.write(Service::Sandboxes, set).await
    }

    async fn set_env(&self, _: &SandboxId, _: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        self.read(Service::Sandboxes, || Ok(())).await
    }

    async fn update_marker(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        older_than_millis: Option<i64>,
    ) -> Result<MarkerUpdate, Failure> {
        let (from, to) = (from.cloned(), to.clone());
        let update = move |world: &Rc<World>, id: &SandboxId| {
            let (marker, is_replacement, age_millis) = world.with_container(id, |container, now| {
                (container.marker.clone(), container.is_replacement, (now - container.started_at) / 10 * 10)
            });
            let outcome = if older_than_millis.is_some() && is_replacement {
                MarkerOutcome::TooYoung
            } else if marker != from {
                MarkerOutcome::OtherMarker(marker)
            } else if older_than_millis.is_some_and(|millis| age_millis < millis) {
                MarkerOutcome::TooYoung
            } else {
                set_marker(world, id, &to);
                MarkerOutcome::Updated
            };
            world.trace(&format_args!("{id} of {age_millis} ms, older than {older_than_millis:?}: {outcome:?}"));
            Ok(MarkerUpdate { age_millis, elapsed_millis: 0, outcome })
        };
        self.run_in_container(id, update).await
    }

    async fn begin_restore(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        _: &Directory,
        files: &[String],
    ) -> Result<Option<RestoreBegun>, Failure> {
        let (from, to, files) = (from.cloned(), to.clone(), files.to_vec());
        let begin = move |world: &Rc<World>, id: &SandboxId| {
            if world.with_container(id, |container, _| container.marker != from) {
                return Ok(None);
            }
            set_marker(world, id, &to);
            Ok(Some(RestoreBegun { listing: list_directory(world, id), hashes: hash_files(world, id, &files) }))
        };
        self.run_in_container(id, begin).await
    }

    async fn complete_restore(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        let (from, to, backup) = (from.clone(), to.clone(), backup.id().clone());
        let complete = move |world: &Rc<World>, id: &SandboxId| {
            let (marker, is_empty) =
                world.with_container(id, |container, _| (container.marker.clone(), container.files.is_empty()));
            if marker.as_ref() == Some(&to) {
                return Ok(Arrival::Complete);
            }
            if marker.as_ref() != Some(&from) {
                return Ok(Arrival::OtherContainer);
            }
            if is_empty && !may_be_empty {
                return Ok(Arrival::FilesMissing(DirectoryContent::Empty));
            }
            if world.inject_fault(250) {
                // An application opened a session in the directory before the files arrived.
                return Ok(Arrival::ProcessBelowMount("9 bash".to_owned()));
            }
            lifecycle::check_arrival(world, id, &backup);
            set_marker(world, id, &to);
            Ok(Arrival::Complete)
        };
        self.run_in_container(id, complete).await
    }

    async fn list_directory(&self, id: &SandboxId, _: &Directory) -> Result<DirectoryListing, Failure> {
        self.run_in_container(id, |world: &Rc<World>, id: &SandboxId| Ok(list_directory(world, id))).await
    }

    async fn hash_files(
        &self,
        id: &SandboxId,
        _: &Directory,
        files: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        let files = files.to_vec();
        self.run_in_container(id, move |world: &Rc<World>, id: &SandboxId| Ok(hash_files(world, id, &files))).await
    }

    async fn watch_changes(&self, id: &SandboxId) -> Result<(), Failure> {
        self.changed_since_watch(id, &Directory::parse("/workspace").unwrap()).await.map(drop)
    }

    async fn ignored_paths(&self, id: &SandboxId, _: &Directory) -> Result<Vec<String>, Failure> {
        self.run_in_container(id, |_, _| Ok(Vec::new())).await
    }

    async fn changed_since_watch(&self, id: &SandboxId, _: &Directory) -> Result<bool, Failure> {
        let check = |world: &Rc<World>, id: &SandboxId| {
            Ok(world.with_container(id, |container, now| {
                container.watched_at = now;
                std::mem::replace(&mut container.is_changed, false)
            }))
        };
        self.run_in_container(id, check).await
    }

    async fn run_hook(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        _: &Directory,
        name: &str,
        hook: &Hook,
        _: &BTreeMap<String, String>,
    ) -> Result<Option<HookRun>, Failure> {
        let (id, marker, name, hook) = (id.clone(), marker.clone(), name.to_owned(), hook.clone());
        let run = async move |world: Rc<World>| {
            let number = world.start_container(&id).await;
            world.pass_step().await;
            world.check_same_container(&id, number)?;
            if world.with_container(&id, |container, _| container.marker.as_ref() != Some(&marker)) {
                return Ok(None);
            }
            world.count("hooks");
            let has_command = |command: &str| hook.command.contains(command);
            let content = world.next_serial();
            if has_command("write") {
                world.with_container(&id, |container, now| {
                    container.write(5, content, now);
                    // A file that a hook wrote before the workspace was ready is written again by the next run of the hook.
                    if !marker.is_ready() {
                        container.write_times.remove(&5);
                    }
                });
            }
            let fails = has_command("fail") && world.inject_fault(5000);
            let hangs = has_command("hang") && world.inject_fault(5000);
            if hangs {
                world.sleep(i64::from(hook.timeout_seconds) * 1000).await;
                world.check_same_container(&id, number)?;
            }
            let (ok, exit_code) = (!fails && !hangs, (!hangs).then_some(i32::from(fails)));
            Ok(Some(HookRun { hook: name, ok, exit_code, timed_out: hangs, output: String::new() }))
        };
        self.write(Service::Sandboxes, run).await
    }

    async fn run_checkpoint(
        &self,
        _: &SandboxId,
        _: &Directory,
        _: RequiredContainer,
        _: &CheckpointCall,
    ) -> Result<Result<CheckpointOutcome, CheckpointRefusal>, Failure> {
        Err(Failure::protocol("the simulation", "checkpoints are not simulated"))
    }
}
