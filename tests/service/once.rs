//! The same call, made again with the same idempotency key, gets the same answer.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::support::{Checked, DAY, HOUR, MINUTE, Method, Running, Signal, Stage, by_label, by_ref};

/// Something that can be asked for once.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Snapshot,
    Restore,
    Branch,
}

const CALLS: [Call; 3] = [Call::Snapshot, Call::Restore, Call::Branch];

impl Call {
    /// A stage on which it can be made, and the call, with the key `k`.
    fn prepared(self) -> (Stage, Operation, Value) {
        let (stage, snapshot) = Stage::with_snapshot();
        let (operation, mut arguments) = match self {
            Self::Snapshot => (Operation::Snapshot, json!({ "sandboxId": "agent-42" })),
            Self::Restore => (Operation::Restore, by_ref(&snapshot)),
            Self::Branch => (Operation::Branch, by_ref(&snapshot)),
        };
        arguments["idempotencyKey"] = json!("k");
        (stage, operation, arguments)
    }

    /// The call of a port that does its work.
    const fn work(self) -> Method {
        match self {
            Self::Snapshot => Method::CreateBackup,
            Self::Restore | Self::Branch => Method::RestoreBackup,
        }
    }
}

/// What there is in the world: backups, and sandboxes that run.
fn made(stage: &Stage) -> (usize, usize) {
    (stage.world.stored().len(), stage.world.running().len())
}

#[test]
fn the_same_key_gets_the_same_answer_and_nothing_is_done_twice() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        let first = stage.run(operation, &arguments).unwrap();
        let made_once = made(&stage);
        stage.world.pass(HOUR);
        assert_eq!(stage.run(operation, &arguments).unwrap(), first, "{call:?}");
        assert_eq!(made(&stage), made_once, "{call:?}");
        assert_eq!(stage.world.count(call.work()), 1, "{call:?}");
    }
}

#[test]
fn another_key_or_none_gets_another_answer() {
    for call in CALLS {
        let (stage, operation, mut arguments) = call.prepared();
        let first = stage.run(operation, &arguments).unwrap();
        for key in [json!("another"), json!(null)] {
            arguments["idempotencyKey"] = key;
            assert_ne!(stage.run(operation, &arguments).unwrap(), first, "{call:?}");
        }
    }
}

#[test]
fn the_answer_is_the_same_after_a_restart() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        let first = stage.run(operation, &arguments).unwrap();
        stage.restart();
        assert_eq!(stage.run(operation, &arguments).unwrap(), first, "{call:?}");
    }
}

#[test]
fn the_answer_is_the_same_when_the_first_one_was_lost() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        let mut lost = stage.begin(operation, &arguments);
        assert!(lost.is_done());
        let made_once = made(&stage);
        stage.dies_during(lost);
        stage.run(operation, &arguments).unwrap();
        assert_eq!(made(&stage), made_once, "{call:?}");
    }
}

#[test]
fn the_answer_is_the_same_when_what_it_is_about_has_changed() {
    let (stage, _) = Stage::with_snapshot();
    let arguments = json!({ "sandboxId": "agent-42", "label": "before", "idempotencyKey": "k" });
    let first = stage.run(Operation::Snapshot, &arguments).unwrap();
    stage.run(Operation::Label, &json!({ "sandboxId": "agent-42", "label": "before", "newLabel": "moved" })).unwrap();
    assert_eq!(stage.run(Operation::Snapshot, &arguments).unwrap(), first);
    stage.run(Operation::Delete, &by_label("moved")).unwrap();
    assert_eq!(stage.run(Operation::Snapshot, &arguments).unwrap(), first);
}

#[test]
fn another_lineage_is_not_told_that_a_key_was_used() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        stage.run(operation, &arguments).unwrap();
        let made_once = made(&stage);
        for further in [json!({}), json!({ "idempotencyKey": "unused" })] {
            let mut foreign = arguments.clone();
            foreign["session"] = json!("agent-7");
            foreign.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
            stage.run(operation, &foreign).fails_as(Code::CrossSession);
        }
        assert_eq!(made(&stage), made_once, "{call:?}");
    }
}

