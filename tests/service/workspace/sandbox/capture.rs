//! Snapshots that callers take of a sandbox that belongs to a named workspace.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{CallPhase, DAY, ExpectError, FILE, Fixture, HOUR, MINUTE, Method, WORKSPACE};

fn capture(fixture: &Fixture, options: &Value) -> sandbox_snapshotter::model::Result<Value> {
    let mut arguments = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) });
    arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    fixture.run(Operation::Snapshot, &arguments)
}

#[test]
fn start_restores_snapshot_taken_while_workspace_was_active() {
    let fixture = Fixture::with_workspace();
    let snapshot = capture(&fixture, &json!({})).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["restoredFrom"]["snapshotId"],
        snapshot["ref"]["snapshotId"]
    );
}

#[test]
fn capture_identifies_container_by_marker_and_not_by_age() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    // After a reconnect, only the marker identifies the container.
    fixture.world.reconnect(&fixture.sandbox_of(WORKSPACE));
    capture(&fixture, &json!({})).unwrap();
}

#[test]
fn capture_of_workspace_without_files_and_snapshots_says_to_start_it_empty() {
    let fixture = Fixture::with_workspace();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let remediation = || capture(&fixture, &json!({})).expect_code(Code::SandboxNotRunning).remediation().to_owned();
    let expected = "Start the workspace \"work\" with `allowEmpty: true`, which starts it without files";
    let ended = remediation();
    assert!(ended.starts_with(expected), "{ended}");
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
    let unfinished = remediation();
    assert!(unfinished.starts_with(expected), "{unfinished}");
    fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
    fixture.world.advance_clock(MINUTE);
    capture(&fixture, &json!({})).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let restorable = remediation();
    assert!(!restorable.contains("allowEmpty"), "{restorable}");
}

#[test]
fn snapshot_is_refused_while_sandbox_is_being_restored() {
    for method in [Method::BeginRestore, Method::RestoreBackup, Method::CompleteRestore, Method::RunHook] {
        for phase in CallPhase::BOTH {
            let fixture =
                Fixture::with_stopped_workspace_options(&json!({ "hooks": { "afterStart": { "command": "exit 0" } } }));
            let gate = fixture.world.at(method, phase).nth(1).block();
            let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
            for wake in [false, true] {
                capture(&fixture, &json!({ "wake": wake })).expect_code(Code::SandboxStarting);
            }
            gate.open();
            start.answer().unwrap();
            capture(&fixture, &json!({})).unwrap();
        }
    }
}

#[test]
fn capture_begun_before_restore_does_not_replace_workspace_files() {
    // The capture probes the container while it is empty. The restore writes the files before `createBackup`.
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
    let gate = fixture.world.after(Method::Probe).nth(1).block();
    let snapshot = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "wake": true });
    let pending_capture = fixture.begin(Operation::Snapshot, &snapshot);
    fixture.world.run_background();
    assert!(gate.is_reached());
    let restore_gate = fixture.world.before(Method::RestoreBackup).nth(1).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    gate.open();
    fixture.world.run_background();
    drop(pending_capture.answer());
    restore_gate.open();
    start.answer().unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn container_without_ready_marker_is_not_captured() {
    for prepare in [Fixture::with_diverged_workspace, || {
        let fixture = Fixture::with_stopped_workspace();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
        fixture
    }] {
        let fixture = prepare();
        let backup_count = fixture.world.backup_ids().len();
        capture(&fixture, &json!({})).expect_code(Code::SandboxReplaced);
        assert_eq!(fixture.world.backup_ids().len(), backup_count);
    }
}

#[test]
fn snapshot_does_not_start_container_of_stopped_workspace() {
    let fixture = Fixture::with_stopped_workspace();
    let refused = capture(&fixture, &json!({ "wake": true })).expect_code(Code::SandboxNotRunning);
    assert!(refused.remediation().contains("Start the workspace"), "{}", refused.remediation());
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn snapshot_of_cold_started_container_is_a_rescue_snapshot() {
    let fixture = Fixture::with_diverged_workspace();
    let snapshot = capture(&fixture, &json!({ "wake": true })).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "discard" })).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    fixture.revert_workspace(WORKSPACE, &snapshot["ref"]["snapshotId"]).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn container_that_an_earlier_start_may_still_restore_is_not_captured() {
    let fixture = Fixture::with_late_marker();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.apply_marker_late(&id, 1);
    let backup_count = fixture.world.backup_ids().len();
    capture(&fixture, &json!({ "wake": true })).expect_code(Code::SandboxStarting);
    assert_eq!(fixture.world.backup_ids().len(), backup_count);

    let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "rescue" })).unwrap();
    fixture.revert_workspace(WORKSPACE, &started["rescueSnapshotId"]).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second", "the start takes a rescue snapshot");
}

#[test]
fn capture_begun_before_files_were_adopted_is_refused() {
    let fixture = Fixture::with_diverged_workspace();
    let gate = fixture.world.after(Method::CreateBackup).nth(1).block();
    let pending_capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) }));
    assert!(gate.is_reached());
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({ "onDiverged": "adopt" }));
    fixture.world.run_background();
    gate.open();
    pending_capture.answer().expect_code(Code::SandboxReplaced);
    assert_eq!(start.answer().unwrap()["how"], "adopted");
}

#[test]
fn capture_begun_before_files_were_adopted_is_not_recovered() {
    let fixture = Fixture::with_diverged_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    let snapshot_count = fixture.snapshots_of(&id).len();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let pending_capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": id }));
    assert!(gate.is_reached());
    fixture.crash_during(pending_capture);
    fixture.world.clear_faults();
    fixture.world.before(Method::GetMetadata).fail_transiently();
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap()["how"], "adopted");
    fixture.world.clear_faults();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.snapshots_of(&id).len(), snapshot_count);
}

