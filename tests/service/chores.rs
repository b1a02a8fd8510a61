//! The alarm of a workspace comes when the next thing is due, and not at all when nothing is.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::support::{Checked, DAY, HOUR, MINUTE, Method, Running, Stage, by_label, by_ref};

/// When the alarm of `agent-42` comes, from now on, in milliseconds.
fn comes_in(stage: &Stage) -> Option<i64> {
    stage.alarm_due("agent-42").map(|at| at.millis_since(stage.world.moment()))
}

fn keep_for_ever(stage: &Stage) {
    let policy = json!({ "sandboxId": "agent-42", "policy": { "expirationSeconds": 0 } });
    stage.run(Operation::SetRetention, &policy).unwrap();
}

#[test]
fn a_workspace_in_which_nothing_expires_is_left_alone() {
    let stage = Stage::with_sandbox();
    keep_for_ever(&stage);
    stage.captures("agent-42", "one");
    stage.passes(HOUR);
    assert_eq!(comes_in(&stage), None);
}

#[test]
fn while_something_is_under_way_the_alarm_stands_by() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("slow"));
    assert!(comes_in(&stage).is_some_and(|millis| millis <= MINUTE));
    stage.passes(20 * MINUTE);
    assert!(comes_in(&stage).is_some_and(|millis| millis <= 2 * MINUTE), "it looks again as long as that lasts");
    gate.open();
    capture.answer().unwrap();
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn the_alarm_leaves_what_somebody_works_on() {
    let (stage, snapshot) = Stage::with_snapshot();
    let gate = stage.world.before(Method::RestoreBackup).held();
    let restoring = stage.begin(Operation::Restore, &by_ref(&snapshot));
    stage.passes(HOUR);
    assert_eq!(stage.world.count(Method::Destroy), 0);
    gate.open();
    restoring.answer().unwrap();
    stage.passes(HOUR);
    stage.assert_settled();
}

#[test]
fn then_it_comes_at_the_first_expiration() {
    let stage = Stage::with_sandbox();
    for (label, seconds) in [("late", 7200), ("early", 3600), ("never", 0)] {
        let arguments = json!({ "sandboxId": "agent-42", "label": label, "expirationSeconds": seconds });
        stage.run(Operation::Snapshot, &arguments).unwrap();
    }
    stage.passes(10 * MINUTE);
    let early = stage.run(Operation::Get, &by_label("early")).unwrap()["expiresAt"].clone();
    assert_eq!(json!(stage.alarm_due("agent-42")), early);
}

#[test]
fn an_expired_snapshot_that_stays_does_not_ring_again_and_again() {
    let stage = Stage::with_sandbox();
    let arguments = json!({ "sandboxId": "agent-42", "expirationSeconds": 60 });
    stage.run(Operation::Snapshot, &arguments).unwrap();
    stage.passes(HOUR);
    assert_eq!(comes_in(&stage), None);
}

#[test]
fn answers_are_tidied_away_and_then_it_is_quiet() {
    let stage = Stage::with_sandbox();
    keep_for_ever(&stage);
    let arguments = json!({ "sandboxId": "agent-42", "idempotencyKey": "k" });
    stage.run(Operation::Snapshot, &arguments).unwrap();
    stage.passes(DAY);
    assert!(comes_in(&stage).is_some());
    stage.passes(5 * DAY);
    assert_eq!(stage.ledger("agent-42").request("k").unwrap(), None);
    assert_eq!(comes_in(&stage), None);
}

#[test]
fn memories_of_what_was_deleted_are_tidied_away_and_then_it_is_quiet() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    stage.passes(29 * DAY);
    assert!(stage.ledger("agent-42").snapshot(snapshot.snapshot_id()).unwrap().is_some());
    stage.passes(4 * DAY);
    assert_eq!(stage.ledger("agent-42").snapshot(snapshot.snapshot_id()).unwrap(), None);
    assert_eq!(comes_in(&stage), None);
}

#[test]
fn a_workspace_of_which_only_the_lineage_is_known_is_left_alone() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap();
    assert_eq!(stage.alarm_due(restored.sandbox_id().as_str()), None);
}

#[test]
fn what_fails_for_one_thing_does_not_keep_the_others_from_being_done() {
    let stage = Stage::with_sandbox();
    let [one, two] = ["one", "two"].map(|label| stage.captures("agent-42", label));
    stage.world.before(Method::Delete).first(6).fails_in_passing();
    for snapshot in [&one, &two] {
        stage.run(Operation::Delete, &by_ref(snapshot)).fails_as(Code::StorageUnavailable);
    }
    stage.world.forget_calls();
    stage.world.goes_well();
    stage.world.before(Method::Metadata).first(3).fails_in_passing();
    stage.passes(4 * MINUTE);
    assert_eq!(stage.world.stored().len(), 1, "only the first one failed");
    stage.passes(HOUR);
    stage.assert_settled();
}

