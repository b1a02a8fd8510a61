//! Errors about restores into sandboxes.

use crate::model::{BackupId, Code, Directory, Error, SandboxId};

impl Error {
    /// [`Code::RestoreFailed`], when the files are missing after a restore that the sandbox reported as successful.
    pub fn restored_files_missing(id: &SandboxId) -> Self {
        Self::new(
            Code::RestoreFailed,
            format!("The sandbox {:?} reported that the restore succeeded, but the files are missing.", id.as_str()),
            "Try again. If the error persists, check the logs of the sandbox's Worker.",
        )
    }

    /// [`Code::RestoreFailed`], when the changes of a delta can't be applied to its base, or give other files.
    pub fn delta_not_applied(id: &SandboxId, backup: &BackupId, why: &str) -> Self {
        Self::new(
            Code::RestoreFailed,
            format!("The changes in the backup {backup} can't be applied in the sandbox {:?}: {why}.", id.as_str()),
            "Restore another snapshot, or start with the image that the files were captured in. Pass `incremental: false` to \
             `snapshot` to store all files.",
        )
    }

    /// [`Code::OperationInterrupted`], when a process would write below the files that were mounted at `dir`.
    pub fn process_below_mount(id: &SandboxId, process: &str, dir: &Directory) -> Self {
        Self::new(
            Code::OperationInterrupted,
            format!(
                "In the sandbox {:?}, the process {process} still works in {:?} below the mounted files: its \
                 writes would be lost.",
                id.as_str(),
                dir.as_str()
            ),
            "Try again. If the image starts this process, start it in another directory.",
        )
    }

    /// [`Code::OperationInterrupted`], when a step finds another container than the one that the restore began in.
    pub fn another_container(id: &SandboxId) -> Self {
        Self::new(
            Code::OperationInterrupted,
            format!("The container of the sandbox {:?} ended, and another container is running.", id.as_str()),
            "Try again.",
        )
    }

    /// [`Code::OperationInterrupted`], for a message of an earlier version of the workspace's record.
    pub fn superseded(id: &SandboxId) -> Self {
        Self::new(
            Code::OperationInterrupted,
            format!("A later operation started or ended the sandbox {:?} for its workspace.", id.as_str()),
            "Try again.",
        )
    }
}
