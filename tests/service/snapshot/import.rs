//! `import` is the only way to add a backup that the ledger does not contain.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{BackupHandle, Code, Error, SnapshotRef};
use serde_json::json;

use crate::support::{DAY, ExpectError, FILE, Fixture, HOUR, Method, World, by_label, by_ref, foreign_mark};

/// The mark of a snapshot of `agent-42` that an earlier version made.
const EARLIER_MARK: &str = "snapshotter/1 snap-0123456789abcdef agent-42";

fn import(fixture: &Fixture, id: &str, handle: &BackupHandle) -> Result<SnapshotRef, Error> {
    let answer = fixture.run(Operation::Import, &json!({ "sandboxId": id, "backup": handle }))?;
    Ok(SnapshotRef::decode(&answer).unwrap())
}

/// Returns a backup of `agent-42` with the given name or none, which the application made itself.
fn with_backup(name: Option<&str>) -> (Fixture, BackupHandle) {
    let fixture = Fixture::with_sandbox();
    let handle = fixture.world.create_app_backup("agent-42", name);
    (fixture, handle)
}

fn expect_refused(code: Code, name: Option<&str>, change: impl FnOnce(&World)) -> Error {
    let (fixture, handle) = with_backup(name);
    change(&fixture.world);
    let error = import(&fixture, "agent-42", &handle).expect_code(code);
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    assert_eq!(page["snapshots"], json!([]), "nothing was kept");
    error
}

#[test]
fn imported_sdk_backup_can_be_restored() {
    for name in [None, Some("nightly"), Some(EARLIER_MARK)] {
        let (fixture, handle) = with_backup(name);
        let snapshot = import(&fixture, "agent-42", &handle).unwrap();
        let restored = fixture.restore(&snapshot).unwrap();
        assert!(fixture.world.files(restored.sandbox_id().as_str()).unwrap().contains_key(FILE), "{name:?}");
    }
}

#[test]
fn import_makes_no_calls_to_the_sandbox() {
    let (fixture, handle) = with_backup(None);
    import(&fixture, "agent-42", &handle).unwrap();
    assert_eq!(fixture.world.calls_about("agent-42"), []);
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn import_keeps_snapshot_id_of_earlier_version() {
    let (fixture, handle) = with_backup(Some(EARLIER_MARK));
    let snapshot = import(&fixture, "agent-42", &handle).unwrap();
    assert_eq!(snapshot.snapshot_id().as_str(), "snap-0123456789abcdef");
    assert_eq!((snapshot.origin_id().as_str(), snapshot.root_id().as_str()), ("agent-42", "agent-42"));
}

#[test]
fn imported_snapshot_has_creation_time_of_its_backup() {
    let (fixture, handle) = with_backup(None);
    fixture.world.advance_clock(DAY);
    let snapshot = import(&fixture, "agent-42", &handle).unwrap();
    assert_eq!(snapshot.created_at(), fixture.world.metadata_of(handle.id().as_str()).created_at);
    let got = fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!((&got["ageSeconds"], &got["restorable"]), (&json!(DAY / 1000), &json!("yes")));
}

#[test]
fn imported_older_backup_is_listed_after_newer_snapshot() {
    let (fixture, handle) = with_backup(None);
    fixture.snapshot_labelled("agent-42", "newer");
    import(&fixture, "agent-42", &handle).unwrap();
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(page["snapshots"][0]["label"], "newer");
}

#[test]
fn manifest_says_imported_only_for_foreign_backups() {
    let foreign = foreign_mark(1, "agent-42");
    for name in [None, Some("nightly"), Some(EARLIER_MARK), Some(foreign.as_str())] {
        let (fixture, handle) = with_backup(name);
        let snapshot = import(&fixture, "agent-42", &handle).unwrap();
        let manifest = fixture.run(Operation::Manifest, &by_ref(&snapshot)).unwrap();
        assert_eq!(manifest["imported"], true, "{name:?}");
    }
    let fixture = Fixture::with_sandbox();
    let orphan = fixture.create_orphan("agent-42");
    assert_eq!(import(&fixture, "agent-42", orphan.backup()).unwrap(), orphan);
    assert_eq!(fixture.run(Operation::Manifest, &by_ref(&orphan)).unwrap()["imported"], false);
}

#[test]
fn import_accepts_label_and_expiration() {
    let (fixture, handle) = with_backup(None);
    let arguments = json!({ "sandboxId": "agent-42", "backup": handle, "label": "nightly", "expirationSeconds": 7200 });
    let taken = fixture.run(Operation::Import, &arguments).unwrap();
    assert_eq!(taken["capture"]["label"], "nightly");
    assert_eq!(fixture.run(Operation::Manifest, &by_label("nightly")).unwrap()["expirationSeconds"], 7200);
}

#[test]
fn import_with_taken_label_is_refused_unless_replace_is_set() {
    let (fixture, handle) = with_backup(None);
    fixture.snapshot_labelled("agent-42", "latest");
    let mut arguments = json!({ "sandboxId": "agent-42", "backup": handle, "label": "latest" });
    fixture.run(Operation::Import, &arguments).expect_code(Code::LabelTaken);
    arguments["replace"] = json!(true);
    let taken = fixture.run(Operation::Import, &arguments).unwrap();
    let found = fixture.run(Operation::Get, &by_label("latest")).unwrap();
    assert_eq!(found["snapshotId"], taken["ref"]["snapshotId"]);
}

#[test]
fn repeated_import_returns_same_snapshot() {
    for name in [None, Some(EARLIER_MARK)] {
        let (fixture, handle) = with_backup(name);
        let first = import(&fixture, "agent-42", &handle).unwrap();
        fixture.world.advance_clock(DAY);
        assert_eq!(import(&fixture, "agent-42", &handle).unwrap(), first, "{name:?}");
    }
}

#[test]
fn concurrent_imports_return_same_snapshot() {
    let (fixture, handle) = with_backup(None);
    let arguments = json!({ "sandboxId": "agent-42", "backup": handle });
    let gate = fixture.world.after(Method::HeadArchive).nth(1).block();
    let first = fixture.begin(Operation::Import, &arguments);
    let second = fixture.run(Operation::Import, &arguments).unwrap();
    gate.open();
    assert_eq!(first.answer().unwrap()["ref"], second["ref"]);
}

#[test]
fn import_of_existing_snapshot_returns_its_ref() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    assert_eq!(import(&fixture, "agent-42", snapshot.backup()).unwrap(), snapshot);
}

