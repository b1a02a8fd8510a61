//! `update` changes the settings of a workspace, or reverts it to a snapshot.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, MINUTE, Method, WORKSPACE, no_expiry};

#[test]
fn update_changes_only_the_given_settings() {
    let fixture = Fixture::with_workspace_options(&json!({ "env": { "A": "1" }, "expiry": { "idleSeconds": 0 } }));
    let changed = fixture.update_workspace(WORKSPACE, &json!({ "persistent": false, "env": { "B": "2" } })).unwrap();
    assert_eq!((&changed["persistent"], &changed["envNames"]), (&json!(false), &json!(["B"])));
    assert_eq!(changed["expiry"]["idleSeconds"], 0);
    assert_eq!(changed["state"], "active");
}

#[test]
fn updated_policy_applies_to_all_sandboxes() {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    fixture.update_workspace(WORKSPACE, &json!({ "retention": { "keepLast": { "count": 1 } } })).unwrap();
    for id in fixture.record(WORKSPACE).sandboxes() {
        let policy = fixture.run(Operation::Retention, &json!({ "sandboxId": id })).unwrap()["policy"].clone();
        assert_eq!(policy["keepLast"]["count"], 1, "{id}");
    }
}

#[test]
fn updated_time_limit_applies_immediately() {
    let fixture = Fixture::with_workspace();
    fixture.update_workspace(WORKSPACE, &json!({ "expiry": { "idleSeconds": 60, "maxSeconds": 0 } })).unwrap();
    fixture.advance_with_alarms(5 * MINUTE);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
}

#[test]
fn updated_dependencies_are_recorded_in_the_next_snapshot() {
    let fixture = Fixture::with_workspace();
    fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), "/etc/version", "1");
    fixture
        .update_workspace(WORKSPACE, &json!({ "dependsOn": { "files": ["/etc/version"], "fingerprint": "v1" } }))
        .unwrap();
    fixture.stop_workspace(WORKSPACE).unwrap();
    let rows = fixture.ledger(&fixture.sandbox_of(WORKSPACE)).snapshot_page(None, None, 1).unwrap();
    let dependencies = rows[0].dependencies.clone().unwrap();
    assert_eq!(dependencies.fingerprint.as_deref(), Some("v1"));
    assert_eq!(dependencies.files["/etc/version"].len(), 64);
}

#[test]
fn update_of_hooks_removes_the_problem_of_a_failed_hook() {
    let problem = |described: &Value| described.pointer("/problem/code").cloned();
    let hooks = json!({ "beforeStop": { "command": "exit 1" } });
    for other in [json!({}), json!({ "beforeStop": { "command": "exit 0" } })] {
        let fixture = Fixture::with_workspace_options(&json!({ "hooks": hooks }));
        fixture.stop_workspace(WORKSPACE).expect_code(Code::HookFailed);
        for unchanged in [json!({ "persistent": false }), json!({ "hooks": hooks })] {
            let described = fixture.update_workspace(WORKSPACE, &unchanged).unwrap();
            assert_eq!(problem(&described), Some(json!("HOOK_FAILED")), "{unchanged}");
        }
        let described = fixture.update_workspace(WORKSPACE, &json!({ "hooks": other })).unwrap();
        assert_eq!(problem(&described), None);
        let listed = fixture.run(Operation::ListWorkspaces, &json!({})).unwrap();
        assert_eq!(listed["workspaces"][0].get("problemCode"), None, "{listed}");
    }
}

#[test]
fn update_of_hooks_keeps_another_problem() {
    let fixture = Fixture::with_workspace();
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.stop_workspace(WORKSPACE).expect_code(Code::BackupFailed);
    let hooks = json!({ "beforeStop": { "command": "exit 0" } });
    let described = fixture.update_workspace(WORKSPACE, &json!({ "hooks": hooks })).unwrap();
    assert_eq!(described["problem"]["code"], "BACKUP_FAILED");
}

#[test]
fn update_of_dependencies_starts_no_container() {
    for prepare in [Fixture::with_stopped_workspace, Fixture::with_diverged_workspace] {
        let fixture = prepare();
        let files = fixture.world.files(&fixture.sandbox_of(WORKSPACE));
        fixture.update_workspace(WORKSPACE, &json!({ "dependsOn": { "fingerprint": "v1" } })).unwrap();
        assert_eq!(fixture.world.files(&fixture.sandbox_of(WORKSPACE)), files);
    }
}

