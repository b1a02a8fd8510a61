//! Errors for checkpoint calls that the sandbox refused.

use crate::model::checkpoint_call::{CheckpointCall, CheckpointRefusal};
use crate::model::{Code, Directory, DirectoryContent, Error, SandboxId};
use crate::ports::Ports;
use crate::service::{CloudflareSandboxSnapshotter, container};

/// Returns the error for a refusal of the sandbox.
pub(super) fn refusal_error<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    call: &CheckpointCall,
    refusal: CheckpointRefusal,
) -> Error {
    let id = this.id.as_str();
    if refusal == CheckpointRefusal::NotADirectory(DirectoryContent::Symlink) {
        return Error::new(
            Code::InvalidDirectory,
            format!("In the sandbox {id:?}, {:?} is reached through a symbolic link.", dir.as_str()),
            "Give the path of a directory that is there, without symbolic links in it.",
        );
    }
    if let CheckpointRefusal::NotADirectory(content) = refusal {
        return container::check_directory(dir, content).err().unwrap_or_else(Error::internal);
    }
    let dir = dir.as_str();
    match refusal {
        CheckpointRefusal::TooYoung { .. } | CheckpointRefusal::IsReplacement => {
            container::replaced(&this.id, "was replaced")
        }
        CheckpointRefusal::NotReady => container::replaced(
            &this.id,
            "is not in place for its workspace, or slept and woke without the workspace's files",
        ),
        CheckpointRefusal::NotADirectory(_) => Error::internal(),
        CheckpointRefusal::InsideRepository(repository) => Error::new(
            Code::InvalidDirectory,
            format!("In the sandbox {id:?}, {dir:?} is part of the git repository of {repository:?}."),
            format!("Use checkpoints of {repository:?}: they hold {dir:?} too."),
        ),
        CheckpointRefusal::SymlinkedRefs(path) => failed(
            format!("In the sandbox {id:?}, {path:?} is a symbolic link; checkpoints are kept in directories only."),
            "Replace the symbolic link with the directory that it points to. Nothing was changed.",
        ),
        CheckpointRefusal::GitMissing => Error::new(
            Code::GitMissing,
            format!("There is no git in the sandbox {id:?}, which checkpoints are made with."),
            "Install it in the sandbox's image: `RUN apt-get update && apt-get install -y --no-install-recommends git` in its \
             Dockerfile, or `RUN apk add --no-cache git` on Alpine. Snapshots need no git.",
        ),
        CheckpointRefusal::NotFound => checkpoint_not_found(dir, call),
        CheckpointRefusal::Submodules => Error::new(
            Code::Unsupported,
            format!(
                "Another tool made the checkpoint in {dir:?}, and it lacks the files of the repositories in there."
            ),
            "Make checkpoints with this tool: they hold the files of nested repositories.",
        ),
        CheckpointRefusal::Unreadable(paths) => failed(
            format!("Files in {dir:?} can't be read: {}", join_paths(&paths)),
            "Make them readable, or have .gitignore leave them out. A checkpoint without them would remove them when it is restored.",
        ),
        CheckpointRefusal::ReservedNames(paths) => failed(
            format!("Git keeps no files of these names, which are in {dir:?}: {}", join_paths(&paths)),
            "Give them other names, or have .gitignore leave them out. A checkpoint without them would not bring them back.",
        ),
        CheckpointRefusal::WouldOverwrite(paths) => failed(
            format!(
                "The checkpoint has other files where these are, which no checkpoint holds: {}",
                join_paths(&paths)
            ),
            "Move them away, or remove them, and restore it then.",
        ),
        CheckpointRefusal::Busy => Error::new(
            Code::SandboxBusy,
            format!("Another call has been at work on the checkpoints of the sandbox {id:?} for long."),
            "Try again when it is done.",
        ),
        CheckpointRefusal::Failed { output, before: None } => {
            failed(format!("Git failed in {dir:?}: {output}"), "Look at what git said. Nothing was changed.")
        }
        CheckpointRefusal::Failed { output, before: Some(before) } => failed(
            format!(
                "Git failed while it was restoring the checkpoint in {dir:?}, and some files may be restored: {output}"
            ),
            &format!("Restore it again, or go back to what was there before: it is the commit {before}."),
        ),
    }
}

fn checkpoint_not_found(dir: &str, call: &CheckpointCall) -> Error {
    let (CheckpointCall::Restore { name } | CheckpointCall::Diff { name, .. }) = call else { return Error::internal() };
    Error::new(
        Code::CheckpointNotFound,
        format!("snapshot {:?} not found", name.as_str()),
        format!("List the checkpoints of {dir:?}. They go with the container that they were made in."),
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
            "Use checkpoints while the sandbox is in use. Restore a snapshot to go on from what it holds.",
        ),
        Code::SandboxStarting => Error::new(error.code(), error.message(), "Try again when it is up."),
        Code::SandboxReplaced => {
            Error::new(error.code(), error.message(), "Restore the newest snapshot, and go on in the new sandbox.")
        }
        _ => error,
    }
}
