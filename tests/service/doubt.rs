//! A container counts only if it is older than what may have started another one, until that is settled.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::support::{Checked, Gate, MINUTE, Method, Running, Stage, sandbox};

fn waking() -> SnapshotRequest {
    SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) }
}

fn is_in_doubt(stage: &Stage) -> bool {
    stage.ledger("agent-42").workspace().unwrap().is_some_and(|workspace| workspace.doubt.is_some())
}

/// A capture began a second ago, waits at its backup, and nobody waits for it.
fn abandoned() -> (Stage, Rc<Gate>) {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let caller = stage.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    stage.world.go_on_in_background();
    assert!(gate.is_reached());
    drop(caller);
    stage.world.pass(1000);
    (stage, gate)
}

/// A look that was to wake the sandbox failed a second ago: nobody knows whether it started a container.
fn left_by_a_look() -> Stage {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::Probe).fails_in_passing();
    stage.snapshot_as_asked(waking()).fails_as(Code::SandboxUnavailable);
    stage.world.goes_well();
    stage.world.pass(1000);
    stage.world.forget_calls();
    assert!(is_in_doubt(&stage));
    stage
}

#[test]
fn what_a_capture_has_settled_is_not_looked_at_again() {
    let stage = Stage::with_sandbox();
    stage.snapshot_as_asked(waking()).unwrap();
    stage.world.forget_calls();
    stage.passes(5 * MINUTE);
    assert_eq!(stage.world.calls_about("agent-42"), []);
}

#[test]
fn a_capture_that_went_well_does_not_settle_what_another_one_left() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).nth(1).fails_in_passing();
    stage.snapshot().fails_as(Code::BackupInterrupted);
    stage.world.goes_well();
    stage.snapshot_as_asked(waking()).unwrap();
    // What was asked for before comes only now, and finds no container.
    stage.world.is_replaced("agent-42");
    stage.world.pass(1000);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn a_capture_does_not_settle_what_another_one_leaves_after_it_has_looked() {
    let stage = Stage::with_sandbox();
    let looking = stage.world.before(Method::Probe).nth(1).held();
    let caller = stage.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    stage.world.go_on_in_background();
    drop(caller);
    let reading = stage.world.before(Method::Metadata).nth(2).held();
    let taking = stage.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    stage.world.go_on_in_background();
    assert!(looking.is_reached() && reading.is_reached());
    assert_eq!(stage.world.count(Method::Probe), 2, "the second one has looked");
    stage.world.is_replaced("agent-42");
    stage.world.before(Method::LeaveNote).fails_in_passing();
    looking.open();
    stage.world.go_on_in_background();
    reading.open();
    taking.answer().unwrap();
    stage.world.goes_well();
    stage.world.pass(1000);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn a_container_that_a_capture_may_have_started_which_goes_on_does_not_count() {
    let (stage, _gate) = abandoned();
    stage.world.is_replaced("agent-42");
    stage.world.pass(1000);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn a_container_that_was_woken_counts_also_when_the_capture_of_another_one_has_failed() {
    let (stage, gate) = abandoned();
    stage.world.is_replaced("agent-42");
    stage.world.pass(MINUTE);
    stage.snapshot_as_asked(waking()).unwrap();
    stage.world.after(Method::CreateBackup).nth(1).fails_in_passing();
    stage.world.forget_calls();
    stage.world.before(Method::State).nth(1).fails_in_passing();
    gate.open();
    stage.world.finish_background();
    stage.world.goes_well();
    stage.snapshot().unwrap();
}

#[test]
fn nothing_is_settled_while_somebody_looks() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::Probe).nth(1).held();
    let taking = stage.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "wake": true }));
    stage.world.go_on_in_background();
    assert!(gate.is_reached() && is_in_doubt(&stage));
    stage.ring("agent-42").unwrap();
    assert_eq!(stage.world.count(Method::Probe), 1);
    assert!(is_in_doubt(&stage));
    gate.open();
    taking.answer().unwrap();
    assert!(!is_in_doubt(&stage));
}

#[test]
fn it_is_not_settled_before_what_caused_it_is_over() {
    let stage = left_by_a_look();
    stage.restart();
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    assert_eq!(stage.world.calls(), []);
    assert!(is_in_doubt(&stage));
}

#[test]
fn it_is_settled_by_the_alarm_that_it_set() {
    let stage = left_by_a_look();
    stage.ring("agent-42").unwrap();
    assert!(!is_in_doubt(&stage));
}

#[test]
fn a_capture_that_marks_the_container_ends_all_doubt() {
    let stage = left_by_a_look();
    assert!(is_in_doubt(&stage));
    stage.snapshot_as_asked(waking()).unwrap();
    assert!(!is_in_doubt(&stage));
}

#[test]
fn a_look_that_goes_well_settles_what_was_in_doubt_before_when_its_time_has_come() {
    let stage = left_by_a_look();
    stage.world.pass(2 * MINUTE);
    stage.snapshot().unwrap();
    assert!(!is_in_doubt(&stage));
}

#[test]
fn what_comes_up_while_it_is_settled_is_not_settled_with_it() {
    let stage = left_by_a_look();
    stage.world.pass(2 * MINUTE);
    let gate = stage.world.after(Method::Probe).nth(1).held();
    let snapshots = stage.of("agent-42");
    let alarm = Running::start(async move { snapshots.alarm().await });
    assert!(gate.is_reached());
    for nth in 2..=4 {
        stage.world.before(Method::Probe).nth(nth).fails_in_passing();
    }
    stage.snapshot_as_asked(waking()).fails_as(Code::SandboxUnavailable);
    gate.open();
    alarm.answer().unwrap();
    assert!(is_in_doubt(&stage));
}
