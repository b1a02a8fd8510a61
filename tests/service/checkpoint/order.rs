//! One call at a time works in a sandbox, and none goes back while the files are captured.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::super::support::{Checked, Gate, Method, Running, Signal, Stage};
use super::{EVERY, of};

fn begin(stage: &Stage, operation: Operation) -> Running<Result<Value>> {
    stage.begin(operation, &of("agent-42", operation))
}

/// A call is under way, and held in the sandbox.
fn with_call_under_way(operation: Operation) -> (Stage, Rc<Gate>, Running<Result<Value>>) {
    let stage = Stage::with_checkpoint();
    let gate = stage.world.before(Method::Checkpoint).nth(1).held();
    let call = begin(&stage, operation);
    assert!(gate.is_reached());
    (stage, gate, call)
}

#[test]
fn one_call_at_a_time_works_in_a_sandbox() {
    for operation in EVERY {
        let (stage, gate, first) = with_call_under_way(operation);
        let others = EVERY.map(|other| begin(&stage, other));
        assert_eq!(stage.world.count(Method::Checkpoint), 1, "{operation:?}");
        gate.open();
        first.answer().unwrap();
        for other in others {
            other.answer().unwrap();
        }
    }
}

#[test]
fn sandboxes_do_not_wait_for_each_other() {
    let (stage, gate, first) = with_call_under_way(Operation::RestoreCheckpoint);
    stage.runs("agent-7");
    stage.run(Operation::CreateCheckpoint, &of("agent-7", Operation::CreateCheckpoint)).unwrap();
    gate.open();
    first.answer().unwrap();
}

#[test]
fn a_restore_waits_for_the_capture_that_is_under_way() {
    let stage = Stage::with_checkpoint();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let capture = stage.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    assert!(gate.is_reached());
    let mut restore = begin(&stage, Operation::RestoreCheckpoint);
    assert!(!restore.is_done());
    assert_eq!(stage.notes(), "second");
    gate.open();
    capture.answer().unwrap();
    restore.answer().unwrap();
}

#[test]
fn a_capture_waits_for_the_restore_that_is_under_way() {
    let (stage, gate, restore) = with_call_under_way(Operation::RestoreCheckpoint);
    let mut capture = stage.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    assert!(!capture.is_done());
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
    gate.open();
    restore.answer().unwrap();
    capture.answer().unwrap();
}

#[test]
fn a_capture_waits_for_nothing_else() {
    for operation in EVERY {
        if operation != Operation::RestoreCheckpoint {
            let (stage, gate, call) = with_call_under_way(operation);
            stage.snapshot().unwrap();
            gate.open();
            call.answer().unwrap();
        }
    }
}

#[test]
fn a_capture_that_nobody_waits_for_holds_no_restore_up() {
    let stage = Stage::with_checkpoint();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let (signal, abort) = Signal::new();
    let capture = stage.begin_until(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }), abort);
    let restore = begin(&stage, Operation::RestoreCheckpoint);
    signal.fire();
    capture.answer().fails_as(Code::Aborted);
    restore.answer().unwrap();
    gate.open();
    stage.world.finish_background();
}

#[test]
fn a_caller_who_does_not_want_it_any_more_starts_nothing() {
    for operation in EVERY {
        let stage = Stage::with_checkpoint();
        let (signal, abort) = Signal::new();
        signal.fire();
        let call = stage.begin_until(operation, &of("agent-42", operation), abort);
        call.answer().fails_as(Code::Aborted);
        assert!(stage.world.calls().is_empty());
    }
}

#[test]
fn a_caller_who_stands_in_line_can_leave_it() {
    let (stage, gate, first) = with_call_under_way(Operation::ListCheckpoints);
    let (signal, abort) = Signal::new();
    let restore = Operation::RestoreCheckpoint;
    let second = stage.begin_until(restore, &of("agent-42", restore), abort);
    signal.fire();
    second.answer().fails_as(Code::Aborted);
    gate.open();
    first.answer().unwrap();
    stage.world.finish_background();
    assert_eq!(stage.notes(), "second");
    stage.checkpoint(restore).unwrap();
}

#[test]
fn what_has_begun_is_done_to_its_end() {
    let stage = Stage::with_checkpoint();
    let gate = stage.world.before(Method::Checkpoint).nth(1).held();
    let (signal, abort) = Signal::new();
    let restore = Operation::RestoreCheckpoint;
    let mut call = stage.begin_until(restore, &of("agent-42", restore), abort);
    signal.fire();
    assert!(!call.is_done());
    drop(call);
    gate.open();
    stage.world.finish_background();
    assert_eq!(stage.notes(), "first");
}
