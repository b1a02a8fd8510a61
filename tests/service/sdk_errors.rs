//! What the SDK's errors are told as, by their class where nothing else of them survives.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, Failure};
use serde_json::json;

use super::support::{Method, Stage};

/// What a caller is told when this call of a snapshot fails like this, each time that it is made.
fn told(method: Method, failure: Failure) -> Error {
    let stage = Stage::with_sandbox();
    stage.world.before(method).fails_with(failure);
    stage.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" })).expect_err("it fails")
}

#[test]
fn an_error_of_the_sdks_own_is_none_of_the_platform_whatever_its_message_resembles() {
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
            assert_eq!(told(Method::CreateBackup, failure).code(), Code::BackupFailed, "{class}");
        }
    }
    let unknown = Failure::new("TypeError", "x is not a function");
    assert_eq!(told(Method::CreateBackup, unknown).code(), Code::SandboxUnsupported);
}

#[test]
fn each_says_what_happened_and_what_to_do() {
    for (sdk, code, happened, to_do) in [
        ("VALIDATION_FAILED", Code::BackupConfigInvalid, "The sandbox refused the backup's options", "BACKUP_BUCKET"),
        ("BACKUP_NOT_FOUND", Code::BackupNotFound, "The sandbox did not find the backup", "another bucket"),
        ("BACKUP_EXPIRED", Code::BackupExpired, "The backup's time to live is over", "longer ttl"),
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
        let error = told(Method::State, Failure::new("Error", "x").with_code(sdk));
        assert_eq!(error.code(), code);
        assert!(
            error.message().starts_with(happened) && error.remediation().contains(to_do),
            "{error}: {}",
            error.remediation()
        );
    }
    let error = told(Method::State, Failure::new("TypeError", "x is not a function"));
    assert!(error.message().starts_with("The class of the sandbox lacks a method"), "{error}");
    assert!(error.remediation().contains("createBackup"), "{}", error.remediation());
}

#[test]
fn what_is_unknown_is_told_with_where_to_look() {
    let error = told(Method::State, Failure::new("Error", "boom"));
    assert_eq!(error.code(), Code::SandboxFailed);
    assert!(error.message().starts_with("The sandbox failed while looking at"), "{error}");
    assert!(error.remediation().contains("logs of the sandbox's Worker"), "{}", error.remediation());
}
