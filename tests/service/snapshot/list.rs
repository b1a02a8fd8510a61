//! `list` and `get`: the snapshots of a sandbox, in pages, and whether each can be restored now.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{DAY, ExpectError, FILE, Fixture, MINUTE, Method, WORKSPACE, World, by_id, by_label, by_ref};

/// Lists the snapshots of `agent-42` with the extra arguments.
fn list(fixture: &Fixture, extra: &Value) -> Value {
    let mut arguments = json!({ "sandboxId": "agent-42" });
    arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    fixture.run(Operation::List, &arguments).unwrap()
}

fn labels(page: &Value) -> Vec<&str> {
    page["snapshots"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap()).collect()
}

/// Returns snapshots of `agent-42` with the given labels, one minute apart.
fn with_snapshots(labels: &[&str]) -> Fixture {
    let fixture = Fixture::with_sandbox();
    for label in labels {
        fixture.snapshot_labelled("agent-42", label);
        fixture.world.advance_clock(60_000);
    }
    fixture.world.reset_calls();
    fixture
}

/// Applies `change` to R2 and returns the listed row of the only snapshot.
fn list_after(change: impl FnOnce(&World)) -> (Fixture, Value) {
    let (fixture, _) = Fixture::with_snapshot();
    change(&fixture.world);
    let page = list(&fixture, &json!({}));
    let row = page["snapshots"][0].clone();
    (fixture, row)
}

#[test]
fn unknown_sandbox_has_no_snapshots() {
    assert_eq!(list(&Fixture::empty(), &json!({}))["snapshots"], json!([]));
}

#[test]
fn list_of_unknown_sandbox_writes_nothing() {
    use sandbox_snapshotter::ports::Ledger;
    let fixture = Fixture::empty();
    list(&fixture, &json!({}));
    assert_eq!(fixture.ledger("agent-42").sandbox().unwrap(), None);
    assert_eq!(fixture.alarm_at("agent-42"), None);
}

#[test]
fn row_has_all_documented_fields() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    fixture.world.advance_clock(90_500);
    let dependent = fixture.restore(&snapshot).unwrap();
    let row = list(&fixture, &json!({}))["snapshots"][0].clone();
    let metadata = fixture.world.metadata_of(snapshot.backup().id().as_str());
    assert_eq!(
        row,
        json!({
            "snapshotId": snapshot.snapshot_id(),
            "label": "before",
            "state": "ready",
            "cause": "caller",
            "dir": "/workspace",
            "createdAt": metadata.created_at,
            "ageSeconds": 92,
            "sizeBytes": metadata.size_bytes,
            "ownBytes": metadata.size_bytes,
            "sharedBytes": 0,
            "format": "squashfs",
            "provenance": { "packages": "0123456789abcdef", "sdkVersion": "0.12.10" },
            "lastUsedAt": row["lastUsedAt"],
            "pinned": false,
            "dependents": [dependent.sandbox_id()],
            "restorable": "yes",
            "checkedAt": row["checkedAt"],
            "ref": snapshot,
            "shortRef": row["shortRef"],
        })
    );
    assert!(row["shortRef"].as_str().unwrap().starts_with("snap_"));
    assert!(row["lastUsedAt"].as_str() > row["createdAt"].as_str());
}

#[test]
fn newest_snapshots_are_listed_first() {
    let fixture = with_snapshots(&["one", "two", "three"]);
    assert_eq!(labels(&list(&fixture, &json!({}))), ["three", "two", "one"]);
}