/// The active workspace `work` with the file content `second`, and the id of its snapshot with `first`.
fn with_two_snapshots() -> (Fixture, Value) {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture.world.reset_calls();
    (fixture, first)
}

#[test]
fn revert_creates_a_new_sandbox_with_the_old_files() {
    let (fixture, first) = with_two_snapshots();
    let old = fixture.sandbox_of(WORKSPACE);
    let changed = fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert_eq!((&changed["state"], &changed["formerSandboxIds"]), (&json!("active"), &json!([old])));
    assert_ne!(changed["sandboxId"], json!(old));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn revert_captures_the_old_sandbox_and_can_itself_be_reverted() {
    let (fixture, first) = with_two_snapshots();
    let old = fixture.sandbox_of(WORKSPACE);
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert!(!fixture.world.running_sandboxes().contains(&old));
    let newest = fixture.snapshots_of(&old)[0].clone();
    fixture.revert_workspace(WORKSPACE, &json!(newest)).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.assert_nothing_pending();
}

#[test]
fn revert_leaves_a_sandbox_that_can_run_no_command_and_captures_it_when_it_can() {
    for failure in [Failure::protocol("the sandbox", "no output"), Failure::new("ToolMissingError", "no /bin/sh")] {
        let (fixture, first) = with_two_snapshots();
        let old = fixture.sandbox_of(WORKSPACE);
        let before = fixture.snapshots_of(&old).len();
        fixture.world.before(Method::Probe).fail_with(failure);
        fixture.revert_workspace(WORKSPACE, &first).unwrap();
        assert!(fixture.world.running_sandboxes().contains(&old), "its files are in no snapshot");
        fixture.world.clear_faults();
        fixture.advance_with_alarms(10 * MINUTE);
        assert_eq!(fixture.snapshots_of(&old).len(), before + 1);
        assert!(!fixture.world.running_sandboxes().contains(&old));
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
        fixture.assert_nothing_pending();
    }
}

#[test]
fn other_updates_of_a_sandbox_that_can_run_no_command_fail() {
    let (fixture, _) = with_two_snapshots();
    fixture.world.before(Method::Probe).fail_with(Failure::protocol("the sandbox", "no output"));
    fixture.update_workspace(WORKSPACE, &json!({ "persistent": false })).expect_code(Code::SandboxFailed);
}

#[test]
fn revert_captures_the_old_sandbox_even_when_not_persistent() {
    let (fixture, first) = with_two_snapshots();
    let old = fixture.sandbox_of(WORKSPACE);
    let before = fixture.snapshots_of(&old).len();
    fixture.update_workspace(WORKSPACE, &json!({ "currentSnapshotId": first, "persistent": false })).unwrap();
    assert_eq!(fixture.snapshots_of(&old).len(), before + 1);
}

#[test]
fn revert_of_stopped_workspace_is_in_the_history() {
    let (fixture, first) = with_two_snapshots();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert!(described["history"][0]["cause"].as_str().unwrap().contains(first.as_str().unwrap()), "{described}");
}

#[test]
fn revert_changes_no_snapshot() {
    let (fixture, first) = with_two_snapshots();
    let old = fixture.sandbox_of(WORKSPACE);
    let before = fixture.snapshots_of(&old);
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    let after = fixture.snapshots_of(&old);
    assert!(after.ends_with(&before), "{before:?} {after:?}");
}

#[test]
fn reverted_stopped_workspace_stays_stopped_and_starts_from_the_snapshot() {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.stop_with_content(WORKSPACE, "second");
    let changed = fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert_eq!(changed["state"], "stopped");
    assert!(fixture.world.running_sandboxes().is_empty());
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(
        (&started["restoredFrom"]["snapshotId"], fixture.read_workspace_file(WORKSPACE)),
        (&first, Some("first".into()))
    );
}

#[test]
fn revert_of_stopped_workspace_updates_the_directory() {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    let listed = fixture.run(Operation::ListWorkspaces, &json!({})).unwrap();
    assert_eq!(listed["workspaces"][0]["sandboxId"], json!(fixture.sandbox_of(WORKSPACE)));
}

#[test]
fn revert_of_workspace_with_ended_container_starts_no_container() {
    let (fixture, first) = with_two_snapshots();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(fixture.revert_workspace(WORKSPACE, &first).unwrap()["state"], "stopped");
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn failed_workspace_can_be_reverted() {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.stop_with_content(WORKSPACE, "second");
    fixture.world.edit_backups(|backup| {
        if backup.id().to_string().ends_with('2') {
            backup.archive = None;
        }
    });
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::BackupIncomplete);
    assert_eq!(fixture.revert_workspace(WORKSPACE, &first).unwrap()["state"], "stopped");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn failed_revert_changes_nothing() {
    let (fixture, first) = with_two_snapshots();
    let before = fixture.record(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).fail_with(Failure::new("BackupRestoreError", "no room"));
    fixture.revert_workspace(WORKSPACE, &first).expect_code(Code::RestoreFailed);
    let after = fixture.record(WORKSPACE);
    assert_eq!(
        (&after.sandbox_id, after.state, &after.former_sandbox_ids),
        (&before.sandbox_id, before.state, &before.former_sandbox_ids)
    );
    assert_eq!(after.history, before.history);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
    assert_eq!(fixture.world.running_sandboxes().len(), 1);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.assert_nothing_pending();
}

#[test]
fn failed_revert_changes_no_setting() {
    let (fixture, first) = with_two_snapshots();
    fixture.world.before(Method::RestoreBackup).fail_with(Failure::new("BackupRestoreError", "no room"));
    let arguments = json!({ "currentSnapshotId": first, "persistent": false, "retention": { "keepDaily": 2 } });
    fixture.update_workspace(WORKSPACE, &arguments).expect_code(Code::RestoreFailed);
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert_eq!((&described["persistent"], &described["retention"]["keepDaily"]), (&json!(true), &json!(0)));
}

#[test]
fn revert_applies_settings_of_the_same_call() {
    let (fixture, first) = with_two_snapshots();
    let arguments = json!({ "currentSnapshotId": first, "env": { "A": "1" }, "retention": { "keepDaily": 2 } });
    fixture.update_workspace(WORKSPACE, &arguments).unwrap();
    assert_eq!(fixture.world.env_of(&fixture.sandbox_of(WORKSPACE))["A"], "1");
    for id in fixture.record(WORKSPACE).sandboxes() {
        let policy = fixture.run(Operation::Retention, &json!({ "sandboxId": id })).unwrap()["policy"].clone();
        assert_eq!(policy["keepDaily"], 2, "{id}");
    }
}

#[test]
fn failed_revert_adds_no_dependent() {
    let (fixture, first) = with_two_snapshots();
    fixture.world.before(Method::RestoreBackup).fail_with(Failure::new("BackupRestoreError", "no room"));
    fixture.revert_workspace(WORKSPACE, &first).expect_code(Code::RestoreFailed);
    fixture.world.clear_faults();
    fixture.world.finish_background();
    let selection = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "snapshotId": first });
    assert_eq!(fixture.run(Operation::Get, &selection).unwrap()["dependents"], json!([]));
}

