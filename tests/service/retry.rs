//! What fails in passing is done again, up to three times, with growing waits.

use sandbox_snapshotter::model::{Code, Failure};

use super::support::{Checked, Method, Stage};

/// The waits of a restore that fails to its end, where every wait draws `jitter`.
fn waits(jitter: u8) -> Vec<u64> {
    let (stage, snapshot) = Stage::with_snapshot();
    for short_id in 0..2 {
        stage.world.draws_next(Some([short_id; 32]));
        stage.world.draws_next(Some([jitter; 32]));
    }
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::SandboxUnavailable);
    stage.world.waits()
}

#[test]
fn it_gives_up_after_three_attempts() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::SandboxUnavailable);
    assert_eq!(stage.world.count(Method::RestoreBackup), 3);
}

#[test]
fn the_third_attempt_still_counts() {
    for method in [Method::Name, Method::Stamp, Method::RestoreBackup] {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.world.before(method).first(2).fails_in_passing();
        stage.restore(&snapshot).unwrap();
        assert_eq!(stage.world.count(method), 3, "{method:?}");
        assert_eq!(stage.world.count(Method::Destroy), 2, "{method:?}");
    }
}

#[test]
fn each_attempt_is_at_a_new_sandbox_of_its_own() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::SandboxUnavailable);
    let minted = stage.all_minted();
    assert_eq!(minted.len(), 3, "{minted:?}");
    for id in minted {
        let attempt = [Method::Claim, Method::Name, Method::Stamp, Method::RestoreBackup, Method::Destroy];
        assert_eq!(stage.world.calls_about(&id), attempt, "{id}");
    }
}

#[test]
fn the_end_of_a_failed_attempt_may_come_late_without_harm() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).nth(1).fails_in_passing();
    stage.world.before(Method::Destroy).nth(1).fails_in_passing();
    let restored = stage.restore(&snapshot).unwrap();
    let [failed, minted] = stage.all_minted().try_into().unwrap();
    assert_eq!(restored.sandbox_id().as_str(), minted);
    stage.world.stops(&failed);
    assert_eq!(stage.world.files(&minted), stage.world.files("agent-42"));
}

#[test]
fn the_waits_double_and_are_stretched_by_up_to_twice() {
    assert_eq!(waits(0), [200, 400]);
    assert_eq!(waits(255), [400, 800]);
    assert_eq!(waits(51), [240, 480]);
}

#[test]
fn without_randomness_the_waits_are_not_stretched_and_it_is_tried_again_all_the_same() {
    let (stage, snapshot) = Stage::with_snapshot();
    for short_id in 0..2 {
        stage.world.draws_next(Some([short_id; 32]));
        stage.world.draws_next(None);
    }
    stage.world.before(Method::RestoreBackup).first(2).fails_in_passing();
    stage.restore(&snapshot).unwrap();
    assert_eq!(stage.world.waits(), [200, 400]);
}

#[test]
fn without_randomness_what_was_under_way_is_taken_back_all_the_same() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.draws_next(Some([0; 32])); // the short id
    stage.world.draws_next(None);
    stage.world.after(Method::RestoreBackup).fails_with(Failure::new("InvalidBackupConfigError", "no"));
    stage.world.before(Method::Destroy).nth(1).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::BackupConfigInvalid);
    stage.assert_no_minted_sandbox_runs();
}

#[test]
fn the_waits_of_callers_that_failed_together_differ() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    for _ in 0..8 {
        stage.restore(&snapshot).fails_as(Code::SandboxUnavailable);
    }
    let first: Vec<_> = stage.world.waits().into_iter().step_by(2).collect();
    assert!(first.iter().any(|wait| *wait != first[0]), "{first:?}");
}

#[test]
fn what_failed_for_good_is_not_tried_again() {
    let (stage, snapshot) = Stage::with_snapshot();
    let damaged = Failure::new("Error", "sha256 differs").with_code("BACKUP_INTEGRITY");
    stage.world.before(Method::RestoreBackup).fails_with(damaged);
    stage.restore(&snapshot).fails_as(Code::BackupIncomplete);
    assert_eq!(stage.world.count(Method::RestoreBackup), 1);
    assert!(stage.world.waits().is_empty());
}

#[test]
fn a_failure_that_turns_permanent_ends_the_attempts() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).nth(1).fails_in_passing();
    stage.world.before(Method::RestoreBackup).nth(2).fails_with(Failure::new("BackupNotFoundError", "gone"));
    stage.restore(&snapshot).fails_as(Code::BackupNotFound);
    assert_eq!(stage.world.count(Method::RestoreBackup), 2);
}

#[test]
fn the_last_failure_is_the_one_that_is_told() {
    let (stage, snapshot) = Stage::with_snapshot();
    for (nth, message) in [(1, "one"), (2, "two"), (3, "three")] {
        stage.world.before(Method::RestoreBackup).nth(nth).fails_with(Failure::new("BackupRestoreError", message));
    }
    let error = stage.restore(&snapshot).fails_as(Code::RestoreFailed);
    assert_eq!(error.cause().unwrap().message, "three");
}

#[test]
fn a_restore_whose_answer_got_lost_is_done_again() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::RestoreBackup).nth(1).fails_in_passing();
    let restored = stage.restore(&snapshot).unwrap();
    assert_eq!(stage.world.files(restored.sandbox_id().as_str()), stage.world.files("agent-42"));
}

#[test]
fn destroying_is_tried_again() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::RestoreBackup).fails_with(Failure::new("InvalidBackupConfigError", "no"));
    stage.world.before(Method::Destroy).first(2).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::BackupConfigInvalid);
    stage.assert_no_minted_sandbox_runs();
}

#[test]
fn the_wait_comes_between_the_attempts() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).nth(1).fails_in_passing();
    stage.restore(&snapshot).unwrap();
    let methods: Vec<_> = stage.world.calls().into_iter().map(|(method, _)| method).skip(3).collect();
    assert_eq!(
        methods,
        [
            [Method::Name, Method::Stamp, Method::RestoreBackup, Method::Destroy, Method::Sleep],
            [Method::Claim, Method::Name, Method::Stamp, Method::RestoreBackup, Method::Arrive],
        ]
        .concat()
    );
}
