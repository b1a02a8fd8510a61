//! A sandbox is ended, with a snapshot of what is in it.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::named::Stamp;
use serde_json::json;

use crate::support::{Checked, FILE, HOUR, MINUTE, Method, Stage, WORK, for_ever, on};

#[test]
fn what_is_captured_is_the_directory_of_the_workspace() {
    let stage = Stage::with_work_as(&on(WORK, &json!({ "dir": "/home", "expiry": for_ever()["expiry"] })));
    let id = stage.sandbox_of(WORK);
    stage.world.writes(&id, "/home/notes.txt", "first");
    stage.world.pass(MINUTE);
    stage.stops(WORK).unwrap();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.world.files(&id).unwrap().get("/home/notes.txt").map(String::as_str), Some("first"));
}

#[test]
fn a_capture_that_began_before_the_stop_is_not_the_one_of_the_stop() {
    let stage = Stage::with_work();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let snapshot = json!({ "sandboxId": stage.sandbox_of(WORK), "dir": "/workspace" });
    let taking = stage.begin(Operation::Snapshot, &snapshot);
    assert!(gate.is_reached());
    let stop = stage.begins(Operation::StopWorkspace, WORK, &json!({}));
    gate.open();
    let taken = taking.answer().unwrap();
    assert_ne!(stop.answer().unwrap()["lastSnapshot"]["id"], taken["ref"]["snapshotId"]);
}

#[test]
fn what_somebody_wrote_into_one_that_woke_is_saved_only_where_the_workspace_persists() {
    for persistent in [true, false] {
        let stage = Stage::with_diverged_work();
        stage.updates(WORK, &json!({ "persistent": persistent })).unwrap();
        let stopped = stage.stops(WORK).unwrap();
        assert_eq!(stopped.get("saved").is_some(), persistent);
        assert!(!stage.is_up(WORK));
    }
}

#[test]
fn one_without_hooks_is_told_no_variables() {
    let stage = Stage::with_work_as(&json!({ "env": { "TOKEN": "t" }, "expiry": for_ever()["expiry"] }));
    stage.stops(WORK).unwrap();
    assert_eq!(stage.world.count(Method::SetEnv), 0);
}

#[test]
fn whatever_wakes_it_then_it_falls_asleep_again_by_itself() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    assert_eq!(stage.world.sleeps_after(&id), Some(None));
    stage.stops(WORK).unwrap();
    assert!(matches!(stage.world.sleeps_after(&id), Some(Some(_))));
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.stops(&id);
    stage.stops(WORK).unwrap();
    assert!(matches!(stage.world.sleeps_after(&id), Some(Some(_))), "also where it was asleep already");
}

#[test]
fn what_was_saved_aside_is_nothing_to_start_from() {
    let stage = Stage::with_diverged_work();
    stage.starts(WORK, &json!({ "onDiverged": "save" })).unwrap();
    assert_eq!(stage.file(WORK).as_deref(), Some("first"));
    stage.world.stops(&stage.sandbox_of(WORK));
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.world.files(&stage.sandbox_of(WORK)).unwrap().get(FILE).map(String::as_str), Some("first"));
}

#[test]
fn one_whose_start_died_when_it_was_in_place_is_settled_by_its_stop() {
    let stage = Stage::with_stopped_work();
    let gate = stage.world.after(Method::Arrive).nth(1).held();
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    assert!(gate.is_reached());
    stage.dies_during(start);
    stage.world.before(Method::State).fails_in_passing();
    stage.run(Operation::List, &json!({ "sandboxId": stage.sandbox_of(WORK), "check": false })).unwrap();
    stage.world.goes_well();
    stage.stops(WORK).unwrap();
    stage.passes(2 * HOUR);
    stage.assert_settled();
}

#[test]
fn a_container_that_a_capture_has_started_is_ended_also_when_who_asked_for_it_died() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    stage.world.is_replaced(&id);
    stage.world.writes(&id, FILE, "second");
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let stop = stage.begins(Operation::StopWorkspace, WORK, &json!({}));
    assert!(gate.is_reached());
    stage.world.is_replaced(&id);
    stage.dies_during(stop);
    stage.world.goes_well();
    stage.passes(3 * HOUR);
    assert!(stage.world.running().is_empty());
}

#[test]
fn a_late_step_of_a_start_that_was_given_up_does_not_hand_out_what_is_being_saved() {
    let stage = Stage::with_diverged_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::Stamp).nth(2).is_never_answered();
    stage.starts(WORK, &json!({ "onDiverged": "keep" })).fails_as(Code::SandboxTimeout);
    let late = id.clone();
    stage.world.before(Method::CreateBackup).happens(move |world| world.is_stamped_late(&late, 2));
    stage.world.before(Method::Destroy).happens(move |world| {
        assert!(world.stamp_on(&id).is_none_or(|stamp| !stamp.is_ready()), "nothing that was handed out is ended");
    });
    let stopped = stage.stops(WORK).unwrap();
    assert!(stopped["saved"].is_string(), "{stopped}");
}

#[test]
fn a_container_that_a_snapshot_of_a_stopped_workspace_has_started_falls_asleep_again() {
    let stage = Stage::with_diverged_work();
    let id = stage.sandbox_of(WORK);
    stage.starts(WORK, &json!({})).fails_as(Code::WorkspaceDiverged);
    stage.world.forget_calls();
    stage.world.after(Method::CreateBackup).happens({
        let id = id.clone();
        move |world| world.is_replaced(&id)
    });
    let snapshot = json!({ "sandboxId": id, "wake": true });
    stage.run(Operation::Snapshot, &snapshot).fails_as(Code::SandboxReplaced);
    assert!(matches!(stage.world.sleeps_after(&id), Some(Some(_))));
}

#[test]
fn a_late_stamp_of_a_start_that_was_given_up_does_not_come_to_what_is_being_saved() {
    let stage = Stage::with_late_stamp();
    let id = stage.sandbox_of(WORK);
    let late = id.clone();
    stage.world.before(Method::CreateBackup).happens(move |world| world.is_stamped_late(&late, 1));
    stage.world.after(Method::CreateBackup).happens(move |world| {
        assert!(!matches!(world.stamp_on(&id), Some(Stamp::Filling(_))), "it is not being filled");
    });
    let stopped = stage.stops(WORK).unwrap();
    assert!(stopped["saved"].is_string(), "{stopped}");
}
