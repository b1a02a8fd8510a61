//! A restore makes a new sandbox with the files of the snapshot, touches no other, and leaves none behind when it fails.

use std::collections::BTreeSet;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::record::{DerivationState, Parent};
use sandbox_snapshotter::model::{Code, Directory, Failure, Lineage, SnapshotRef, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::support::{Checked, FILE, HOUR, Method, Stage, World, backup_id, by_id, by_label, by_ref, sandbox};

/// Restores after something was changed in R2: it must be refused before any sandbox is touched.
fn refused_when(code: Code, change: impl FnOnce(&World)) {
    let (stage, snapshot) = Stage::with_snapshot();
    change(&stage.world);
    stage.restore(&snapshot).fails_as(code);
    let of_bucket = |method: &Method| matches!(method, Method::Metadata | Method::Archive | Method::Sleep);
    let calls = stage.world.calls();
    assert!(calls.iter().all(|(method, _)| of_bucket(method)), "touched: {calls:?}");
}

/// A snapshot was taken whose backup the SDK restores for an hour; calls are counted from here.
fn with_backup_for_an_hour() -> (Stage, SnapshotRef) {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).happens(|world| world.spoil_metadata(|metadata| metadata.ttl = 3600.0));
    let snapshot = stage.snapshot().unwrap();
    stage.world.forget_calls();
    (stage, snapshot)
}

/// A snapshot of a directory of `agent-42`.
fn snapshot_of(stage: &Stage, dir: &str) -> SnapshotRef {
    stage.world.writes("agent-42", &format!("{dir}/file"), "deep");
    let dir = Some(Directory::parse(dir).unwrap());
    let snapshot =
        stage.snapshot_as_asked(SnapshotRequest { dir, ..SnapshotRequest::of(sandbox("agent-42")) }).unwrap();
    stage.world.forget_calls();
    snapshot
}

#[test]
fn the_parent_of_the_directory_is_made_where_the_archive_is_unpacked() {
    let stage = Stage::with_sandbox();
    let snapshot = snapshot_of(&stage, "/workspace/a/b");
    let id = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    assert_eq!(stage.world.files(&id).unwrap()["/workspace/a/b/file"], "deep");
    let first: Vec<_> =
        stage.world.calls_about(&id).into_iter().filter(|method| *method != Method::Claim).take(3).collect();
    assert_eq!(
        first,
        [Method::Name, Method::Stamp, Method::MakeDirectory],
        "before the restore, and told its name before"
    );
}

#[test]
fn no_parent_is_made_where_it_is_there_or_the_archive_is_mounted() {
    for (local_bucket, dir) in [(true, "/workspace"), (true, "/workspace/a"), (false, "/workspace/a/b")] {
        let stage = Stage::configured(local_bucket);
        stage.runs("agent-42");
        let snapshot = snapshot_of(&stage, dir);
        stage.restore(&snapshot).unwrap();
        assert_eq!(stage.world.count(Method::MakeDirectory), 0, "{local_bucket} {dir}");
    }
}

