//! Errors for checkpoint calls that the sandbox refused.

use crate::model::checkpoint_call::{CheckpointCall, CheckpointRefusal};
use crate::model::record::SandboxRecord;
use crate::model::{Code, Directory, DirectoryContent, Error, SandboxId};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::container::identity;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the error for a refusal of the sandbox.
    pub(super) fn refusal_error(&self, dir: &Directory, call: &CheckpointCall, refusal: CheckpointRefusal) -> Error {
        let id = &*self.id;
        match refusal {
            CheckpointRefusal::NotADirectory(DirectoryContent::Symlink) => Error::symlinked_directory(id, dir),
            CheckpointRefusal::NotADirectory(content) => {
                identity::check_directory(dir, content).err().unwrap_or_else(Error::internal)
            }
            CheckpointRefusal::InsideRepository(repository) => Error::directory_in_repository(id, dir, &repository),
            CheckpointRefusal::SymlinkedRefs(path) => Error::symlinked_refs(id, &path),
            CheckpointRefusal::GitMissing => Error::git_missing(id),
            CheckpointRefusal::NotFound => match call {
                CheckpointCall::Restore { name, .. } | CheckpointCall::Diff { name, .. } => {
                    Error::checkpoint_not_found(dir, name)
                }
                _ => Error::internal(),
            },
            CheckpointRefusal::Submodules => Error::checkpoint_of_other_tool(dir),
            CheckpointRefusal::Unreadable(paths) => Error::unreadable_files(dir, &paths),
            CheckpointRefusal::ReservedNames(paths) => Error::reserved_file_names(dir, &paths),
            CheckpointRefusal::WouldOverwrite(paths) => Error::checkpoint_would_overwrite(&paths),
            CheckpointRefusal::Busy => Error::checkpoints_busy(id),
            CheckpointRefusal::Failed { output, before: None } => Error::git_failed(dir, &output),
            CheckpointRefusal::Failed { output, before: Some(before) } => {
                Error::checkpoint_restore_failed(dir, &output, &before)
            }
        }
    }
}

/// Returns a container error with a remediation that fits checkpoints. Snapshots of a sandbox that belongs to a named workspace
/// have the checkpoints, too.
pub(super) fn adapt_container_error(id: &SandboxId, sandbox: Option<&SandboxRecord>, error: Error) -> Error {
    let is_named = sandbox.is_some_and(|sandbox| sandbox.binding.is_some());
    match error.code() {
        Code::SandboxNotRunning if sandbox.is_none() => Error::checkpoints_of_unknown(id),
        Code::SandboxNotRunning if !is_named => Error::checkpoints_gone(id),
        Code::SandboxStarting => error.without_wake(),
        Code::SandboxReplaced if !is_named => {
            error.with_remediation("Restore the newest snapshot, and continue in the new sandbox.")
        }
        _ => error,
    }
}
