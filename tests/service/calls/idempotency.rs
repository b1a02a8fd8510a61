//! A repeated call with the same idempotency key gets the same answer.

use base64ct::{Base64UrlUnpadded, Encoding};
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::record::IdempotencyRecord;
use sandbox_snapshotter::model::{Code, Failure, RestoreRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{
    CancellationSource, DAY, ExpectError, Fixture, HOUR, MINUTE, Method, PendingOperation, by_label, by_ref,
};

/// An operation that accepts an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum KeyedOperation {
    Snapshot,
    Restore,
    Branch,
    Revive,
}

const KEYED_OPERATIONS: [KeyedOperation; 4] =
    [KeyedOperation::Snapshot, KeyedOperation::Restore, KeyedOperation::Branch, KeyedOperation::Revive];

impl KeyedOperation {
    /// Returns a fixture for the operation, and its arguments with the key `k`.
    fn set_up(self) -> (Fixture, Operation, Value) {
        let (fixture, snapshot) = Fixture::with_snapshot();
        let (operation, mut arguments) = match self {
            Self::Snapshot => (Operation::Snapshot, json!({ "sandboxId": "agent-42" })),
            Self::Restore => (Operation::Restore, by_ref(&snapshot)),
            Self::Branch => (Operation::Branch, by_ref(&snapshot)),
            Self::Revive => {
                fixture.world.end_container("agent-42");
                (Operation::Revive, json!({ "sandboxId": "agent-42" }))
            }
        };
        arguments["idempotencyKey"] = json!("k");
        (fixture, operation, arguments)
    }

    /// Returns the port method that does the work of the operation.
    const fn work_method(self) -> Method {
        match self {
            Self::Snapshot => Method::CreateBackup,
            Self::Restore | Self::Branch | Self::Revive => Method::RestoreBackup,
        }
    }
}

/// Returns the number of backups and of running sandboxes.
fn resource_counts(fixture: &Fixture) -> (usize, usize) {
    (fixture.world.backup_ids().len(), fixture.world.running_sandboxes().len())
}

#[test]
fn same_key_gets_same_answer_and_work_is_done_once() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        let first = fixture.run(operation, &arguments).unwrap();
        let counts = resource_counts(&fixture);
        fixture.world.advance_clock(HOUR);
        assert_eq!(fixture.run(operation, &arguments).unwrap(), first, "{call:?}");
        assert_eq!(resource_counts(&fixture), counts, "{call:?}");
        assert_eq!(fixture.world.call_count(call.work_method()), 1, "{call:?}");
    }
}

#[test]
fn key_of_a_release_with_other_option_names_gets_its_answer() {
    let (fixture, operation, mut arguments) = KeyedOperation::Restore.set_up();
    arguments["lineageScope"] = json!("agent-42");
    let first = fixture.run(operation, &arguments).unwrap();
    let ledger = fixture.ledger("agent-42");
    let record = ledger.idempotency_record("k").unwrap().unwrap();
    let mut request = serde_json::to_value(RestoreRequest::decode(&arguments).unwrap().selection).unwrap();
    for (name, former) in [("lineageScope", "session"), ("allowCrossLineage", "allowCrossSession")] {
        request[former] = request.as_object_mut().unwrap().remove(name).unwrap();
    }
    let payload_hash = Base64UrlUnpadded::encode_string(&Sha256::digest(format!("restored {request}")));
    ledger.put_idempotency_record(&IdempotencyRecord { payload_hash, ..record }).unwrap();
    assert_eq!(fixture.run(operation, &arguments).unwrap(), first);
}

#[test]
fn other_key_or_none_gets_another_answer() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, mut arguments) = call.set_up();
        let first = fixture.run(operation, &arguments).unwrap();
        for key in [json!("another"), json!(null)] {
            arguments["idempotencyKey"] = key;
            assert_ne!(fixture.run(operation, &arguments).unwrap(), first, "{call:?}");
        }
    }
}

#[test]
fn answer_is_the_same_after_restart() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        let first = fixture.run(operation, &arguments).unwrap();
        fixture.crash_worker();
        assert_eq!(fixture.run(operation, &arguments).unwrap(), first, "{call:?}");
    }
}

