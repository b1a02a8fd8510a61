//! The alarm of a sandbox's ledger is set for the next due task, and is not set when no task is due.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{DAY, ExpectError, Fixture, HOUR, MINUTE, Method, PendingOperation, by_label, by_ref};

/// Returns the time until the alarm of `agent-42`, in milliseconds.
fn alarm_delay(fixture: &Fixture) -> Option<i64> {
    fixture.alarm_at("agent-42").map(|at| at.millis_since(fixture.world.current_time()))
}

fn disable_expiry(fixture: &Fixture) {
    let policy = json!({ "sandboxId": "agent-42", "policy": { "expirationSeconds": 0 } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
}

#[test]
fn sandbox_without_expiring_snapshots_has_no_alarm() {
    let fixture = Fixture::with_sandbox();
    disable_expiry(&fixture);
    fixture.snapshot_labelled("agent-42", "one");
    fixture.advance_with_alarms(HOUR);
    assert_eq!(alarm_delay(&fixture), None);
}

#[test]
fn alarm_stays_set_while_capture_runs() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("slow"));
    assert!(alarm_delay(&fixture).is_some_and(|millis| millis <= MINUTE));
    fixture.advance_with_alarms(20 * MINUTE);
    assert!(
        alarm_delay(&fixture).is_some_and(|millis| millis <= 2 * MINUTE),
        "the alarm is set again as long as the capture runs"
    );
    gate.open();
    capture.answer().unwrap();
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn alarm_does_not_interrupt_running_restore() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let gate = fixture.world.before(Method::RestoreBackup).block();
    let restoring = fixture.begin(Operation::Restore, &by_ref(&snapshot));
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.world.call_count(Method::Destroy), 0);
    gate.open();
    restoring.answer().unwrap();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn alarm_is_set_for_the_first_expiration() {
    let fixture = Fixture::with_sandbox();
    for (label, seconds) in [("late", 7200), ("early", 3600), ("never", 0)] {
        let arguments = json!({ "sandboxId": "agent-42", "label": label, "expirationSeconds": seconds });
        fixture.run(Operation::Snapshot, &arguments).unwrap();
    }
    fixture.advance_with_alarms(10 * MINUTE);
    let early = fixture.run(Operation::Get, &by_label("early")).unwrap()["expiresAt"].clone();
    assert_eq!(json!(fixture.alarm_at("agent-42")), early);
}

#[test]
fn expired_snapshot_that_is_kept_sets_no_alarm() {
    let fixture = Fixture::with_sandbox();
    let arguments = json!({ "sandboxId": "agent-42", "expirationSeconds": 60 });
    fixture.run(Operation::Snapshot, &arguments).unwrap();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(alarm_delay(&fixture), None);
}

#[test]
fn idempotency_records_are_deleted_and_alarm_is_cleared() {
    let fixture = Fixture::with_sandbox();
    disable_expiry(&fixture);
    let arguments = json!({ "sandboxId": "agent-42", "idempotencyKey": "k" });
    fixture.run(Operation::Snapshot, &arguments).unwrap();
    fixture.advance_with_alarms(DAY);
    assert!(alarm_delay(&fixture).is_some());
    fixture.advance_with_alarms(5 * DAY);
    assert_eq!(fixture.ledger("agent-42").idempotency_record("k").unwrap(), None);
    assert_eq!(alarm_delay(&fixture), None);
}

#[test]
fn rows_of_deleted_snapshots_are_deleted_and_alarm_is_cleared() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    fixture.advance_with_alarms(29 * DAY);
    assert!(fixture.ledger("agent-42").snapshot(snapshot.snapshot_id()).unwrap().is_some());
    fixture.advance_with_alarms(4 * DAY);
    assert_eq!(fixture.ledger("agent-42").snapshot(snapshot.snapshot_id()).unwrap(), None);
    assert_eq!(alarm_delay(&fixture), None);
}

#[test]
fn sandbox_with_only_a_parent_has_no_alarm() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.alarm_at(restored.sandbox_id().as_str()), None);
}

