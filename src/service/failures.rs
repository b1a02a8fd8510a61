//! Gives what the SDK or the platform threw a code of ours.
//!
//! Between Workers of an older compatibility date an error loses its properties, and its class name moves into
//! its message. So the SDK's code is looked for in the code, then the class name, then the message.

use super::line::busy;
use crate::model::{Code, Error, Failure, SandboxId};

/// What was being done when a sandbox failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum During {
    /// Looking at its state or into it.
    Look,
    /// `createBackup`.
    Backup,
    /// `restoreBackup`.
    Restore,
    /// `destroy`.
    Destroy,
    /// Making it ready for somebody.
    Start,
    /// A command that runs in it.
    Hook,
    /// Work on its checkpoints.
    Checkpoint,
}

/// The error for what a sandbox threw.
pub(crate) fn from_sandbox(failure: Failure, id: &SandboxId, during: During) -> Error {
    let code = code_of(&failure, during);
    let doing = match during {
        During::Look => "looking at",
        During::Backup => "backing up",
        During::Restore => "restoring into",
        During::Destroy => "destroying",
        During::Start => "starting",
        During::Hook => "running a hook in",
        During::Checkpoint => "working on the checkpoints of",
    };
    let message = format!("{} while {doing} the sandbox {:?}: {}", what(code), id.as_str(), failure.message);
    Error::new(code, message, remedy(code)).caused_by(failure)
}

/// The error for what R2 threw, which is never a definite answer, or for what was found there and can't be read.
pub(crate) fn from_storage(failure: Failure, doing: &str) -> Error {
    if failure.is_unexpected() {
        return Error::new(
            Code::BackupIncomplete,
            format!("What R2 holds can't be read while {doing}: {}", failure.message),
            "Use another snapshot.",
        )
        .caused_by(failure);
    }
    Error::new(
        Code::StorageUnavailable,
        format!("R2 failed while {doing}: {}", failure.message),
        "Try again. If it stays, look at the status of R2 and of the bucket's binding.",
    )
    .caused_by(failure)
}

/// The error for what another workspace threw. Nothing is lost by asking it again.
pub(super) fn from_workspace(failure: Failure, id: &SandboxId) -> Error {
    Error::new(
        Code::LedgerUnavailable,
        format!("The workspace of {:?} could not be asked: {}", id.as_str(), failure.message),
        "Try again.",
    )
    .caused_by(failure)
}

/// The error for a call to an object of this Worker that could not be reached, or was cut off. `what` says which.
pub(crate) fn from_object(failure: Failure, what: &str) -> Error {
    if is_not_taken_on(&failure) {
        return busy(&format!("{what} has more calls than it can take: {}", failure.message)).caused_by(failure);
    }
    Error::new(
        Code::WorkspaceUnavailable,
        format!("{what} could not be reached: {}", failure.message),
        "Whether the operation was carried out is not known. Look before you try again.",
    )
    .caused_by(failure)
}

/// Whether the platform let a call not get to its object, since too many wait there. An object that was ended for what it
/// took in memory or time is `overloaded` too, and had begun.
fn is_not_taken_on(failure: &Failure) -> bool {
    failure.message.starts_with("Durable Object is overloaded")
}

/// Whether a sandbox itself said that it failed: then nothing goes on there. Otherwise the answer may only be lost.
pub(super) fn is_definite(failure: &Failure) -> bool {
    !failure.is_unexpected() && sdk_code(failure).is_some() && !code_of(failure, During::Backup).retryable()
}