#[test]
fn the_same_key_with_other_arguments_is_refused_and_nothing_is_done() {
    let (stage, snapshot) = Stage::with_snapshot();
    let taken = json!({ "sandboxId": "agent-42", "label": "one", "idempotencyKey": "k" });
    stage.run(Operation::Snapshot, &taken).unwrap();
    stage.world.forget_calls();
    let mut restore = by_ref(&snapshot);
    restore["idempotencyKey"] = json!("k");
    for (operation, arguments) in [
        (Operation::Snapshot, json!({ "sandboxId": "agent-42", "label": "two", "idempotencyKey": "k" })),
        (Operation::Snapshot, json!({ "sandboxId": "agent-42", "label": "one", "fresh": true, "idempotencyKey": "k" })),
        (Operation::Restore, restore.clone()),
        (Operation::Branch, restore),
    ] {
        stage.run(operation, &arguments).fails_as(Code::IdempotencyConflict);
    }
    assert!(stage.world.calls().is_empty());
}

#[test]
fn a_restore_is_no_branch() {
    let (stage, _, arguments) = Call::Restore.prepared();
    stage.run(Operation::Restore, &arguments).unwrap();
    stage.run(Operation::Branch, &arguments).fails_as(Code::IdempotencyConflict);
}

#[test]
fn a_key_belongs_to_its_workspace() {
    let stage = Stage::with_sandbox();
    stage.runs("agent-7");
    let ids = ["agent-42", "agent-7"]
        .map(|id| stage.run(Operation::Snapshot, &json!({ "sandboxId": id, "idempotencyKey": "k" })).unwrap());
    assert_ne!(ids[0]["ref"]["originId"], ids[1]["ref"]["originId"]);
}

#[test]
fn callers_with_the_same_key_at_the_same_time_get_one_answer() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        let gate = stage.world.before(call.work()).nth(1).held();
        let callers: Vec<_> = (0..5).map(|_| stage.begin(operation, &arguments)).collect();
        assert!(gate.is_reached());
        gate.open();
        let answers: Vec<Value> = callers.into_iter().map(|caller| caller.answer().unwrap()).collect();
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{call:?}: {answers:?}");
        assert_eq!(stage.world.count(call.work()), 1, "{call:?}");
    }
}

#[test]
fn a_caller_with_the_key_of_another_call_that_is_under_way_is_refused_at_once() {
    let (stage, _, arguments) = Call::Restore.prepared();
    let gate = stage.world.before(Method::RestoreBackup).held();
    let first = stage.begin(Operation::Restore, &arguments);
    stage.run(Operation::Branch, &arguments).fails_as(Code::IdempotencyConflict);
    gate.open();
    first.answer().unwrap();
}

#[test]
fn a_call_that_failed_leaves_its_key_free() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        let failure = Failure::new("InvalidBackupConfigError", "no bucket");
        stage.world.before(call.work()).nth(1).fails_with(failure);
        stage.run(operation, &arguments).fails_as(Code::BackupConfigInvalid);
        assert!(stage.ledger("agent-42").unanswered().unwrap().is_empty(), "{call:?}");
        stage.run(operation, &arguments).unwrap();
    }
}

#[test]
fn who_waits_for_a_call_that_fails_makes_it_again() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        let gate = stage.world.before(call.work()).nth(1).held();
        stage.world.after(call.work()).nth(1).fails_with(Failure::new("InvalidBackupConfigError", "no bucket"));
        let first = stage.begin(operation, &arguments);
        let second = stage.begin(operation, &arguments);
        gate.open();
        first.answer().fails_as(Code::BackupConfigInvalid);
        second.answer().unwrap();
        assert_eq!(stage.world.count(call.work()), 2, "{call:?}");
    }
}

#[test]
fn who_waits_for_the_same_call_may_stop_waiting() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        let gate = stage.world.before(call.work()).nth(1).held();
        let first = stage.begin(operation, &arguments);
        let (signal, abort) = Signal::new();
        let second = stage.begin_until(operation, &arguments, abort);
        signal.fire();
        second.answer().fails_as(Code::Aborted);
        gate.open();
        first.answer().unwrap();
    }
}

#[test]
fn who_stopped_and_asks_again_gets_an_answer_of_its_own() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        let gate = stage.world.before(call.work()).nth(1).held();
        let (signal, abort) = Signal::new();
        let first = stage.begin_until(operation, &arguments, abort);
        signal.fire();
        first.answer().fails_as(Code::Aborted);
        let second = stage.begin(operation, &arguments);
        gate.open();
        stage.world.finish_background();
        let answer = second.answer().unwrap();
        assert_eq!(stage.run(operation, &arguments).unwrap(), answer, "{call:?}");
        stage.passes(3 * HOUR);
        stage.assert_settled();
        let expected = if call == Call::Snapshot { (2, 1) } else { (1, 2) };
        assert_eq!(made(&stage), expected, "{call:?}");
    }
}

