//! Maps failures of the SDK and the platform to error codes of this product.
//!
//! Between Workers of an older compatibility date an error loses its properties, and its class name moves into its
//! message. So the SDK's code is read from the property `code`, then from the class name, then from the message.

use crate::model::{Code, Error, Failure, SandboxId};

/// The step in which a sandbox failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum During {
    /// A read of its status, or a probe.
    Probe,
    /// `createBackup`.
    Backup,
    /// `restoreBackup`.
    Restore,
    /// `destroy`.
    Destroy,
    /// The start of a sandbox for a caller.
    Start,
    /// A command that runs in it.
    Hook,
    /// An operation on its checkpoints.
    Checkpoint,
    /// A read or a write of files.
    Files,
    /// A command of a caller.
    Exec,
}

/// Returns the error for a failure of a sandbox.
pub(crate) fn from_sandbox(failure: Failure, id: &SandboxId, during: During) -> Error {
    if sdk_code(&failure) == Some("CONTAINER_REPLACED") {
        let error = match during {
            // The container that the restore began in has nothing to lose.
            During::Restore => Error::another_container(id),
            _ => Error::container_replaced(id, "was replaced"),
        };
        return error.caused_by(failure);
    }
    let code = code_of(&failure, during);
    let doing = match during {
        During::Probe => "probing",
        During::Backup => "backing up",
        During::Restore => "restoring into",
        During::Destroy => "destroying",
        During::Start => "starting",
        During::Hook => "running a hook in",
        During::Checkpoint => "running a checkpoint call in",
        During::Files => "reading or writing files in",
        During::Exec => "running a command in",
    };
    if sdk_code(&failure) == Some("TOOL_MISSING") {
        return Error::tool_missing(doing, id, failure);
    }
    let error = Error::sandbox_failed(code, doing, id, failure);
    if (code, during) == (Code::SandboxTimeout, During::Probe) {
        return error.with_remediation(
            "The container may be under load. Try again. If the error persists, check the logs of the sandbox's Worker.",
        );
    }
    error
}

/// Returns the error for a failure of R2, which is never a definite answer, or for an object in R2 that can't be read.
pub(crate) fn from_storage(failure: Failure, doing: &str) -> Error {
    if failure.is_protocol() {
        return Error::stored_object_unreadable(doing, failure);
    }
    Error::storage_unavailable(doing, failure)
}

/// Returns the error for a call to an object of this Worker that did not arrive there, or was cut off. `what` names the
/// object.
pub(crate) fn from_object(failure: Failure, what: &str) -> Error {
    if is_undelivered(&failure) {
        return Error::busy(&format!("{what} has too many pending calls: {}", failure.message)).caused_by(failure);
    }
    Error::object_unavailable(what, failure)
}

/// Returns whether the platform rejected a call before it arrived at its object, because too many calls wait there. The
/// flag `overloaded` does not show that: the platform also sets it when it ends an object for its use of memory or
/// time, and such a call had begun.
fn is_undelivered(failure: &Failure) -> bool {
    failure.message.starts_with("Durable Object is overloaded")
}

/// Returns whether the sandbox itself reported the failure: then the call has ended there. Otherwise only the answer
/// may be lost.
pub(in crate::service) fn is_reported_by_sandbox(failure: &Failure) -> bool {
    !failure.is_protocol() && sdk_code(failure).is_some() && !code_of(failure, During::Backup).is_retryable()
}

/// Returns whether the sandbox reported that a start has failed: no container runs.
pub(in crate::service) fn is_failed_start(failure: &Failure) -> bool {
    is_reported_by_sandbox(failure) || sdk_code(failure) == Some("CONTAINER_UNAVAILABLE")
}

