//! The differences between two snapshots, read from archives in memory.

use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::model::{Code, SnapshotRef};
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, Method, by_ref};

fn between(from: &SnapshotRef, to: &SnapshotRef) -> Value {
    json!({ "from": by_ref(from), "to": by_ref(to) })
}

/// Returns two snapshots of `agent-42`: one file was removed, one changed, and one added.
fn with_changes() -> (Fixture, SnapshotRef, SnapshotRef) {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/workspace/same.txt", "same");
    let before = fixture.snapshot_labelled("agent-42", "before");
    fixture.world.write_file("agent-42", FILE, "longer than before");
    fixture.world.write_file("agent-42", "/workspace/src/new.txt", "new");
    let after = fixture.snapshot_labelled("agent-42", "after");
    fixture.world.reset_calls();
    (fixture, before, after)
}

/// Returns the paths of a page, with how they differ.
fn changes(page: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    page["changes"].as_array().unwrap().iter().map(|it| (text(&it["change"]), text(&it["path"]))).collect()
}

fn expected(changes: &[(&str, &str)]) -> Vec<(String, String)> {
    changes.iter().map(|(change, path)| ((*change).to_owned(), (*path).to_owned())).collect()
}

#[test]
fn diff_lists_added_and_changed_files_by_path() {
    let (fixture, before, after) = with_changes();
    let page = fixture.run(Operation::Diff, &between(&before, &after)).unwrap();
    let all = [("changed", "notes.txt"), ("added", "src"), ("added", "src/new.txt")];
    assert_eq!(changes(&page), expected(&all));
    assert_eq!((&page["from"], &page["to"]), (&json!(before.snapshot_id()), &json!(after.snapshot_id())));
    let changed = &page["changes"][0];
    assert_eq!(
        (&changed["certainty"], &changed["differences"], &changed["from"]["sizeBytes"], &changed["to"]["sizeBytes"]),
        (&json!("content"), &json!(["content"]), &json!(5), &json!(18))
    );
}

#[test]
fn diff_in_the_other_direction_lists_removed_files() {
    let (fixture, before, after) = with_changes();
    let page = fixture.run(Operation::Diff, &between(&after, &before)).unwrap();
    let all = [("changed", "notes.txt"), ("removed", "src"), ("removed", "src/new.txt")];
    assert_eq!(changes(&page), expected(&all));
    assert_eq!(page["changes"][2]["to"], Value::Null);
}

#[test]
fn cursor_continues_a_diff() {
    let (fixture, before, after) = with_changes();
    let mut options = between(&before, &after);
    options["limit"] = json!(1);
    let mut found = Vec::new();
    loop {
        let page = fixture.run(Operation::Diff, &options).unwrap();
        found.extend(changes(&page));
        let Some(cursor) = page.get("cursor") else { break };
        options["cursor"] = cursor.clone();
    }
    assert_eq!(found, expected(&[("changed", "notes.txt"), ("added", "src"), ("added", "src/new.txt")]));
    for cursor in ["?", "Li4vYQ"] {
        options["cursor"] = json!(cursor);
        fixture.run(Operation::Diff, &options).expect_code(Code::InvalidArgument);
    }
}

#[test]
fn snapshot_of_a_branch_is_compared_with_its_source() {
    let (fixture, before, _) = with_changes();
    let branch = fixture.branch(&before).unwrap();
    fixture.world.advance_clock(60_000);
    let id = branch.sandbox_id().as_str();
    fixture.world.write_file(id, "/workspace/tried.txt", "tried");
    let tried = fixture.snapshot_labelled(id, "tried");
    let page = fixture.run(Operation::Diff, &between(&before, &tried)).unwrap();
    assert_eq!(changes(&page), expected(&[("added", "tried.txt")]));
}

#[test]
fn snapshots_of_two_lineages_are_compared_only_with_permission() {
    let (fixture, before, _) = with_changes();
    fixture.start_sandbox("agent-7");
    let other = fixture.snapshot_labelled("agent-7", "other");
    let mut options = between(&before, &other);
    let error = fixture.run(Operation::Diff, &options).expect_code(Code::CrossLineage);
    assert!(error.message().contains("agent-7") && error.message().contains("agent-42"), "{error}");
    options["to"]["allowCrossLineage"] = json!(true);
    let page = fixture.run(Operation::Diff, &options).unwrap();
    assert_eq!(changes(&page), expected(&[("removed", "same.txt")]));
}

#[test]
fn snapshot_that_was_deleted_is_not_compared() {
    for is_second in [false, true] {
        let (fixture, before, after) = with_changes();
        fixture.run(Operation::Delete, &by_ref(if is_second { &after } else { &before })).unwrap();
        fixture.run(Operation::Diff, &between(&before, &after)).expect_code(Code::SnapshotNotFound);
    }
}

#[test]
fn damaged_archive_is_named() {
    let (fixture, before, after) = with_changes();
    fixture.world.edit_archives(|archive| archive.truncate(60));
    let error = fixture.run(Operation::Diff, &between(&before, &after)).expect_code(Code::BackupIncomplete);
    assert!(error.message().contains(&before.backup().id().to_string()), "{error}");
    fixture.world.clear_bucket();
    fixture.run(Operation::Diff, &between(&before, &after)).expect_code(Code::BackupIncomplete);
}

#[test]
fn transient_failure_of_r2_is_retried() {
    let (fixture, before, after) = with_changes();
    fixture.world.before(Method::DiffArchives).first(2).fail_transiently();
    fixture.run(Operation::Diff, &between(&before, &after)).unwrap();
    fixture.world.clear_faults();
    fixture.world.reset_calls();
    fixture.world.before(Method::DiffArchives).first(3).fail_transiently();
    fixture.run(Operation::Diff, &between(&before, &after)).expect_code(Code::StorageUnavailable);
}

#[test]
fn no_sandbox_is_called() {
    let (fixture, before, after) = with_changes();
    fixture.run(Operation::Diff, &between(&before, &after)).unwrap();
    let sandboxes = fixture.world.calls().into_iter().filter(|(method, _)| method.is_sandbox_call());
    assert_eq!(sandboxes.count(), 0);
}

#[test]
fn both_snapshots_must_be_selected() {
    let (_, snapshot) = Fixture::with_snapshot();
    let selection = by_ref(&snapshot);
    for (options, what) in [
        (json!({ "from": selection }), "`to` is missing"),
        (json!({ "to": selection }), "`from` is missing"),
        (json!({ "from": selection, "to": "before" }), "`to` must be an object"),
        (json!({ "from": selection, "to": {} }), "exactly one snapshot"),
    ] {
        let error = Request::decode(Operation::Diff, &options).expect_code(Code::InvalidArgument);
        assert!(error.message().contains(what), "{error}");
    }
}
