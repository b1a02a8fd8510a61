//! The fake of the checkpoint script, which stores checkpoints with git in a container.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use sandbox_snapshotter::model::checkpoint::{
    Checkpoint, CheckpointCursor, CheckpointDiff, CheckpointPage, CreatedCheckpoint, DeletedCheckpoint,
    RestoredCheckpoint,
};
use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use sandbox_snapshotter::model::file_part::{FilePart, FileParts, PartContent, PartOutcome, PartRefusal, PartsRefusal};
use sandbox_snapshotter::model::{CheckpointName, DirectoryContent, SandboxId, Timestamp};

use super::containers::{Container, Files, is_under, sha256};
use super::{Scheduler, World};

/// A checkpoint with its files.
pub(super) struct StoredCheckpoint {
    dir: String,
    checkpoint: Checkpoint,
    files: Files,
}

impl<S: Scheduler> World<S> {
    /// Makes every checkpoint call fail with `refusal`, after the check of the container.
    pub fn refuse_checkpoints(&self, refusal: CheckpointRefusal) {
        *self.checkpoint_refusal.borrow_mut() = Some(refusal);
    }

    pub(super) fn run_checkpoint_call(
        &self,
        id: &SandboxId,
        dir: &str,
        call: &CheckpointCall,
    ) -> Result<CheckpointOutcome, CheckpointRefusal> {
        let refusal = self.checkpoint_refusal.borrow().clone();
        self.with_container(id, |container, now| {
            refusal.map_or(Ok(()), Err)?;
            let content = container.directory_content(dir);
            if !matches!(content, DirectoryContent::NonEmpty | DirectoryContent::Empty) {
                return Err(CheckpointRefusal::NotADirectory(content));
            }
            container.apply(dir, call, Timestamp::from_millis(now))
        })
    }
}

impl<S: Scheduler> Container<S> {
    /// Writes parts of files. Their content must be text. There are directories only where files are, and the content of a link is its
    /// target.
    pub(super) fn write_parts(&mut self, dir: &str, parts: &FileParts) -> Result<Vec<PartOutcome>, PartsRefusal> {
        let content = self.directory_content(dir);
        if !matches!(content, DirectoryContent::NonEmpty | DirectoryContent::Empty) {
            return Err(PartsRefusal::NotADirectory(content));
        }
        let mut before = Vec::new();
        for part in &parts.parts {
            match self.write_part(dir, parts, part) {
                Ok(outcome) => before.push(outcome),
                Err(why) => return Err(PartsRefusal::Part { before, why }),
            }
        }
        Ok(before)
    }

    fn write_part(&mut self, dir: &str, parts: &FileParts, part: &FilePart) -> Result<PartOutcome, PartRefusal> {
        let path = format!("{dir}/{}", part.path);
        let is_file_above = |file: &String| path.starts_with(&format!("{file}/"));
        let is_directory = self.files.keys().any(|file| is_under(file, &path) && *file != path);
        let is_blocked = match part.content {
            PartContent::Directory { .. } => self.files.contains_key(&path),
            PartContent::Bytes { .. } | PartContent::Link { .. } => is_directory,
        };
        if self.files.keys().any(is_file_above) || is_blocked {
            return Err(PartRefusal::Blocked);
        }
        let content = match &part.content {
            PartContent::Directory { .. } if is_directory => return Ok(PartOutcome::Exists),
            PartContent::Directory { .. } => return Ok(PartOutcome::Placed),
            PartContent::Link { target, .. } => target.clone(),
            PartContent::Bytes { offset, bytes, end } => {
                let incomplete = self.incomplete_files.entry(parts.token.clone()).or_default();
                if incomplete.len() as u64 != *offset {
                    return Err(PartRefusal::Failed("the incomplete file has another size".into()));
                }
                incomplete.push_str(std::str::from_utf8(bytes).unwrap());
                let Some(end) = end else { return Ok(PartOutcome::Stored) };
                let content = self.incomplete_files.remove(&parts.token).unwrap();
                if content.len() as u64 != end.size {
                    return Err(PartRefusal::Failed("the file has another size".into()));
                }
                content
            }
        };
        if self.files.contains_key(&path) && !parts.overwrite {
            return Ok(PartOutcome::Exists);
        }
        self.write_files(Files::from([(path, content)]));
        Ok(PartOutcome::Placed)
    }

    /// Returns the number of checkpoints.
    pub fn checkpoint_count(&self) -> usize {
        self.checkpoints.len()
    }

    fn find_checkpoint(&self, dir: &str, name: &CheckpointName) -> Result<(String, Files), CheckpointRefusal> {
        let stored = self.checkpoints.iter().find(|stored| stored.dir == dir && stored.checkpoint.name == *name);
        stored.map(|stored| (stored.checkpoint.commit.clone(), stored.files.clone())).ok_or(CheckpointRefusal::NotFound)
    }

