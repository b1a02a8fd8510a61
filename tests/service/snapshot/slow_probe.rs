//! A container under load may answer the probe after a capture too late. The backup is kept until a probe confirms its
//! container, and deleted if the container was replaced.

use std::time::Duration;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, Failure, Result, Runtime};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{
    CancellationSource, ExpectError, Fixture, HOUR, MINUTE, Method, WORKSPACE, World, backup_id, by_label,
};

/// The time limit of a probe in the container, in milliseconds.
const PROBE_MILLIS: i64 = 10_000;

/// The failures of a probe that was ended at its time limit: as the SDK and as the class for containers report it.
fn timeouts() -> [Failure; 2] {
    let of_class = Failure::new("CommandTimeoutError", "A command did not end within 10000 ms.");
    [
        Failure::timed_out("a command in the sandbox", Duration::from_millis(PROBE_MILLIS.unsigned_abs())),
        of_class.with_code("COMMAND_TIMEOUT"),
    ]
}

/// Makes the first `count` probes time out.
fn time_out(world: &World, count: u32, failure: &Failure) {
    let probes = world.before(Method::Probe).first(count);
    probes.take_millis(PROBE_MILLIS);
    probes.fail_with(failure.clone());
}

/// Makes all probes time out that follow a backup.
fn slow_down_after_backup(world: &World, failure: &Failure) {
    let failure = failure.clone();
    world.after(Method::CreateBackup).run(move |world| time_out(world, u32::MAX, &failure));
}

fn arguments() -> Value {
    json!({ "sandboxId": "agent-42", "label": "slow", "idempotencyKey": "k" })
}

fn snapshot(fixture: &Fixture) -> Result<Value> {
    fixture.run(Operation::Snapshot, &arguments())
}

/// A sandbox whose snapshot failed because no probe after its backup was answered in time.
fn slow_snapshot(failure: &Failure) -> (Fixture, Error) {
    let fixture = Fixture::with_sandbox();
    slow_down_after_backup(&fixture.world, failure);
    let error = snapshot(&fixture).expect_code(Code::SandboxTimeout);
    fixture.world.clear_faults();
    (fixture, error)
}

#[test]
fn snapshot_succeeds_when_a_later_probe_is_answered() {
    for failure in timeouts() {
        let fixture = Fixture::with_sandbox();
        time_out(&fixture.world, 2, &failure);
        snapshot(&fixture).unwrap();
        assert_eq!((fixture.world.call_count(Method::Probe), fixture.world.call_count(Method::Delete)), (3, 0));
    }
}

#[test]
fn error_is_retryable_and_says_that_the_backup_is_stored() {
    for failure in timeouts() {
        let (fixture, error) = slow_snapshot(&failure);
        assert!(error.is_retryable(), "{error}");
        assert!(error.message().contains(&format!("The backup {} is stored", backup_id(1))), "{error}");
        assert!(error.remediation().contains("Try again"), "{}", error.remediation());
        assert_eq!((fixture.world.backup_ids(), fixture.world.call_count(Method::Delete)), (vec![backup_id(1)], 0));
    }
}

#[test]
fn probes_are_repeated_for_a_limited_time() {
    let fixture = Fixture::with_sandbox();
    slow_down_after_backup(&fixture.world, &timeouts()[0]);
    let began = fixture.world.current_time();
    snapshot(&fixture).expect_code(Code::SandboxTimeout);
    assert!(fixture.world.call_count(Method::Probe) > 2, "{}", fixture.world.call_count(Method::Probe));
    assert!(fixture.world.current_time().millis_since(began) < 2 * MINUTE);
}

#[test]
fn probe_without_an_answer_is_not_repeated_at_once() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::Probe).hang();
    snapshot(&fixture).expect_code(Code::SandboxTimeout);
    assert_eq!((fixture.world.call_count(Method::Probe), fixture.world.backup_ids().len()), (1, 1));
}

#[test]
fn kept_backup_becomes_a_snapshot_when_a_later_probe_is_answered() {
    let (fixture, _) = slow_snapshot(&timeouts()[1]);
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
    fixture.run(Operation::Restore, &by_label("slow")).unwrap();
}

