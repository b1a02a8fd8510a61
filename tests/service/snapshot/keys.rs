//! The keys that sign refs can be rotated: the previous key is still accepted.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::record::SandboxRecord;
use sandbox_snapshotter::model::{Code, SnapshotRef, is_minted_with};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, by_id, by_ref};

fn rotate_keys(fixture: &Fixture) -> Value {
    fixture.run(Operation::RotateKey, &json!({ "sandboxId": "agent-42" })).unwrap()
}

#[test]
fn sandbox_generates_its_key_and_keeps_it_after_restart() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.crash_worker();
    fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(json!(fixture.snapshot().unwrap())["ref"]["signature"].as_str().unwrap().split('.').next(), Some("1"));
}

#[test]
fn each_sandbox_has_its_own_key() {
    let fixture = Fixture::with_sandbox();
    fixture.start_sandbox("agent-7");
    let keys = ["agent-42", "agent-7"].map(|id| {
        fixture.snapshot_labelled(id, "before");
        fixture.ledger(id).sandbox().unwrap().unwrap().keys
    });
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn rotation_returns_key_numbers_and_no_secret() {
    let (fixture, _) = Fixture::with_snapshot();
    assert_eq!(rotate_keys(&fixture), json!({ "key": 2, "previous": 1 }));
    assert_eq!(rotate_keys(&fixture), json!({ "key": 3, "previous": 2 }));
}

#[test]
fn rotation_can_create_the_first_key() {
    let fixture = Fixture::with_sandbox();
    assert_eq!(rotate_keys(&fixture), json!({ "key": 1 }));
    let snapshot = fixture.snapshot().unwrap();
    fixture.restore(&snapshot).unwrap();
}

#[test]
fn refs_of_previous_key_are_accepted_and_older_ones_refused() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    rotate_keys(&fixture);
    fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    rotate_keys(&fixture);
    let error = fixture.run(Operation::Get, &by_ref(&snapshot)).expect_code(Code::RefMismatch);
    assert!(error.message().contains("rotated out"), "{error}");
    assert!(error.remediation().contains("`get`"), "{}", error.remediation());
}

#[test]
fn get_returns_ref_signed_with_current_key() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    rotate_keys(&fixture);
    rotate_keys(&fixture);
    let signed_again = SnapshotRef::decode(&fixture.run(Operation::Get, &by_id(&snapshot)).unwrap()["ref"]).unwrap();
    assert_ne!(signed_again, snapshot);
    fixture.restore(&signed_again).unwrap();
}

#[test]
fn snapshot_with_rotated_out_ref_is_deleted_only_by_id() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    (0..2).for_each(|_| drop(rotate_keys(&fixture)));
    fixture.run(Operation::Delete, &by_ref(&snapshot)).expect_code(Code::RefMismatch);
    fixture.run(Operation::Delete, &by_id(&snapshot)).unwrap();
}

#[test]
fn failed_rotation_without_randomness_keeps_the_key() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.queue_random(None);
    fixture.run(Operation::RotateKey, &json!({ "sandboxId": "agent-42" })).expect_code(Code::Internal);
    assert_eq!(rotate_keys(&fixture), json!({ "key": 2, "previous": 1 }));
    fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
}

#[test]
fn sandbox_of_earlier_version_gets_an_id_key_and_keeps_its_keys() {
    let (fixture, _) = Fixture::with_snapshot();
    let ledger = fixture.ledger("agent-42");
    let before = ledger.sandbox().unwrap().unwrap();
    ledger.put_sandbox(&SandboxRecord { id_key: None, ..before.clone() }).unwrap();
    let snapshot = fixture.snapshot().unwrap();
    let after = ledger.sandbox().unwrap().unwrap();
    assert_eq!(after.keys, before.keys);
    assert!(after.id_key.is_some_and(|id_key| is_minted_with(snapshot.snapshot_id(), &id_key)));
}
