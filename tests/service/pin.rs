//! What is pinned stays, whatever the policy says, until it is unpinned.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRef};
use serde_json::json;

use super::support::{Checked, DAY, HOUR, Method, Stage, by_label, by_ref};

/// Two snapshots, the first of which is pinned.
fn with_pinned() -> (Stage, SnapshotRef) {
    let stage = Stage::with_sandbox();
    let pinned = stage.captures("agent-42", "pinned");
    stage.run(Operation::Pin, &by_ref(&pinned)).unwrap();
    stage.world.pass(60_000);
    stage.captures("agent-42", "newest");
    (stage, pinned)
}

#[test]
fn a_pin_is_shown_and_the_snapshot_does_not_expire() {
    let (stage, pinned) = with_pinned();
    let shown = stage.run(Operation::Get, &by_ref(&pinned)).unwrap();
    assert_eq!(shown["pinned"], true);
    assert_eq!(shown.get("expiresAt"), None);
}

#[test]
fn a_pinned_snapshot_outlives_its_expiration() {
    let (stage, pinned) = with_pinned();
    stage.passes(400 * DAY);
    stage.restore(&pinned).unwrap();
}

#[test]
fn a_pinned_snapshot_is_not_counted_out() {
    let (stage, pinned) = with_pinned();
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    stage.run(Operation::SetRetention, &policy).unwrap();
    stage.passes(DAY);
    stage.restore(&pinned).unwrap();
}

#[test]
fn an_unpinned_snapshot_whose_time_is_over_goes_soon() {
    let (stage, pinned) = with_pinned();
    stage.passes(29 * DAY);
    stage.captures("agent-42", "still newer");
    stage.passes(20 * DAY);
    let unpinned = stage.run(Operation::Unpin, &by_ref(&pinned)).unwrap();
    assert_eq!(unpinned["pinned"], false);
    stage.passes(HOUR);
    stage.restore(&pinned).fails_as(Code::SnapshotNotFound);
}

#[test]
fn an_unpinned_snapshot_that_is_counted_out_goes_soon() {
    let (stage, pinned) = with_pinned();
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    stage.run(Operation::SetRetention, &policy).unwrap();
    stage.passes(HOUR);
    stage.run(Operation::Unpin, &by_ref(&pinned)).unwrap();
    stage.passes(HOUR);
    stage.restore(&pinned).fails_as(Code::SnapshotNotFound);
}

#[test]
fn pinning_twice_is_pinning_once_and_so_is_unpinning() {
    let (stage, snapshot) = Stage::with_snapshot();
    for (operation, pinned) in [(Operation::Pin, true), (Operation::Unpin, false)] {
        for _ in 0..2 {
            assert_eq!(stage.run(operation, &by_ref(&snapshot)).unwrap()["pinned"], pinned);
        }
    }
    assert!(stage.world.calls().is_empty(), "nothing outside of the ledger is looked at");
}

#[test]
fn what_is_not_there_is_not_pinned() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    stage.run(Operation::Pin, &by_ref(&snapshot)).fails_as(Code::SnapshotNotFound);
    stage.run(Operation::Pin, &by_label("never")).fails_as(Code::SnapshotNotFound);
}

#[test]
fn what_is_being_made_is_not_pinned_yet() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("soon"));
    stage.run(Operation::Pin, &by_label("soon")).fails_as(Code::SnapshotBusy);
    gate.open();
    capture.answer().unwrap();
}