fn code_of(failure: &Failure, during: During) -> Code {
    if failure.is_timed_out() {
        return Code::SandboxTimeout;
    }
    let otherwise = match during {
        During::Backup => Code::BackupFailed,
        During::Restore => Code::RestoreFailed,
        During::Checkpoint => Code::CheckpointFailed,
        During::Look | During::Destroy | During::Start | During::Hook => Code::SandboxFailed,
    };
    match sdk_code(failure) {
        Some("INVALID_BACKUP_CONFIG" | "VALIDATION_FAILED") => Code::BackupConfigInvalid,
        Some("BACKUP_NOT_FOUND") => Code::BackupNotFound,
        Some("BACKUP_EXPIRED") => Code::BackupExpired,
        Some("BACKUP_CREATE_FAILED") => Code::BackupFailed,
        Some("BACKUP_RESTORE_FAILED") => Code::RestoreFailed,
        Some("BACKUP_INTEGRITY") => Code::BackupIncomplete,
        Some("BACKUP_TRANSFER") => Code::StorageUnavailable,
        Some("OPERATION_INTERRUPTED" | "RPC_TRANSPORT_ERROR" | "SESSION_TERMINATED" | "SESSION_DESTROYED") => {
            Code::OperationInterrupted
        }
        Some("CONTAINER_UNAVAILABLE" | "SERVICE_NOT_RESPONDING" | "RESOURCE_BUSY") => Code::SandboxUnavailable,
        Some(_) if failure.http_status == Some(503) => Code::SandboxUnavailable,
        Some("INTERNAL_ERROR") | None if is_passing(failure) => Code::SandboxUnavailable,
        None if lacks_method(failure) => Code::SandboxUnsupported,
        _ => otherwise,
    }
}

/// The SDK's code for a failure, wherever it survived.
fn sdk_code(failure: &Failure) -> Option<&str> {
    if let Some(code) = failure.code.as_deref() {
        return Some(code);
    }
    let in_message = || {
        let (class, _) = failure.message.split_once(": ")?;
        code_of_class(class)
    };
    code_of_class(&failure.name).or_else(in_message)
}

/// The code of the SDK's error classes (0.12.10); one code stands for all that a class covers.
fn code_of_class(class: &str) -> Option<&'static str> {
    Some(match class {
        "InvalidBackupConfigError" => "INVALID_BACKUP_CONFIG",
        "BackupNotFoundError" => "BACKUP_NOT_FOUND",
        "BackupExpiredError" => "BACKUP_EXPIRED",
        "BackupCreateError" => "BACKUP_CREATE_FAILED",
        "BackupRestoreError" => "BACKUP_RESTORE_FAILED",
        "OperationInterruptedError" => "OPERATION_INTERRUPTED",
        "RPCTransportError" => "RPC_TRANSPORT_ERROR",
        "ContainerUnavailableError" => "CONTAINER_UNAVAILABLE",
        "ServiceNotRespondingError" => "SERVICE_NOT_RESPONDING",
        "SessionTerminatedError" => "SESSION_TERMINATED",
        "SessionDestroyedError" => "SESSION_DESTROYED",
        "SessionAlreadyExistsError" => "SESSION_ALREADY_EXISTS",
        "ValidationFailedError" => "VALIDATION_FAILED",
        "FileNotFoundError" => "FILE_NOT_FOUND",
        "FileExistsError" => "FILE_EXISTS",
        "FileTooLargeError" => "FILE_TOO_LARGE",
        "FileSystemError" => "FILESYSTEM_ERROR",
        "PermissionDeniedError" => "PERMISSION_DENIED",
        "CommandNotFoundError" => "COMMAND_NOT_FOUND",
        "CommandError" => "COMMAND_EXECUTION_ERROR",
        "ProcessNotFoundError" => "PROCESS_NOT_FOUND",
        "ProcessError" => "PROCESS_ERROR",
        "SandboxError" => "INTERNAL_ERROR",
        _ => return None,
    })
}

/// Failures of the platform that pass: resets, lost connections, no capacity.
fn is_passing(failure: &Failure) -> bool {
    const PASSING: [&str; 8] = [
        "network connection lost",
        "reset because its code was updated",
        "this script has been upgraded",
        "caused object to be reset",
        "no container instance",
        "container failed to start: ",
        "maximum number of running container instances exceeded",
        "durable object is overloaded",
    ];
    let message = failure.message.to_lowercase();
    failure.retryable || PASSING.iter().any(|text| message.contains(text))
}

