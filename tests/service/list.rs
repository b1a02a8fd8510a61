//! The snapshots of a workspace, in pages, and whether each can be restored now.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::support::{Checked, DAY, FILE, Method, Stage, World, by_id, by_label, by_ref};

/// Lists the snapshots of `agent-42`, with these further arguments.
fn list(stage: &Stage, further: &Value) -> Value {
    let mut arguments = json!({ "sandboxId": "agent-42" });
    arguments.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    stage.run(Operation::List, &arguments).unwrap()
}

fn labels(page: &Value) -> Vec<&str> {
    page["snapshots"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap()).collect()
}

/// Snapshots of `agent-42` with these labels, a minute apart.
fn with_snapshots(labels: &[&str]) -> Stage {
    let stage = Stage::with_sandbox();
    for label in labels {
        stage.captures("agent-42", label);
        stage.world.pass(60_000);
    }
    stage.world.forget_calls();
    stage
}

/// What a list says of the one snapshot there is, after something happened in R2.
fn seen_when(change: impl FnOnce(&World)) -> (Stage, Value) {
    let (stage, _) = Stage::with_snapshot();
    change(&stage.world);
    let page = list(&stage, &json!({}));
    let row = page["snapshots"][0].clone();
    (stage, row)
}

#[test]
fn a_workspace_that_nobody_knows_has_no_snapshots() {
    assert_eq!(list(&Stage::empty(), &json!({})), json!({ "snapshots": [] }));
}

#[test]
fn looking_at_a_workspace_that_nobody_knows_leaves_no_trace() {
    use sandbox_snapshotter::ports::Ledger;
    let stage = Stage::empty();
    list(&stage, &json!({}));
    assert_eq!(stage.ledger("agent-42").workspace().unwrap(), None);
    assert_eq!(stage.alarm_due("agent-42"), None);
}

#[test]
fn a_row_tells_everything_that_a_person_asks_for_first() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.captures("agent-42", "before");
    stage.world.pass(90_500);
    let holder = stage.restore(&snapshot).unwrap();
    let row = list(&stage, &json!({}))["snapshots"][0].clone();
    let metadata = stage.world.metadata_of(snapshot.backup().id().as_str());
    assert_eq!(
        row,
        json!({
            "snapshotId": snapshot.snapshot_id(),
            "label": "before",
            "state": "ready",
            "dir": "/workspace",
            "createdAt": metadata.created_at,
            "ageSeconds": 92,
            "sizeBytes": metadata.size_bytes,
            "lastUsedAt": row["lastUsedAt"],
            "pinned": false,
            "holders": [holder.sandbox_id()],
            "restorable": "yes",
            "checkedAt": row["checkedAt"],
            "ref": snapshot,
        })
    );
    assert!(row["lastUsedAt"].as_str() > row["createdAt"].as_str());
}

#[test]
fn the_newest_come_first() {
    let stage = with_snapshots(&["one", "two", "three"]);
    assert_eq!(labels(&list(&stage, &json!({}))), ["three", "two", "one"]);
}

