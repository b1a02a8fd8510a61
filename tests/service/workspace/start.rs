//! `start` leaves running containers unchanged, and restores files that are missing.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, Result};
use serde_json::{Value, json};

use crate::support::{
    CancellationSource, ExpectError, FILE, Fixture, HOUR, MINUTE, Method, PendingOperation, WORKSPACE, address,
    no_expiry, workspace_args,
};

#[test]
fn stop_and_start_restore_files_into_the_same_sandbox() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert!(!fixture.has_container(WORKSPACE));
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(
        (&started["how"], &started["restoredFrom"]["snapshotId"]),
        (&json!("restored"), &stopped["lastSnapshot"]["id"])
    );
    assert_eq!((fixture.sandbox_of(WORKSPACE), fixture.read_workspace_file(WORKSPACE)), (id, Some("first".into())));
}

#[test]
fn start_from_a_lost_backup_says_how_to_start_without_it() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.clear_bucket();
    for options in [json!({}), json!({ "allowEmpty": true })] {
        let error = fixture.start_workspace(WORKSPACE, &options).expect_code(Code::BackupNotFound);
        let text = format!("{} {}", error.message(), error.remediation());
        assert!(text.contains("delete the snapshot with `force: true`. Pass `allowEmpty: true`"), "{text}");
    }
    let newest = fixture.run(Operation::Get, &json!({ "name": WORKSPACE, "label": "latest" })).unwrap();
    let newest = json!({ "name": WORKSPACE, "snapshotId": newest["snapshotId"], "force": true });
    assert_eq!(fixture.run(Operation::Delete, &newest).unwrap()["removed"], true);
    fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE), None);
}

#[test]
fn start_returns_an_active_workspace() {
    let fixture = Fixture::with_stopped_workspace();
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(started["state"], "active");
    assert_eq!(started["workspace"]["ref"]["sandboxId"], started["sandboxId"]);
    assert_eq!(started["startedAt"], started["activeAt"]);
}

#[test]
fn start_of_running_workspace_changes_nothing() {
    let fixture = Fixture::with_workspace();
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(started["how"], "running");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    let mutating_methods = [Method::Destroy, Method::RestoreBackup, Method::UpdateMarker, Method::CreateBackup];
    assert!(
        mutating_methods.iter().all(|method| fixture.world.call_count(*method) == 0),
        "{:?}",
        fixture.world.calls()
    );
}

#[test]
fn start_updates_the_activity_time() {
    let fixture = Fixture::with_workspace();
    let before = fixture.record(WORKSPACE).active_at;
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert!(fixture.record(WORKSPACE).active_at > before);
}

/// Runs `count` concurrent calls of an operation, and returns their answers.
fn run_together(fixture: &Fixture, count: usize, operation: Operation, options: &Value) -> Vec<Value> {
    let pending: Vec<_> = (0..count).map(|_| fixture.begin_in_workspace(operation, WORKSPACE, options)).collect();
    pending.into_iter().map(|start: PendingOperation<_>| start.answer().unwrap()).collect()
}

#[test]
fn twenty_concurrent_starts_make_one_restore() {
    let fixture = Fixture::with_stopped_workspace();
    let gate = fixture.world.before(Method::RestoreBackup).nth(1).block();
    let pending: Vec<_> =
        (0..20).map(|_| fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}))).collect();
    gate.open();
    let answers: Vec<_> = pending.into_iter().map(|start| start.answer().unwrap()).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 1);
}

#[test]
fn twenty_concurrent_get_or_create_calls_get_one_sandbox() {
    let fixture = Fixture::empty();
    let answers = run_together(&fixture, 20, Operation::GetOrCreateWorkspace, &json!({}));
    assert!(answers.iter().all(|answer| answer["sandboxId"] == answers[0]["sandboxId"]), "{answers:?}");
    assert_eq!(fixture.world.running_sandboxes().len(), 1);
}

#[test]
fn starts_with_different_options_do_not_share_an_answer() {
    let fixture = Fixture::with_stopped_workspace();
    let gate = fixture.world.before(Method::RestoreBackup).nth(1).block();
    let first = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    let second = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({ "acceptStale": true }));
    gate.open();
    assert_eq!(first.answer().unwrap()["how"], "restored");
    assert_eq!(second.answer().unwrap()["how"], "running");
}

#[test]
fn start_begun_after_the_probe_of_another_start_probes_again() {
    let fixture = Fixture::with_workspace();
    let gate = fixture.world.after(Method::Probe).nth(1).block();
    let first = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let second = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    gate.open();
    assert_eq!(first.answer().unwrap()["how"], "running");
    assert_ne!(second.answer().map(|answer| answer["how"].clone()), Ok(json!("running")));
}

#[test]
fn later_start_probes_again() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "restored");
}

