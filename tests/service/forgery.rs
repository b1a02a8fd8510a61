//! A ref that was forged or altered is refused before anything is looked at: it is signed by the workspace of its origin.

use proptest::prelude::*;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, SnapshotRef, SnapshotRequest, Timestamp};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::support::{Checked, FILE, Stage, sandbox};

/// The operations that take a ref.
const OPERATIONS: [Operation; 9] = [
    Operation::Restore,
    Operation::Branch,
    Operation::Get,
    Operation::Manifest,
    Operation::Verify,
    Operation::Label,
    Operation::Pin,
    Operation::Unpin,
    Operation::Delete,
];

/// Two snapshots of one sandbox and one of another, as the JSON that applications keep.
fn three_snapshots() -> (Stage, [Value; 3]) {
    let stage = Stage::configured(false);
    stage.world.writes("agent-42", FILE, "first");
    stage.world.writes("agent-7", FILE, "a secret of another lineage");
    let refs = ["agent-42", "agent-42", "agent-7"].map(|id| {
        stage.world.pass(60_000);
        json!(stage.snapshot_as_asked(SnapshotRequest::of(sandbox(id))).unwrap())
    });
    stage.world.forget_calls();
    (stage, refs)
}

/// Restores from a ref that is not as it was made, which must be refused without anything being touched.
fn refused(stage: &Stage, forged: &Value) -> Error {
    let error = stage.run(Operation::Restore, &json!({ "ref": forged })).expect_err(&forged.to_string());
    assert!(stage.world.calls().is_empty(), "touched: {:?}", stage.world.calls());
    error
}

/// The first snapshot's ref with the value at `path` taken from another one, or given.
fn with(path: &str, value: impl Fn(&[Value; 3]) -> Value) -> Code {
    let (stage, refs) = three_snapshots();
    let mut forged = refs[0].clone();
    let place = forged.pointer_mut(path).unwrap();
    let value = value(&refs);
    assert_ne!(*place, value, "nothing would be forged");
    *place = value;
    refused(&stage, &forged).code()
}

#[test]
fn what_is_not_forged_is_restored() {
    let (stage, refs) = three_snapshots();
    for whole in refs {
        stage.run(Operation::Restore, &json!({ "ref": whole })).unwrap();
    }
}

#[test]
fn each_value_of_another_snapshot_is_refused() {
    for field in ["snapshotId", "backup", "createdAt", "signature"] {
        for other in [1, 2] {
            let code = with(&format!("/ref/{field}"), |refs| refs[other]["ref"][field].clone());
            assert_eq!(code, Code::RefMismatch, "{field}");
        }
    }
}

#[test]
fn each_invented_value_is_refused() {
    let invented = [
        ("snapshotId", json!("snap-0123456789abcdef")),
        ("originId", json!("agent-7")),
        ("originId", json!("Agent-42")),
        ("originId", json!("nobody")),
        ("rootId", json!("agent-7")),
        ("backup/id", json!("6b1f0c1e-ffff-4000-8000-000000000001")),
        ("backup/dir", json!("/workspace/app")),
        ("signature", json!("")),
        ("signature", json!("1.")),
        ("signature", json!("1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")),
    ];
    for (field, value) in invented {
        assert_eq!(with(&format!("/ref/{field}"), |_| value.clone()), Code::RefMismatch, "{field}: {value}");
    }
}

#[test]
fn a_field_that_was_added_to_the_handle_is_refused() {
    let added = |refs: &[Value; 3]| {
        let mut handle = refs[0]["ref"]["backup"].clone();
        handle["localBucket"] = json!(true);
        handle
    };
    assert_eq!(with("/ref/backup", added), Code::RefMismatch);
}

#[test]
fn the_fields_of_the_handle_may_come_in_another_order() {
    let stage = Stage::with_sandbox();
    stage.world.adds_to_handles(json!({ "zeta": 1, "alpha": { "z": 1, "a": 2 } }));
    let snapshot = json!(stage.snapshot().unwrap());
    let text = snapshot.to_string();
    let reordered = text.replace(r#"{"a":2,"z":1}"#, r#"{"z":1,"a":2}"#);
    assert_ne!(text, reordered, "nothing would be reordered");
    let reordered: Value = serde_json::from_str(&reordered).unwrap();
    stage.run(Operation::Restore, &json!({ "ref": reordered })).unwrap();
}

#[test]
fn a_time_that_differs_by_a_millisecond_is_refused() {
    let later = |refs: &[Value; 3]| {
        let time: Timestamp = serde_json::from_value(refs[0]["ref"]["createdAt"].clone()).unwrap();
        json!(time.plus_millis(1))
    };
    assert_eq!(with("/ref/createdAt", later), Code::RefMismatch);
}

#[test]
fn the_same_time_in_another_spelling_is_refused() {
    let respelt = |refs: &[Value; 3]| {
        let time = refs[0]["ref"]["createdAt"].as_str().unwrap();
        json!(time.replace('Z', "+00:00"))
    };
    assert_eq!(with("/ref/createdAt", respelt), Code::InvalidRef);
}

#[test]
fn a_backup_id_that_leads_elsewhere_in_the_bucket_is_refused() {
    for id in ["../secrets", "a/b", "a%2fb", "", "."] {
        assert_eq!(with("/ref/backup/id", |_| json!(id)), Code::InvalidRef, "{id:?}");
    }
}

#[test]
fn everything_of_a_snapshot_of_another_lineage_but_its_origin_is_refused() {
    let (stage, refs) = three_snapshots();
    let mut forged = refs[2].clone();
    for field in ["originId", "rootId"] {
        forged["ref"][field] = refs[0]["ref"][field].clone();
    }
    assert_eq!(refused(&stage, &forged).code(), Code::RefMismatch);
}

#[test]
fn a_ref_without_a_signature_is_told_as_one_of_an_earlier_version() {
    let (stage, [mut unsigned, ..]) = three_snapshots();
    unsigned["ref"].as_object_mut().unwrap().remove("signature");
    let error = refused(&stage, &unsigned);
    assert_eq!(error.code(), Code::InvalidRef);
    assert!(error.remediation().contains("import()"), "{}", error.remediation());
}

#[test]
fn no_operation_takes_an_altered_ref() {
    let (stage, [mut forged, ..]) = three_snapshots();
    forged["ref"]["rootId"] = json!("agent-7");
    for operation in OPERATIONS {
        let mut arguments = json!({ "ref": forged });
        if operation == Operation::Label {
            arguments["newLabel"] = json!("mine");
        }
        stage.run(operation, &arguments).fails_as(Code::RefMismatch);
    }
    assert!(stage.world.calls().is_empty(), "touched: {:?}", stage.world.calls());
}

#[test]
fn a_snapshot_of_a_restored_sandbox_cannot_be_said_to_be_of_another_root() {
    let (stage, refs) = three_snapshots();
    let restored = stage.run(Operation::Restore, &json!({ "ref": refs[0] })).unwrap();
    let id = restored["ref"]["sandboxId"].as_str().unwrap();
    stage.world.pass(60_000);
    let mut forged = json!(stage.snapshot_as_asked(SnapshotRequest::of(sandbox(id))).unwrap());
    stage.world.forget_calls();
    forged["ref"]["rootId"] = json!(id);
    assert_eq!(refused(&stage, &forged).code(), Code::RefMismatch);
}

#[test]
fn a_true_ref_of_a_snapshot_that_the_ledger_lost_is_not_found() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.ledger("agent-42").forget_snapshot(snapshot.snapshot_id()).unwrap();
    stage.restore(&snapshot).fails_as(Code::SnapshotNotFound);
    assert!(stage.world.calls().is_empty());
}

