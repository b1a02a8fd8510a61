//! Hundreds of concurrent callers: calls with equal requests share an answer; calls beyond a limit fail with the
//! retryable error `SandboxBusy`.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::support::{ExpectError, Fixture, Gate, Method, PendingOperation, WORKSPACE, by_ref};

type PendingCalls = Vec<PendingOperation<Result<Value>>>;

fn start_calls(count: usize, begin: impl FnMut(usize) -> PendingOperation<Result<Value>>) -> PendingCalls {
    (0..count).map(begin).collect()
}

/// Returns the number of calls that succeeded. Asserts that all others failed with `SandboxBusy`.
fn completed_count(calls: PendingCalls) -> usize {
    let outcomes: Vec<_> = calls.into_iter().map(PendingOperation::answer).collect();
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert_eq!((error.code(), error.is_retryable()), (Code::SandboxBusy, true), "{error}");
    }
    outcomes.iter().filter(|outcome| outcome.is_ok()).count()
}

fn block_call(fixture: &Fixture, method: Method) -> Rc<Gate> {
    fixture.world.before(method).nth(1).block()
}

/// Blocks each of the first `count` calls of the method.
fn block_calls(fixture: &Fixture, method: Method, count: u32) -> Vec<Rc<Gate>> {
    (1..=count).map(|number| fixture.world.before(method).nth(number).block()).collect()
}

fn open_gates(gates: &[Rc<Gate>]) {
    for gate in gates {
        gate.open();
    }
}

fn checkpoint_args(number: usize) -> Value {
    json!({ "sandboxId": "agent-42", "name": format!("checkpoint-{number}") })
}

#[test]
fn checkpoints_beyond_queue_limit_are_refused() {
    let fixture = Fixture::with_sandbox();
    let gate = block_call(&fixture, Method::RunCheckpoint);
    let calls = start_calls(500, |number| fixture.begin(Operation::CreateCheckpoint, &checkpoint_args(number)));
    gate.open();
    assert_eq!(completed_count(calls), 32);
    assert_eq!(fixture.world.call_count(Method::RunCheckpoint), 32);
    fixture.run(Operation::CreateCheckpoint, &checkpoint_args(500)).unwrap();
}

#[test]
fn restores_beyond_concurrency_limit_are_refused_and_leave_nothing() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot().unwrap();
    let gates = block_calls(&fixture, Method::RestoreBackup, 500);
    let calls = start_calls(500, |_| fixture.begin(Operation::Restore, &by_ref(&snapshot)));
    open_gates(&gates);
    assert_eq!(completed_count(calls), 128);
    assert_eq!(fixture.world.running_sandboxes().len(), 1 + 128);
    fixture.restore(&snapshot).unwrap();
}

#[test]
fn concurrent_restores_with_one_key_are_one_restore() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot().unwrap();
    let mut keyed = by_ref(&snapshot);
    keyed["idempotencyKey"] = json!("once");
    let gate = block_call(&fixture, Method::RestoreBackup);
    let calls = start_calls(500, |_| fixture.begin(Operation::Restore, &keyed));
    gate.open();
    assert_eq!(completed_count(calls), 500);
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 1);
}

#[test]
fn concurrent_starts_of_one_workspace_are_one_start() {
    let fixture = Fixture::with_stopped_workspace();
    let gate = block_call(&fixture, Method::RestoreBackup);
    let calls = start_calls(500, |_| fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({})));
    gate.open();
    assert_eq!(completed_count(calls), 500);
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 1);
}

#[test]
fn failing_start_runs_once_for_all_waiting_callers() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.edit_backups(|backup| backup.archive = None);
    let gate = block_call(&fixture, Method::Status);
    let calls = start_calls(500, |_| fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({})));
    gate.open();
    for call in calls {
        call.answer().expect_code(Code::BackupIncomplete);
    }
    let head_count = fixture.world.call_count(Method::HeadArchive);
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::BackupIncomplete);
    assert_eq!(head_count, fixture.world.call_count(Method::HeadArchive) - head_count);
}

#[test]
fn different_calls_of_one_workspace_are_refused_beyond_queue_limit() {
    let fixture = Fixture::with_workspace();
    let gate = block_call(&fixture, Method::CreateBackup);
    let stop = fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}));
    let calls = start_calls(500, |number| {
        fixture.begin_in_workspace(
            Operation::UpdateWorkspace,
            WORKSPACE,
            &json!({ "expiry": { "idleSeconds": 60 + number } }),
        )
    });
    let refused = fixture.update_workspace(WORKSPACE, &json!({ "persistent": false })).expect_code(Code::SandboxBusy);
    assert!(refused.message().contains("calls for the workspace \"work\""), "{refused}");
    gate.open();
    stop.answer().unwrap();
    assert_eq!(completed_count(calls), 31);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
}

#[test]
fn alternating_stops_and_starts_are_bounded_by_queue_limit() {
    let fixture = Fixture::with_workspace();
    let gate = block_call(&fixture, Method::CreateBackup);
    let alternating = [Operation::StopWorkspace, Operation::StartWorkspace];
    let calls = start_calls(500, |number| fixture.begin_in_workspace(alternating[number % 2], WORKSPACE, &json!({})));
    gate.open();
    assert!(completed_count(calls) >= 32, "calls equal to the last queued one share its permit");
    assert_eq!(
        (fixture.world.call_count(Method::CreateBackup), fixture.world.call_count(Method::RestoreBackup)),
        (16, 16)
    );
}

#[test]
fn forks_beyond_concurrency_limit_are_refused_and_make_no_workspace() {
    let fixture = Fixture::with_workspace();
    let gate = block_call(&fixture, Method::CreateBackup);
    let calls = start_calls(200, |number| {
        fixture.begin_in_workspace(Operation::ForkWorkspace, WORKSPACE, &json!({ "newName": format!("fork-{number}") }))
    });
    gate.open();
    assert_eq!(completed_count(calls), 32);
    assert_eq!(fixture.world.running_sandboxes().len(), 1 + 32);
}

#[test]
fn workspace_can_be_stopped_while_forks_run() {
    let fixture = Fixture::with_workspace();
    let gates = block_calls(&fixture, Method::RestoreBackup, 40);
    let forks = start_calls(40, |_| fixture.begin_in_workspace(Operation::ForkWorkspace, WORKSPACE, &json!({})));
    fixture.stop_workspace(WORKSPACE).unwrap();
    open_gates(&gates);
    assert_eq!(completed_count(forks), 32);
}
