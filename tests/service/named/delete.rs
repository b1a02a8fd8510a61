//! A workspace ends: its name is free at once, and its snapshots go as soon as nobody else needs them.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{Checked, HOUR, MINUTE, Method, Moment, Stage, WORK};

#[test]
fn nothing_is_left_of_a_workspace_that_was_deleted() {
    let stage = Stage::with_work();
    stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    let deleted = stage.deletes(WORK).unwrap();
    let expected = json!({ "name": WORK, "removed": true, "removedSnapshots": 1, "kept": [], "pending": [] });
    assert_eq!(deleted, expected);
    assert!(stage.world.running().is_empty());
    stage.assert_nothing_stored();
    stage.passes(3 * HOUR);
    stage.assert_settled();
}

#[test]
fn one_that_is_gone_already_is_fine() {
    let stage = Stage::with_work();
    stage.deletes(WORK).unwrap();
    assert_eq!(stage.deletes(WORK).unwrap()["removed"], false);
    assert_eq!(stage.deletes("never").unwrap()["removed"], false);
}

#[test]
fn it_is_not_there_any_more() {
    let stage = Stage::with_stopped_work();
    stage.deletes(WORK).unwrap();
    stage.described(WORK).fails_as(Code::WorkspaceNotFound);
    stage.starts(WORK, &json!({})).fails_as(Code::WorkspaceNotFound);
    assert_eq!(stage.run(Operation::ListWorkspaces, &json!({})).unwrap()["workspaces"], json!([]));
}

#[test]
fn its_variables_and_commands_are_not_kept() {
    let stage = Stage::with_work_as(&json!({
        "env": { "TOKEN": "secret" },
        "hooks": { "onTimeout": { "command": "secret" } },
        "dependsOn": { "files": ["secret"] },
    }));
    stage.deletes(WORK).unwrap();
    let kept = serde_json::to_string(&stage.record(WORK)).unwrap();
    assert!(!kept.contains("secret"), "{kept}");
}

#[test]
fn its_name_can_be_given_again_and_never_brings_the_former_files_back() {
    let stage = Stage::with_stopped_work();
    let former = stage.sandbox_of(WORK);
    stage.deletes(WORK).unwrap();
    let created = stage.creates(WORK, &json!({})).unwrap();
    assert_eq!((&created["how"], created.get("lastSnapshot")), (&json!("empty"), None));
    assert_ne!(created["sandboxId"], json!(former));
    stage.world.stops(&stage.sandbox_of(WORK));
    stage.starts(WORK, &json!({})).fails_as(Code::NothingRestorable);
    assert_eq!(stage.starts(WORK, &json!({ "allowEmpty": true })).unwrap()["how"], "empty");
    assert_eq!(stage.file(WORK), None);
}

#[test]
fn its_name_can_be_given_again_while_its_sandboxes_cannot_be_reached() {
    let stage = Stage::with_work();
    let former = stage.sandbox_of(WORK);
    stage.world.before(Method::Retire).fails_in_passing();
    assert_eq!(stage.deletes(WORK).unwrap()["pending"], json!([former]));
    assert_eq!(stage.deletes(WORK).unwrap()["pending"], json!([former]), "asked again");
    stage.creates(WORK, &json!({ "expiry": { "idleSeconds": 0 } })).unwrap();
    stage.world.goes_well();
    stage.passes(HOUR);
    assert!(!stage.world.running().contains(&former) && stage.is_up(WORK));
    stage.assert_settled();
}

