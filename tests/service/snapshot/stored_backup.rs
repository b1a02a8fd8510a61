//! A snapshot succeeds only when its complete backup is in R2; a failed snapshot leaves nothing there.

use sandbox_snapshotter::model::{BackupMetadata, Code, Error, Failure, SnapshotId, Timestamp};
use serde_json::json;

use crate::support::{ExpectError, Fixture, Method, World, backup_id};

/// Takes a snapshot whose backup is damaged in R2 right after it was stored, and returns the error.
fn damage_backup(damage: impl Fn(&World) + 'static) -> (Fixture, Error) {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).run(damage);
    let error = fixture.snapshot().expect_err("the backup is damaged");
    (fixture, error)
}

/// Asserts that the damaged backup is reported as incomplete and deleted.
fn assert_incomplete(damage: impl Fn(&World) + 'static) {
    let (fixture, error) = damage_backup(damage);
    assert_eq!(error.code(), Code::BackupIncomplete, "{error}");
    fixture.assert_nothing_stored();
    assert!(error.message().contains(&format!("{} was deleted", backup_id(1))), "{error}");
}

/// Asserts that the damaged backup is reported as incomplete and not deleted.
fn assert_not_deleted(damage: impl Fn(&World) + 'static) -> Error {
    let (fixture, error) = damage_backup(damage);
    assert_eq!(error.code(), Code::BackupIncomplete, "{error}");
    assert_eq!(fixture.world.call_count(Method::Delete), 0);
    assert!(error.message().contains(&format!("{} was not deleted", backup_id(1))), "{error}");
    error
}

fn assert_metadata_incomplete(change: impl Fn(&mut BackupMetadata) + 'static) {
    assert_incomplete(move |world| world.edit_metadata(&change));
}

#[test]
fn backup_without_archive_is_incomplete() {
    assert_incomplete(|world| world.edit_backups(|backup| backup.archive = None));
}

#[test]
fn backup_without_metadata_is_incomplete_and_not_deleted() {
    assert_not_deleted(|world| world.edit_backups(|backup| backup.metadata = None));
}

#[test]
fn missing_backup_is_incomplete_and_remediation_names_the_binding() {
    let error = assert_not_deleted(World::clear_bucket);
    assert!(error.remediation().contains("Bind the same bucket"), "{}", error.remediation());
}

#[test]
fn archive_shorter_than_recorded_is_incomplete() {
    assert_incomplete(|world| world.edit_archives(|archive| archive.truncate(archive.len() - 1)));
}

#[test]
fn archive_longer_than_recorded_is_incomplete() {
    assert_incomplete(|world| world.edit_archives(|archive| archive.push(0)));
}

#[test]
fn backup_of_another_directory_is_incomplete() {
    assert_metadata_incomplete(|metadata| metadata.dir = "/home".into());
}

#[test]
fn backup_handle_with_another_directory_is_incomplete() {
    let fixture = Fixture::with_sandbox();
    fixture.world.extend_handles(json!({ "dir": "/home" }));
    fixture.snapshot().expect_code(Code::BackupIncomplete);
    fixture.assert_nothing_stored();
}

#[test]
fn backup_with_mark_of_another_snapshot_is_not_deleted() {
    assert_not_deleted(|world| world.edit_metadata(|metadata| metadata.name = Some(foreign_mark())));
}

#[test]
fn backup_without_mark_is_not_deleted() {
    for name in [None, Some("nightly".to_owned())] {
        assert_not_deleted(move |world| world.edit_metadata(|metadata| metadata.name.clone_from(&name)));
    }
}

#[test]
fn damaged_backup_of_another_snapshot_is_not_deleted() {
    assert_not_deleted(|world| {
        world.edit_metadata(|metadata| metadata.name = Some(foreign_mark()));
        world.edit_backups(|backup| backup.archive = None);
    });
}

#[test]
fn backup_taken_over_by_another_snapshot_is_not_deleted() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    fixture.world.before(Method::GetMetadata).nth(2).run(|world| {
        world.edit_metadata(|metadata| metadata.name = Some(foreign_mark()));
    });
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.backup_ids(), [backup_id(1)]);
}

fn foreign_mark() -> String {
    format!("snapshotter/1 {} agent-42", SnapshotId::draw(&[7; 32]).unwrap())
}

#[test]
fn creation_time_in_ref_is_the_one_in_r2() {
    let fixture = Fixture::with_sandbox();
    let time = Timestamp::from_millis(1_700_000_000_123);
    fixture.world.after(Method::CreateBackup).run(move |world| {
        world.edit_metadata(|metadata| metadata.created_at = time);
    });
    assert_eq!(fixture.snapshot().unwrap().created_at(), time);
}

#[test]
fn confirmation_of_backup_is_retried_after_transient_r2_failure() {
    for method in [Method::GetMetadata, Method::HeadArchive] {
        let fixture = Fixture::with_sandbox();
        fixture.world.before(method).first(2).fail_transiently();
        fixture.snapshot().unwrap();
        assert_eq!(fixture.world.call_count(method), 3, "{method:?}");
    }
}

#[test]
fn backup_that_r2_does_not_confirm_is_deleted() {
    for method in [Method::GetMetadata, Method::HeadArchive] {
        let fixture = Fixture::with_sandbox();
        fixture.world.before(method).first(3).fail_transiently();
        let error = fixture.snapshot().expect_code(Code::StorageUnavailable);
        assert!(error.cause().is_some(), "what R2 said is kept");
        fixture.assert_nothing_stored();
    }
}

#[test]
fn backup_whose_mark_is_unknown_is_not_deleted_and_named_in_error() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::GetMetadata).fail_transiently();
    let error = fixture.snapshot().expect_code(Code::StorageUnavailable);
    assert!(error.message().contains(&format!("{} could not be deleted", backup_id(1))), "{error}");
    assert_eq!(fixture.world.call_count(Method::Delete), 0);
}

#[test]
fn read_of_mark_is_retried_after_transient_r2_failure() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    (2..=3).for_each(|nth| fixture.world.before(Method::GetMetadata).nth(nth).fail_transiently());
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.assert_nothing_stored();
}

#[test]
fn unreadable_metadata_is_permanent_damage() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::GetMetadata).fail_with(Failure::protocol("R2", "meta.json: no JSON"));
    let error = fixture.snapshot().expect_code(Code::BackupIncomplete);
    assert!(!error.is_retryable());
    assert!(fixture.world.sleeps().is_empty(), "neither the read nor the deletion is retried");
}

#[test]
fn delete_of_backup_is_retried_after_transient_r2_failure() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    fixture.world.before(Method::Delete).first(2).fail_transiently();
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.assert_nothing_stored();
}

#[test]
fn error_names_backup_that_cannot_be_deleted() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    fixture.world.before(Method::Delete).fail_transiently();
    let error = fixture.snapshot().expect_code(Code::SandboxReplaced);
    assert!(error.message().contains(&format!("{} could not be deleted", backup_id(1))), "{error}");
}

#[test]
fn only_own_backup_of_failed_snapshot_is_deleted() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.backup_ids(), [snapshot.backup().id().to_string()]);
}

#[test]
fn successful_snapshot_deletes_nothing() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot().unwrap();
    assert_eq!(fixture.world.call_count(Method::Delete), 0);
}
