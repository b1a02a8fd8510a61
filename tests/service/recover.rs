//! A Worker may die at any point. The next call or the alarms follow up what it left, until nothing of it is left over.

use std::collections::BTreeSet;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::support::{Checked, DAY, FILE, HOUR, MINUTE, Method, Moment, Stage, by_label, by_ref};

/// The Worker dies while an operation waits at the first call of a method.
fn dead_at(stage: &Stage, operation: Operation, arguments: &Value, method: Method, moment: Moment) {
    let gate = match moment {
        Moment::Before => stage.world.before(method).nth(1).held(),
        Moment::After => stage.world.after(method).nth(1).held(),
    };
    let work = stage.begin(operation, arguments);
    assert!(gate.is_reached(), "{method:?} was not called");
    stage.dies_during(work);
    stage.world.goes_well();
}

/// A Worker died during a snapshot of `agent-42` with the label `lost` and the key `k`; calls are counted from here.
fn died_capturing(method: Method, moment: Moment) -> Stage {
    let stage = Stage::with_sandbox();
    dead_at(&stage, Operation::Snapshot, &capture(), method, moment);
    stage.world.forget_calls();
    stage
}

fn capture() -> Value {
    json!({ "sandboxId": "agent-42", "label": "lost", "idempotencyKey": "k" })
}

/// A Worker died during a restore with the key `k`; calls are counted from here.
fn died_restoring(method: Method, moment: Moment) -> (Stage, SnapshotRef, Value) {
    let (stage, snapshot) = Stage::with_snapshot();
    let mut arguments = by_ref(&snapshot);
    arguments["idempotencyKey"] = json!("k");
    dead_at(&stage, Operation::Restore, &arguments, method, moment);
    (stage, snapshot, arguments)
}

/// The mark of the snapshot that is being made.
fn mark_of_the_unfinished(stage: &Stage) -> String {
    let [row] = stage.ledger("agent-42").unfinished().unwrap().try_into().unwrap();
    format!("snapshotter/1 {} agent-42", row.snapshot_id)
}

fn minted(stage: &Stage) -> BTreeSet<String> {
    stage.world.running().into_iter().filter(|id| id.starts_with("agent-42-")).collect()
}

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

// A snapshot is made, and the sandbox did not answer.

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

// A sandbox is made.

#[test]
fn a_sandbox_that_was_being_made_is_destroyed_by_the_alarms() {
    for method in [Method::Claim, Method::Name, Method::RestoreBackup, Method::Probe] {
        for moment in Moment::BOTH {
            let (stage, ..) = died_restoring(method, moment);
            stage.passes(3 * HOUR);
            stage.assert_settled();
            assert!(minted(&stage).is_empty(), "{method:?} {moment:?}");
        }
    }
}

#[test]
fn a_sandbox_that_was_being_made_is_destroyed_by_the_next_call() {
    let (stage, ..) = died_restoring(Method::Probe, Moment::Before);
    assert_eq!(minted(&stage).len(), 1);
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert!(minted(&stage).is_empty());
}

#[test]
fn a_restore_that_is_asked_for_again_after_a_crash_gets_one_sandbox() {
    for method in [Method::Claim, Method::Name, Method::RestoreBackup, Method::Probe] {
        for moment in Moment::BOTH {
            let (stage, _, arguments) = died_restoring(method, moment);
            let restored = stage.run(Operation::Restore, &arguments).unwrap();
            stage.passes(3 * HOUR);
            assert!(
                minted(&stage).iter().eq([restored["ref"]["sandboxId"].as_str().unwrap()]),
                "{method:?} {moment:?}"
            );
            assert_eq!(stage.run(Operation::Restore, &arguments).unwrap(), restored);
            stage.assert_settled();
        }
    }
}

#[test]
fn a_restore_that_goes_on_in_its_sandbox_after_a_crash_is_ended_too() {
    for late in [0, 30_000] {
        assert_ended_when_it_goes_on_for(late);
    }
}

#[test]
fn a_sandbox_that_is_down_is_not_forgotten_as_long_as_a_restore_may_go_on_in_it() {
    let (stage, ..) = died_restoring(Method::RestoreBackup, Moment::Before);
    for _ in 0..2 {
        stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
        stage.restart();
        stage.world.pass(10_000);
    }
    stage.world.writes(&stage.minted(), FILE, "restored after all");
    stage.passes(3 * HOUR);
    assert!(minted(&stage).is_empty());
    stage.assert_settled();
}