#[test]
fn import_of_existing_snapshot_describes_its_capture() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).run(|world| world.write_file("agent-42", FILE, "second"));
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(taken["capture"]["changedDuringCapture"], true);
    let arguments = json!({ "sandboxId": "agent-42", "backup": taken["ref"]["backup"] });
    assert_eq!(fixture.run(Operation::Import, &arguments).unwrap()["capture"], taken["capture"]);
}

#[test]
fn import_recovers_snapshot_missing_in_ledger() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.create_orphan("agent-42");
    assert_eq!(import(&fixture, "agent-42", snapshot.backup()).unwrap(), snapshot);
}

#[test]
fn import_of_another_sandboxs_backup_is_refused() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.start_sandbox("agent-7");
    import(&fixture, "agent-7", snapshot.backup()).expect_code(Code::RefMismatch);
}

#[test]
fn import_of_copied_snapshot_backup_is_refused() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let mark = fixture.world.name_of(snapshot.backup().id().as_str());
    let copy = fixture.world.create_app_backup("agent-42", mark.as_deref());
    import(&fixture, "agent-42", &copy).expect_code(Code::RefMismatch);
    assert_eq!(fixture.world.backup_ids().len(), 2, "nothing is deleted");
}

#[test]
fn import_of_backup_of_running_capture_is_refused() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.after(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("soon"));
    let handle: BackupHandle = serde_json::from_value(
        json!({ "id": fixture.world.backup_ids()[0], "dir": "/workspace", "localBucket": true }),
    )
    .unwrap();
    import(&fixture, "agent-42", &handle).expect_code(Code::RefMismatch);
    gate.open();
    capture.answer().unwrap();
}

#[test]
fn import_of_handle_with_other_directory_is_refused() {
    let (fixture, handle) = with_backup(None);
    let mut altered = json!(handle);
    altered["dir"] = json!("/home");
    let arguments = json!({ "sandboxId": "agent-42", "backup": altered });
    fixture.run(Operation::Import, &arguments).expect_code(Code::RefMismatch);
}

