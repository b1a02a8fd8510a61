//! A backup that the ledger does not know comes in by an import, and never silently.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{BackupHandle, Code, Error, SnapshotRef};
use serde_json::json;

use super::support::{Checked, DAY, FILE, HOUR, Method, Stage, World, by_label, by_ref, foreign_mark};

/// The mark of a snapshot of `agent-42` that an earlier version took.
const EARLIER: &str = "snapshotter/1 snap-0123456789abcdef agent-42";

fn import(stage: &Stage, id: &str, handle: &BackupHandle) -> Result<SnapshotRef, Error> {
    let answer = stage.run(Operation::Import, &json!({ "sandboxId": id, "backup": handle }))?;
    Ok(SnapshotRef::decode(&answer).unwrap())
}

/// A backup of `agent-42` under a name or none, made without the snapshotter.
fn with_backup(name: Option<&str>) -> (Stage, BackupHandle) {
    let stage = Stage::with_sandbox();
    let handle = stage.world.backs_up("agent-42", name);
    (stage, handle)
}

fn refused(code: Code, name: Option<&str>, change: impl FnOnce(&World)) -> Error {
    let (stage, handle) = with_backup(name);
    change(&stage.world);
    let error = import(&stage, "agent-42", &handle).fails_as(code);
    let page = stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    assert_eq!(page["snapshots"], json!([]), "nothing was kept");
    error
}

#[test]
fn a_backup_of_the_sdk_can_be_restored_after_its_import() {
    for name in [None, Some("nightly"), Some(EARLIER)] {
        let (stage, handle) = with_backup(name);
        let snapshot = import(&stage, "agent-42", &handle).unwrap();
        let restored = stage.restore(&snapshot).unwrap();
        assert!(stage.world.files(restored.sandbox_id().as_str()).unwrap().contains_key(FILE), "{name:?}");
    }
}

