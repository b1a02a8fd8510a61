//! How the service maps errors of the SDK to its own error codes.

use sandbox_snapshotter::model::{Code, Error, Failure};

use crate::support::{ExpectError, Fixture, HOUR, MINUTE, Method};

/// Every error class of the SDK with its code, the expected code for a backup, and the expected code for a restore.
const ERROR_CLASSES: &[(&str, &str, Code, Code)] = &[
    ("InvalidBackupConfigError", "INVALID_BACKUP_CONFIG", Code::BackupConfigInvalid, Code::BackupConfigInvalid),
    ("ValidationFailedError", "VALIDATION_FAILED", Code::BackupConfigInvalid, Code::BackupConfigInvalid),
    ("BackupNotFoundError", "BACKUP_NOT_FOUND", Code::BackupNotFound, Code::BackupNotFound),
    ("BackupExpiredError", "BACKUP_EXPIRED", Code::BackupExpired, Code::BackupExpired),
    ("BackupCreateError", "BACKUP_CREATE_FAILED", Code::BackupFailed, Code::BackupFailed),
    ("BackupRestoreError", "BACKUP_RESTORE_FAILED", Code::BackupInterrupted, Code::RestoreFailed),
    ("OperationInterruptedError", "OPERATION_INTERRUPTED", Code::BackupInterrupted, Code::OperationInterrupted),
    ("RPCTransportError", "RPC_TRANSPORT_ERROR", Code::BackupInterrupted, Code::OperationInterrupted),
    ("SessionTerminatedError", "SESSION_TERMINATED", Code::BackupInterrupted, Code::OperationInterrupted),
    ("SessionDestroyedError", "SESSION_DESTROYED", Code::BackupInterrupted, Code::OperationInterrupted),
    ("ContainerUnavailableError", "CONTAINER_UNAVAILABLE", Code::BackupInterrupted, Code::SandboxUnavailable),
    ("ServiceNotRespondingError", "SERVICE_NOT_RESPONDING", Code::BackupInterrupted, Code::SandboxUnavailable),
    ("FileNotFoundError", "FILE_NOT_FOUND", Code::BackupFailed, Code::RestoreFailed),
    ("PermissionDeniedError", "PERMISSION_DENIED", Code::BackupFailed, Code::RestoreFailed),
    ("SandboxError", "INTERNAL_ERROR", Code::BackupFailed, Code::RestoreFailed),
];

/// Error codes that SDK 1.0 adds, which have no classes.
const ERROR_CODES: &[(&str, Code)] =
    &[("BACKUP_INTEGRITY", Code::BackupIncomplete), ("BACKUP_TRANSFER", Code::StorageUnavailable)];

fn snapshot_error(failure: Failure) -> Error {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).fail_with(failure);
    let error = fixture.snapshot().expect_err("createBackup failed");
    fixture.assert_nothing_stored();
    error
}

fn restore_error(failure: Failure) -> Error {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).fail_with(failure);
    let error = fixture.restore(&snapshot).expect_err("restoreBackup failed");
    fixture.assert_no_minted_sandbox_runs();
    error
}

#[test]
fn every_sdk_error_class_maps_to_a_code_when_backup_fails() {
    for (class, code, backup, _) in ERROR_CLASSES {
        let error = snapshot_error(Failure::new(*class, "it says why").with_code(*code));
        assert_eq!(error.code(), *backup, "{class}");
    }
}

#[test]
fn every_sdk_error_class_maps_to_a_code_when_restore_fails() {
    for (class, code, _, restore) in ERROR_CLASSES {
        let error = restore_error(Failure::new(*class, "it says why").with_code(*code));
        assert_eq!(error.code(), *restore, "{class}");
    }
}

#[test]
fn every_sdk_error_class_is_recognized_from_the_message_alone() {
    for (class, _, backup, _) in ERROR_CLASSES {
        let error = snapshot_error(Failure::new("Error", &format!("{class}: it says why")));
        assert_eq!(error.code(), *backup, "{class}");
    }
}

#[test]
fn sdk_codes_without_class_are_recognized() {
    for (code, expected) in ERROR_CODES {
        assert_eq!(restore_error(Failure::new("Error", "it says why").with_code(*code)).code(), *expected, "{code}");
    }
}