#[test]
fn a_key_is_kept_for_a_day_at_least_and_not_for_ever() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        let first = stage.run(operation, &arguments).unwrap();
        stage.passes(DAY);
        assert_eq!(stage.run(operation, &arguments).unwrap(), first, "{call:?}");
        stage.passes(4 * DAY);
        assert_eq!(stage.ledger("agent-42").request("k").unwrap(), None, "{call:?}");
        assert_ne!(stage.run(operation, &arguments).unwrap(), first, "{call:?}");
    }
}

#[test]
fn a_key_is_kept_for_two_days_from_its_answer_on() {
    for call in CALLS {
        let (stage, operation, arguments) = call.prepared();
        stage.world.before(call.work()).nth(1).takes(3 * HOUR);
        let first = stage.run(operation, &arguments).unwrap();
        stage.world.pass(2 * DAY - HOUR);
        let snapshotter = stage.of("agent-42");
        Running::start(async move { snapshotter.alarm().await }).answer().unwrap();
        assert_eq!(stage.run(operation, &arguments).unwrap(), first, "{call:?}");
    }
}

#[test]
fn a_shared_capture_answers_each_key_for_itself() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).held();
    let asked = |key: &str| json!({ "sandboxId": "agent-42", "idempotencyKey": key });
    let callers: Vec<Running<_>> = ["a", "b"].map(|key| stage.begin(Operation::Snapshot, &asked(key))).into();
    gate.open();
    let answers: Vec<Value> = callers.into_iter().map(|caller| caller.answer().unwrap()).collect();
    assert_eq!(answers[0]["ref"], answers[1]["ref"]);
    for (key, answer) in ["a", "b"].iter().zip(&answers) {
        assert_eq!(stage.run(Operation::Snapshot, &asked(key)).unwrap(), *answer, "{key}");
    }
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn a_capture_whose_worker_died_is_adopted_and_its_key_answered() {
    let (stage, operation, arguments) = Call::Snapshot.prepared();
    let gate = stage.world.before(Method::Metadata).nth(1).held();
    let lost = stage.begin(operation, &arguments);
    assert!(gate.is_reached());
    stage.dies_during(lost);
    let answer = stage.run(operation, &arguments).unwrap();
    assert_eq!(stage.world.count(Method::CreateBackup), 1, "the one that was begun is adopted");
    assert_eq!(stage.run(operation, &arguments).unwrap(), answer);
}

#[test]
fn a_capture_that_is_adopted_late_does_not_change_what_its_key_was_answered() {
    let (stage, operation, arguments) = Call::Snapshot.prepared();
    let gate = stage.world.before(Method::Metadata).nth(1).held();
    let lost = stage.begin(operation, &arguments);
    assert!(gate.is_reached());
    stage.dies_during(lost);

    // R2 fails while the first call after that looks at the capture, which is left to an alarm.
    (2..=4).for_each(|nth| stage.world.before(Method::Metadata).nth(nth).fails_in_passing());
    let gate = stage.world.before(Method::CreateBackup).nth(2).held();
    let again = stage.begin(operation, &arguments);
    assert!(gate.is_reached());
    stage.passes(10 * MINUTE);
    gate.open();
    let answer = again.answer().unwrap();
    assert_eq!(stage.run(operation, &arguments).unwrap(), answer);
}

#[test]
fn an_alarm_that_rings_during_a_call_leaves_its_key() {
    let stage = Stage::with_sandbox();
    let arguments = json!({ "sandboxId": "agent-42", "idempotencyKey": "k" });
    let gate = stage.world.before(Method::Metadata).nth(1).held();
    let call = stage.begin(Operation::Snapshot, &arguments);
    stage.passes(5 * MINUTE);
    assert!(gate.is_reached());
    stage.dies_during(call);
    stage.world.goes_well();
    stage.run(Operation::Snapshot, &arguments).unwrap();
    assert_eq!(stage.world.stored().len(), 1, "the answer is the capture that was adopted");
}
