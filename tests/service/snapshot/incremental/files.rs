//! The files of a delta, and the handle of its archive.

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::archive::ArchiveLocation;
use sandbox_snapshotter::model::{BackupLocation, Code, Runtime, Selection, SnapshotRef};
use sandbox_snapshotter::ports::{BackupStore, Ledger};
use serde_json::{Value, json};

use super::{changed_sandbox, take};
use crate::support::{ExpectError, FILE, by_ref};

#[test]
fn ref_of_delta_does_not_contain_the_handle_of_its_archive() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    assert!(!fixture.world.backup_ids().contains(&delta.backup().id().to_string()));
    assert_eq!(delta.backup().dir().as_str(), "/workspace");
}

#[test]
fn archive_of_changes_is_not_imported() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let row = fixture.ledger("agent-42").snapshot(delta.snapshot_id()).unwrap().unwrap();
    let backup = &row.stored().unwrap().backup;
    let handle = json!({ "id": backup.id(), "dir": backup.handle_dir(), "localBucket": true });
    fixture.ledger("agent-42").delete_snapshot(delta.snapshot_id()).unwrap();
    let arguments = json!({ "sandboxId": "agent-42", "backup": handle });
    fixture.run(Operation::Import, &arguments).expect_code(Code::RefMismatch);
}

/// Returns the arguments that select a snapshot, with another one.
fn by_ref_with(snapshot: &SnapshotRef, name: &str, value: Value) -> Value {
    let mut arguments = by_ref(snapshot);
    arguments[name] = value;
    arguments
}

#[test]
fn files_of_delta_are_read_from_the_base_and_the_carrier() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let listed = fixture.run(Operation::ListFiles, &by_ref(&delta)).unwrap();
    let names: Vec<_> = listed["files"].as_array().unwrap().iter().map(|file| file["name"].clone()).collect();
    assert_eq!(names, ["large", "notes.txt"]);
    let read = |path: &str| fixture.run(Operation::ReadFile, &by_ref_with(&delta, "path", json!(path))).unwrap();
    assert_eq!(read("notes.txt")["content"], json!("second"));
    assert_eq!(read("large")["sizeBytes"], json!(1000));
    let changes =
        fixture.run(Operation::Diff, &json!({ "from": by_ref(&base.snapshot), "to": by_ref(&delta) })).unwrap();
    assert_eq!(changes["changes"][0]["path"], json!("notes.txt"));
    let location =
        block_on(fixture.snapshotter("agent-42").locate_snapshot(&Selection::decode(&by_ref(&delta)).unwrap()));
    let ArchiveLocation::Delta { base: located, head, .. } = location.unwrap().location else { panic!("it is full") };
    assert_eq!((located.id(), head.len()), (base.snapshot.backup().id(), 64));
}

#[test]
fn missing_base_is_named_by_a_read_of_its_delta() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let id = base.snapshot.backup().id();
    block_on(fixture.world.delete(&BackupLocation::Pair(id.clone()))).unwrap();
    let error = fixture.run(Operation::ListFiles, &by_ref(&delta)).expect_code(Code::BackupIncomplete);
    assert!(error.message().contains(id.as_str()), "{}", error.message());
}

#[test]
fn files_of_delta_are_written_to_a_running_sandbox() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let other = fixture.restore(&base.snapshot).unwrap();
    let mut arguments = by_ref_with(&delta, "paths", json!(["notes.txt"]));
    (arguments["to"], arguments["overwrite"]) = (json!(other.sandbox_id()), json!(true));
    fixture.run(Operation::RestoreFiles, &arguments).unwrap();
    assert_eq!(fixture.world.files(other.sandbox_id().as_str()).unwrap()[FILE], "second");
}

#[test]
fn files_of_base_are_read_while_deltas_need_it() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    take(&fixture);
    let mut arguments = by_ref(&base.snapshot);
    arguments["path"] = json!("notes.txt");
    let read = fixture.run(Operation::ReadFile, &arguments).unwrap();
    assert_eq!(read["content"], json!("first"));
}
