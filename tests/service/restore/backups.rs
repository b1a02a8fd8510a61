//! A restore is refused before any sandbox is made where the backup can't be restored.

use sandbox_snapshotter::model::{Code, Failure, SnapshotRef};

use crate::support::{ExpectError, Fixture, Method, World};

/// Applies `change` to R2 and asserts that a restore is refused before any call to a sandbox.
fn assert_refused_when(code: Code, change: impl FnOnce(&World)) {
    let (fixture, snapshot) = Fixture::with_snapshot();
    change(&fixture.world);
    fixture.restore(&snapshot).expect_code(code);
    let of_bucket = |method: &Method| matches!(method, Method::GetMetadata | Method::HeadArchive | Method::Sleep);
    let calls = fixture.world.calls();
    assert!(calls.iter().all(|(method, _)| of_bucket(method)), "touched: {calls:?}");
}

/// Returns a snapshot whose backup expires after one hour. The call log starts empty.
fn with_backup_for_an_hour() -> (Fixture, SnapshotRef) {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).run(|world| world.edit_metadata(|metadata| metadata.ttl = 3600.0));
    let snapshot = fixture.snapshot().unwrap();
    fixture.world.reset_calls();
    (fixture, snapshot)
}

#[test]
fn missing_backup_is_refused_before_any_sandbox_is_made() {
    assert_refused_when(Code::BackupNotFound, World::clear_bucket);
}

#[test]
fn expired_backup_is_refused_before_any_sandbox_is_made() {
    let (fixture, snapshot) = with_backup_for_an_hour();
    fixture.world.advance_clock(3_540_001);
    fixture.restore(&snapshot).expect_code(Code::BackupExpired);
    assert!(fixture.world.running_sandboxes().iter().eq(["agent-42"]));
    assert_eq!(fixture.world.calls().len(), 2, "only R2 was asked");
}

#[test]
fn backup_is_restored_shortly_before_it_expires() {
    let (fixture, snapshot) = with_backup_for_an_hour();
    fixture.world.advance_clock(3_500_000);
    fixture.restore(&snapshot).unwrap();
}

#[test]
fn damaged_backup_is_refused_before_any_sandbox_is_made() {
    assert_refused_when(Code::BackupIncomplete, |world| world.edit_backups(|backup| backup.archive = None));
    assert_refused_when(Code::BackupIncomplete, |world| world.edit_backups(|backup| backup.metadata = None));
    assert_refused_when(Code::BackupIncomplete, |world| world.edit_archives(|archive| archive.truncate(1)));
    assert_refused_when(Code::BackupIncomplete, |world| {
        world.edit_metadata(|metadata| metadata.id = "another".to_owned().try_into().unwrap());
    });
}

#[test]
fn foreign_backup_in_place_of_stored_one_is_refused() {
    for name in [None, Some("nightly".to_owned())] {
        assert_refused_when(Code::BackupIncomplete, |world| {
            world.edit_metadata(|metadata| metadata.name.clone_from(&name));
        });
    }
}

#[test]
fn backup_that_differs_from_the_ledger_is_refused() {
    assert_refused_when(Code::BackupIncomplete, |world| world.edit_archives(|archive| archive[100] ^= 1));
    assert_refused_when(Code::BackupIncomplete, |world| world.edit_backups(|backup| backup.resize(5000)));
    assert_refused_when(Code::BackupIncomplete, |world| {
        world.edit_metadata(|metadata| metadata.created_at = metadata.created_at.plus_millis(1));
    });
}

#[test]
fn r2_failure_is_not_reported_as_missing_backup() {
    for method in [Method::GetMetadata, Method::HeadArchive] {
        assert_refused_when(Code::StorageUnavailable, |world| world.before(method).fail_transiently());
    }
}

#[test]
fn unreadable_metadata_is_refused_without_retry() {
    assert_refused_when(Code::BackupIncomplete, |world| {
        world.before(Method::GetMetadata).nth(1).fail_with(Failure::protocol("R2", "meta.json: no JSON"));
    });
}

#[test]
fn head_of_backup_is_retried_after_transient_r2_failure() {
    for method in [Method::GetMetadata, Method::HeadArchive] {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.world.before(method).first(2).fail_transiently();
        fixture.restore(&snapshot).unwrap();
    }
}
