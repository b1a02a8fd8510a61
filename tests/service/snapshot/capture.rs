//! What a snapshot contains, and the calls that `snapshot` makes to the SDK.

use std::collections::BTreeSet;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::stored_backup::MAX_TTL_SECONDS;
use sandbox_snapshotter::model::{
    BackupOptions, BackupOwner, Code, Compression, CompressionFormat, Directory, Failure, SnapshotRef, SnapshotRequest,
};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{ExpectError, FILE, Fixture, HOUR, Method, build_archive, sandbox};

/// The calls that a snapshot makes to its sandbox.
const EXPECTED_CALLS: [Method; 6] = [
    Method::Status,
    Method::UpdateMarker,
    Method::WatchChanges,
    Method::CreateBackup,
    Method::Probe,
    Method::ChangedSinceWatch,
];

fn json_of(snapshot: &SnapshotRef) -> serde_json::Value {
    serde_json::to_value(snapshot).unwrap()
}

#[test]
fn ref_contains_sandbox_root_backup_and_creation_time() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot().unwrap();
    let [backup] = fixture.world.backup_ids().try_into().unwrap();
    assert_eq!(
        json_of(&snapshot),
        json!({
            "providerId": "cloudflare-sandbox",
            "ref": {
                "schemaVersion": 1,
                "snapshotId": snapshot.snapshot_id(),
                "originId": "agent-42",
                "rootId": "agent-42",
                "backup": { "id": backup, "dir": "/workspace", "localBucket": true },
                "createdAt": fixture.world.metadata_of(&backup).created_at,
                "signature": json_of(&snapshot)["ref"]["signature"],
            }
        })
    );
}

#[test]
fn answer_contains_capture_details_beside_the_ref() {
    let fixture = Fixture::with_sandbox();
    let arguments = json!({ "sandboxId": "agent-42", "label": "before" });
    let taken = fixture.run(Operation::Snapshot, &arguments).unwrap();
    let size = fixture.world.metadata_of(&fixture.world.backup_ids()[0]).size_bytes;
    let row = fixture.ledger("agent-42").snapshot_by_label(&"before".to_owned().try_into().unwrap()).unwrap().unwrap();
    assert_eq!(
        taken["capture"],
        json!({
            "label": "before", "sizeBytes": size, "beganAt": row.began_at, "shared": false, "changedDuringCapture": false, "form": "full",
            "storedBytes": size, "totalBytes": size,
        })
    );
}

#[test]
fn snapshot_answer_is_accepted_as_ref() {
    let fixture = Fixture::with_sandbox();
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert!(taken.get("capture").is_some());
    fixture.run(Operation::Get, &json!({ "ref": taken })).unwrap();
}

#[test]
fn ledger_records_snapshot_before_createbackup() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    let rows = fixture.ledger("agent-42").unfinished_snapshots().unwrap();
    assert_eq!(rows.len(), 1);
    gate.open();
    let taken = capture.answer().unwrap();
    assert_eq!(json!(rows[0].snapshot_id), taken["ref"]["snapshotId"]);
    assert!(fixture.ledger("agent-42").unfinished_snapshots().unwrap().is_empty());
}

#[test]
fn capture_that_failed_permanently_leaves_no_row() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.snapshot().expect_code(Code::BackupFailed);
    assert!(fixture.ledger("agent-42").snapshot_page(None, None, 10).unwrap().is_empty());
}

#[test]
fn interrupted_capture_is_reconciled_until_nothing_is_stored_or_pending() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).fail_transiently();
    fixture.snapshot().expect_code(Code::BackupInterrupted);
    assert_eq!(fixture.ledger("agent-42").unfinished_snapshots().unwrap().len(), 1);
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn refused_snapshot_writes_nothing_to_the_ledger() {
    let fixture = Fixture::empty();
    fixture.snapshot().expect_code(Code::SandboxNotRunning);
    assert_eq!(fixture.ledger("agent-42").sandbox().unwrap(), None);
    assert_eq!(fixture.alarm_at("agent-42"), None);
}

#[test]
fn backup_contains_only_files_of_the_directory() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/tmp/other.txt", "not captured");
    let files = [(FILE.to_owned(), "first".to_owned())].into();
    let backup = fixture.snapshot().unwrap().backup().id().to_string();
    assert_eq!(fixture.world.metadata_of(&backup).size_bytes, build_archive(&files).len() as u64);
}

#[test]
fn backup_carries_mark_of_its_snapshot() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot().unwrap();
    let name = fixture.world.metadata_of(snapshot.backup().id().as_str()).name.unwrap();
    assert_eq!(name, format!("snapshotter/1 {} agent-42", snapshot.snapshot_id()));
}

#[test]
fn snapshot_checks_status_before_backup_and_probes_after_it() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot().unwrap();
    assert_eq!(fixture.world.calls_about("agent-42"), EXPECTED_CALLS);
}

#[test]
fn snapshot_leaves_files_of_the_sandbox_unchanged() {
    let fixture = Fixture::with_sandbox();
    let before = fixture.world.files("agent-42");
    fixture.snapshot().unwrap();
    assert_eq!(fixture.world.files("agent-42"), before);
}