#[test]
fn pages_contain_every_snapshot_once() {
    let names: Vec<String> = (0..10).map(|number| format!("snapshot {number}")).collect();
    let fixture = with_snapshots(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut listed: Vec<String> = Vec::new();
    let mut page = list(&fixture, &json!({ "limit": 3 }));
    loop {
        listed.extend(labels(&page).into_iter().map(String::from));
        match page.get("cursor") {
            Some(cursor) => page = list(&fixture, &json!({ "limit": 3, "cursor": cursor })),
            None => break,
        }
    }
    listed.reverse();
    assert_eq!(listed, names);
}

#[test]
fn last_page_that_is_full_has_no_cursor() {
    let fixture = with_snapshots(&["one", "two"]);
    assert_eq!(list(&fixture, &json!({ "limit": 2 })).get("cursor"), None);
    assert!(list(&fixture, &json!({ "limit": 1 })).get("cursor").is_some());
}

#[test]
fn snapshots_taken_between_pages_are_not_on_later_pages() {
    let fixture = with_snapshots(&["one", "two"]);
    let first = list(&fixture, &json!({ "limit": 1 }));
    fixture.snapshot_labelled("agent-42", "three");
    let second = list(&fixture, &json!({ "limit": 5, "cursor": first["cursor"] }));
    assert_eq!((labels(&first), labels(&second)), (vec!["two"], vec!["one"]));
}

#[test]
fn cursor_works_after_its_snapshot_is_deleted() {
    let fixture = with_snapshots(&["one", "two"]);
    let first = list(&fixture, &json!({ "limit": 1 }));
    fixture.run(Operation::Delete, &by_label("two")).unwrap();
    assert_eq!(labels(&list(&fixture, &json!({ "cursor": first["cursor"] }))), ["one"]);
}

#[test]
fn prefix_selects_labels_that_start_with_it() {
    let fixture = with_snapshots(&["test/one", "deploy/one", "test/two", "testing"]);
    assert_eq!(labels(&list(&fixture, &json!({ "labelPrefix": "test/" }))), ["test/two", "test/one"]);
    assert_eq!(labels(&list(&fixture, &json!({ "labelPrefix": "Test" }))), [""; 0]);
    assert_eq!(labels(&list(&fixture, &json!({ "labelPrefix": "" }))).len(), 4);
}

#[test]
fn prefix_characters_are_literal() {
    let fixture = with_snapshots(&["100%", "1000", "a_b", "axb", "a*", "[a]"]);
    for (prefix, expected) in [("100%", vec!["100%"]), ("a_", vec!["a_b"]), ("a*", vec!["a*"]), ("[a", vec!["[a]"])] {
        assert_eq!(labels(&list(&fixture, &json!({ "labelPrefix": prefix }))), expected, "{prefix:?}");
    }
}

#[test]
fn pages_with_prefix_contain_every_match_once() {
    let fixture = with_snapshots(&["test/one", "deploy/one", "test/two"]);
    let first = list(&fixture, &json!({ "labelPrefix": "test/", "limit": 1 }));
    let second = list(&fixture, &json!({ "labelPrefix": "test/", "limit": 1, "cursor": first["cursor"] }));
    assert_eq!((labels(&first), labels(&second)), (vec!["test/two"], vec!["test/one"]));
    assert_eq!(second.get("cursor"), None);
}

#[test]
fn deleted_snapshots_are_not_listed() {
    let fixture = with_snapshots(&["one", "two"]);
    fixture.run(Operation::Delete, &by_label("one")).unwrap();
    assert_eq!(labels(&list(&fixture, &json!({}))), ["two"]);
}

#[test]
fn snapshot_being_created_is_listed_as_creating_without_ref() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("soon"));
    let row = list(&fixture, &json!({}))["snapshots"][0].clone();
    assert_eq!((&row["state"], &row["restorable"]), (&json!("creating"), &json!("no")));
    assert!(row.get("ref").is_none() && row.get("sizeBytes").is_none(), "{row}");
    gate.open();
    capture.answer().unwrap();
}

#[test]
fn interrupted_capture_says_until_when_its_archive_may_arrive() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("lost"));
    assert!(gate.is_reached());
    let while_running = fixture.run(Operation::Pin, &by_label("lost")).expect_code(Code::SnapshotBusy);
    assert!(while_running.message().contains("still being created"), "{while_running}");
    fixture.crash_during(capture);
    let end = fixture.world.current_time().plus_millis(72 * MINUTE);
    fixture.advance_with_alarms(5 * MINUTE);
    let row = list(&fixture, &json!({}))["snapshots"][0].clone();
    let id = row["snapshotId"].as_str().unwrap().to_owned();
    let selection = json!({ "sandboxId": "agent-42", "snapshotId": id });
    for operation in [Operation::Pin, Operation::Delete, Operation::Restore] {
        let error = fixture.run(operation, &selection).expect_code(Code::SnapshotBusy);
        assert!(error.message().contains("was interrupted"), "{operation:?}: {error}");
        assert!(error.remediation().starts_with("Take another snapshot"), "{operation:?}: {error}");
    }
    let why = row["why"].as_str().unwrap();
    assert!(why.contains(&format!("removes it at about {}", &end.to_string()[..16])), "{why}, {end}");
    fixture.advance_with_alarms(70 * MINUTE);
    assert_eq!(list(&fixture, &json!({}))["snapshots"], json!([]));
}

