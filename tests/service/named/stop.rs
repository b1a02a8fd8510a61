//! A workspace is stopped: with a snapshot, if it persists. What can't be captured goes on running.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure};
use serde_json::{Value, json};

use crate::support::{Checked, FILE, MINUTE, Method, Stage, WORK, for_ever};

/// Why a workspace came to be what it is.
fn cause(described: &Value) -> &str {
    described["history"][0]["cause"].as_str().unwrap()
}

#[test]
fn a_stop_takes_a_snapshot_and_ends_the_sandbox() {
    let stage = Stage::with_work();
    let stopped = stage.stops(WORK).unwrap();
    assert_eq!(stopped["state"], "stopped");
    assert_eq!(stage.snapshots_of(&stage.sandbox_of(WORK)), [stopped["lastSnapshot"]["id"].as_str().unwrap()]);
    assert_eq!((&stopped["wasAsleep"], &stopped["unsettled"]), (&json!(false), &json!(false)));
    assert!(!stage.is_up(WORK));
}

#[test]
fn one_that_is_stopped_already_is_fine() {
    let stage = Stage::with_stopped_work();
    let before = stage.record(WORK);
    let again = stage.stops(WORK).unwrap();
    assert_eq!((&again["state"], &again["wasAsleep"]), (&json!("stopped"), &json!(false)));
    assert_eq!(stage.record(WORK), before);
    assert_eq!((stage.world.count(Method::CreateBackup), stage.world.count(Method::Destroy)), (0, 0));
}

