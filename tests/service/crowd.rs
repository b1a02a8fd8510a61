//! Hundreds of callers at the same time: who can share an answer does, and who can't be taken on is refused, to try again.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::support::{Checked, Gate, Method, Running, Stage, WORK, by_ref};

type Calls = Vec<Running<Result<Value>>>;

fn crowd(count: usize, begin: impl FnMut(usize) -> Running<Result<Value>>) -> Calls {
    (0..count).map(begin).collect()
}

/// How many of the calls were done, where all others were refused with a busy sandbox.
fn done(calls: Calls) -> usize {
    let outcomes: Vec<_> = calls.into_iter().map(Running::answer).collect();
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert_eq!((error.code(), error.retryable()), (Code::SandboxBusy, true), "{error}");
    }
    outcomes.iter().filter(|outcome| outcome.is_ok()).count()
}

fn held(stage: &Stage, method: Method) -> Rc<Gate> {
    stage.world.before(method).nth(1).held()
}

/// Holds each of the first calls of a method.
fn all_held(stage: &Stage, method: Method, count: u32) -> Vec<Rc<Gate>> {
    (1..=count).map(|number| stage.world.before(method).nth(number).held()).collect()
}

fn open(gates: &[Rc<Gate>]) {
    for gate in gates {
        gate.open();
    }
}

fn checkpoint(number: usize) -> Value {
    json!({ "sandboxId": "agent-42", "name": format!("checkpoint-{number}") })
}

#[test]
fn checkpoints_beyond_what_the_line_holds_are_refused_and_the_others_are_made() {
    let stage = Stage::with_sandbox();
    let gate = held(&stage, Method::Checkpoint);
    let calls = crowd(500, |number| stage.begin(Operation::CreateCheckpoint, &checkpoint(number)));
    gate.open();
    assert_eq!(done(calls), 32);
    assert_eq!(stage.world.count(Method::Checkpoint), 32);
    stage.run(Operation::CreateCheckpoint, &checkpoint(500)).unwrap();
}

#[test]
fn restores_beyond_what_may_be_under_way_are_refused_and_leave_nothing() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.snapshot().unwrap();
    let gates = all_held(&stage, Method::RestoreBackup, 500);
    let calls = crowd(500, |_| stage.begin(Operation::Restore, &by_ref(&snapshot)));
    open(&gates);
    assert_eq!(done(calls), 128);
    assert_eq!(stage.world.running().len(), 1 + 128);
    stage.restore(&snapshot).unwrap();
}

#[test]
fn restores_with_one_key_are_one_restore_however_many_ask() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.snapshot().unwrap();
    let mut keyed = by_ref(&snapshot);
    keyed["idempotencyKey"] = json!("once");
    let gate = held(&stage, Method::RestoreBackup);
    let calls = crowd(500, |_| stage.begin(Operation::Restore, &keyed));
    gate.open();
    assert_eq!(done(calls), 500);
    assert_eq!(stage.world.count(Method::RestoreBackup), 1);
}

#[test]
fn starts_of_one_workspace_are_one_start_however_many_ask() {
    let stage = Stage::with_stopped_work();
    let gate = held(&stage, Method::RestoreBackup);
    let calls = crowd(500, |_| stage.begins(Operation::StartWorkspace, WORK, &json!({})));
    gate.open();
    assert_eq!(done(calls), 500);
    assert_eq!(stage.world.count(Method::RestoreBackup), 1);
}

#[test]
fn a_start_that_fails_is_tried_once_for_all_who_wait_for_it() {
    let stage = Stage::with_stopped_work();
    stage.world.spoil(|backup| backup.archive = None);
    let gate = held(&stage, Method::State);
    let calls = crowd(500, |_| stage.begins(Operation::StartWorkspace, WORK, &json!({})));
    gate.open();
    for call in calls {
        call.answer().fails_as(Code::BackupIncomplete);
    }
    let looked_up = stage.world.count(Method::Archive);
    stage.starts(WORK, &json!({})).fails_as(Code::BackupIncomplete);
    assert_eq!(looked_up, stage.world.count(Method::Archive) - looked_up);
}

#[test]
fn calls_that_each_do_something_else_with_a_workspace_are_refused_beyond_what_the_line_holds() {
    let stage = Stage::with_work();
    let gate = held(&stage, Method::CreateBackup);
    let stop = stage.begins(Operation::StopWorkspace, WORK, &json!({}));
    let calls = crowd(500, |number| {
        stage.begins(Operation::UpdateWorkspace, WORK, &json!({ "expiry": { "idleSeconds": 60 + number } }))
    });
    let refused = stage.updates(WORK, &json!({ "persistent": false })).fails_as(Code::SandboxBusy);
    assert!(refused.message().contains("calls for the workspace \"work\""), "{refused}");
    gate.open();
    stop.answer().unwrap();
    assert_eq!(done(calls), 31);
    stage.starts(WORK, &json!({})).unwrap();
}

#[test]
fn stops_and_starts_by_turns_do_no_more_than_the_line_holds() {
    let stage = Stage::with_work();
    let gate = held(&stage, Method::CreateBackup);
    let by_turns = [Operation::StopWorkspace, Operation::StartWorkspace];
    let calls = crowd(500, |number| stage.begins(by_turns[number % 2], WORK, &json!({})));
    gate.open();
    assert!(done(calls) >= 32, "and whoever wants what the last in line wants shares the place");
    assert_eq!((stage.world.count(Method::CreateBackup), stage.world.count(Method::RestoreBackup)), (16, 16));
}

#[test]
fn forks_beyond_what_may_be_under_way_are_refused_and_make_no_workspace() {
    let stage = Stage::with_work();
    let gate = held(&stage, Method::CreateBackup);
    let calls = crowd(200, |number| {
        stage.begins(Operation::ForkWorkspace, WORK, &json!({ "newName": format!("fork-{number}") }))
    });
    gate.open();
    assert_eq!(done(calls), 32);
    assert_eq!(stage.world.running().len(), 1 + 32);
}

#[test]
fn a_workspace_of_which_forks_are_made_can_be_stopped_all_the_same() {
    let stage = Stage::with_work();
    let gates = all_held(&stage, Method::RestoreBackup, 40);
    let forks = crowd(40, |_| stage.begins(Operation::ForkWorkspace, WORK, &json!({})));
    stage.stops(WORK).unwrap();
    open(&gates);
    assert_eq!(done(forks), 32);
}
