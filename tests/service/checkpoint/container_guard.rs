//! Checkpoint operations run only in the container that the caller means.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Runtime};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::{OPERATIONS, checkpoint_args};
use crate::support::{ExpectError, FILE, Fixture, Method, WORKSPACE, World, workspace_args};

/// Runs every operation on a sandbox with a checkpoint, after `plan`. Verifies that each operation is refused, and that
/// the replacement container is unchanged.
fn assert_refused_when(plan: impl Fn(&World)) {
    for operation in OPERATIONS {
        let fixture = Fixture::with_checkpoint();
        plan(&fixture.world);
        let error = fixture.checkpoint(operation).expect_code(Code::SandboxReplaced);
        assert!(!error.remediation().contains("wake"), "{}", error.remediation());
        assert_eq!(fixture.world.checkpoint_count("agent-42"), 0, "{operation:?}");
        assert!(fixture.world.has_replaced_note("agent-42"), "{operation:?}");
        fixture.snapshot().expect_code(Code::SandboxReplaced);
    }
}

#[test]
fn sandbox_without_container_is_refused_and_not_started() {
    for operation in OPERATIONS {
        for fixture in [Fixture::empty(), Fixture::with_checkpoint()] {
            fixture.world.end_container("agent-42");
            let error = fixture.checkpoint(operation).expect_code(Code::SandboxNotRunning);
            assert!(!error.remediation().contains("wake"), "{}", error.remediation());
            let is_unknown = error.message().contains("There is no record of a sandbox");
            assert_eq!(is_unknown, fixture.ledger("agent-42").sandbox().unwrap().is_none(), "{error}");
            assert_eq!(fixture.world.calls_about("agent-42"), [Method::Status]);
        }
    }
}

#[test]
fn starting_sandbox_is_refused_with_a_retryable_error() {
    for operation in OPERATIONS {
        let fixture = Fixture::empty();
        fixture.world.set_starting("agent-42");
        let error = fixture.checkpoint(operation).expect_code(Code::SandboxStarting);
        assert!(error.is_retryable() && !error.remediation().contains("wake"), "{error:?}");
        assert_eq!(fixture.world.calls_about("agent-42"), [Method::Status]);
    }
}

#[test]
fn ordinary_call_checks_the_status_and_runs_the_script_once() {
    for operation in OPERATIONS {
        let fixture = Fixture::with_checkpoint();
        fixture.checkpoint(operation).unwrap();
        assert_eq!(fixture.world.calls_about("agent-42"), [Method::Status, Method::RunCheckpoint, Method::Status]);
    }
}

#[test]
fn container_that_replaced_the_identified_one_during_a_call_is_refused() {
    for operation in OPERATIONS {
        let fixture = Fixture::of_runtime(Runtime::Container);
        fixture.start_sandbox("agent-42");
        fixture.world.before(Method::RunCheckpoint).fail_transiently();
        fixture.checkpoint(operation).unwrap_err();
        fixture.world.clear_faults();
        fixture.world.replace_container("agent-42");
        fixture.checkpoint(operation).expect_code(Code::SandboxReplaced);
    }
}

#[test]
fn unnoticed_container_end_is_detected() {
    assert_refused_when(|world| world.end_container_unnoticed("agent-42"));
}

#[test]
fn unnoticed_container_end_is_detected_when_the_answer_is_lost() {
    assert_refused_when(|world| {
        world.end_container_unnoticed("agent-42");
        world.after(Method::RunCheckpoint).nth(1).fail_transiently();
    });
}

#[test]
fn container_replaced_after_the_status_check_is_detected() {
    assert_refused_when(|world| {
        world.before(Method::RunCheckpoint).nth(1).run(|world| world.replace_container("agent-42"));
    });
}

#[test]
fn container_replaced_during_the_call_is_detected() {
    assert_refused_when(|world| {
        world.after(Method::RunCheckpoint).nth(1).run(|world| world.replace_container("agent-42"));
    });
}

#[test]
fn container_already_known_as_replaced_is_refused() {
    let fixture = Fixture::with_checkpoint();
    fixture.world.end_container_unnoticed("agent-42");
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.advance_with_alarms(600_000);
    for operation in OPERATIONS {
        fixture.checkpoint(operation).expect_code(Code::SandboxReplaced);
        assert_eq!(fixture.world.checkpoint_count("agent-42"), 0);
    }
}

#[test]
fn container_that_replaced_the_captured_one_long_ago_is_refused() {
    for operation in OPERATIONS {
        let (fixture, _) = Fixture::with_diverged_sandbox();
        fixture.checkpoint(operation).expect_code(Code::SandboxReplaced);
        assert_eq!(fixture.world.checkpoint_count("agent-42"), 0);
    }
}

