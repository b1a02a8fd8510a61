//! Every call to a sandbox has a time limit. What was not answered in time is not known, and is not asked again at once.

use std::time::Duration;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::limits::CallKind;
use serde_json::{Value, json};

use super::support::{Checked, HOUR, MINUTE, Method, Moment, Stage, at_every_call, by_ref};

const MIB: u64 = 1024 * 1024;

fn snapshot(stage: &Stage) -> Result<Value> {
    stage.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }))
}

#[test]
fn backups_and_restores_may_take_longer_the_larger_they_are() {
    for kind in [CallKind::Restore, |bytes| CallKind::Backup(Some(bytes))] {
        let [none, small, large] = [0, 100 * MIB, 1000 * MIB].map(|bytes| kind(bytes).limit());
        assert_eq!((small, large), (none + Duration::from_secs(100), none + Duration::from_secs(1000)));
        assert!(none >= Duration::from_mins(5), "a small one has time for the start of a container");
        assert_eq!(kind(u64::MAX).limit(), CallKind::LONGEST);
    }
    assert!(CallKind::Backup(None).limit() > CallKind::Backup(Some(MIB)).limit(), "nothing is known of the first one");
}

#[test]
fn a_command_has_time_for_the_start_of_a_container_and_for_itself() {
    // What the SDK waits for a container, and then for the command.
    assert!(CallKind::Command.limit() > Duration::from_secs(120 + 10 + 6));
    assert!(CallKind::Walk.limit() > Duration::from_secs(120 + 60 + 6));
    assert!(CallKind::Checkpoint.limit() > Duration::from_secs(120 + 120 + 6));
    assert!(CallKind::Hook(3600).limit() > Duration::from_secs(120 + 3600 + 20 + 6));
}

#[test]
fn a_capture_that_is_not_answered_ends_with_its_limit_and_leaves_the_container() {
    let stage = Stage::with_sandbox();
    let files = stage.world.files("agent-42");
    stage.world.before(Method::CreateBackup).is_never_answered();
    let began = stage.world.moment();
    let error = snapshot(&stage).fails_as(Code::BackupInterrupted);
    assert!(!error.retryable() && error.message().contains("did not answer in time"), "{error}");
    let millis = stage.world.moment().millis_since(began);
    let limit = i64::try_from(CallKind::Backup(None).limit().as_millis()).unwrap();
    assert!((limit..limit + MINUTE).contains(&millis), "{millis}");
    assert_eq!(stage.world.count(Method::CreateBackup), 1, "it is not asked for again");
    assert_eq!((stage.world.files("agent-42"), stage.world.count(Method::Destroy)), (files, 0));
    stage.world.goes_well();
    snapshot(&stage).unwrap();
}

#[test]
fn a_capture_has_time_for_as_much_as_the_snapshots_before_it_hold() {
    let (stage, taken) = Stage::with_snapshot();
    let ledger = stage.ledger("agent-42");
    let mut row = serde_json::to_value(ledger.snapshot(taken.snapshot_id()).unwrap().unwrap()).unwrap();
    row["stage"]["ready"]["stored"]["sizeBytes"] = json!(2000 * MIB);
    ledger.put_snapshot(&serde_json::from_value(row).unwrap()).unwrap();
    stage.world.before(Method::CreateBackup).is_never_answered();
    let began = stage.world.moment();
    snapshot(&stage).fails_as(Code::BackupInterrupted);
    let limit = i64::try_from(CallKind::Backup(Some(2000 * MIB)).limit().as_millis()).unwrap();
    assert!(stage.world.moment().millis_since(began) >= limit);
}

#[test]
fn a_backup_that_comes_late_is_removed() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).comes_late();
    snapshot(&stage).fails_as(Code::BackupInterrupted);
    assert_eq!(stage.world.stored().len(), 1, "it came");
    stage.world.goes_well();
    stage.passes(3 * HOUR);
    stage.assert_settled();
    stage.assert_nothing_stored();
}

#[test]
fn a_restore_that_is_not_answered_gives_nobody_the_sandbox() {
    for moment in Moment::BOTH {
        let (stage, taken) = Stage::with_snapshot();
        stage.world.at(Method::RestoreBackup, moment).is_never_answered();
        let error = stage.run(Operation::Restore, &by_ref(&taken)).fails_as(Code::SandboxTimeout);
        assert!(error.retryable(), "each attempt makes a sandbox of its own");
        assert_eq!(stage.world.count(Method::RestoreBackup), 1, "it is not asked for again");
        stage.assert_no_minted_sandbox_runs();
        stage.world.goes_well();
        stage.passes(3 * HOUR);
        stage.assert_settled();
    }
}

#[test]
fn a_restore_that_comes_late_is_ended() {
    let (stage, taken) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).comes_late();
    stage.world.before(Method::Destroy).first(3).comes_late();
    stage.run(Operation::Restore, &by_ref(&taken)).fails_as(Code::SandboxTimeout);
    stage.world.goes_well();
    stage.passes(3 * HOUR);
    stage.assert_settled();
    stage.assert_no_minted_sandbox_runs();
}

#[test]
fn whichever_call_is_never_answered_or_late_nothing_is_left_over() {
    for comes_late in [false, true] {
        at_every_call(|play| {
            if comes_late && play.moment.is_after() {
                return play.number < 3;
            }
            let plan = play.stage.world.at_any_call(play.moment).nth(play.number);
            if comes_late {
                plan.comes_late();
            } else {
                plan.is_never_answered();
            }
            let outcome = play.begin().answer();
            play.stage.world.finish_background();
            let calls = play.stage.world.calls().len();
            play.stage.world.goes_well();
            if let Err(error) = &outcome {
                assert!(error.code() != Code::Internal && error.code() != Code::SandboxFailed, "{error}");
            }
            play.stage.passes(3 * HOUR);
            play.stage.assert_settled();
            calls >= play.number as usize
        });
    }
}
