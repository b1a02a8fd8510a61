//! A workspace goes on in another sandbox where its own does not answer any more.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::json;

use crate::support::{Checked, FILE, HOUR, MINUTE, Method, Stage, WORK, by_ref};

/// A workspace whose start found a sandbox that answered neither the restore nor the end of its container.
fn relocated() -> (Stage, String) {
    let stage = Stage::with_stopped_work();
    let former = stage.sandbox_of(WORK);
    stage.world.before(Method::RestoreBackup).nth(1).is_never_answered();
    stage.world.before(Method::Destroy).nth(1).is_never_answered();
    stage.starts(WORK, &json!({})).unwrap();
    (stage, former)
}

#[test]
fn a_sandbox_that_answers_neither_the_restore_nor_its_end_is_left_for_another_one() {
    let (stage, former) = relocated();
    let record = stage.record(WORK);
    assert_ne!(record.sandbox_id.as_str(), former);
    assert_eq!((stage.state(WORK), record.former[0].as_str()), ("active", former.as_str()));
    assert_eq!(stage.file(WORK).as_deref(), Some("first"));
    stage.passes(3 * HOUR);
    stage.assert_settled();
}

#[test]
fn a_start_tries_two_sandboxes_and_answers() {
    let stage = Stage::with_stopped_work();
    let former = stage.sandbox_of(WORK);
    stage.world.before(Method::RestoreBackup).is_never_answered();
    stage.world.before(Method::Destroy).is_never_answered();
    let error = stage.starts(WORK, &json!({})).fails_as(Code::SandboxUnresponsive);
    assert!(error.retryable(), "{error}");
    assert_eq!((stage.state(WORK), stage.world.count(Method::RestoreBackup)), ("stopped", 2));
    assert_eq!(stage.described(WORK).unwrap()["problem"]["code"], "SANDBOX_UNRESPONSIVE");
    stage.world.goes_well();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!((stage.file(WORK).as_deref(), stage.record(WORK).former.len()), (Some("first"), 2));
    assert_eq!(stage.record(WORK).former[1].as_str(), former);
    stage.passes(3 * HOUR);
    stage.assert_settled();
}

#[test]
fn the_snapshots_of_the_former_sandbox_stay_reachable() {
    let (stage, former) = relocated();
    let [snapshot] = stage.snapshots_of(&former).try_into().unwrap();
    stage.saves(WORK, "later");
    stage.goes_back(WORK, &json!(snapshot)).unwrap();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).as_deref(), Some("first"));
}

#[test]
fn a_restore_that_is_not_answered_once_leaves_the_workspace_its_sandbox() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::RestoreBackup).nth(1).is_never_answered();
    stage.starts(WORK, &json!({})).fails_as(Code::SandboxTimeout);
    assert_eq!((stage.state(WORK), stage.is_up(WORK)), ("stopped", false));
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!((stage.sandbox_of(WORK), stage.file(WORK).as_deref()), (id, Some("first")));
}

#[test]
fn a_sandbox_that_does_not_answer_two_restores_is_left_for_another_one() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::RestoreBackup).first(2).is_never_answered();
    stage.starts(WORK, &json!({})).fails_as(Code::SandboxTimeout);
    stage.starts(WORK, &json!({})).unwrap();
    assert_ne!(stage.sandbox_of(WORK), id);
    assert_eq!(stage.file(WORK).as_deref(), Some("first"));
}

#[test]
fn a_stop_whose_end_is_not_answered_saves_and_leaves_the_sandbox() {
    let stage = Stage::with_work();
    let former = stage.sandbox_of(WORK);
    stage.world.before(Method::Destroy).nth(1).is_never_answered();
    let stopped = stage.stops(WORK).unwrap();
    assert_eq!((&stopped["state"], stage.state(WORK)), (&json!("stopped"), "stopped"));
    assert_ne!(stage.sandbox_of(WORK), former);
    stage.starts(WORK, &json!({})).unwrap();
    stage.writes(WORK, "second");
    // The end of the former one comes at last, and that of its container alone.
    stage.world.stops(&former);
    assert_eq!(stage.file(WORK).as_deref(), Some("second"));
    stage.passes(3 * HOUR);
    stage.assert_settled();
}

