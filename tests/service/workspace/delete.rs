//! `delete` of workspaces: frees the name immediately, and deletes each snapshot when it has no other dependents.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{CallPhase, ExpectError, Fixture, HOUR, MINUTE, Method, WORKSPACE};

#[test]
fn delete_removes_snapshots_and_container() {
    let fixture = Fixture::with_workspace();
    fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let deleted = fixture.delete_workspace(WORKSPACE).unwrap();
    let at = fixture.record(WORKSPACE).history[0].at;
    let expected = json!({
        "name": WORKSPACE, "removed": true, "deletedAt": at, "removedSnapshots": 1, "kept": [], "pending": []
    });
    assert_eq!(deleted, expected);
    assert!(fixture.world.running_sandboxes().is_empty());
    fixture.assert_nothing_stored();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn delete_succeeds_when_workspace_does_not_exist() {
    let fixture = Fixture::with_workspace();
    let at = fixture.delete_workspace(WORKSPACE).unwrap()["deletedAt"].clone();
    fixture.world.advance_clock(MINUTE);
    let again = fixture.delete_workspace(WORKSPACE).unwrap();
    assert_eq!((&again["removed"], &again["deletedAt"]), (&json!(false), &at), "it was deleted before");
    let never = fixture.delete_workspace("never").unwrap();
    assert_eq!((&never["removed"], &never["deletedAt"]), (&json!(false), &Value::Null));
}

#[test]
fn deleted_workspace_is_not_found() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.delete_workspace(WORKSPACE).unwrap();
    fixture.get_workspace(WORKSPACE).expect_code(Code::WorkspaceNotFound);
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::WorkspaceNotFound);
    assert_eq!(fixture.run(Operation::ListWorkspaces, &json!({})).unwrap()["workspaces"], json!([]));
}

#[test]
fn delete_removes_variables_hooks_and_dependencies() {
    let fixture = Fixture::with_workspace_options(&json!({
        "env": { "TOKEN": "secret" },
        "hooks": { "onTimeout": { "command": "secret" } },
        "dependsOn": { "files": ["secret"] },
    }));
    fixture.delete_workspace(WORKSPACE).unwrap();
    let record = serde_json::to_string(&fixture.record(WORKSPACE)).unwrap();
    assert!(!record.contains("secret"), "{record}");
}

#[test]
fn recreated_workspace_never_gets_files_of_the_deleted_one() {
    let fixture = Fixture::with_stopped_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.delete_workspace(WORKSPACE).unwrap();
    let created = fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&created["how"], created.get("lastSnapshot")), (&json!("empty"), None));
    assert_ne!(created["sandboxId"], json!(former));
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap()["how"], "empty");
    assert_eq!(fixture.read_workspace_file(WORKSPACE), None);
}

#[test]
fn name_is_free_while_sandboxes_of_deleted_workspace_are_unavailable() {
    let fixture = Fixture::with_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::Decommission).fail_transiently();
    assert_eq!(fixture.delete_workspace(WORKSPACE).unwrap()["pending"], json!([former]));
    assert_eq!(fixture.delete_workspace(WORKSPACE).unwrap()["pending"], json!([former]), "in the repeated call");
    fixture.create_workspace(WORKSPACE, &json!({ "expiry": { "idleSeconds": 0 } })).unwrap();
    fixture.world.clear_faults();
    fixture.advance_with_alarms(HOUR);
    assert!(!fixture.world.running_sandboxes().contains(&former) && fixture.has_container(WORKSPACE));
    fixture.assert_nothing_pending();
}

#[test]
fn delete_removes_snapshots_of_all_sandboxes() {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    let deleted = fixture.delete_workspace(WORKSPACE).unwrap();
    fixture.world.finish_background();
    fixture.advance_with_alarms(HOUR);
    assert_eq!((&deleted["kept"], &deleted["pending"]), (&json!([]), &json!([])));
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn delete_removes_snapshots_that_only_its_own_sandboxes_need() {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    // The new sandbox has no snapshot of its own, and its release of this snapshot is delayed.
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    let release_gate = fixture.world.before(Method::Release).nth(1).block();
    let deleted = fixture.delete_workspace(WORKSPACE).unwrap();
    assert_eq!((&deleted["kept"], &deleted["removedSnapshots"]), (&json!([]), &json!(2)));
    release_gate.open();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
}

/// The deleted workspace `work`, whose snapshot the fork `other` still needs, and the answer of the delete.
fn with_fork() -> (Fixture, Value) {
    let fixture = Fixture::with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    fixture.world.advance_clock(MINUTE);
    let deleted = fixture.delete_workspace(WORKSPACE).unwrap();
    fixture.advance_with_alarms(2 * MINUTE);
    (fixture, deleted)
}

#[test]
fn delete_keeps_and_lists_snapshots_with_dependents() {
    let (fixture, deleted) = with_fork();
    let former = fixture.record(WORKSPACE).sandbox_id;
    assert_eq!(deleted["kept"][0]["dependents"], json!([fixture.sandbox_of("other")]));
    assert_eq!((&deleted["kept"][0]["originId"], &deleted["removedSnapshots"]), (&json!(former), &json!(0)));
    fixture.world.end_container(&fixture.sandbox_of("other"));
    fixture.start_workspace("other", &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file("other").unwrap(), "first");
}

#[test]
fn kept_snapshots_are_deleted_when_dependents_release_them() {
    let (fixture, _) = with_fork();
    fixture.stop_workspace("other").unwrap();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.world.backup_ids().len(), 1, "only the backup of the fork is left");
    fixture.assert_nothing_pending();
}

