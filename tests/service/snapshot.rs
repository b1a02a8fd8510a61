//! What a snapshot is of, and what the SDK is asked for.

use std::collections::BTreeSet;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::backup::MAX_TTL;
use sandbox_snapshotter::model::{
    BackupOptions, Code, Compression, CompressionFormat, Directory, Failure, Mark, SnapshotRef, SnapshotRequest,
};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::support::{Checked, FILE, HOUR, Method, Stage, archive_of, sandbox};

/// What a sandbox is asked for.
const CALLS: [Method; 4] = [Method::State, Method::Stamp, Method::CreateBackup, Method::Probe];

fn json_of(snapshot: &SnapshotRef) -> serde_json::Value {
    serde_json::to_value(snapshot).unwrap()
}

#[test]
fn a_ref_tells_the_sandbox_its_root_the_backup_and_when_it_was_stored() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.snapshot().unwrap();
    let [backup] = stage.world.stored().try_into().unwrap();
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
                "createdAt": stage.world.metadata_of(&backup).created_at,
                "signature": json_of(&snapshot)["ref"]["signature"],
            }
        })
    );
}

#[test]
fn beside_the_ref_a_caller_is_told_how_it_was_captured() {
    let stage = Stage::with_sandbox();
    let arguments = json!({ "sandboxId": "agent-42", "label": "before" });
    let taken = stage.run(Operation::Snapshot, &arguments).unwrap();
    let size = stage.world.metadata_of(&stage.world.stored()[0]).size_bytes;
    let row = stage.ledger("agent-42").labelled(&"before".to_owned().try_into().unwrap()).unwrap().unwrap();
    assert_eq!(
        taken["capture"],
        json!({ "label": "before", "sizeBytes": size, "beganAt": row.began_at, "shared": false })
    );
}

#[test]
fn an_answer_of_snapshot_is_a_ref_as_it_is() {
    let stage = Stage::with_sandbox();
    let taken = stage.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert!(taken.get("capture").is_some());
    stage.run(Operation::Get, &json!({ "ref": taken })).unwrap();
}

#[test]
fn the_snapshot_is_kept_before_the_sandbox_is_asked_for_a_backup() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).held();
    let capture = stage.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    let rows = stage.ledger("agent-42").unfinished().unwrap();
    assert_eq!(rows.len(), 1);
    gate.open();
    let taken = capture.answer().unwrap();
    assert_eq!(json!(rows[0].snapshot_id), taken["ref"]["snapshotId"]);
    assert!(stage.ledger("agent-42").unfinished().unwrap().is_empty());
}

#[test]
fn a_capture_that_failed_for_certain_leaves_nothing_in_the_ledger() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).fails_with(Failure::new("BackupCreateError", "no room"));
    stage.snapshot().fails_as(Code::BackupFailed);
    assert!(stage.ledger("agent-42").page(None, None, 10).unwrap().is_empty());
}

#[test]
fn a_capture_that_was_interrupted_is_followed_up_until_nothing_can_come_of_it() {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).fails_in_passing();
    stage.snapshot().fails_as(Code::BackupInterrupted);
    assert_eq!(stage.ledger("agent-42").unfinished().unwrap().len(), 1);
    stage.passes(3 * HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_sandbox_that_was_refused_leaves_no_trace_in_the_ledger() {
    let stage = Stage::empty();
    stage.snapshot().fails_as(Code::SandboxNotRunning);
    assert_eq!(stage.ledger("agent-42").workspace().unwrap(), None);
    assert_eq!(stage.alarm_due("agent-42"), None);
}

#[test]
fn the_backup_holds_the_files_of_the_directory_and_no_others() {
    let stage = Stage::with_sandbox();
    stage.world.writes("agent-42", "/tmp/other.txt", "not captured");
    let files = [(FILE.to_owned(), "first".to_owned())].into();
    let backup = stage.snapshot().unwrap().backup().id().to_string();
    assert_eq!(stage.world.metadata_of(&backup).size_bytes, archive_of(&files).len() as u64);
}

#[test]
fn the_backup_carries_the_mark_of_its_snapshot() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.snapshot().unwrap();
    let name = stage.world.metadata_of(snapshot.backup().id().as_str()).name.unwrap();
    assert_eq!(name, format!("snapshotter/1 {} agent-42", snapshot.snapshot_id()));
}

#[test]
fn the_sandbox_is_looked_at_before_its_backup_and_looked_into_after_it() {
    let stage = Stage::with_sandbox();
    stage.snapshot().unwrap();
    assert_eq!(stage.world.calls_about("agent-42"), CALLS);
}

#[test]
fn the_sandbox_keeps_its_files() {
    let stage = Stage::with_sandbox();
    let before = stage.world.files("agent-42");
    stage.snapshot().unwrap();
    assert_eq!(stage.world.files("agent-42"), before);
}

#[test]
fn an_empty_directory_can_be_captured() {
    let stage = Stage::with_sandbox();
    let request =
        SnapshotRequest { dir: Some(Directory::parse("/home").unwrap()), ..SnapshotRequest::of(sandbox("agent-42")) };
    stage.snapshot_as_asked(request).unwrap();
}