#[test]
fn start_waits_for_running_stop() {
    let fixture = Fixture::with_workspace();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let stop = fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}));
    let mut start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached() && !start.is_done());
    gate.open();
    assert_eq!(stop.answer().unwrap()["state"], "stopped");
    assert_eq!(start.answer().unwrap()["how"], "restored");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn start_restores_files_after_container_ended() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(started["how"], "restored");
    assert!(started["history"][1]["cause"].as_str().unwrap().contains("its sandbox had ended"), "{started}");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn start_restores_files_after_unnoticed_container_end() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.end_container_unnoticed(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "restored");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn start_can_be_repeated_after_transient_failure() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::SandboxUnavailable);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["problem"]["code"], "SANDBOX_UNAVAILABLE");
    fixture.world.clear_faults();
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert!(started.get("problem").is_none(), "{started}");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn permanent_failure_of_start_marks_workspace_as_failed() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.edit_backups(|backup| backup.archive = None);
    let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::BackupIncomplete);
    assert_eq!(fixture.state(WORKSPACE), "failed");
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["problem"]["message"], error.message());
}

#[test]
fn start_never_restores_an_older_snapshot_than_the_newest() {
    let fixture = Fixture::with_workspace();
    fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.stop_with_content(WORKSPACE, "second");
    fixture.world.edit_backups(|backup| {
        if backup.id().to_string().ends_with('2') {
            backup.archive = None;
        }
    });
    fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).expect_code(Code::BackupIncomplete);
    assert!(!fixture.has_container(WORKSPACE));
}

#[test]
fn start_with_lost_answer_leaves_no_orphaned_container() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.after(Method::EnsureRunning).fail_transiently();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::WorkspaceUnavailable);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.assert_nothing_pending();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn operations_fail_for_an_unknown_name() {
    let fixture = Fixture::empty();
    for operation in
        [Operation::StartWorkspace, Operation::StopWorkspace, Operation::GetWorkspaceByName, Operation::ForkWorkspace]
    {
        fixture.run(operation, &workspace_args(WORKSPACE, &json!({}))).expect_code(Code::WorkspaceNotFound);
    }
    fixture.update_workspace(WORKSPACE, &json!({ "persistent": false })).expect_code(Code::WorkspaceNotFound);
    assert!(fixture.world.calls().iter().all(|(method, _)| *method == Method::ListWorkspaces));
}

#[test]
fn same_name_in_another_tenant_is_another_workspace() {
    let fixture = Fixture::with_workspace();
    fixture
        .run(Operation::StartWorkspace, &json!({ "name": WORKSPACE, "tenant": "other" }))
        .expect_code(Code::WorkspaceNotFound);
    let other = fixture.create_workspace(WORKSPACE, &json!({ "tenant": "other" })).unwrap();
    assert_ne!(other["sandboxId"], json!(fixture.sandbox_of(WORKSPACE)));
}

#[test]
fn start_continues_after_its_caller_cancels() {
    let fixture = Fixture::with_stopped_workspace();
    let gate = fixture.world.before(Method::RestoreBackup).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let start = fixture.begin_cancellable(Operation::StartWorkspace, &workspace_args(WORKSPACE, &json!({})), abort);
    signal.cancel();
    start.answer().expect_code(Code::Aborted);
    gate.open();
    fixture.world.finish_background();
    assert_eq!((fixture.state(WORKSPACE), fixture.read_workspace_file(WORKSPACE)), ("active", Some("first".into())));
}

#[test]
fn queued_start_is_dropped_when_its_caller_cancels() {
    let fixture = Fixture::with_workspace();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let stop = fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}));
    let (signal, abort) = CancellationSource::new();
    let start = fixture.begin_cancellable(Operation::StartWorkspace, &workspace_args(WORKSPACE, &json!({})), abort);
    signal.cancel();
    start.answer().expect_code(Code::Aborted);
    gate.open();
    stop.answer().unwrap();
    fixture.world.finish_background();
    assert_eq!(fixture.state(WORKSPACE), "stopped");
}

#[test]
fn every_transition_is_logged() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let logged = fixture.workspace_store(WORKSPACE).transitions();
    let states: Vec<_> = logged.iter().map(|(_, transition)| transition.to.as_str()).collect();
    assert_eq!(states, ["provisioning", "active", "stopping", "stopped", "restoring", "active"]);
    assert!(logged.iter().all(|(of, transition)| *of == address(WORKSPACE) && !transition.cause.is_empty()));
}

#[test]
fn history_lists_at_most_twenty_transitions_newest_first() {
    let fixture = Fixture::with_workspace();
    for _ in 0..6 {
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    }
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    let states: Vec<_> = described["history"].as_array().unwrap().iter().map(|entry| entry["to"].clone()).collect();
    assert_eq!(states[..4], [json!("active"), json!("restoring"), json!("stopped"), json!("stopping")]);
    assert_eq!(states.len(), 20);
}

