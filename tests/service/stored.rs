//! A snapshot is reported as made only when the whole of it is in R2; a failed one leaves nothing there.

use sandbox_snapshotter::model::{BackupMetadata, Code, Error, Failure, SnapshotId, Timestamp};
use serde_json::json;

use super::support::{Checked, Method, Stage, World, backup_id};

/// Takes a snapshot whose backup is changed in R2 right after it was stored.
fn spoilt(spoil: impl Fn(&World) + 'static) -> (Stage, Error) {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).happens(spoil);
    let error = stage.snapshot().expect_err("it is spoilt");
    (stage, error)
}

/// Makes sure that a backup that is spoilt so is told, and deleted.
fn assert_incomplete(spoil: impl Fn(&World) + 'static) {
    let (stage, error) = spoilt(spoil);
    assert_eq!(error.code(), Code::BackupIncomplete, "{error}");
    stage.assert_nothing_stored();
    assert!(error.message().contains(&format!("{} was deleted", backup_id(1))), "{error}");
}

/// Makes sure that a backup that is spoilt so is told, and left alone.
fn assert_left_alone(spoil: impl Fn(&World) + 'static) -> Error {
    let (stage, error) = spoilt(spoil);
    assert_eq!(error.code(), Code::BackupIncomplete, "{error}");
    assert_eq!(stage.world.count(Method::Delete), 0);
    assert!(error.message().contains(&format!("{} was left alone", backup_id(1))), "{error}");
    error
}

fn assert_metadata_incomplete(change: impl Fn(&mut BackupMetadata) + 'static) {
    assert_incomplete(move |world| world.spoil_metadata(&change));
}

#[test]
fn a_backup_without_its_archive_is_incomplete() {
    assert_incomplete(|world| world.spoil(|backup| backup.archive = None));
}

#[test]
fn a_backup_without_its_metadata_is_incomplete_and_nobodys_to_delete() {
    assert_left_alone(|world| world.spoil(|backup| backup.metadata = None));
}

#[test]
fn a_backup_in_another_bucket_is_incomplete_and_the_binding_is_suspected() {
    let error = assert_left_alone(World::empty_bucket);
    assert!(error.remediation().contains("Bind the same bucket"), "{}", error.remediation());
}

#[test]
fn an_archive_that_is_shorter_than_recorded_is_incomplete() {
    assert_incomplete(|world| world.spoil_archive(|archive| archive.truncate(archive.len() - 1)));
}

#[test]
fn an_archive_that_is_longer_than_recorded_is_incomplete() {
    assert_incomplete(|world| world.spoil_archive(|archive| archive.push(0)));
}

#[test]
fn a_backup_of_another_directory_is_not_what_was_asked_for() {
    assert_metadata_incomplete(|metadata| metadata.dir = "/home".into());
}

#[test]
fn a_backup_that_goes_back_into_another_directory_is_not_what_was_asked_for() {
    let stage = Stage::with_sandbox();
    stage.world.adds_to_handles(json!({ "dir": "/home" }));
    stage.snapshot().fails_as(Code::BackupIncomplete);
    stage.assert_nothing_stored();
}

#[test]
fn a_backup_with_the_mark_of_another_snapshot_is_not_what_was_asked_for_and_left_alone() {
    assert_left_alone(|world| world.spoil_metadata(|metadata| metadata.name = Some(mark_of_another())));
}

#[test]
fn a_backup_without_a_mark_is_not_what_was_asked_for_and_left_alone() {
    for name in [None, Some("nightly".to_owned())] {
        assert_left_alone(move |world| world.spoil_metadata(|metadata| metadata.name.clone_from(&name)));
    }
}

#[test]
fn a_damaged_backup_of_another_snapshot_is_left_alone() {
    assert_left_alone(|world| {
        world.spoil_metadata(|metadata| metadata.name = Some(mark_of_another()));
        world.spoil(|backup| backup.archive = None);
    });
}

