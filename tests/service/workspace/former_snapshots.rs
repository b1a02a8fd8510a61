//! How long the snapshots of a former sandbox stay, in which a workspace does not continue.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter_client::model::Code;
use serde_json::json;

use crate::support::{DAY, Fixture, MINUTE, Method, WORKSPACE};

/// Returns the number of snapshots of a sandbox.
fn count(fixture: &Fixture, sandbox: &str) -> usize {
    fixture.snapshots_of(sandbox).len()
}

/// A workspace that was rolled back: to a snapshot with `good`, from files with `bad`. Returns its former sandbox.
fn rolled_back() -> (Fixture, String) {
    let fixture = Fixture::with_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    let good = fixture.stop_with_content(WORKSPACE, "good");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "bad");
    fixture.revert_workspace(WORKSPACE, &good).unwrap();
    assert_eq!(count(&fixture, &former), 2);
    (fixture, former)
}

#[test]
fn newest_snapshot_of_a_former_sandbox_expires_like_every_other_one() {
    let (fixture, former) = rolled_back();
    fixture.stop_with_content(WORKSPACE, "later");
    fixture.advance_with_alarms(29 * DAY);
    assert_eq!(count(&fixture, &former), 2);
    fixture.advance_with_alarms(2 * DAY);
    assert_eq!(count(&fixture, &former), 0);
    fixture.advance_with_alarms(60 * DAY);
    assert_eq!(count(&fixture, &fixture.sandbox_of(WORKSPACE)), 1);
}

#[test]
fn snapshot_with_the_files_of_a_workspace_stays_while_it_has_no_newer_one() {
    let (fixture, former) = rolled_back();
    fixture.advance_with_alarms(90 * DAY);
    assert_eq!(count(&fixture, &former), 1);
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("good"));
}

#[test]
fn snapshot_of_a_stop_that_moved_the_workspace_stays_until_it_is_started() {
    let fixture = Fixture::with_workspace();
    fixture.write_workspace_file(WORKSPACE, "first");
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::Destroy).nth(1).hang();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_ne!(fixture.sandbox_of(WORKSPACE), former);
    fixture.advance_with_alarms(90 * DAY);
    let newest = json!({ "sandboxId": former, "snapshotId": fixture.snapshots_of(&former).remove(0) });
    assert_eq!(fixture.run(Operation::Delete, &newest).unwrap_err().code(), Code::SnapshotHasDependents);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
}

#[test]
fn snapshot_of_a_workspace_that_a_start_moved_stays_while_it_has_no_newer_one() {
    let fixture = Fixture::with_stopped_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).first(2).hang();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap_err();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_ne!(fixture.sandbox_of(WORKSPACE), former);
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.advance_with_alarms(90 * DAY);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
}

#[test]
fn newest_snapshot_of_a_former_sandbox_can_be_deleted() {
    let (fixture, former) = rolled_back();
    for content in [None, Some("later")] {
        if let Some(content) = content {
            fixture.stop_with_content(WORKSPACE, content);
        }
        let newest = fixture.snapshots_of(&former).remove(0);
        fixture.run(Operation::Delete, &json!({ "sandboxId": former, "snapshotId": newest })).unwrap();
    }
    assert_eq!(count(&fixture, &former), 0);
}

#[test]
fn former_sandbox_is_not_reported_as_starting() {
    let (fixture, former) = rolled_back();
    for (operation, options) in [
        (Operation::Snapshot, json!({ "sandboxId": former })),
        (Operation::Exec, json!({ "sandboxId": former, "command": "true" })),
    ] {
        let error = fixture.run(operation, &options).unwrap_err();
        assert_eq!(error.code(), Code::SandboxNotRunning, "{error}");
        assert!(error.message().contains("is a former one of the workspace \"work\""), "{error}");
    }
}

#[test]
fn description_does_not_name_a_snapshot_that_was_deleted() {
    let fixture = Fixture::with_stopped_workspace();
    let first = fixture.get_workspace(WORKSPACE).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.stop_workspace(WORKSPACE).unwrap();
    let delete_last = || {
        let described = fixture.get_workspace(WORKSPACE).unwrap();
        let snapshot_id = &fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE))[0];
        let options = json!({ "sandboxId": described["sandboxId"], "snapshotId": snapshot_id, "force": true });
        fixture.run(Operation::Delete, &options).unwrap();
        fixture.get_workspace(WORKSPACE).unwrap()
    };
    let described = delete_last();
    assert_eq!(described.get("lastSnapshot"), None, "{described}");
    assert_eq!(described["lastSavedAt"], first["lastSavedAt"], "the older snapshot exists");
    let described = delete_last();
    assert_eq!((described.get("lastSnapshot"), described.get("lastSavedAt")), (None, None), "{described}");
}

#[test]
fn description_keeps_the_last_snapshot_while_a_newer_one_exists_or_the_ledger_does_not_answer() {
    let fixture = Fixture::with_stopped_workspace();
    let last = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"].clone();
    fixture.world.advance_clock(MINUTE);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"], last);
    for method in [Method::LastSavedAt, Method::LocateSnapshot] {
        fixture.world.before(method).fail_transiently();
        assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"], last, "{method:?}");
        fixture.world.clear_faults();
    }
}
