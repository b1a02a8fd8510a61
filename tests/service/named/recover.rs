//! What is left of an operation on a named workspace whose Worker died.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::named::messages::{ResumeRequest, Start};
use serde_json::json;

use crate::support::{Checked, MINUTE, Method, Moment, Running, Stage, WORK, for_ever};

/// The Worker died at the first call of `method` of an operation on `work`.
fn died(stage: Stage, operation: Operation, method: Method, moment: Moment) -> Stage {
    let gate = stage.world.at(method, moment).nth(1).held();
    let work = stage.begins(operation, WORK, &for_ever_of(operation));
    assert!(gate.is_reached(), "{method:?}");
    stage.dies_during(work);
    stage.world.goes_well();
    stage
}

fn for_ever_of(operation: Operation) -> serde_json::Value {
    if operation == Operation::CreateWorkspace { for_ever() } else { json!({}) }
}

#[test]
fn a_start_whose_caller_died_does_nothing_after_a_later_stop() {
    let stage = Stage::with_stopped_work();
    let record = stage.record(WORK);
    let (address, settings, version) = (record.address, record.settings, record.version - 2);
    let request = ResumeRequest { address, settings, start: Start::default(), version };
    let sandbox = stage.of(record.sandbox_id.as_str());
    let late = Running::start_in(&stage.world, async move { sandbox.resume(request).await }).answer();
    late.fails_as(Code::OperationInterrupted);
    assert!(!stage.is_up(WORK));
    stage.starts(WORK, &json!({})).unwrap();
}

#[test]
fn a_workspace_that_nobody_finished_to_make_has_failed_and_can_be_started() {
    for method in [Method::Claim, Method::Resume, Method::Stamp] {
        for moment in Moment::BOTH {
            let stage = died(Stage::empty(), Operation::CreateWorkspace, method, moment);
            stage.passes(2 * MINUTE);
            assert_eq!(stage.state(WORK), "failed", "{method:?} {moment:?}");
            assert!(stage.record(WORK).chores.is_empty(), "{method:?} {moment:?}");
            stage.creates(WORK, &for_ever()).fails_as(Code::NameTaken);
            stage.starts(WORK, &json!({})).unwrap();
            assert!(stage.is_up(WORK));
        }
    }
}

#[test]
fn a_workspace_that_nobody_finished_to_make_can_be_deleted() {
    for method in [Method::Claim, Method::Resume, Method::Stamp] {
        for moment in Moment::BOTH {
            let stage = died(Stage::empty(), Operation::CreateWorkspace, method, moment);
            stage.deletes(WORK).unwrap();
            stage.passes(10 * MINUTE);
            stage.assert_settled();
            assert!(stage.world.running().is_empty(), "{method:?} {moment:?}");
        }
    }
}

#[test]
fn a_start_that_nobody_finished_leaves_it_stopped() {
    let stage = died(Stage::with_stopped_work(), Operation::StartWorkspace, Method::RestoreBackup, Moment::After);
    stage.passes(2 * MINUTE);
    assert_eq!(stage.state(WORK), "stopped");
    assert!(stage.described(WORK).unwrap()["history"][0]["cause"].as_str().unwrap().contains("nobody finished"));
}

#[test]
fn a_stop_that_nobody_finished_leaves_it_active() {
    let stage = died(Stage::with_work(), Operation::StopWorkspace, Method::CreateBackup, Moment::Before);
    stage.passes(2 * MINUTE);
    assert_eq!((stage.state(WORK), stage.file(WORK)), ("active", Some("first".into())));
}

#[test]
fn a_stop_that_nobody_noted_is_noticed_by_the_next_call() {
    let stage = died(Stage::with_work(), Operation::StopWorkspace, Method::Destroy, Moment::After);
    let started = stage.starts(WORK, &json!({})).unwrap();
    assert_eq!((&started["how"], stage.file(WORK)), (&json!("restored"), Some("first".into())));
}

#[test]
fn a_sandbox_that_came_up_after_its_worker_died_is_captured_and_ended() {
    let stage = died(Stage::with_stopped_work(), Operation::StartWorkspace, Method::Resume, Moment::After);
    stage.writes(WORK, "second");
    stage.passes(5 * MINUTE);
    assert!(!stage.is_up(WORK));
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn a_workspace_of_which_nothing_was_under_way_is_left_as_it_is() {
    let stage = Stage::with_work();
    let before = stage.record(WORK);
    stage.restart();
    stage.passes(10 * MINUTE);
    assert_eq!(stage.record(WORK).history, before.history);
    assert!(stage.is_up(WORK));
}

/// The Worker died while it was making `work`, before it had its sandbox.
fn died_before_it_had_a_sandbox() -> Stage {
    let stage = Stage::empty();
    let gate = stage.world.before(Method::Claim).nth(1).held();
    let making = stage.begins(Operation::CreateWorkspace, WORK, &for_ever());
    assert!(gate.is_reached());
    stage.dies_during(making);
    stage.world.goes_well();
    stage.world.forget_calls();
    stage
}

#[test]
fn what_was_never_made_can_be_changed_and_then_started() {
    let stage = died_before_it_had_a_sandbox();
    stage.updates(WORK, &json!({ "retention": { "keepLast": { "count": 1 } } })).unwrap();
    assert_eq!(stage.world.count(Method::SetPolicy), 0);
    stage.starts(WORK, &json!({})).unwrap();
    let policy = stage.run(Operation::Retention, &json!({ "sandboxId": stage.sandbox_of(WORK) })).unwrap();
    assert_eq!(policy["policy"]["keepLast"]["count"], 1);
}

#[test]
fn what_was_never_made_is_stopped_without_a_look_into_its_sandbox() {
    let stage = died_before_it_had_a_sandbox();
    stage.stops(WORK).unwrap();
    assert_eq!(stage.world.count(Method::Halt), 0);
}