#[test]
fn a_true_ref_that_says_something_else_than_the_ledger_is_refused() {
    let (stage, snapshot) = Stage::with_snapshot();
    let other = stage.snapshot().unwrap();
    let ledger = stage.ledger("agent-42");
    let mut row = ledger.snapshot(snapshot.snapshot_id()).unwrap().unwrap();
    row.stage = ledger.snapshot(other.snapshot_id()).unwrap().unwrap().stage;
    ledger.put_snapshot(&row).unwrap();
    stage.world.forget_calls();
    stage.restore(&snapshot).fails_as(Code::RefMismatch);
    assert!(stage.world.calls().is_empty());
}

#[test]
fn a_true_ref_has_both_the_backup_and_the_time_of_the_ledger() {
    let (stage, snapshot) = Stage::with_snapshot();
    let other = stage.snapshot().unwrap();
    let key = stage.ledger("agent-42").workspace().unwrap().unwrap().keys.remove(0);
    for (backup, created_at) in [(snapshot.backup(), other.created_at()), (other.backup(), snapshot.created_at())] {
        let (id, origin) = (snapshot.snapshot_id().clone(), snapshot.origin_id().clone());
        let signed = SnapshotRef::sign(id, origin.clone(), origin, backup.clone(), created_at, &key);
        stage.restore(&signed).fails_as(Code::RefMismatch);
    }
}

/// The text with one character inserted, left out, or replaced by another.
fn edited(text: &str, place: prop::sample::Index, edit: &Edit) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let at = place.index(letters.len());
    match edit {
        Edit::Insert(letter) => letters.insert(at, *letter),
        Edit::Remove => drop(letters.remove(at)),
        Edit::Replace(letter) => letters[at] = *letter,
    }
    letters.into_iter().collect()
}

#[derive(Clone, Debug)]
enum Edit {
    Insert(char),
    Remove,
    Replace(char),
}

fn edit() -> impl Strategy<Value = Edit> {
    let letter = prop_oneof![
        3 => prop::sample::select("abcxyzABZ0123456789-_./:+\"\\ ,{}[]".chars().collect::<Vec<_>>()),
        1 => any::<char>(),
    ];
    prop_oneof![letter.clone().prop_map(Edit::Insert), Just(Edit::Remove), letter.prop_map(Edit::Replace)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_character_makes_a_ref_another_one_that_is_refused(place: prop::sample::Index, edit in edit()) {
        let (stage, [whole, ..]) = three_snapshots();
        let altered: Result<Value, _> = serde_json::from_str(&edited(&whole.to_string(), place, &edit));
        if let Ok(altered) = altered && altered != whole {
            refused(&stage, &altered);
        }
    }

    #[test]
    fn one_value_makes_a_ref_another_one_that_is_refused(
        path in prop::sample::select(PATHS),
        value in prop_oneof![
            Just(json!(null)), Just(json!(true)), Just(json!([])), Just(json!({})),
            any::<i32>().prop_map(|n| json!(n)), any::<f64>().prop_map(|n| json!(n)),
            ".{0,40}".prop_map(|text| json!(text)),
        ],
    ) {
        let (stage, [whole, ..]) = three_snapshots();
        let mut altered = whole.clone();
        *altered.pointer_mut(path).unwrap() = value;
        if altered != whole {
            refused(&stage, &altered);
        }
    }
}

/// Every value of a ref.
const PATHS: &[&str] = &[
    "",
    "/providerId",
    "/ref",
    "/ref/schemaVersion",
    "/ref/snapshotId",
    "/ref/originId",
    "/ref/rootId",
    "/ref/backup",
    "/ref/backup/id",
    "/ref/backup/dir",
    "/ref/createdAt",
    "/ref/signature",
];
