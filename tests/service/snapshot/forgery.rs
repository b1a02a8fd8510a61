//! A forged or altered ref is refused before any port call: the ledger of the origin signs each ref.

use proptest::prelude::*;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, SnapshotRef, SnapshotRequest, Timestamp};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, sandbox};

/// The operations that accept a ref.
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

/// Returns the refs of two snapshots of one sandbox and of one snapshot of another, as JSON.
fn three_snapshots() -> (Fixture, [Value; 3]) {
    let fixture = Fixture::with_local_bucket(false);
    fixture.world.write_file("agent-42", FILE, "first");
    fixture.world.write_file("agent-7", FILE, "a secret of another lineage");
    let refs = ["agent-42", "agent-42", "agent-7"].map(|id| {
        fixture.world.advance_clock(60_000);
        json!(fixture.snapshot_with(SnapshotRequest::of(sandbox(id))).unwrap())
    });
    fixture.world.reset_calls();
    (fixture, refs)
}

/// Asserts that a restore from the altered ref is refused without any port call.
fn expect_refused(fixture: &Fixture, forged: &Value) -> Error {
    let error = fixture.run(Operation::Restore, &json!({ "ref": forged })).expect_err(&forged.to_string());
    assert!(fixture.world.calls().is_empty(), "touched: {:?}", fixture.world.calls());
    error
}

/// Returns the error code for the first snapshot's ref with `value` at `path`.
fn refusal_with(path: &str, value: impl Fn(&[Value; 3]) -> Value) -> Code {
    let (fixture, refs) = three_snapshots();
    let mut forged = refs[0].clone();
    let target = forged.pointer_mut(path).unwrap();
    let value = value(&refs);
    assert_ne!(*target, value, "the value must differ");
    *target = value;
    expect_refused(&fixture, &forged).code()
}

#[test]
fn unaltered_ref_is_restored() {
    let (fixture, refs) = three_snapshots();
    for valid in refs {
        fixture.run(Operation::Restore, &json!({ "ref": valid })).unwrap();
    }
}

#[test]
fn ref_with_any_value_of_another_snapshot_is_refused() {
    for field in ["snapshotId", "backup", "createdAt", "signature"] {
        for other in [1, 2] {
            let code = refusal_with(&format!("/ref/{field}"), |refs| refs[other]["ref"][field].clone());
            assert_eq!(code, Code::RefMismatch, "{field}");
        }
    }
}

#[test]
fn ref_with_any_invented_value_is_refused() {
    let invented = [
        ("snapshotId", json!("snap-0123456789abcdef")),
        ("originId", json!("agent-7")),
        ("originId", json!("Agent-42")),
        ("originId", json!("unknown")),
        ("rootId", json!("agent-7")),
        ("backup/id", json!("6b1f0c1e-ffff-4000-8000-000000000001")),
        ("backup/dir", json!("/workspace/app")),
        ("signature", json!("")),
        ("signature", json!("1.")),
        ("signature", json!("1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")),
    ];
    for (field, value) in invented {
        assert_eq!(refusal_with(&format!("/ref/{field}"), |_| value.clone()), Code::RefMismatch, "{field}: {value}");
    }
}

#[test]
fn ref_with_added_field_in_backup_handle_is_refused() {
    let added = |refs: &[Value; 3]| {
        let mut handle = refs[0]["ref"]["backup"].clone();
        handle["localBucket"] = json!(true);
        handle
    };
    assert_eq!(refusal_with("/ref/backup", added), Code::RefMismatch);
}