#[test]
fn kept_backup_is_verified_until_the_container_answers() {
    let (fixture, _) = slow_snapshot(&timeouts()[1]);
    time_out(&fixture.world, u32::MAX, &timeouts()[1]);
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!(fixture.world.backup_ids(), [backup_id(1)]);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(2 * HOUR);
    fixture.assert_nothing_pending();
    fixture.run(Operation::Restore, &by_label("slow")).unwrap();
}

#[test]
fn kept_backup_is_deleted_when_the_container_was_replaced_or_ended() {
    let events: [fn(&World); 3] = [
        |world| world.replace_container("agent-42"),
        |world| world.end_container("agent-42"),
        |world| world.end_container_unnoticed("agent-42"),
    ];
    for event in events {
        let (fixture, _) = slow_snapshot(&timeouts()[1]);
        event(&fixture.world);
        fixture.advance_with_alarms(3 * HOUR);
        fixture.assert_nothing_stored();
        fixture.assert_nothing_pending();
    }
}

#[test]
fn backup_of_a_container_that_is_replaced_between_two_probes_is_deleted() {
    for failure in timeouts() {
        let fixture = Fixture::with_sandbox();
        time_out(&fixture.world, 1, &failure);
        fixture.world.before(Method::Probe).nth(2).run(|world| world.replace_container("agent-42"));
        let error = snapshot(&fixture).expect_code(Code::SandboxReplaced);
        assert!(!error.is_retryable() && error.message().contains("was deleted"), "{error}");
        fixture.assert_nothing_stored();
    }
}

#[test]
fn repeated_call_takes_the_only_snapshot() {
    let (fixture, _) = slow_snapshot(&timeouts()[1]);
    snapshot(&fixture).unwrap();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
    assert_eq!(fixture.world.backup_ids(), [backup_id(2)], "the repeated call discards the first backup");
    fixture.run(Operation::Restore, &by_label("slow")).unwrap();
}

#[test]
fn backup_is_deleted_when_the_caller_cancels_while_the_container_is_slow() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::Probe).nth(1).block();
    time_out(&fixture.world, u32::MAX, &timeouts()[1]);
    let (signal, abort) = CancellationSource::new();
    let mut work = fixture.begin_cancellable(Operation::Snapshot, &arguments(), abort);
    assert!(gate.is_reached());
    signal.cancel();
    assert!(work.is_done());
    gate.open();
    fixture.world.finish_background();
    assert_eq!(fixture.world.call_count(Method::Probe), 1);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn kept_backup_of_a_workspace_becomes_a_snapshot() {
    for failure in timeouts() {
        let fixture = Fixture::with_workspace();
        let id = fixture.sandbox_of(WORKSPACE);
        let count = fixture.snapshots_of(&id).len();
        slow_down_after_backup(&fixture.world, &failure);
        fixture.stop_workspace(WORKSPACE).expect_code(Code::SandboxTimeout);
        fixture.world.clear_faults();
        fixture.advance_with_alarms(HOUR);
        assert_eq!(fixture.snapshots_of(&id).len(), count + 1);
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.assert_nothing_pending();
    }
}

#[test]
fn backup_of_changes_is_deleted_when_no_probe_is_answered() {
    let fixture = Fixture::incremental(Runtime::Sdk012);
    fixture.start_sandbox("agent-42");
    fixture.world.write_file("agent-42", "/workspace/large", &"x".repeat(1000));
    fixture.snapshot().unwrap();
    fixture.world.advance_clock(MINUTE);
    slow_down_after_backup(&fixture.world, &timeouts()[1]);
    let error = snapshot(&fixture).expect_code(Code::SandboxTimeout);
    assert!(error.is_retryable() && error.message().contains("was deleted"), "{error}");
    assert_eq!(fixture.world.backup_ids(), [backup_id(1)]);
    assert_eq!(fixture.ledger("agent-42").unfinished_snapshots().unwrap(), []);
}
