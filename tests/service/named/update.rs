//! A workspace is changed: how it is kept, or which snapshot it goes on from.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{Checked, FILE, MINUTE, Method, Stage, WORK, for_ever};

#[test]
fn what_is_given_is_another_from_now_on_and_the_rest_stays() {
    let stage = Stage::with_work_as(&json!({ "env": { "A": "1" }, "expiry": { "idleSeconds": 0 } }));
    let changed = stage.updates(WORK, &json!({ "persistent": false, "env": { "B": "2" } })).unwrap();
    assert_eq!((&changed["persistent"], &changed["envNames"]), (&json!(false), &json!(["B"])));
    assert_eq!(changed["expiry"]["idleSeconds"], 0);
    assert_eq!(changed["state"], "active");
}

#[test]
fn another_policy_is_that_of_all_its_sandboxes() {
    let stage = Stage::with_work();
    let back = stage.saves(WORK, "first");
    stage.goes_back(WORK, &back).unwrap();
    stage.updates(WORK, &json!({ "retention": { "keepLast": { "count": 1 } } })).unwrap();
    for id in stage.record(WORK).sandboxes() {
        let policy = stage.run(Operation::Retention, &json!({ "sandboxId": id })).unwrap()["policy"].clone();
        assert_eq!(policy["keepLast"]["count"], 1, "{id}");
    }
}

#[test]
fn a_new_time_limit_counts_at_once() {
    let stage = Stage::with_work();
    stage.updates(WORK, &json!({ "expiry": { "idleSeconds": 60, "maxSeconds": 0 } })).unwrap();
    stage.passes(5 * MINUTE);
    assert_eq!(stage.state(WORK), "stopped");
}

#[test]
fn what_snapshots_depend_on_is_known_to_the_next_snapshot() {
    let stage = Stage::with_work();
    stage.world.writes(&stage.sandbox_of(WORK), "/etc/version", "1");
    stage.updates(WORK, &json!({ "dependsOn": { "files": ["/etc/version"], "fingerprint": "v1" } })).unwrap();
    stage.stops(WORK).unwrap();
    let rows = stage.ledger(&stage.sandbox_of(WORK)).page(None, None, 1).unwrap();
    let dependencies = rows[0].dependencies.clone().unwrap();
    assert_eq!(dependencies.fingerprint.as_deref(), Some("v1"));
    assert_eq!(dependencies.files["/etc/version"].len(), 64);
}

#[test]
fn what_an_update_says_of_dependencies_starts_nothing() {
    for prepare in [Stage::with_stopped_work, Stage::with_diverged_work] {
        let stage = prepare();
        let files = stage.world.files(&stage.sandbox_of(WORK));
        stage.updates(WORK, &json!({ "dependsOn": { "fingerprint": "v1" } })).unwrap();
        assert_eq!(stage.world.files(&stage.sandbox_of(WORK)), files);
    }
}

/// `work` is active with `second`, and was stopped with `first` before, in the snapshot that is answered.
fn with_two_states() -> (Stage, Value) {
    let stage = Stage::with_work();
    let first = stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.pass(MINUTE);
    stage.writes(WORK, "second");
    stage.world.pass(MINUTE);
    stage.world.forget_calls();
    (stage, first)
}