#[test]
fn a_restore_that_goes_on_for_minutes_after_a_crash_is_ended_too() {
    assert_ended_when_it_goes_on_for(3 * MINUTE);
}

fn assert_ended_when_it_goes_on_for(millis: i64) {
    let (stage, ..) = died_restoring(Method::RestoreBackup, Moment::Before);
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let minted_id = stage.minted();
    stage.passes(millis);
    stage.world.writes(&minted_id, FILE, "restored after all");
    stage.passes(3 * HOUR);
    assert!(minted(&stage).is_empty(), "{millis}");
    stage.assert_settled();
}

/// A Worker died during a restore, and the next call has destroyed the sandbox, whose id this is; calls are counted from
/// here.
fn destroyed_after_a_crash() -> (Stage, String) {
    let (stage, ..) = died_restoring(Method::RestoreBackup, Moment::Before);
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let minted_id = stage.minted();
    stage.world.forget_calls();
    (stage, minted_id)
}

#[test]
fn a_sandbox_that_was_destroyed_is_looked_at_several_times() {
    let (stage, minted_id) = destroyed_after_a_crash();
    let looked_in = |millis: i64| {
        stage.world.forget_calls();
        stage.passes(millis);
        stage.world.calls_about(&minted_id)
    };
    for wait in [MINUTE, 10 * MINUTE, HOUR] {
        assert_eq!(looked_in(wait - 20_000), []);
        assert_eq!(looked_in(25_000), [Method::State], "after {wait}");
    }
    assert_eq!(looked_in(DAY), []);
    stage.assert_settled();
}

#[test]
fn a_sandbox_that_is_up_again_is_destroyed_and_looked_at_from_the_beginning() {
    for wait in [0, 5 * MINUTE, 30 * MINUTE] {
        let (stage, minted_id) = destroyed_after_a_crash();
        stage.passes(wait);
        stage.world.writes(&minted_id, FILE, "restored after all");
        while stage.world.count(Method::Destroy) == 0 {
            stage.passes(MINUTE);
        }
        assert!(minted(&stage).is_empty());
        stage.world.forget_calls();
        stage.passes(3 * HOUR);
        assert_eq!(stage.world.calls_about(&minted_id), [Method::State; 3], "{wait}");
        stage.assert_settled();
    }
}

#[test]
fn looks_that_fail_are_made_again() {
    let (stage, minted_id) = destroyed_after_a_crash();
    stage.world.before(Method::State).fails_in_passing();
    stage.world.before(Method::Destroy).fails_in_passing();
    stage.passes(5 * HOUR);
    stage.world.writes(&minted_id, FILE, "restored after all");
    stage.world.goes_well();
    stage.passes(3 * HOUR);
    assert!(minted(&stage).is_empty());
    stage.assert_settled();
}

#[test]
fn a_sandbox_of_an_application_whose_id_was_drawn_is_never_destroyed() {
    for moment in Moment::BOTH {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.runs("agent-42-restored-aaaaaaaa");
        stage.captures("agent-42-restored-aaaaaaaa", "an application's own");
        let files = stage.world.files("agent-42-restored-aaaaaaaa");
        stage.world.draws_next(Some([0; 32]));
        dead_at(&stage, Operation::Restore, &by_ref(&snapshot), Method::Claim, moment);
        stage.passes(3 * HOUR);
        assert_eq!(stage.world.files("agent-42-restored-aaaaaaaa"), files, "{moment:?}");
        assert_eq!(stage.world.count(Method::Destroy), 0, "{moment:?}");
    }
}

#[test]
fn a_snapshot_whose_restore_died_can_be_deleted() {
    let (stage, snapshot, _) = died_restoring(Method::RestoreBackup, Moment::Before);
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    stage.passes(3 * HOUR);
    stage.assert_settled();
}

