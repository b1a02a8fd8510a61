//! A ref that was forged or altered is refused before any sandbox is touched.

use proptest::prelude::*;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, SnapshotRequest, Timestamp};
use serde_json::{Value, json};

use super::support::{FILE, Method, Stage, sandbox};

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

/// Restores from a ref that is not as it was made, which must be refused without a sandbox being touched.
fn refused(stage: &Stage, forged: &Value) -> Error {
    let error = stage.run(Operation::Restore, &json!({ "ref": forged })).expect_err(&forged.to_string());
    let calls = stage.world.calls();
    let of_sandbox = |method: &Method| !matches!(method, Method::Metadata | Method::ArchiveSize);
    assert!(!calls.iter().any(|(method, _)| of_sandbox(method)), "touched: {calls:?}");
    error
}

/// The first snapshot's ref with the value at `path` taken from another one, or given.
fn with(path: &str, value: impl Fn(&[Value; 3]) -> Value) -> Error {
    let (stage, refs) = three_snapshots();
    let mut forged = refs[0].clone();
    let place = forged.pointer_mut(path).unwrap();
    let value = value(&refs);
    assert_ne!(*place, value, "nothing would be forged");
    *place = value;
    refused(&stage, &forged)
}

fn mismatch_names(error: &Error, field: &str) {
    assert_eq!(error.code(), Code::RefMismatch, "{error}");
    assert!(error.message().contains(&format!("`{field}`")), "{error}");
}

#[test]
fn what_is_not_forged_is_restored() {
    let (stage, refs) = three_snapshots();
    for whole in refs {
        stage.run(Operation::Restore, &json!({ "ref": whole })).unwrap();
    }
}

#[test]
fn the_snapshot_id_of_another_snapshot_is_refused() {
    mismatch_names(&with("/ref/snapshotId", |refs| refs[1]["ref"]["snapshotId"].clone()), "snapshotId");
}

#[test]
fn an_invented_snapshot_id_is_refused() {
    mismatch_names(&with("/ref/snapshotId", |_| json!("snap-0123456789abcdef")), "snapshotId");
}

#[test]
fn another_origin_is_refused() {
    mismatch_names(&with("/ref/originId", |_| json!("agent-7")), "originId");
}

#[test]
fn an_origin_in_another_case_is_refused() {
    mismatch_names(&with("/ref/originId", |_| json!("Agent-42")), "originId");
}

#[test]
fn another_root_is_refused() {
    mismatch_names(&with("/ref/rootId", |_| json!("agent-7")), "rootId");
}

#[test]
fn the_backup_of_another_snapshot_is_refused() {
    mismatch_names(&with("/ref/backup", |refs| refs[1]["ref"]["backup"].clone()), "snapshotId");
}

#[test]
fn the_backup_of_another_lineage_is_refused() {
    let (stage, refs) = three_snapshots();
    let mut forged = refs[0].clone();
    for field in ["backup", "snapshotId", "createdAt"] {
        forged["ref"][field] = refs[2]["ref"][field].clone();
    }
    mismatch_names(&refused(&stage, &forged), "originId");
}

#[test]
fn a_backup_that_is_not_there_is_not_found() {
    let error = with("/ref/backup/id", |_| json!("6b1f0c1e-ffff-4000-8000-000000000001"));
    assert_eq!(error.code(), Code::BackupNotFound);
}

#[test]
fn a_backup_id_that_leads_elsewhere_in_the_bucket_is_refused() {
    for id in ["../secrets", "a/b", "a%2fb", "", "."] {
        assert_eq!(with("/ref/backup/id", |_| json!(id)).code(), Code::InvalidRef, "{id:?}");
    }
}

#[test]
fn another_directory_is_refused() {
    mismatch_names(&with("/ref/backup/dir", |_| json!("/workspace/app")), "backup.dir");
}

#[test]
fn another_time_is_refused() {
    mismatch_names(&with("/ref/createdAt", |refs| refs[1]["ref"]["createdAt"].clone()), "createdAt");
}

#[test]
fn the_same_time_in_another_spelling_is_refused() {
    let respelt = |refs: &[Value; 3]| {
        let time = refs[0]["ref"]["createdAt"].as_str().unwrap();
        json!(time.replace('Z', "+00:00"))
    };
    assert_eq!(with("/ref/createdAt", respelt).code(), Code::InvalidRef);
}

#[test]
fn a_time_that_differs_by_a_millisecond_is_refused() {
    let later = |refs: &[Value; 3]| {
        let time: Timestamp = serde_json::from_value(refs[0]["ref"]["createdAt"].clone()).unwrap();
        json!(time.plus_millis(1))
    };
    mismatch_names(&with("/ref/createdAt", later), "createdAt");
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
    mismatch_names(&refused(&stage, &forged), "rootId");
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
];
