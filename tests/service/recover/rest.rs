//! What else was under way when its worker died, and recovery itself.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::{capture, dead_at, died_capturing};
use crate::support::{Checked, HOUR, Method, Moment, Stage, by_label, by_ref};

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
