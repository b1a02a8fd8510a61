//! Recovery of sandboxes that were being created or destroyed when the Worker crashed.

use sandbox_snapshotter::api::operations::Operation;
use serde_json::json;

use super::{crash_at, crash_during_restore, minted_running};
use crate::support::{CallPhase, DAY, FILE, Fixture, HOUR, MINUTE, Method, by_ref};

#[test]
fn alarms_destroy_sandbox_of_crashed_restore() {
    for method in [Method::Claim, Method::SetName, Method::UpdateMarker, Method::RestoreBackup, Method::CompleteRestore]
    {
        for phase in CallPhase::BOTH {
            let (fixture, ..) = crash_during_restore(method, phase);
            fixture.advance_with_alarms(3 * HOUR);
            fixture.assert_nothing_pending();
            assert!(minted_running(&fixture).is_empty(), "{method:?} {phase:?}");
        }
    }
}

#[test]
fn next_call_destroys_sandbox_of_crashed_restore() {
    let (fixture, ..) = crash_during_restore(Method::CompleteRestore, CallPhase::Before);
    assert_eq!(minted_running(&fixture).len(), 1);
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert!(minted_running(&fixture).is_empty());
}

#[test]
fn repeated_restore_after_a_crash_yields_one_sandbox() {
    for method in [Method::Claim, Method::SetName, Method::UpdateMarker, Method::RestoreBackup, Method::CompleteRestore]
    {
        for phase in CallPhase::BOTH {
            let (fixture, _, arguments) = crash_during_restore(method, phase);
            let restored = fixture.run(Operation::Restore, &arguments).unwrap();
            fixture.advance_with_alarms(3 * HOUR);
            assert!(
                minted_running(&fixture).iter().eq([restored["ref"]["sandboxId"].as_str().unwrap()]),
                "{method:?} {phase:?}"
            );
            assert_eq!(fixture.run(Operation::Restore, &arguments).unwrap(), restored);
            fixture.assert_nothing_pending();
        }
    }
}

#[test]
fn restore_that_continues_after_a_crash_is_ended() {
    for millis in [0, 30_000] {
        assert_ended_after(millis);
    }
}

#[test]
fn row_of_ended_sandbox_stays_while_a_restore_may_continue_in_it() {
    let (fixture, ..) = crash_during_restore(Method::RestoreBackup, CallPhase::Before);
    for _ in 0..5 {
        fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
        fixture.crash_worker();
        fixture.world.advance_clock(10_000);
    }
    fixture.world.write_file(&fixture.minted_sandbox(), FILE, "restored after all");
    fixture.advance_with_alarms(3 * HOUR);
    assert!(minted_running(&fixture).is_empty());
    fixture.assert_nothing_pending();
}

#[test]
fn restore_that_continues_for_minutes_after_a_crash_is_ended() {
    assert_ended_after(3 * MINUTE);
}

fn assert_ended_after(millis: i64) {
    let (fixture, ..) = crash_during_restore(Method::RestoreBackup, CallPhase::Before);
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let minted_id = fixture.minted_sandbox();
    fixture.advance_with_alarms(millis);
    fixture.world.write_file(&minted_id, FILE, "restored after all");
    fixture.advance_with_alarms(3 * HOUR);
    assert!(minted_running(&fixture).is_empty(), "{millis}");
    fixture.assert_nothing_pending();
}

/// A Worker crashed during a restore, and the next call destroyed the sandbox. Returns the id of the sandbox. Calls are
/// counted from here.
fn with_destroyed_sandbox() -> (Fixture, String) {
    let (fixture, ..) = crash_during_restore(Method::RestoreBackup, CallPhase::Before);
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let minted_id = fixture.minted_sandbox();
    fixture.world.reset_calls();
    (fixture, minted_id)
}

#[test]
fn destroyed_sandbox_gets_three_status_checks() {
    let (fixture, minted_id) = with_destroyed_sandbox();
    let calls_after = |millis: i64| {
        fixture.world.reset_calls();
        fixture.advance_with_alarms(millis);
        fixture.world.calls_about(&minted_id)
    };
    for wait in [MINUTE, 10 * MINUTE, HOUR] {
        assert_eq!(calls_after(wait - 20_000), []);
        assert_eq!(calls_after(25_000), [Method::Status], "after {wait}");
    }
    assert_eq!(calls_after(DAY), []);
    fixture.assert_nothing_pending();
}

