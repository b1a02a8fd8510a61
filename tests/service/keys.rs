//! The keys that sign refs can be changed: the one before is still accepted.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::record::WorkspaceRecord;
use sandbox_snapshotter::model::{Code, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::support::{Checked, Stage, by_id, by_ref};

fn rotate(stage: &Stage) -> Value {
    stage.run(Operation::RotateKey, &json!({ "sandboxId": "agent-42" })).unwrap()
}

#[test]
fn a_workspace_makes_its_key_by_itself_and_keeps_it() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.restart();
    stage.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(json!(stage.snapshot().unwrap())["ref"]["signature"].as_str().unwrap().split('.').next(), Some("1"));
}

#[test]
fn each_workspace_has_a_key_of_its_own() {
    let stage = Stage::with_sandbox();
    stage.runs("agent-7");
    let keys = ["agent-42", "agent-7"].map(|id| {
        stage.captures(id, "before");
        stage.ledger(id).workspace().unwrap().unwrap().keys
    });
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn a_rotation_tells_the_numbers_of_the_keys_and_no_secret() {
    let (stage, _) = Stage::with_snapshot();
    assert_eq!(rotate(&stage), json!({ "key": 2, "previous": 1 }));
    assert_eq!(rotate(&stage), json!({ "key": 3, "previous": 2 }));
}

#[test]
fn the_first_key_may_come_of_a_rotation() {
    let stage = Stage::with_sandbox();
    assert_eq!(rotate(&stage), json!({ "key": 1 }));
    let snapshot = stage.snapshot().unwrap();
    stage.restore(&snapshot).unwrap();
}

#[test]
fn refs_of_the_key_before_are_accepted_and_older_ones_are_not() {
    let (stage, snapshot) = Stage::with_snapshot();
    rotate(&stage);
    stage.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    rotate(&stage);
    let error = stage.run(Operation::Get, &by_ref(&snapshot)).fails_as(Code::RefMismatch);
    assert!(error.message().contains("rotated out"), "{error}");
    assert!(error.remediation().contains("get()"), "{}", error.remediation());
}

#[test]
fn get_answers_a_ref_that_is_signed_anew() {
    let (stage, snapshot) = Stage::with_snapshot();
    rotate(&stage);
    rotate(&stage);
    let anew = SnapshotRef::decode(&stage.run(Operation::Get, &by_id(&snapshot)).unwrap()["ref"]).unwrap();
    assert_ne!(anew, snapshot);
    stage.restore(&anew).unwrap();
}

#[test]
fn a_snapshot_that_was_rotated_out_is_still_deleted_only_by_who_names_it() {
    let (stage, snapshot) = Stage::with_snapshot();
    (0..2).for_each(|_| drop(rotate(&stage)));
    stage.run(Operation::Delete, &by_ref(&snapshot)).fails_as(Code::RefMismatch);
    stage.run(Operation::Delete, &by_id(&snapshot)).unwrap();
}

#[test]
fn without_randomness_the_key_stays() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.draws_next(None);
    stage.run(Operation::RotateKey, &json!({ "sandboxId": "agent-42" })).fails_as(Code::Internal);
    assert_eq!(rotate(&stage), json!({ "key": 2, "previous": 1 }));
    stage.run(Operation::Get, &by_ref(&snapshot)).unwrap();
}

#[test]
fn a_workspace_of_an_earlier_version_gets_its_seal_and_keeps_it() {
    let (stage, _) = Stage::with_snapshot();
    let ledger = stage.ledger("agent-42");
    let before = ledger.workspace().unwrap().unwrap();
    ledger.put_workspace(&WorkspaceRecord { seal: None, ..before.clone() }).unwrap();
    let snapshot = stage.snapshot().unwrap();
    let after = ledger.workspace().unwrap().unwrap();
    assert_eq!(after.keys, before.keys);
    assert!(after.seal.is_some_and(|seal| snapshot.snapshot_id().is_minted_with(&seal)));
}
