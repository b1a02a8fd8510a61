//! Snapshots that were being made when their worker died.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::{capture, dead_at, died_capturing, mark_of_the_unfinished};
use crate::support::{Checked, DAY, HOUR, MINUTE, Method, Moment, Signal, Stage, by_label, by_ref};

// A snapshot is made, and the sandbox answered.

#[test]
fn a_capture_that_the_sandbox_answered_is_adopted_by_the_next_call() {
    let stage = died_capturing(Method::Metadata, Moment::Before);
    let listed = stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!((&listed["snapshots"][0]["label"], &listed["snapshots"][0]["state"]), (&json!("lost"), &json!("ready")));
    stage.run(Operation::Restore, &by_label("lost")).unwrap();
    stage.world.finish_background();
    stage.assert_settled();
}

#[test]
fn a_capture_that_the_sandbox_answered_is_adopted_by_the_alarm() {
    let stage = died_capturing(Method::Archive, Moment::After);
    stage.passes(HOUR);
    stage.assert_settled();
    stage.run(Operation::Restore, &by_label("lost")).unwrap();
}

#[test]
fn an_adopted_capture_takes_the_label_that_it_was_to_replace() {
    let stage = Stage::with_sandbox();
    let first = stage.captures("agent-42", "latest");
    let arguments = json!({ "sandboxId": "agent-42", "label": "latest", "replace": true });
    stage.world.forget_calls();
    dead_at(&stage, Operation::Snapshot, &arguments, Method::Metadata, Moment::Before);
    let found = stage.run(Operation::Get, &by_label("latest")).unwrap();
    assert_ne!(found["snapshotId"], json!(first.snapshot_id()));
    stage.run(Operation::Restore, &by_ref(&first)).unwrap();
}

#[test]
fn an_adopted_capture_releases_what_its_sandbox_was_made_from() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    stage.world.pass(MINUTE);
    stage.world.forget_calls();
    let arguments = json!({ "sandboxId": restored });
    dead_at(&stage, Operation::Snapshot, &arguments, Method::Metadata, Moment::Before);
    stage.passes(HOUR);
    stage.assert_settled();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
}

