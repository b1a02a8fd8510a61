//! Every call to a sandbox has a time limit. The result of a call that times out is unknown, and the Worker does not
//! retry the call at once.

use std::time::Duration;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::calls::limits::CallKind;
use serde_json::{Value, json};

use crate::support::{CallPhase, ExpectError, Fixture, HOUR, MINUTE, Method, by_ref, for_every_call};

const MIB: u64 = 1024 * 1024;

fn snapshot(fixture: &Fixture) -> Result<Value> {
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }))
}

#[test]
fn time_limit_of_backup_and_restore_grows_with_size() {
    for kind in [CallKind::Restore, |bytes| CallKind::Backup(Some(bytes))] {
        let [none, small, large] = [0, 100 * MIB, 1000 * MIB].map(|bytes| kind(bytes).limit());
        assert_eq!((small, large), (none + Duration::from_secs(100), none + Duration::from_secs(1000)));
        assert!(none >= Duration::from_mins(5), "an empty one has time for the start of a container");
        assert_eq!(kind(u64::MAX).limit(), CallKind::MAX_LIMIT);
    }
    assert!(
        CallKind::Backup(None).limit() > CallKind::Backup(Some(MIB)).limit(),
        "the size of the first backup is unknown"
    );
}

#[test]
fn time_limit_of_command_includes_container_start() {
    // The time that the SDK waits for the container (120 s) and then for the command.
    assert!(CallKind::Command.limit() > Duration::from_secs(120 + 10 + 6));
    assert!(CallKind::Walk.limit() > Duration::from_secs(120 + 60 + 6));
    assert!(CallKind::Checkpoint.limit() > Duration::from_secs(120 + 120 + 6));
    assert!(CallKind::Hook(3600).limit() > Duration::from_secs(120 + 3600 + 20 + 6));
}

#[test]
fn capture_that_hangs_fails_at_its_limit_and_keeps_the_container() {
    let fixture = Fixture::with_sandbox();
    let files = fixture.world.files("agent-42");
    fixture.world.before(Method::CreateBackup).hang();
    let began = fixture.world.current_time();
    let error = snapshot(&fixture).expect_code(Code::BackupInterrupted);
    assert!(!error.is_retryable() && error.message().contains("did not answer in time"), "{error}");
    let millis = fixture.world.current_time().millis_since(began);
    let limit = i64::try_from(CallKind::Backup(None).limit().as_millis()).unwrap();
    assert!((limit..limit + MINUTE).contains(&millis), "{millis}");
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 1, "the call is not retried");
    assert_eq!((fixture.world.files("agent-42"), fixture.world.call_count(Method::Destroy)), (files, 0));
    fixture.world.clear_faults();
    snapshot(&fixture).unwrap();
}

#[test]
fn time_limit_of_capture_follows_size_of_earlier_snapshots() {
    let (fixture, taken) = Fixture::with_snapshot();
    let ledger = fixture.ledger("agent-42");
    let mut row = serde_json::to_value(ledger.snapshot(taken.snapshot_id()).unwrap().unwrap()).unwrap();
    row["stage"]["ready"]["stored"]["sizeBytes"] = json!(2000 * MIB);
    ledger.put_snapshot(&serde_json::from_value(row).unwrap()).unwrap();
    fixture.world.before(Method::CreateBackup).hang();
    let began = fixture.world.current_time();
    snapshot(&fixture).expect_code(Code::BackupInterrupted);
    let limit = i64::try_from(CallKind::Backup(Some(2000 * MIB)).limit().as_millis()).unwrap();
    assert!(fixture.world.current_time().millis_since(began) >= limit);
}

#[test]
fn backup_stored_after_timeout_is_deleted() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).take_effect_late();
    snapshot(&fixture).expect_code(Code::BackupInterrupted);
    assert_eq!(fixture.world.backup_ids().len(), 1, "the late backup is stored");
    fixture.world.clear_faults();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
    fixture.assert_nothing_stored();
}

#[test]
fn restore_that_hangs_fails_and_its_sandbox_is_destroyed() {
    for moment in CallPhase::BOTH {
        let (fixture, taken) = Fixture::with_snapshot();
        fixture.world.at(Method::RestoreBackup, moment).hang();
        let error = fixture.run(Operation::Restore, &by_ref(&taken)).expect_code(Code::SandboxTimeout);
        assert!(error.is_retryable(), "each attempt makes a sandbox of its own");
        assert_eq!(fixture.world.call_count(Method::RestoreBackup), 1, "the call is not retried");
        fixture.assert_no_minted_sandbox_runs();
        fixture.world.clear_faults();
        fixture.advance_with_alarms(3 * HOUR);
        fixture.assert_nothing_pending();
    }
}

#[test]
fn restore_completed_after_timeout_is_ended() {
    let (fixture, taken) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).take_effect_late();
    fixture.world.before(Method::Destroy).first(3).take_effect_late();
    fixture.run(Operation::Restore, &by_ref(&taken)).expect_code(Code::SandboxTimeout);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
    fixture.assert_no_minted_sandbox_runs();
}

#[test]
fn any_call_that_hangs_or_is_late_leaves_nothing_behind() {
    for take_effect_late in [false, true] {
        for_every_call(|scenario| {
            if take_effect_late && scenario.phase.is_after() {
                return scenario.call_number < 3;
            }
            let plan = scenario.fixture.world.at_any_call(scenario.phase).nth(scenario.call_number);
            if take_effect_late {
                plan.take_effect_late();
            } else {
                plan.hang();
            }
            let outcome = scenario.start().answer();
            scenario.fixture.world.finish_background();
            let calls = scenario.fixture.world.calls().len();
            scenario.fixture.world.clear_faults();
            if let Err(error) = &outcome {
                assert!(error.code() != Code::Internal && error.code() != Code::SandboxFailed, "{error}");
            }
            scenario.fixture.advance_with_alarms(3 * HOUR);
            scenario.fixture.assert_nothing_pending();
            calls >= scenario.call_number as usize
        });
    }
}