#[test]
fn going_back_gives_the_name_a_new_sandbox_with_the_old_files() {
    let (stage, first) = with_two_states();
    let old = stage.sandbox_of(WORK);
    let changed = stage.goes_back(WORK, &first).unwrap();
    assert_eq!((&changed["state"], &changed["formerSandboxIds"]), (&json!("active"), &json!([old])));
    assert_ne!(changed["sandboxId"], json!(old));
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn the_old_sandbox_is_stopped_with_a_snapshot_and_one_can_go_forth_again() {
    let (stage, first) = with_two_states();
    let old = stage.sandbox_of(WORK);
    stage.goes_back(WORK, &first).unwrap();
    assert!(!stage.world.running().contains(&old));
    let newest = stage.snapshots_of(&old)[0].clone();
    stage.goes_back(WORK, &json!(newest)).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
    stage.passes(10 * MINUTE);
    stage.assert_settled();
}

#[test]
fn what_is_left_by_going_back_is_kept_whether_or_not_it_persists() {
    let (stage, first) = with_two_states();
    let old = stage.sandbox_of(WORK);
    let before = stage.snapshots_of(&old).len();
    stage.updates(WORK, &json!({ "currentSnapshotId": first, "persistent": false })).unwrap();
    assert_eq!(stage.snapshots_of(&old).len(), before + 1);
}

#[test]
fn going_back_is_in_the_history_also_when_it_is_stopped() {
    let (stage, first) = with_two_states();
    stage.stops(WORK).unwrap();
    stage.goes_back(WORK, &first).unwrap();
    let described = stage.described(WORK).unwrap();
    assert!(described["history"][0]["cause"].as_str().unwrap().contains(first.as_str().unwrap()), "{described}");
}

#[test]
fn going_back_mutates_no_snapshot() {
    let (stage, first) = with_two_states();
    let old = stage.sandbox_of(WORK);
    let before = stage.snapshots_of(&old);
    stage.goes_back(WORK, &first).unwrap();
    let after = stage.snapshots_of(&old);
    assert!(after.ends_with(&before), "{before:?} {after:?}");
}

#[test]
fn one_that_is_stopped_stays_stopped_and_goes_on_from_there_when_it_is_started() {
    let stage = Stage::with_work();
    let first = stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    stage.saves(WORK, "second");
    let changed = stage.goes_back(WORK, &first).unwrap();
    assert_eq!(changed["state"], "stopped");
    assert!(stage.world.running().is_empty());
    let started = stage.starts(WORK, &json!({})).unwrap();
    assert_eq!((&started["restoredFrom"], stage.file(WORK)), (&first, Some("first".into())));
}

#[test]
fn going_back_is_told_to_the_directory_also_when_it_is_stopped() {
    let stage = Stage::with_work();
    let first = stage.saves(WORK, "first");
    stage.goes_back(WORK, &first).unwrap();
    let listed = stage.run(Operation::ListWorkspaces, &json!({})).unwrap();
    assert_eq!(listed["workspaces"][0]["sandboxId"], json!(stage.sandbox_of(WORK)));
}

#[test]
fn one_whose_sandbox_sleeps_goes_back_without_being_started() {
    let (stage, first) = with_two_states();
    stage.world.stops(&stage.sandbox_of(WORK));
    assert_eq!(stage.goes_back(WORK, &first).unwrap()["state"], "stopped");
    assert!(stage.world.running().is_empty());
}

#[test]
fn a_workspace_that_failed_can_go_back() {
    let stage = Stage::with_work();
    let first = stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    stage.saves(WORK, "second");
    stage.world.spoil(|backup| {
        if backup.id().to_string().ends_with('2') {
            backup.archive = None;
        }
    });
    stage.starts(WORK, &json!({})).fails_as(Code::BackupIncomplete);
    assert_eq!(stage.goes_back(WORK, &first).unwrap()["state"], "stopped");
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn a_failed_way_back_leaves_everything_as_it_was() {
    let (stage, first) = with_two_states();
    let before = stage.record(WORK);
    stage.world.before(Method::RestoreBackup).fails_with(Failure::new("BackupRestoreError", "no room"));
    stage.goes_back(WORK, &first).fails_as(Code::RestoreFailed);
    let after = stage.record(WORK);
    assert_eq!((&after.sandbox_id, after.state, &after.former), (&before.sandbox_id, before.state, &before.former));
    assert_eq!(after.history, before.history);
    assert_eq!(stage.file(WORK).unwrap(), "second");
    assert_eq!(stage.world.running().len(), 1);
    stage.world.goes_well();
    stage.passes(10 * MINUTE);
    stage.assert_settled();
}

#[test]
fn a_failed_way_back_changes_no_setting() {
    let (stage, first) = with_two_states();
    stage.world.before(Method::RestoreBackup).fails_with(Failure::new("BackupRestoreError", "no room"));
    let asked = json!({ "currentSnapshotId": first, "persistent": false, "retention": { "keepDaily": 2 } });
    stage.updates(WORK, &asked).fails_as(Code::RestoreFailed);
    let described = stage.described(WORK).unwrap();
    assert_eq!((&described["persistent"], &described["retention"]["keepDaily"]), (&json!(true), &json!(0)));
}

#[test]
fn a_way_back_with_other_settings_begins_with_them() {
    let (stage, first) = with_two_states();
    let asked = json!({ "currentSnapshotId": first, "env": { "A": "1" }, "retention": { "keepDaily": 2 } });
    stage.updates(WORK, &asked).unwrap();
    assert_eq!(stage.world.env_of(&stage.sandbox_of(WORK))["A"], "1");
    for id in stage.record(WORK).sandboxes() {
        let policy = stage.run(Operation::Retention, &json!({ "sandboxId": id })).unwrap()["policy"].clone();
        assert_eq!(policy["keepDaily"], 2, "{id}");
    }
}

#[test]
fn a_failed_way_back_holds_no_snapshot() {
    let (stage, first) = with_two_states();
    stage.world.before(Method::RestoreBackup).fails_with(Failure::new("BackupRestoreError", "no room"));
    stage.goes_back(WORK, &first).fails_as(Code::RestoreFailed);
    stage.world.goes_well();
    stage.world.finish_background();
    let selection = json!({ "sandboxId": stage.sandbox_of(WORK), "snapshotId": first });
    assert_eq!(stage.run(Operation::Get, &selection).unwrap()["holders"], json!([]));
}

#[test]
fn one_goes_back_to_what_the_workspace_was_made_from() {
    let stage = Stage::with_work();
    let forked = stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    stage.world.pass(MINUTE);
    stage.saves("other", "second");
    stage.starts("other", &json!({})).unwrap();
    stage.goes_back("other", &forked["snapshotId"]).unwrap();
    assert_eq!(stage.file("other").unwrap(), "first");
}

#[test]
fn one_does_not_go_back_to_what_is_not_the_workspaces() {
    let (stage, _) = with_two_states();
    stage.creates("other", &for_ever()).unwrap();
    let foreign = stage.saves("other", "x");
    stage.goes_back(WORK, &foreign).fails_as(Code::SnapshotNotFound);
    stage.goes_back(WORK, &json!("snap-abcdefghij012345")).fails_as(Code::SnapshotNotFound);
}

#[test]
fn one_does_not_go_back_to_another_directory() {
    let (stage, _) = with_two_states();
    let id = stage.sandbox_of(WORK);
    stage.world.writes(&id, "/home/x", "y");
    let other = stage.run(Operation::Snapshot, &json!({ "sandboxId": id, "dir": "/home" })).unwrap();
    stage.goes_back(WORK, &other["ref"]["snapshotId"]).fails_as(Code::InvalidArgument);
}

#[test]
fn an_id_that_is_the_workspaces_own_is_not_drawn_for_it_again() {
    let (stage, first) = with_two_states();
    stage.world.draws_next(Some([3; 32]));
    stage.goes_back(WORK, &first).unwrap();
    let second = stage.sandbox_of(WORK);
    stage.world.draws_next(Some([3; 32]));
    stage.goes_back(WORK, &first).unwrap();
    assert_ne!(stage.sandbox_of(WORK), second);
    assert_eq!(stage.ledger(&second).workspace().unwrap().unwrap().retired_at, None);
    stage.passes(10 * MINUTE);
    stage.assert_settled();
}

#[test]
fn an_old_sandbox_that_cannot_be_captured_runs_on_until_it_can() {
    let (stage, first) = with_two_states();
    let old = stage.sandbox_of(WORK);
    stage.world.before(Method::CreateBackup).fails_with(Failure::new("BackupCreateError", "no room"));
    stage.goes_back(WORK, &first).unwrap();
    assert_eq!(stage.world.files(&old).unwrap()[FILE], "second");
    stage.world.goes_well();
    stage.passes(5 * MINUTE);
    assert!(!stage.world.running().contains(&old));
    let newest = stage.snapshots_of(&old)[0].clone();
    stage.goes_back(WORK, &json!(newest)).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn an_update_waits_for_its_turn() {
    let stage = Stage::with_work();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let stop = stage.begins(Operation::StopWorkspace, WORK, &json!({}));
    let mut update = stage.begins(Operation::UpdateWorkspace, WORK, &json!({ "persistent": false }));
    assert!(!update.is_done());
    gate.open();
    stop.answer().unwrap();
    assert_eq!(update.answer().unwrap()["state"], "stopped");
}

#[test]
fn a_snapshot_that_cannot_be_looked_for_is_not_said_to_be_missing() {
    let (stage, first) = with_two_states();
    stage.world.before(Method::Find).fails_in_passing();
    stage.goes_back(WORK, &first).fails_as(Code::WorkspaceUnavailable);
}

#[test]
fn what_the_former_sandbox_is_left_with_is_not_the_last_snapshot_of_the_new_one() {
    let (stage, first) = with_two_states();
    stage.goes_back(WORK, &first).unwrap();
    stage.passes(5 * MINUTE);
    assert_eq!(stage.snapshots_of(stage.record(WORK).former[0].as_str()).len(), 2);
    assert_eq!(stage.record(WORK).last_snapshot, None);
}

#[test]
fn an_id_that_was_drawn_and_is_somebodys_is_left_to_him() {
    let (stage, first) = with_two_states();
    let taken = format!("{}-restored-aaaaaaaa", stage.sandbox_of(WORK));
    stage.runs(&taken);
    stage.captures(&taken, "an application's own");
    stage.world.forget_calls();
    stage.world.draws_next(Some([0; 32]));
    stage.goes_back(WORK, &first).unwrap();
    assert_ne!(stage.sandbox_of(WORK), taken);
    assert!(stage.world.calls_about(&taken).contains(&Method::Claim));
    assert!(!stage.world.calls_about(&taken).contains(&Method::Retire));
}

#[test]
fn one_that_goes_back_is_of_the_lineage_of_that_snapshot() {
    let stage = Stage::with_work();
    let first = stage.sandbox_of(WORK);
    stage.updates(WORK, &json!({ "persistent": false })).unwrap();
    stage.world.before(Method::Destroy).nth(1).is_never_answered();
    stage.stops(WORK).unwrap();
    stage.passes(2 * MINUTE);
    assert_ne!(stage.sandbox_of(WORK), first);
    let started = stage.starts(WORK, &json!({ "allowEmpty": true })).unwrap();
    assert_eq!(started["workspace"]["ref"]["rootId"], json!(stage.sandbox_of(WORK)));
    let [snapshot] = stage.snapshots_of(&first).try_into().unwrap();
    stage.goes_back(WORK, &json!(snapshot)).unwrap();
    let started = stage.starts(WORK, &json!({})).unwrap();
    assert_eq!((&started["how"], &started["workspace"]["ref"]["rootId"]), (&json!("alive"), &json!(first)));
}