#[test]
fn repeated_call_does_no_work_when_first_answer_was_lost() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        let mut lost = fixture.begin(operation, &arguments);
        assert!(lost.is_done());
        let counts = resource_counts(&fixture);
        fixture.crash_during(lost);
        fixture.run(operation, &arguments).unwrap();
        assert_eq!(resource_counts(&fixture), counts, "{call:?}");
    }
}

#[test]
fn answer_is_the_same_after_snapshot_is_relabeled_or_deleted() {
    let (fixture, _) = Fixture::with_snapshot();
    let arguments = json!({ "sandboxId": "agent-42", "label": "before", "idempotencyKey": "k" });
    let first = fixture.run(Operation::Snapshot, &arguments).unwrap();
    fixture.run(Operation::Label, &json!({ "sandboxId": "agent-42", "label": "before", "newLabel": "moved" })).unwrap();
    assert_eq!(fixture.run(Operation::Snapshot, &arguments).unwrap(), first);
    fixture.run(Operation::Delete, &by_label("moved")).unwrap();
    assert_eq!(fixture.run(Operation::Snapshot, &arguments).unwrap(), first);
}

#[test]
fn caller_of_another_lineage_does_not_learn_that_key_was_used() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        fixture.run(operation, &arguments).unwrap();
        let counts = resource_counts(&fixture);
        for extra in [json!({}), json!({ "idempotencyKey": "unused" })] {
            let mut foreign = arguments.clone();
            foreign["lineageScope"] = json!("agent-7");
            foreign.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            fixture.run(operation, &foreign).expect_code(Code::CrossLineage);
        }
        assert_eq!(resource_counts(&fixture), counts, "{call:?}");
    }
}

#[test]
fn same_key_with_other_arguments_is_refused_and_makes_no_calls() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let taken = json!({ "sandboxId": "agent-42", "label": "one", "idempotencyKey": "k" });
    fixture.run(Operation::Snapshot, &taken).unwrap();
    fixture.world.reset_calls();
    let mut restore = by_ref(&snapshot);
    restore["idempotencyKey"] = json!("k");
    for (operation, arguments) in [
        (Operation::Snapshot, json!({ "sandboxId": "agent-42", "label": "two", "idempotencyKey": "k" })),
        (Operation::Snapshot, json!({ "sandboxId": "agent-42", "label": "one", "fresh": true, "idempotencyKey": "k" })),
        (Operation::Restore, restore.clone()),
        (Operation::Branch, restore),
    ] {
        fixture.run(operation, &arguments).expect_code(Code::IdempotencyConflict);
    }
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn key_of_restore_is_refused_for_branch() {
    let (fixture, _, arguments) = KeyedOperation::Restore.set_up();
    fixture.run(Operation::Restore, &arguments).unwrap();
    fixture.run(Operation::Branch, &arguments).expect_code(Code::IdempotencyConflict);
}

#[test]
fn key_belongs_to_its_sandbox() {
    let fixture = Fixture::with_sandbox();
    fixture.start_sandbox("agent-7");
    let ids = ["agent-42", "agent-7"]
        .map(|id| fixture.run(Operation::Snapshot, &json!({ "sandboxId": id, "idempotencyKey": "k" })).unwrap());
    assert_ne!(ids[0]["ref"]["originId"], ids[1]["ref"]["originId"]);
}

#[test]
fn concurrent_callers_with_same_key_get_one_answer() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        let gate = fixture.world.before(call.work_method()).nth(1).block();
        let callers: Vec<_> = (0..5).map(|_| fixture.begin(operation, &arguments)).collect();
        assert!(gate.is_reached());
        gate.open();
        let answers: Vec<Value> = callers.into_iter().map(|caller| caller.answer().unwrap()).collect();
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{call:?}: {answers:?}");
        assert_eq!(fixture.world.call_count(call.work_method()), 1, "{call:?}");
    }
}

