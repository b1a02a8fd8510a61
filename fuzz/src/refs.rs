//! Refs of snapshots and of workspaces, and handles of backups. The input is JSON.

use sandbox_snapshotter::model::request::ImportRequest;
use sandbox_snapshotter::model::{Code, SigningKey, SnapshotRef, WorkspaceRef, is_signed_by, json};
use serde_json::{Value, json};

use super::input;
use super::rules::{assert_depth, assert_json_round_trip, assert_legible, through_javascript};

/// The depth at which a handle is nested in the deepest answer that contains refs: a page of a list, passed between objects.
const AROUND_HANDLE: usize = 8;

/// See the module.
pub fn read(data: &[u8]) {
    let Some(value) = input::json(data) else { return };
    check_handle(&value);
    check_snapshot(&value);
    match WorkspaceRef::decode(&value) {
        Ok(workspace) => assert_eq!(json::to_value(&workspace), Ok(value)),
        Err(error) => assert_legible(&error),
    }
}

/// Asserts that an accepted handle survives JavaScript unchanged.
fn check_handle(value: &Value) {
    match ImportRequest::decode(&json!({ "sandboxId": "agent-42", "backup": value })) {
        Ok(ImportRequest { backup, .. }) => {
            assert_eq!(json::to_value(&backup).as_ref(), Ok(value));
            assert_eq!(&through_javascript(value), value, "the handle changes in JavaScript");
            assert_depth(value, AROUND_HANDLE);
            assert_json_round_trip(&backup);
        }
        Err(error) => assert_legible(&error),
    }
}

fn check_snapshot(value: &Value) {
    let snapshot = match SnapshotRef::decode(value) {
        Ok(snapshot) => snapshot,
        Err(error) => return assert_legible(&error),
    };
    let written = json::to_value(&snapshot).expect("the ref is serialized");
    assert_eq!(written["ref"], value["ref"], "a ref has one form");
    assert_json_round_trip(&snapshot);
    if !snapshot.backup().is_javascript_safe() {
        return;
    }
    let (key, other) = (SigningKey::new(1, [7; 32]), SigningKey::new(2, [7; 32]));
    let signed = SnapshotRef::new(
        snapshot.snapshot_id().clone(),
        snapshot.origin_id().clone(),
        snapshot.root_id().clone(),
        snapshot.backup().clone(),
        snapshot.created_at(),
        |message| key.sign(message),
    );
    // The signature covers the whole ref, and is valid after JavaScript.
    assert_eq!(is_signed_by(&snapshot, std::slice::from_ref(&key)), snapshot == signed);
    assert!(is_signed_by(&signed, &[other.clone(), key.clone()]) && !is_signed_by(&signed, &[other]));
    let returned = through_javascript(&json::to_value(&signed).expect("the ref is serialized"));
    assert!(
        SnapshotRef::decode(&returned).is_ok_and(|returned| is_signed_by(&returned, std::slice::from_ref(&key))),
        "the ref changes in JavaScript"
    );
    let mut forged = returned;
    forged["ref"]["rootId"] = format!("not-{}", signed.root_id()).chars().take(60).collect::<String>().into();
    assert!(
        !SnapshotRef::decode(&forged).is_ok_and(|forged| is_signed_by(&forged, &[key])),
        "a forged ref is accepted"
    );
    let mut foreign = written;
    foreign["providerId"] = "another".into();
    assert_eq!(SnapshotRef::decode(&foreign).map_err(|error| error.code()), Err(Code::ForeignRef));
}