#[test]
fn what_was_written_after_the_sandbox_of_a_stopped_one_woke_is_saved() {
    let stage = Stage::with_stopped_work();
    let last = stage.described(WORK).unwrap()["lastSnapshot"]["id"].clone();
    stage.world.writes(&stage.sandbox_of(WORK), FILE, "second");
    let again = stage.stops(WORK).unwrap();
    assert_ne!(again["saved"], last);
    assert!(again["history"][0]["cause"].as_str().unwrap().contains(again["saved"].as_str().unwrap()));
    assert!(!stage.is_up(WORK));
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn stops_that_come_together_take_one_snapshot() {
    let stage = Stage::with_work();
    let begun: Vec<_> = (0..3).map(|_| stage.begins(Operation::StopWorkspace, WORK, &json!({}))).collect();
    let answers: Vec<_> = begun.into_iter().map(|stop| stop.answer().unwrap()).collect();
    assert!(answers.iter().all(|answer| answer["lastSnapshot"] == answers[0]["lastSnapshot"]));
    assert_eq!(stage.world.count(Method::CreateBackup), 1);
}

#[test]
fn a_stop_during_a_start_begins_when_that_is_done() {
    let stage = Stage::with_stopped_work();
    let gate = stage.world.before(Method::RestoreBackup).nth(1).held();
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    let mut stop = stage.begins(Operation::StopWorkspace, WORK, &json!({}));
    assert!(gate.is_reached() && !stop.is_done());
    gate.open();
    start.answer().unwrap();
    assert_eq!(stop.answer().unwrap()["state"], "stopped");
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn what_cannot_be_captured_goes_on_running() {
    let stage = Stage::with_work();
    stage.world.before(Method::CreateBackup).fails_with(Failure::new("BackupCreateError", "no room"));
    let error = stage.stops(WORK).fails_as(Code::BackupFailed);
    let described = stage.described(WORK).unwrap();
    assert_eq!((&described["state"], &described["problem"]["message"]), (&json!("active"), &json!(error.message())));
    assert!(described["history"][0]["cause"].as_str().unwrap().contains("BACKUP_FAILED"), "{described}");
    assert_eq!((stage.is_up(WORK), stage.file(WORK)), (true, Some("first".into())));
    stage.world.goes_well();
    assert!(stage.stops(WORK).unwrap().get("problem").is_none());
}

#[test]
fn one_whose_sandbox_cannot_be_ended_goes_on_too_and_says_which_snapshot_was_taken() {
    let stage = Stage::with_work();
    stage.world.before(Method::Destroy).fails_in_passing();
    let error = stage.stops(WORK).fails_as(Code::SandboxUnavailable);
    assert_eq!(stage.state(WORK), "active");
    let [snapshot] = &stage.snapshots_of(&stage.sandbox_of(WORK))[..] else { panic!("one snapshot") };
    assert!(error.message().contains(snapshot), "{error}");
}

#[test]
fn a_stop_whose_answer_was_lost_can_be_made_again() {
    let stage = Stage::with_work();
    stage.world.after(Method::Halt).nth(1).fails_in_passing();
    stage.stops(WORK).fails_as(Code::WorkspaceUnavailable);
    let stopped = stage.stops(WORK).unwrap();
    assert_eq!(stopped["lastSnapshot"]["id"], stage.snapshots_of(&stage.sandbox_of(WORK))[0].as_str());
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn one_that_does_not_persist_takes_no_snapshot() {
    let stage = Stage::with_work_as(&json!({ "persistent": false }));
    let stopped = stage.stops(WORK).unwrap();
    assert!(stopped.get("lastSnapshot").is_none(), "{stopped}");
    assert!(cause(&stopped).ends_with("no snapshot was taken"), "{stopped}");
    assert!(!stage.is_up(WORK));
    stage.assert_nothing_stored();
}

#[test]
fn one_that_does_not_persist_begins_anew_only_when_that_is_asked_for() {
    let stage = Stage::with_work_as(&json!({ "persistent": false }));
    stage.stops(WORK).unwrap();
    stage.starts(WORK, &json!({})).fails_as(Code::NothingRestorable);
    assert_eq!(stage.starts(WORK, &json!({ "allowEmpty": true })).unwrap()["how"], "empty");
}

#[test]
fn one_that_persists_no_more_is_started_from_its_last_snapshot() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    stage.updates(WORK, &json!({ "persistent": false })).unwrap();
    stage.writes(WORK, "second");
    let stopped = stage.stops(WORK).unwrap();
    assert_eq!(stopped["lastSnapshot"]["id"], stage.snapshots_of(&stage.sandbox_of(WORK))[0].as_str());
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn one_whose_sandbox_slept_says_so() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    let last = stage.record(WORK).last_snapshot;
    stage.world.stops(&stage.sandbox_of(WORK));
    let stopped = stage.stops(WORK).unwrap();
    assert_eq!((&stopped["wasAsleep"], &stopped["state"]), (&json!(true), &json!("stopped")));
    assert_eq!(stopped["lastSnapshot"]["id"], json!(last.unwrap().id));
    assert!(cause(&stopped).ends_with("its sandbox had ended before"), "{stopped}");
}

#[test]
fn the_last_snapshot_of_one_that_slept_is_the_newest_that_anybody_took() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    let taken = stage.run(Operation::Snapshot, &json!({ "sandboxId": id })).unwrap();
    stage.world.stops(&id);
    assert_eq!(stage.stops(WORK).unwrap()["lastSnapshot"]["id"], taken["ref"]["snapshotId"]);
}

#[test]
fn one_whose_sandbox_woke_empty_is_stopped_without_a_snapshot() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.is_replaced(&stage.sandbox_of(WORK));
    stage.world.forget_calls();
    let stopped = stage.stops(WORK).unwrap();
    assert_eq!((stage.world.count(Method::CreateBackup), stage.is_up(WORK)), (0, false));
    assert_eq!(stopped["wasAsleep"], true);
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn what_was_written_since_it_woke_is_saved_aside_and_never_started_from() {
    let stage = Stage::with_diverged_work();
    let stopped = stage.stops(WORK).unwrap();
    let saved = stopped["saved"].clone();
    assert!(saved.is_string() && stopped["lastSnapshot"]["id"] != saved, "{stopped}");
    assert!(stopped["history"][0]["cause"].as_str().unwrap().contains(saved.as_str().unwrap()), "{stopped}");
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
    stage.goes_back(WORK, &saved).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn a_workspace_that_could_not_be_started_for_good_can_be_stopped() {
    let stage = Stage::with_diverged_work();
    stage.starts(WORK, &json!({})).fails_as(Code::WorkspaceDiverged);
    assert_eq!(stage.state(WORK), "failed");
    let stopped = stage.stops(WORK).unwrap();
    assert_eq!((&stopped["state"], stopped["saved"].is_string()), (&json!("stopped"), true));
    assert!(!stage.is_up(WORK));
}

#[test]
fn files_that_go_on_changing_are_captured_three_times_and_called_unsettled() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    stage.world.after(Method::CreateBackup).happens(move |world| {
        world.writes(&id, FILE, &format!("after {}", world.count(Method::CreateBackup)));
    });
    let stopped = stage.stops(WORK).unwrap();
    assert_eq!((&stopped["unsettled"], stage.world.count(Method::CreateBackup)), (&json!(true), 3));
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "after 2");
}

#[test]
fn files_that_were_changed_while_they_were_captured_are_captured_again() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    stage.world.after(Method::CreateBackup).nth(1).happens(move |world| world.writes(&id, FILE, "second"));
    let stopped = stage.stops(WORK).unwrap();
    assert_eq!((&stopped["unsettled"], stage.world.count(Method::CreateBackup)), (&json!(false), 2));
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn a_workspace_is_stopped_and_started_as_often_as_one_likes() {
    let stage = Stage::with_work_as(&for_ever());
    for round in 0..5 {
        let content = format!("round {round}");
        stage.saves(WORK, &content);
        stage.passes(10 * MINUTE);
        stage.starts(WORK, &json!({})).unwrap();
        assert_eq!(stage.file(WORK).unwrap(), content);
    }
    stage.passes(10 * MINUTE);
    stage.assert_settled();
}
