//! A workspace is started: what is there is left as it is, and what is not there is made again.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use crate::support::{Checked, FILE, MINUTE, Method, Running, Signal, Stage, WORK, address, on};

#[test]
fn a_stop_and_a_start_give_the_files_back_into_the_same_sandbox() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    let stopped = stage.stops(WORK).unwrap();
    assert!(!stage.is_up(WORK));
    let started = stage.starts(WORK, &json!({})).unwrap();
    assert_eq!((&started["how"], &started["restoredFrom"]), (&json!("restored"), &stopped["lastSnapshot"]["id"]));
    assert_eq!((stage.sandbox_of(WORK), stage.file(WORK)), (id, Some("first".into())));
}

#[test]
fn a_start_answers_a_workspace_to_work_in() {
    let stage = Stage::with_stopped_work();
    let started = stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(started["state"], "active");
    assert_eq!(started["workspace"]["ref"]["sandboxId"], started["sandboxId"]);
    assert_eq!(started["startedAt"], started["activeAt"]);
}

#[test]
fn a_workspace_that_is_up_is_answered_as_it_is() {
    let stage = Stage::with_work();
    let started = stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(started["how"], "alive");
    assert_eq!(stage.file(WORK).unwrap(), "first");
    let touched = [Method::Destroy, Method::RestoreBackup, Method::Stamp, Method::CreateBackup];
    assert!(touched.iter().all(|method| stage.world.count(*method) == 0), "{:?}", stage.world.calls());
}

#[test]
fn a_start_is_a_sign_of_life() {
    let stage = Stage::with_work();
    let before = stage.record(WORK).active_at;
    stage.starts(WORK, &json!({})).unwrap();
    assert!(stage.record(WORK).active_at > before);
}

/// Starts that were begun together.
fn together(stage: &Stage, count: usize, operation: Operation, further: &Value) -> Vec<Value> {
    let begun: Vec<_> = (0..count).map(|_| stage.begins(operation, WORK, further)).collect();
    begun.into_iter().map(|start: Running<_>| start.answer().unwrap()).collect()
}

#[test]
fn twenty_starts_together_make_one_restore() {
    let stage = Stage::with_stopped_work();
    let gate = stage.world.before(Method::RestoreBackup).nth(1).held();
    let begun: Vec<_> = (0..20).map(|_| stage.begins(Operation::StartWorkspace, WORK, &json!({}))).collect();
    gate.open();
    let answers: Vec<_> = begun.into_iter().map(|start| start.answer().unwrap()).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(stage.world.count(Method::RestoreBackup), 1);
}

#[test]
fn twenty_callers_who_get_or_create_together_get_one_sandbox() {
    let stage = Stage::empty();
    let answers = together(&stage, 20, Operation::GetOrCreateWorkspace, &json!({}));
    assert!(answers.iter().all(|answer| answer["sandboxId"] == answers[0]["sandboxId"]), "{answers:?}");
    assert_eq!(stage.world.running().len(), 1);
}

#[test]
fn starts_that_want_different_things_do_not_share_an_answer() {
    let stage = Stage::with_stopped_work();
    let gate = stage.world.before(Method::RestoreBackup).nth(1).held();
    let first = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    let second = stage.begins(Operation::StartWorkspace, WORK, &json!({ "acceptStale": true }));
    gate.open();
    assert_eq!(first.answer().unwrap()["how"], "restored");
    assert_eq!(second.answer().unwrap()["how"], "alive");
}

#[test]
fn a_start_that_comes_when_another_has_looked_already_looks_again() {
    let stage = Stage::with_work();
    let gate = stage.world.after(Method::Probe).nth(1).held();
    let first = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    assert!(gate.is_reached());
    stage.world.stops(&stage.sandbox_of(WORK));
    let second = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    gate.open();
    assert_eq!(first.answer().unwrap()["how"], "alive");
    assert_ne!(second.answer().map(|answer| answer["how"].clone()), Ok(json!("alive")));
}