#[test]
fn snapshot_being_deleted_is_listed_as_deleting() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::Delete).first(3).fail_transiently();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).expect_code(Code::StorageUnavailable);
    let row = list(&fixture, &json!({}))["snapshots"][0].clone();
    assert_eq!((&row["state"], &row["restorable"]), (&json!("deleting"), &json!("no")));
}

#[test]
fn complete_backup_is_listed_as_restorable() {
    let (fixture, row) = list_after(|_| {});
    assert_eq!(row["restorable"], "yes");
    assert!(row.get("why").is_none() && row.get("checkedAt").is_some(), "{row}");
    assert_eq!(fixture.world.running_sandboxes().len(), 1, "no container is started");
}

#[test]
fn missing_backup_is_listed_as_not_restorable_with_reason() {
    let (fixture, row) = list_after(World::clear_bucket);
    assert_eq!(row["restorable"], "no");
    assert!(row["why"].as_str().unwrap().contains("is not in the bucket"), "{row}");
    let unchecked = list(&fixture, &json!({ "check": false }));
    assert_eq!(unchecked["snapshots"][0]["restorable"], "no", "the result is stored");
}

#[test]
fn every_kind_of_damage_makes_snapshot_not_restorable() {
    let damages: [fn(&World); 5] = [
        |world| world.edit_backups(|backup| backup.archive = None),
        |world| world.edit_backups(|backup| backup.metadata = None),
        |world| world.edit_archives(|archive| archive.truncate(archive.len() - 1)),
        |world| world.edit_archives(|archive| archive[90] ^= 1),
        |world| world.edit_metadata(|metadata| metadata.name = None),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        assert_eq!(list_after(damage).1["restorable"], "no", "damage {number}");
    }
}

#[test]
fn transient_r2_failure_is_listed_as_unknown_and_changes_no_row() {
    let (fixture, row) = list_after(|world| world.before(Method::GetMetadata).first(3).fail_transiently());
    assert_eq!(row["restorable"], "unknown");
    assert!(row.get("why").is_some() && row.get("checkedAt").is_none(), "{row}");
    assert_eq!(list(&fixture, &json!({ "check": false }))["snapshots"][0]["restorable"], "yes");
    assert_eq!(list(&fixture, &json!({}))["snapshots"][0]["restorable"], "yes");
}

#[test]
fn r2_failure_does_not_clear_recorded_damage() {
    let (fixture, _) = list_after(World::clear_bucket);
    fixture.world.before(Method::GetMetadata).fail_transiently();
    list(&fixture, &json!({}));
    assert_eq!(list(&fixture, &json!({ "check": false }))["snapshots"][0]["restorable"], "no");
}

#[test]
fn unreadable_metadata_makes_snapshot_not_restorable() {
    let unreadable = || Failure::protocol("R2", "meta.json: no JSON");
    let (_, row) = list_after(|world| world.before(Method::GetMetadata).fail_with(unreadable()));
    assert_eq!(row["restorable"], "no");
}

#[test]
fn repaired_backup_is_restorable_again() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.world.edit_archives(|archive| archive.push(0));
    assert_eq!(list(&fixture, &json!({}))["snapshots"][0]["restorable"], "no");
    fixture.world.edit_archives(|archive| archive.truncate(archive.len() - 1));
    assert_eq!(list(&fixture, &json!({}))["snapshots"][0]["restorable"], "yes");
    assert_eq!(list(&fixture, &json!({ "check": false }))["snapshots"][0]["restorable"], "yes");
}

