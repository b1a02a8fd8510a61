//! A restore that fails leaves no sandbox behind, and says so where it can't be destroyed.

use sandbox_snapshotter::model::{Code, Failure};

use crate::support::{ExpectError, FILE, Fixture, HOUR, Method, World, backup_id};

#[test]
fn backup_deleted_during_restore_leaves_no_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).run(World::clear_bucket);
    fixture.restore(&snapshot).expect_code(Code::BackupNotFound);
    assert_eq!(
        fixture.world.calls_about(&fixture.minted_sandbox()),
        [Method::Claim, Method::SetName, Method::UpdateMarker, Method::RestoreBackup, Method::Destroy]
    );
}

#[test]
fn restore_error_says_that_new_sandbox_was_destroyed() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::RestoreBackup).fail_with(Failure::new("InvalidBackupConfigError", "no"));
    let error = fixture.restore(&snapshot).expect_code(Code::BackupConfigInvalid);
    assert!(error.message().contains(&format!("{:?} was destroyed", fixture.minted_sandbox())), "{error}");
    fixture.assert_no_minted_sandbox_runs();
}

#[test]
fn restore_error_names_sandbox_that_could_not_be_destroyed() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::RestoreBackup).fail_with(Failure::new("InvalidBackupConfigError", "no"));
    fixture.world.before(Method::Destroy).fail_transiently();
    let error = fixture.restore(&snapshot).expect_code(Code::BackupConfigInvalid);
    let expected = format!("{:?} could not be destroyed and may still be running", fixture.minted_sandbox());
    assert!(error.message().contains(&expected), "{error}");
}

#[test]
fn alarm_destroys_sandbox_that_could_not_be_destroyed() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::RestoreBackup).fail_with(Failure::new("InvalidBackupConfigError", "no"));
    fixture.world.before(Method::Destroy).first(3).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::BackupConfigInvalid);
    assert!(fixture.world.running_sandboxes().contains(&fixture.minted_sandbox()));
    fixture.advance_with_alarms(2 * HOUR);
    fixture.assert_no_minted_sandbox_runs();
    fixture.assert_nothing_pending();
}

#[test]
fn alarm_ends_restore_that_continued_after_destroy() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::SandboxUnavailable);
    fixture.world.write_file(&fixture.minted_sandboxes()[0], FILE, "restored after all");
    fixture.advance_with_alarms(2 * HOUR);
    fixture.assert_no_minted_sandbox_runs();
    fixture.assert_nothing_pending();
}

#[test]
fn failed_restore_keeps_the_backup() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::SandboxUnavailable);
    assert_eq!(fixture.world.backup_ids(), [backup_id(1)]);
}
