//! The sandboxes as the service sees them, with the habits of the SDK (0.12.10).

use std::collections::{BTreeMap, BTreeSet};

use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal, Meant};
use sandbox_snapshotter::model::exclude::MAX_NAMED;
use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::named::settings::Hook;
use sandbox_snapshotter::model::named::standing::{Begun, Survey};
use sandbox_snapshotter::model::{
    Arrival, BackupHandle, BackupOptions, Directory, Failure, Place, Probe, SandboxId, SandboxState, StampOutcome,
    Stamping, Status,
};
use sandbox_snapshotter::ports::{Sandboxes, Visit};
use sha2::{Digest, Sha256};

use super::commands::{HookCall, simple};
use super::containers::is_under;
use super::{Method, World};

/// How long a restore takes, in milliseconds, from the start of the container on.
const RESTORE: i64 = 2000;

/// What the SDK interrupts a call with whose container ended.
const INTERRUPTED: &str = "OPERATION_INTERRUPTED";

/// Somebody who is at a sandbox.
pub struct Visiting<'a> {
    world: &'a World,
    id: &'a SandboxId,
}

impl Visit for Visiting<'_> {
    async fn name(&self) -> Result<(), Failure> {
        let tell = || {
            self.world.named(self.id);
            Ok(())
        };
        self.world.call(Method::Name, self.id.as_str(), tell).await
    }

    async fn probe(&self, dir: &Directory) -> Result<Probe, Failure> {
        self.world.probe(self.id, dir).await
    }

    async fn stamp(&self, from: Option<&Stamp>, to: &Stamp) -> Result<Stamping, Failure> {
        Sandboxes::stamp(self.world, self.id, from, to, None).await
    }

    async fn arrive(
        &self,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        self.world.arrive(self.id, backup, from, to, may_be_empty).await
    }

    async fn make_directory(&self, dir: &Directory) -> Result<(), Failure> {
        let id = self.id.as_str();
        let make = || {
            self.world.started(id, |container| container.made.insert(dir.to_string()));
            Ok(())
        };
        self.world.call(Method::MakeDirectory, id, make).await
    }

    async fn create_backup(&self, options: &BackupOptions, _: Option<u64>) -> Result<BackupHandle, Failure> {
        let id = self.id.as_str();
        self.world.call(Method::CreateBackup, id, || Ok(self.world.stores(id, options))).await
    }

    async fn restore_backup(&self, backup: &BackupHandle, _: u64) -> Result<(), Failure> {
        let id = self.id.as_str();
        let apply = || {
            self.world.given.borrow_mut().push(serde_json::to_value(backup).unwrap());
            let files = self.world.unpack(backup.id())?;
            let parent = backup.needed_parent();
            let place = |dir: &Directory| self.world.started(id, |container| container.place(dir.as_str()));
            if parent.is_some_and(|parent| place(&parent) == Place::Missing) {
                return Err(Failure::new("BackupRestoreError", "unsquashfs").with_code("BACKUP_RESTORE_FAILED"));
            }
            self.world.started(id, |container| container.write(files));
            self.world.pass(RESTORE);
            Ok(())
        };
        self.world.call(Method::RestoreBackup, id, apply).await
    }
}

impl Sandboxes for World {
    type Visit<'a> = Visiting<'a>;

    fn visit<'a>(&'a self, id: &'a SandboxId) -> Visiting<'a> {
        Visiting { world: self, id }
    }

    async fn state(&self, id: &SandboxId) -> Result<SandboxState, Failure> {
        let look = || {
            #[allow(clippy::cast_precision_loss)] // Milliseconds of our age are exact.
            let seen = self.with(id.as_str(), |sandbox| SandboxState {
                status: sandbox.believed.unwrap_or(Status::Down),
                last_change: sandbox.last_change as f64,
            });
            Ok(seen)
        };
        self.call(Method::State, id.as_str(), look).await
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>) -> Result<(), Failure> {
        let tell = || {
            self.named(id);
            self.with(id.as_str(), |sandbox| sandbox.sleeps_after = Some(idle_seconds));
            Ok(())
        };
        self.call(Method::Configure, id.as_str(), tell).await
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        let look = || {
            let now = self.millis();
            Ok(self.started(id.as_str(), |container| Probe {
                age_millis: now - container.started_at,
                took_millis: 0,
                place: container.place(dir.as_str()),
                took_place: container.took_place,
                stamp: container.stamp.clone(),
            }))
        };
        self.call(Method::Probe, id.as_str(), look).await
    }

    async fn note_took_place(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        let change = || {
            self.started(id.as_str(), |container| container.took_place = note);
            Ok(())
        };
        self.call(if note { Method::LeaveNote } else { Method::RemoveNote }, id.as_str(), change).await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        let end = || {
            self.stops(id.as_str());
            Ok(())
        };
        self.call(Method::Destroy, id.as_str(), end).await
    }

    async fn keep_awake(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        let tell = || {
            self.with(id.as_str(), |sandbox| sandbox.sleeps_after = Some(seconds));
            Ok(())
        };
        self.call(Method::KeepAwake, id.as_str(), tell).await
    }

    async fn set_env(&self, id: &SandboxId, env: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        let tell = || {
            self.with(id.as_str(), |sandbox| {
                for (name, value) in env {
                    match value {
                        Some(value) => sandbox.env.insert(name.clone(), value.clone()),
                        None => sandbox.env.remove(name),
                    };
                }
            });
            Ok(())
        };
        self.call(Method::SetEnv, id.as_str(), tell).await
    }