#[test]
fn without_options_the_sdk_is_asked_for_the_default_directory_and_the_longest_time() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.snapshot().unwrap();
    let mark = Mark { snapshot_id: snapshot.snapshot_id().clone(), origin_id: sandbox("agent-42") };
    let expected = BackupOptions {
        dir: Directory::parse("/workspace").unwrap(),
        name: mark.to_string(),
        ttl: MAX_TTL,
        gitignore: None,
        excludes: Vec::new(),
        compression: None,
        local_bucket: true,
    };
    assert_eq!(stage.world.options_asked(), [expected]);
}

#[test]
fn every_option_reaches_the_sdk_as_it_was_given() {
    let stage = Stage::with_sandbox();
    stage.world.writes("agent-42", "/workspace/app/main.rs", "fn main() {}");
    let compression =
        Compression { format: Some(CompressionFormat::Lz4), threads: Some(std::num::NonZeroU32::new(3).unwrap()) };
    let snapshot = stage
        .snapshot_as_asked(SnapshotRequest {
            dir: Some(Directory::parse("/workspace/app").unwrap()),
            expiration_seconds: Some(3600),
            excludes: vec!["node_modules".into(), "*.log".into()],
            gitignore: Some(false),
            compression: Some(compression),
            ..SnapshotRequest::of(sandbox("agent-42"))
        })
        .unwrap();
    let asked = serde_json::to_value(&stage.world.options_asked()[0]).unwrap();
    assert_eq!(
        asked,
        json!({
            "dir": "/workspace/app",
            "name": format!("snapshotter/1 {} agent-42", snapshot.snapshot_id()),
            "ttl": MAX_TTL,
            "gitignore": false,
            "excludes": ["node_modules", "*.log"],
            "compression": { "format": "lz4", "threads": 3 },
            "localBucket": true,
        })
    );
}

#[test]
fn the_deployment_decides_which_way_archives_go() {
    for local_bucket in [true, false] {
        let stage = Stage::configured(local_bucket);
        stage.world.writes("agent-42", FILE, "first");
        stage.world.pass(60_000);
        stage.snapshot().unwrap();
        assert_eq!(stage.world.options_asked()[0].local_bucket, local_bucket);
    }
}

#[test]
fn the_handle_of_the_backup_is_kept_whole() {
    let stage = Stage::with_sandbox();
    stage.world.adds_to_handles(json!({ "format": "tar+zstd/1", "sha256": "ab", "parts": [{ "n": 1.5 }, null] }));
    let snapshot = stage.snapshot().unwrap();
    assert_eq!(
        json_of(&snapshot)["ref"]["backup"],
        json!({
            "id": snapshot.backup().id(),
            "dir": "/workspace",
            "localBucket": true,
            "format": "tar+zstd/1",
            "sha256": "ab",
            "parts": [{ "n": 1.5 }, null],
        })
    );
}

#[test]
fn an_id_is_used_exactly_as_the_application_spells_it() {
    let stage = Stage::empty();
    stage.world.writes("Agent É 42", FILE, "first");
    stage.world.pass(60_000);
    let snapshot = stage.snapshot_as_asked(SnapshotRequest::of(sandbox("Agent É 42"))).unwrap();
    assert_eq!(snapshot.origin_id().as_str(), "Agent É 42");
    assert_eq!(stage.world.calls_about("Agent É 42"), CALLS, "no other sandbox is meant");
}

#[test]
fn every_snapshot_has_an_id_of_its_own() {
    let stage = Stage::with_sandbox();
    let ids: BTreeSet<_> = (0..50).map(|_| stage.snapshot().unwrap().snapshot_id().clone()).collect();
    assert_eq!(ids.len(), 50);
}

#[test]
fn random_bytes_that_cannot_be_used_are_drawn_again() {
    let (stage, _) = Stage::with_snapshot();
    (0..3).for_each(|_| stage.world.draws_next(Some([255; 32])));
    stage.snapshot().unwrap();
}

#[test]
fn without_randomness_nothing_is_stored() {
    let always_the_same = [Some([255; 32]); 4];
    for draws in [always_the_same, [None; 4]] {
        let (stage, _) = Stage::with_snapshot();
        for draw in draws {
            stage.world.draws_next(draw);
        }
        stage.snapshot().fails_as(Code::Internal);
        assert_eq!(stage.world.count(Method::CreateBackup), 0);
    }
}

#[test]
fn a_backup_that_cannot_be_taken_back_now_is_taken_back_later() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    stage.world.before(Method::Delete).fails_in_passing();
    stage.snapshot().fails_as(Code::SandboxReplaced);
    assert_eq!(stage.world.stored().len(), 1);
    stage.world.goes_well();
    stage.passes(HOUR);
    stage.assert_nothing_stored();
}

#[test]
fn a_capture_whose_backup_was_taken_back_is_forgotten_with_it() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    stage.snapshot().fails_as(Code::SandboxReplaced);
    assert_eq!(stage.ledger("agent-42").unfinished().unwrap(), []);
}