#[test]
fn no_sandbox_is_touched() {
    let (stage, handle) = with_backup(None);
    import(&stage, "agent-42", &handle).unwrap();
    assert_eq!(stage.world.calls_about("agent-42"), []);
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn the_snapshot_of_an_earlier_version_keeps_its_id() {
    let (stage, handle) = with_backup(Some(EARLIER));
    let snapshot = import(&stage, "agent-42", &handle).unwrap();
    assert_eq!(snapshot.snapshot_id().as_str(), "snap-0123456789abcdef");
    assert_eq!((snapshot.origin_id().as_str(), snapshot.root_id().as_str()), ("agent-42", "agent-42"));
}

#[test]
fn the_snapshot_is_as_old_as_its_backup() {
    let (stage, handle) = with_backup(None);
    stage.world.pass(DAY);
    let snapshot = import(&stage, "agent-42", &handle).unwrap();
    assert_eq!(snapshot.created_at(), stage.world.metadata_of(handle.id().as_str()).created_at);
    let got = stage.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!((&got["ageSeconds"], &got["restorable"]), (&json!(DAY / 1000), &json!("yes")));
}

#[test]
fn what_is_older_than_a_snapshot_is_listed_behind_it() {
    let (stage, handle) = with_backup(None);
    stage.captures("agent-42", "newer");
    import(&stage, "agent-42", &handle).unwrap();
    let page = stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(page["snapshots"][0]["label"], "newer");
}

#[test]
fn it_is_shown_that_it_was_imported_where_it_was_not_made_here() {
    let foreign = foreign_mark(1, "agent-42");
    for name in [None, Some("nightly"), Some(EARLIER), Some(foreign.as_str())] {
        let (stage, handle) = with_backup(name);
        let snapshot = import(&stage, "agent-42", &handle).unwrap();
        let manifest = stage.run(Operation::Manifest, &by_ref(&snapshot)).unwrap();
        assert_eq!(manifest["imported"], true, "{name:?}");
    }
    let stage = Stage::with_sandbox();
    let orphan = stage.orphans("agent-42");
    assert_eq!(import(&stage, "agent-42", orphan.backup()).unwrap(), orphan);
    assert_eq!(stage.run(Operation::Manifest, &by_ref(&orphan)).unwrap()["imported"], false);
}

#[test]
fn an_import_takes_a_label_and_an_expiration() {
    let (stage, handle) = with_backup(None);
    let arguments = json!({ "sandboxId": "agent-42", "backup": handle, "label": "nightly", "expirationSeconds": 7200 });
    let taken = stage.run(Operation::Import, &arguments).unwrap();
    assert_eq!(taken["capture"]["label"], "nightly");
    assert_eq!(stage.run(Operation::Manifest, &by_label("nightly")).unwrap()["expirationSeconds"], 7200);
}

#[test]
fn a_label_that_is_taken_is_refused_or_replaced() {
    let (stage, handle) = with_backup(None);
    stage.captures("agent-42", "latest");
    let mut arguments = json!({ "sandboxId": "agent-42", "backup": handle, "label": "latest" });
    stage.run(Operation::Import, &arguments).fails_as(Code::LabelTaken);
    arguments["replace"] = json!(true);
    let taken = stage.run(Operation::Import, &arguments).unwrap();
    let found = stage.run(Operation::Get, &by_label("latest")).unwrap();
    assert_eq!(found["snapshotId"], taken["ref"]["snapshotId"]);
}

#[test]
fn importing_twice_is_importing_once() {
    for name in [None, Some(EARLIER)] {
        let (stage, handle) = with_backup(name);
        let first = import(&stage, "agent-42", &handle).unwrap();
        stage.world.pass(DAY);
        assert_eq!(import(&stage, "agent-42", &handle).unwrap(), first, "{name:?}");
    }
}

#[test]
fn importing_twice_at_the_same_time_is_importing_once() {
    let (stage, handle) = with_backup(None);
    let arguments = json!({ "sandboxId": "agent-42", "backup": handle });
    let gate = stage.world.after(Method::Archive).nth(1).held();
    let first = stage.begin(Operation::Import, &arguments);
    let second = stage.run(Operation::Import, &arguments).unwrap();
    gate.open();
    assert_eq!(first.answer().unwrap()["ref"], second["ref"]);
}

#[test]
fn a_snapshot_of_this_version_may_be_imported_too() {
    let (stage, snapshot) = Stage::with_snapshot();
    assert_eq!(import(&stage, "agent-42", snapshot.backup()).unwrap(), snapshot);
}

#[test]
fn a_snapshot_whose_ledger_was_lost_comes_back_by_its_import() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.orphans("agent-42");
    assert_eq!(import(&stage, "agent-42", snapshot.backup()).unwrap(), snapshot);
}

#[test]
fn the_backup_of_another_sandbox_is_refused() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.runs("agent-7");
    import(&stage, "agent-7", snapshot.backup()).fails_as(Code::RefMismatch);
}

#[test]
fn a_copy_of_a_snapshots_backup_is_refused() {
    let (stage, snapshot) = Stage::with_snapshot();
    let mark = stage.world.name_of(snapshot.backup().id().as_str());
    let copy = stage.world.backs_up("agent-42", mark.as_deref());
    import(&stage, "agent-42", &copy).fails_as(Code::RefMismatch);
    assert_eq!(stage.world.stored().len(), 2, "nothing is deleted");
}

#[test]
fn the_backup_of_a_snapshot_that_is_being_made_is_refused() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.after(Method::CreateBackup).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("soon"));
    let handle: BackupHandle =
        serde_json::from_value(json!({ "id": stage.world.stored()[0], "dir": "/workspace", "localBucket": true }))
            .unwrap();
    import(&stage, "agent-42", &handle).fails_as(Code::RefMismatch);
    gate.open();
    capture.answer().unwrap();
}

#[test]
fn a_handle_of_another_directory_is_refused() {
    let (stage, handle) = with_backup(None);
    let mut altered = json!(handle);
    altered["dir"] = json!("/home");
    let arguments = json!({ "sandboxId": "agent-42", "backup": altered });
    stage.run(Operation::Import, &arguments).fails_as(Code::RefMismatch);
}