#[test]
fn a_start_that_comes_later_looks_again() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.stops(&stage.sandbox_of(WORK));
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["how"], "restored");
}

#[test]
fn a_start_during_a_stop_begins_when_that_is_done() {
    let stage = Stage::with_work();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let stop = stage.begins(Operation::StopWorkspace, WORK, &json!({}));
    let mut start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    assert!(gate.is_reached() && !start.is_done());
    gate.open();
    assert_eq!(stop.answer().unwrap()["state"], "stopped");
    assert_eq!(start.answer().unwrap()["how"], "restored");
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn a_sandbox_that_slept_gets_its_files_again() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.stops(&stage.sandbox_of(WORK));
    let started = stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(started["how"], "restored");
    assert!(started["history"][1]["cause"].as_str().unwrap().contains("fallen asleep"), "{started}");
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn a_sandbox_whose_end_nobody_noticed_gets_its_files_again() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.dies_unnoticed(&stage.sandbox_of(WORK));
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["how"], "restored");
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn a_start_that_failed_in_passing_can_be_made_again() {
    let stage = Stage::with_stopped_work();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.starts(WORK, &json!({})).fails_as(Code::SandboxUnavailable);
    assert_eq!(stage.state(WORK), "stopped");
    assert_eq!(stage.described(WORK).unwrap()["problem"]["code"], "SANDBOX_UNAVAILABLE");
    stage.world.goes_well();
    let started = stage.starts(WORK, &json!({})).unwrap();
    assert!(started.get("problem").is_none(), "{started}");
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn a_start_that_failed_for_good_waits_for_a_decision() {
    let stage = Stage::with_stopped_work();
    stage.world.spoil(|backup| backup.archive = None);
    let error = stage.starts(WORK, &json!({})).fails_as(Code::BackupIncomplete);
    assert_eq!(stage.state(WORK), "failed");
    assert_eq!(stage.described(WORK).unwrap()["problem"]["message"], error.message());
}

#[test]
fn the_newest_snapshot_is_never_passed_over_for_an_older_one() {
    let stage = Stage::with_work();
    stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    stage.saves(WORK, "second");
    stage.world.spoil(|backup| {
        if backup.id().to_string().ends_with('2') {
            backup.archive = None;
        }
    });
    stage.starts(WORK, &json!({ "allowEmpty": true })).fails_as(Code::BackupIncomplete);
    assert!(!stage.is_up(WORK));
}

#[test]
fn a_start_whose_answer_was_lost_leaves_no_sandbox_that_nobody_knows() {
    let stage = Stage::with_stopped_work();
    stage.world.after(Method::Resume).fails_in_passing();
    stage.starts(WORK, &json!({})).fails_as(Code::WorkspaceUnavailable);
    stage.world.goes_well();
    stage.passes(10 * MINUTE);
    stage.assert_settled();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn there_is_nothing_to_start_under_a_name_that_nobody_gave() {
    let stage = Stage::empty();
    for operation in
        [Operation::StartWorkspace, Operation::StopWorkspace, Operation::GetWorkspaceByName, Operation::ForkWorkspace]
    {
        stage.run(operation, &on(WORK, &json!({}))).fails_as(Code::WorkspaceNotFound);
    }
    stage.updates(WORK, &json!({ "persistent": false })).fails_as(Code::WorkspaceNotFound);
    assert!(stage.world.calls().is_empty());
}

#[test]
fn the_name_of_another_tenant_is_another_workspace() {
    let stage = Stage::with_work();
    stage.run(Operation::StartWorkspace, &json!({ "name": WORK, "tenant": "other" })).fails_as(Code::WorkspaceNotFound);
    let other = stage.creates(WORK, &json!({ "tenant": "other" })).unwrap();
    assert_ne!(other["sandboxId"], json!(stage.sandbox_of(WORK)));
}

#[test]
fn a_caller_who_leaves_is_told_so_and_the_start_goes_on() {
    let stage = Stage::with_stopped_work();
    let gate = stage.world.before(Method::RestoreBackup).nth(1).held();
    let (signal, abort) = Signal::new();
    let start = stage.begin_until(Operation::StartWorkspace, &on(WORK, &json!({})), abort);
    signal.fire();
    start.answer().fails_as(Code::Aborted);
    gate.open();
    stage.world.finish_background();
    assert_eq!((stage.state(WORK), stage.file(WORK)), ("active", Some("first".into())));
}

#[test]
fn a_caller_who_leaves_before_its_turn_has_nothing_done() {
    let stage = Stage::with_work();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let stop = stage.begins(Operation::StopWorkspace, WORK, &json!({}));
    let (signal, abort) = Signal::new();
    let start = stage.begin_until(Operation::StartWorkspace, &on(WORK, &json!({})), abort);
    signal.fire();
    start.answer().fails_as(Code::Aborted);
    gate.open();
    stop.answer().unwrap();
    stage.world.finish_background();
    assert_eq!(stage.state(WORK), "stopped");
}

#[test]
fn every_transition_is_logged_for_operators() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    let logged = stage.home(WORK).logged();
    let states: Vec<_> = logged.iter().map(|(_, transition)| transition.to.as_str()).collect();
    assert_eq!(states, ["provisioning", "active", "stopping", "stopped", "restoring", "active"]);
    assert!(logged.iter().all(|(of, transition)| *of == address(WORK) && !transition.cause.is_empty()));
}

#[test]
fn the_history_tells_the_newest_transitions_first_and_not_more_than_twenty() {
    let stage = Stage::with_work();
    for _ in 0..6 {
        stage.stops(WORK).unwrap();
        stage.starts(WORK, &json!({})).unwrap();
    }
    let described = stage.described(WORK).unwrap();
    let states: Vec<_> = described["history"].as_array().unwrap().iter().map(|line| line["to"].clone()).collect();
    assert_eq!(states[..4], [json!("active"), json!("restoring"), json!("stopped"), json!("stopping")]);
    assert_eq!(states.len(), 20);
}

#[test]
fn files_outside_of_the_directory_do_not_persist() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    stage.world.writes(&id, "/tmp/scratch", "x");
    stage.stops(WORK).unwrap();
    stage.starts(WORK, &json!({})).unwrap();
    let files = stage.world.files(&id).unwrap();
    assert_eq!(files.keys().collect::<Vec<_>>(), [FILE]);
}

