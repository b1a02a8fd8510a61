//! The queue: a sandbox runs one checkpoint call at a time, and no restore during a capture.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::{OPERATIONS, checkpoint_args};
use crate::support::{CancellationSource, ExpectError, Fixture, Gate, Method, PendingOperation};

fn begin(fixture: &Fixture, operation: Operation) -> PendingOperation<Result<Value>> {
    fixture.begin(operation, &checkpoint_args("agent-42", operation))
}

/// A checkpoint call that waits at its gate in the sandbox.
fn with_call_in_flight(operation: Operation) -> (Fixture, Rc<Gate>, PendingOperation<Result<Value>>) {
    let fixture = Fixture::with_checkpoint();
    let gate = fixture.world.before(Method::RunCheckpoint).nth(1).block();
    let call = begin(&fixture, operation);
    assert!(gate.is_reached());
    (fixture, gate, call)
}

#[test]
fn sandbox_runs_one_checkpoint_call_at_a_time() {
    for operation in OPERATIONS {
        let (fixture, gate, first) = with_call_in_flight(operation);
        let others = OPERATIONS.map(|other| begin(&fixture, other));
        assert_eq!(fixture.world.call_count(Method::RunCheckpoint), 1, "{operation:?}");
        gate.open();
        first.answer().unwrap();
        for other in others {
            other.answer().unwrap();
        }
    }
}

#[test]
fn sandboxes_do_not_wait_for_each_other() {
    let (fixture, gate, first) = with_call_in_flight(Operation::RestoreCheckpoint);
    fixture.start_sandbox("agent-7");
    fixture.run(Operation::CreateCheckpoint, &checkpoint_args("agent-7", Operation::CreateCheckpoint)).unwrap();
    gate.open();
    first.answer().unwrap();
}

#[test]
fn restore_waits_for_running_capture() {
    let fixture = Fixture::with_checkpoint();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    assert!(gate.is_reached());
    let mut restore = begin(&fixture, Operation::RestoreCheckpoint);
    assert!(!restore.is_done());
    assert_eq!(fixture.notes_content(), "second");
    gate.open();
    capture.answer().unwrap();
    restore.answer().unwrap();
}

#[test]
fn capture_waits_for_running_restore() {
    let (fixture, gate, restore) = with_call_in_flight(Operation::RestoreCheckpoint);
    let mut capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    assert!(!capture.is_done());
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
    gate.open();
    restore.answer().unwrap();
    capture.answer().unwrap();
}

#[test]
fn capture_waits_for_no_other_checkpoint_call() {
    for operation in OPERATIONS {
        if operation != Operation::RestoreCheckpoint {
            let (fixture, gate, call) = with_call_in_flight(operation);
            fixture.snapshot().unwrap();
            gate.open();
            call.answer().unwrap();
        }
    }
}

#[test]
fn cancelled_capture_does_not_block_a_restore() {
    let fixture = Fixture::with_checkpoint();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let capture = fixture.begin_cancellable(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }), abort);
    let restore = begin(&fixture, Operation::RestoreCheckpoint);
    signal.cancel();
    capture.answer().expect_code(Code::Aborted);
    restore.answer().unwrap();
    gate.open();
    fixture.world.finish_background();
}

#[test]
fn call_cancelled_before_it_begins_has_no_effect() {
    for operation in OPERATIONS {
        let fixture = Fixture::with_checkpoint();
        let (signal, abort) = CancellationSource::new();
        signal.cancel();
        let call = fixture.begin_cancellable(operation, &checkpoint_args("agent-42", operation), abort);
        call.answer().expect_code(Code::Aborted);
        assert!(fixture.world.calls().is_empty());
    }
}

#[test]
fn queued_call_can_be_cancelled() {
    let (fixture, gate, first) = with_call_in_flight(Operation::ListCheckpoints);
    let (signal, abort) = CancellationSource::new();
    let restore = Operation::RestoreCheckpoint;
    let second = fixture.begin_cancellable(restore, &checkpoint_args("agent-42", restore), abort);
    signal.cancel();
    second.answer().expect_code(Code::Aborted);
    gate.open();
    first.answer().unwrap();
    fixture.world.finish_background();
    assert_eq!(fixture.notes_content(), "second");
    fixture.checkpoint(restore).unwrap();
}

#[test]
fn running_restore_finishes_after_its_caller_cancels() {
    let fixture = Fixture::with_checkpoint();
    let gate = fixture.world.before(Method::RunCheckpoint).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let restore = Operation::RestoreCheckpoint;
    let mut call = fixture.begin_cancellable(restore, &checkpoint_args("agent-42", restore), abort);
    signal.cancel();
    assert!(!call.is_done());
    drop(call);
    gate.open();
    fixture.world.finish_background();
    assert_eq!(fixture.notes_content(), "first");
}