#[test]
fn the_snapshots_of_all_its_sandboxes_go() {
    let stage = Stage::with_work();
    let first = stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    stage.goes_back(WORK, &first).unwrap();
    stage.world.pass(MINUTE);
    stage.stops(WORK).unwrap();
    let deleted = stage.deletes(WORK).unwrap();
    stage.world.finish_background();
    stage.passes(HOUR);
    assert_eq!((&deleted["kept"], &deleted["pending"]), (&json!([]), &json!([])));
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_snapshot_that_only_its_own_sandboxes_need_is_not_kept_for_others() {
    let stage = Stage::with_work();
    let first = stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    // The new sandbox has no snapshot of its own, and word that it does not need this one takes its time.
    stage.goes_back(WORK, &first).unwrap();
    let word = stage.world.before(Method::Release).nth(1).held();
    let deleted = stage.deletes(WORK).unwrap();
    assert_eq!((&deleted["kept"], &deleted["removedSnapshots"]), (&json!([]), &json!(2)));
    word.open();
    stage.passes(HOUR);
    stage.assert_nothing_stored();
}

/// `work` was deleted while a fork of it needs its snapshot.
fn with_fork() -> (Stage, Value) {
    let stage = Stage::with_work();
    stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    stage.world.pass(MINUTE);
    let deleted = stage.deletes(WORK).unwrap();
    stage.passes(2 * MINUTE);
    (stage, deleted)
}

#[test]
fn snapshots_that_others_need_are_kept_and_named() {
    let (stage, deleted) = with_fork();
    let former = stage.record(WORK).sandbox_id;
    assert_eq!(deleted["kept"][0]["holders"], json!([stage.sandbox_of("other")]));
    assert_eq!((&deleted["kept"][0]["originId"], &deleted["removedSnapshots"]), (&json!(former), &json!(0)));
    stage.world.stops(&stage.sandbox_of("other"));
    stage.starts("other", &json!({})).unwrap();
    assert_eq!(stage.file("other").unwrap(), "first");
}

#[test]
fn they_go_when_they_are_released() {
    let (stage, _) = with_fork();
    stage.stops("other").unwrap();
    stage.passes(HOUR);
    assert_eq!(stage.world.stored().len(), 1, "that of the fork");
    stage.assert_settled();
}

#[test]
fn they_go_when_those_who_needed_them_are_deleted() {
    let (stage, _) = with_fork();
    stage.deletes("other").unwrap();
    stage.passes(HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn pinned_snapshots_are_kept_and_go_when_they_are_unpinned() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    let selection = json!({ "sandboxId": id, "snapshotId": stage.snapshots_of(&id)[0] });
    stage.run(Operation::Pin, &selection).unwrap();
    let deleted = stage.deletes(WORK).unwrap();
    assert_eq!((&deleted["kept"][0]["pinned"], &deleted["kept"][0]["holders"]), (&json!(true), &json!([])));
    stage.passes(HOUR);
    assert_eq!(stage.world.stored().len(), 1);
    stage.run(Operation::Unpin, &selection).unwrap();
    stage.passes(HOUR);
    stage.assert_nothing_stored();
}

#[test]
fn a_snapshot_that_r2_fails_to_delete_follows() {
    let stage = Stage::with_stopped_work();
    stage.world.before(Method::Delete).fails_in_passing();
    assert_eq!(stage.deletes(WORK).unwrap()["removedSnapshots"], 1);
    assert_eq!(stage.world.stored().len(), 1);
    stage.world.goes_well();
    stage.passes(HOUR);
    stage.assert_nothing_stored();
}

#[test]
fn a_sandbox_that_cannot_be_ended_is_pending_until_it_can() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::Destroy).fails_in_passing();
    assert_eq!(stage.deletes(WORK).unwrap()["pending"], json!([id]));
    stage.world.goes_well();
    stage.passes(HOUR);
    assert!(stage.world.running().is_empty());
    stage.assert_settled();
}

#[test]
fn a_sandbox_of_a_deleted_workspace_that_runs_again_is_ended_again() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    stage.deletes(WORK).unwrap();
    stage.world.writes(&id, "/workspace/x", "late");
    stage.passes(2 * MINUTE);
    assert!(stage.world.running().is_empty());
}

#[test]
fn a_sandbox_of_a_deleted_workspace_is_not_captured() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    stage.deletes(WORK).unwrap();
    stage.world.writes(&id, "/workspace/x", "late");
    for wake in [false, true] {
        stage.run(Operation::Snapshot, &json!({ "sandboxId": id, "wake": wake })).fails_as(Code::WorkspaceNotFound);
    }
    stage.assert_nothing_stored();
}

#[test]
fn a_delete_during_a_stop_begins_when_that_is_done() {
    let stage = Stage::with_work();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let stop = stage.begins(Operation::StopWorkspace, WORK, &json!({}));
    let delete = stage.begins(Operation::DeleteWorkspace, WORK, &json!({}));
    gate.open();
    stop.answer().unwrap();
    assert_eq!(delete.answer().unwrap()["removedSnapshots"], 1);
    stage.assert_nothing_stored();
}

#[test]
fn a_snapshot_that_is_being_taken_meanwhile_goes_too() {
    for (method, moment) in [(Method::CreateBackup, Moment::Before), (Method::Archive, Moment::After)] {
        let stage = Stage::with_work();
        let gate = stage.world.at(method, moment).nth(1).held();
        let capture = stage.begin(Operation::Snapshot, &json!({ "sandboxId": stage.sandbox_of(WORK) }));
        stage.world.go_on_in_background();
        assert!(gate.is_reached(), "{method:?}");
        stage.deletes(WORK).unwrap();
        gate.open();
        drop(capture.answer());
        stage.passes(3 * HOUR);
        stage.assert_nothing_stored();
        stage.assert_settled();
    }
}

#[test]
fn a_workspace_of_which_there_was_no_snapshot_leaves_no_row_that_anybody_needs() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    stage.deletes(WORK).unwrap();
    assert!(stage.ledger(&id).workspace().unwrap().unwrap().retired_at.is_some());
    assert!(stage.ledger(&id).page(None, None, 1).unwrap().is_empty());
}
