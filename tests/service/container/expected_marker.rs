//! The marker in its container identifies a sandbox that was captured or restored. Another container, empty or not, is
//! refused unless the caller adopts it.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRequest, TakenSnapshot};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{DAY, ExpectError, FILE, Fixture, MINUTE, Method, PendingOperation, by_ref, sandbox};

const ID: &str = "agent-42";

fn request(change: impl FnOnce(&mut SnapshotRequest)) -> SnapshotRequest {
    let mut request = SnapshotRequest::of(sandbox(ID));
    change(&mut request);
    request
}

fn wake_request() -> SnapshotRequest {
    request(|request| request.wake = true)
}

fn adopt_request() -> SnapshotRequest {
    request(|request| request.adopt = true)
}

/// Returns a captured sandbox whose container ended. A command of the application then started another container.
fn with_cold_start(files: &[&str]) -> Fixture {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.world.advance_clock(MINUTE);
    fixture.world.replace_container(ID);
    for content in files {
        fixture.world.write_file(ID, FILE, content);
    }
    fixture.world.advance_clock(MINUTE);
    fixture.world.reset_calls();
    fixture
}

fn capture(fixture: &Fixture, request: SnapshotRequest) -> TakenSnapshot {
    let before = fixture.world.backup_ids().len();
    let taken = fixture.capture(request).unwrap();
    assert_eq!(fixture.world.backup_ids().len(), before + 1);
    taken
}

#[test]
fn cold_started_container_is_refused_and_its_backup_discarded() {
    let fixture = with_cold_start(&[]);
    let error = fixture.snapshot().expect_code(Code::SandboxReplaced);
    assert!(
        error.remediation().contains("newest snapshot") && error.remediation().contains("`adopt: true`"),
        "{error:?}"
    );
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn cold_started_container_with_new_files_is_refused() {
    let fixture = with_cold_start(&["second"]);
    for _ in 0..3 {
        fixture.snapshot().expect_code(Code::SandboxReplaced);
        fixture.advance_with_alarms(2 * MINUTE);
    }
    assert_eq!(fixture.world.files(ID).unwrap()[FILE], "second");
}

#[test]
fn cold_started_restored_sandbox_stays_dependent_of_its_snapshot() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap();
    let id = restored.sandbox_id().clone();
    fixture.world.replace_container(id.as_str());
    fixture.world.advance_clock(MINUTE);
    fixture.capture(SnapshotRequest::of(id)).expect_code(Code::SandboxReplaced);
    fixture.world.finish_background();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).expect_code(Code::SnapshotHasDependents);
}

#[test]
fn restored_sandbox_is_captured_in_the_restored_container() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap();
    fixture.world.reset_calls();
    fixture.capture(SnapshotRequest::of(restored.sandbox_id().clone())).unwrap();
    assert_eq!(
        fixture.world.calls_about(restored.sandbox_id().as_str()),
        [Method::Status, Method::WatchChanges, Method::CreateBackup, Method::Probe, Method::ChangedSinceWatch]
    );
}

#[test]
fn second_capture_makes_no_marker_call() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.world.reset_calls();
    fixture.snapshot().unwrap();
    assert_eq!(
        fixture.world.calls_about(ID),
        [Method::Status, Method::WatchChanges, Method::CreateBackup, Method::Probe, Method::ChangedSinceWatch]
    );
}

#[test]
fn marker_is_written_to_container_before_capture() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot().unwrap();
    assert_eq!(
        fixture.world.calls_about(ID),
        [
            Method::Status,
            Method::UpdateMarker,
            Method::WatchChanges,
            Method::CreateBackup,
            Method::Probe,
            Method::ChangedSinceWatch
        ]
    );
}

#[test]
fn wake_of_captured_sandbox_takes_rescue_snapshot_that_evicts_nothing() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let policy = json!({ "sandboxId": ID, "policy": { "keepLast": { "count": 1 } } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    fixture.world.end_container(ID);
    fixture.world.advance_clock(MINUTE);
    let taken = capture(&fixture, wake_request());
    assert!(taken.capture.rescue);
    fixture.advance_with_alarms(DAY);
    let kept = fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(kept["state"], "ready", "a rescue snapshot evicts nothing");
    let listed = fixture.run(Operation::List, &json!({ "sandboxId": ID })).unwrap();
    assert_eq!(listed["snapshots"][0]["rescue"], true);
}

#[test]
fn wake_of_restored_sandbox_releases_no_reference() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap();
    let id = restored.sandbox_id().clone();
    fixture.world.end_container(id.as_str());
    fixture.world.advance_clock(MINUTE);
    let taken = fixture.capture(SnapshotRequest { wake: true, ..SnapshotRequest::of(id) }).unwrap();
    assert!(taken.capture.rescue);
    fixture.world.finish_background();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).expect_code(Code::SnapshotHasDependents);
}