/// Somebody starts `work`, another one does `operation`, and a third one asks for the same start: what he is told.
fn started_after(operation: Operation, further: &Value) -> (Stage, Result<Value>) {
    let stage = Stage::with_stopped_work();
    let gate = stage.world.before(Method::RestoreBackup).nth(1).held();
    let first = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    let other = stage.begins(operation, WORK, further);
    let last = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    assert!(gate.is_reached());
    gate.open();
    first.answer().unwrap();
    other.answer().unwrap();
    let answer = last.answer();
    (stage, answer)
}

#[test]
fn a_start_that_was_asked_for_after_a_stop_starts_again() {
    let (stage, answer) = started_after(Operation::StopWorkspace, &json!({}));
    assert_eq!(answer.unwrap()["state"], "active");
    assert!(stage.is_up(WORK));
}

#[test]
fn a_start_that_was_asked_for_after_a_change_is_told_of_what_was_changed() {
    let (_, answer) = started_after(Operation::UpdateWorkspace, &json!({ "env": { "A": "1" } }));
    assert_eq!(answer.unwrap()["envNames"], json!(["A"]));
}

#[test]
fn a_start_that_was_asked_for_after_a_delete_finds_nothing() {
    let (_, answer) = started_after(Operation::DeleteWorkspace, &json!({}));
    answer.fails_as(Code::WorkspaceNotFound);
}