#[test]
fn kept_snapshots_are_deleted_when_dependents_are_deleted() {
    let (fixture, _) = with_fork();
    fixture.delete_workspace("other").unwrap();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn pinned_snapshots_are_kept_until_they_are_unpinned() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    let selection = json!({ "sandboxId": id, "snapshotId": fixture.snapshots_of(&id)[0] });
    fixture.run(Operation::Pin, &selection).unwrap();
    let deleted = fixture.delete_workspace(WORKSPACE).unwrap();
    assert_eq!((&deleted["kept"][0]["pinned"], &deleted["kept"][0]["dependents"]), (&json!(true), &json!([])));
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.run(Operation::Unpin, &selection).unwrap();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
}

#[test]
fn backup_that_r2_fails_to_delete_is_deleted_later() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.before(Method::Delete).fail_transiently();
    assert_eq!(fixture.delete_workspace(WORKSPACE).unwrap()["removedSnapshots"], 1);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
}

#[test]
fn sandbox_is_pending_until_its_container_ends() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::Destroy).fail_transiently();
    assert_eq!(fixture.delete_workspace(WORKSPACE).unwrap()["pending"], json!([id]));
    fixture.world.clear_faults();
    fixture.advance_with_alarms(HOUR);
    assert!(fixture.world.running_sandboxes().is_empty());
    fixture.assert_nothing_pending();
}

#[test]
fn restarted_sandbox_of_deleted_workspace_is_ended() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.delete_workspace(WORKSPACE).unwrap();
    fixture.world.write_file(&id, "/workspace/x", "late");
    fixture.advance_with_alarms(2 * MINUTE);
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn snapshot_is_refused_for_sandbox_of_deleted_workspace() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.delete_workspace(WORKSPACE).unwrap();
    fixture.world.write_file(&id, "/workspace/x", "late");
    for wake in [false, true] {
        fixture
            .run(Operation::Snapshot, &json!({ "sandboxId": id, "wake": wake }))
            .expect_code(Code::WorkspaceNotFound);
    }
    fixture.assert_nothing_stored();
}

#[test]
fn delete_waits_for_running_stop() {
    let fixture = Fixture::with_workspace();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let stop = fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}));
    let delete = fixture.begin_in_workspace(Operation::DeleteWorkspace, WORKSPACE, &json!({}));
    gate.open();
    stop.answer().unwrap();
    assert_eq!(delete.answer().unwrap()["removedSnapshots"], 1);
    fixture.assert_nothing_stored();
}

#[test]
fn delete_removes_a_snapshot_that_is_taken_meanwhile() {
    for (method, phase) in [(Method::CreateBackup, CallPhase::Before), (Method::HeadArchive, CallPhase::After)] {
        let fixture = Fixture::with_workspace();
        let gate = fixture.world.at(method, phase).nth(1).block();
        let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) }));
        fixture.world.run_background();
        assert!(gate.is_reached(), "{method:?}");
        fixture.delete_workspace(WORKSPACE).unwrap();
        gate.open();
        drop(capture.answer());
        fixture.advance_with_alarms(3 * HOUR);
        fixture.assert_nothing_stored();
        fixture.assert_nothing_pending();
    }
}

#[test]
fn delete_without_snapshots_leaves_only_the_decommissioned_row() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.delete_workspace(WORKSPACE).unwrap();
    assert!(fixture.ledger(&id).sandbox().unwrap().unwrap().decommissioned_at.is_some());
    assert!(fixture.ledger(&id).snapshot_page(None, None, 1).unwrap().is_empty());
}

#[test]
fn deleted_workspace_is_reported_with_its_end() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.delete_workspace(WORKSPACE).unwrap();
    let error = fixture.start_workspace(WORKSPACE, &json!({})).unwrap_err();
    assert_eq!(error.code(), Code::WorkspaceNotFound);
    assert!(error.message().contains("It ended at 2026-"), "{error}");
    assert!(error.message().ends_with(": it was deleted by a caller."), "{error}");
    let never = fixture.start_workspace("never", &json!({})).unwrap_err();
    assert!(!never.message().contains("ended"), "{never}");
}
