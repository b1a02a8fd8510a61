//! A workspace that continues in another sandbox leaves one snapshot of its former files, unless they changed since it was
//! taken.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Failure;
use serde_json::{Value, json};

use crate::support::{FILE, Fixture, HOUR, MINUTE, Method, WORKSPACE};

/// The active workspace `work`, and a fork of it. Calls are counted from now on.
fn with_fork() -> Fixture {
    let fixture = Fixture::with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "unsaved");
    fixture.world.advance_clock(MINUTE);
    fixture.world.reset_calls();
    fixture
}

/// The active workspace `work` with the content `unsaved`, and a snapshot with the content `good`.
fn with_good_snapshot() -> (Fixture, Value) {
    let fixture = Fixture::with_workspace();
    let good = fixture.stop_with_content(WORKSPACE, "good");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "unsaved");
    (fixture, good)
}

#[track_caller]
fn promote(fixture: &Fixture) -> Value {
    fixture.promote_workspace(WORKSPACE, &json!({ "from": "try" })).unwrap()
}

/// Returns the snapshots of the former sandbox that were taken before the promotion, newest first.
fn before_promotion(fixture: &Fixture) -> Vec<String> {
    let former = fixture.record(WORKSPACE).former_sandbox_ids[0].to_string();
    let page = fixture.run(Operation::List, &json!({ "sandboxId": former })).unwrap();
    let rows = page["snapshots"].as_array().unwrap().iter();
    rows.filter(|row| row["cause"] == "beforePromotion")
        .map(|row| row["snapshotId"].as_str().unwrap().to_owned())
        .collect()
}

/// Goes back to the files from before the promotion, and returns them.
#[track_caller]
fn former_content(fixture: &Fixture) -> Option<String> {
    let former = fixture.get_workspace(WORKSPACE).unwrap()["formerSnapshotId"].clone();
    fixture.revert_workspace(WORKSPACE, &former).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.read_workspace_file(WORKSPACE)
}

#[test]
fn promotion_leaves_one_snapshot_of_files_that_do_not_change() {
    let fixture = with_fork();
    let promoted = promote(&fixture);
    assert_eq!(before_promotion(&fixture), [promoted["formerSnapshotId"].as_str().unwrap()]);
    assert_eq!(former_content(&fixture).as_deref(), Some("unsaved"));
}

#[test]
fn start_from_a_snapshot_leaves_one_snapshot_too() {
    let (fixture, good) = with_good_snapshot();
    let former = fixture.sandbox_of(WORKSPACE);
    let before = fixture.snapshots_of(&former).len();
    fixture.start_workspace(WORKSPACE, &json!({ "from": good })).unwrap();
    assert_eq!(fixture.snapshots_of(&former).len(), before + 1);
    assert_eq!(former_content(&fixture).as_deref(), Some("unsaved"));
}

#[test]
fn files_without_a_change_since_a_start_are_captured_once() {
    let fixture = Fixture::with_workspace();
    fixture.stop_with_content(WORKSPACE, "saved");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    promote(&fixture);
    assert_eq!(before_promotion(&fixture).len(), 1);
    assert_eq!(former_content(&fixture).as_deref(), Some("saved"));
}

#[test]
fn rollback_saves_the_present_files_before_it_starts_a_sandbox() {
    let (fixture, good) = with_good_snapshot();
    let before = fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)).len();
    fixture.world.reset_calls();
    fixture.world.before(Method::Reserve).nth(1).fail_with(Failure::new("Error", "no room"));
    fixture.revert_workspace(WORKSPACE, &good).unwrap_err();
    let sandbox = fixture.sandbox_of(WORKSPACE);
    assert_eq!(fixture.snapshots_of(&sandbox).len(), before + 1);
    fixture.world.clear_faults();
    fixture.world.end_container(&sandbox);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("unsaved"));
}

#[test]
fn rollback_leaves_one_snapshot_of_files_that_do_not_change() {
    let (fixture, good) = with_good_snapshot();
    let former = fixture.sandbox_of(WORKSPACE);
    let before = fixture.snapshots_of(&former).len();
    fixture.revert_workspace(WORKSPACE, &good).unwrap();
    assert_eq!(fixture.snapshots_of(&former).len(), before + 1);
}

#[test]
fn rollback_leaves_a_sandbox_that_can_not_be_captured() {
    let (fixture, good) = with_good_snapshot();
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("Error", "no space left"));
    fixture.revert_workspace(WORKSPACE, &good).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("good"));
    fixture.world.clear_faults();
    fixture.advance_with_alarms(5 * MINUTE);
    assert_eq!(former_content(&fixture).as_deref(), Some("unsaved"));
}