#[test]
fn failing_task_does_not_block_other_tasks() {
    let fixture = Fixture::with_sandbox();
    let [one, two] = ["one", "two"].map(|label| fixture.snapshot_labelled("agent-42", label));
    fixture.world.before(Method::Delete).first(6).fail_transiently();
    for snapshot in [&one, &two] {
        fixture.run(Operation::Delete, &by_ref(snapshot)).expect_code(Code::StorageUnavailable);
    }
    fixture.world.reset_calls();
    fixture.world.clear_faults();
    fixture.world.before(Method::GetMetadata).first(3).fail_transiently();
    fixture.advance_with_alarms(4 * MINUTE);
    assert_eq!(fixture.world.backup_ids().len(), 1, "only the first deletion failed");
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn snapshot_that_expires_while_alarm_runs_is_deleted() {
    let fixture = Fixture::with_sandbox();
    for (label, seconds) in [("first", 3600), ("second", 3660), ("newest", 0)] {
        let arguments = json!({ "sandboxId": "agent-42", "label": label, "expirationSeconds": seconds });
        fixture.run(Operation::Snapshot, &arguments).unwrap();
    }
    fixture.world.before(Method::Delete).nth(1).take_millis(5 * MINUTE);
    fixture.advance_with_alarms(2 * HOUR);
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn alarm_runs_again_after_worker_dies_in_it() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "one");
    fixture.snapshot_labelled("agent-42", "newest");
    let policy = json!({ "sandboxId": "agent-42", "policy": { "expirationSeconds": 3600 } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    fixture.world.advance_clock(2 * HOUR);
    let gate = fixture.world.before(Method::Delete).nth(1).block();
    let snapshotter = fixture.snapshotter("agent-42");
    fixture.ledger("agent-42").set_alarm(None).unwrap();
    let alarm = PendingOperation::start(async move { snapshotter.alarm().await });
    assert!(gate.is_reached());
    fixture.crash_during(alarm);
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.assert_nothing_pending();
}

#[test]
fn snapshot_taken_while_alarm_runs_expires_in_time() {
    let fixture = Fixture::with_sandbox();
    for label in ["one", "newest"] {
        fixture.snapshot_labelled("agent-42", label);
    }
    let policy = json!({ "sandboxId": "agent-42", "policy": { "expirationSeconds": 3600 } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    fixture.world.advance_clock(2 * HOUR);
    let gate = fixture.world.before(Method::Delete).nth(1).block();
    let snapshotter = fixture.snapshotter("agent-42");
    let alarm = PendingOperation::start(async move { snapshotter.alarm().await });
    let arguments = json!({ "sandboxId": "agent-42", "label": "short", "expirationSeconds": 60 });
    fixture.run(Operation::Snapshot, &arguments).unwrap();
    fixture.snapshot_labelled("agent-42", "still newer");
    gate.open();
    alarm.answer().unwrap();
    fixture.advance_with_alarms(HOUR / 2);
    fixture.run(Operation::Get, &by_label("short")).expect_code(Code::SnapshotNotFound);
}

#[test]
fn call_made_while_alarm_runs_is_reconciled_after_worker_dies() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "one");
    let newest = fixture.snapshot_labelled("agent-42", "newest");
    let policy = json!({ "sandboxId": "agent-42", "policy": { "expirationSeconds": 3600 } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    fixture.world.advance_clock(2 * HOUR);
    let alarm_gate = fixture.world.before(Method::Delete).nth(1).block();
    let snapshotter = fixture.snapshotter("agent-42");
    let alarm = PendingOperation::start(async move { snapshotter.alarm().await });
    assert!(alarm_gate.is_reached());

    let call_gate = fixture.world.before(Method::GetMetadata).block();
    let mut arguments = by_ref(&newest);
    arguments["idempotencyKey"] = json!("k");
    let call = fixture.begin(Operation::Restore, &arguments);
    assert!(call_gate.is_reached());
    alarm_gate.open();
    alarm.answer().unwrap();
    fixture.crash_during(call);

    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(fixture.ledger("agent-42").unanswered_calls().unwrap(), []);
}

#[test]
fn failing_alarm_is_set_again_within_two_hours() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "one");
    fixture.world.before(Method::Delete).fail_transiently();
    fixture.run(Operation::Delete, &by_label("one")).expect_code(Code::StorageUnavailable);
    for _ in 0..10 {
        fixture.fire_alarm("agent-42").ok();
        let millis = alarm_delay(&fixture).expect("a task is due");
        assert!(millis > 0 && millis <= 2 * HOUR, "{millis}");
    }
}

#[test]
fn alarm_without_due_task_makes_no_calls() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.fire_alarm("agent-42").unwrap();
    assert!(fixture.world.calls().is_empty(), "{:?}", fixture.world.calls());
}

#[test]
fn alarm_is_set_for_next_expiration_when_expired_snapshots_are_pinned() {
    let fixture = Fixture::with_sandbox();
    for label in ["one", "two", "three", "four", "five"] {
        fixture.snapshot_labelled("agent-42", label);
    }
    let ledger = fixture.ledger("agent-42");
    let tomorrow = fixture.world.current_time().plus_millis(DAY);
    let mut rows = ledger.snapshot_page(None, None, 9).unwrap();
    for row in &mut rows {
        (row.pinned, row.expires_at) = (true, Some(fixture.world.current_time()));
    }
    rows[0].expires_at = Some(tomorrow);
    for row in &rows {
        ledger.put_snapshot(row).unwrap();
    }
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.alarm_at("agent-42"), Some(tomorrow));
}