#[test]
fn import_of_incomplete_backup_is_refused() {
    expect_refused(Code::BackupNotFound, None, World::clear_bucket);
    expect_refused(Code::BackupIncomplete, None, |world| world.edit_backups(|backup| backup.archive = None));
    expect_refused(Code::BackupIncomplete, Some(EARLIER_MARK), |world| world.edit_archives(|archive| archive.push(0)));
    expect_refused(Code::StorageUnavailable, None, |world| world.before(Method::GetMetadata).fail_transiently());
}

#[test]
fn import_of_expired_backup_is_refused() {
    expect_refused(Code::BackupExpired, Some("nightly"), |world| world.advance_clock(3 * DAY));
}

#[test]
fn imported_backup_is_not_restorable_after_its_ttl() {
    let (fixture, handle) = with_backup(None);
    let snapshot = import(&fixture, "agent-42", &handle).unwrap();
    fixture.advance_with_alarms(3 * DAY);
    let got = fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(got["restorable"], "no");
    fixture.restore(&snapshot).expect_code(Code::BackupExpired);
}

#[test]
fn foreign_backup_stays_in_r2_when_its_snapshot_is_deleted() {
    let foreign = foreign_mark(1, "agent-42");
    for name in [Some(foreign.as_str()), Some(EARLIER_MARK), Some("nightly"), None] {
        for has_workspace in [true, false] {
            let (fixture, handle) = with_backup(name);
            if has_workspace {
                fixture.snapshot_labelled("agent-42", "own");
            }
            let stored = fixture.world.backup_ids();
            let snapshot = import(&fixture, "agent-42", &handle).unwrap();
            fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
            fixture.advance_with_alarms(DAY / 2);
            assert_eq!((fixture.world.backup_ids(), fixture.world.call_count(Method::Delete)), (stored, 0), "{name:?}");
        }
    }
}

#[test]
fn own_backup_is_deleted_with_its_imported_snapshot() {
    let fixture = Fixture::with_sandbox();
    let orphan = fixture.create_orphan("agent-42");
    let snapshot = import(&fixture, "agent-42", orphan.backup()).unwrap();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn foreign_backup_passes_verify_with_any_mark() {
    let foreign = foreign_mark(1, "agent-42");
    for name in [Some(foreign.as_str()), Some(EARLIER_MARK), Some("nightly"), None] {
        let (fixture, handle) = with_backup(name);
        let snapshot = import(&fixture, "agent-42", &handle).unwrap();
        assert_eq!(fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], true, "{name:?}");
    }
}

#[test]
fn foreign_backup_can_be_imported_again_after_delete() {
    let foreign = foreign_mark(1, "agent-42");
    for name in [Some(foreign.as_str()), Some(EARLIER_MARK), Some("nightly"), None] {
        let (fixture, handle) = with_backup(name);
        let snapshot = import(&fixture, "agent-42", &handle).unwrap();
        fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
        let again = import(&fixture, "agent-42", &handle).unwrap();
        assert_eq!(again, snapshot, "{name:?}");
        fixture.restore(&again).unwrap();
    }
}

#[test]
fn own_backup_cannot_be_imported_again_after_delete() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::Delete).fail_transiently();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).expect_code(Code::StorageUnavailable);
    import(&fixture, "agent-42", snapshot.backup()).expect_code(Code::RefMismatch);
    fixture.world.clear_faults();
    let mark = fixture.world.name_of(snapshot.backup().id().as_str());
    fixture.advance_with_alarms(HOUR);
    let late = fixture.world.create_app_backup("agent-42", mark.as_deref());
    import(&fixture, "agent-42", &late).expect_code(Code::RefMismatch);
}

#[test]
fn retention_policy_evicts_imported_snapshot_but_keeps_its_backup() {
    let (fixture, handle) = with_backup(None);
    import(&fixture, "agent-42", &handle).unwrap();
    fixture.snapshot_labelled("agent-42", "newest");
    fixture
        .run(
            Operation::SetRetention,
            &json!({
                "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } },
            }),
        )
        .unwrap();
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(page["snapshots"].as_array().map(Vec::len), Some(1), "{page}");
    assert_eq!(fixture.world.backup_ids().len(), 2, "the application's own backup stays in R2");
}