#[test]
fn what_is_written_after_the_snapshot_is_captured_at_the_stop() {
    let fixture = with_fork();
    let id = fixture.world_id(&fixture.sandbox_of(WORKSPACE));
    fixture.world.before(Method::StopSandbox).nth(1).run(move |world| world.write_file(&id, FILE, "last"));
    let promoted = promote(&fixture);
    let taken = before_promotion(&fixture);
    assert_eq!((taken.len(), promoted["formerSnapshotId"].as_str()), (2, Some(taken[0].as_str())));
    assert_eq!(former_content(&fixture).as_deref(), Some("last"));
}

#[test]
fn what_is_written_during_the_snapshot_is_captured_at_the_stop() {
    let fixture = with_fork();
    let id = fixture.world_id(&fixture.sandbox_of(WORKSPACE));
    fixture.world.after(Method::CreateBackup).nth(2).run(move |world| world.write_file(&id, FILE, "last"));
    promote(&fixture);
    assert_eq!(before_promotion(&fixture).len(), 2);
    assert_eq!(former_content(&fixture).as_deref(), Some("last"));
}

#[test]
fn stop_captures_where_a_check_of_the_files_fails() {
    for nth in [1, 2] {
        let fixture = with_fork();
        let check = fixture.world.before(Method::ChangedSinceSave).nth(nth);
        check.fail_with(Failure::new("Error", "no answer"));
        promote(&fixture);
        assert_eq!(before_promotion(&fixture).len(), 2, "check {nth}");
        assert_eq!(former_content(&fixture).as_deref(), Some("unsaved"));
    }
}

#[test]
fn stop_captures_where_the_snapshot_was_deleted_meanwhile() {
    let fixture = with_fork();
    let old = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::StopSandbox).nth(1).fail_with(Failure::new("Error", "no answer"));
    promote(&fixture);
    fixture.world.clear_faults();
    let taken = before_promotion(&fixture).remove(0);
    fixture.run(Operation::Delete, &json!({ "sandboxId": old, "snapshotId": taken, "force": true })).unwrap();
    fixture.advance_with_alarms(5 * MINUTE);
    assert_ne!(before_promotion(&fixture), [taken]);
    assert_eq!(former_content(&fixture).as_deref(), Some("unsaved"));
}

#[test]
fn stop_captures_where_only_an_older_snapshot_for_a_promotion_remains() {
    let retention = json!({ "retention": { "expirationSeconds": 6 * 3600 } });
    let fixture = Fixture::with_workspace_options(&retention);
    let old = fixture.sandbox_of(WORKSPACE);
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.world.reset_calls();
    fixture.world.before(Method::Reserve).nth(1).fail_with(Failure::new("Error", "no room"));
    fixture.promote_workspace(WORKSPACE, &json!({ "from": "try" })).unwrap_err();
    let older = fixture.snapshots_of(&old)[0].clone();
    fixture.run(Operation::Pin, &json!({ "sandboxId": old, "snapshotId": older })).unwrap();
    fixture.world.clear_faults();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "unsaved");
    fixture.world.before(Method::Destroy).fail_with(Failure::new("Error", "no answer"));
    promote(&fixture);
    let newer = before_promotion(&fixture)[0].clone();
    fixture.advance_with_alarms(8 * HOUR);
    assert!(!fixture.snapshots_of(&old).contains(&newer), "it has expired");
    fixture.world.clear_faults();
    fixture.advance_with_alarms(HOUR);
    assert_ne!(fixture.get_workspace(WORKSPACE).unwrap()["formerSnapshotId"], json!(older));
    assert_eq!(former_content(&fixture).as_deref(), Some("unsaved"));
}

#[test]
fn stop_that_is_repeated_takes_no_further_snapshot() {
    let (fixture, good) = with_good_snapshot();
    let former = fixture.sandbox_of(WORKSPACE);
    let before = fixture.snapshots_of(&former).len();
    fixture.world.before(Method::Destroy).fail_with(Failure::new("Error", "no answer"));
    fixture.revert_workspace(WORKSPACE, &good).unwrap();
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!(fixture.snapshots_of(&former).len(), before + 1);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.snapshots_of(&former).len(), before + 1);
    assert_eq!(former_content(&fixture).as_deref(), Some("unsaved"));
}

#[test]
fn stop_of_a_workspace_takes_a_snapshot_also_without_a_change() {
    let fixture = with_fork();
    fixture.world.before(Method::Reserve).nth(1).fail_with(Failure::new("Error", "no room"));
    fixture.promote_workspace(WORKSPACE, &json!({ "from": "try" })).unwrap_err();
    fixture.world.clear_faults();
    let snapshots = fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)).len();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)).len(), snapshots + 1);
}
