//! `restore` makes a new sandbox with the files of the snapshot, makes no calls to other sandboxes, and leaves no
//! sandbox behind when it fails.

mod arrival;
mod backups;
mod branch;
mod failures;

use std::collections::BTreeSet;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::record::{DerivedState, ParentLink};
use sandbox_snapshotter::model::{Code, DerivationKind, Directory, SnapshotRef, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{ExpectError, FILE, Fixture, HOUR, Method, backup_id, by_id, by_label, by_ref, sandbox};

/// Takes a snapshot of the directory `dir` of `agent-42`.
fn snapshot_of(fixture: &Fixture, dir: &str) -> SnapshotRef {
    fixture.world.write_file("agent-42", &format!("{dir}/file"), "deep");
    let dir = Some(Directory::parse(dir).unwrap());
    let snapshot = fixture.snapshot_with(SnapshotRequest { dir, ..SnapshotRequest::of(sandbox("agent-42")) }).unwrap();
    fixture.world.reset_calls();
    snapshot
}

#[test]
fn restore_makes_parent_directory_when_archive_is_unpacked() {
    let fixture = Fixture::with_sandbox();
    let snapshot = snapshot_of(&fixture, "/workspace/a/b");
    let id = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
    assert_eq!(fixture.world.files(&id).unwrap()["/workspace/a/b/file"], "deep");
    let first: Vec<_> =
        fixture.world.calls_about(&id).into_iter().filter(|method| *method != Method::Claim).take(3).collect();
    assert_eq!(
        first,
        [Method::SetName, Method::UpdateMarker, Method::MakeDirectory],
        "the name is set first, the directory is made before the restore"
    );
}

#[test]
fn restore_makes_no_parent_directory_when_it_exists_or_archive_is_mounted() {
    for (local_bucket, dir) in [(true, "/workspace"), (true, "/workspace/a"), (false, "/workspace/a/b")] {
        let fixture = Fixture::with_local_bucket(local_bucket);
        fixture.start_sandbox("agent-42");
        let snapshot = snapshot_of(&fixture, dir);
        fixture.restore(&snapshot).unwrap();
        assert_eq!(fixture.world.call_count(Method::MakeDirectory), 0, "{local_bucket} {dir}");
    }
}

#[test]
fn making_parent_directory_is_retried_after_transient_failure() {
    let fixture = Fixture::with_sandbox();
    let snapshot = snapshot_of(&fixture, "/workspace/a/b");
    fixture.world.before(Method::MakeDirectory).nth(1).fail_transiently();
    fixture.restore(&snapshot).unwrap();
}

#[test]
fn restored_sandbox_has_files_of_the_snapshot() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let before = fixture.world.files("agent-42");
    fixture.world.write_file("agent-42", FILE, "broken since");
    let restored = fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.files(restored.sandbox_id().as_str()), before);
}

#[test]
fn restore_heads_backup_before_it_claims_names_restores_and_inspects() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let minted = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
    let backup = backup_id(1);
    assert_eq!(
        fixture.world.calls(),
        [
            (Method::GetMetadata, backup.clone()),
            (Method::HeadArchive, backup),
            (Method::Claim, minted.clone()),
            (Method::SetName, minted.clone()),
            (Method::UpdateMarker, minted.clone()),
            (Method::RestoreBackup, minted.clone()),
            (Method::CompleteRestore, minted),
        ]
    );
}

#[test]
fn new_sandbox_records_its_parent_before_any_call_to_its_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let gate = fixture.world.before(Method::SetName).block();
    let restoring = fixture.begin(Operation::Restore, &by_ref(&snapshot));
    assert!(gate.is_reached());
    let minted = fixture.minted_sandbox();
    let record = fixture.ledger(&minted).sandbox().unwrap().unwrap();
    assert_eq!(record.root_id.as_str(), "agent-42");
    assert_eq!(
        record.parent,
        Some(ParentLink {
            origin_id: sandbox("agent-42"),
            snapshot_id: snapshot.snapshot_id().clone(),
            kind: DerivationKind::Restored,
            needs_snapshot: true,
        })
    );
    let derivation = fixture.ledger("agent-42").derived_sandbox(&sandbox(&minted)).unwrap().unwrap();
    assert!(matches!(derivation.state, DerivedState::Pending(_)), "{derivation:?}");
    gate.open();
    restoring.answer().unwrap();
}

#[test]
fn id_used_by_another_sandbox_is_not_taken() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.start_sandbox("agent-42-restored-aaaaaaaa");
    fixture.snapshot_labelled("agent-42-restored-aaaaaaaa", "an application's own");
    let before = fixture.world.files("agent-42-restored-aaaaaaaa");
    fixture.world.queue_random(Some([0; 32]));
    let restored = fixture.restore(&snapshot).unwrap();
    assert_ne!(restored.sandbox_id().as_str(), "agent-42-restored-aaaaaaaa");
    assert_eq!(fixture.world.files("agent-42-restored-aaaaaaaa"), before);
    assert!(fixture.ledger("agent-42").unfinished_sandboxes().unwrap().is_empty());
}

#[test]
fn minted_id_is_not_minted_again() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let ids = [(); 2].map(|()| {
        fixture.world.queue_random(Some([0; 32]));
        fixture.restore(&snapshot).unwrap().sandbox_id().clone()
    });
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn restore_fails_when_every_drawn_id_is_taken() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.queue_random(Some([0; 32]));
    fixture.restore(&snapshot).unwrap();
    fixture.world.reset_calls();
    (0..4).for_each(|_| fixture.world.queue_random(Some([0; 32])));
    fixture.restore(&snapshot).expect_code(Code::Internal);
    assert_eq!(fixture.world.call_count(Method::SetName), 0);
}

