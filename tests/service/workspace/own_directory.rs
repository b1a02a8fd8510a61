//! Calls about the sandbox of a workspace that name no directory: they use that of the workspace.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::json;

use crate::support::{ExpectError, Fixture, WORKSPACE};

const OWN: &str = "/workspace/project";

#[test]
fn snapshot_captures_the_directory_of_the_workspace() {
    let fixture = Fixture::with_workspace_options(&json!({ "dir": OWN }));
    let sandbox_id = fixture.sandbox_of(WORKSPACE);
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": sandbox_id, "fresh": true })).unwrap();
    let shown = fixture.run(Operation::Get, &json!({ "sandboxId": sandbox_id, "snapshotId": taken["snapshotId"] }));
    assert_eq!(shown.unwrap()["dir"], OWN);
    fixture.revert_workspace(WORKSPACE, &taken["snapshotId"]).unwrap();
}

#[test]
fn snapshot_captures_the_directory_that_the_caller_names() {
    let fixture = Fixture::with_workspace_options(&json!({ "dir": OWN }));
    let sandbox_id = fixture.sandbox_of(WORKSPACE);
    let options = json!({ "sandboxId": sandbox_id, "dir": "/workspace/other", "fresh": true });
    let error = fixture.run(Operation::Snapshot, &options).expect_code(Code::InvalidDirectory);
    assert!(error.message().contains("/workspace/other"), "{error}");
}