#[test]
fn sdk_error_is_kept_as_cause_and_quoted_in_message() {
    let failure = Failure::new("BackupCreateError", "mksquashfs: no space").with_code("BACKUP_CREATE_FAILED");
    let error = snapshot_error(failure.clone());
    assert_eq!(error.cause(), Some(&failure));
    assert!(error.message().contains("mksquashfs: no space") && error.message().contains("agent-42"), "{error}");
}

#[test]
fn unknown_failure_is_reported_as_failure_of_the_operation() {
    let unknown = || Failure::new("Error", "boom");
    assert_eq!(snapshot_error(unknown()).code(), Code::BackupFailed);
    assert_eq!(restore_error(unknown()).code(), Code::RestoreFailed);
}

#[test]
fn class_without_the_method_is_unsupported() {
    let missing_method =
        || Failure::new("TypeError", "The RPC receiver does not implement the method \"createBackup\".");
    assert_eq!(snapshot_error(missing_method()).code(), Code::SandboxUnsupported);
}

fn interrupted() -> Failure {
    Failure::new("OperationInterruptedError", "The container went away").with_code("OPERATION_INTERRUPTED")
}

#[test]
fn interrupted_backup_is_not_retryable() {
    let error = snapshot_error(interrupted());
    assert_eq!(error.code(), Code::BackupInterrupted);
    assert!(!error.is_retryable());
    assert_eq!(error.cause(), Some(&interrupted()));
}

#[test]
fn interrupted_backup_is_reported_as_replaced_when_container_ended() {
    for event in ["it stops", "it is replaced"] {
        let fixture = Fixture::with_sandbox();
        fixture.world.before(Method::CreateBackup).run(move |world| match event {
            "it stops" => world.end_container("agent-42"),
            _ => world.replace_container("agent-42"),
        });
        fixture.world.before(Method::CreateBackup).fail_with(interrupted());
        let error = fixture.snapshot().expect_code(Code::SandboxReplaced);
        assert!(!error.is_retryable(), "{event}");
        assert_eq!(error.cause(), Some(&interrupted()), "{event}");
        fixture.assert_nothing_stored();
    }
}

#[test]
fn container_that_replaced_an_interrupted_one_stays_refused() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    fixture.world.before(Method::CreateBackup).fail_with(interrupted());
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.world.clear_faults();
    fixture.world.advance_clock(2 * MINUTE);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn interrupted_backup_is_reported_as_interrupted_when_status_is_unknown() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).fail_with(interrupted());
    fixture.world.before(Method::Status).nth(3).fail_transiently();
    fixture.snapshot().expect_code(Code::BackupInterrupted);
}

#[test]
fn failed_backup_probes_the_container() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no"));
    fixture.snapshot().expect_code(Code::BackupFailed);
    assert_eq!(
        fixture.world.calls_about("agent-42"),
        [
            Method::Status,
            Method::UpdateMarker,
            Method::WatchChanges,
            Method::CreateBackup,
            Method::Status,
            Method::Probe
        ]
    );
}

#[test]
fn failed_backup_is_not_retried() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).nth(1).fail_transiently();
    fixture.snapshot().expect_code(Code::BackupInterrupted);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 1);
}

#[test]
fn lost_answer_is_reported_as_unknown_whether_backup_was_stored() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).fail_transiently();
    let error = fixture.snapshot().expect_code(Code::BackupInterrupted);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    let remediation = error.remediation();
    assert!(remediation.contains("The outcome is unknown"), "{remediation}");
}

#[test]
fn unknown_code_with_status_503_is_reported_as_unavailable() {
    let mut failure = Failure::new("Error", "later").with_code("SOMETHING_NEW");
    assert_eq!(restore_error(failure.clone()).code(), Code::RestoreFailed);
    failure.http_status = Some(503);
    assert_eq!(restore_error(failure).code(), Code::SandboxUnavailable);
}

#[test]
fn backup_stored_despite_unknown_failure_is_deleted() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).fail_with(Failure::new("Error", "An unknown failure."));
    fixture.snapshot().expect_code(Code::BackupFailed);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
}

#[test]
fn lost_answer_is_reported_when_status_check_fails_afterwards() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).fail_transiently();
    fixture.world.before(Method::Status).nth(2).fail_transiently();
    fixture.snapshot().expect_code(Code::BackupInterrupted);
}
