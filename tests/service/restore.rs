//! A restore makes a new sandbox with the files of the snapshot, touches no other, and leaves none behind when it fails.

use std::collections::BTreeSet;

use sandbox_snapshotter::model::{Code, Failure, SnapshotRef, SnapshotRequest};
use serde_json::json;

use super::support::{Checked, FILE, Method, Stage, World, backup_id, sandbox};

/// Restores after something was changed in R2: it must be refused before any sandbox is touched.
fn refused_when(code: Code, change: impl FnOnce(&World)) {
    let (stage, snapshot) = Stage::with_snapshot();
    change(&stage.world);
    stage.restore(&snapshot).fails_as(code);
    let of_bucket = |method: &Method| matches!(method, Method::Metadata | Method::ArchiveSize | Method::Sleep);
    let calls = stage.world.calls();
    assert!(calls.iter().all(|(method, _)| of_bucket(method)), "touched: {calls:?}");
}

#[test]
fn the_new_sandbox_has_the_files_of_the_snapshot() {
    let (stage, snapshot) = Stage::with_snapshot();
    let before = stage.world.files("agent-42");
    stage.world.writes("agent-42", FILE, "broken since");
    let restored = stage.restore(&snapshot).unwrap();
    assert_eq!(stage.world.files(restored.sandbox_id().as_str()), before);
}

#[test]
fn the_backup_is_looked_up_before_the_new_sandbox_is_named_restored_and_looked_into() {
    let (stage, snapshot) = Stage::with_snapshot();
    let minted = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    let backup = backup_id(1);
    assert_eq!(
        stage.world.calls(),
        [
            (Method::Metadata, backup.clone()),
            (Method::ArchiveSize, backup),
            (Method::Name, minted.clone()),
            (Method::RestoreBackup, minted.clone()),
            (Method::Probe, minted),
        ]
    );
}

#[test]
fn the_new_sandbox_is_told_its_name() {
    let (stage, snapshot) = Stage::with_snapshot();
    let minted = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    assert_eq!(stage.world.told_name(&minted), Some(minted));
}

#[test]
fn the_sandbox_that_the_snapshot_is_of_is_left_alone() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.writes("agent-42", FILE, "newer");
    let before = stage.world.files("agent-42");
    stage.restore(&snapshot).unwrap();
    assert_eq!(stage.world.calls_about("agent-42"), []);
    assert_eq!(stage.world.files("agent-42"), before);
}

#[test]
fn a_snapshot_outlives_the_sandbox_that_it_is_of() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.stops("agent-42");
    stage.restore(&snapshot).unwrap();
    assert_eq!(stage.world.files("agent-42"), None);
}

#[test]
fn the_answer_is_the_ref_of_the_new_workspace() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap();
    assert_eq!(
        serde_json::to_value(&restored).unwrap(),
        json!({
            "providerId": "cloudflare-sandbox",
            "ref": { "sandboxId": stage.minted(), "rootId": "agent-42" },
            "capabilities": { "fs": true, "shell": true, "code": true, "snapshot": true },
            "schemaVersion": 1,
        })
    );
}

#[test]
fn the_new_id_is_the_origins_with_restored_and_a_short_id() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.restore(&snapshot).unwrap();
    let minted = stage.minted();
    let short = minted.strip_prefix("agent-42-restored-").expect(&minted);
    assert!(short.len() == 8 && short.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{minted}");
}

#[test]
fn every_restore_makes_another_sandbox() {
    let (stage, snapshot) = Stage::with_snapshot();
    let ids: BTreeSet<_> = (0..50).map(|_| stage.restore(&snapshot).unwrap().sandbox_id().clone()).collect();
    assert_eq!(ids.len(), 50);
}

#[test]
fn the_sdk_gets_its_handle_back_whole() {
    let stage = Stage::with_sandbox();
    stage.world.adds_to_handles(json!({ "format": "tar+zstd/1", "sizes": [1, 2.5, { "deep": [null, "ä"] }] }));
    let snapshot = serde_json::to_value(stage.snapshot().unwrap()).unwrap();
    stage.restore(&SnapshotRef::decode(&snapshot).unwrap()).unwrap();
    assert_eq!(stage.world.handles_given(), [snapshot["ref"]["backup"].clone()]);
}

#[test]
fn a_snapshot_of_a_restored_sandbox_restores_in_the_same_lineage() {
    let (stage, snapshot) = Stage::with_snapshot();
    let first = stage.restore(&snapshot).unwrap().sandbox_id().clone();
    stage.world.writes(first.as_str(), FILE, "second");
    let again = stage.snapshot_as_asked(SnapshotRequest::of(first.clone())).unwrap();
    assert_eq!((again.origin_id(), again.root_id().as_str()), (&first, "agent-42"));

    let second = stage.restore(&again).unwrap();
    assert!(second.sandbox_id().as_str().starts_with(&format!("{first}-restored-")), "{}", second.sandbox_id());
    assert_eq!(second.root_id().as_str(), "agent-42");
    assert_eq!(stage.world.files(second.sandbox_id().as_str()), stage.world.files(first.as_str()));
}

