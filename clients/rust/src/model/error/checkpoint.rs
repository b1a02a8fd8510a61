//! Errors about checkpoints.

use crate::model::checkpoint::CheckpointName;
use crate::model::{Code, Directory, Error, SandboxId};

impl Error {
    /// [`Code::InvalidDirectory`], for a path through a symbolic link.
    pub fn symlinked_directory(id: &SandboxId, dir: &Directory) -> Self {
        Self::new(
            Code::InvalidDirectory,
            format!("In the sandbox {:?}, the path {:?} contains a symbolic link.", id.as_str(), dir.as_str()),
            "Pass the path of an existing directory, without symbolic links.",
        )
    }

    /// [`Code::InvalidDirectory`], for a directory that belongs to the git repository of a parent directory.
    pub fn directory_in_repository(id: &SandboxId, dir: &Directory, repository: &str) -> Self {
        let (id, dir) = (id.as_str(), dir.as_str());
        Self::new(
            Code::InvalidDirectory,
            format!("In the sandbox {id:?}, {dir:?} is inside the git repository at {repository:?}."),
            format!("Use checkpoints of {repository:?}: they include {dir:?}."),
        )
    }

    /// [`Code::CheckpointNotFound`], for a name that no checkpoint of `dir` has.
    pub fn checkpoint_not_found(dir: &Directory, name: &CheckpointName) -> Self {
        Self::new(
            Code::CheckpointNotFound,
            format!("The checkpoint {:?} was not found in {:?}", name.as_str(), dir.as_str()),
            format!("List the checkpoints of {:?}. A checkpoint is gone when its container has ended.", dir.as_str()),
        )
    }

    /// [`Code::GitMissing`], for a sandbox whose image has no git.
    pub fn git_missing(id: &SandboxId) -> Self {
        Self::new(
            Code::GitMissing,
            format!("The sandbox {:?} has no git, which checkpoints require.", id.as_str()),
            "Install git in the sandbox's image: `RUN apt-get update && apt-get install -y --no-install-recommends \
             git` in its Dockerfile, or `RUN apk add --no-cache git` on Alpine. Snapshots do not need git.",
        )
    }

    /// [`Code::Unsupported`], for a checkpoint that does not contain the files of nested repositories.
    pub fn checkpoint_of_other_tool(dir: &Directory) -> Self {
        Self::new(
            Code::Unsupported,
            format!(
                "Another tool made the checkpoint in {:?}, without the files of nested repositories.",
                dir.as_str()
            ),
            "Create checkpoints with this tool: they include the files of nested repositories.",
        )
    }

    /// [`Code::SandboxBusy`], when other checkpoint calls did not finish in time.
    pub fn checkpoints_busy(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxBusy,
            format!("Other checkpoint calls in the sandbox {:?} were still running after 60 seconds.", id.as_str()),
            "Try again when they have finished.",
        )
    }

    /// [`Code::CheckpointFailed`], for a repository whose refs are behind the symbolic link `path`.
    pub fn symlinked_refs(id: &SandboxId, path: &str) -> Self {
        Self::new(
            Code::CheckpointFailed,
            format!(
                "In the sandbox {:?}, {path:?} is a symbolic link. Checkpoints require a directory there.",
                id.as_str()
            ),
            "Replace the symbolic link with the directory that it points to. Nothing was changed.",
        )
    }

    /// [`Code::CheckpointFailed`], for files that git cannot read.
    pub fn unreadable_files(dir: &Directory, paths: &[String]) -> Self {
        Self::new(
            Code::CheckpointFailed,
            format!("Files in {:?} can't be read: {}", dir.as_str(), paths.join(", ")),
            "Make them readable, or add them to .gitignore. The restore of a checkpoint without them would delete \
             them.",
        )
    }

    /// [`Code::CheckpointFailed`], for files whose names git reserves.
    pub fn reserved_file_names(dir: &Directory, paths: &[String]) -> Self {
        Self::new(
            Code::CheckpointFailed,
            format!("Git does not store files with these names, which are in {:?}: {}", dir.as_str(), paths.join(", ")),
            "Rename them, or add them to .gitignore. A checkpoint without them would not restore them.",
        )
    }

    /// [`Code::CheckpointFailed`], for a restore that would overwrite files that no checkpoint contains.
    pub fn checkpoint_would_overwrite(paths: &[String]) -> Self {
        Self::new(
            Code::CheckpointFailed,
            format!(
                "The checkpoint has other files at these paths, and no checkpoint contains the present ones: {}",
                paths.join(", ")
            ),
            "Move or delete the present files, then restore the checkpoint.",
        )
    }

    /// [`Code::CheckpointFailed`], when git failed before it changed a file.
    pub fn git_failed(dir: &Directory, output: &str) -> Self {
        Self::new(
            Code::CheckpointFailed,
            format!("Git failed in {:?}: {output}", dir.as_str()),
            "Check the output of git. Nothing was changed.",
        )
    }

    /// [`Code::CheckpointFailed`], when git failed during a restore. The previous files are the commit `before`.
    pub fn checkpoint_restore_failed(dir: &Directory, output: &str, before: &str) -> Self {
        Self::new(
            Code::CheckpointFailed,
            format!(
                "Git failed while restoring the checkpoint in {:?}, and some files may already be restored: {output}",
                dir.as_str()
            ),
            format!("Restore the checkpoint again, or return to the previous files: they are the commit {before}."),
        )
    }

    /// [`Code::SandboxNotRunning`], for a checkpoint call in a sandbox that is not running and of which there is no record.
    pub fn checkpoints_of_unknown(id: &SandboxId) -> Self {
        Self::sandbox_unknown(id).with_remediation(
            "Pass the id of a sandbox, not the name of a workspace: `workspaces/getByName` returns it.",
        )
    }

    /// [`Code::SandboxNotRunning`], for a checkpoint call in a sandbox without a running container.
    pub fn checkpoints_gone(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxNotRunning,
            format!("The sandbox {:?} is not running: its files are gone, and its checkpoints with them.", id.as_str()),
            "Use checkpoints while the sandbox is running. To continue from earlier files, restore a snapshot.",
        )
    }
}
