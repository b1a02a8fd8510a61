//! Relocation: a workspace moves to a new sandbox when its own does not answer.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::json;

use crate::support::{ExpectError, FILE, Fixture, HOUR, MINUTE, Method, WORKSPACE, by_ref};

/// The workspace `work`, relocated by a start because its sandbox answered neither `restoreBackup` nor `destroy`, and
/// the id of the former sandbox.
fn with_relocated() -> (Fixture, String) {
    let fixture = Fixture::with_stopped_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).nth(1).hang();
    fixture.world.before(Method::Destroy).nth(1).hang();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    (fixture, former)
}

#[test]
fn start_relocates_when_restore_and_destroy_are_not_answered() {
    let (fixture, former) = with_relocated();
    let record = fixture.record(WORKSPACE);
    assert_ne!(record.sandbox_id.as_str(), former);
    assert_eq!((fixture.state(WORKSPACE), record.former_sandbox_ids[0].as_str()), ("active", former.as_str()));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn start_relocates_when_the_destroy_of_a_failed_attempt_is_not_answered() {
    let fixture = Fixture::with_stopped_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).nth(1).fail_transiently();
    fixture.world.before(Method::Destroy).nth(1).hang();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_ne!(fixture.sandbox_of(WORKSPACE), former);
    fixture.write_workspace_file(WORKSPACE, "second");
    // The late `destroy` ends only the container of the former sandbox.
    fixture.world.end_container(&former);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("second"));
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn start_fails_after_two_unresponsive_sandboxes() {
    let fixture = Fixture::with_stopped_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).hang();
    fixture.world.before(Method::Destroy).hang();
    let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::SandboxUnresponsive);
    assert!(error.is_retryable(), "{error}");
    assert_eq!((fixture.state(WORKSPACE), fixture.world.call_count(Method::RestoreBackup)), ("stopped", 2));
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["problem"]["code"], "SANDBOX_UNRESPONSIVE");
    fixture.world.clear_faults();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(
        (fixture.read_workspace_file(WORKSPACE).as_deref(), fixture.record(WORKSPACE).former_sandbox_ids.len()),
        (Some("first"), 2)
    );
    assert_eq!(fixture.record(WORKSPACE).former_sandbox_ids[1].as_str(), former);
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn snapshots_of_former_sandbox_stay_restorable() {
    let (fixture, former) = with_relocated();
    let [snapshot] = fixture.snapshots_of(&former).try_into().unwrap();
    fixture.stop_with_content(WORKSPACE, "later");
    fixture.revert_workspace(WORKSPACE, &json!(snapshot)).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
}

#[test]
fn one_unanswered_restore_keeps_the_sandbox() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).nth(1).hang();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::SandboxTimeout);
    assert_eq!((fixture.state(WORKSPACE), fixture.has_container(WORKSPACE)), ("stopped", false));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((fixture.sandbox_of(WORKSPACE), fixture.read_workspace_file(WORKSPACE).as_deref()), (id, Some("first")));
}

#[test]
fn two_unanswered_restores_relocate_the_workspace() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).first(2).hang();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::SandboxTimeout);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_ne!(fixture.sandbox_of(WORKSPACE), id);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
}

#[test]
fn stop_saves_files_and_relocates_when_destroy_is_not_answered() {
    let fixture = Fixture::with_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::Destroy).nth(1).hang();
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!((&stopped["state"], fixture.state(WORKSPACE)), (&json!("stopped"), "stopped"));
    assert_ne!(fixture.sandbox_of(WORKSPACE), former);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    // The late `destroy` ends only the container of the former sandbox.
    fixture.world.end_container(&former);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("second"));
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn unanswered_capture_leaves_workspace_active_and_container_running() {
    let fixture = Fixture::with_workspace();
    fixture.world.before(Method::CreateBackup).hang();
    fixture.stop_workspace(WORKSPACE).expect_code(Code::BackupInterrupted);
    assert_eq!(
        (fixture.state(WORKSPACE), fixture.read_workspace_file(WORKSPACE).as_deref()),
        ("active", Some("first"))
    );
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!(
        (fixture.read_workspace_file(WORKSPACE).as_deref(), fixture.world.call_count(Method::Destroy)),
        (Some("first"), 0)
    );
    fixture.world.clear_faults();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)).len(), 1);
}

#[test]
fn create_frees_the_name_when_sandbox_is_unresponsive() {
    let fixture = Fixture::empty();
    fixture.world.before(Method::UpdateMarker).hang();
    fixture.world.before(Method::Destroy).hang();
    fixture.create_workspace(WORKSPACE, &json!({})).expect_code(Code::SandboxUnresponsive);
    fixture.get_workspace(WORKSPACE).expect_code(Code::WorkspaceNotFound);
    fixture.world.clear_faults();
    fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn revert_replaces_an_unresponsive_sandbox() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let former = fixture.sandbox_of(WORKSPACE);
    let [snapshot] = fixture.snapshots_of(&former).try_into().unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.hang_sandbox(&former);
    fixture.stop_workspace(WORKSPACE).expect_code(Code::SandboxTimeout);
    fixture.revert_workspace(WORKSPACE, &json!(snapshot)).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
    fixture.world.clear_faults();
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!(fixture.snapshots_of(&former).len(), 2, "the former sandbox is captured when it answers again");
    assert!(
        fixture.world.files(&former).is_none()
            && fixture.world.files(&fixture.sandbox_of(WORKSPACE)).unwrap().contains_key(FILE)
    );
}

#[test]
fn unresponsive_former_sandbox_does_not_delay_calls() {
    let (fixture, former) = with_relocated();
    fixture.world.hang_sandbox(&former);
    let named = fixture.named_workspace(WORKSPACE);
    let mut pending_alarm =
        crate::support::PendingOperation::start_with_background(&fixture.world, async move { named.alarm().await });
    assert!(!pending_alarm.is_done(), "the alarm waits for the former sandbox");
    let mut start = fixture.begin_in_workspace(
        sandbox_snapshotter::api::operations::Operation::StartWorkspace,
        WORKSPACE,
        &json!({}),
    );
    assert!(start.is_done());
    fixture.world.advance_clock(MINUTE);
    pending_alarm.answer().unwrap();
}

#[test]
fn unresponsive_sandbox_without_snapshots_is_replaced_too() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.create_workspace(WORKSPACE, &json!({ "sourceSnapshot": by_ref(&snapshot) })).unwrap();
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.world.end_container(&former);
    fixture.run(Operation::Delete, &json!({ "ref": snapshot, "force": true })).unwrap();
    fixture.world.before(Method::Destroy).hang();
    fixture.world.replace_container(&former);
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
    assert_ne!(fixture.sandbox_of(WORKSPACE), former);
    fixture.world.clear_faults();
    fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn former_sandbox_is_ended_when_worker_crashes_during_relocation() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.after(Method::CompleteRestore).nth(1).hang();
    fixture.world.before(Method::Destroy).nth(1).hang();
    let gate = fixture.world.before(Method::NewestSnapshot).nth(1).block();
    let mut start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    while !gate.is_reached() {
        assert!(fixture.world.advance_to_deadline());
        fixture.world.run_background();
        assert!(!start.is_done());
    }
    fixture.crash_during(start);
    fixture.world.clear_faults();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.advance_with_alarms(3 * HOUR);
    assert!(!fixture.world.running_sandboxes().contains(&id));
    fixture.assert_nothing_pending();
}
