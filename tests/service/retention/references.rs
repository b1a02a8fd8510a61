//! A sandbox made from a snapshot is a dependent of that snapshot until it has a snapshot of its own.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, SnapshotRef, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{DAY, ExpectError, Fixture, HOUR, Method, by_ref, sandbox};

/// Returns a snapshot and a sandbox that was restored from it one minute ago.
fn with_restored() -> (Fixture, SnapshotRef, String) {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
    fixture.world.advance_clock(60_000);
    fixture.world.reset_calls();
    (fixture, snapshot, restored)
}

fn dependents(fixture: &Fixture, snapshot: &SnapshotRef) -> Vec<String> {
    let got = fixture.run(Operation::Get, &by_ref(snapshot)).unwrap();
    got["dependents"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[test]
fn restored_sandbox_is_dependent_of_its_snapshot() {
    let (fixture, snapshot, restored) = with_restored();
    assert_eq!(dependents(&fixture, &snapshot), [restored]);
}

#[test]
fn every_derived_sandbox_is_dependent_of_the_snapshot() {
    let (fixture, snapshot, restored) = with_restored();
    let branch = fixture.branch(&snapshot).unwrap().sandbox_id().to_string();
    let mut expected = [branch, restored];
    expected.sort();
    assert_eq!(dependents(&fixture, &snapshot), expected);
}

#[test]
fn first_own_snapshot_releases_the_reference() {
    let (fixture, snapshot, restored) = with_restored();
    fixture.snapshot_labelled(&restored, "own");
    fixture.world.finish_background();
    assert!(dependents(&fixture, &snapshot).is_empty());
    fixture.assert_no_pending_releases();
}

#[test]
fn only_first_own_snapshot_sends_release() {
    let (fixture, _, restored) = with_restored();
    for label in ["one", "two"] {
        fixture.snapshot_labelled(&restored, label);
        fixture.world.finish_background();
    }
    assert_eq!(fixture.world.call_count(Method::Release), 1);
}

#[test]
fn failed_snapshot_does_not_release_the_reference() {
    let (fixture, snapshot, restored) = with_restored();
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.snapshot_with(SnapshotRequest::of(sandbox(&restored))).expect_code(Code::BackupFailed);
    fixture.world.finish_background();
    assert_eq!(dependents(&fixture, &snapshot), [restored]);
}

#[test]
fn alarm_resends_release_that_failed() {
    let (fixture, snapshot, restored) = with_restored();
    fixture.world.before(Method::Release).first(3).fail_transiently();
    fixture.snapshot_labelled(&restored, "own");
    fixture.world.finish_background();
    assert_eq!(dependents(&fixture, &snapshot), std::slice::from_ref(&restored));
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.world.call_count(Method::Release), 4);
    assert!(dependents(&fixture, &snapshot).is_empty());
    fixture.assert_nothing_pending();
}

#[test]
fn release_that_always_fails_is_resent_with_backoff() {
    let (fixture, _, restored) = with_restored();
    fixture.world.before(Method::Release).fail_transiently();
    fixture.snapshot_labelled(&restored, "own");
    fixture.world.finish_background();
    fixture.world.reset_calls();
    fixture.advance_with_alarms(DAY);
    let sent = fixture.world.call_count(Method::Release);
    assert!((5..15).contains(&sent), "{sent} times in a day");
}

#[test]
fn release_with_lost_answer_is_sent_twice_without_harm() {
    let (fixture, snapshot, restored) = with_restored();
    fixture.world.after(Method::Release).nth(1).fail_transiently();
    fixture.snapshot_labelled(&restored, "own");
    fixture.world.finish_background();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.world.call_count(Method::Release), 2);
    assert!(dependents(&fixture, &snapshot).is_empty());
    fixture.assert_nothing_pending();
}

#[test]
fn own_snapshot_succeeds_when_release_fails() {
    let (fixture, _, restored) = with_restored();
    fixture.world.before(Method::Release).fail_transiently();
    fixture.snapshot_labelled(&restored, "own");
}

#[test]
fn release_is_sent_after_worker_crash() {
    let (fixture, snapshot, restored) = with_restored();
    fixture.snapshot_labelled(&restored, "own");
    fixture.crash_worker();
    fixture.advance_with_alarms(HOUR);
    assert!(dependents(&fixture, &snapshot).is_empty());
}

#[test]
fn release_by_unrelated_sandbox_changes_nothing() {
    let (fixture, snapshot, restored) = with_restored();
    fixture.snapshotter("agent-42").release(snapshot.snapshot_id(), &sandbox("agent-7")).unwrap();
    let other = fixture.snapshot_labelled("agent-42", "other");
    fixture.snapshotter("agent-42").release(other.snapshot_id(), &sandbox(&restored)).unwrap();
    assert_eq!(dependents(&fixture, &snapshot), [restored]);
}

#[test]
fn release_by_sandbox_being_restored_changes_nothing() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let gate = fixture.world.before(Method::RestoreBackup).block();
    let restoring = fixture.begin(Operation::Restore, &by_ref(&snapshot));
    assert!(gate.is_reached());
    fixture.snapshotter("agent-42").release(snapshot.snapshot_id(), &sandbox(&fixture.minted_sandbox())).unwrap();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).expect_code(Code::SnapshotBusy);
    gate.open();
    restoring.answer().unwrap();
    assert_eq!(dependents(&fixture, &snapshot), [fixture.minted_sandbox()]);
}

#[test]
fn released_snapshot_expires_by_its_last_use() {
    let (fixture, snapshot, restored) = with_restored();
    fixture.snapshot_labelled("agent-42", "newest");
    fixture.advance_with_alarms(60 * DAY);
    fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    fixture.snapshot_labelled(&restored, "own");
    fixture.world.finish_background();
    fixture.advance_with_alarms(HOUR);
    fixture.restore(&snapshot).expect_code(Code::SnapshotNotFound);
}

#[test]
fn released_excess_snapshot_is_evicted_within_an_hour() {
    let (fixture, snapshot, restored) = with_restored();
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    fixture.snapshot_labelled("agent-42", "newest");
    fixture.advance_with_alarms(HOUR);
    fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap();
    fixture.snapshot_labelled(&restored, "own");
    fixture.world.finish_background();
    fixture.advance_with_alarms(HOUR);
    fixture.restore(&snapshot).expect_code(Code::SnapshotNotFound);
}

#[test]
fn failed_restore_leaves_no_dependent() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::SandboxUnavailable);
    assert!(dependents(&fixture, &snapshot).is_empty());
}

#[test]
fn application_sandbox_sends_no_release() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "one");
    fixture.world.finish_background();
    assert_eq!(fixture.world.call_count(Method::Release), 0);
}

#[test]
fn import_does_not_release_the_reference() {
    let (fixture, snapshot, restored) = with_restored();
    let handle = fixture.world.create_app_backup(&restored, None);
    fixture.run(Operation::Import, &json!({ "sandboxId": restored, "backup": handle, "label": "own" })).unwrap();
    fixture.world.finish_background();
    assert_eq!(dependents(&fixture, &snapshot), [restored]);
}

impl Fixture {
    fn assert_no_pending_releases(&self) {
        for id in self.world.sandbox_ids() {
            assert_eq!(self.ledger(&id).releases().unwrap(), [], "{id}");
        }
    }
}
