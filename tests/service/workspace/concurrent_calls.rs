//! Concurrency: a second operation runs while an operation on a workspace waits at each of its port calls.
//! Both operations succeed, or fail with an error that the caller can act on.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::scenarios::SCENARIOS;
use crate::support::{
    CallPhase, Fixture, HOUR, PendingOperation, Scenario, WORKSPACE, for_every_call_of, workspace_args,
};

type PendingCalls = Vec<PendingOperation<Result<Value>>>;

/// Runs `other` at each port call of every scenario, and verifies the outcome of both operations.
fn run_concurrently(other: impl Fn(&Fixture) -> PendingCalls) {
    for_every_call_of(&SCENARIOS, |scenario| {
        if scenario.phase == CallPhase::After {
            // An event after a call equals an event before the next call.
            return scenario.call_number < 3;
        }
        let fixture = &scenario.fixture;
        let gate = fixture.world.at_any_call(scenario.phase).nth(scenario.call_number).block();
        let pending = scenario.start();
        if !gate.is_reached() {
            return false;
        }
        let others = other(fixture);
        gate.open();
        assert_actionable(&pending.answer());
        for call in others {
            assert_actionable(&call.answer());
        }
        fixture.world.finish_background();
        fixture.advance_with_alarms(3 * HOUR);
        fixture.assert_nothing_pending();
        assert_usable(scenario);
        true
    });
}

/// Verifies that a failed call returns an error that the caller can act on.
fn assert_actionable(outcome: &Result<Value>) {
    if let Err(error) = outcome {
        assert!(!matches!(error.code(), Code::Internal | Code::LedgerUnavailable), "{error}");
    }
}

/// Verifies that the workspace can be started and stopped, if it exists.
fn assert_usable(scenario: &Scenario) {
    match scenario.fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "rescue", "allowEmpty": true })) {
        Ok(_) => drop(scenario.fixture.stop_workspace(WORKSPACE).unwrap()),
        Err(error) => assert_eq!(error.code(), Code::WorkspaceNotFound, "{error}"),
    }
}

fn begin(fixture: &Fixture, operation: Operation, options: &Value) -> PendingCalls {
    vec![fixture.begin(operation, &workspace_args(WORKSPACE, options))]
}

#[test]
fn operations_complete_during_a_start() {
    run_concurrently(|fixture| begin(fixture, Operation::StartWorkspace, &json!({})));
}

#[test]
fn operations_complete_during_a_stop() {
    run_concurrently(|fixture| begin(fixture, Operation::StopWorkspace, &json!({})));
}

#[test]
fn operations_complete_during_a_delete() {
    run_concurrently(|fixture| begin(fixture, Operation::DeleteWorkspace, &json!({})));
}

#[test]
fn operations_complete_during_a_delete_and_recreation() {
    run_concurrently(|fixture| {
        let mut calls = begin(fixture, Operation::DeleteWorkspace, &json!({}));
        calls.extend(begin(fixture, Operation::GetOrCreateWorkspace, &json!({ "expiry": { "idleSeconds": 0 } })));
        calls
    });
}

#[test]
fn operations_complete_during_a_fork() {
    run_concurrently(|fixture| begin(fixture, Operation::ForkWorkspace, &json!({ "newName": "third" })));
}

#[test]
fn operations_complete_during_an_update() {
    run_concurrently(|fixture| begin(fixture, Operation::UpdateWorkspace, &json!({ "retention": { "keepDaily": 3 } })));
}

#[test]
fn operations_complete_during_a_snapshot_of_the_sandbox() {
    run_concurrently(|fixture| {
        let ids = fixture.world.running_sandboxes().into_iter();
        ids.map(|id| fixture.begin(Operation::Snapshot, &json!({ "sandboxId": id }))).collect()
    });
}

#[test]
fn operations_complete_when_the_container_ends() {
    run_concurrently(|fixture| {
        for id in fixture.world.running_sandboxes() {
            fixture.world.end_container(&id);
        }
        Vec::new()
    });
}

#[test]
fn operations_complete_when_the_container_is_replaced() {
    run_concurrently(|fixture| {
        for id in fixture.world.running_sandboxes() {
            fixture.world.replace_container(&id);
        }
        Vec::new()
    });
}

#[test]
fn operations_complete_during_a_sweep_without_grace_period() {
    run_concurrently(|fixture| vec![fixture.begin(Operation::Sweep, &json!({ "graceSeconds": 0 }))]);
}

#[test]
fn operations_complete_when_alarms_of_sandboxes_fire() {
    run_concurrently(|fixture| {
        for id in fixture.world.sandbox_ids() {
            if fixture.alarm_at(&id).is_some() {
                drop(fixture.fire_alarm(&id));
            }
        }
        Vec::new()
    });
}
