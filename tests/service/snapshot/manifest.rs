//! `manifest`: every recorded fact about one snapshot.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::SnapshotRef;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, Method, by_label, by_ref};

fn manifest(fixture: &Fixture, snapshot: &SnapshotRef) -> Value {
    fixture.run(Operation::Manifest, &by_ref(snapshot)).unwrap()
}

#[test]
fn manifest_contains_requested_options() {
    let fixture = Fixture::with_sandbox();
    let taken = fixture
        .run(
            Operation::Snapshot,
            &json!({
                "sandboxId": "agent-42", "label": "before", "excludes": ["*.log"], "gitignore": true,
                "compression": { "format": "zstd" }, "expirationSeconds": 3600,
            }),
        )
        .unwrap();
    let manifest = fixture.run(Operation::Manifest, &by_label("before")).unwrap();
    for (field, value) in [
        ("schemaVersion", json!(1)),
        ("snapshotId", taken["ref"]["snapshotId"].clone()),
        ("originId", json!("agent-42")),
        ("rootId", json!("agent-42")),
        ("label", json!("before")),
        ("state", json!("ready")),
        ("excludes", json!(["*.log"])),
        ("gitignore", json!(true)),
        ("compression", json!({ "format": "zstd" })),
        ("expirationSeconds", json!(3600)),
        ("captureBeganAt", taken["capture"]["beganAt"].clone()),
        ("imported", json!(false)),
        ("derived", json!([])),
    ] {
        assert_eq!(manifest[field], value, "{field}");
    }
    for absent in ["parent", "ended"] {
        assert_eq!(manifest.get(absent), None, "{absent}");
    }
}

#[test]
fn manifest_contains_objects_in_r2() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let manifest = manifest(&fixture, &snapshot);
    let backup = snapshot.backup().id();
    assert_eq!(
        manifest["objects"],
        json!([format!("backups/{backup}/data.sqsh"), format!("backups/{backup}/meta.json")])
    );
    assert_eq!(manifest["usableUntil"], json!(fixture.world.metadata_of(backup.as_str()).usable_until()));
    assert!(manifest["checksum"].as_str().unwrap().starts_with("md5:"), "{manifest}");
    assert_eq!(manifest["ref"], json!(snapshot));
}

#[test]
fn manifest_reads_only_the_ledger() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.clear_bucket();
    manifest(&fixture, &snapshot);
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn manifest_contains_derived_sandboxes() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap();
    let branch = fixture.branch(&snapshot).unwrap();
    let mut derived = manifest(&fixture, &snapshot)["derived"].as_array().unwrap().clone();
    derived.sort_by_key(|row| row["lineage"].to_string());
    assert_eq!(
        json!(derived),
        json!([
            { "sandboxId": branch.sandbox_id(), "lineage": "branch", "beganAt": derived[0]["beganAt"], "needsSnapshot": true },
            { "sandboxId": restored.sandbox_id(), "lineage": "restored", "beganAt": derived[1]["beganAt"], "needsSnapshot": true },
        ])
    );
}

#[test]
fn manifest_contains_parent_of_the_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap().sandbox_id().clone();
    let own = fixture.snapshot_labelled(restored.as_str(), "own");
    let manifest = manifest(&fixture, &own);
    assert_eq!(manifest["parent"], json!({ "originId": "agent-42", "snapshotId": snapshot.snapshot_id() }));
    assert_eq!(manifest["rootId"], "agent-42");
}

#[test]
fn manifest_of_deleted_snapshot_contains_time_and_reason() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let at = fixture.world.current_time();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    let manifest = manifest(&fixture, &snapshot);
    assert_eq!(manifest["state"], "deleted");
    assert_eq!(manifest["removal"], json!({ "at": at, "reason": "deleted by a caller" }));
}

#[test]
fn manifest_of_snapshot_being_created_has_no_objects() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("soon"));
    let manifest = fixture.run(Operation::Manifest, &by_label("soon")).unwrap();
    assert_eq!((&manifest["state"], &manifest["objects"]), (&json!("creating"), &json!([])));
    gate.open();
    capture.answer().unwrap();
}

#[test]
fn manifest_of_unknown_snapshot_is_not_found() {
    let fixture = Fixture::with_sandbox();
    fixture
        .run(Operation::Manifest, &by_label("never"))
        .expect_code(sandbox_snapshotter::model::Code::SnapshotNotFound);
}