#[test]
fn workspace_can_be_reverted_to_its_source_snapshot() {
    let fixture = Fixture::with_workspace();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.stop_with_content("other", "second");
    fixture.start_workspace("other", &json!({})).unwrap();
    fixture.revert_workspace("other", &forked["snapshotId"]).unwrap();
    assert_eq!(fixture.read_workspace_file("other").unwrap(), "first");
}

#[test]
fn revert_refuses_unknown_snapshots_and_those_of_other_workspaces() {
    let (fixture, _) = with_two_snapshots();
    fixture.create_workspace("other", &no_expiry()).unwrap();
    let foreign = fixture.stop_with_content("other", "x");
    fixture.revert_workspace(WORKSPACE, &foreign).expect_code(Code::SnapshotNotFound);
    fixture.revert_workspace(WORKSPACE, &json!("snap-abcdefghij012345")).expect_code(Code::SnapshotNotFound);
}

#[test]
fn revert_refuses_a_snapshot_of_another_directory() {
    let (fixture, _) = with_two_snapshots();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, "/home/x", "y");
    let other = fixture.run(Operation::Snapshot, &json!({ "sandboxId": id, "dir": "/home" })).unwrap();
    fixture.revert_workspace(WORKSPACE, &other["ref"]["snapshotId"]).expect_code(Code::OtherDirectory);
}

