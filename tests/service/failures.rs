//! What the SDK throws, as the service tells it.

use sandbox_snapshotter::model::{Code, Error, Failure};

use super::support::{Checked, HOUR, MINUTE, Method, Stage};

/// Every class of the SDK's errors with its code: what it means for a backup, and for a restore.
const CLASSES: &[(&str, &str, Code, Code)] = &[
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

/// Codes that 1.0 adds, whose errors have no classes.
const CODES: &[(&str, Code)] =
    &[("BACKUP_INTEGRITY", Code::BackupIncomplete), ("BACKUP_TRANSFER", Code::StorageUnavailable)];

fn failing_snapshot(failure: Failure) -> Error {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).fails_with(failure);
    let error = stage.snapshot().expect_err("createBackup failed");
    stage.assert_nothing_stored();
    error
}

fn failing_restore(failure: Failure) -> Error {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_with(failure);
    let error = stage.restore(&snapshot).expect_err("restoreBackup failed");
    stage.assert_no_minted_sandbox_runs();
    error
}

#[test]
fn every_class_of_the_sdk_has_a_code_of_ours_when_a_backup_fails() {
    for (class, code, backup, _) in CLASSES {
        let error = failing_snapshot(Failure::new(*class, "it says why").with_code(*code));
        assert_eq!(error.code(), *backup, "{class}");
    }
}

#[test]
fn every_class_of_the_sdk_has_a_code_of_ours_when_a_restore_fails() {
    for (class, code, _, restore) in CLASSES {
        let error = failing_restore(Failure::new(*class, "it says why").with_code(*code));
        assert_eq!(error.code(), *restore, "{class}");
    }
}

#[test]
fn every_class_of_the_sdk_is_known_when_only_the_message_survives() {
    for (class, _, backup, _) in CLASSES {
        let error = failing_snapshot(Failure::new("Error", &format!("{class}: it says why")));
        assert_eq!(error.code(), *backup, "{class}");
    }
}

#[test]
fn codes_without_a_class_are_known_too() {
    for (code, ours) in CODES {
        assert_eq!(failing_restore(Failure::new("Error", "it says why").with_code(*code)).code(), *ours, "{code}");
    }
}

#[test]
fn what_the_sdk_threw_is_kept_as_the_cause_and_told_in_the_message() {
    let failure = Failure::new("BackupCreateError", "mksquashfs: no space").with_code("BACKUP_CREATE_FAILED");
    let error = failing_snapshot(failure.clone());
    assert_eq!(error.cause(), Some(&failure));
    assert!(error.message().contains("mksquashfs: no space") && error.message().contains("agent-42"), "{error}");
}

#[test]
fn a_failure_nobody_knows_is_told_as_what_was_being_done() {
    let unknown = || Failure::new("Error", "boom");
    assert_eq!(failing_snapshot(unknown()).code(), Code::BackupFailed);
    assert_eq!(failing_restore(unknown()).code(), Code::RestoreFailed);
}

#[test]
fn a_class_without_the_method_is_unsupported() {
    let lacks = || Failure::new("TypeError", "The RPC receiver does not implement the method \"createBackup\".");
    assert_eq!(failing_snapshot(lacks()).code(), Code::SandboxUnsupported);
}

fn interrupted() -> Failure {
    Failure::new("OperationInterruptedError", "The container went away").with_code("OPERATION_INTERRUPTED")
}

#[test]
fn an_interrupted_backup_is_not_to_be_tried_again_before_somebody_looked() {
    let error = failing_snapshot(interrupted());
    assert_eq!(error.code(), Code::BackupInterrupted);
    assert!(!error.retryable());
    assert_eq!(error.cause(), Some(&interrupted()));
}

#[test]
fn an_interrupted_backup_of_a_container_that_died_is_told_as_a_replacement() {
    for event in ["it stops", "it is replaced"] {
        let stage = Stage::with_sandbox();
        stage.world.before(Method::CreateBackup).happens(move |world| match event {
            "it stops" => world.stops("agent-42"),
            _ => world.is_replaced("agent-42"),
        });
        stage.world.before(Method::CreateBackup).fails_with(interrupted());
        let error = stage.snapshot().fails_as(Code::SandboxReplaced);
        assert!(!error.retryable(), "{event}");
        assert_eq!(error.cause(), Some(&interrupted()), "{event}");
        stage.assert_nothing_stored();
    }
}

#[test]
fn a_container_that_took_the_place_of_an_interrupted_one_is_refused_from_then_on() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    stage.world.before(Method::CreateBackup).fails_with(interrupted());
    stage.snapshot().fails_as(Code::SandboxReplaced);
    stage.world.goes_well();
    stage.world.pass(2 * MINUTE);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn an_interrupted_backup_is_told_as_such_when_the_container_cannot_be_looked_at() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).fails_with(interrupted());
    stage.world.before(Method::State).nth(3).fails_in_passing();
    stage.snapshot().fails_as(Code::BackupInterrupted);
}

#[test]
fn the_container_of_a_backup_that_failed_is_looked_into() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).fails_with(Failure::new("BackupCreateError", "no"));
    stage.snapshot().fails_as(Code::BackupFailed);
    assert_eq!(
        stage.world.calls_about("agent-42"),
        [Method::State, Method::Stamp, Method::CreateBackup, Method::State, Method::Probe]
    );
}

#[test]
fn a_failed_backup_is_not_made_again_by_itself() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).nth(1).fails_in_passing();
    stage.snapshot().fails_as(Code::BackupInterrupted);
    assert_eq!(stage.world.count(Method::CreateBackup), 1);
}

#[test]
fn after_a_lost_answer_it_is_not_said_that_nothing_was_stored() {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).fails_in_passing();
    let error = stage.snapshot().fails_as(Code::BackupInterrupted);
    assert_eq!(stage.world.stored().len(), 1);
    let remediation = error.remediation();
    assert!(remediation.contains("Whether a backup was stored is not known"), "{remediation}");
}

#[test]
fn a_code_that_is_not_known_passes_where_the_sandbox_says_that_it_is_not_available() {
    let mut failure = Failure::new("Error", "later").with_code("SOMETHING_NEW");
    assert_eq!(failing_restore(failure.clone()).code(), Code::RestoreFailed);
    failure.http_status = Some(503);
    assert_eq!(failing_restore(failure).code(), Code::SandboxUnavailable);
}

#[test]
fn a_backup_that_comes_after_a_failure_of_which_nothing_is_known_is_removed() {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).fails_with(Failure::new("Error", "Nobody knows."));
    stage.snapshot().fails_as(Code::BackupFailed);
    assert_eq!(stage.world.stored().len(), 1);
    stage.passes(HOUR);
    stage.assert_nothing_stored();
}

#[test]
fn a_lost_answer_is_told_also_when_the_sandbox_cannot_be_looked_at_afterwards() {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).fails_in_passing();
    stage.world.before(Method::State).nth(2).fails_in_passing();
    stage.snapshot().fails_as(Code::BackupInterrupted);
}