#[test]
fn pages_follow_each_other_without_a_gap() {
    let names: Vec<String> = (0..10).map(|number| format!("snapshot {number}")).collect();
    let stage = with_snapshots(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut seen: Vec<String> = Vec::new();
    let mut page = list(&stage, &json!({ "limit": 3 }));
    loop {
        seen.extend(labels(&page).into_iter().map(String::from));
        match page.get("cursor") {
            Some(cursor) => page = list(&stage, &json!({ "limit": 3, "cursor": cursor })),
            None => break,
        }
    }
    seen.reverse();
    assert_eq!(seen, names);
}

#[test]
fn a_page_that_is_just_full_is_the_last_one() {
    let stage = with_snapshots(&["one", "two"]);
    assert_eq!(list(&stage, &json!({ "limit": 2 })).get("cursor"), None);
    assert!(list(&stage, &json!({ "limit": 1 })).get("cursor").is_some());
}

#[test]
fn snapshots_that_come_meanwhile_are_not_on_later_pages() {
    let stage = with_snapshots(&["one", "two"]);
    let first = list(&stage, &json!({ "limit": 1 }));
    stage.captures("agent-42", "three");
    let second = list(&stage, &json!({ "limit": 5, "cursor": first["cursor"] }));
    assert_eq!((labels(&first), labels(&second)), (vec!["two"], vec!["one"]));
}

#[test]
fn a_cursor_leads_on_from_a_snapshot_that_is_gone() {
    let stage = with_snapshots(&["one", "two"]);
    let first = list(&stage, &json!({ "limit": 1 }));
    stage.run(Operation::Delete, &by_label("two")).unwrap();
    assert_eq!(labels(&list(&stage, &json!({ "cursor": first["cursor"] }))), ["one"]);
}

#[test]
fn a_prefix_selects_labels_by_their_beginning() {
    let stage = with_snapshots(&["test/one", "deploy/one", "test/two", "testing"]);
    assert_eq!(labels(&list(&stage, &json!({ "labelPrefix": "test/" }))), ["test/two", "test/one"]);
    assert_eq!(labels(&list(&stage, &json!({ "labelPrefix": "Test" }))), [""; 0]);
    assert_eq!(labels(&list(&stage, &json!({ "labelPrefix": "" }))).len(), 4);
}

#[test]
fn nothing_in_a_prefix_means_anything_else_than_itself() {
    let stage = with_snapshots(&["100%", "1000", "a_b", "axb", "a*", "[a]"]);
    for (prefix, expected) in [("100%", vec!["100%"]), ("a_", vec!["a_b"]), ("a*", vec!["a*"]), ("[a", vec!["[a]"])] {
        assert_eq!(labels(&list(&stage, &json!({ "labelPrefix": prefix }))), expected, "{prefix:?}");
    }
}

#[test]
fn pages_of_a_prefix_follow_each_other_too() {
    let stage = with_snapshots(&["test/one", "deploy/one", "test/two"]);
    let first = list(&stage, &json!({ "labelPrefix": "test/", "limit": 1 }));
    let second = list(&stage, &json!({ "labelPrefix": "test/", "limit": 1, "cursor": first["cursor"] }));
    assert_eq!((labels(&first), labels(&second)), (vec!["test/two"], vec!["test/one"]));
    assert_eq!(second.get("cursor"), None);
}

#[test]
fn deleted_snapshots_are_not_listed() {
    let stage = with_snapshots(&["one", "two"]);
    stage.run(Operation::Delete, &by_label("one")).unwrap();
    assert_eq!(labels(&list(&stage, &json!({}))), ["two"]);
}

#[test]
fn a_snapshot_that_is_being_made_is_listed_as_such_and_without_a_ref() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("soon"));
    let row = list(&stage, &json!({}))["snapshots"][0].clone();
    assert_eq!((&row["state"], &row["restorable"]), (&json!("making"), &json!("no")));
    assert!(row.get("ref").is_none() && row.get("sizeBytes").is_none(), "{row}");
    gate.open();
    capture.answer().unwrap();
}

#[test]
fn a_snapshot_that_is_being_deleted_is_listed_as_such() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::Delete).first(3).fails_in_passing();
    stage.run(Operation::Delete, &by_ref(&snapshot)).fails_as(Code::StorageUnavailable);
    let row = list(&stage, &json!({}))["snapshots"][0].clone();
    assert_eq!((&row["state"], &row["restorable"]), (&json!("deleting"), &json!("no")));
}

#[test]
fn what_is_whole_in_r2_is_restorable() {
    let (stage, row) = seen_when(|_| {});
    assert_eq!(row["restorable"], "yes");
    assert!(row.get("why").is_none() && row.get("checkedAt").is_some(), "{row}");
    assert_eq!(stage.world.running().len(), 1, "no container is started");
}

#[test]
fn what_is_gone_from_r2_is_not_restorable_and_it_says_why() {
    let (stage, row) = seen_when(World::empty_bucket);
    assert_eq!(row["restorable"], "no");
    assert!(row["why"].as_str().unwrap().contains("is not in the bucket"), "{row}");
    let unchecked = list(&stage, &json!({ "check": false }));
    assert_eq!(unchecked["snapshots"][0]["restorable"], "no", "it is remembered");
}

#[test]
fn each_damage_makes_a_snapshot_unrestorable() {
    let damages: [fn(&World); 5] = [
        |world| world.spoil(|backup| backup.archive = None),
        |world| world.spoil(|backup| backup.metadata = None),
        |world| world.spoil_archive(|archive| archive.truncate(archive.len() - 1)),
        |world| world.spoil_archive(|archive| archive[90] ^= 1),
        |world| world.spoil_metadata(|metadata| metadata.name = None),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        assert_eq!(seen_when(damage).1["restorable"], "no", "damage {number}");
    }
}

#[test]
fn what_r2_does_not_tell_in_passing_is_unknown_and_changes_no_knowledge() {
    let (stage, row) = seen_when(|world| world.before(Method::Metadata).first(3).fails_in_passing());
    assert_eq!(row["restorable"], "unknown");
    assert!(row.get("why").is_some() && row.get("checkedAt").is_none(), "{row}");
    assert_eq!(list(&stage, &json!({ "check": false }))["snapshots"][0]["restorable"], "yes");
    assert_eq!(list(&stage, &json!({}))["snapshots"][0]["restorable"], "yes");
}

