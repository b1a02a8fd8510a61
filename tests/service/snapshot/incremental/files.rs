//! The archive of a delta is not read as if it had all files.

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Runtime, Selection};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::{changed_sandbox, take};
use crate::support::{ExpectError, by_ref};

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

#[test]
fn files_of_delta_are_not_read_from_its_archive() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let with = |name: &str, value: Value| {
        let mut arguments = by_ref(&delta);
        arguments[name] = value;
        arguments
    };
    let path = with("path", json!("large"));
    let mut restore = with("paths", json!(["large"]));
    restore["to"] = json!("agent-42");
    let calls = [
        (Operation::ListFiles, by_ref(&delta)),
        (Operation::StatFile, path.clone()),
        (Operation::ReadFile, path),
        (Operation::RestoreFiles, restore),
        (Operation::Diff, json!({ "from": by_ref(&base.snapshot), "to": by_ref(&delta) })),
        (Operation::Diff, json!({ "from": by_ref(&delta), "to": by_ref(&base.snapshot) })),
    ];
    for (operation, arguments) in calls {
        let error = fixture.run(operation, &arguments).expect_code(Code::ArchiveUnreadable);
        assert!(error.message().contains(base.snapshot.snapshot_id().as_str()), "{}", error.message());
    }
    // Downloads ask the object where the archive is.
    let selection = Selection::decode(&by_ref(&delta)).unwrap();
    block_on(fixture.snapshotter("agent-42").locate_snapshot(&selection)).expect_code(Code::ArchiveUnreadable);
}

#[test]
fn files_of_delta_are_not_written_to_another_sandbox() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let branch = fixture.branch(&delta).unwrap();
    let mut arguments = by_ref(&delta);
    (arguments["paths"], arguments["to"]) = (json!(["large"]), json!(branch.sandbox_id()));
    fixture.run(Operation::RestoreFiles, &arguments).expect_code(Code::ArchiveUnreadable);
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
