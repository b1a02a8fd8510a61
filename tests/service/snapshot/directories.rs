//! The Worker refuses directories that the SDK can back up but not restore; stored snapshots of them stay readable.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRef};
use sandbox_snapshotter::ports::{Ledger, WorkspaceStore};
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, Method, WORKSPACE};

const TEMPORARY_DIRS: [&str; 4] = ["/tmp", "/tmp/", "/var/tmp", "/tmp/sandbox-internal"];

/// Returns a fixture in production mode with a snapshot of `/tmp`, as an earlier release stored it.
fn with_snapshot_of_tmp() -> (Fixture, Value) {
    let fixture = Fixture::with_local_bucket(false);
    fixture.world.write_file("agent-42", "/tmp/own/file", "first");
    fixture.world.advance_clock(60_000);
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "dir": "/tmp/own" })).unwrap();
    let id = SnapshotRef::decode(&taken).unwrap().snapshot_id().clone();
    let ledger = fixture.ledger("agent-42");
    let mut row = serde_json::to_value(ledger.snapshot(&id).unwrap().unwrap()).unwrap();
    row["dir"] = json!("/tmp");
    row["stage"]["ready"]["stored"]["backup"]["dir"] = json!("/tmp");
    ledger.put_snapshot(&serde_json::from_value(row).unwrap()).unwrap();
    (fixture, json!({ "sandboxId": "agent-42", "snapshotId": id }))
}

#[test]
fn snapshot_of_temporary_directory_is_refused_before_any_call() {
    for dir in TEMPORARY_DIRS {
        let fixture = Fixture::with_sandbox();
        fixture.world.reset_calls();
        let error = fixture.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "dir": dir }));
        let error = error.expect_code(Code::InvalidDirectory);
        assert!(error.message().contains("cannot be restored") && !error.is_retryable(), "{error}");
        assert_eq!(fixture.world.calls(), [], "{dir}");
    }
}

#[test]
fn workspace_with_temporary_directory_is_not_created() {
    for dir in TEMPORARY_DIRS {
        let fixture = Fixture::empty();
        fixture.create_workspace(WORKSPACE, &json!({ "dir": dir })).expect_code(Code::InvalidDirectory);
        assert!(fixture.workspace_store(WORKSPACE).record().unwrap().is_none(), "the name {dir} stays free");
    }
}

#[test]
fn backup_of_temporary_directory_is_not_imported() {
    let fixture = Fixture::with_sandbox();
    let backup = json!({ "id": fixture.world.create_app_backup("agent-42", None).id(), "dir": "/tmp" });
    let import = fixture.run(Operation::Import, &json!({ "sandboxId": "agent-42", "backup": backup }));
    import.expect_code(Code::InvalidDirectory);
}

#[test]
fn subdirectory_of_tmp_is_captured() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/tmp/own/file", "first");
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "dir": "/tmp/own" })).unwrap();
}

#[test]
fn stored_snapshot_of_temporary_directory_can_be_read_and_deleted() {
    let (fixture, snapshot) = with_snapshot_of_tmp();
    let shown = fixture.run(Operation::Get, &snapshot).unwrap();
    assert_eq!(shown["dir"], json!("/tmp"));
    fixture.run(Operation::Delete, &snapshot).unwrap();
}

#[test]
fn stored_snapshot_of_temporary_directory_is_not_restored() {
    let (fixture, snapshot) = with_snapshot_of_tmp();
    fixture.world.reset_calls();
    fixture.run(Operation::Restore, &snapshot).expect_code(Code::InvalidDirectory);
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 0);
    assert!(fixture.world.files("agent-42").unwrap().contains_key("/tmp/own/file"));
}
