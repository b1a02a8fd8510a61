//! Snapshots that leave out files: no start restores one by itself, and each says which one is newer.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, WORKSPACE};

/// A partial snapshot of the workspace.
fn take_partial(fixture: &Fixture) -> Value {
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.advance_clock(1000);
    fixture.world.write_file(&id, "/workspace/draft.txt", "draft");
    let options = json!({ "name": WORKSPACE, "excludes": ["node_modules"] });
    fixture.run(Operation::Snapshot, &options).unwrap()["snapshotId"].clone()
}

fn end_container(fixture: &Fixture) {
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
}

#[test]
fn start_after_a_loss_names_a_partial_snapshot_that_is_newer() {
    let fixture = Fixture::with_workspace();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let partial = take_partial(&fixture);
    end_container(&fixture);
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&started["mayHaveLost"], &started["restoredFrom"]["newerPartialId"]), (&json!(true), &partial));
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["restoredFrom"]["newerPartialId"], partial);
}

#[test]
fn start_after_a_stop_names_no_partial_snapshot() {
    let fixture = Fixture::with_workspace();
    take_partial(&fixture);
    fixture.stop_workspace(WORKSPACE).unwrap();
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(started["restoredFrom"].get("newerPartialId"), None);
}

#[test]
fn start_from_a_partial_snapshot_names_no_older_one() {
    let fixture = Fixture::with_workspace();
    take_partial(&fixture);
    let newer = take_partial(&fixture);
    end_container(&fixture);
    fixture.update_workspace(WORKSPACE, &json!({ "currentSnapshotId": newer })).unwrap();
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(started["restoredFrom"]["snapshotId"], newer);
    assert_eq!(started["restoredFrom"].get("newerPartialId"), None);
}

#[test]
fn workspace_with_only_partial_snapshots_names_the_newest_instead_of_starting() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    let partial = take_partial(&fixture);
    end_container(&fixture);
    let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
    let id = partial.as_str().unwrap();
    assert!(error.message().contains(id) && error.message().contains("leaves out files"), "{error}");
    assert!(error.remediation().contains("currentSnapshotId"), "{error}");
    fixture.update_workspace(WORKSPACE, &json!({ "currentSnapshotId": partial })).unwrap();
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(started["restoredFrom"]["snapshotId"], partial);
}

#[test]
fn fork_of_a_workspace_with_only_partial_snapshots_says_how_to_use_one() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    let partial = take_partial(&fixture);
    end_container(&fixture);
    for options in [json!({}), json!({ "from": "latest" })] {
        let error = fixture.fork_workspace(WORKSPACE, &options).expect_code(Code::NothingRestorable);
        assert!(error.message().contains("all of its files"), "{error}");
        assert!(error.remediation().contains("`from`"), "{error}");
    }
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork", "from": partial })).unwrap();
    assert_eq!(forked["forks"][0]["value"]["restoredFrom"]["snapshotId"], partial);
}

#[test]
fn errors_of_an_ended_workspace_do_not_say_that_no_snapshot_has_its_files_if_a_partial_one_does() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    take_partial(&fixture);
    end_container(&fixture);
    let error = fixture.run(Operation::Snapshot, &json!({ "name": WORKSPACE })).unwrap_err();
    assert!(!error.remediation().contains("allowEmpty"), "{error}");
}