#[test]
fn a_parent_that_cannot_be_made_in_passing_is_made_again() {
    let stage = Stage::with_sandbox();
    let snapshot = snapshot_of(&stage, "/workspace/a/b");
    stage.world.before(Method::MakeDirectory).nth(1).fails_in_passing();
    stage.restore(&snapshot).unwrap();
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
fn the_backup_is_looked_up_before_the_new_id_is_claimed_and_the_sandbox_named_restored_and_looked_into() {
    let (stage, snapshot) = Stage::with_snapshot();
    let minted = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    let backup = backup_id(1);
    assert_eq!(
        stage.world.calls(),
        [
            (Method::Metadata, backup.clone()),
            (Method::Archive, backup),
            (Method::Claim, minted.clone()),
            (Method::Name, minted.clone()),
            (Method::Stamp, minted.clone()),
            (Method::RestoreBackup, minted.clone()),
            (Method::Arrive, minted),
        ]
    );
}

#[test]
fn the_new_workspace_knows_where_it_comes_from_before_its_sandbox_is_touched() {
    let (stage, snapshot) = Stage::with_snapshot();
    let gate = stage.world.before(Method::Name).held();
    let restoring = stage.begin(Operation::Restore, &by_ref(&snapshot));
    assert!(gate.is_reached());
    let minted = stage.minted();
    let workspace = stage.ledger(&minted).workspace().unwrap().unwrap();
    assert_eq!(workspace.root_id.as_str(), "agent-42");
    assert_eq!(
        workspace.parent,
        Some(Parent {
            origin_id: sandbox("agent-42"),
            snapshot_id: snapshot.snapshot_id().clone(),
            lineage: Lineage::Restored,
            needed: true,
        })
    );
    let derivation = stage.ledger("agent-42").derivation(&sandbox(&minted)).unwrap().unwrap();
    assert!(matches!(derivation.state, DerivationState::Pending(_)), "{derivation:?}");
    gate.open();
    restoring.answer().unwrap();
}

#[test]
fn an_id_that_is_somebodys_already_is_not_taken() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.runs("agent-42-restored-aaaaaaaa");
    stage.captures("agent-42-restored-aaaaaaaa", "an application's own");
    let before = stage.world.files("agent-42-restored-aaaaaaaa");
    stage.world.draws_next(Some([0; 32]));
    let restored = stage.restore(&snapshot).unwrap();
    assert_ne!(restored.sandbox_id().as_str(), "agent-42-restored-aaaaaaaa");
    assert_eq!(stage.world.files("agent-42-restored-aaaaaaaa"), before);
    assert!(stage.ledger("agent-42").unsettled().unwrap().is_empty());
}

#[test]
fn an_id_that_was_minted_before_is_not_minted_again() {
    let (stage, snapshot) = Stage::with_snapshot();
    let ids = [(); 2].map(|()| {
        stage.world.draws_next(Some([0; 32]));
        stage.restore(&snapshot).unwrap().sandbox_id().clone()
    });
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn where_every_id_is_somebodys_no_sandbox_is_made() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.draws_next(Some([0; 32]));
    stage.restore(&snapshot).unwrap();
    stage.world.forget_calls();
    (0..4).for_each(|_| stage.world.draws_next(Some([0; 32])));
    stage.restore(&snapshot).fails_as(Code::Internal);
    assert_eq!(stage.world.count(Method::Name), 0);
}

#[test]
fn an_id_whose_claim_fails_is_not_used() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::Claim).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::LedgerUnavailable);
    assert_eq!((stage.world.count(Method::Claim), stage.world.count(Method::Name)), (3, 0));
    stage.passes(HOUR);
    stage.assert_settled();
}

#[test]
fn a_claim_whose_answer_got_lost_does_not_fail_the_restore() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::Claim).nth(1).fails_in_passing();
    stage.restore(&snapshot).unwrap();
    stage.passes(HOUR);
    stage.assert_settled();
}

#[test]
fn a_snapshot_is_restored_by_its_id_and_by_its_label() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.captures("agent-42", "before");
    for selection in [by_id(&snapshot), by_label("before")] {
        let restored = stage.run(Operation::Restore, &selection).unwrap();
        assert_eq!(stage.world.files(restored["ref"]["sandboxId"].as_str().unwrap()), stage.world.files("agent-42"));
    }
}

#[test]
fn a_snapshot_that_was_deleted_is_not_restored() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    stage.world.forget_calls();
    let error = stage.restore(&snapshot).fails_as(Code::SnapshotNotFound);
    assert!(error.message().contains("deleted by a caller"), "{error}");
    assert!(stage.world.calls().is_empty());
}

#[test]
fn a_snapshot_that_is_deleted_while_it_is_looked_up_is_not_restored() {
    let (stage, snapshot) = Stage::with_snapshot();
    let gate = stage.world.after(Method::Archive).nth(1).held();
    let restoring = stage.begin(Operation::Restore, &by_ref(&snapshot));
    assert!(gate.is_reached());
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    gate.open();
    restoring.answer().fails_as(Code::SnapshotNotFound);
    assert_eq!(stage.world.count(Method::Name), 0);
}