    fn apply(
        &mut self,
        dir: &str,
        call: &CheckpointCall,
        now: Timestamp,
    ) -> Result<CheckpointOutcome, CheckpointRefusal> {
        let has_expired = |stored: &StoredCheckpoint| stored.checkpoint.expires_at.is_some_and(|at| at <= now);
        self.checkpoints.retain(|stored| !has_expired(stored));
        let present = self.files_in(dir);
        Ok(match call {
            CheckpointCall::Create { name, description, expiration_seconds } => {
                let replaced = self.find_checkpoint(dir, name).ok().map(|(commit, _)| commit);
                self.checkpoints.retain(|stored| stored.dir != dir || stored.checkpoint.name != *name);
                let checkpoint = Checkpoint {
                    name: name.clone(),
                    commit: commit_hash(&(&present, now)),
                    created_at: now,
                    description: description.to_string(),
                    expires_at: Some(*expiration_seconds)
                        .filter(|seconds| *seconds > 0)
                        .map(|seconds| now.plus_millis(i64::try_from(seconds).unwrap() * 1000)),
                };
                self.checkpoints.push(StoredCheckpoint {
                    dir: dir.into(),
                    checkpoint: checkpoint.clone(),
                    files: present,
                });
                CheckpointOutcome::Created(CreatedCheckpoint { checkpoint, replaced })
            }
            CheckpointCall::List { after, limit } => {
                let of_dir =
                    self.checkpoints.iter().filter(|stored| stored.dir == dir).map(|stored| stored.checkpoint.clone());
                let sort_key = |checkpoint: &Checkpoint| (Reverse(micros(checkpoint)), checkpoint.name.to_string());
                let after = after.as_ref().map(|after| (Reverse(after.micros), after.name.to_string()));
                let mut rest: Vec<_> =
                    of_dir.filter(|stored| after.as_ref().is_none_or(|after| sort_key(stored) > *after)).collect();
                rest.sort_by_key(sort_key);
                let has_more = rest.len() > *limit as usize;
                rest.truncate(*limit as usize);
                let last = rest.last().filter(|_| has_more);
                let cursor = last.map(|last| CheckpointCursor { micros: micros(last), name: last.name.clone() });
                CheckpointOutcome::Listed(CheckpointPage {
                    checkpoints: rest.clone(),
                    cursor: cursor.as_ref().map(ToString::to_string),
                })
            }
            CheckpointCall::Delete { name } => {
                let commit = self.find_checkpoint(dir, name).ok().map(|(commit, _)| commit);
                self.checkpoints.retain(|stored| stored.dir != dir || stored.checkpoint.name != *name);
                CheckpointOutcome::Deleted(DeletedCheckpoint { name: name.clone(), removed: commit.is_some(), commit })
            }
            CheckpointCall::Restore { name, prune } => {
                let (commit_of, files) = self.find_checkpoint(dir, name)?;
                let changed = changed_paths(&present, &files, dir);
                self.retain_files(|path| !is_under(path, dir) || files.contains_key(path));
                self.write_files(files);
                CheckpointOutcome::Restored(RestoredCheckpoint {
                    name: name.clone(),
                    commit: commit_of,
                    before: (!changed.is_empty()).then(|| commit_hash(&present)),
                    changed_count: changed.len() as u64,
                    changed,
                    // There are only files.
                    pruned_directories: prune.then_some(0),
                })
            }
            CheckpointCall::Diff { name, max_bytes } => {
                let (commit, files) = self.find_checkpoint(dir, name)?;
                let full_diff: String =
                    changed_paths(&present, &files, dir).into_iter().flat_map(|path| [path, "\n".into()]).collect();
                let diff: String = full_diff.chars().take(*max_bytes as usize).collect();
                let (size_bytes, truncated) = (full_diff.len() as u64, diff != full_diff);
                CheckpointOutcome::Diffed(CheckpointDiff { name: name.clone(), commit, diff, size_bytes, truncated })
            }
        })
    }
}

fn micros(checkpoint: &Checkpoint) -> i64 {
    checkpoint.created_at.as_millis() * 1000
}

/// Returns the paths that differ, relative to the directory.
fn changed_paths(left: &Files, right: &Files, dir: &str) -> Vec<String> {
    let paths: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let differs = |path: &&&String| left.get(**path) != right.get(**path);
    paths.iter().filter(differs).map(|path| path[dir.len() + 1..].to_owned()).collect()
}

fn commit_hash(content: &impl std::fmt::Debug) -> String {
    sha256(format!("{content:?}"))[..40].to_owned()
}