#[test]
fn restarted_sandbox_is_destroyed_and_its_status_checks_begin_again() {
    for wait in [0, 5 * MINUTE, 30 * MINUTE] {
        let (fixture, minted_id) = with_destroyed_sandbox();
        fixture.advance_with_alarms(wait);
        fixture.world.write_file(&minted_id, FILE, "restored after all");
        while fixture.world.call_count(Method::Destroy) == 0 {
            fixture.advance_with_alarms(MINUTE);
        }
        assert!(minted_running(&fixture).is_empty());
        fixture.world.reset_calls();
        fixture.advance_with_alarms(3 * HOUR);
        assert_eq!(fixture.world.calls_about(&minted_id), [Method::Status; 3], "{wait}");
        fixture.assert_nothing_pending();
    }
}

#[test]
fn failed_destroy_is_retried_after_ten_minutes() {
    let (fixture, minted_id) = with_destroyed_sandbox();
    fixture.world.write_file(&minted_id, FILE, "restored after all");
    fixture.world.before(Method::Destroy).fail_transiently();
    while fixture.world.call_count(Method::Destroy) == 0 {
        fixture.advance_with_alarms(MINUTE);
    }
    fixture.world.reset_calls();
    fixture.advance_with_alarms(8 * MINUTE);
    assert_eq!(fixture.world.calls_about(&minted_id), []);
    fixture.advance_with_alarms(3 * MINUTE);
    assert_ne!(fixture.world.calls_about(&minted_id), []);
}

#[test]
fn failed_status_checks_are_repeated() {
    let (fixture, minted_id) = with_destroyed_sandbox();
    fixture.world.before(Method::Status).fail_transiently();
    fixture.world.before(Method::Destroy).fail_transiently();
    fixture.advance_with_alarms(5 * HOUR);
    fixture.world.write_file(&minted_id, FILE, "restored after all");
    fixture.world.clear_faults();
    fixture.advance_with_alarms(3 * HOUR);
    assert!(minted_running(&fixture).is_empty());
    fixture.assert_nothing_pending();
}

#[test]
fn application_sandbox_with_the_minted_id_is_never_destroyed() {
    for phase in CallPhase::BOTH {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.start_sandbox("agent-42-restored-aaaaaaaa");
        fixture.snapshot_labelled("agent-42-restored-aaaaaaaa", "an application's own");
        let files = fixture.world.files("agent-42-restored-aaaaaaaa");
        fixture.world.queue_random(Some([0; 32]));
        crash_at(&fixture, Operation::Restore, &by_ref(&snapshot), Method::Claim, phase);
        fixture.advance_with_alarms(3 * HOUR);
        assert_eq!(fixture.world.files("agent-42-restored-aaaaaaaa"), files, "{phase:?}");
        assert_eq!(fixture.world.call_count(Method::Destroy), 0, "{phase:?}");
    }
}

#[test]
fn snapshot_of_crashed_restore_can_be_deleted() {
    let (fixture, snapshot, _) = crash_during_restore(Method::RestoreBackup, CallPhase::Before);
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn sandbox_row_stays_until_destroy_succeeds() {
    let (fixture, ..) = crash_during_restore(Method::CompleteRestore, CallPhase::Before);
    fixture.world.before(Method::Destroy).fail_transiently();
    fixture.advance_with_alarms(DAY);
    assert_eq!(minted_running(&fixture).len(), 1);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(2 * HOUR + HOUR);
    assert!(minted_running(&fixture).is_empty());
    fixture.assert_nothing_pending();
}

#[test]
fn sandbox_returned_to_a_caller_is_not_destroyed() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
    fixture.crash_worker();
    fixture.advance_with_alarms(DAY);
    assert!(minted_running(&fixture).iter().eq([&restored]));
    assert_eq!(fixture.world.call_count(Method::Destroy), 0);
}