#[test]
fn a_capture_that_is_not_answered_leaves_the_workspace_active_and_its_container_alone() {
    let stage = Stage::with_work();
    stage.world.before(Method::CreateBackup).is_never_answered();
    stage.stops(WORK).fails_as(Code::BackupInterrupted);
    assert_eq!((stage.state(WORK), stage.file(WORK).as_deref()), ("active", Some("first")));
    stage.passes(3 * HOUR);
    assert_eq!((stage.file(WORK).as_deref(), stage.world.count(Method::Destroy)), (Some("first"), 0));
    stage.world.goes_well();
    stage.stops(WORK).unwrap();
    assert_eq!(stage.snapshots_of(&stage.sandbox_of(WORK)).len(), 1);
}

#[test]
fn a_new_workspace_whose_sandbox_does_not_answer_frees_its_name() {
    let stage = Stage::empty();
    stage.world.before(Method::Stamp).is_never_answered();
    stage.world.before(Method::Destroy).is_never_answered();
    stage.creates(WORK, &json!({})).fails_as(Code::SandboxUnresponsive);
    stage.described(WORK).fails_as(Code::WorkspaceNotFound);
    stage.world.goes_well();
    stage.creates(WORK, &json!({})).unwrap();
    stage.passes(3 * HOUR);
    stage.assert_settled();
}

#[test]
fn going_back_is_a_way_out_of_a_sandbox_that_answers_nothing() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    let former = stage.sandbox_of(WORK);
    let [snapshot] = stage.snapshots_of(&former).try_into().unwrap();
    stage.writes(WORK, "second");
    stage.world.falls_silent(&former);
    stage.stops(WORK).fails_as(Code::SandboxTimeout);
    stage.goes_back(WORK, &json!(snapshot)).unwrap();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).as_deref(), Some("first"));
    stage.world.goes_well();
    stage.passes(3 * HOUR);
    assert_eq!(stage.snapshots_of(&former).len(), 2, "what was in the former one is saved when it answers");
    assert!(
        stage.world.files(&former).is_none() && stage.world.files(&stage.sandbox_of(WORK)).unwrap().contains_key(FILE)
    );
}

#[test]
fn a_former_sandbox_that_answers_nothing_keeps_no_call_waiting() {
    let (stage, former) = relocated();
    stage.world.falls_silent(&former);
    let alarm = stage.named(WORK);
    let mut ringing = crate::support::Running::start_in(&stage.world, async move { alarm.alarm().await });
    assert!(!ringing.is_done(), "it waits for the former one");
    let mut start = stage.begins(sandbox_snapshotter::api::operations::Operation::StartWorkspace, WORK, &json!({}));
    assert!(start.is_done());
    stage.world.pass(MINUTE);
    ringing.answer().unwrap();
}

#[test]
fn a_sandbox_without_any_snapshot_left_is_replaced_too() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.creates(WORK, &json!({ "sourceSnapshot": by_ref(&snapshot) })).unwrap();
    let former = stage.sandbox_of(WORK);
    stage.world.stops(&former);
    stage.run(Operation::Delete, &json!({ "ref": snapshot, "force": true })).unwrap();
    stage.world.before(Method::Destroy).is_never_answered();
    stage.world.is_replaced(&former);
    stage.starts(WORK, &json!({})).fails_as(Code::NothingRestorable);
    assert_ne!(stage.sandbox_of(WORK), former);
    stage.world.goes_well();
    stage.starts(WORK, &json!({ "allowEmpty": true })).unwrap();
    stage.passes(3 * HOUR);
    stage.assert_settled();
}

#[test]
fn a_sandbox_that_is_being_left_when_the_worker_dies_is_ended_all_the_same() {
    let stage = Stage::with_stopped_work();
    stage.world.after(Method::Arrive).nth(1).is_never_answered();
    stage.world.before(Method::Destroy).nth(1).is_never_answered();
    let gate = stage.world.before(Method::Newest).nth(1).held();
    let mut start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    while !gate.is_reached() {
        assert!(stage.world.next_limit_passes());
        stage.world.go_on_in_background();
        assert!(!start.is_done());
    }
    stage.dies_during(start);
    stage.world.goes_well();
    let id = stage.sandbox_of(WORK);
    stage.passes(3 * HOUR);
    assert!(!stage.world.running().contains(&id));
    stage.assert_settled();
}
