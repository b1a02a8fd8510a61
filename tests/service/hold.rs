//! A sandbox that was made from a snapshot needs it until it has a snapshot of its own.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, SnapshotRef, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::support::{Checked, DAY, HOUR, Method, Stage, by_ref, sandbox};

/// A snapshot, and the sandbox that was restored from it a minute ago.
fn with_restored() -> (Stage, SnapshotRef, String) {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    stage.world.pass(60_000);
    stage.world.forget_calls();
    (stage, snapshot, restored)
}

fn holders(stage: &Stage, snapshot: &SnapshotRef) -> Vec<String> {
    let got = stage.run(Operation::Get, &by_ref(snapshot)).unwrap();
    got["holders"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_restored_sandbox_holds_its_snapshot() {
    let (stage, snapshot, restored) = with_restored();
    assert_eq!(holders(&stage, &snapshot), [restored]);
}

#[test]
fn each_sandbox_that_was_made_holds_it() {
    let (stage, snapshot, restored) = with_restored();
    let branch = stage.branch(&snapshot).unwrap().sandbox_id().to_string();
    let mut expected = [branch, restored];
    expected.sort();
    assert_eq!(holders(&stage, &snapshot), expected);
}

#[test]
fn the_first_snapshot_of_its_own_releases_it() {
    let (stage, snapshot, restored) = with_restored();
    stage.captures(&restored, "own");
    stage.world.finish_background();
    assert!(holders(&stage, &snapshot).is_empty());
    stage.assert_no_word_is_left();
}

#[test]
fn only_the_first_one_sends_word() {
    let (stage, _, restored) = with_restored();
    for label in ["one", "two"] {
        stage.captures(&restored, label);
        stage.world.finish_background();
    }
    assert_eq!(stage.world.count(Method::Release), 1);
}

#[test]
fn a_snapshot_that_failed_releases_nothing() {
    let (stage, snapshot, restored) = with_restored();
    stage.world.before(Method::CreateBackup).fails_with(Failure::new("BackupCreateError", "no room"));
    stage.snapshot_as_asked(SnapshotRequest::of(sandbox(&restored))).fails_as(Code::BackupFailed);
    stage.world.finish_background();
    assert_eq!(holders(&stage, &snapshot), [restored]);
}

#[test]
fn word_that_does_not_arrive_is_sent_again_by_the_alarm() {
    let (stage, snapshot, restored) = with_restored();
    stage.world.before(Method::Release).first(3).fails_in_passing();
    stage.captures(&restored, "own");
    stage.world.finish_background();
    assert_eq!(holders(&stage, &snapshot), std::slice::from_ref(&restored));
    stage.passes(HOUR);
    assert_eq!(stage.world.count(Method::Release), 4);
    assert!(holders(&stage, &snapshot).is_empty());
    stage.assert_settled();
}

#[test]
fn word_that_never_arrives_is_sent_ever_more_rarely() {
    let (stage, _, restored) = with_restored();
    stage.world.before(Method::Release).fails_in_passing();
    stage.captures(&restored, "own");
    stage.world.finish_background();
    stage.world.forget_calls();
    stage.passes(DAY);
    let sent = stage.world.count(Method::Release);
    assert!((5..15).contains(&sent), "{sent} times in a day");
}

#[test]
fn word_whose_answer_got_lost_may_be_sent_twice() {
    let (stage, snapshot, restored) = with_restored();
    stage.world.after(Method::Release).nth(1).fails_in_passing();
    stage.captures(&restored, "own");
    stage.world.finish_background();
    stage.passes(HOUR);
    assert_eq!(stage.world.count(Method::Release), 2);
    assert!(holders(&stage, &snapshot).is_empty());
    stage.assert_settled();
}

#[test]
fn the_snapshot_of_its_own_does_not_wait_for_the_word() {
    let (stage, _, restored) = with_restored();
    stage.world.before(Method::Release).fails_in_passing();
    stage.captures(&restored, "own");
}

#[test]
fn word_outlives_the_worker() {
    let (stage, snapshot, restored) = with_restored();
    stage.captures(&restored, "own");
    stage.restart();
    stage.passes(HOUR);
    assert!(holders(&stage, &snapshot).is_empty());
}

#[test]
fn word_from_somebody_who_holds_nothing_changes_nothing() {
    let (stage, snapshot, restored) = with_restored();
    stage.of("agent-42").release(snapshot.snapshot_id(), &sandbox("agent-7")).unwrap();
    let other = stage.captures("agent-42", "other");
    stage.of("agent-42").release(other.snapshot_id(), &sandbox(&restored)).unwrap();
    assert_eq!(holders(&stage, &snapshot), [restored]);
}

#[test]
fn word_from_a_sandbox_that_is_still_being_made_changes_nothing() {
    let (stage, snapshot) = Stage::with_snapshot();
    let gate = stage.world.before(Method::RestoreBackup).held();
    let restoring = stage.begin(Operation::Restore, &by_ref(&snapshot));
    assert!(gate.is_reached());
    stage.of("agent-42").release(snapshot.snapshot_id(), &sandbox(&stage.minted())).unwrap();
    stage.run(Operation::Delete, &by_ref(&snapshot)).fails_as(Code::SnapshotBusy);
    gate.open();
    restoring.answer().unwrap();
    assert_eq!(holders(&stage, &snapshot), [stage.minted()]);
}

#[test]
fn a_released_snapshot_expires_from_its_last_use_on() {
    let (stage, snapshot, restored) = with_restored();
    stage.captures("agent-42", "newest");
    stage.passes(60 * DAY);
    stage.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    stage.captures(&restored, "own");
    stage.world.finish_background();
    stage.passes(HOUR);
    stage.restore(&snapshot).fails_as(Code::SnapshotNotFound);
}

#[test]
fn a_released_snapshot_that_is_counted_out_goes_soon() {
    let (stage, snapshot, restored) = with_restored();
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    stage.run(Operation::SetRetention, &policy).unwrap();
    stage.captures("agent-42", "newest");
    stage.passes(HOUR);
    stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap();
    stage.captures(&restored, "own");
    stage.world.finish_background();
    stage.passes(HOUR);
    stage.restore(&snapshot).fails_as(Code::SnapshotNotFound);
}

#[test]
fn a_failed_restore_holds_nothing() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::SandboxUnavailable);
    assert!(holders(&stage, &snapshot).is_empty());
}

#[test]
fn a_sandbox_of_an_application_holds_nothing_and_sends_no_word() {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "one");
    stage.world.finish_background();
    assert_eq!(stage.world.count(Method::Release), 0);
}

#[test]
fn an_import_is_no_snapshot_of_its_own() {
    let (stage, snapshot, restored) = with_restored();
    let handle = stage.world.backs_up(&restored, None);
    stage.run(Operation::Import, &json!({ "sandboxId": restored, "backup": handle, "label": "own" })).unwrap();
    stage.world.finish_background();
    assert_eq!(holders(&stage, &snapshot), [restored]);
}

impl Stage {
    fn assert_no_word_is_left(&self) {
        for id in self.world.workspaces() {
            assert_eq!(self.ledger(&id).releases().unwrap(), [], "{id}");
        }
    }
}