#[test]
fn what_is_not_whole_is_refused() {
    refused(Code::BackupNotFound, None, World::empty_bucket);
    refused(Code::BackupIncomplete, None, |world| world.spoil(|backup| backup.archive = None));
    refused(Code::BackupIncomplete, Some(EARLIER), |world| world.spoil_archive(|archive| archive.push(0)));
    refused(Code::StorageUnavailable, None, |world| world.before(Method::Metadata).fails_in_passing());
}

#[test]
fn what_the_sdk_restores_no_more_is_refused() {
    refused(Code::BackupExpired, Some("nightly"), |world| world.pass(3 * DAY));
}

#[test]
fn what_the_sdk_will_not_restore_for_long_is_shown_with_its_end() {
    let (stage, handle) = with_backup(None);
    let snapshot = import(&stage, "agent-42", &handle).unwrap();
    stage.passes(3 * DAY);
    let got = stage.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(got["restorable"], "no");
    stage.restore(&snapshot).fails_as(Code::BackupExpired);
}

#[test]
fn what_was_not_made_here_stays_when_its_snapshot_goes() {
    let foreign = foreign_mark(1, "agent-42");
    for name in [Some(foreign.as_str()), Some(EARLIER), Some("nightly"), None] {
        for has_workspace in [true, false] {
            let (stage, handle) = with_backup(name);
            if has_workspace {
                stage.captures("agent-42", "own");
            }
            let stored = stage.world.stored();
            let snapshot = import(&stage, "agent-42", &handle).unwrap();
            stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
            stage.passes(DAY / 2);
            assert_eq!((stage.world.stored(), stage.world.count(Method::Delete)), (stored, 0), "{name:?}");
        }
    }
}

#[test]
fn what_was_made_here_goes_with_its_snapshot_though_it_came_back_by_an_import() {
    let stage = Stage::with_sandbox();
    let orphan = stage.orphans("agent-42");
    let snapshot = import(&stage, "agent-42", orphan.backup()).unwrap();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    stage.passes(HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn what_was_not_made_here_is_whole_whatever_mark_it_carries() {
    let foreign = foreign_mark(1, "agent-42");
    for name in [Some(foreign.as_str()), Some(EARLIER), Some("nightly"), None] {
        let (stage, handle) = with_backup(name);
        let snapshot = import(&stage, "agent-42", &handle).unwrap();
        assert_eq!(stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], true, "{name:?}");
    }
}

#[test]
fn what_was_not_made_here_can_be_imported_again_when_it_was_let_go() {
    let foreign = foreign_mark(1, "agent-42");
    for name in [Some(foreign.as_str()), Some(EARLIER), Some("nightly"), None] {
        let (stage, handle) = with_backup(name);
        let snapshot = import(&stage, "agent-42", &handle).unwrap();
        stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
        let again = import(&stage, "agent-42", &handle).unwrap();
        assert_eq!(again, snapshot, "{name:?}");
        stage.restore(&again).unwrap();
    }
}

#[test]
fn what_was_made_here_is_not_imported_again_when_it_was_let_go() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::Delete).fails_in_passing();
    stage.run(Operation::Delete, &by_ref(&snapshot)).fails_as(Code::StorageUnavailable);
    import(&stage, "agent-42", snapshot.backup()).fails_as(Code::RefMismatch);
    stage.world.goes_well();
    let mark = stage.world.name_of(snapshot.backup().id().as_str());
    stage.passes(HOUR);
    let late = stage.world.backs_up("agent-42", mark.as_deref());
    import(&stage, "agent-42", &late).fails_as(Code::RefMismatch);
}

#[test]
fn an_imported_snapshot_is_let_go_by_the_policy_as_any_other() {
    let (stage, handle) = with_backup(None);
    import(&stage, "agent-42", &handle).unwrap();
    stage.captures("agent-42", "newest");
    stage
        .run(
            Operation::SetRetention,
            &json!({
                "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } },
            }),
        )
        .unwrap();
    let page = stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(page["snapshots"].as_array().map(Vec::len), Some(1), "{page}");
    assert_eq!(stage.world.stored().len(), 2, "the application's own backup stays in R2");
}