#[test]
fn wake_and_adopt_take_normal_snapshot_of_expected_container() {
    for request in [wake_request(), adopt_request()] {
        let (fixture, _) = Fixture::with_snapshot();
        assert!(!capture(&fixture, request).capture.rescue);
    }
}

#[test]
fn rescue_snapshot_does_not_adopt_the_container() {
    let fixture = with_cold_start(&["second"]);
    assert!(capture(&fixture, wake_request()).capture.rescue);
    fixture.world.advance_clock(MINUTE);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn adopted_container_is_captured_normally_from_next_snapshot() {
    let fixture = with_cold_start(&["second"]);
    assert!(capture(&fixture, adopt_request()).capture.rescue);
    let next = capture(&fixture, request(|request| request.fresh = true));
    assert!(!next.capture.rescue);
}

#[test]
fn empty_directory_is_not_adopted() {
    let fixture = with_cold_start(&[]);
    fixture.capture(adopt_request()).expect_code(Code::SandboxEmpty);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn sandbox_that_does_not_run_is_not_adopted() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.world.end_container(ID);
    fixture.capture(adopt_request()).expect_code(Code::SandboxNotRunning);
}

#[test]
fn container_started_before_marker_is_written_is_not_adopted() {
    let fixture = with_cold_start(&["second"]);
    fixture.world.before(Method::UpdateMarker).run(|world| world.replace_container(ID));
    fixture.capture(adopt_request()).expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn container_started_before_marker_is_not_adopted_when_answers_are_slow() {
    let fixture = with_cold_start(&[]);
    fixture.world.replace_container(ID);
    fixture.world.write_file(ID, FILE, "second");
    fixture.world.advance_clock(30);
    fixture.world.before(Method::UpdateMarker).nth(1).run(|world| {
        world.replace_container(ID);
        world.write_file(ID, FILE, "third");
    });
    fixture.world.before(Method::Probe).nth(2).take_millis(1000);
    fixture.capture(adopt_request()).expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn container_that_replaces_adopted_one_during_capture_is_detected() {
    let fixture = with_cold_start(&["second"]);
    fixture.world.after(Method::CreateBackup).run(|world| world.replace_container(ID));
    fixture.capture(adopt_request()).expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn sandbox_of_named_workspace_is_not_adopted() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(crate::support::WORKSPACE);
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": id, "adopt": true })).expect_code(Code::InvalidArgument);
}

#[test]
fn sandbox_captured_by_earlier_version_is_accepted_in_same_container() {
    let (fixture, _) = Fixture::with_snapshot();
    remove_markers(&fixture);
    fixture.world.advance_clock(MINUTE);
    fixture.snapshot().unwrap();
}

#[test]
fn sandbox_captured_by_earlier_version_is_refused_in_later_container() {
    let fixture = with_cold_start(&["second"]);
    remove_markers(&fixture);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    capture(&fixture, adopt_request());
    capture(&fixture, request(|request| request.fresh = true));
}

#[test]
fn sandbox_restored_by_earlier_version_needs_adopt_once() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let id = fixture.restore(&snapshot).unwrap().sandbox_id().clone();
    let ledger = fixture.ledger(id.as_str());
    let mut sandbox = ledger.sandbox().unwrap().unwrap();
    sandbox.marker = None;
    ledger.put_sandbox(&sandbox).unwrap();
    fixture.capture(SnapshotRequest::of(id.clone())).expect_code(Code::SandboxReplaced);
    fixture.capture(SnapshotRequest { adopt: true, ..SnapshotRequest::of(id.clone()) }).unwrap();
    fixture.capture(SnapshotRequest::of(id)).unwrap();
}

#[test]
fn container_is_identified_by_its_marker_when_answers_are_slow() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.world.after(Method::Probe).take_millis(8000);
    fixture.snapshot().unwrap();
}

#[test]
fn capture_that_completes_late_keeps_marker_of_later_container() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let lost = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": ID }));
    assert!(gate.is_reached());
    fixture.crash_during(lost);
    fixture.world.before(Method::GetMetadata).fail_transiently();
    fixture.run(Operation::List, &json!({ "sandboxId": ID, "check": false })).unwrap();
    fixture.world.clear_faults();
    fixture.world.advance_clock(2 * MINUTE);
    fixture.world.reset_calls();

    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let snapshotter = fixture.snapshotter(ID);
    let alarm = PendingOperation::start_with_background(&fixture.world, async move { snapshotter.alarm().await });
    assert!(gate.is_reached());
    fixture.world.replace_container(ID);
    fixture.world.write_file(ID, FILE, "second");
    capture(&fixture, wake_request());
    gate.open();
    alarm.answer().unwrap();
    fixture.snapshot().unwrap();
}

/// Removes the marker from the ledger and from the container, as an earlier version left them.
fn remove_markers(fixture: &Fixture) {
    let ledger = fixture.ledger(ID);
    let mut sandbox = ledger.sandbox().unwrap().unwrap();
    sandbox.marker = None;
    ledger.put_sandbox(&sandbox).unwrap();
    fixture.world.remove_marker(ID);
}
