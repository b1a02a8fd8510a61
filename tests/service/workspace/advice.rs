//! The remediations of errors about the container of a workspace: each one is a call that works.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, Failure};
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, MINUTE, Method, WORKSPACE};

/// Operations in the container of a sandbox, with their options.
fn operations() -> [(Operation, Value); 5] {
    [
        (Operation::Snapshot, json!({})),
        (Operation::ListCheckpoints, json!({})),
        (Operation::RestoreCheckpoint, json!({ "name": "before" })),
        (Operation::Exec, json!({ "command": "ls" })),
        (Operation::StatFile, json!({ "path": "notes.txt" })),
    ]
}

/// Runs an operation on the sandbox of the workspace, by its id.
fn run(fixture: &Fixture, operation: Operation, options: &Value) -> Error {
    let mut arguments = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) });
    arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    fixture.run(operation, &arguments).unwrap_err()
}

/// Verifies that the remediation of an error is to start the workspace.
#[track_caller]
fn assert_advises_start(error: &Error, of: &str) {
    let remediation = error.remediation();
    assert!(remediation.contains("tart the workspace \"work\""), "{of}: {error}: {remediation}");
    for other in ["evive", "adopt", "new sandbox", "wake", "Try again when it is running"] {
        assert!(!remediation.contains(other), "{of}: {error}: {remediation}");
    }
}

/// The active workspace `work` without a snapshot, whose container has ended.
fn without_files() -> Fixture {
    let fixture = Fixture::with_workspace();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.world.advance_clock(MINUTE);
    fixture
}

#[test]
fn replaced_container_of_a_workspace_advises_its_start() {
    for (operation, options) in operations() {
        let fixture = Fixture::with_stopped_workspace();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
        let error = run(&fixture, operation, &options);
        assert_eq!(error.code(), Code::SandboxReplaced, "{operation:?}");
        assert_advises_start(&error, operation.name());
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    }
}

#[test]
fn ended_container_of_a_workspace_advises_its_start() {
    for (operation, options) in operations() {
        let fixture = Fixture::with_stopped_workspace();
        let error = run(&fixture, operation, &options);
        assert_eq!(error.code(), Code::SandboxNotRunning, "{operation:?}");
        assert_advises_start(&error, operation.name());
    }
}

#[test]
fn replaced_container_of_another_sandbox_is_revived_or_adopted() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.world.replace_container("agent-42");
    let error = fixture.snapshot().expect_code(Code::SandboxReplaced);
    assert!(error.remediation().contains("Revive") && error.remediation().contains("adopt"), "{error:?}");
}

#[test]
fn workspace_whose_start_failed_advises_another_start() {
    for (operation, options) in operations() {
        let fixture = Fixture::with_stopped_workspace();
        fixture.world.before(Method::RestoreBackup).fail_with(Failure::new("E", "no room"));
        assert!(fixture.start_workspace(WORKSPACE, &json!({})).is_err());
        let error = run(&fixture, operation, &options);
        assert_advises_start(&error, operation.name());
        fixture.world.clear_faults();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    }
}

#[test]
fn failed_workspace_without_a_snapshot_advises_a_start_which_says_how_to_begin_empty() {
    for (operation, options) in operations() {
        let fixture = without_files();
        let refused = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
        assert!(refused.remediation().contains("`allowEmpty: true`"), "{}", refused.remediation());
        assert_eq!(fixture.state(WORKSPACE), "failed");
        assert_advises_start(&run(&fixture, operation, &options), operation.name());
        fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
    }
}

#[test]
fn capture_after_a_start_that_failed_is_not_to_be_repeated() {
    let fixture = without_files();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
    let error = run(&fixture, Operation::Snapshot, &json!({}));
    assert_eq!((error.code(), error.is_retryable()), (Code::SandboxNotRunning, false));
    assert!(error.remediation().contains("`allowEmpty: true`"), "{}", error.remediation());
}

#[test]
fn capture_after_a_revive_that_failed_is_not_to_be_repeated() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.world.end_container("agent-42");
    fixture.world.before(Method::RestoreBackup).fail_with(Failure::new("BackupRestoreError", "no room"));
    fixture.run(Operation::Revive, &json!({ "sandboxId": "agent-42" })).expect_code(Code::RestoreFailed);
    let error = fixture.snapshot().expect_code(Code::SandboxNotRunning);
    assert!(!error.is_retryable() && error.remediation().contains("Revive the sandbox"), "{error:?}");
}

#[test]
fn fork_of_a_workspace_that_lost_its_files_advises_an_empty_start() {
    let fixture = without_files();
    let fork = || fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" }));
    let error = fork().expect_code(Code::NothingRestorable);
    assert!(error.remediation().contains("`allowEmpty: true`"), "{}", error.remediation());
    fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
    fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), FILE, "new");
    fork().unwrap();
}

#[test]
fn fork_that_would_replace_its_source_takes_no_snapshot() {
    let fixture = Fixture::with_workspace();
    let error = fixture.fork_workspace(WORKSPACE, &json!({ "newName": WORKSPACE })).expect_code(Code::NameTaken);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0, "{error}");
    assert!(fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)).is_empty());
}
