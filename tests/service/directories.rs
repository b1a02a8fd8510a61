//! Directories that the SDK can back up and never restore are refused; what was stored of one stays readable.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRef};
use sandbox_snapshotter::ports::{Home, Ledger};
use serde_json::{Value, json};

use super::support::{Checked, Method, Stage, WORK};

const IN_USE: [&str; 4] = ["/tmp", "/tmp/", "/var/tmp", "/tmp/sandbox-internal"];

/// A stage in production mode with a snapshot of the directory `/tmp`, which an earlier release has taken.
fn with_snapshot_of_tmp() -> (Stage, Value) {
    let stage = Stage::configured(false);
    stage.world.writes("agent-42", "/tmp/own/file", "first");
    stage.world.pass(60_000);
    let taken = stage.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "dir": "/tmp/own" })).unwrap();
    let id = SnapshotRef::decode(&taken).unwrap().snapshot_id().clone();
    let ledger = stage.ledger("agent-42");
    let mut row = serde_json::to_value(ledger.snapshot(&id).unwrap().unwrap()).unwrap();
    row["dir"] = json!("/tmp");
    row["stage"]["ready"]["stored"]["backup"]["dir"] = json!("/tmp");
    ledger.put_snapshot(&serde_json::from_value(row).unwrap()).unwrap();
    (stage, json!({ "sandboxId": "agent-42", "snapshotId": id }))
}

#[test]
fn a_snapshot_of_a_directory_in_use_is_refused_before_the_sandbox_is_touched() {
    for dir in IN_USE {
        let stage = Stage::with_sandbox();
        stage.world.forget_calls();
        let error = stage.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "dir": dir }));
        let error = error.fails_as(Code::InvalidDirectory);
        assert!(error.message().contains("can't be restored") && !error.retryable(), "{error}");
        assert_eq!(stage.world.calls(), [], "{dir}");
    }
}

#[test]
fn a_workspace_of_a_directory_in_use_is_not_created() {
    for dir in IN_USE {
        let stage = Stage::empty();
        stage.creates(WORK, &json!({ "dir": dir })).fails_as(Code::InvalidDirectory);
        assert!(stage.home(WORK).named().unwrap().is_none(), "the name {dir} stays free");
    }
}

#[test]
fn a_backup_of_a_directory_in_use_is_not_imported() {
    let stage = Stage::with_sandbox();
    let backup = json!({ "id": stage.world.backs_up("agent-42", None).id(), "dir": "/tmp" });
    let import = stage.run(Operation::Import, &json!({ "sandboxId": "agent-42", "backup": backup }));
    import.fails_as(Code::InvalidDirectory);
}

#[test]
fn a_directory_of_ones_own_under_tmp_is_captured() {
    let stage = Stage::with_sandbox();
    stage.world.writes("agent-42", "/tmp/own/file", "first");
    stage.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "dir": "/tmp/own" })).unwrap();
}

#[test]
fn a_stored_snapshot_of_a_directory_in_use_is_still_listed_and_deleted() {
    let (stage, snapshot) = with_snapshot_of_tmp();
    let shown = stage.run(Operation::Get, &snapshot).unwrap();
    assert_eq!(shown["dir"], json!("/tmp"));
    stage.run(Operation::Delete, &snapshot).unwrap();
}

#[test]
fn a_stored_snapshot_of_a_directory_in_use_is_not_restored_where_that_would_not_end() {
    let (stage, snapshot) = with_snapshot_of_tmp();
    stage.world.forget_calls();
    stage.run(Operation::Restore, &snapshot).fails_as(Code::InvalidDirectory);
    assert_eq!(stage.world.count(Method::RestoreBackup), 0);
    assert!(stage.world.files("agent-42").unwrap().contains_key("/tmp/own/file"));
}