#[test]
fn revert_does_not_mint_the_current_sandbox_id_again() {
    let (fixture, first) = with_two_snapshots();
    fixture.world.queue_random(Some([3; 32]));
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    let second = fixture.sandbox_of(WORKSPACE);
    fixture.world.queue_random(Some([3; 32]));
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert_ne!(fixture.sandbox_of(WORKSPACE), second);
    assert_eq!(fixture.ledger(&second).sandbox().unwrap().unwrap().decommissioned_at, None);
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.assert_nothing_pending();
}

#[test]
fn old_sandbox_keeps_running_until_it_can_be_captured() {
    let (fixture, first) = with_two_snapshots();
    let old = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert_eq!(fixture.world.files(&old).unwrap()[FILE], "second");
    fixture.world.clear_faults();
    fixture.advance_with_alarms(5 * MINUTE);
    assert!(!fixture.world.running_sandboxes().contains(&old));
    let newest = fixture.snapshots_of(&old)[0].clone();
    fixture.revert_workspace(WORKSPACE, &json!(newest)).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn update_waits_for_running_stop() {
    let fixture = Fixture::with_workspace();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let stop = fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}));
    let mut update = fixture.begin_in_workspace(Operation::UpdateWorkspace, WORKSPACE, &json!({ "persistent": false }));
    assert!(!update.is_done());
    gate.open();
    stop.answer().unwrap();
    assert_eq!(update.answer().unwrap()["state"], "stopped");
}

#[test]
fn revert_fails_as_unavailable_when_snapshot_lookup_fails() {
    let (fixture, first) = with_two_snapshots();
    fixture.world.before(Method::FindSnapshot).fail_transiently();
    fixture.revert_workspace(WORKSPACE, &first).expect_code(Code::WorkspaceUnavailable);
}

#[test]
fn last_snapshot_excludes_the_capture_of_the_former_sandbox() {
    let (fixture, first) = with_two_snapshots();
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    fixture.advance_with_alarms(5 * MINUTE);
    assert_eq!(fixture.snapshots_of(fixture.record(WORKSPACE).former_sandbox_ids[0].as_str()).len(), 2);
    assert_eq!(fixture.record(WORKSPACE).last_snapshot, None);
}

#[test]
fn revert_leaves_an_existing_sandbox_with_the_minted_id_untouched() {
    let (fixture, first) = with_two_snapshots();
    let taken = format!("{}-restored-aaaaaaaa", fixture.sandbox_of(WORKSPACE));
    fixture.start_sandbox(&taken);
    fixture.snapshot_labelled(&taken, "an application's own");
    fixture.world.reset_calls();
    fixture.world.after(Method::TakeSnapshot).nth(1).run(|world| world.queue_random(Some([0; 32])));
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert_ne!(fixture.sandbox_of(WORKSPACE), taken);
    assert!(fixture.world.calls_about(&taken).contains(&Method::Claim));
    assert!(!fixture.world.calls_about(&taken).contains(&Method::Decommission));
}

#[test]
fn reverted_workspace_has_the_root_id_of_the_snapshot() {
    let fixture = Fixture::with_workspace();
    let first = fixture.sandbox_of(WORKSPACE);
    fixture.update_workspace(WORKSPACE, &json!({ "persistent": false })).unwrap();
    fixture.world.before(Method::Destroy).nth(1).hang();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.advance_with_alarms(2 * MINUTE);
    assert_ne!(fixture.sandbox_of(WORKSPACE), first);
    let started = fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
    assert_eq!(started["workspace"]["ref"]["rootId"], json!(fixture.sandbox_of(WORKSPACE)));
    let [snapshot] = fixture.snapshots_of(&first).try_into().unwrap();
    fixture.revert_workspace(WORKSPACE, &json!(snapshot)).unwrap();
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&started["how"], &started["workspace"]["ref"]["rootId"]), (&json!("running"), &json!(first)));
}