fn code_of(failure: &Failure, during: During) -> Code {
    // A backup or a restore that the class for containers ended has a known outcome.
    let is_ended_command = sdk_code(failure) == Some("COMMAND_TIMEOUT");
    if failure.is_timed_out() || (is_ended_command && !matches!(during, During::Backup | During::Restore)) {
        return Code::SandboxTimeout;
    }
    let fallback = match during {
        During::Backup => Code::BackupFailed,
        During::Restore => Code::RestoreFailed,
        During::Checkpoint => Code::CheckpointFailed,
        During::Probe | During::Destroy | During::Start | During::Hook | During::Files | During::Exec => {
            Code::SandboxFailed
        }
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
        Some("INTERNAL_ERROR") | None if is_transient(failure) => Code::SandboxUnavailable,
        Some("TOOL_MISSING") => Code::SandboxUnsupported,
        Some("CONTAINER_REPLACED") => Code::SandboxReplaced,
        None if lacks_method(failure) => Code::SandboxUnsupported,
        _ => fallback,
    }
}

/// Returns the SDK's code for a failure, from the code, the class name or the message.
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

/// Returns the code of one of the SDK's error classes (0.12.10). A class that covers several codes maps to one of them.
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
        // Those of the class of the client, which the SDK does not have.
        "BackupIntegrityError" => "BACKUP_INTEGRITY",
        "BackupTransferError" => "BACKUP_TRANSFER",
        "CommandTimeoutError" => "COMMAND_TIMEOUT",
        "ContainerReplacedError" => "CONTAINER_REPLACED",
        "ToolMissingError" => "TOOL_MISSING",
        "NoSpaceError" => "NO_SPACE",
        _ => return None,
    })
}

