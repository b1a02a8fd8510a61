//! A sandbox that was captured or restored is known by the marker in its container: another container, empty or not, never counts
//! as the sandbox's own unless the caller adopts it.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRequest, Taken};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::support::{Checked, DAY, FILE, MINUTE, Method, Running, Stage, by_ref, sandbox};

const ID: &str = "agent-42";

fn request(change: impl FnOnce(&mut SnapshotRequest)) -> SnapshotRequest {
    let mut request = SnapshotRequest::of(sandbox(ID));
    change(&mut request);
    request
}

fn waking() -> SnapshotRequest {
    request(|request| request.wake = true)
}

fn adopting() -> SnapshotRequest {
    request(|request| request.adopt = true)
}

/// The sandbox was captured; then its container ended, and a command of the application started another one.
fn woken_with(files: &[&str]) -> Stage {
    let (stage, _) = Stage::with_snapshot();
    stage.world.pass(MINUTE);
    stage.world.is_replaced(ID);
    for content in files {
        stage.world.writes(ID, FILE, content);
    }
    stage.world.pass(MINUTE);
    stage.world.forget_calls();
    stage
}

fn taken(stage: &Stage, request: SnapshotRequest) -> Taken {
    let before = stage.world.stored().len();
    let taken = stage.take(request).unwrap();
    assert_eq!(stage.world.stored().len(), before + 1);
    taken
}

#[test]
fn a_woken_container_is_refused_and_its_backup_discarded() {
    let stage = woken_with(&[]);
    let error = stage.snapshot().fails_as(Code::SandboxReplaced);
    assert!(
        error.remediation().contains("newest snapshot") && error.remediation().contains("`adopt: true`"),
        "{error:?}"
    );
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn a_woken_container_in_which_the_application_wrote_is_refused_too() {
    let stage = woken_with(&["second"]);
    for _ in 0..3 {
        stage.snapshot().fails_as(Code::SandboxReplaced);
        stage.passes(2 * MINUTE);
    }
    assert_eq!(stage.world.files(ID).unwrap()[FILE], "second");
}

#[test]
fn a_restored_sandbox_that_woke_by_itself_keeps_the_reference_to_its_snapshot() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap();
    let id = restored.sandbox_id().clone();
    stage.world.is_replaced(id.as_str());
    stage.world.pass(MINUTE);
    stage.take(SnapshotRequest::of(id)).fails_as(Code::SandboxReplaced);
    stage.world.finish_background();
    stage.run(Operation::Delete, &by_ref(&snapshot)).fails_as(Code::SnapshotHeld);
}

#[test]
fn a_restored_sandbox_can_be_captured_in_the_container_that_was_restored() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap();
    stage.world.forget_calls();
    stage.take(SnapshotRequest::of(restored.sandbox_id().clone())).unwrap();
    assert_eq!(
        stage.world.calls_about(restored.sandbox_id().as_str()),
        [Method::State, Method::CreateBackup, Method::Probe]
    );
}

#[test]
fn a_second_capture_needs_no_call_for_the_marker() {
    let (stage, _) = Stage::with_snapshot();
    stage.world.forget_calls();
    stage.snapshot().unwrap();
    assert_eq!(stage.world.calls_about(ID), [Method::State, Method::CreateBackup, Method::Probe]);
}

#[test]
fn the_marker_is_put_on_the_container_before_it_is_captured() {
    let stage = Stage::with_sandbox();
    stage.snapshot().unwrap();
    assert_eq!(stage.world.calls_about(ID), [Method::State, Method::Stamp, Method::CreateBackup, Method::Probe]);
}

#[test]
fn waking_a_known_sandbox_takes_a_rescue_snapshot_that_is_never_the_newest() {
    let (stage, snapshot) = Stage::with_snapshot();
    let policy = json!({ "sandboxId": ID, "policy": { "keepLast": { "count": 1 } } });
    stage.run(Operation::SetRetention, &policy).unwrap();
    stage.world.stops(ID);
    stage.world.pass(MINUTE);
    let taken = taken(&stage, waking());
    assert!(taken.capture.rescue);
    stage.passes(DAY);
    let kept = stage.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(kept["state"], "ready", "a rescue snapshot evicts nothing");
    let listed = stage.run(Operation::List, &json!({ "sandboxId": ID })).unwrap();
    assert_eq!(listed["snapshots"][0]["rescue"], true);
}

#[test]
fn waking_a_restored_sandbox_releases_nothing() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap();
    let id = restored.sandbox_id().clone();
    stage.world.stops(id.as_str());
    stage.world.pass(MINUTE);
    let taken = stage.take(SnapshotRequest { wake: true, ..SnapshotRequest::of(id) }).unwrap();
    assert!(taken.capture.rescue);
    stage.world.finish_background();
    stage.run(Operation::Delete, &by_ref(&snapshot)).fails_as(Code::SnapshotHeld);
}

#[test]
fn a_sandbox_that_runs_in_its_own_container_is_captured_as_ever_with_wake_and_adopt() {
    for request in [waking(), adopting()] {
        let (stage, _) = Stage::with_snapshot();
        assert!(!taken(&stage, request).capture.rescue);
    }
}

