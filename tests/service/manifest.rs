//! Everything that is known about one snapshot.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::SnapshotRef;
use serde_json::{Value, json};

use super::support::{Checked, Method, Stage, by_label, by_ref};

fn manifest(stage: &Stage, snapshot: &SnapshotRef) -> Value {
    stage.run(Operation::Manifest, &by_ref(snapshot)).unwrap()
}

#[test]
fn it_tells_what_was_asked_for() {
    let stage = Stage::with_sandbox();
    let taken = stage
        .run(
            Operation::Snapshot,
            &json!({
                "sandboxId": "agent-42", "label": "before", "excludes": ["*.log"], "gitignore": true,
                "compression": { "format": "zstd" }, "expirationSeconds": 3600,
            }),
        )
        .unwrap();
    let manifest = stage.run(Operation::Manifest, &by_label("before")).unwrap();
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
fn it_tells_what_is_in_r2() {
    let (stage, snapshot) = Stage::with_snapshot();
    let manifest = manifest(&stage, &snapshot);
    let backup = snapshot.backup().id();
    assert_eq!(
        manifest["objects"],
        json!([format!("backups/{backup}/data.sqsh"), format!("backups/{backup}/meta.json")])
    );
    assert_eq!(manifest["usableUntil"], json!(stage.world.metadata_of(backup.as_str()).usable_until()));
    assert!(manifest["checksum"].as_str().unwrap().starts_with("md5:"), "{manifest}");
    assert_eq!(manifest["ref"], json!(snapshot));
}

#[test]
fn it_is_written_from_the_ledger_alone() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.empty_bucket();
    manifest(&stage, &snapshot);
    assert!(stage.world.calls().is_empty());
}

#[test]
fn it_tells_what_was_made_from_the_snapshot() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap();
    let branch = stage.branch(&snapshot).unwrap();
    let mut derived = manifest(&stage, &snapshot)["derived"].as_array().unwrap().clone();
    derived.sort_by_key(|row| row["lineage"].to_string());
    assert_eq!(
        json!(derived),
        json!([
            { "sandboxId": branch.sandbox_id(), "lineage": "branch", "beganAt": derived[0]["beganAt"], "holds": true },
            { "sandboxId": restored.sandbox_id(), "lineage": "restored", "beganAt": derived[1]["beganAt"], "holds": true },
        ])
    );
}

#[test]
fn it_tells_where_the_sandbox_itself_came_from() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap().sandbox_id().clone();
    let own = stage.captures(restored.as_str(), "own");
    let manifest = manifest(&stage, &own);
    assert_eq!(manifest["parent"], json!({ "originId": "agent-42", "snapshotId": snapshot.snapshot_id() }));
    assert_eq!(manifest["rootId"], "agent-42");
}

#[test]
fn of_a_deleted_snapshot_it_tells_when_and_why() {
    let (stage, snapshot) = Stage::with_snapshot();
    let at = stage.world.moment();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    let manifest = manifest(&stage, &snapshot);
    assert_eq!(manifest["state"], "deleted");
    assert_eq!(manifest["ended"], json!({ "at": at, "reason": "deleted by a caller" }));
}

#[test]
fn of_a_snapshot_that_is_being_made_it_tells_what_there_is() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("soon"));
    let manifest = stage.run(Operation::Manifest, &by_label("soon")).unwrap();
    assert_eq!((&manifest["state"], &manifest["objects"]), (&json!("making"), &json!([])));
    gate.open();
    capture.answer().unwrap();
}

#[test]
fn there_is_none_of_a_snapshot_that_is_not_there() {
    let stage = Stage::with_sandbox();
    stage.run(Operation::Manifest, &by_label("never")).fails_as(sandbox_snapshotter::model::Code::SnapshotNotFound);
}
