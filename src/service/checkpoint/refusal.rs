//! Errors for checkpoint calls that the sandbox refused.

use crate::model::checkpoint_call::{CheckpointCall, CheckpointRefusal};
use crate::model::{Code, Directory, DirectoryContent, Error, SandboxId};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::container::identity;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the error for a refusal of the sandbox.
    pub(super) fn refusal_error(&self, dir: &Directory, call: &CheckpointCall, refusal: CheckpointRefusal) -> Error {
        let id = self.id.as_str();
        if refusal == CheckpointRefusal::NotADirectory(DirectoryContent::Symlink) {
            return Error::new(
                Code::InvalidDirectory,
                format!("In the sandbox {id:?}, the path {:?} contains a symbolic link.", dir.as_str()),
                "Pass the path of an existing directory, without symbolic links.",
            );
        }
        if let CheckpointRefusal::NotADirectory(content) = refusal {
            return identity::check_directory(dir, content).err().unwrap_or_else(Error::internal);
        }
        let dir = dir.as_str();
        match refusal {
            CheckpointRefusal::TooYoung { .. } | CheckpointRefusal::IsReplacement => self.replaced("was replaced"),
            CheckpointRefusal::NotReady => self
                .replaced("is not ready: its start did not finish, or it cold-started without the workspace's files"),
            CheckpointRefusal::NotADirectory(_) => Error::internal(),
            CheckpointRefusal::InsideRepository(repository) => Error::new(
                Code::InvalidDirectory,
                format!("In the sandbox {id:?}, {dir:?} is inside the git repository at {repository:?}."),
                format!("Use checkpoints of {repository:?}: they include {dir:?}."),
            ),
            CheckpointRefusal::SymlinkedRefs(path) => failed(
                format!("In the sandbox {id:?}, {path:?} is a symbolic link. Checkpoints require a directory there."),
                "Replace the symbolic link with the directory that it points to. Nothing was changed.",
            ),
            CheckpointRefusal::GitMissing => Error::new(
                Code::GitMissing,
                format!("The sandbox {id:?} has no git, which checkpoints require."),
                "Install git in the sandbox's image: `RUN apt-get update && apt-get install -y --no-install-recommends \
                 git` in its Dockerfile, or `RUN apk add --no-cache git` on Alpine. Snapshots do not need git.",
            ),
            CheckpointRefusal::NotFound => checkpoint_not_found(dir, call),
            CheckpointRefusal::Submodules => Error::new(
                Code::Unsupported,
                format!("Another tool made the checkpoint in {dir:?}, without the files of nested repositories."),
                "Create checkpoints with this tool: they include the files of nested repositories.",
            ),
            CheckpointRefusal::Unreadable(paths) => failed(
                format!("Files in {dir:?} can't be read: {}", join_paths(&paths)),
                "Make them readable, or add them to .gitignore. The restore of a checkpoint without them would delete \
                 them.",
            ),
            CheckpointRefusal::ReservedNames(paths) => failed(
                format!("Git does not store files with these names, which are in {dir:?}: {}", join_paths(&paths)),
                "Rename them, or add them to .gitignore. A checkpoint without them would not restore them.",
            ),
            CheckpointRefusal::WouldOverwrite(paths) => failed(
                format!(
                    "The checkpoint has other files at these paths, and no checkpoint contains the present ones: {}",
                    join_paths(&paths)
                ),
                "Move or delete the present files, then restore the checkpoint.",
            ),
            CheckpointRefusal::Busy => Error::new(
                Code::SandboxBusy,
                format!("Other checkpoint calls in the sandbox {id:?} were still running after 60 seconds."),
                "Try again when they have finished.",
            ),
            CheckpointRefusal::Failed { output, before: None } => {
                failed(format!("Git failed in {dir:?}: {output}"), "Check the output of git. Nothing was changed.")
            }
            CheckpointRefusal::Failed { output, before: Some(before) } => failed(
                format!(
                    "Git failed while restoring the checkpoint in {dir:?}, and some files may already be restored: \
                     {output}"
                ),
                &format!(
                    "Restore the checkpoint again, or return to the previous files: they are the commit {before}."
                ),
            ),
        }
    }
}

fn checkpoint_not_found(dir: &str, call: &CheckpointCall) -> Error {
    let (CheckpointCall::Restore { name } | CheckpointCall::Diff { name, .. }) = call else { return Error::internal() };
    Error::new(
        Code::CheckpointNotFound,
        format!("snapshot {:?} not found", name.as_str()),
        format!("List the checkpoints of {dir:?}. A checkpoint is gone when its container has ended."),
    )
}

fn failed(message: String, remediation: &str) -> Error {
    Error::new(Code::CheckpointFailed, message, remediation)
}

fn join_paths(paths: &[String]) -> String {
    paths.join(", ")
}

/// Returns a container error with a remediation that fits checkpoints.
pub(super) fn adapt_container_error(id: &SandboxId, error: Error) -> Error {
    let id = id.as_str();
    match error.code() {
        Code::SandboxNotRunning => Error::new(
            Code::SandboxNotRunning,
            format!("The sandbox {id:?} is not running: its files are gone, and its checkpoints with them."),
            "Use checkpoints while the sandbox is running. To continue from earlier files, restore a snapshot.",
        ),
        Code::SandboxStarting => Error::new(error.code(), error.message(), "Try again when it is running."),
        Code::SandboxReplaced => {
            Error::new(error.code(), error.message(), "Restore the newest snapshot, and continue in the new sandbox.")
        }
        _ => error,
    }
}