#[test]
fn a_snapshot_that_is_being_made_is_not_restored_yet() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("soon"));
    stage.run(Operation::Restore, &by_label("soon")).fails_as(Code::SnapshotBusy);
    gate.open();
    capture.answer().unwrap();
    stage.run(Operation::Restore, &by_label("soon")).unwrap();
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
    let (stage, snapshot) = with_backup_for_an_hour();
    stage.world.pass(3_540_001);
    stage.restore(&snapshot).fails_as(Code::BackupExpired);
    assert!(stage.world.running().iter().eq(["agent-42"]));
    assert_eq!(stage.world.calls().len(), 2, "only R2 was asked");
}

#[test]
fn a_backup_whose_time_is_not_over_yet_is_restored() {
    let (stage, snapshot) = with_backup_for_an_hour();
    stage.world.pass(3_500_000);
    stage.restore(&snapshot).unwrap();
}

#[test]
fn a_damaged_backup_is_refused_before_anything_is_made() {
    refused_when(Code::BackupIncomplete, |world| world.spoil(|backup| backup.archive = None));
    refused_when(Code::BackupIncomplete, |world| world.spoil(|backup| backup.metadata = None));
    refused_when(Code::BackupIncomplete, |world| world.spoil_archive(|archive| archive.truncate(1)));
    refused_when(Code::BackupIncomplete, |world| {
        world.spoil_metadata(|metadata| metadata.id = "another".to_owned().try_into().unwrap());
    });
}

#[test]
fn a_backup_that_the_application_put_in_the_place_of_the_snapshots_is_refused_before_anything_is_made() {
    for name in [None, Some("nightly".to_owned())] {
        refused_when(Code::BackupIncomplete, |world| {
            world.spoil_metadata(|metadata| metadata.name.clone_from(&name));
        });
    }
}

#[test]
fn a_backup_that_is_another_one_than_the_ledger_knows_is_refused_before_anything_is_made() {
    refused_when(Code::BackupIncomplete, |world| world.spoil_archive(|archive| archive[100] ^= 1));
    refused_when(Code::BackupIncomplete, |world| world.spoil(|backup| backup.resize(5000)));
    refused_when(Code::BackupIncomplete, |world| {
        world.spoil_metadata(|metadata| metadata.created_at = metadata.created_at.plus_millis(1));
    });
}

#[test]
fn a_failure_of_r2_is_never_told_as_a_missing_backup() {
    for method in [Method::Metadata, Method::Archive] {
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
    for method in [Method::Metadata, Method::Archive] {
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
    assert_eq!(
        stage.world.calls_about(&stage.minted()),
        [Method::Claim, Method::Name, Method::Stamp, Method::RestoreBackup, Method::Destroy]
    );
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
fn a_sandbox_that_could_not_be_destroyed_is_destroyed_by_an_alarm() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::RestoreBackup).fails_with(Failure::new("InvalidBackupConfigError", "no"));
    stage.world.before(Method::Destroy).first(3).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::BackupConfigInvalid);
    assert!(stage.world.running().contains(&stage.minted()));
    stage.passes(2 * HOUR);
    stage.assert_no_minted_sandbox_runs();
    stage.assert_settled();
}

#[test]
fn a_restore_that_went_on_after_its_sandbox_was_destroyed_is_ended_by_an_alarm() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::SandboxUnavailable);
    stage.world.writes(&stage.all_minted()[0], FILE, "restored after all");
    stage.passes(2 * HOUR);
    stage.assert_no_minted_sandbox_runs();
    stage.assert_settled();
}

#[test]
fn the_backup_stays_when_a_restore_fails() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::SandboxUnavailable);
    assert_eq!(stage.world.stored(), [backup_id(1)]);
}
