//! Errors about what the SDK, R2 or another object threw.

use crate::model::{Code, Error, Failure, SandboxId};

impl Error {
    /// The error for a failure of a sandbox with `code`, which is the code of the failure.
    pub fn sandbox_failed(code: Code, doing: &str, id: &SandboxId, cause: Failure) -> Self {
        let message =
            format!("{} while {doing} the sandbox {:?}: {}", describe_failure(code), id.as_str(), cause.message);
        Self::new(code, message, remediation(code)).caused_by(cause)
    }

    /// [`Code::SandboxUnsupported`], when the image of the sandbox lacks a program, which `cause` names.
    pub fn tool_missing(doing: &str, id: &SandboxId, cause: Failure) -> Self {
        Self::new(
            Code::SandboxUnsupported,
            format!("The image lacks a program while {doing} the sandbox {:?}: {}", id.as_str(), cause.message),
            "Install the program in the image of the container, and deploy the image. If a command deleted it, go back to an \
             earlier snapshot.",
        )
        .caused_by(cause)
    }

    /// [`Code::StorageUnavailable`], when R2 gave no definite answer.
    pub fn storage_unavailable(doing: &str, cause: Failure) -> Self {
        Self::new(
            Code::StorageUnavailable,
            format!("R2 failed while {doing}: {}", cause.message),
            "Try again. If the error persists, check the status of R2 and the binding of the bucket.",
        )
        .caused_by(cause)
    }

    /// [`Code::BackupIncomplete`], for an object in R2 that cannot be read.
    pub fn stored_object_unreadable(doing: &str, cause: Failure) -> Self {
        Self::new(
            Code::BackupIncomplete,
            format!("An object in R2 can't be read while {doing}: {}", cause.message),
            "Use another snapshot.",
        )
        .caused_by(cause)
    }

    /// [`Code::LedgerUnavailable`], when a call to the ledger of another sandbox failed; or [`Code::LedgerCorrupt`] and
    /// [`Code::LedgerTooNew`], when its storage cannot be read.
    pub fn other_ledger_failed(id: &SandboxId, cause: Failure) -> Self {
        let permanent = [Code::LedgerCorrupt, Code::LedgerTooNew].into_iter().find(|code| code.as_str() == cause.name);
        Self::new(
            permanent.unwrap_or(Code::LedgerUnavailable),
            format!("The call to the ledger of {:?} failed: {}", id.as_str(), cause.message),
            if permanent.is_some() { "Deploy the newest release that has run, or a later one." } else { "Try again." },
        )
        .caused_by(cause)
    }

    /// [`Code::WorkspaceUnavailable`], for a call to the object `what` that was cut off.
    pub fn object_unavailable(what: &str, cause: Failure) -> Self {
        Self::new(
            Code::WorkspaceUnavailable,
            format!("{what} did not answer: {}", cause.message),
            "The outcome of the operation is unknown. Check the state before you try again.",
        )
        .caused_by(cause)
    }

    /// [`Code::DirectoryUnavailable`], when the list of workspaces cannot be read.
    pub fn directory_unavailable(cause: Failure) -> Self {
        Self::new(
            Code::DirectoryUnavailable,
            format!("The list of workspaces could not be read: {}", cause.message),
            "Try again. Workspaces can still be started and stopped.",
        )
        .caused_by(cause)
    }
}

fn describe_failure(code: Code) -> &'static str {
    match code {
        Code::BackupConfigInvalid => "The sandbox rejected the backup's options or its own configuration",
        Code::BackupNotFound => "The sandbox did not find the backup in R2",
        Code::BackupExpired => "The backup has expired",
        Code::BackupIncomplete => "The backup in R2 is damaged",
        Code::StorageUnavailable => "R2 failed",
        Code::OperationInterrupted => "The sandbox was interrupted",
        Code::SandboxUnavailable => "The sandbox could not be reached",
        Code::SandboxTimeout => "The sandbox did not answer in time",
        Code::SandboxUnsupported => "The class of the sandbox lacks a method",
        _ => "The sandbox failed",
    }
}

fn remediation(code: Code) -> &'static str {
    match code {
        Code::BackupConfigInvalid => {
            "Check the cause. The Worker that exports the sandbox's class needs the binding BACKUP_BUCKET in \
             [[r2_buckets]]; the runtime `container` needs no more. The runtime `sdk-0.12` also needs BACKUP_BUCKET_NAME, \
             CLOUDFLARE_R2_ACCOUNT_ID, R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY in production, and LOCAL_BUCKET = \
             \"true\" on this Worker in development."
        }
        Code::BackupNotFound => {
            "Bind the sandbox's Worker to the same bucket as this Worker. If the backup was deleted, use another \
             snapshot."
        }
        Code::SandboxTimeout => {
            "The outcome is unknown, and the call may still take effect. Try again later. If the error persists, check \
             the logs of the sandbox's Worker."
        }
        Code::BackupExpired | Code::BackupIncomplete => "Use another snapshot.",
        Code::SandboxUnsupported => {
            "Bind the sandbox binding to the Sandbox class of @cloudflare/sandbox 0.12.10, or to a class with its \
             methods configure, getState, getSession, execWithSessionToken, createBackup, restoreBackup, setEnvVars \
             and destroy."
        }
        Code::BackupFailed => {
            "Check the cause: every file of the directory must be readable, and the disk must have space for the \
             archive. Then try again."
        }
        Code::SandboxFailed | Code::CheckpointFailed => "Check the cause and the logs of the sandbox's Worker.",
        _ => "Try again.",
    }
}