#[test]
fn interrupted_call_leaves_the_container_unverified() {
    let fixture = Fixture::with_checkpoint();
    fixture.world.end_container_unnoticed("agent-42");
    let gate = fixture.world.after(Method::RunCheckpoint).nth(1).block();
    let call = fixture.begin(Operation::CreateCheckpoint, &checkpoint_args("agent-42", Operation::CreateCheckpoint));
    assert!(gate.is_reached());
    drop(call);
    fixture.crash_worker();
    fixture.world.clear_faults();
    // The container is now older than the next probe requires.
    fixture.world.advance_clock(30_000);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn age_of_a_young_container_is_measured_first() {
    for millis in [30, 100, 1_000, 10_000] {
        for operation in OPERATIONS {
            let fixture = Fixture::empty();
            fixture.world.write_file("agent-42", FILE, "first");
            fixture.world.advance_clock(millis);
            fixture.run(Operation::CreateCheckpoint, &json!({ "sandboxId": "agent-42", "name": "before" })).unwrap();
            fixture.world.reset_calls();
            fixture.checkpoint(operation).unwrap();
            let calls = [Method::Status, Method::RunCheckpoint, Method::Probe, Method::RunCheckpoint, Method::Status];
            assert_eq!(fixture.world.calls_about("agent-42"), calls);
        }
    }
}

#[test]
fn container_of_thirty_seconds_gets_one_call() {
    let fixture = Fixture::empty();
    fixture.world.write_file("agent-42", FILE, "first");
    fixture.world.advance_clock(30_000);
    fixture.checkpoint(Operation::CreateCheckpoint).unwrap();
    assert_eq!(fixture.world.call_count(Method::RunCheckpoint), 1);
}

#[test]
fn container_that_is_too_young_to_identify_is_refused() {
    let fixture = Fixture::empty();
    fixture.world.write_file("agent-42", FILE, "first");
    fixture.world.advance_clock(5);
    fixture.checkpoint(Operation::CreateCheckpoint).expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.checkpoint_count("agent-42"), 0);
}

#[test]
fn young_container_replaced_after_the_measurement_is_refused() {
    let fixture = Fixture::empty();
    fixture.world.write_file("agent-42", FILE, "first");
    fixture.world.advance_clock(5_000);
    fixture.world.before(Method::RunCheckpoint).nth(2).run(|world| world.replace_container("agent-42"));
    fixture.checkpoint(Operation::CreateCheckpoint).expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.checkpoint_count("agent-42"), 0);
}

#[test]
fn transient_failure_is_retryable() {
    for operation in OPERATIONS {
        let fixture = Fixture::with_checkpoint();
        fixture.world.before(Method::RunCheckpoint).fail_transiently();
        assert!(fixture.checkpoint(operation).expect_code(Code::SandboxUnavailable).is_retryable());
    }
}

#[test]
fn sandbox_of_named_workspace_is_identified_by_marker_and_not_by_age() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.reset_calls();
    fixture.run(Operation::CreateCheckpoint, &checkpoint_args(&id, Operation::CreateCheckpoint)).unwrap();
    assert_eq!(fixture.world.calls_about(&id), [Method::Status, Method::RunCheckpoint]);
}

#[test]
fn cold_started_sandbox_of_named_workspace_is_refused() {
    let fixture = Fixture::with_diverged_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    for operation in OPERATIONS {
        fixture.run(operation, &checkpoint_args(&id, operation)).expect_code(Code::SandboxReplaced);
        assert_eq!(fixture.world.checkpoint_count(&id), 0);
    }
}

#[test]
fn sandbox_of_named_workspace_is_refused_during_its_restore() {
    let fixture = Fixture::with_stopped_workspace();
    let gate = fixture.world.before(Method::RestoreBackup).nth(1).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    let id = fixture.sandbox_of(WORKSPACE);
    for operation in OPERATIONS {
        fixture.run(operation, &checkpoint_args(&id, operation)).expect_code(Code::SandboxStarting);
    }
    gate.open();
    start.answer().unwrap();
    fixture.run(Operation::CreateCheckpoint, &checkpoint_args(&id, Operation::CreateCheckpoint)).unwrap();
}

#[test]
fn sandbox_of_deleted_workspace_is_refused() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.run(Operation::DeleteWorkspace, &workspace_args(WORKSPACE, &json!({}))).unwrap();
    fixture
        .run(Operation::CreateCheckpoint, &checkpoint_args(&id, Operation::CreateCheckpoint))
        .expect_code(Code::WorkspaceNotFound);
}
