//! Operations that continue a workspace with platform snapshots in another sandbox or runtime.
//!
//! If its newest files are only in a platform snapshot, an operation that continues from an archive is refused: it would
//! quietly use older files, or leave the newest ones behind.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result, Runtime};
use serde_json::{Value, json};

use super::platform::{TOOL, active, start, stopped, tool, with_storage};
use crate::support::{ExpectError, Fixture, MINUTE, Method, WORKSPACE};

/// The fork `try` of the active workspace `work`, with the content `better`. `work` is then stopped with its only copy in a
/// platform snapshot; it has an older archive.
fn stopped_after_a_fork() -> Fixture {
    let fixture = stopped("platform");
    start(&fixture);
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    fixture.write_workspace_file("try", "better");
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture
}

#[track_caller]
fn assert_only_copy(answer: Result<Value>) {
    let error = answer.expect_code(Code::Unsupported);
    assert!(error.message().contains("only in the platform snapshot"), "{error}");
    assert!(error.remediation().contains("Start the workspace"), "{}", error.remediation());
}

#[test]
fn workspace_that_moves_to_another_sandbox_keeps_its_platform_snapshot() {
    for storage in ["both", "platform"] {
        let fixture = active(storage);
        let former = fixture.sandbox_of(WORKSPACE);
        fixture.world.before(Method::Destroy).nth(1).hang();
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.world.clear_faults();
        assert_ne!(fixture.sandbox_of(WORKSPACE), former);
        assert_eq!(start(&fixture)["restoredFrom"]["storage"], "platform", "{storage}");
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
        assert_eq!(tool(&fixture).unwrap(), "installed");
    }
}

#[test]
fn forks_of_stopped_workspace_start_from_its_platform_snapshot() {
    let fixture = stopped("both");
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy", "count": 2 })).unwrap();
    for fork in forked["forks"].as_array().unwrap() {
        assert_eq!(fork["value"]["restoredFrom"]["storage"], "platform");
        let files = fixture.world.files(fork["value"]["sandboxId"].as_str().unwrap()).unwrap();
        assert_eq!(files[TOOL], "installed");
    }
    fixture.world.delete_disks();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "late" })).unwrap();
    let value = &forked["forks"][0]["value"];
    assert_eq!(value["restoredFrom"]["storage"], "archive");
    assert!(value["platformFallback"].is_string());
    assert_eq!(fixture.read_workspace_file("late").unwrap(), "first");
}

#[test]
fn stopped_workspace_is_not_forked_from_older_files() {
    let fixture = stopped_after_a_fork();
    assert_only_copy(fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy" })));
    assert_only_copy(fixture.create_workspace("copy", &json!({ "sourceWorkspace": WORKSPACE })));
    start(&fixture);
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy" })).unwrap();
    assert_eq!(forked["mayHaveLost"], false);
    assert_eq!(fixture.read_workspace_file("copy").unwrap(), "second");
}

#[test]
fn stopped_workspace_is_not_promoted_with_older_files() {
    let fixture = stopped_after_a_fork();
    assert_only_copy(fixture.promote_workspace("try", &json!({ "from": WORKSPACE })));
    assert_eq!(fixture.read_workspace_file("try").unwrap(), "better");
    start(&fixture);
    fixture.promote_workspace("try", &json!({ "from": WORKSPACE })).unwrap();
    assert_eq!(fixture.read_workspace_file("try").unwrap(), "second");
}

#[test]
fn promote_replaces_a_stopped_workspace_only_when_its_files_are_in_an_archive() {
    let fixture = stopped_after_a_fork();
    assert_only_copy(fixture.promote_workspace(WORKSPACE, &json!({ "from": "try" })));
    start(&fixture);
    let former = fixture.sandbox_of(WORKSPACE);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
    fixture.promote_workspace(WORKSPACE, &json!({ "from": "try" })).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "better");
    let newest = fixture.snapshots_of(&former)[0].clone();
    fixture.revert_workspace(WORKSPACE, &json!(newest)).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn promoted_platform_snapshot_with_an_archive_is_restored_as_a_whole() {
    let fixture = stopped("both");
    start(&fixture);
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    fixture.world.write_file(&fixture.sandbox_of("try"), TOOL, "better");
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace("try").unwrap();
    fixture.stop_workspace(WORKSPACE).unwrap();
    let promoted = fixture.promote_workspace(WORKSPACE, &json!({ "from": "try" })).unwrap();
    assert_eq!(promoted["platformSnapshot"], Value::Null, "the one of the former sandbox is not restored");
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "platform");
    assert_eq!(tool(&fixture).unwrap(), "better");
}

#[test]
fn move_to_an_older_archive_reports_the_loss() {
    let fixture = stopped_after_a_fork();
    let archive = fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE))[0].clone();
    fixture.revert_workspace(WORKSPACE, &json!(archive)).unwrap();
    let started = start(&fixture);
    assert_eq!((&started["restoredFrom"]["storage"], &started["mayHaveLost"]), (&json!("archive"), &json!(true)));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn migrate_requires_an_archive() {
    let fixture = Fixture::empty();
    fixture.world.enable_platform_snapshots();
    fixture.deploy_both_runtimes(Runtime::Container);
    fixture.create_workspace(WORKSPACE, &with_storage("platform")).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "first");
    fixture.stop_workspace(WORKSPACE).unwrap();
    let error = fixture.migrate_workspace(WORKSPACE, "sdk-0.12").expect_code(Code::Unsupported);
    assert!(error.message().contains("no platform snapshots"), "{error}");
    fixture.update_workspace(WORKSPACE, &json!({ "storage": "archive" })).unwrap();
    assert_only_copy(fixture.migrate_workspace(WORKSPACE, "sdk-0.12"));

    start(&fixture);
    let migrated = fixture.migrate_workspace(WORKSPACE, "sdk-0.12").unwrap();
    assert_eq!((&migrated["runtime"], &migrated["platformSnapshot"]), (&json!("sdk-0.12"), &Value::Null));
    let started = start(&fixture);
    assert_eq!((&started["restoredFrom"]["storage"], &started["mayHaveLost"]), (&json!("archive"), &json!(false)));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn snapshot_of_a_stopped_workspace_stays_selectable() {
    let fixture = stopped_after_a_fork();
    let id = fixture.sandbox_of(WORKSPACE);
    let archive = fixture.snapshots_of(&id)[0].clone();
    let source = json!({ "sourceSnapshot": { "sandboxId": id, "snapshotId": archive } });
    fixture.create_workspace("older", &source).unwrap();
    assert_eq!(fixture.read_workspace_file("older").unwrap(), "first");
    fixture.run(Operation::GetWorkspaceByName, &json!({ "name": "older" })).unwrap();
}