#[test]
fn empty_directory_can_be_captured() {
    let fixture = Fixture::with_sandbox();
    let request =
        SnapshotRequest { dir: Some(Directory::parse("/home").unwrap()), ..SnapshotRequest::of(sandbox("agent-42")) };
    fixture.snapshot_with(request).unwrap();
}

#[test]
fn default_request_uses_default_directory_and_longest_ttl() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot().unwrap();
    let mark = BackupOwner { snapshot_id: snapshot.snapshot_id().clone(), origin_id: sandbox("agent-42") };
    let expected = BackupOptions {
        dir: Directory::parse("/workspace").unwrap(),
        name: mark.to_string(),
        ttl: MAX_TTL_SECONDS,
        gitignore: None,
        excludes: Vec::new(),
        compression: None,
        local_bucket: true,
        expected_last_change: None,
    };
    assert_eq!(fixture.world.backup_options(), [expected]);
}

#[test]
fn every_option_is_passed_to_the_sdk_unchanged() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/workspace/app/main.rs", "fn main() {}");
    let compression =
        Compression { format: Some(CompressionFormat::Lz4), threads: Some(std::num::NonZeroU32::new(3).unwrap()) };
    let snapshot = fixture
        .snapshot_with(SnapshotRequest {
            dir: Some(Directory::parse("/workspace/app").unwrap()),
            expiration_seconds: Some(3600),
            excludes: vec!["node_modules".into(), "*.log".into()],
            gitignore: Some(false),
            compression: Some(compression),
            ..SnapshotRequest::of(sandbox("agent-42"))
        })
        .unwrap();
    let options = serde_json::to_value(&fixture.world.backup_options()[0]).unwrap();
    assert_eq!(
        options,
        json!({
            "dir": "/workspace/app",
            "name": format!("snapshotter/1 {} agent-42", snapshot.snapshot_id()),
            "ttl": MAX_TTL_SECONDS,
            "gitignore": false,
            "excludes": ["node_modules", "*.log"],
            "compression": { "format": "lz4", "threads": 3 },
            "localBucket": true,
        })
    );
}

#[test]
fn deployment_decides_local_bucket_option() {
    for local_bucket in [true, false] {
        let fixture = Fixture::with_local_bucket(local_bucket);
        fixture.world.write_file("agent-42", FILE, "first");
        fixture.world.advance_clock(60_000);
        fixture.snapshot().unwrap();
        assert_eq!(fixture.world.backup_options()[0].local_bucket, local_bucket);
    }
}

#[test]
fn backup_handle_is_kept_complete() {
    let fixture = Fixture::with_sandbox();
    fixture.world.extend_handles(json!({ "format": "other/1", "sha256": "ab", "parts": [{ "n": 1.5 }, null] }));
    let snapshot = fixture.snapshot().unwrap();
    assert_eq!(
        json_of(&snapshot)["ref"]["backup"],
        json!({
            "id": snapshot.backup().id(),
            "dir": "/workspace",
            "localBucket": true,
            "format": "other/1",
            "sha256": "ab",
            "parts": [{ "n": 1.5 }, null],
        })
    );
}

#[test]
fn sandbox_id_is_used_exactly_as_given() {
    let fixture = Fixture::empty();
    fixture.world.write_file("Agent É 42", FILE, "first");
    fixture.world.advance_clock(60_000);
    let snapshot = fixture.snapshot_with(SnapshotRequest::of(sandbox("Agent É 42"))).unwrap();
    assert_eq!(snapshot.origin_id().as_str(), "Agent É 42");
    assert_eq!(fixture.world.calls_about("Agent É 42"), EXPECTED_CALLS, "no other sandbox gets a call");
}

#[test]
fn every_snapshot_has_a_unique_id() {
    let fixture = Fixture::with_sandbox();
    let ids: BTreeSet<_> = (0..50).map(|_| fixture.snapshot().unwrap().snapshot_id().clone()).collect();
    assert_eq!(ids.len(), 50);
}

#[test]
fn unusable_random_bytes_are_drawn_again() {
    let (fixture, _) = Fixture::with_snapshot();
    (0..3).for_each(|_| fixture.world.queue_random(Some([255; 32])));
    fixture.snapshot().unwrap();
}

#[test]
fn snapshot_without_randomness_makes_no_backup() {
    let always_the_same = [Some([255; 32]); 4];
    for draws in [always_the_same, [None; 4]] {
        let (fixture, _) = Fixture::with_snapshot();
        for draw in draws {
            fixture.world.queue_random(draw);
        }
        fixture.snapshot().expect_code(Code::Internal);
        assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
    }
}

#[test]
fn backup_that_cannot_be_deleted_now_is_deleted_by_alarm() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    fixture.world.before(Method::Delete).fail_transiently();
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
}

#[test]
fn row_is_deleted_with_its_rolled_back_backup() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.ledger("agent-42").unfinished_snapshots().unwrap(), []);
}