fn lacks_method(failure: &Failure) -> bool {
    failure.message.contains("does not implement the method") || failure.message.contains("is not a function")
}

fn what(code: Code) -> &'static str {
    match code {
        Code::BackupConfigInvalid => "The sandbox refused the backup's options or its own configuration",
        Code::BackupNotFound => "The sandbox did not find the backup in R2",
        Code::BackupExpired => "The backup's time to live is over",
        Code::BackupIncomplete => "The backup in R2 is damaged",
        Code::StorageUnavailable => "R2 failed",
        Code::OperationInterrupted => "The sandbox was interrupted",
        Code::SandboxUnavailable => "The sandbox could not be reached",
        Code::SandboxTimeout => "The sandbox did not answer in time",
        Code::SandboxUnsupported => "The class of the sandbox lacks a method",
        _ => "The sandbox failed",
    }
}

fn remedy(code: Code) -> &'static str {
    match code {
        Code::BackupConfigInvalid => {
            "Look at the cause. The Worker that exports the sandbox's class needs the R2 binding BACKUP_BUCKET and, in production, \
             BACKUP_BUCKET_NAME, CLOUDFLARE_R2_ACCOUNT_ID, R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY; in development set LOCAL_BUCKET = \"true\" \
             on this Worker."
        }
        Code::BackupNotFound => {
            "It was deleted, or the sandbox's Worker is bound to another bucket than this one. If it was deleted, use another snapshot."
        }
        Code::SandboxTimeout => {
            "Whether the call had its effect is not known, and it may still have it. Try again later; look at the logs of the sandbox's \
             Worker if it stays."
        }
        Code::BackupExpired => "Use another snapshot; take snapshots with a longer ttl, or without one.",
        Code::BackupIncomplete => "Use another snapshot.",
        Code::SandboxUnsupported => {
            "The Durable Object behind the sandbox binding must be the Sandbox class of @cloudflare/sandbox 0.12.10, or one with its methods \
             configure, getState, execWithSessionToken, createBackup, restoreBackup and destroy."
        }
        Code::BackupFailed => {
            "Look at the cause: every file of the directory must be readable, and there must be room for the archive. Then try again."
        }
        Code::SandboxFailed | Code::CheckpointFailed => "Look at the cause and at the logs of the sandbox's Worker.",
        _ => "Try again.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(failure: Failure, during: During) -> Code {
        from_sandbox(failure, &SandboxId::parse("agent-42").unwrap(), during).code()
    }

    #[test]
    fn the_code_of_the_sdk_decides_where_properties_survive() {
        let failure = Failure::new("BackupNotFoundError", "gone").with_code("BACKUP_NOT_FOUND");
        assert_eq!(code(failure, During::Restore), Code::BackupNotFound);
    }

    #[test]
    fn the_class_name_decides_where_only_it_survives() {
        assert_eq!(code(Failure::new("BackupExpiredError", "over"), During::Restore), Code::BackupExpired);
    }

    #[test]
    fn the_message_decides_where_nothing_else_survives() {
        let failure = Failure::new("Error", "OperationInterruptedError: Backup restore was interrupted");
        assert_eq!(code(failure, During::Restore), Code::OperationInterrupted);
    }

    #[test]
    fn every_class_of_the_sdk_means_the_same_in_all_three_forms() {
        for (class, sdk) in CLASSES {
            let forms = [
                Failure::new(*class, "x").with_code(*sdk),
                Failure::new(*class, "x"),
                Failure::new("Error", &format!("{class}: x")),
            ];
            let [whole, named, folded] = forms.map(|failure| code(failure, During::Backup));
            assert_eq!((whole, whole), (named, folded), "{class}");
        }
    }

    const CLASSES: &[(&str, &str)] = &[
        ("InvalidBackupConfigError", "INVALID_BACKUP_CONFIG"),
        ("BackupNotFoundError", "BACKUP_NOT_FOUND"),
        ("BackupExpiredError", "BACKUP_EXPIRED"),
        ("BackupCreateError", "BACKUP_CREATE_FAILED"),
        ("BackupRestoreError", "BACKUP_RESTORE_FAILED"),
        ("OperationInterruptedError", "OPERATION_INTERRUPTED"),
        ("ContainerUnavailableError", "CONTAINER_UNAVAILABLE"),
        ("RPCTransportError", "RPC_TRANSPORT_ERROR"),
        ("SessionTerminatedError", "SESSION_TERMINATED"),
        ("FileNotFoundError", "FILE_NOT_FOUND"),
        ("PermissionDeniedError", "PERMISSION_DENIED"),
        ("SandboxError", "INTERNAL_ERROR"),
    ];

    #[test]
    fn a_call_that_an_overloaded_object_did_not_get_can_be_made_again() {
        for why in ["Requests queued for too long.", "Too many requests queued."] {
            let failure = Failure::new("Error", &format!("Durable Object is overloaded. {why}"));
            let error = from_object(failure.clone(), "The workspace");
            assert_eq!((error.code(), error.retryable(), error.cause()), (Code::SandboxBusy, true, Some(&failure)));
        }
    }

    #[test]
    fn what_became_of_a_call_to_an_object_that_was_cut_off_is_not_known() {
        for message in ["Network connection lost.", "Durable Object exceeded its memory limit and was reset."] {
            let mut failure = Failure::new("Error", message);
            failure.retryable = true;
            assert_eq!(from_object(failure, "The workspace").code(), Code::WorkspaceUnavailable);
        }
    }

    #[test]
    fn a_sandbox_that_is_starting_is_unavailable_for_now() {
        let mut failure = Failure::new("SandboxError", "Container is starting.").with_code("INTERNAL_ERROR");
        failure.http_status = Some(503);
        assert_eq!(code(failure, During::Look), Code::SandboxUnavailable);
    }

    #[test]
    fn a_call_that_was_not_answered_in_time_is_a_timeout_whatever_was_done() {
        let failure = || Failure::timed_out("the backup", std::time::Duration::from_mins(10));
        for during in [During::Look, During::Backup, During::Restore, During::Destroy, During::Start, During::Hook] {
            assert_eq!(code(failure(), during), Code::SandboxTimeout);
        }
        assert!(!is_definite(&failure()));
    }

    #[test]
    fn a_passing_failure_of_the_platform_is_unavailable_for_now() {
        assert_eq!(code(Failure::new("Error", "Network connection lost."), During::Backup), Code::SandboxUnavailable);
        let mut overloaded = Failure::new("Error", "busy");
        overloaded.retryable = true;
        assert_eq!(code(overloaded, During::Backup), Code::SandboxUnavailable);
    }

    #[test]
    fn a_container_that_did_not_start_this_time_is_unavailable_for_now() {
        let failure = Failure::new("SandboxError", "Container failed to start: it exited").with_code("INTERNAL_ERROR");
        assert_eq!(code(failure, During::Look), Code::SandboxUnavailable);
    }

    #[test]
    fn a_class_without_the_method_is_unsupported() {
        let failure = Failure::new("TypeError", "The RPC receiver does not implement the method \"createBackup\".");
        assert_eq!(code(failure, During::Backup), Code::SandboxUnsupported);
    }

    #[test]
    fn what_is_unknown_is_named_after_what_was_done() {
        let unknown = || Failure::new("Error", "boom");
        assert_eq!(code(unknown(), During::Backup), Code::BackupFailed);
        assert_eq!(code(unknown(), During::Restore), Code::RestoreFailed);
        assert_eq!(code(unknown(), During::Look), Code::SandboxFailed);
    }

    #[test]
    fn the_cause_is_kept() {
        let failure = Failure::new("BackupCreateError", "mksquashfs failed").with_code("BACKUP_CREATE_FAILED");
        let error = from_sandbox(failure.clone(), &SandboxId::parse("agent-42").unwrap(), During::Backup);
        assert_eq!(error.cause(), Some(&failure));
    }
}
