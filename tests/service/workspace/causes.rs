//! Why each snapshot of a workspace was taken, and which one has the files from before a rollback or a promotion.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Failure;
use serde_json::{Value, json};

use crate::support::{FILE, Fixture, MINUTE, Method, WORKSPACE};

/// Returns the ids and causes of the snapshots of a sandbox, newest first.
fn snapshots(fixture: &Fixture, sandbox: &str) -> Vec<(Value, Value)> {
    let page = fixture.run(Operation::List, &json!({ "sandboxId": sandbox })).unwrap();
    let rows = page["snapshots"].as_array().unwrap();
    rows.iter().map(|row| (row["snapshotId"].clone(), row["cause"].clone())).collect()
}

fn causes(fixture: &Fixture, sandbox: &str) -> Vec<Value> {
    snapshots(fixture, sandbox).into_iter().map(|(_, cause)| cause).collect()
}

/// Returns the sandbox that the workspace had before the present one.
fn former(fixture: &Fixture) -> String {
    fixture.record(WORKSPACE).former_sandbox_ids[0].to_string()
}

#[test]
fn each_snapshot_has_its_cause() {
    let fixture = Fixture::with_workspace();
    let sandbox = fixture.sandbox_of(WORKSPACE);
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": sandbox })).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.fork_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(causes(&fixture, &sandbox), ["stop", "fork", "caller"]);
    let tree = fixture.run(Operation::Lineage, &json!({ "sandboxId": sandbox })).unwrap();
    assert_eq!(tree["root"]["snapshots"][0]["cause"], "stop");
}

#[test]
fn rollback_names_the_snapshot_with_the_files_before() {
    let fixture = Fixture::with_workspace();
    let good = fixture.stop_with_content(WORKSPACE, "good");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "bad");
    fixture.world.advance_clock(MINUTE);
    let rolled_back = fixture.revert_workspace(WORKSPACE, &good).unwrap();
    let (newest, cause) = snapshots(&fixture, &former(&fixture)).remove(0);
    assert_eq!((&rolled_back["formerSnapshotId"], cause), (&newest, json!("beforeRollback")));
    fixture.revert_workspace(WORKSPACE, &newest).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("bad"));
}

#[test]
fn rollback_of_a_stopped_workspace_names_the_snapshot_of_its_stop() {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let second = fixture.stop_with_content(WORKSPACE, "second");
    assert_eq!(fixture.revert_workspace(WORKSPACE, &first).unwrap()["formerSnapshotId"], second);
}

#[test]
fn promotion_and_start_from_a_snapshot_name_the_snapshot_with_the_files_before() {
    let fixture = Fixture::with_workspace();
    let fork = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    fixture.world.advance_clock(MINUTE);
    let promoted = fixture.promote_workspace(WORKSPACE, &json!({ "from": "try" })).unwrap();
    let before = snapshots(&fixture, &former(&fixture)).remove(0);
    assert_eq!((promoted["formerSnapshotId"].clone(), json!("beforePromotion")), before);
    fixture.world.advance_clock(MINUTE);
    let started = fixture.start_workspace(WORKSPACE, &json!({ "from": fork["snapshotId"] })).unwrap();
    let before = snapshots(&fixture, &former(&fixture)).remove(0);
    assert_eq!((started["formerSnapshotId"].clone(), json!("beforeStart")), before);
}

#[test]
fn former_snapshot_is_known_before_the_former_sandbox_is_stopped() {
    let fixture = Fixture::with_workspace();
    let good = fixture.stop_with_content(WORKSPACE, "good");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.world.reset_calls();
    fixture.world.before(Method::StopSandbox).nth(1).fail_with(Failure::new("Error", "no answer"));
    let rolled_back = fixture.revert_workspace(WORKSPACE, &good).unwrap();
    let saved = snapshots(&fixture, &former(&fixture)).remove(0);
    assert_eq!((rolled_back["formerSnapshotId"].clone(), json!("beforeRollback")), saved);
    let late = former(&fixture);
    fixture.world.write_file(&late, FILE, "late");
    fixture.world.clear_faults();
    fixture.advance_with_alarms(5 * MINUTE);
    let (newest, cause) = snapshots(&fixture, &late).remove(0);
    assert_eq!(cause, "beforeRollback");
    assert_ne!(newest, saved.0);
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["formerSnapshotId"], newest);
}

#[test]
fn former_snapshot_stays_known_where_the_former_container_ends_before_its_stop() {
    let fixture = Fixture::with_workspace();
    let fork = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    assert!(fork["snapshotId"].is_string());
    let id = fixture.world_id(&fixture.sandbox_of(WORKSPACE));
    fixture.world.reset_calls();
    fixture.world.before(Method::StopSandbox).nth(1).run(move |world| world.end_container(&id));
    let promoted = fixture.promote_workspace(WORKSPACE, &json!({ "from": "try" })).unwrap();
    let saved = snapshots(&fixture, &former(&fixture)).remove(0);
    assert_eq!((promoted["formerSnapshotId"].clone(), json!("beforePromotion")), saved);
    assert_eq!(promoted["mayHaveLost"], true);
}