#[test]
fn key_of_another_running_call_is_refused_at_once() {
    let (fixture, _, arguments) = KeyedOperation::Restore.set_up();
    let gate = fixture.world.before(Method::RestoreBackup).block();
    let first = fixture.begin(Operation::Restore, &arguments);
    fixture.run(Operation::Branch, &arguments).expect_code(Code::IdempotencyConflict);
    gate.open();
    first.answer().unwrap();
}

#[test]
fn failed_call_frees_its_key() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        let failure = Failure::new("InvalidBackupConfigError", "no bucket");
        fixture.world.before(call.work_method()).nth(1).fail_with(failure);
        fixture.run(operation, &arguments).expect_code(Code::BackupConfigInvalid);
        assert!(fixture.ledger("agent-42").unanswered_calls().unwrap().is_empty(), "{call:?}");
        fixture.run(operation, &arguments).unwrap();
    }
}

#[test]
fn waiting_caller_runs_the_call_when_the_first_one_fails() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        let gate = fixture.world.before(call.work_method()).nth(1).block();
        fixture.world.after(call.work_method()).nth(1).fail_with(Failure::new("InvalidBackupConfigError", "no bucket"));
        let first = fixture.begin(operation, &arguments);
        let second = fixture.begin(operation, &arguments);
        gate.open();
        first.answer().expect_code(Code::BackupConfigInvalid);
        second.answer().unwrap();
        assert_eq!(fixture.world.call_count(call.work_method()), 2, "{call:?}");
    }
}

#[test]
fn waiting_caller_can_abort() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        let gate = fixture.world.before(call.work_method()).nth(1).block();
        let first = fixture.begin(operation, &arguments);
        let (signal, abort) = CancellationSource::new();
        let second = fixture.begin_cancellable(operation, &arguments, abort);
        signal.cancel();
        second.answer().expect_code(Code::Aborted);
        gate.open();
        first.answer().unwrap();
    }
}

#[test]
fn call_repeated_after_abort_gets_its_own_answer() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        let gate = fixture.world.before(call.work_method()).nth(1).block();
        let (signal, abort) = CancellationSource::new();
        let first = fixture.begin_cancellable(operation, &arguments, abort);
        signal.cancel();
        first.answer().expect_code(Code::Aborted);
        let second = fixture.begin(operation, &arguments);
        gate.open();
        fixture.world.finish_background();
        let answer = second.answer().unwrap();
        assert_eq!(fixture.run(operation, &arguments).unwrap(), answer, "{call:?}");
        fixture.advance_with_alarms(3 * HOUR);
        fixture.assert_nothing_pending();
        let expected = match call {
            KeyedOperation::Snapshot => (2, 1),
            KeyedOperation::Restore | KeyedOperation::Branch => (1, 2),
            KeyedOperation::Revive => (1, 1),
        };
        assert_eq!(resource_counts(&fixture), expected, "{call:?}");
    }
}

#[test]
fn key_is_kept_for_at_least_one_day_and_deleted_later() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        let first = fixture.run(operation, &arguments).unwrap();
        fixture.advance_with_alarms(DAY);
        assert_eq!(fixture.run(operation, &arguments).unwrap(), first, "{call:?}");
        fixture.advance_with_alarms(4 * DAY);
        assert_eq!(fixture.ledger("agent-42").idempotency_record("k").unwrap(), None, "{call:?}");
        assert_ne!(fixture.run(operation, &arguments).unwrap(), first, "{call:?}");
    }
}

#[test]
fn key_is_kept_for_two_days_after_its_answer() {
    for call in KEYED_OPERATIONS {
        let (fixture, operation, arguments) = call.set_up();
        fixture.world.before(call.work_method()).nth(1).take_millis(3 * HOUR);
        let first = fixture.run(operation, &arguments).unwrap();
        fixture.world.advance_clock(2 * DAY - HOUR);
        let snapshotter = fixture.snapshotter("agent-42");
        PendingOperation::start(async move { snapshotter.alarm().await }).answer().unwrap();
        assert_eq!(fixture.run(operation, &arguments).unwrap(), first, "{call:?}");
    }
}