#[test]
fn id_with_failed_claim_is_not_used() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::Claim).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::LedgerUnavailable);
    assert_eq!((fixture.world.call_count(Method::Claim), fixture.world.call_count(Method::SetName)), (3, 0));
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn restore_succeeds_when_answer_of_claim_is_lost() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::Claim).nth(1).fail_transiently();
    fixture.restore(&snapshot).unwrap();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn restore_accepts_id_and_label() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    for selection in [by_id(&snapshot), by_label("before")] {
        let restored = fixture.run(Operation::Restore, &selection).unwrap();
        assert_eq!(
            fixture.world.files(restored["ref"]["sandboxId"].as_str().unwrap()),
            fixture.world.files("agent-42")
        );
    }
}

#[test]
fn deleted_snapshot_is_not_restored() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    fixture.world.reset_calls();
    let error = fixture.restore(&snapshot).expect_code(Code::SnapshotNotFound);
    assert!(error.message().contains("deleted by a caller"), "{error}");
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn snapshot_deleted_during_head_is_not_restored() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let gate = fixture.world.after(Method::HeadArchive).nth(1).block();
    let restoring = fixture.begin(Operation::Restore, &by_ref(&snapshot));
    assert!(gate.is_reached());
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    gate.open();
    restoring.answer().expect_code(Code::SnapshotNotFound);
    assert_eq!(fixture.world.call_count(Method::SetName), 0);
}

#[test]
fn snapshot_being_created_is_not_restored() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("soon"));
    fixture.run(Operation::Restore, &by_label("soon")).expect_code(Code::SnapshotBusy);
    gate.open();
    capture.answer().unwrap();
    fixture.run(Operation::Restore, &by_label("soon")).unwrap();
}

#[test]
fn restore_assigns_name_to_new_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let minted = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
    assert_eq!(fixture.world.assigned_name(&minted), Some(minted));
}

#[test]
fn restore_makes_no_calls_to_origin_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.write_file("agent-42", FILE, "newer");
    let before = fixture.world.files("agent-42");
    fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.calls_about("agent-42"), []);
    assert_eq!(fixture.world.files("agent-42"), before);
}

#[test]
fn snapshot_can_be_restored_after_origin_container_ended() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.end_container("agent-42");
    fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.files("agent-42"), None);
}

#[test]
fn restore_returns_ref_of_new_workspace() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap();
    assert_eq!(
        serde_json::to_value(&restored).unwrap(),
        json!({
            "providerId": "cloudflare-sandbox",
            "ref": { "sandboxId": fixture.minted_sandbox(), "rootId": "agent-42" },
            "capabilities": { "fs": true, "shell": true, "code": true, "snapshot": true },
            "schemaVersion": 1,
        })
    );
}

#[test]
fn restored_id_is_origin_id_with_restored_and_short_id() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.restore(&snapshot).unwrap();
    let minted = fixture.minted_sandbox();
    let short = minted.strip_prefix("agent-42-restored-").expect(&minted);
    assert!(short.len() == 8 && short.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{minted}");
}

#[test]
fn every_restore_makes_another_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let ids: BTreeSet<_> = (0..50).map(|_| fixture.restore(&snapshot).unwrap().sandbox_id().clone()).collect();
    assert_eq!(ids.len(), 50);
}

#[test]
fn sdk_gets_complete_backup_handle() {
    let fixture = Fixture::with_sandbox();
    fixture.world.extend_handles(json!({ "format": "other/1", "sizes": [1, 2.5, { "deep": [null, "ä"] }] }));
    let snapshot = serde_json::to_value(fixture.snapshot().unwrap()).unwrap();
    fixture.restore(&SnapshotRef::decode(&snapshot).unwrap()).unwrap();
    assert_eq!(fixture.world.restored_handles(), [snapshot["ref"]["backup"].clone()]);
}

#[test]
fn snapshot_of_restored_sandbox_has_same_root() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let first = fixture.restore(&snapshot).unwrap().sandbox_id().clone();
    fixture.world.write_file(first.as_str(), FILE, "second");
    let again = fixture.snapshot_with(SnapshotRequest::of(first.clone())).unwrap();
    assert_eq!((again.origin_id(), again.root_id().as_str()), (&first, "agent-42"));

    let second = fixture.restore(&again).unwrap();
    assert!(second.sandbox_id().as_str().starts_with(&format!("{first}-restored-")), "{}", second.sandbox_id());
    assert_eq!(second.root_id().as_str(), "agent-42");
    assert_eq!(fixture.world.files(second.sandbox_id().as_str()), fixture.world.files(first.as_str()));
}

#[test]
fn sandbox_with_longest_id_can_be_restored_repeatedly() {
    let fixture = Fixture::empty();
    let mut id = sandbox(&"x".repeat(63));
    for round in 0..4 {
        fixture.world.write_file(id.as_str(), FILE, "first");
        fixture.world.advance_clock(60_000);
        let snapshot = fixture.snapshot_with(SnapshotRequest::of(id)).unwrap();
        id = fixture.restore(&snapshot).unwrap().sandbox_id().clone();
        assert!(fixture.world.files(id.as_str()).is_some(), "round {round}");
    }
}

#[test]
fn restore_without_randomness_makes_no_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.queue_random(None);
    fixture.restore(&snapshot).expect_code(Code::Internal);
    assert_eq!(fixture.world.call_count(Method::SetName), 0);
}