#[test]
fn what_expires_while_the_alarm_works_goes_too() {
    let stage = Stage::with_sandbox();
    for (label, seconds) in [("first", 3600), ("second", 3660), ("newest", 0)] {
        let arguments = json!({ "sandboxId": "agent-42", "label": label, "expirationSeconds": seconds });
        stage.run(Operation::Snapshot, &arguments).unwrap();
    }
    stage.world.before(Method::Delete).nth(1).takes(5 * MINUTE);
    stage.passes(2 * HOUR);
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn an_alarm_during_which_the_worker_dies_comes_again() {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "one");
    stage.captures("agent-42", "newest");
    let policy = json!({ "sandboxId": "agent-42", "policy": { "expirationSeconds": 3600 } });
    stage.run(Operation::SetRetention, &policy).unwrap();
    stage.world.pass(2 * HOUR);
    let gate = stage.world.before(Method::Delete).nth(1).held();
    let snapshotter = stage.of("agent-42");
    stage.ledger("agent-42").set_alarm(None).unwrap();
    let alarm = Running::start(async move { snapshotter.alarm().await });
    assert!(gate.is_reached());
    stage.dies_during(alarm);
    stage.passes(HOUR);
    assert_eq!(stage.world.stored().len(), 1);
    stage.assert_settled();
}

#[test]
fn what_is_asked_for_while_the_alarm_works_is_not_forgotten() {
    let stage = Stage::with_sandbox();
    for label in ["one", "newest"] {
        stage.captures("agent-42", label);
    }
    let policy = json!({ "sandboxId": "agent-42", "policy": { "expirationSeconds": 3600 } });
    stage.run(Operation::SetRetention, &policy).unwrap();
    stage.world.pass(2 * HOUR);
    let gate = stage.world.before(Method::Delete).nth(1).held();
    let snapshotter = stage.of("agent-42");
    let alarm = Running::start(async move { snapshotter.alarm().await });
    let arguments = json!({ "sandboxId": "agent-42", "label": "short", "expirationSeconds": 60 });
    stage.run(Operation::Snapshot, &arguments).unwrap();
    stage.captures("agent-42", "still newer");
    gate.open();
    alarm.answer().unwrap();
    stage.passes(HOUR / 2);
    stage.run(Operation::Get, &by_label("short")).fails_as(Code::SnapshotNotFound);
}

#[test]
fn a_call_that_comes_while_the_alarm_works_is_followed_up_when_the_worker_dies() {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "one");
    let newest = stage.captures("agent-42", "newest");
    let policy = json!({ "sandboxId": "agent-42", "policy": { "expirationSeconds": 3600 } });
    stage.run(Operation::SetRetention, &policy).unwrap();
    stage.world.pass(2 * HOUR);
    let alarm_works = stage.world.before(Method::Delete).nth(1).held();
    let snapshotter = stage.of("agent-42");
    let alarm = Running::start(async move { snapshotter.alarm().await });
    assert!(alarm_works.is_reached());

    let call_works = stage.world.before(Method::Metadata).held();
    let mut arguments = by_ref(&newest);
    arguments["idempotencyKey"] = json!("k");
    let call = stage.begin(Operation::Restore, &arguments);
    assert!(call_works.is_reached());
    alarm_works.open();
    alarm.answer().unwrap();
    stage.dies_during(call);

    stage.passes(2 * MINUTE);
    assert_eq!(stage.ledger("agent-42").unanswered().unwrap(), []);
}

#[test]
fn a_failing_alarm_is_set_again_in_time() {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "one");
    stage.world.before(Method::Delete).fails_in_passing();
    stage.run(Operation::Delete, &by_label("one")).fails_as(Code::StorageUnavailable);
    for _ in 0..10 {
        stage.ring("agent-42").ok();
        let millis = comes_in(&stage).expect("there is something to do");
        assert!(millis > 0 && millis <= 2 * HOUR, "{millis}");
    }
}

#[test]
fn an_alarm_without_anything_to_do_touches_nothing_outside() {
    let (stage, _) = Stage::with_snapshot();
    stage.ring("agent-42").unwrap();
    assert!(stage.world.calls().is_empty(), "{:?}", stage.world.calls());
}

#[test]
fn however_many_stay_although_they_have_expired_it_comes_when_the_next_one_expires() {
    let stage = Stage::with_sandbox();
    for label in ["one", "two", "three", "four", "five"] {
        stage.captures("agent-42", label);
    }
    let ledger = stage.ledger("agent-42");
    let tomorrow = stage.world.moment().plus_millis(DAY);
    let mut rows = ledger.page(None, None, 9).unwrap();
    for row in &mut rows {
        (row.pinned, row.expires_at) = (true, Some(stage.world.moment()));
    }
    rows[0].expires_at = Some(tomorrow);
    for row in &rows {
        ledger.put_snapshot(row).unwrap();
    }
    stage.passes(HOUR);
    assert_eq!(stage.alarm_due("agent-42"), Some(tomorrow));
}