#[test]
fn a_backup_that_another_snapshot_took_over_meanwhile_is_left_alone() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    stage.world.before(Method::Metadata).nth(2).happens(|world| {
        world.spoil_metadata(|metadata| metadata.name = Some(mark_of_another()));
    });
    stage.snapshot().fails_as(Code::SandboxReplaced);
    assert_eq!(stage.world.stored(), [backup_id(1)]);
}

fn mark_of_another() -> String {
    format!("snapshotter/1 {} agent-42", SnapshotId::draw(&[7; 32]).unwrap())
}

#[test]
fn the_time_in_the_ref_is_the_one_in_r2() {
    let stage = Stage::with_sandbox();
    let time = Timestamp::from_millis(1_700_000_000_123);
    stage.world.after(Method::CreateBackup).happens(move |world| {
        world.spoil_metadata(|metadata| metadata.created_at = time);
    });
    assert_eq!(stage.snapshot().unwrap().created_at(), time);
}

#[test]
fn r2_may_fail_in_passing_while_a_backup_is_looked_up() {
    for method in [Method::Metadata, Method::Archive] {
        let stage = Stage::with_sandbox();
        stage.world.before(method).first(2).fails_in_passing();
        stage.snapshot().unwrap();
        assert_eq!(stage.world.count(method), 3, "{method:?}");
    }
}

#[test]
fn a_backup_that_r2_does_not_confirm_is_deleted() {
    for method in [Method::Metadata, Method::Archive] {
        let stage = Stage::with_sandbox();
        stage.world.before(method).first(3).fails_in_passing();
        let error = stage.snapshot().fails_as(Code::StorageUnavailable);
        assert!(error.cause().is_some(), "what R2 said is kept");
        stage.assert_nothing_stored();
    }
}

#[test]
fn a_backup_whose_mark_r2_does_not_tell_is_not_deleted_and_named_in_the_error() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::Metadata).fails_in_passing();
    let error = stage.snapshot().fails_as(Code::StorageUnavailable);
    assert!(error.message().contains(&format!("{} could not be deleted", backup_id(1))), "{error}");
    assert_eq!(stage.world.count(Method::Delete), 0);
}

#[test]
fn whose_backup_it_is_is_looked_up_again_when_r2_fails_in_passing() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    (2..=3).for_each(|nth| stage.world.before(Method::Metadata).nth(nth).fails_in_passing());
    stage.snapshot().fails_as(Code::SandboxReplaced);
    stage.assert_nothing_stored();
}

#[test]
fn metadata_that_cannot_be_read_is_a_damage_that_does_not_pass() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::Metadata).fails_with(Failure::unexpected("R2", "meta.json: no JSON"));
    let error = stage.snapshot().fails_as(Code::BackupIncomplete);
    assert!(!error.retryable());
    assert!(stage.world.waits().is_empty(), "neither the look nor the deletion is tried again");
}

#[test]
fn deleting_is_tried_again_when_r2_fails_in_passing() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    stage.world.before(Method::Delete).first(2).fails_in_passing();
    stage.snapshot().fails_as(Code::SandboxReplaced);
    stage.assert_nothing_stored();
}

#[test]
fn a_backup_that_cannot_be_deleted_is_named_in_the_error() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    stage.world.before(Method::Delete).fails_in_passing();
    let error = stage.snapshot().fails_as(Code::SandboxReplaced);
    assert!(error.message().contains(&format!("{} could not be deleted", backup_id(1))), "{error}");
}

#[test]
fn only_the_failed_snapshots_own_backup_is_deleted() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    stage.snapshot().fails_as(Code::SandboxReplaced);
    assert_eq!(stage.world.stored(), [snapshot.backup().id().to_string()]);
}

#[test]
fn nothing_is_deleted_after_success() {
    let stage = Stage::with_sandbox();
    stage.snapshot().unwrap();
    assert_eq!(stage.world.count(Method::Delete), 0);
}