    async fn stamp(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        older_than_millis: Option<i64>,
    ) -> Result<Stamping, Failure> {
        self.stamps.borrow_mut().push((from.cloned(), to.clone()));
        let change = || {
            let now = self.millis();
            Ok(self.started(id.as_str(), |container| {
                let age_millis = now - container.started_at;
                let outcome = if older_than_millis.is_some() && container.took_place {
                    StampOutcome::TooYoung
                } else if container.stamp.as_ref() != from {
                    StampOutcome::Other(container.stamp.clone())
                } else if older_than_millis.is_some_and(|millis| age_millis < millis) {
                    StampOutcome::TooYoung
                } else {
                    container.stamps(to);
                    StampOutcome::Done
                };
                Stamping { age_millis, took_millis: 0, outcome }
            }))
        };
        self.call(Method::Stamp, id.as_str(), change).await
    }

    async fn begin(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        dir: &Directory,
        files: &[String],
    ) -> Result<Option<Begun>, Failure> {
        self.stamps.borrow_mut().push((from.cloned(), to.clone()));
        let begin = || {
            Ok(self.started(id.as_str(), |container| {
                if container.stamp.as_ref() != from {
                    return None;
                }
                container.stamps(to);
                Some(Begun { survey: container.survey(dir), hashes: container.hashes(dir, files) })
            }))
        };
        self.call(Method::Begin, id.as_str(), begin).await
    }

    async fn arrive(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        self.stamps.borrow_mut().push((Some(from.clone()), to.clone()));
        let arrive = || {
            Ok(self.started(id.as_str(), |container| {
                if container.stamp.as_ref() != Some(from) && container.stamp.as_ref() != Some(to) {
                    return Arrival::OtherContainer;
                }
                let place = container.place(backup.dir().as_str());
                if place != Place::Full && !(may_be_empty && place == Place::Empty) {
                    return Arrival::NotThere(place);
                }
                if let Some(process) = &container.below {
                    return Arrival::Below(process.clone());
                }
                container.stamps(to);
                Arrival::Done
            }))
        };
        self.call(Method::Arrive, id.as_str(), arrive).await
    }

    async fn survey(&self, id: &SandboxId, dir: &Directory) -> Result<Survey, Failure> {
        let look = || Ok(self.started(id.as_str(), |container| container.survey(dir)));
        self.call(Method::Survey, id.as_str(), look).await
    }

    async fn hashes(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        if files.is_empty() {
            return Ok(BTreeMap::new());
        }
        let look = || Ok(self.started(id.as_str(), |container| container.hashes(dir, files)));
        self.call(Method::Hashes, id.as_str(), look).await
    }

    async fn watch(&self, id: &SandboxId) -> Result<(), Failure> {
        let watch = || {
            self.started(id.as_str(), |container| container.changed = Some(BTreeSet::new()));
            Ok(())
        };
        self.call(Method::Watch, id.as_str(), watch).await
    }

    async fn ignored_below(&self, id: &SandboxId, dir: &Directory) -> Result<Vec<String>, Failure> {
        let list = || {
            Ok(self.started(id.as_str(), |container| {
                let in_dir = |path: &String| path.strip_prefix(&format!("{dir}/")).map(str::to_owned);
                let is_ignored = |path: &String| container.ignored.iter().any(|own| path == own || is_under(path, own));
                let paths = container.files.keys().filter_map(in_dir);
                paths.filter(|path| path.contains('/') && is_ignored(path)).take(MAX_NAMED + 1).collect()
            }))
        };
        self.call(Method::IgnoredBelow, id.as_str(), list).await
    }

    async fn stirred(&self, id: &SandboxId, dir: &Directory) -> Result<bool, Failure> {
        let look = || {
            let changed = self.started(id.as_str(), |container| container.changed.replace(BTreeSet::new()));
            Ok(changed.is_none_or(|changed| changed.iter().any(|path| is_under(path, dir.as_str()))))
        };
        self.call(Method::Stirred, id.as_str(), look).await
    }

    async fn run_hook(
        &self,
        id: &SandboxId,
        stamp: &Stamp,
        dir: &Directory,
        name: &str,
        hook: &Hook,
        env: &BTreeMap<String, String>,
    ) -> Result<Option<HookRun>, Failure> {
        let run = || {
            let is_meant = || self.started(id.as_str(), |container| container.stamp.as_ref() == Some(stamp));
            if !is_meant() {
                return Ok(None);
            }
            let (sandbox, env) = (id.to_string(), self.env_of(id.as_str()).into_iter().chain(env.clone()).collect());
            let call = HookCall { sandbox, name: name.into(), dir: dir.to_string(), env };
            self.hooks.borrow_mut().push(call.clone());
            let planned = self.commands.borrow().get(&hook.command).cloned();
            let ran = planned.map_or_else(|| simple(&hook.command), |does| does(self, &call));
            if !self.running().contains(id.as_str()) || !is_meant() {
                return Err(Failure::new("Error", "The container ended.").with_code(INTERRUPTED));
            }
            if ran.exit_code.is_none() {
                self.pass(i64::from(hook.timeout_seconds) * 1000);
            }
            Ok(Some(HookRun {
                hook: name.into(),
                ok: ran.exit_code == Some(0),
                exit_code: ran.exit_code,
                timed_out: ran.exit_code.is_none(),
                output: ran.output,
            }))
        };
        self.call(Method::RunHook, id.as_str(), run).await
    }

    async fn checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        meant: Meant,
        call: &CheckpointCall,
    ) -> Result<Result<CheckpointDone, CheckpointRefusal>, Failure> {
        let work = || Ok(self.checkpointed(id.as_str(), dir.as_str(), meant, call));
        self.call(Method::Checkpoint, id.as_str(), work).await
    }
}

pub(super) fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|half| char::from_digit(half.into(), 16)).collect()
}
