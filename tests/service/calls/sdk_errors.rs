//! The mapping of SDK errors to error codes, by class name where only the class survives.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, Failure};
use serde_json::json;

use crate::support::{Fixture, Method};

/// Returns the error of a snapshot whose every call of `method` fails with `failure`.
fn reported_error(method: Method, failure: Failure) -> Error {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(method).fail_with(failure);
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" })).expect_err("the snapshot fails")
}

#[test]
fn sdk_error_class_is_not_mistaken_for_platform_error_by_its_message() {
    for class in [
        "SessionAlreadyExistsError",
        "FileNotFoundError",
        "FileExistsError",
        "FileTooLargeError",
        "FileSystemError",
        "PermissionDeniedError",
        "CommandNotFoundError",
        "CommandError",
        "ProcessNotFoundError",
        "ProcessError",
        "SandboxError",
    ] {
        let named = Failure::new(class, "x is not a function");
        let folded = Failure::new("Error", &format!("{class}: x is not a function"));
        for failure in [named, folded] {
            assert_eq!(reported_error(Method::CreateBackup, failure).code(), Code::BackupFailed, "{class}");
        }
    }
    let unknown = Failure::new("TypeError", "x is not a function");
    assert_eq!(reported_error(Method::CreateBackup, unknown).code(), Code::SandboxUnsupported);
}

#[test]
fn each_sdk_error_has_message_and_remediation() {
    for (sdk, code, happened, to_do) in [
        (
            "VALIDATION_FAILED",
            Code::BackupConfigInvalid,
            "The sandbox rejected the backup's options",
            "needs the binding BACKUP_BUCKET in [[r2_buckets]]; the runtime `container` needs no more. ",
        ),
        ("BACKUP_NOT_FOUND", Code::BackupNotFound, "The sandbox did not find the backup", "the same bucket"),
        ("BACKUP_EXPIRED", Code::BackupExpired, "The backup has expired", "Use another snapshot."),
        ("BACKUP_INTEGRITY", Code::BackupIncomplete, "The backup in R2 is damaged", "Use another snapshot."),
        ("BACKUP_TRANSFER", Code::StorageUnavailable, "R2 failed", "Try again."),
        ("OPERATION_INTERRUPTED", Code::OperationInterrupted, "The sandbox was interrupted", "Try again."),
        ("RESOURCE_BUSY", Code::SandboxUnavailable, "The sandbox could not be reached", "Try again."),
        (
            "BACKUP_CREATE_FAILED",
            Code::BackupFailed,
            "The sandbox failed",
            "every file of the directory must be readable",
        ),
    ] {
        let error = reported_error(Method::Status, Failure::new("Error", "x").with_code(sdk));
        assert_eq!(error.code(), code);
        assert!(
            error.message().starts_with(happened) && error.remediation().contains(to_do),
            "{error}: {}",
            error.remediation()
        );
    }
    let error = reported_error(Method::Status, Failure::new("TypeError", "x is not a function"));
    assert!(error.message().starts_with("The class of the sandbox lacks a method"), "{error}");
    assert!(error.remediation().contains("createBackup"), "{}", error.remediation());
}

#[test]
fn unknown_error_refers_to_the_sandbox_workers_logs() {
    let error = reported_error(Method::Status, Failure::new("Error", "boom"));
    assert_eq!(error.code(), Code::SandboxFailed);
    assert!(error.message().starts_with("The sandbox failed while probing"), "{error}");
    assert!(error.remediation().contains("logs of the sandbox's Worker"), "{}", error.remediation());
}
