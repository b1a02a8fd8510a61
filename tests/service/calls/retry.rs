//! Retries: a call that fails transiently is made up to three times, with increasing delays.

use sandbox_snapshotter::model::{Code, Failure};

use crate::support::{ExpectError, Fixture, Method};

/// Returns the delays in ms of a restore that fails in all attempts, when every delay draws `jitter`.
fn retry_delays(jitter: u8) -> Vec<u64> {
    let (fixture, snapshot) = Fixture::with_snapshot();
    for short_id in 0..2 {
        fixture.world.queue_random(Some([short_id; 32]));
        fixture.world.queue_random(Some([jitter; 32]));
    }
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::SandboxUnavailable);
    fixture.world.sleeps()
}

#[test]
fn restore_fails_after_three_attempts() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::SandboxUnavailable);
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 3);
}

#[test]
fn third_attempt_can_succeed() {
    for method in [Method::SetName, Method::UpdateMarker, Method::RestoreBackup] {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.world.before(method).first(2).fail_transiently();
        fixture.restore(&snapshot).unwrap();
        assert_eq!(fixture.world.call_count(method), 3, "{method:?}");
        assert_eq!(fixture.world.call_count(Method::Destroy), 2, "{method:?}");
    }
}

#[test]
fn each_restore_attempt_uses_its_own_new_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::SandboxUnavailable);
    let minted = fixture.minted_sandboxes();
    assert_eq!(minted.len(), 3, "{minted:?}");
    for id in minted {
        let attempt = [Method::Claim, Method::SetName, Method::UpdateMarker, Method::RestoreBackup, Method::Destroy];
        assert_eq!(fixture.world.calls_about(&id), attempt, "{id}");
    }
}

#[test]
fn late_end_of_failed_attempt_does_not_affect_the_restored_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).nth(1).fail_transiently();
    fixture.world.before(Method::Destroy).nth(1).fail_transiently();
    let restored = fixture.restore(&snapshot).unwrap();
    let [failed, minted] = fixture.minted_sandboxes().try_into().unwrap();
    assert_eq!(restored.sandbox_id().as_str(), minted);
    fixture.world.end_container(&failed);
    assert_eq!(fixture.world.files(&minted), fixture.world.files("agent-42"));
}

#[test]
fn delays_double_and_jitter_adds_up_to_the_same_again() {
    assert_eq!(retry_delays(0), [200, 400]);
    assert_eq!(retry_delays(255), [400, 800]);
    assert_eq!(retry_delays(51), [240, 480]);
}

#[test]
fn retries_run_without_jitter_when_randomness_fails() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    for short_id in 0..2 {
        fixture.world.queue_random(Some([short_id; 32]));
        fixture.world.queue_random(None);
    }
    fixture.world.before(Method::RestoreBackup).first(2).fail_transiently();
    fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.sleeps(), [200, 400]);
}

#[test]
fn rollback_runs_when_randomness_fails() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.queue_random(Some([0; 32])); // the short id
    fixture.world.queue_random(None);
    fixture.world.after(Method::RestoreBackup).fail_with(Failure::new("InvalidBackupConfigError", "no"));
    fixture.world.before(Method::Destroy).nth(1).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::BackupConfigInvalid);
    fixture.assert_no_minted_sandbox_runs();
}

#[test]
fn delays_of_different_callers_differ() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    for _ in 0..8 {
        fixture.restore(&snapshot).expect_code(Code::SandboxUnavailable);
    }
    let first: Vec<_> = fixture.world.sleeps().into_iter().step_by(2).collect();
    assert!(first.iter().any(|wait| *wait != first[0]), "{first:?}");
}

#[test]
fn permanent_failure_is_not_retried() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let damaged = Failure::new("Error", "sha256 differs").with_code("BACKUP_INTEGRITY");
    fixture.world.before(Method::RestoreBackup).fail_with(damaged);
    fixture.restore(&snapshot).expect_code(Code::BackupIncomplete);
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 1);
    assert!(fixture.world.sleeps().is_empty());
}

#[test]
fn permanent_failure_after_transient_one_ends_the_attempts() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).nth(1).fail_transiently();
    fixture.world.before(Method::RestoreBackup).nth(2).fail_with(Failure::new("BackupNotFoundError", "gone"));
    fixture.restore(&snapshot).expect_code(Code::BackupNotFound);
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 2);
}

#[test]
fn error_reports_the_last_failure() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    for (nth, message) in [(1, "one"), (2, "two"), (3, "three")] {
        fixture.world.before(Method::RestoreBackup).nth(nth).fail_with(Failure::new("BackupRestoreError", message));
    }
    let error = fixture.restore(&snapshot).expect_code(Code::RestoreFailed);
    assert_eq!(error.cause().unwrap().message, "three");
}

#[test]
fn restore_with_lost_answer_is_retried() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::RestoreBackup).nth(1).fail_transiently();
    let restored = fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.files(restored.sandbox_id().as_str()), fixture.world.files("agent-42"));
}

#[test]
fn destroy_is_retried() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::RestoreBackup).fail_with(Failure::new("InvalidBackupConfigError", "no"));
    fixture.world.before(Method::Destroy).first(2).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::BackupConfigInvalid);
    fixture.assert_no_minted_sandbox_runs();
}

#[test]
fn delay_comes_between_the_attempts() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).nth(1).fail_transiently();
    fixture.restore(&snapshot).unwrap();
    let methods: Vec<_> = fixture.world.calls().into_iter().map(|(method, _)| method).skip(3).collect();
    assert_eq!(
        methods,
        [
            [Method::SetName, Method::UpdateMarker, Method::RestoreBackup, Method::Destroy, Method::Sleep],
            [Method::Claim, Method::SetName, Method::UpdateMarker, Method::RestoreBackup, Method::CompleteRestore],
        ]
        .concat()
    );
}
