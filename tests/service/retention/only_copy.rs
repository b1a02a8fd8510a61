//! The newest snapshot of a workspace whose files are in no container is its only copy: `delete` refuses it unless forced.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error};
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, Method, WORKSPACE};

fn selection(fixture: &Fixture, snapshot: &Value) -> Value {
    json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "snapshotId": snapshot })
}

fn delete(fixture: &Fixture, snapshot: &Value) -> Result<Value, Error> {
    fixture.run(Operation::Delete, &selection(fixture, snapshot))
}

/// The workspace `work`, stopped with the file `second`, and its newest snapshot.
fn stopped() -> (Fixture, Value) {
    let fixture = Fixture::with_workspace();
    fixture.world.advance_clock(MINUTE);
    let newest = fixture.stop_with_content(WORKSPACE, "second");
    (fixture, newest)
}

fn assert_starts_with_second(fixture: &Fixture) {
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn delete_refuses_newest_snapshot_of_stopped_workspace() {
    let (fixture, newest) = stopped();
    let error = delete(&fixture, &newest).expect_code(Code::SnapshotHasDependents);
    assert!(error.message().contains("\"work\""), "{error}");
    assert_starts_with_second(&fixture);
}

#[test]
fn delete_refuses_newest_snapshot_while_an_empty_container_runs() {
    let (fixture, newest) = stopped();
    fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
    delete(&fixture, &newest).expect_code(Code::SnapshotHasDependents);
    assert_starts_with_second(&fixture);
}

#[test]
fn delete_refuses_newest_snapshot_when_files_were_written_into_an_empty_container() {
    let (fixture, newest) = stopped();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.replace_container(&id);
    fixture.world.write_file(&id, "/workspace/other.txt", "other");
    delete(&fixture, &newest).expect_code(Code::SnapshotHasDependents);
}

#[test]
fn delete_refuses_newest_snapshot_when_the_directory_of_an_active_workspace_is_gone() {
    let fixture = Fixture::with_workspace_options(&json!({ "dir": "/workspace/app" }));
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, "/workspace/app/a.txt", "first");
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.remove_directory(&id, "/workspace/app");
    let newest = json!(fixture.snapshots_of(&id)[0]);
    delete(&fixture, &newest).expect_code(Code::SnapshotHasDependents);
}

#[test]
fn delete_refuses_newest_snapshot_while_the_workspace_is_stopped() {
    let fixture = Fixture::with_workspace();
    fixture.write_workspace_file(WORKSPACE, "second");
    let gate = fixture.world.before(Method::Destroy).nth(1).block();
    let stop = fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    let newest = json!(fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE))[0]);
    delete(&fixture, &newest).expect_code(Code::SnapshotBusy);
    gate.open();
    stop.answer().unwrap();
    assert_starts_with_second(&fixture);
}

#[test]
fn delete_refuses_newest_snapshot_while_a_start_restores_it() {
    let (fixture, newest) = stopped();
    let gate = fixture.world.before(Method::RestoreBackup).nth(1).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    delete(&fixture, &newest).expect_code(Code::SnapshotBusy);
    gate.open();
    assert_eq!(start.answer().unwrap()["how"], "restored");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn delete_refuses_newest_snapshot_when_the_sandbox_does_not_answer() {
    let (fixture, newest) = stopped();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.before(Method::Probe).first(9).fail_transiently();
    delete(&fixture, &newest).expect_code(Code::SandboxUnavailable);
    fixture.world.clear_faults();
    let error = delete(&fixture, &newest).expect_code(Code::SnapshotHasDependents);
    assert!(error.message().contains("when its container ends"), "{error}");
}

#[test]
fn delete_accepts_older_snapshot_of_stopped_workspace() {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.stop_with_content(WORKSPACE, "second");
    delete(&fixture, &first).unwrap();
}

#[test]
fn delete_accepts_older_snapshot_while_a_start_restores_the_newest() {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.stop_with_content(WORKSPACE, "second");
    let gate = fixture.world.before(Method::RestoreBackup).nth(2).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    delete(&fixture, &first).unwrap();
    gate.open();
    start.answer().unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn delete_accepts_newest_snapshot_of_active_workspace_that_has_an_older_one() {
    let (fixture, first) = stopped();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    let newest = fixture.run(Operation::Snapshot, &json!({ "name": WORKSPACE, "fresh": true })).unwrap();
    delete(&fixture, &newest["snapshotId"]).unwrap();
    let error = delete(&fixture, &first).expect_code(Code::SnapshotHasDependents);
    assert!(error.message().contains("the only one"), "{error}");
}

#[test]
fn delete_refuses_the_only_snapshot_of_active_workspace_unless_forced() {
    let (fixture, only) = stopped();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let error = delete(&fixture, &only).expect_code(Code::SnapshotHasDependents);
    assert!(error.message().contains("\"work\""), "{error}");
    let mut forced = selection(&fixture, &only);
    forced["force"] = json!(true);
    fixture.run(Operation::Delete, &forced).unwrap();
}

#[test]
fn deletion_after_a_promotion_leaves_a_snapshot_to_start_from() {
    let fixture = Fixture::with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    fixture.write_workspace_file("try", "better");
    fixture.promote_workspace(WORKSPACE, &json!({ "from": "try" })).unwrap();
    let taken = fixture.run(Operation::Snapshot, &json!({ "name": WORKSPACE, "fresh": true })).unwrap();
    delete(&fixture, &taken["snapshotId"]).expect_code(Code::SnapshotHasDependents);
    fixture.delete_workspace("try").unwrap();
    fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "better");
}
