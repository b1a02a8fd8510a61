//! Recovery of deletions, releases and calls that a crash interrupted, and crashes of recovery itself.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::{capture_args, crash_at, crash_during_capture};
use crate::support::{CallPhase, ExpectError, Fixture, HOUR, Method, by_label, by_ref};

#[test]
fn alarms_finish_an_interrupted_deletion() {
    for method in [Method::GetMetadata, Method::Delete] {
        for phase in CallPhase::BOTH {
            let (fixture, snapshot) = Fixture::with_snapshot();
            crash_at(&fixture, Operation::Delete, &by_ref(&snapshot), method, phase);
            fixture.run(Operation::Restore, &by_ref(&snapshot)).expect_code(Code::SnapshotNotFound);
            fixture.advance_with_alarms(HOUR);
            fixture.assert_nothing_stored();
            fixture.assert_nothing_pending();
        }
    }
}

#[test]
fn evicted_snapshots_are_deleted_after_a_crash() {
    let fixture = Fixture::with_sandbox();
    for label in ["one", "two", "three"] {
        fixture.snapshot_labelled("agent-42", label);
    }
    fixture.world.reset_calls();
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    crash_at(&fixture, Operation::SetRetention, &policy, Method::Delete, CallPhase::Before);
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.assert_nothing_pending();
}

#[test]
fn interrupted_release_is_delivered_after_a_crash() {
    for phase in CallPhase::BOTH {
        let (fixture, snapshot) = Fixture::with_snapshot();
        let restored = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
        let gate = match phase {
            CallPhase::Before => fixture.world.before(Method::Release).nth(1).block(),
            CallPhase::After => fixture.world.after(Method::Release).nth(1).block(),
        };
        fixture.snapshot_labelled(&restored, "own");
        fixture.world.run_background();
        assert!(gate.is_reached());
        fixture.crash_worker();
        fixture.advance_with_alarms(HOUR);
        fixture.assert_nothing_pending();
        fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    }
}

#[test]
fn call_without_an_answer_can_be_repeated() {
    let fixture = crash_during_capture(Method::Status, CallPhase::Before);
    assert_eq!(fixture.ledger("agent-42").unanswered_calls().unwrap().len(), 1);
    fixture.run(Operation::Snapshot, &capture_args()).unwrap();
    fixture.assert_nothing_pending();
}

#[test]
fn recovery_runs_once_and_concurrent_calls_wait_for_it() {
    let fixture = crash_during_capture(Method::GetMetadata, CallPhase::Before);
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let mut callers: Vec<_> = (0..3).map(|_| fixture.begin(Operation::Snapshot, &capture_args())).collect();
    assert!(gate.is_reached() && callers.iter_mut().all(|caller| !caller.is_done()));
    gate.open();
    let answers: Vec<_> = callers.into_iter().map(|caller| caller.answer().unwrap()).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0, "the answer is the recovered capture");
}

#[test]
fn recovery_continues_when_its_caller_disconnects() {
    let fixture = crash_during_capture(Method::GetMetadata, CallPhase::Before);
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    drop(fixture.begin(Operation::List, &json!({ "sandboxId": "agent-42" })));
    gate.open();
    fixture.run(Operation::Restore, &by_label("lost")).unwrap();
}

#[test]
fn recovery_completes_after_it_crashed_itself() {
    let fixture = crash_during_capture(Method::CreateBackup, CallPhase::After);
    for method in [Method::List, Method::GetMetadata, Method::Delete] {
        fixture.world.reset_calls();
        let arguments = json!({ "sandboxId": "agent-42", "check": false });
        crash_at(&fixture, Operation::List, &arguments, method, CallPhase::After);
    }
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn crash_without_unfinished_work_causes_no_calls() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.crash_worker();
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    assert!(fixture.world.calls().is_empty());
}