#[test]
fn ref_with_reordered_handle_fields_is_accepted() {
    let fixture = Fixture::with_sandbox();
    fixture.world.extend_handles(json!({ "zeta": 1, "alpha": { "z": 1, "a": 2 } }));
    let snapshot = json!(fixture.snapshot().unwrap());
    let text = snapshot.to_string();
    let reordered = text.replace(r#"{"a":2,"z":1}"#, r#"{"z":1,"a":2}"#);
    assert_ne!(text, reordered, "the order must differ");
    let reordered: Value = serde_json::from_str(&reordered).unwrap();
    fixture.run(Operation::Restore, &json!({ "ref": reordered })).unwrap();
}

#[test]
fn ref_with_time_one_millisecond_later_is_refused() {
    let later = |refs: &[Value; 3]| {
        let time: Timestamp = serde_json::from_value(refs[0]["ref"]["createdAt"].clone()).unwrap();
        json!(time.plus_millis(1))
    };
    assert_eq!(refusal_with("/ref/createdAt", later), Code::RefMismatch);
}

#[test]
fn ref_with_same_time_in_other_notation_is_refused() {
    let respelled = |refs: &[Value; 3]| {
        let time = refs[0]["ref"]["createdAt"].as_str().unwrap();
        json!(time.replace('Z', "+00:00"))
    };
    assert_eq!(refusal_with("/ref/createdAt", respelled), Code::InvalidRef);
}

#[test]
fn ref_with_path_traversal_in_backup_id_is_refused() {
    for id in ["../secrets", "a/b", "a%2fb", "", "."] {
        assert_eq!(refusal_with("/ref/backup/id", |_| json!(id)), Code::InvalidRef, "{id:?}");
    }
}

#[test]
fn ref_of_another_lineage_with_forged_origin_is_refused() {
    let (fixture, refs) = three_snapshots();
    let mut forged = refs[2].clone();
    for field in ["originId", "rootId"] {
        forged["ref"][field] = refs[0]["ref"][field].clone();
    }
    assert_eq!(expect_refused(&fixture, &forged).code(), Code::RefMismatch);
}

#[test]
fn ref_without_signature_is_reported_as_earlier_version() {
    let (fixture, [mut unsigned, ..]) = three_snapshots();
    unsigned["ref"].as_object_mut().unwrap().remove("signature");
    let error = expect_refused(&fixture, &unsigned);
    assert_eq!(error.code(), Code::InvalidRef);
    assert!(error.remediation().contains("`import`"), "{}", error.remediation());
}

#[test]
fn every_operation_refuses_altered_ref() {
    let (fixture, [mut forged, ..]) = three_snapshots();
    forged["ref"]["rootId"] = json!("agent-7");
    for operation in OPERATIONS {
        let mut arguments = json!({ "ref": forged });
        if operation == Operation::Label {
            arguments["newLabel"] = json!("mine");
        }
        fixture.run(operation, &arguments).expect_code(Code::RefMismatch);
    }
    assert!(fixture.world.calls().is_empty(), "touched: {:?}", fixture.world.calls());
}

#[test]
fn ref_of_restored_sandbox_with_forged_root_is_refused() {
    let (fixture, refs) = three_snapshots();
    let restored = fixture.run(Operation::Restore, &json!({ "ref": refs[0] })).unwrap();
    let id = restored["ref"]["sandboxId"].as_str().unwrap();
    fixture.world.advance_clock(60_000);
    let mut forged = json!(fixture.snapshot_with(SnapshotRequest::of(sandbox(id))).unwrap());
    fixture.world.reset_calls();
    forged["ref"]["rootId"] = json!(id);
    assert_eq!(expect_refused(&fixture, &forged).code(), Code::RefMismatch);
}

#[test]
fn valid_ref_of_snapshot_missing_in_ledger_is_not_found() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.ledger("agent-42").delete_snapshot(snapshot.snapshot_id()).unwrap();
    fixture.restore(&snapshot).expect_code(Code::SnapshotNotFound);
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn valid_ref_that_contradicts_the_ledger_is_refused() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let other = fixture.snapshot().unwrap();
    let ledger = fixture.ledger("agent-42");
    let mut row = ledger.snapshot(snapshot.snapshot_id()).unwrap().unwrap();
    row.stage = ledger.snapshot(other.snapshot_id()).unwrap().unwrap().stage;
    ledger.put_snapshot(&row).unwrap();
    fixture.world.reset_calls();
    fixture.restore(&snapshot).expect_code(Code::RefMismatch);
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn signed_ref_with_other_backup_or_time_than_the_ledger_is_refused() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let other = fixture.snapshot().unwrap();
    let key = fixture.ledger("agent-42").sandbox().unwrap().unwrap().keys.remove(0);
    for (backup, created_at) in [(snapshot.backup(), other.created_at()), (other.backup(), snapshot.created_at())] {
        let (id, origin) = (snapshot.snapshot_id().clone(), snapshot.origin_id().clone());
        let signed =
            SnapshotRef::new(id, origin.clone(), origin, backup.clone(), created_at, |message| key.sign(message));
        fixture.restore(&signed).expect_code(Code::RefMismatch);
    }
}

/// Returns the text with one character inserted, removed or replaced.
fn apply_edit(text: &str, position: prop::sample::Index, edit: &Edit) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let at = position.index(chars.len());
    match edit {
        Edit::Insert(character) => chars.insert(at, *character),
        Edit::Remove => drop(chars.remove(at)),
        Edit::Replace(character) => chars[at] = *character,
    }
    chars.into_iter().collect()
}

#[derive(Clone, Debug)]
enum Edit {
    Insert(char),
    Remove,
    Replace(char),
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let letter = prop_oneof![
        3 => prop::sample::select("abcxyzABZ0123456789-_./:+\"\\ ,{}[]".chars().collect::<Vec<_>>()),
        1 => any::<char>(),
    ];
    prop_oneof![letter.clone().prop_map(Edit::Insert), Just(Edit::Remove), letter.prop_map(Edit::Replace)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ref_with_one_edited_character_is_refused(position: prop::sample::Index, edit in any_edit()) {
        let (fixture, [valid, ..]) = three_snapshots();
        let altered: Result<Value, _> = serde_json::from_str(&apply_edit(&valid.to_string(), position, &edit));
        if let Ok(altered) = altered && altered != valid {
            expect_refused(&fixture, &altered);
        }
    }

    #[test]
    fn ref_with_one_replaced_value_is_refused(
        path in prop::sample::select(REF_PATHS),
        value in prop_oneof![
            Just(json!(null)), Just(json!(true)), Just(json!([])), Just(json!({})),
            any::<i32>().prop_map(|n| json!(n)), any::<f64>().prop_map(|n| json!(n)),
            ".{0,40}".prop_map(|text| json!(text)),
        ],
    ) {
        let (fixture, [valid, ..]) = three_snapshots();
        let mut altered = valid.clone();
        *altered.pointer_mut(path).unwrap() = value;
        if altered != valid {
            expect_refused(&fixture, &altered);
        }
    }
}

/// The JSON pointers of every value of a ref.
const REF_PATHS: &[&str] = &[
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
