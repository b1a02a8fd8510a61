//! The sandboxes as the service sees them, with the habits of the SDK (0.12.10).

use std::collections::{BTreeMap, BTreeSet};

use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal, Meant};
use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::named::settings::Hook;
use sandbox_snapshotter::model::named::standing::Survey;
use sandbox_snapshotter::model::{
    BackupHandle, BackupOptions, Directory, Failure, Probe, SandboxId, SandboxState, Status,
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
        self.world.name(self.id).await
    }

    async fn probe(&self, dir: &Directory) -> Result<Probe, Failure> {
        self.world.probe(self.id, dir).await
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

    async fn name(&self, id: &SandboxId) -> Result<(), Failure> {
        let tell = || {
            self.with(id.as_str(), |sandbox| {
                sandbox.name.get_or_insert_with(|| id.to_string());
            });
            Ok(())
        };
        self.call(Method::Name, id.as_str(), tell).await
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        let look = || {
            let now = self.millis();
            Ok(self.started(id.as_str(), |container| Probe {
                age_millis: now - container.started_at,
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

    async fn stamp(&self, id: &SandboxId, from: Option<&Stamp>, to: &Stamp) -> Result<bool, Failure> {
        self.stamps.borrow_mut().push(to.clone());
        let change = || {
            Ok(self.started(id.as_str(), |container| {
                let is_meant = container.stamp.as_ref() == from;
                if is_meant {
                    container.stamp = Some(to.clone());
                    container.changed = Some(BTreeSet::new());
                }
                is_meant
            }))
        };
        self.call(Method::Stamp, id.as_str(), change).await
    }

    async fn survey(&self, id: &SandboxId, dir: &Directory) -> Result<Survey, Failure> {
        let look = || {
            Ok(self.started(id.as_str(), |container| {
                container.made.insert(dir.to_string());
                let within = container.files.iter().filter(|(path, _)| is_under(path, dir.as_str()));
                let lines: Vec<_> = within.map(|(path, content)| format!("{path:?} {content:?}")).collect();
                let listing = lines.join("\n");
                let listing = Some(listing).filter(|listing| !listing.is_empty()).map(|listing| sha256(&listing));
                Survey { image: container.image.clone(), listing }
            }))
        };
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
        let look = || {
            let path = |file: &String| if file.starts_with('/') { file.clone() } else { format!("{dir}/{file}") };
            Ok(self.started(id.as_str(), |container| {
                let hash = |file| container.files.get(&path(file)).map(|content| sha256(content)).unwrap_or_default();
                files.iter().map(|file| (file.clone(), hash(file))).collect()
            }))
        };
        self.call(Method::Hashes, id.as_str(), look).await
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
    ) -> Result<Option<HookRun>, Failure> {
        let run = || {
            let is_meant = || self.started(id.as_str(), |container| container.stamp.as_ref() == Some(stamp));
            if !is_meant() {
                return Ok(None);
            }
            let (sandbox, env) = (id.to_string(), self.env_of(id.as_str()));
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