#[test]
fn a_capture_whose_container_was_replaced_since_is_removed() {
    let stage = died_capturing(Method::Metadata, Moment::Before);
    stage.world.is_replaced("agent-42");
    stage.passes(HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_capture_whose_container_stopped_since_is_removed() {
    let stage = died_capturing(Method::Metadata, Moment::Before);
    stage.world.stops("agent-42");
    stage.passes(HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
    assert!(stage.world.running().is_empty(), "and nothing is started");
}

#[test]
fn a_capture_that_is_not_whole_is_removed() {
    let stage = died_capturing(Method::Metadata, Moment::Before);
    stage.world.spoil_archive(|archive| archive.truncate(archive.len() - 1));
    stage.passes(HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_container_that_a_late_look_has_started_is_not_captured_even_where_it_could_not_be_marked() {
    let stage = died_capturing(Method::Metadata, Moment::Before);
    stage.world.before(Method::Metadata).first(999).fails_in_passing();
    stage.passes(10 * MINUTE);
    stage.world.goes_well();
    assert_eq!(stage.ledger("agent-42").workspace().unwrap().unwrap().doubt, None, "what was in doubt is settled");
    stage.world.dies_unnoticed("agent-42");
    stage.world.before(Method::LeaveNote).nth(1).fails_in_passing();
    let listed = json!({ "sandboxId": "agent-42" });
    stage.restart();
    stage.run(Operation::List, &listed).unwrap();
    stage.world.pass(1000);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn a_call_that_is_made_again_before_its_capture_is_followed_up_makes_one_snapshot() {
    let stage = died_capturing(Method::Metadata, Moment::Before);
    stage.world.before(Method::State).nth(1).fails_in_passing();
    let taken = stage.run(Operation::Snapshot, &capture()).unwrap();
    stage.passes(HOUR);
    let listed = stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let ids: Vec<_> = listed["snapshots"].as_array().unwrap().iter().map(|found| &found["snapshotId"]).collect();
    assert_eq!(ids, [&taken["ref"]["snapshotId"]]);
    assert_eq!(stage.world.stored().len(), 1);
    stage.assert_settled();
}

#[test]
fn a_capture_is_not_given_up_because_r2_fails_in_passing() {
    let stage = died_capturing(Method::Metadata, Moment::Before);
    stage.world.before(Method::Metadata).first(9).fails_in_passing();
    stage.passes(2 * HOUR);
    stage.run(Operation::Restore, &by_label("lost")).unwrap();
    stage.assert_settled();
}

#[test]
fn a_capture_that_was_being_taken_back_is_not_adopted() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    dead_at(&stage, Operation::Snapshot, &capture(), Method::Delete, Moment::Before);
    stage.world.is_up("agent-42");
    stage.passes(HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_whole_capture_that_was_being_taken_back_is_not_adopted_either() {
    let stage = Stage::with_sandbox();
    let looked_up = stage.world.before(Method::Metadata).nth(1).held();
    let (signal, abort) = Signal::new();
    let mut work = stage.begin_until(Operation::Snapshot, &capture(), abort);
    assert!(looked_up.is_reached());
    signal.fire();
    assert!(work.is_done());
    let removed = stage.world.before(Method::Delete).nth(1).held();
    looked_up.open();
    stage.world.go_on_in_background();
    assert!(removed.is_reached());
    stage.dies_during(work);
    stage.world.goes_well();
    stage.passes(HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_capture_that_was_taken_back_is_forgotten_at_once() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    dead_at(&stage, Operation::Snapshot, &capture(), Method::Delete, Moment::After);
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(stage.ledger("agent-42").unfinished().unwrap(), []);
}

// A snapshot is made, and the sandbox did not answer.

#[test]
fn a_capture_whose_backup_was_found_and_removed_is_forgotten_at_once() {
    let stage = died_capturing(Method::CreateBackup, Moment::After);
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(stage.ledger("agent-42").unfinished().unwrap(), []);
}

#[test]
fn a_backup_is_looked_for_as_long_however_often_workers_die_meanwhile() {
    let stage = died_capturing(Method::CreateBackup, Moment::Before);
    let mark = mark_of_the_unfinished(&stage);
    for _ in 0..5 {
        stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
        stage.restart();
    }
    stage.passes(50 * MINUTE);
    stage.world.backs_up("agent-42", Some(&mark));
    stage.passes(3 * HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_container_that_a_lost_capture_may_have_started_does_not_count_when_the_capture_is_forgotten() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    dead_at(&stage, Operation::Snapshot, &capture(), Method::CreateBackup, Moment::After);
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(stage.ledger("agent-42").unfinished().unwrap(), []);
    stage.world.pass(1000);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn a_capture_that_the_sandbox_did_not_answer_is_removed_by_its_mark() {
    let stage = died_capturing(Method::CreateBackup, Moment::After);
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    stage.assert_nothing_stored();
    stage.passes(3 * HOUR);
    stage.assert_settled();
}

#[test]
fn a_backup_that_arrives_only_later_is_looked_for_again() {
    for late in [30_000, 5 * MINUTE, 50 * MINUTE] {
        let stage = died_capturing(Method::CreateBackup, Moment::Before);
        stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
        let mark = mark_of_the_unfinished(&stage);
        stage.passes(late);
        stage.world.backs_up("agent-42", Some(&mark));
        stage.passes(3 * HOUR);
        stage.assert_nothing_stored();
        stage.assert_settled();
    }
}

#[test]
fn a_backup_that_arrives_later_still_is_left_to_the_sweep() {
    let stage = died_capturing(Method::CreateBackup, Moment::Before);
    let mark = mark_of_the_unfinished(&stage);
    stage.passes(6 * HOUR);
    stage.assert_settled();
    stage.world.backs_up("agent-42", Some(&mark));
    stage.passes(2 * DAY);
    assert_eq!(stage.run(Operation::Sweep, &json!({})).unwrap()["swept"], 1);
}

#[test]
fn only_the_lost_captures_own_backup_is_removed_in_a_bucket_of_many_pages() {
    let stage = Stage::with_sandbox();
    let kept = stage.captures("agent-42", "kept");
    stage.world.backs_up("agent-42", Some("nightly"));
    stage.world.backs_up("agent-42", None);
    stage.world.lists_at_once(1);
    stage.world.forget_calls();
    dead_at(&stage, Operation::Snapshot, &capture(), Method::CreateBackup, Moment::After);
    assert_eq!(stage.world.stored().len(), 4);
    stage.passes(3 * HOUR);
    assert_eq!(stage.world.stored().len(), 3);
    stage.restore(&kept).unwrap();
}

#[test]
fn while_r2_cannot_be_listed_a_lost_capture_is_not_forgotten() {
    let stage = died_capturing(Method::CreateBackup, Moment::After);
    stage.world.before(Method::List).fails_in_passing();
    stage.passes(DAY);
    assert_eq!(stage.world.stored().len(), 1);
    stage.world.goes_well();
    stage.passes(3 * HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_backup_is_looked_for_as_long_however_often_r2_fails_meanwhile() {
    let stage = died_capturing(Method::CreateBackup, Moment::Before);
    let mark = mark_of_the_unfinished(&stage);
    stage.world.before(Method::List).fails_in_passing();
    stage.passes(10 * MINUTE);
    stage.world.goes_well();
    stage.passes(50 * MINUTE);
    stage.world.backs_up("agent-42", Some(&mark));
    stage.passes(3 * HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_container_that_a_lost_capture_starts_late_does_not_count_although_r2_failed_before() {
    let stage = died_capturing(Method::CreateBackup, Moment::Before);
    stage.world.before(Method::List).fails_in_passing();
    stage.passes(10 * MINUTE);
    stage.world.goes_well();
    stage.world.stops("agent-42");
    stage.passes(50 * MINUTE);
    stage.world.is_replaced("agent-42");
    stage.passes(3 * HOUR);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn the_label_of_a_lost_capture_is_free_for_the_next_one() {
    let stage = died_capturing(Method::CreateBackup, Moment::Before);
    stage.passes(3 * HOUR);
    stage.captures("agent-42", "lost");
}

#[test]
fn a_capture_that_is_asked_for_again_after_a_crash_is_made() {
    for moment in Moment::BOTH {
        let stage = died_capturing(Method::CreateBackup, moment);
        stage.run(Operation::Snapshot, &capture()).unwrap();
        stage.passes(3 * HOUR);
        stage.assert_settled();
        assert_eq!(stage.world.stored().len(), 1, "{moment:?}");
    }
}
