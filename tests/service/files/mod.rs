//! The files of snapshots, read from archives in memory.

mod diff;
mod diff_sandbox;
mod in_sandbox;
mod restore;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRef};
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, Method, by_ref};

const OPERATIONS: [Operation; 3] = [Operation::ListFiles, Operation::StatFile, Operation::ReadFile];

fn at(snapshot: &SnapshotRef, path: &str) -> Value {
    let mut options = by_ref(snapshot);
    options["path"] = json!(path);
    options
}

/// Returns a path that an operation accepts.
fn path_for(operation: Operation) -> &'static str {
    if operation == Operation::ListFiles { "/" } else { "notes.txt" }
}

#[test]
fn files_of_a_snapshot_are_those_at_the_time_of_the_capture() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let before = fixture.run(Operation::ReadFile, &at(&snapshot, "notes.txt")).unwrap();
    fixture.world.write_file("agent-42", FILE, "changed");
    fixture.world.write_file("agent-42", "/workspace/src/new.txt", "new");
    assert_eq!(fixture.run(Operation::ReadFile, &at(&snapshot, "notes.txt")).unwrap(), before);
    let later = fixture.snapshot_labelled("agent-42", "later");
    let content = fixture.run(Operation::ReadFile, &at(&later, "notes.txt")).unwrap();
    assert_eq!((&content["content"], &content["encoding"]), (&json!("changed"), &json!("utf8")));
    let page = fixture.run(Operation::ListFiles, &at(&later, "/")).unwrap();
    let files: Vec<_> = page["files"].as_array().unwrap().iter().map(|file| (&file["name"], &file["type"])).collect();
    assert_eq!(files, [(&json!("notes.txt"), &json!("file")), (&json!("src"), &json!("directory"))]);
}

#[test]
fn cursor_continues_a_list() {
    let fixture = Fixture::with_sandbox();
    for name in ["a", "b", "c"] {
        fixture.world.write_file("agent-42", &format!("/workspace/{name}"), name);
    }
    let snapshot = fixture.snapshot_labelled("agent-42", "three");
    let mut options = at(&snapshot, "/");
    options["limit"] = json!(2);
    let first = fixture.run(Operation::ListFiles, &options).unwrap();
    options["cursor"] = first["cursor"].clone();
    let second = fixture.run(Operation::ListFiles, &options).unwrap();
    assert!(second["files"][0]["name"].as_str() > first["files"][1]["name"].as_str());
    options["cursor"] = json!("?");
    fixture.run(Operation::ListFiles, &options).expect_code(Code::InvalidArgument);
}

#[test]
fn summary_of_a_snapshot_has_the_sizes_of_what_is_in_it() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/workspace/src/large", &"x".repeat(1000));
    fixture.world.write_file("agent-42", "/workspace/src/small", "x");
    let snapshot = fixture.snapshot_labelled("agent-42", "sizes");
    let found = fixture.run(Operation::SummarizeFiles, &at(&snapshot, "src")).unwrap();
    assert_eq!((&found["files"], &found["directories"], &found["sizeBytes"]), (&json!(2), &json!(0), &json!(1001)));
    assert_eq!(found["largest"][0], json!({ "path": "src/large", "sizeBytes": 1000 }));
    let whole = fixture.run(Operation::SummarizeFiles, &by_ref(&snapshot)).unwrap();
    assert_eq!((&whole["entries"][0]["name"], &whole["entries"][0]["sizeBytes"]), (&json!("src"), &json!(1001)));
    fixture.run(Operation::SummarizeFiles, &at(&snapshot, "src/small")).expect_code(Code::NotADirectory);
}

#[test]
fn range_is_cut_at_the_end_of_the_file() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", FILE, "0123456789");
    let snapshot = fixture.snapshot_labelled("agent-42", "digits");
    for (offset, length, expected) in [(0, 4, "0123"), (8, 4, "89"), (10, 4, ""), (1_u64 << 50, 4, "")] {
        let mut options = at(&snapshot, "notes.txt");
        (options["offset"], options["length"]) = (json!(offset), json!(length));
        let content = fixture.run(Operation::ReadFile, &options).unwrap();
        assert_eq!((&content["content"], &content["length"]), (&json!(expected), &json!(expected.len())));
        assert_eq!((&content["sizeBytes"], &content["offset"]), (&json!(10), &json!(offset)));
    }
}

#[test]
fn path_that_does_not_fit_is_refused() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let run = |operation, path: &str| fixture.run(operation, &at(&snapshot, path));
    for operation in OPERATIONS {
        run(operation, "missing").expect_code(Code::FileNotFound);
        run(operation, "notes.txt/below").expect_code(Code::NotADirectory);
        run(operation, "a/../b").expect_code(Code::InvalidArgument);
        let long_name = "a".repeat(300);
        run(operation, &long_name).expect_code(Code::InvalidArgument);
    }
    run(Operation::ListFiles, "notes.txt").expect_code(Code::NotADirectory);
    run(Operation::ReadFile, "/").expect_code(Code::NotAFile);
}

#[test]
fn damaged_or_missing_archive_is_reported() {
    for operation in OPERATIONS {
        let (fixture, snapshot) = Fixture::with_snapshot();
        let options = at(&snapshot, path_for(operation));
        fixture.world.edit_archives(|archive| archive.truncate(60));
        fixture.run(operation, &options).expect_code(Code::BackupIncomplete);
        fixture.world.clear_bucket();
        fixture.run(operation, &options).expect_code(Code::BackupIncomplete);
    }
}

#[test]
fn transient_failure_of_r2_is_retried() {
    for operation in OPERATIONS {
        let (fixture, snapshot) = Fixture::with_snapshot();
        let options = at(&snapshot, path_for(operation));
        fixture.world.before(Method::ReadArchive).first(2).fail_transiently();
        fixture.run(operation, &options).unwrap();
        fixture.world.clear_faults();
        fixture.world.reset_calls();
        fixture.world.before(Method::ReadArchive).first(3).fail_transiently();
        fixture.run(operation, &options).expect_code(Code::StorageUnavailable);
    }
}

#[test]
fn deleted_snapshot_has_no_files() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    for operation in OPERATIONS {
        fixture.run(operation, &at(&snapshot, path_for(operation))).expect_code(Code::SnapshotNotFound);
    }
}

#[test]
fn no_sandbox_is_called() {
    for operation in OPERATIONS {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.world.reset_calls();
        fixture.run(operation, &at(&snapshot, path_for(operation))).unwrap();
        assert_eq!(fixture.world.calls().len(), 1, "{:?}", fixture.world.calls());
    }
}
