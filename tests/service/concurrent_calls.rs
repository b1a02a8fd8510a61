//! Concurrency: while an operation is blocked at any one of its port calls, another call runs for the same sandbox.
//! Both must end in a consistent state.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::support::{Fixture, HOUR, PendingOperation, Scenario, for_every_call};

type PendingCalls = Vec<PendingOperation<Result<Value>>>;

/// Begins one call of `operation` for each ready snapshot of `agent-42`, with the extra arguments.
fn for_each_snapshot(fixture: &Fixture, operation: Operation, extra: &Value) -> PendingCalls {
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    let rows = page["snapshots"].as_array().unwrap().iter().filter(|row| row["state"] == "ready");
    let call = |row: &Value| {
        let mut arguments = json!({ "sandboxId": "agent-42", "snapshotId": row["snapshotId"] });
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        fixture.begin(operation, &arguments)
    };
    rows.map(call).collect()
}

fn begin(fixture: &Fixture, operation: Operation, mut arguments: Value) -> PendingCalls {
    if operation != Operation::Sweep {
        arguments["sandboxId"] = json!("agent-42");
    }
    vec![fixture.begin(operation, &arguments)]
}

/// Runs `other` at each port call of every scenario, and verifies the outcome of both operations.
fn run_concurrently(other: impl Fn(&Fixture) -> PendingCalls) {
    for_every_call(|scenario| {
        let fixture = &scenario.fixture;
        let gate = fixture.world.at_any_call(scenario.phase).nth(scenario.call_number).block();
        let running = scenario.start();
        if !gate.is_reached() {
            return false;
        }
        let others = other(fixture);
        gate.open();
        let outcome = running.answer();
        for call in others {
            assert_legible(&call.answer());
        }
        fixture.world.finish_background();
        assert_legible(&outcome);
        if let Ok(answer) = outcome {
            assert_snapshot_valid(scenario, &answer);
        }
        fixture.advance_with_alarms(3 * HOUR);
        fixture.assert_nothing_pending();
        assert_restorable(fixture);
        true
    });
}

/// Asserts that the call did not fail with an error that a caller cannot act on (`Internal`, `LedgerUnavailable`).
fn assert_legible(outcome: &Result<Value>) {
    if let Err(error) = outcome {
        assert!(!matches!(error.code(), Code::Internal | Code::LedgerUnavailable), "{error}");
    }
}

/// Asserts that the snapshot or the sandbox in the answer exists. A snapshot may have been deleted by the other call.
fn assert_snapshot_valid(scenario: &Scenario, answer: &Value) {
    match scenario.operation {
        Operation::Snapshot => drop(scenario.fixture.run(Operation::Get, &json!({ "ref": answer })).unwrap()),
        Operation::Restore | Operation::Branch => {
            let minted = answer["ref"]["sandboxId"].as_str().unwrap();
            assert!(scenario.fixture.world.running_sandboxes().contains(minted), "{minted} does not run");
        }
        _ => {}
    }
}

fn assert_restorable(fixture: &Fixture) {
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    for row in page["snapshots"].as_array().unwrap() {
        assert_eq!((&row["state"], &row["restorable"]), (&json!("ready"), &json!("yes")), "{row}");
    }
}

#[test]
fn operations_stay_consistent_while_every_snapshot_is_deleted() {
    run_concurrently(|fixture| for_each_snapshot(fixture, Operation::Delete, &json!({ "force": true })));
}

#[test]
fn operations_stay_consistent_while_new_policy_evicts_snapshots() {
    run_concurrently(|fixture| {
        begin(fixture, Operation::SetRetention, json!({ "policy": { "keepLast": { "count": 1 } } }))
    });
}

#[test]
fn operations_stay_consistent_while_labels_are_reassigned() {
    for label in ["before", "latest"] {
        run_concurrently(|fixture| {
            for_each_snapshot(fixture, Operation::Label, &json!({ "newLabel": label, "replace": true }))
        });
    }
}

#[test]
fn operations_stay_consistent_while_snapshots_are_pinned() {
    run_concurrently(|fixture| for_each_snapshot(fixture, Operation::Pin, &json!({})));
}

#[test]
fn operations_stay_consistent_while_snapshots_are_restored() {
    run_concurrently(|fixture| for_each_snapshot(fixture, Operation::Restore, &json!({})));
}

#[test]
fn operations_stay_consistent_while_snapshots_are_verified() {
    run_concurrently(|fixture| for_each_snapshot(fixture, Operation::Verify, &json!({})));
}

#[test]
fn operations_stay_consistent_while_another_snapshot_is_taken() {
    run_concurrently(|fixture| begin(fixture, Operation::Snapshot, json!({ "label": "another", "wake": true })));
}

#[test]
fn operations_stay_consistent_while_another_snapshot_takes_the_same_label() {
    for label in ["before", "latest"] {
        let arguments = json!({ "label": label, "replace": true, "wake": true });
        run_concurrently(|fixture| begin(fixture, Operation::Snapshot, arguments.clone()));
    }
}

#[test]
fn operations_stay_consistent_while_bucket_is_swept_without_grace_period() {
    run_concurrently(|fixture| begin(fixture, Operation::Sweep, json!({ "graceSeconds": 0 })));
}

#[test]
fn operations_stay_consistent_while_alarms_run_for_two_hours() {
    run_concurrently(|fixture| {
        fixture.advance_with_alarms(2 * HOUR);
        Vec::new()
    });
}

#[test]
fn operations_stay_consistent_while_every_backup_is_imported() {
    run_concurrently(|fixture| {
        let import = |id: String| {
            let backup = json!({ "id": id, "dir": "/workspace" });
            fixture.begin(Operation::Import, &json!({ "sandboxId": "agent-42", "backup": backup }))
        };
        fixture.world.backup_ids().into_iter().map(import).collect()
    });
}

#[test]
fn operations_stay_consistent_while_keys_are_rotated() {
    // One rotation only: the ref in the answer may be signed with the previous key, which is still accepted.
    run_concurrently(|fixture| begin(fixture, Operation::RotateKey, json!({})));
}
