//! Refs of snapshots and of workspaces, and the handles in them. The input is JSON.

use sandbox_snapshotter::model::request::ImportRequest;
use sandbox_snapshotter::model::{Code, SigningKey, SnapshotRef, WorkspaceRef, json};
use serde_json::{Value, json};

use super::rules::{by_javascript, kept, legible, shallow};
use super::words;

/// How deep a handle is in the deepest answer that has refs: a page of a list, of one object to another.
const AROUND_HANDLE: usize = 8;

/// See the module.
pub fn read(data: &[u8]) {
    let Some(value) = words::json(data) else { return };
    handle(&value);
    snapshot(&value);
    match WorkspaceRef::decode(&value) {
        Ok(workspace) => assert_eq!(json::to_value(&workspace), Ok(value)),
        Err(error) => legible(&error),
    }
}

/// A handle is taken in only if it comes back whole.
fn handle(value: &Value) {
    match ImportRequest::decode(&json!({ "sandboxId": "agent-42", "backup": value })) {
        Ok(ImportRequest { backup, .. }) => {
            assert_eq!(json::to_value(&backup).as_ref(), Ok(value));
            assert_eq!(&by_javascript(value), value, "a handle does not come back whole");
            shallow(value, AROUND_HANDLE);
            kept(&backup);
        }
        Err(error) => legible(&error),
    }
}

fn snapshot(value: &Value) {
    let snapshot = match SnapshotRef::decode(value) {
        Ok(snapshot) => snapshot,
        Err(error) => return legible(&error),
    };
    let written = json::to_value(&snapshot).expect("it is written");
    assert_eq!(written["ref"], value["ref"], "there is one way to write a ref");
    kept(&snapshot);
    if !snapshot.backup().is_javascript_safe() {
        return;
    }
    let (key, other) = (SigningKey::new(1, [7; 32]), SigningKey::new(2, [7; 32]));
    let signed = SnapshotRef::sign(
        snapshot.snapshot_id().clone(),
        snapshot.origin_id().clone(),
        snapshot.root_id().clone(),
        snapshot.backup().clone(),
        snapshot.created_at(),
        &key,
    );
    // Only what is signed as a whole is taken for signed, and it comes back from a caller in JavaScript as it was.
    assert_eq!(snapshot.is_signed_by(std::slice::from_ref(&key)), snapshot == signed);
    assert!(signed.is_signed_by(&[other.clone(), key.clone()]) && !signed.is_signed_by(&[other]));
    let back = by_javascript(&json::to_value(&signed).expect("it is written"));
    assert!(
        SnapshotRef::decode(&back).is_ok_and(|back| back.is_signed_by(std::slice::from_ref(&key))),
        "a ref does not come back whole"
    );
    let mut forged = back;
    forged["ref"]["rootId"] = format!("not-{}", signed.root_id()).chars().take(60).collect::<String>().into();
    assert!(!SnapshotRef::decode(&forged).is_ok_and(|forged| forged.is_signed_by(&[key])), "a forged ref is taken");
    let mut foreign = written;
    foreign["providerId"] = "another".into();
    assert_eq!(SnapshotRef::decode(&foreign).map_err(|error| error.code()), Err(Code::ForeignRef));
}