#[test]
fn a_sandbox_with_the_longest_id_can_be_restored_again_and_again() {
    let stage = Stage::empty();
    let mut id = sandbox(&"x".repeat(63));
    for round in 0..4 {
        stage.world.writes(id.as_str(), FILE, "first");
        stage.world.pass(60_000);
        let snapshot = stage.snapshot_as_asked(SnapshotRequest::of(id)).unwrap();
        id = stage.restore(&snapshot).unwrap().sandbox_id().clone();
        assert!(stage.world.files(id.as_str()).is_some(), "round {round}");
    }
}

#[test]
fn a_backup_that_is_gone_is_refused_before_anything_is_made() {
    refused_when(Code::BackupNotFound, World::empty_bucket);
}

#[test]
fn a_backup_whose_time_is_over_is_refused_before_anything_is_made() {
    let stage = Stage::with_sandbox();
    let request = SnapshotRequest { ttl: Some(3600), ..SnapshotRequest::of(sandbox("agent-42")) };
    let snapshot = stage.snapshot_as_asked(request).unwrap();
    stage.world.forget_calls();
    stage.world.pass(3_540_001);
    stage.restore(&snapshot).fails_as(Code::BackupExpired);
    assert!(stage.world.running().iter().eq(["agent-42"]));
    assert_eq!(stage.world.calls().len(), 2, "only R2 was asked");
}

#[test]
fn a_backup_whose_time_is_not_over_yet_is_restored() {
    let stage = Stage::with_sandbox();
    let request = SnapshotRequest { ttl: Some(3600), ..SnapshotRequest::of(sandbox("agent-42")) };
    let snapshot = stage.snapshot_as_asked(request).unwrap();
    stage.world.pass(3_500_000);
    stage.restore(&snapshot).unwrap();
}

#[test]
fn a_damaged_backup_is_refused_before_anything_is_made() {
    refused_when(Code::BackupIncomplete, |world| world.spoil(|backup| backup.archive_size = None));
    refused_when(Code::BackupIncomplete, |world| world.spoil(|backup| backup.metadata = None));
    refused_when(Code::BackupIncomplete, |world| world.spoil(|backup| backup.archive_size = Some(1)));
    refused_when(Code::BackupIncomplete, |world| {
        world.spoil_metadata(|metadata| metadata.id = "another".to_owned().try_into().unwrap());
    });
}

#[test]
fn a_backup_of_the_application_is_refused_before_anything_is_made() {
    refused_when(Code::RefMismatch, |world| world.spoil_metadata(|metadata| metadata.name = None));
    refused_when(Code::RefMismatch, |world| world.spoil_metadata(|metadata| metadata.name = Some("nightly".into())));
}

#[test]
fn a_failure_of_r2_is_never_told_as_a_missing_backup() {
    for method in [Method::Metadata, Method::ArchiveSize] {
        refused_when(Code::StorageUnavailable, |world| world.before(method).fails_in_passing());
    }
}

#[test]
fn metadata_that_cannot_be_read_is_refused_before_anything_is_made_and_not_read_again() {
    refused_when(Code::BackupIncomplete, |world| {
        world.before(Method::Metadata).nth(1).fails_with(Failure::unexpected("R2", "meta.json: no JSON"));
    });
}

#[test]
fn r2_may_fail_in_passing_while_the_backup_is_looked_up() {
    for method in [Method::Metadata, Method::ArchiveSize] {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.world.before(method).first(2).fails_in_passing();
        stage.restore(&snapshot).unwrap();
    }
}

#[test]
fn without_randomness_no_sandbox_is_made() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.draws_next(None);
    stage.restore(&snapshot).fails_as(Code::Internal);
    assert_eq!(stage.world.count(Method::Name), 0);
}

#[test]
fn a_backup_that_goes_away_meanwhile_leaves_no_sandbox() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).happens(World::empty_bucket);
    stage.restore(&snapshot).fails_as(Code::BackupNotFound);
    assert_eq!(stage.world.calls_about(&stage.minted()), [Method::Name, Method::RestoreBackup, Method::Destroy]);
}

#[test]
fn a_failed_restore_says_that_the_new_sandbox_was_destroyed() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::RestoreBackup).fails_with(Failure::new("InvalidBackupConfigError", "no"));
    let error = stage.restore(&snapshot).fails_as(Code::BackupConfigInvalid);
    assert!(error.message().contains(&format!("{:?} was destroyed", stage.minted())), "{error}");
    stage.assert_no_minted_sandbox_runs();
}

#[test]
fn a_sandbox_that_cannot_be_destroyed_is_named_in_the_error() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::RestoreBackup).fails_with(Failure::new("InvalidBackupConfigError", "no"));
    stage.world.before(Method::Destroy).fails_in_passing();
    let error = stage.restore(&snapshot).fails_as(Code::BackupConfigInvalid);
    let told = format!("{:?} could not be destroyed and may still be running", stage.minted());
    assert!(error.message().contains(&told), "{error}");
}

#[test]
fn the_backup_stays_when_a_restore_fails() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::SandboxUnavailable);
    assert_eq!(stage.world.stored(), [backup_id(1)]);
}
