//! `pin` keeps a snapshot, regardless of the retention policy, until `unpin`.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRef};
use serde_json::json;

use crate::support::{DAY, ExpectError, Fixture, HOUR, Method, by_label, by_ref};

/// Returns a sandbox with two snapshots, the first of which is pinned.
fn with_pinned() -> (Fixture, SnapshotRef) {
    let fixture = Fixture::with_sandbox();
    let pinned = fixture.snapshot_labelled("agent-42", "pinned");
    fixture.run(Operation::Pin, &by_ref(&pinned)).unwrap();
    fixture.world.advance_clock(60_000);
    fixture.snapshot_labelled("agent-42", "newest");
    (fixture, pinned)
}

#[test]
fn pinned_snapshot_is_shown_as_pinned_without_expiration() {
    let (fixture, pinned) = with_pinned();
    let shown = fixture.run(Operation::Get, &by_ref(&pinned)).unwrap();
    assert_eq!(shown["pinned"], true);
    assert_eq!(shown.get("expiresAt"), None);
}

#[test]
fn pinned_snapshot_outlives_its_expiration() {
    let (fixture, pinned) = with_pinned();
    fixture.advance_with_alarms(400 * DAY);
    fixture.restore(&pinned).unwrap();
}

#[test]
fn pinned_snapshot_is_not_evicted_by_count() {
    let (fixture, pinned) = with_pinned();
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    fixture.advance_with_alarms(DAY);
    fixture.restore(&pinned).unwrap();
}

#[test]
fn unpin_expires_overdue_snapshot_within_an_hour() {
    let (fixture, pinned) = with_pinned();
    fixture.advance_with_alarms(29 * DAY);
    fixture.snapshot_labelled("agent-42", "still newer");
    fixture.advance_with_alarms(20 * DAY);
    let unpinned = fixture.run(Operation::Unpin, &by_ref(&pinned)).unwrap();
    assert_eq!(unpinned["pinned"], false);
    fixture.advance_with_alarms(HOUR);
    fixture.restore(&pinned).expect_code(Code::SnapshotNotFound);
}

#[test]
fn unpin_evicts_excess_snapshot_within_an_hour() {
    let (fixture, pinned) = with_pinned();
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    fixture.advance_with_alarms(HOUR);
    fixture.run(Operation::Unpin, &by_ref(&pinned)).unwrap();
    fixture.advance_with_alarms(HOUR);
    fixture.restore(&pinned).expect_code(Code::SnapshotNotFound);
}

#[test]
fn pin_and_unpin_are_idempotent() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    for (operation, pinned) in [(Operation::Pin, true), (Operation::Unpin, false)] {
        for _ in 0..2 {
            assert_eq!(fixture.run(operation, &by_ref(&snapshot)).unwrap()["pinned"], pinned);
        }
    }
    assert!(fixture.world.calls().is_empty(), "pin and unpin use only the ledger");
}

#[test]
fn pin_of_missing_snapshot_is_not_found() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    fixture.run(Operation::Pin, &by_ref(&snapshot)).expect_code(Code::SnapshotNotFound);
    fixture.run(Operation::Pin, &by_label("never")).expect_code(Code::SnapshotNotFound);
}

#[test]
fn pin_of_snapshot_being_created_is_refused() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("soon"));
    fixture.run(Operation::Pin, &by_label("soon")).expect_code(Code::SnapshotBusy);
    gate.open();
    capture.answer().unwrap();
}
