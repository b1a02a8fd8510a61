//! Snapshots of a class whose backups are those of `DirectoryBackup` of the SDK 1.0.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::record::SnapshotRecord;
use sandbox_snapshotter::model::{ArchiveFormat, BackupHandle, Code, Error, Runtime, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{DAY, ExpectError, FILE, Fixture, MINUTE, Method, WORKSPACE, by_ref, no_expiry};

fn with_sandbox() -> Fixture {
    let fixture = Fixture::of_runtime(Runtime::Container);
    fixture.world.set_archive_format(ArchiveFormat::DirectoryBackup);
    fixture.start_sandbox("agent-42");
    fixture
}

/// Returns a record that the application made itself.
fn with_record(name: Option<&str>) -> (Fixture, BackupHandle) {
    let fixture = with_sandbox();
    let record = fixture.world.create_app_backup("agent-42", name);
    (fixture, record)
}

fn import(fixture: &Fixture, record: &Value) -> Result<SnapshotRef, Error> {
    let answer = fixture.run(Operation::Import, &json!({ "sandboxId": "agent-42", "backup": record }))?;
    Ok(SnapshotRef::decode(&answer).unwrap())
}

fn sweep(fixture: &Fixture) -> Value {
    fixture.world.advance_clock(2 * DAY);
    fixture.run(Operation::Sweep, &json!({})).unwrap()
}

#[test]
fn snapshot_is_listed_verified_restored_and_deleted() {
    let fixture = with_sandbox();
    let snapshot = fixture.snapshot().unwrap();
    assert_eq!(snapshot.backup().directory_backup().unwrap().sha256.len(), 64);
    let row = fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!((&row["format"], &row["restorable"]), (&json!("tar+zstd/1"), &json!("yes")));
    let manifest = fixture.run(Operation::Manifest, &by_ref(&snapshot)).unwrap();
    assert_eq!(manifest["objects"], json!([format!("saved/{}.tar.zst", snapshot.backup().id())]));
    let verified = fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap();
    let checks: Vec<_> = verified["checks"].as_array().unwrap().iter().map(|check| check["name"].clone()).collect();
    assert_eq!(
        (&verified["ok"], checks),
        (&json!(true), vec!["objects".into(), "header".into(), "checksum".into(), "sha256".into()])
    );
    let restored = fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.files(restored.sandbox_id().as_str()), fixture.world.files("agent-42"));
    assert_eq!(fixture.world.restored_handles(), [json!(snapshot.backup())], "the class gets its record back");
    fixture.run(Operation::Delete, &json!({ "ref": snapshot, "force": true })).unwrap();
    fixture.assert_nothing_stored();
}

#[test]
fn empty_directory_is_restored() {
    let fixture = with_sandbox();
    fixture.world.remove_all_files("agent-42");
    let snapshot = fixture.snapshot().unwrap();
    fixture.restore(&snapshot).unwrap();
}

#[test]
fn workspace_is_stopped_and_started() {
    let fixture = Fixture::of_runtime(Runtime::Container);
    fixture.world.set_archive_format(ArchiveFormat::DirectoryBackup);
    fixture.create_workspace(WORKSPACE, &no_expiry()).unwrap();
    fixture.world.advance_clock(MINUTE);
    let id = fixture.record(WORKSPACE).sandbox_id;
    fixture.world.write_file(id.as_str(), FILE, "work");
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.world.files(id.as_str()).unwrap()[FILE], "work");
}