#[test]
fn damaged_snapshot_does_not_affect_other_rows() {
    let fixture = with_snapshots(&["one", "two"]);
    fixture.world.before(Method::GetMetadata).nth(1).fail_with(Failure::protocol("R2", "meta.json: no JSON"));
    let page = list(&fixture, &json!({}));
    let restorable: Vec<_> = page["snapshots"].as_array().unwrap().iter().map(|row| &row["restorable"]).collect();
    assert_eq!(restorable, ["no", "yes"]);
}

#[test]
fn list_without_check_makes_no_calls() {
    let fixture = with_snapshots(&["one", "two"]);
    list(&fixture, &json!({ "check": false }));
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn get_finds_snapshot_by_ref_id_and_label() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    let listed = list(&fixture, &json!({ "check": false }))["snapshots"][0].clone();
    for selection in [by_ref(&snapshot), by_id(&snapshot), by_label("before")] {
        let got = fixture.run(Operation::Get, &selection).unwrap();
        assert_eq!((&got["snapshotId"], &got["ref"]), (&listed["snapshotId"], &listed["ref"]));
        assert_eq!(got["restorable"], "yes");
    }
}

#[test]
fn get_returns_deleted_snapshot_with_reason_for_a_month() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    let got = fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!((&got["state"], &got["restorable"]), (&json!("deleted"), &json!("no")));
    assert!(got["why"].as_str().unwrap().contains("deleted by a caller"), "{got}");
    fixture.advance_with_alarms(32 * DAY);
    fixture.run(Operation::Get, &by_ref(&snapshot)).expect_code(Code::SnapshotNotFound);
}

#[test]
fn verify_and_list_change_neither_last_use_nor_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let before = list(&fixture, &json!({ "check": false }))["snapshots"][0]["lastUsedAt"].clone();
    fixture.world.advance_clock(DAY);
    let files = fixture.world.files("agent-42");
    fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap();
    assert_eq!(list(&fixture, &json!({}))["snapshots"][0]["lastUsedAt"], before);
    assert_eq!(fixture.world.files("agent-42"), files);
    assert!(files.unwrap().contains_key(FILE));
}

#[test]
fn expired_backup_is_not_restorable_without_r2_check() {
    let fixture = Fixture::with_sandbox();
    let handle = fixture.world.create_app_backup("agent-42", None);
    let imported = fixture.run(Operation::Import, &json!({ "sandboxId": "agent-42", "backup": handle })).unwrap();
    let imported = SnapshotRef::decode(&imported).unwrap();
    let row = fixture.ledger("agent-42").snapshot(imported.snapshot_id()).unwrap().unwrap();
    fixture.world.advance_clock(row.stored().unwrap().usable_until.millis_since(fixture.world.current_time()));
    let known = || fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    assert_eq!(known()["snapshots"][0]["restorable"], "yes");
    fixture.world.advance_clock(1);
    let known = known();
    assert_eq!(known["snapshots"][0]["restorable"], "no");
    assert!(known["snapshots"][0]["why"].as_str().unwrap().contains("SDK"), "{known}");
}

#[test]
fn list_with_the_name_of_a_workspace_names_its_sandbox() {
    let fixture = Fixture::with_workspace();
    let sandbox = fixture.get_workspace(WORKSPACE).unwrap()["sandboxId"].clone();
    let page = fixture.run(Operation::List, &json!({ "sandboxId": WORKSPACE })).unwrap();
    assert_eq!(page["snapshots"], json!([]));
    let expected = format!(
        "There is no record of a sandbox {WORKSPACE:?}. The workspace {WORKSPACE:?} has the sandbox {sandbox}."
    );
    assert_eq!(page["note"], expected);
}

#[test]
fn list_of_a_sandbox_without_a_record_has_a_note() {
    let fixture = Fixture::with_workspace();
    for id in [&WORKSPACE[..WORKSPACE.len() - 1], "agent-43", "Agent_43"] {
        let page = fixture.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
        let expected = format!("There is no record of a sandbox {id:?}: no snapshot of it was taken or imported.");
        assert_eq!(page, json!({ "snapshots": [], "note": expected }));
    }
}

#[test]
fn list_of_a_sandbox_with_a_record_has_no_note() {
    let fixture = with_snapshots(&["first"]);
    assert_eq!(list(&fixture, &json!({ "labelPrefix": "other" })), json!({ "snapshots": [] }));
}
