//! The checkpoints in a container, as the script keeps them with git.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use sandbox_snapshotter::model::checkpoint::{
    Checkpoint, CheckpointCursor, CheckpointDiff, Checkpoints, CreatedCheckpoint, RestoredCheckpoint,
};
use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal, Meant};
use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::{CheckpointName, Place, Timestamp};

use super::World;
use super::containers::{Container, Files, is_under};
use super::sandboxes::sha256;

/// A checkpoint, and what it holds.
pub(super) struct Kept {
    dir: String,
    checkpoint: Checkpoint,
    files: Files,
}

impl World {
    /// From now on every container refuses to work on checkpoints, once it was found to be the one that is meant.
    pub fn refuses_checkpoints(&self, refusal: CheckpointRefusal) {
        *self.refusal.borrow_mut() = Some(refusal);
    }

    /// How many checkpoints there are in a container that runs.
    pub fn checkpoints_in(&self, id: &str) -> usize {
        self.with(id, |sandbox| sandbox.container.as_ref().map_or(0, |container| container.checkpoints.len()))
    }

    pub(super) fn checkpointed(
        &self,
        id: &str,
        dir: &str,
        meant: Meant,
        call: &CheckpointCall,
    ) -> Result<CheckpointDone, CheckpointRefusal> {
        let (now, refusal) = (self.millis(), self.refusal.borrow().clone());
        self.started(id, |container| {
            container.is_meant(meant, now)?;
            refusal.map_or(Ok(()), Err)?;
            let place = container.place(dir);
            if !matches!(place, Place::Full | Place::Empty) {
                return Err(CheckpointRefusal::NoDirectory(place));
            }
            container.does(dir, call, Timestamp::from_millis(now))
        })
    }
}

impl Container {
    fn is_meant(&self, meant: Meant, now: i64) -> Result<(), CheckpointRefusal> {
        let age_millis = now - self.started_at;
        match meant {
            Meant::HandedOut if self.stamp.as_ref().is_some_and(Stamp::is_ready) => Ok(()),
            Meant::HandedOut => Err(CheckpointRefusal::NotHandedOut),
            Meant::Aged(_) if self.took_place => Err(CheckpointRefusal::TookPlace),
            Meant::Aged(millis) if age_millis < millis => Err(CheckpointRefusal::Young { age_millis }),
            Meant::Aged(_) => Ok(()),
        }
    }

    fn kept(&self, dir: &str, name: &CheckpointName) -> Result<(String, Files), CheckpointRefusal> {
        let kept = self.checkpoints.iter().find(|kept| kept.dir == dir && kept.checkpoint.name == *name);
        kept.map(|kept| (kept.checkpoint.commit.clone(), kept.files.clone())).ok_or(CheckpointRefusal::Unknown)
    }

    fn does(&mut self, dir: &str, call: &CheckpointCall, now: Timestamp) -> Result<CheckpointDone, CheckpointRefusal> {
        let present: Files =
            self.files.iter().filter(|(path, _)| is_under(path, dir)).map(|(p, c)| (p.clone(), c.clone())).collect();
        Ok(match call {
            CheckpointCall::Create { name, description } => {
                let replaced = self.kept(dir, name).ok().map(|(commit, _)| commit);
                self.checkpoints.retain(|kept| kept.dir != dir || kept.checkpoint.name != *name);
                let checkpoint = Checkpoint {
                    name: name.clone(),
                    commit: commit(&(&present, now)),
                    created_at: now,
                    description: description.to_string(),
                };
                self.checkpoints.push(Kept { dir: dir.into(), checkpoint: checkpoint.clone(), files: present });
                CheckpointDone::Created(CreatedCheckpoint { checkpoint, replaced })
            }
            CheckpointCall::List { after, limit } => {
                let of_dir = self.checkpoints.iter().filter(|kept| kept.dir == dir).map(|kept| kept.checkpoint.clone());
                let place = |checkpoint: &Checkpoint| (Reverse(micros(checkpoint)), checkpoint.name.to_string());
                let after = after.as_ref().map(|after| (Reverse(after.micros), after.name.to_string()));
                let mut rest: Vec<_> =
                    of_dir.filter(|kept| after.as_ref().is_none_or(|after| place(kept) > *after)).collect();
                rest.sort_by_key(place);
                let is_more = rest.len() > *limit as usize;
                rest.truncate(*limit as usize);
                let last = rest.last().filter(|_| is_more);
                let cursor = last.map(|last| CheckpointCursor { micros: micros(last), name: last.name.clone() });
                CheckpointDone::Listed(Checkpoints {
                    checkpoints: rest.clone(),
                    cursor: cursor.as_ref().map(ToString::to_string),
                })
            }
            CheckpointCall::Restore { name } => {
                let (commit_of, files) = self.kept(dir, name)?;
                let changed = changed(&present, &files, dir);
                self.remove(|path| !is_under(path, dir) || files.contains_key(path));
                self.write(files);
                CheckpointDone::Restored(RestoredCheckpoint {
                    name: name.clone(),
                    commit: commit_of,
                    before: (!changed.is_empty()).then(|| commit(&present)),
                    changed_count: changed.len() as u64,
                    changed,
                })
            }
            CheckpointCall::Diff { name, max_bytes } => {
                let (commit, files) = self.kept(dir, name)?;
                let whole: String =
                    changed(&present, &files, dir).into_iter().flat_map(|path| [path, "\n".into()]).collect();
                let diff: String = whole.chars().take(*max_bytes as usize).collect();
                let (size_bytes, truncated) = (whole.len() as u64, diff != whole);
                CheckpointDone::Compared(CheckpointDiff { name: name.clone(), commit, diff, size_bytes, truncated })
            }
        })
    }
}

fn micros(checkpoint: &Checkpoint) -> i64 {
    checkpoint.created_at.as_millis() * 1000
}

/// What differs, relative to the directory.
fn changed(one: &Files, other: &Files, dir: &str) -> Vec<String> {
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differs = |path: &&&String| one.get(**path) != other.get(**path);
    paths.iter().filter(differs).map(|path| path[dir.len() + 1..].to_owned()).collect()
}

fn commit(what: &impl std::fmt::Debug) -> String {
    sha256(&format!("{what:?}"))[..40].to_owned()
}