#[test]
fn a_rescue_snapshot_changes_nothing_about_the_next_one() {
    let stage = woken_with(&["second"]);
    assert!(taken(&stage, waking()).capture.rescue);
    stage.world.pass(MINUTE);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn adopted_files_count_from_the_next_capture_on() {
    let stage = woken_with(&["second"]);
    assert!(taken(&stage, adopting()).capture.rescue);
    let next = taken(&stage, request(|request| request.fresh = true));
    assert!(!next.capture.rescue);
}

#[test]
fn an_empty_directory_is_not_adopted() {
    let stage = woken_with(&[]);
    stage.take(adopting()).fails_as(Code::SandboxEmpty);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn a_stopped_sandbox_is_not_adopted() {
    let (stage, _) = Stage::with_snapshot();
    stage.world.stops(ID);
    stage.take(adopting()).fails_as(Code::SandboxNotRunning);
}

#[test]
fn a_container_that_starts_before_the_files_are_marked_is_not_adopted() {
    let stage = woken_with(&["second"]);
    stage.world.before(Method::Stamp).happens(|world| world.is_replaced(ID));
    stage.take(adopting()).fails_as(Code::SandboxReplaced);
    assert_eq!(stage.world.stored().len(), 1);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn a_container_that_starts_before_the_files_are_marked_is_not_adopted_when_answers_are_slow() {
    let stage = woken_with(&[]);
    stage.world.is_replaced(ID);
    stage.world.writes(ID, FILE, "second");
    stage.world.pass(30);
    stage.world.before(Method::Stamp).nth(1).happens(|world| {
        world.is_replaced(ID);
        world.writes(ID, FILE, "third");
    });
    stage.world.before(Method::Probe).nth(2).takes(1000);
    stage.take(adopting()).fails_as(Code::SandboxReplaced);
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn a_container_that_replaces_an_adopted_one_during_the_capture_is_found_out() {
    let stage = woken_with(&["second"]);
    stage.world.after(Method::CreateBackup).happens(|world| world.is_replaced(ID));
    stage.take(adopting()).fails_as(Code::SandboxReplaced);
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn the_sandbox_of_a_name_is_not_adopted() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(super::support::WORK);
    stage.run(Operation::Snapshot, &json!({ "sandboxId": id, "adopt": true })).fails_as(Code::InvalidArgument);
}

#[test]
fn a_sandbox_that_an_earlier_version_captured_counts_if_its_container_was_there_then() {
    let (stage, _) = Stage::with_snapshot();
    forget_marker(&stage);
    stage.world.pass(MINUTE);
    stage.snapshot().unwrap();
}

#[test]
fn a_sandbox_that_an_earlier_version_captured_is_refused_in_a_later_container() {
    let stage = woken_with(&["second"]);
    forget_marker(&stage);
    stage.snapshot().fails_as(Code::SandboxReplaced);
    taken(&stage, adopting());
    taken(&stage, request(|request| request.fresh = true));
}

#[test]
fn a_sandbox_that_an_earlier_version_restored_is_adopted_once() {
    let (stage, snapshot) = Stage::with_snapshot();
    let id = stage.restore(&snapshot).unwrap().sandbox_id().clone();
    let ledger = stage.ledger(id.as_str());
    let mut workspace = ledger.workspace().unwrap().unwrap();
    workspace.marker = None;
    ledger.put_workspace(&workspace).unwrap();
    stage.take(SnapshotRequest::of(id.clone())).fails_as(Code::SandboxReplaced);
    stage.take(SnapshotRequest { adopt: true, ..SnapshotRequest::of(id.clone()) }).unwrap();
    stage.take(SnapshotRequest::of(id)).unwrap();
}

#[test]
fn a_container_is_known_by_its_marker_however_slowly_it_answers() {
    let (stage, _) = Stage::with_snapshot();
    stage.world.after(Method::Probe).takes(8000);
    stage.snapshot().unwrap();
}

#[test]
fn a_capture_that_ends_late_does_not_take_the_marker_from_a_later_container() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::Metadata).nth(1).held();
    let early = stage.begin(Operation::Snapshot, &json!({ "sandboxId": ID }));
    assert!(gate.is_reached());
    stage.dies_during(early);
    stage.world.before(Method::Metadata).fails_in_passing();
    stage.run(Operation::List, &json!({ "sandboxId": ID, "check": false })).unwrap();
    stage.world.goes_well();
    stage.world.pass(2 * MINUTE);
    stage.world.forget_calls();

    let gate = stage.world.before(Method::Metadata).nth(1).held();
    let agent = stage.of(ID);
    let alarm = Running::start_in(&stage.world, async move { agent.alarm().await });
    assert!(gate.is_reached());
    stage.world.is_replaced(ID);
    stage.world.writes(ID, FILE, "second");
    taken(&stage, waking());
    gate.open();
    alarm.answer().unwrap();
    stage.snapshot().unwrap();
}

/// The ledger as an earlier version left it, and the container with it.
fn forget_marker(stage: &Stage) {
    let ledger = stage.ledger(ID);
    let mut workspace = ledger.workspace().unwrap().unwrap();
    workspace.marker = None;
    ledger.put_workspace(&workspace).unwrap();
    stage.world.loses_stamp(ID);
}