#[test]
fn a_sandbox_that_cannot_be_destroyed_is_not_forgotten() {
    let (stage, ..) = died_restoring(Method::Probe, Moment::Before);
    stage.world.before(Method::Destroy).fails_in_passing();
    stage.passes(DAY);
    assert_eq!(minted(&stage).len(), 1);
    stage.world.goes_well();
    stage.passes(2 * HOUR + HOUR);
    assert!(minted(&stage).is_empty());
    stage.assert_settled();
}

#[test]
fn a_sandbox_that_somebody_has_is_left_alone() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    stage.restart();
    stage.passes(DAY);
    assert!(minted(&stage).iter().eq([&restored]));
    assert_eq!(stage.world.count(Method::Destroy), 0);
}

// The rest of the rows.

#[test]
fn a_deletion_that_was_begun_is_finished_by_the_alarms() {
    for method in [Method::Metadata, Method::Delete] {
        for moment in Moment::BOTH {
            let (stage, snapshot) = Stage::with_snapshot();
            dead_at(&stage, Operation::Delete, &by_ref(&snapshot), method, moment);
            stage.run(Operation::Restore, &by_ref(&snapshot)).fails_as(Code::SnapshotNotFound);
            stage.passes(HOUR);
            stage.assert_nothing_stored();
            stage.assert_settled();
        }
    }
}

#[test]
fn what_retention_let_go_is_deleted_after_a_crash() {
    let stage = Stage::with_sandbox();
    for label in ["one", "two", "three"] {
        stage.captures("agent-42", label);
    }
    stage.world.forget_calls();
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    dead_at(&stage, Operation::SetRetention, &policy, Method::Delete, Moment::Before);
    stage.passes(HOUR);
    assert_eq!(stage.world.stored().len(), 1);
    stage.assert_settled();
}

#[test]
fn word_that_was_being_passed_on_is_passed_on() {
    for moment in Moment::BOTH {
        let (stage, snapshot) = Stage::with_snapshot();
        let restored = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
        let gate = match moment {
            Moment::Before => stage.world.before(Method::Release).nth(1).held(),
            Moment::After => stage.world.after(Method::Release).nth(1).held(),
        };
        stage.captures(&restored, "own");
        stage.world.go_on_in_background();
        assert!(gate.is_reached());
        stage.restart();
        stage.passes(HOUR);
        stage.assert_settled();
        stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    }
}

#[test]
fn a_call_without_an_answer_can_be_made_again() {
    let stage = died_capturing(Method::State, Moment::Before);
    assert_eq!(stage.ledger("agent-42").unanswered().unwrap().len(), 1);
    stage.run(Operation::Snapshot, &capture()).unwrap();
    stage.assert_settled();
}

#[test]
fn recovery_happens_once_and_calls_that_come_meanwhile_wait_for_it() {
    let stage = died_capturing(Method::Metadata, Moment::Before);
    let gate = stage.world.before(Method::Metadata).nth(1).held();
    let mut callers: Vec<_> = (0..3).map(|_| stage.begin(Operation::Snapshot, &capture())).collect();
    assert!(gate.is_reached() && callers.iter_mut().all(|caller| !caller.is_done()));
    gate.open();
    let answers: Vec<_> = callers.into_iter().map(|caller| caller.answer().unwrap()).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(stage.world.count(Method::CreateBackup), 0, "the answer is the capture that was adopted");
}

#[test]
fn a_caller_who_goes_while_recovery_is_under_way_does_not_stop_it() {
    let stage = died_capturing(Method::Metadata, Moment::Before);
    let gate = stage.world.before(Method::Metadata).nth(1).held();
    drop(stage.begin(Operation::List, &json!({ "sandboxId": "agent-42" })));
    gate.open();
    stage.run(Operation::Restore, &by_label("lost")).unwrap();
}

#[test]
fn recovery_may_die_too() {
    let stage = died_capturing(Method::CreateBackup, Moment::After);
    for method in [Method::List, Method::Metadata, Method::Delete] {
        stage.world.forget_calls();
        let arguments = json!({ "sandboxId": "agent-42", "check": false });
        dead_at(&stage, Operation::List, &arguments, method, Moment::After);
    }
    stage.passes(3 * HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_workspace_of_which_nothing_was_left_is_not_followed_up() {
    let (stage, _) = Stage::with_snapshot();
    stage.restart();
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    assert!(stage.world.calls().is_empty());
}