#[test]
fn files_outside_the_directory_do_not_persist() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, "/tmp/scratch", "x");
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let files = fixture.world.files(&id).unwrap();
    assert_eq!(files.keys().collect::<Vec<_>>(), [FILE]);
}

/// Begins a start of `work`, then `operation`, then the same start again. Returns the answer of the last start.
fn start_after(operation: Operation, options: &Value) -> (Fixture, Result<Value>) {
    let fixture = Fixture::with_stopped_workspace();
    let gate = fixture.world.before(Method::RestoreBackup).nth(1).block();
    let first = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    let other = fixture.begin_in_workspace(operation, WORKSPACE, options);
    let last = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    gate.open();
    first.answer().unwrap();
    other.answer().unwrap();
    let answer = last.answer();
    (fixture, answer)
}

#[test]
fn start_queued_after_stop_starts_again() {
    let (fixture, answer) = start_after(Operation::StopWorkspace, &json!({}));
    assert_eq!(answer.unwrap()["state"], "active");
    assert!(fixture.has_container(WORKSPACE));
}

#[test]
fn start_queued_after_update_returns_the_new_settings() {
    let (_, answer) = start_after(Operation::UpdateWorkspace, &json!({ "env": { "A": "1" } }));
    assert_eq!(answer.unwrap()["envNames"], json!(["A"]));
}

#[test]
fn start_queued_after_delete_fails() {
    let (_, answer) = start_after(Operation::DeleteWorkspace, &json!({}));
    answer.expect_code(Code::WorkspaceNotFound);
}

/// The stopped workspace `work`, and its snapshots with `first` and `second`.
fn with_two_snapshots() -> (Fixture, [Value; 2]) {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let second = fixture.stop_with_content(WORKSPACE, "second");
    fixture.world.reset_calls();
    (fixture, [first, second])
}

#[test]
fn start_from_a_snapshot_continues_in_a_new_sandbox() {
    let (fixture, [first, second]) = with_two_snapshots();
    let former = fixture.sandbox_of(WORKSPACE);
    let started = fixture.start_workspace(WORKSPACE, &json!({ "from": first })).unwrap();
    assert_eq!((&started["state"], &started["how"]), (&json!("active"), &json!("restored")));
    assert_eq!((&started["restoredFrom"]["snapshotId"], &started["mayHaveLost"]), (&first, &json!(false)));
    assert_eq!(started["workspace"]["ref"]["sandboxId"], started["sandboxId"]);
    assert_eq!(started["formerSandboxIds"], json!([former]));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
    let back = fixture.start_workspace(WORKSPACE, &json!({ "from": second })).unwrap();
    assert_ne!(back["sandboxId"], started["sandboxId"]);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("second"));
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn start_from_a_snapshot_saves_the_files_of_an_active_workspace_before() {
    let (fixture, [first, _]) = with_two_snapshots();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "third");
    fixture.world.advance_clock(MINUTE);
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.start_workspace(WORKSPACE, &json!({ "from": first })).unwrap();
    let saved = fixture.snapshots_of(&former)[0].clone();
    fixture.start_workspace(WORKSPACE, &json!({ "from": saved })).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("third"));
}

#[test]
fn start_from_a_snapshot_changes_nothing_when_its_restore_fails() {
    let (fixture, [first, _]) = with_two_snapshots();
    let before = fixture.get_workspace(WORKSPACE).unwrap();
    fixture.world.before(Method::RestoreBackup).fail_with(Failure::new("BackupRestoreError", "no room"));
    fixture.start_workspace(WORKSPACE, &json!({ "from": first })).unwrap_err();
    fixture.world.clear_faults();
    for member in ["state", "sandboxId", "lastSnapshot"] {
        assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()[member], before[member], "{member}");
    }
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("second"));
}

#[test]
fn start_from_a_snapshot_of_another_lineage_is_refused() {
    let (fixture, _) = with_two_snapshots();
    fixture.create_workspace("other", &no_expiry()).unwrap();
    let foreign = fixture.stop_with_content("other", "secret");
    fixture.start_workspace(WORKSPACE, &json!({ "from": foreign })).expect_code(Code::SnapshotNotFound);
}

#[test]
fn repeated_start_from_a_snapshot_goes_back_to_it_once() {
    let (fixture, [first, second]) = with_two_snapshots();
    let start = |from: &Value| fixture.start_workspace(WORKSPACE, &json!({ "from": from, "idempotencyKey": "k" }));
    let started = start(&first).unwrap();
    fixture.write_workspace_file(WORKSPACE, "third");
    assert_eq!(start(&first).unwrap()["sandboxId"], started["sandboxId"]);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("third"));
    start(&second).expect_code(Code::IdempotencyConflict);
}