/// Returns whether a failure of the platform is transient: a reset, a lost connection, no capacity.
fn is_transient(failure: &Failure) -> bool {
    const TRANSIENT: [&str; 8] = [
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
    failure.retryable || TRANSIENT.iter().any(|text| message.contains(text))
}

fn lacks_method(failure: &Failure) -> bool {
    failure.message.contains("does not implement the method") || failure.message.contains("is not a function")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(failure: Failure, during: During) -> Code {
        from_sandbox(failure, &SandboxId::parse("agent-42").unwrap(), during).code()
    }

    #[test]
    fn sdk_code_decides_when_properties_survive() {
        let failure = Failure::new("BackupNotFoundError", "no such backup").with_code("BACKUP_NOT_FOUND");
        assert_eq!(code(failure, During::Restore), Code::BackupNotFound);
    }

    #[test]
    fn class_name_decides_when_code_is_lost() {
        assert_eq!(code(Failure::new("BackupExpiredError", "expired"), During::Restore), Code::BackupExpired);
    }

    #[test]
    fn message_decides_when_code_and_class_name_are_lost() {
        let failure = Failure::new("Error", "OperationInterruptedError: Backup restore was interrupted");
        assert_eq!(code(failure, During::Restore), Code::OperationInterrupted);
    }

    #[test]
    fn sdk_class_maps_to_same_code_in_all_three_forms() {
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
        ("CommandTimeoutError", "COMMAND_TIMEOUT"),
        ("ContainerReplacedError", "CONTAINER_REPLACED"),
        ("ToolMissingError", "TOOL_MISSING"),
    ];

    #[test]
    fn replaced_container_interrupts_a_restore_and_refuses_a_capture() {
        let failure = Failure::new("ContainerReplacedError", "ended").with_code("CONTAINER_REPLACED");
        assert_eq!(code(failure.clone(), During::Restore), Code::OperationInterrupted);
        assert_eq!(code(failure, During::Backup), Code::SandboxReplaced);
    }

    #[test]
    fn undelivered_call_to_overloaded_object_is_retryable() {
        for why in ["Requests queued for too long.", "Too many requests queued."] {
            let failure = Failure::new("Error", &format!("Durable Object is overloaded. {why}"));
            let error = from_object(failure.clone(), "The workspace");
            assert_eq!((error.code(), error.is_retryable(), error.cause()), (Code::SandboxBusy, true, Some(&failure)));
        }
    }

    #[test]
    fn workspace_failure_is_not_retryable_when_ledger_is_unreadable() {
        let id = SandboxId::parse("agent-42").unwrap();
        for (name, code, retryable) in [
            ("LEDGER_CORRUPT", Code::LedgerCorrupt, false),
            ("LEDGER_TOO_NEW", Code::LedgerTooNew, false),
            ("LEDGER_UNAVAILABLE", Code::LedgerUnavailable, true),
            ("Error", Code::LedgerUnavailable, true),
        ] {
            let error = Error::other_ledger_failed(&id, Failure::new(name, "boom"));
            assert_eq!((error.code(), error.is_retryable()), (code, retryable));
        }
    }

    #[test]
    fn interrupted_object_call_has_unknown_outcome() {
        for message in ["Network connection lost.", "Durable Object exceeded its memory limit and was reset."] {
            let mut failure = Failure::new("Error", message);
            failure.retryable = true;
            assert_eq!(from_object(failure, "The workspace").code(), Code::WorkspaceUnavailable);
        }
    }

    #[test]
    fn starting_sandbox_is_unavailable() {
        let mut failure = Failure::new("SandboxError", "Container is starting.").with_code("INTERNAL_ERROR");
        failure.http_status = Some(503);
        assert_eq!(code(failure, During::Probe), Code::SandboxUnavailable);
    }

    #[test]
    fn unanswered_call_is_timeout_in_every_step() {
        let failure = || Failure::timed_out("the backup", std::time::Duration::from_mins(10));
        for during in [During::Probe, During::Backup, During::Restore, During::Destroy, During::Start, During::Hook] {
            assert_eq!(code(failure(), during), Code::SandboxTimeout);
        }
        assert!(!is_reported_by_sandbox(&failure()));
    }

    #[test]
    fn command_that_the_class_ended_is_a_timeout_except_in_a_backup_or_a_restore() {
        let failure = || Failure::new("CommandTimeoutError", "It did not end.").with_code("COMMAND_TIMEOUT");
        for during in [During::Probe, During::Start, During::Hook, During::Checkpoint, During::Files, During::Exec] {
            assert_eq!(code(failure(), during), Code::SandboxTimeout);
        }
        assert_eq!(code(failure(), During::Backup), Code::BackupFailed);
        assert_eq!(code(failure(), During::Restore), Code::RestoreFailed);
        assert!(is_reported_by_sandbox(&failure()), "no backup will be stored");
    }

    #[test]
    fn transient_platform_failure_is_unavailable() {
        assert_eq!(code(Failure::new("Error", "Network connection lost."), During::Backup), Code::SandboxUnavailable);
        let mut overloaded = Failure::new("Error", "busy");
        overloaded.retryable = true;
        assert_eq!(code(overloaded, During::Backup), Code::SandboxUnavailable);
    }

    #[test]
    fn container_start_failure_is_unavailable() {
        let failure = Failure::new("SandboxError", "Container failed to start: it exited").with_code("INTERNAL_ERROR");
        assert_eq!(code(failure, During::Probe), Code::SandboxUnavailable);
    }

    #[test]
    fn class_without_method_is_unsupported() {
        let failure = Failure::new("TypeError", "The RPC receiver does not implement the method \"createBackup\".");
        assert_eq!(code(failure, During::Backup), Code::SandboxUnsupported);
    }

    #[test]
    fn missing_tool_is_named_with_a_remediation() {
        let failure =
            Failure::new("ToolMissingError", "The image has no unsquashfs. Install squashfs-tools in the image.");
        let error = from_sandbox(failure.clone(), &SandboxId::parse("agent-42").unwrap(), During::Restore);
        assert_eq!((error.code(), is_reported_by_sandbox(&failure)), (Code::SandboxUnsupported, true));
        assert!(error.message().ends_with("Install squashfs-tools in the image."), "{}", error.message());
        assert!(error.remediation().contains("image"), "{}", error.remediation());
    }

    #[test]
    fn unknown_failure_gets_code_of_its_step() {
        let unknown = || Failure::new("Error", "boom");
        assert_eq!(code(unknown(), During::Backup), Code::BackupFailed);
        assert_eq!(code(unknown(), During::Restore), Code::RestoreFailed);
        assert_eq!(code(unknown(), During::Probe), Code::SandboxFailed);
    }

    #[test]
    fn error_keeps_its_cause() {
        let failure = Failure::new("BackupCreateError", "mksquashfs failed").with_code("BACKUP_CREATE_FAILED");
        let error = from_sandbox(failure.clone(), &SandboxId::parse("agent-42").unwrap(), During::Backup);
        assert_eq!(error.cause(), Some(&failure));
    }
}