/// A running workspace whose container is replaced during the next capture.
fn with_container_replaced_in_capture() -> Fixture {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.reset_calls();
    fixture.world.before(Method::CreateBackup).nth(1).run(move |world| world.replace_container(&id));
    fixture
}

#[test]
fn snapshot_fails_when_container_is_replaced_during_capture() {
    let fixture = with_container_replaced_in_capture();
    capture(&fixture, &json!({})).expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "restored");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn stop_whose_container_is_replaced_says_to_start_the_workspace() {
    let fixture = with_container_replaced_in_capture();
    let error = fixture.stop_workspace(WORKSPACE).unwrap_err();
    assert_eq!(error.code(), Code::SandboxReplaced);
    assert!(error.remediation().starts_with("Start the workspace \"work\""), "{}", error.remediation());
}

#[test]
fn start_never_restores_a_partial_snapshot() {
    for partial in [json!({ "excludes": ["*.log"] }), json!({ "gitignore": true }), json!({ "dir": "/home" })] {
        let fixture = Fixture::with_stopped_workspace();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), "/home/x", "y");
        fixture.write_workspace_file(WORKSPACE, "second");
        fixture.world.advance_clock(MINUTE);
        let snapshot = capture(&fixture, &partial).unwrap();
        fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
        let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_ne!(started["restoredFrom"]["snapshotId"], snapshot["ref"]["snapshotId"], "{partial}");
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first", "{partial}");
    }
}

#[test]
fn start_never_restores_an_import_without_a_revert() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.write_file("agent-7", FILE, "imported");
    let backup = fixture.world.create_app_backup("agent-7", None);
    fixture.world.advance_clock(MINUTE);
    let import = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "backup": backup });
    let imported = fixture.run(Operation::Import, &import).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    fixture.revert_workspace(WORKSPACE, &imported["ref"]["snapshotId"]).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "imported");
}

#[test]
fn retention_keeps_newest_complete_snapshot_behind_partial_and_rescue_ones() {
    for policy in
        [json!({ "keepLast": { "count": 1 }, "expirationSeconds": 3600 }), json!({ "expirationSeconds": 3600 })]
    {
        let fixture = Fixture::with_stopped_workspace();
        fixture.update_workspace(WORKSPACE, &json!({ "retention": policy })).unwrap();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        capture(&fixture, &json!({ "excludes": ["*.log"] })).unwrap();
        let id = fixture.sandbox_of(WORKSPACE);
        fixture.world.end_container(&id);
        fixture.world.write_file(&id, FILE, "second");
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.advance_with_alarms(40 * DAY);
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first", "{policy}");
    }
}

#[test]
fn partial_snapshot_does_not_release_source_snapshot_of_workspace() {
    let fixture = Fixture::with_workspace();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    let id = fixture.sandbox_of("other");
    fixture.world.advance_clock(MINUTE);
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": id, "excludes": ["*.log"] })).unwrap();
    fixture.world.finish_background();
    let selection = json!({ "sandboxId": forked["originId"], "snapshotId": forked["snapshotId"] });
    assert_eq!(fixture.run(Operation::Get, &selection).unwrap()["dependents"], json!([id]));
}

#[test]
fn snapshot_records_its_dependencies() {
    let depends = json!({ "dependsOn": { "files": ["lock", "/etc/none"], "fingerprint": "v1" } });
    let fixture = Fixture::with_workspace_options(&depends);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, "/workspace/lock", "1");
    capture(&fixture, &json!({})).unwrap();
    let row = fixture.ledger(&id).snapshot_page(None, None, 1).unwrap().remove(0);
    let dependencies = row.dependencies.unwrap();
    assert_eq!((dependencies.files["lock"].len(), dependencies.files["/etc/none"].as_str()), (64, ""));
    assert_eq!(dependencies.fingerprint.as_deref(), Some("v1"));
    assert!(dependencies.image.unwrap().starts_with("0.12.10"));
}

#[test]
fn rescue_snapshot_contains_the_workspace_directory() {
    let fixture = Fixture::empty();
    let options = json!({ "dir": "/home", "expiry": { "idleSeconds": 0, "maxSeconds": 0 } });
    fixture.create_workspace(WORKSPACE, &options).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, "/home/notes.txt", "first");
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.write_file(&id, "/home/notes.txt", "second");
    fixture.world.advance_clock(MINUTE);
    let rescue_snapshot_id = fixture.stop_workspace(WORKSPACE).unwrap()["rescueSnapshotId"].clone();
    fixture.revert_workspace(WORKSPACE, &rescue_snapshot_id).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.world.files(&fixture.sandbox_of(WORKSPACE)).unwrap()["/home/notes.txt"], "second");
}

#[test]
fn no_rescue_snapshot_is_taken_of_a_container_that_replaced_the_diverged_one() {
    let fixture = Fixture::with_diverged_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    let count = fixture.snapshots_of(&id).len();
    fixture.world.after(Method::UpdateMarker).nth(1).run({
        let id = id.clone();
        move |world| world.replace_container(&id)
    });
    let error =
        fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "rescue" })).expect_code(Code::OperationInterrupted);
    assert!(error.is_retryable(), "{error}");
    assert_eq!(fixture.snapshots_of(&id).len(), count);
    let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "rescue" })).unwrap();
    assert_eq!((&started["how"], started.get("rescueSnapshotId")), (&json!("restored"), None));
    assert_eq!(started["mayHaveLost"], true);
}