#[test]
fn shared_capture_answers_each_key_separately() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let arguments = |key: &str| json!({ "sandboxId": "agent-42", "idempotencyKey": key });
    let callers: Vec<PendingOperation<_>> =
        ["a", "b"].map(|key| fixture.begin(Operation::Snapshot, &arguments(key))).into();
    gate.open();
    let answers: Vec<Value> = callers.into_iter().map(|caller| caller.answer().unwrap()).collect();
    assert_eq!(answers[0]["ref"], answers[1]["ref"]);
    for (key, answer) in ["a", "b"].iter().zip(&answers) {
        assert_eq!(fixture.run(Operation::Snapshot, &arguments(key)).unwrap(), *answer, "{key}");
    }
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn capture_is_recovered_after_worker_died_and_its_key_answered() {
    let (fixture, operation, arguments) = KeyedOperation::Snapshot.set_up();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let lost = fixture.begin(operation, &arguments);
    assert!(gate.is_reached());
    fixture.crash_during(lost);
    let answer = fixture.run(operation, &arguments).unwrap();
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 1, "the interrupted capture is completed");
    assert_eq!(fixture.run(operation, &arguments).unwrap(), answer);
}

#[test]
fn capture_recovered_late_does_not_change_answer_of_its_key() {
    let (fixture, operation, arguments) = KeyedOperation::Snapshot.set_up();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let lost = fixture.begin(operation, &arguments);
    assert!(gate.is_reached());
    fixture.crash_during(lost);

    // R2 fails while the next call reconciles the capture, which is then left to an alarm.
    (2..=4).for_each(|nth| fixture.world.before(Method::GetMetadata).nth(nth).fail_transiently());
    let gate = fixture.world.before(Method::CreateBackup).nth(2).block();
    let again = fixture.begin(operation, &arguments);
    assert!(gate.is_reached());
    fixture.advance_with_alarms(10 * MINUTE);
    gate.open();
    let answer = again.answer().unwrap();
    assert_eq!(fixture.run(operation, &arguments).unwrap(), answer);
}

#[test]
fn alarm_during_call_keeps_its_key() {
    let fixture = Fixture::with_sandbox();
    let arguments = json!({ "sandboxId": "agent-42", "idempotencyKey": "k" });
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let call = fixture.begin(Operation::Snapshot, &arguments);
    fixture.advance_with_alarms(5 * MINUTE);
    assert!(gate.is_reached());
    fixture.crash_during(call);
    fixture.world.clear_faults();
    fixture.run(Operation::Snapshot, &arguments).unwrap();
    assert_eq!(fixture.world.backup_ids().len(), 1, "the answer is the capture that was recovered");
}

#[test]
fn capture_that_is_superseded_while_recovery_checks_it_gets_no_snapshot() {
    let fixture = Fixture::with_sandbox();
    let arguments = json!({ "sandboxId": "agent-42", "idempotencyKey": "k" });
    fixture.world.reset_calls();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let crashed = fixture.begin(Operation::Snapshot, &arguments);
    assert!(gate.is_reached());
    fixture.crash_during(crashed);
    fixture.world.clear_faults();
    // The first recovery fails, so that later calls don't wait for it.
    fixture.world.before(Method::GetMetadata).first(9).fail_transiently();
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    fixture.world.clear_faults();
    fixture.world.reset_calls();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    fixture.world.after(Method::GetMetadata).nth(1).fail_transiently();
    fixture.world.advance_clock(2 * MINUTE);
    let snapshotter = fixture.snapshotter("agent-42");
    let alarm = PendingOperation::start_with_clock(&fixture.world, async move { snapshotter.alarm().await });
    assert!(gate.is_reached());
    let taken = fixture.run(Operation::Snapshot, &arguments).unwrap();
    fixture.world.before(Method::GetMetadata).first(20).fail_transiently();
    gate.open();
    drop(alarm.answer());
    fixture.world.clear_faults();
    fixture.advance_with_alarms(3 * HOUR);
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let ids: Vec<_> = page["snapshots"].as_array().unwrap().iter().map(|row| &row["snapshotId"]).collect();
    assert_eq!(ids, [&taken["ref"]["snapshotId"]]);
}