#[test]
fn a_failure_of_r2_does_not_repair_what_was_damaged() {
    let (stage, _) = seen_when(World::empty_bucket);
    stage.world.before(Method::Metadata).fails_in_passing();
    list(&stage, &json!({}));
    assert_eq!(list(&stage, &json!({ "check": false }))["snapshots"][0]["restorable"], "no");
}

#[test]
fn metadata_that_cannot_be_read_makes_a_snapshot_unrestorable() {
    let unreadable = || Failure::unexpected("R2", "meta.json: no JSON");
    let (_, row) = seen_when(|world| world.before(Method::Metadata).fails_with(unreadable()));
    assert_eq!(row["restorable"], "no");
}

#[test]
fn what_was_damaged_and_is_whole_again_is_restorable_again() {
    let (stage, _) = Stage::with_snapshot();
    stage.world.spoil_archive(|archive| archive.push(0));
    assert_eq!(list(&stage, &json!({}))["snapshots"][0]["restorable"], "no");
    stage.world.spoil_archive(|archive| archive.truncate(archive.len() - 1));
    assert_eq!(list(&stage, &json!({}))["snapshots"][0]["restorable"], "yes");
    assert_eq!(list(&stage, &json!({ "check": false }))["snapshots"][0]["restorable"], "yes");
}

#[test]
fn one_damaged_snapshot_does_not_hide_the_others() {
    let stage = with_snapshots(&["one", "two"]);
    stage.world.before(Method::Metadata).nth(1).fails_with(Failure::unexpected("R2", "meta.json: no JSON"));
    let page = list(&stage, &json!({}));
    let restorable: Vec<_> = page["snapshots"].as_array().unwrap().iter().map(|row| &row["restorable"]).collect();
    assert_eq!(restorable, ["no", "yes"]);
}

#[test]
fn without_a_check_r2_is_not_asked() {
    let stage = with_snapshots(&["one", "two"]);
    list(&stage, &json!({ "check": false }));
    assert!(stage.world.calls().is_empty());
}

#[test]
fn a_snapshot_is_got_by_its_ref_its_id_and_its_label() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.captures("agent-42", "before");
    let listed = list(&stage, &json!({ "check": false }))["snapshots"][0].clone();
    for selection in [by_ref(&snapshot), by_id(&snapshot), by_label("before")] {
        let got = stage.run(Operation::Get, &selection).unwrap();
        assert_eq!((&got["snapshotId"], &got["ref"]), (&listed["snapshotId"], &listed["ref"]));
        assert_eq!(got["restorable"], "yes");
    }
}

#[test]
fn a_snapshot_that_was_deleted_is_still_got_with_the_reason() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    let got = stage.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!((&got["state"], &got["restorable"]), (&json!("deleted"), &json!("no")));
    assert!(got["why"].as_str().unwrap().contains("deleted by a caller"), "{got}");
    stage.passes(32 * DAY);
    stage.run(Operation::Get, &by_ref(&snapshot)).fails_as(Code::SnapshotNotFound);
}

#[test]
fn looking_changes_neither_the_last_use_nor_the_sandbox() {
    let (stage, snapshot) = Stage::with_snapshot();
    let before = list(&stage, &json!({ "check": false }))["snapshots"][0]["lastUsedAt"].clone();
    stage.world.pass(DAY);
    let files = stage.world.files("agent-42");
    stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap();
    assert_eq!(list(&stage, &json!({}))["snapshots"][0]["lastUsedAt"], before);
    assert_eq!(stage.world.files("agent-42"), files);
    assert!(files.unwrap().contains_key(FILE));
}

#[test]
fn what_the_sdk_restores_no_more_is_known_without_a_look() {
    let stage = Stage::with_sandbox();
    let handle = stage.world.backs_up("agent-42", None);
    let imported = stage.run(Operation::Import, &json!({ "sandboxId": "agent-42", "backup": handle })).unwrap();
    let imported = SnapshotRef::decode(&imported).unwrap();
    let row = stage.ledger("agent-42").snapshot(imported.snapshot_id()).unwrap().unwrap();
    stage.world.pass(row.stored().unwrap().usable_until.millis_since(stage.world.moment()));
    let known = || stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    assert_eq!(known()["snapshots"][0]["restorable"], "yes");
    stage.world.pass(1);
    let known = known();
    assert_eq!(known["snapshots"][0]["restorable"], "no");
    assert!(known["snapshots"][0]["why"].as_str().unwrap().contains("SDK"), "{known}");
}