#[test]
fn imported_record_expires_as_the_policy_that_was_set_while_it_was_read() {
    let (fixture, record) = with_record(None);
    let gate = fixture.world.before(Method::HashArchive).nth(1).block();
    let import = fixture.begin(Operation::Import, &json!({ "sandboxId": "agent-42", "backup": record }));
    assert!(gate.is_reached());
    let policy = json!({ "sandboxId": "agent-42", "policy": { "expirationSeconds": 60 } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    gate.open();
    let imported = SnapshotRef::decode(&import.answer().unwrap()).unwrap();
    let row = fixture.ledger("agent-42").snapshot(imported.snapshot_id()).unwrap().unwrap();
    assert_eq!(row.expires_at, Some(row.last_used_at.plus_millis(60_000)));
}

#[test]
fn record_of_the_application_is_imported_and_its_object_is_kept() {
    for name in [None, Some("nightly")] {
        let (fixture, record) = with_record(name);
        let snapshot = import(&fixture, &json!(record)).unwrap();
        assert_eq!(json!(snapshot.backup()), json!(record));
        assert_eq!(import(&fixture, &json!(record)).unwrap(), snapshot);
        let restored = fixture.restore(&snapshot).unwrap();
        assert!(fixture.world.files(restored.sandbox_id().as_str()).unwrap().contains_key(FILE));
        fixture.run(Operation::Delete, &json!({ "ref": snapshot, "force": true })).unwrap();
        assert_eq!(fixture.world.backup_ids(), [record.id().to_string()]);
    }
}

#[test]
fn import_of_a_record_that_does_not_match_its_object_is_refused() {
    let refused = |code: Code, change: &dyn Fn(&mut Value), text: &str| {
        let (fixture, record) = with_record(None);
        let mut record = json!(record);
        change(&mut record);
        let error = import(&fixture, &record).expect_code(code);
        assert!(error.message().contains(text), "{error}");
        assert_eq!(fixture.ledger("agent-42").live_snapshots(), []);
    };
    refused(Code::BackupNotFound, &|record| record["id"] = json!("other"), "no object \"saved/other.tar.zst\"");
    refused(Code::BackupIncomplete, &|record| record["sha256"] = json!("0".repeat(64)), "its SHA-256 is ");
    refused(Code::BackupIncomplete, &|record| record["size"] = json!(1), " bytes instead of 1");
}

#[test]
fn record_is_refused_in_the_runtime_of_sdk_0_12_before_an_id_is_claimed() {
    let fixture = Fixture::with_both_runtimes();
    fixture.world.set_archive_format(ArchiveFormat::DirectoryBackup);
    fixture.start_sandbox("container:agent-42");
    let arguments = json!({ "sandboxId": "agent-42", "runtime": "container" });
    let taken = fixture.run(Operation::Snapshot, &arguments).unwrap();
    fixture.world.reset_calls();
    let restored = fixture.run(Operation::Restore, &json!({ "ref": taken, "runtime": "sdk-0.12" }));
    let error = restored.expect_code(Code::Unsupported);
    assert!(error.message().contains("\"tar+zstd/1\""), "{error}");
    assert_eq!(fixture.world.call_count(Method::Claim), 0);
}

#[test]
fn another_archive_of_the_same_size_is_damage_that_verify_records() {
    let fixture = with_sandbox();
    let snapshot = fixture.snapshot().unwrap();
    fixture.world.edit_backups(|backup| {
        backup.has_checksum = false;
        *backup.archive.as_mut().unwrap().last_mut().unwrap() ^= 1;
    });
    let verified = fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap();
    assert_eq!(verified["ok"], false);
    let row = fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(row["restorable"], "no");
    assert!(row["why"].as_str().unwrap().contains("SHA-256"), "{row}");
}

#[test]
fn object_that_was_stored_again_is_the_same_backup() {
    let fixture = with_sandbox();
    let snapshot = fixture.snapshot().unwrap();
    let now = fixture.world.current_time();
    fixture.world.edit_backups(|backup| backup.uploaded_at = now.plus_millis(DAY));
    fixture.restore(&snapshot).unwrap();
}

#[test]
fn capture_whose_answer_was_lost_is_found_by_its_mark_and_deleted() {
    let fixture = with_sandbox();
    let gate = fixture.world.after(Method::CreateBackup).block();
    let call = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    assert!(gate.is_reached());
    fixture.crash_during(call);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(DAY);
    fixture.assert_nothing_stored();
}

#[test]
fn capture_is_completed_after_a_crash() {
    let fixture = with_sandbox();
    let gate = fixture.world.before(Method::HeadArchive).block();
    let call = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    assert!(gate.is_reached());
    fixture.crash_during(call);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(2 * MINUTE);
    let rows = fixture.ledger("agent-42").live_snapshots();
    assert_eq!(rows.iter().map(SnapshotRecord::state).collect::<Vec<_>>(), [SnapshotState::Ready]);
}

#[test]
fn sweep_deletes_only_objects_with_the_mark_that_no_ledger_lists() {
    for (name, deleted, unmarked) in [(None, 0, 1), (Some("nightly"), 0, 1)] {
        let (fixture, _) = with_record(name);
        let swept = sweep(&fixture);
        assert_eq!((&swept["deleted"], &swept["unmarked"]), (&json!(deleted), &json!(unmarked)), "{name:?}");
        assert_eq!(fixture.world.backup_ids().len(), 1);
    }
    let fixture = with_sandbox();
    let kept = fixture.snapshot().unwrap();
    fixture.create_orphan("agent-42");
    let swept = sweep(&fixture);
    assert_eq!((&swept["deleted"], &swept["owned"], &swept["unowned"]), (&json!(1), &json!(1), &json!(0)));
    assert_eq!(fixture.world.backup_ids(), [kept.backup().id().to_string()]);
}

#[test]
fn class_that_does_not_pass_the_name_on_is_refused() {
    let fixture = with_sandbox();
    fixture.world.after(Method::CreateBackup).run(|world| {
        world.edit_backups(|backup| backup.metadata.as_mut().unwrap().name = None);
    });
    fixture.snapshot().expect_code(Code::BackupIncomplete);
}
