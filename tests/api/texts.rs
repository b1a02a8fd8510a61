//! The text content of tool results, for models that do not receive the structured content.

use serde_json::{Value, json};

use super::support::{call, checkpoint, extended, snapshot_ref, summary, workspace_ref};

fn text(op: &str, answer: Value) -> String {
    let arguments = match op {
        "snapshot" | "list" | "snapshot_list" => json!({}),
        "restore" | "branch" | "delete" => json!({ "ref": snapshot_ref() }),
        _ => json!({ "name": "s1" }),
    };
    let (result, _) = call(op, arguments, answer);
    let [only] = &result.content[..] else { panic!("{op} has several texts") };
    only.text.clone()
}

/// The last line, as JSON.
fn last_line(text: &str) -> Value {
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

fn restored(changed: &[&str], count: usize) -> String {
    text("snapshot_restore", json!({ "name": "s1", "commit": "9a3f", "changed": changed, "changedCount": count }))
}

fn diff(diff: &str, size: usize) -> String {
    let truncated = diff.len() < size;
    text(
        "snapshot_diff",
        json!({ "name": "s1", "commit": "9a3f", "diff": diff, "sizeBytes": size, "truncated": truncated }),
    )
}

#[test]
fn snapshot_text_ends_with_its_ref_as_json() {
    assert_eq!(last_line(&text("snapshot", snapshot_ref())), snapshot_ref());
}

#[test]
fn text_of_a_new_workspace_ends_with_its_ref_as_json() {
    for op in ["restore", "branch"] {
        let text = text(op, workspace_ref());
        assert!(text.contains("agent-42-restored-abcd1234") && text.contains("new workspace"), "{text}");
        assert_eq!(last_line(&text), workspace_ref());
    }
}

#[test]
fn list_text_has_one_line_of_json_per_snapshot() {
    let text = text("list", json!({ "snapshots": [summary("first"), summary("second")] }));
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "2 snapshot(s), newest first:");
    for (line, label) in lines[1..].iter().zip(["first", "second"]) {
        let shown: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&shown["label"], &shown["ref"]), (&json!(label), &snapshot_ref()));
    }
    assert_eq!(lines.len(), 3);
}

#[test]
fn list_text_states_whether_more_or_no_snapshots_exist() {
    let more = text("list", json!({ "snapshots": [summary("first")], "cursor": "next" }));
    assert!(more.ends_with("\nThere are older ones; a list has at most 100."));
    assert_eq!(text("list", json!({ "snapshots": [] })), "There are no snapshots.");
}

#[test]
fn delete_text_states_whether_the_snapshot_existed() {
    let deleted = |removed| text("delete", json!({ "snapshotId": "snap-1", "removed": removed }));
    assert_eq!(deleted(true), "Deleted the snapshot snap-1.");
    assert_eq!(deleted(false), "The snapshot snap-1 was deleted before.");
}

#[test]
fn checkpoint_text_contains_the_full_commit() {
    assert_eq!(
        text("snapshot_create", checkpoint("s1")),
        "checkpoint s1 created: 9a3f0c6e4b2e0a7a88f1de20b36d2b4c1e5a9b77"
    );
}

#[test]
fn checkpoint_list_text_has_one_tab_separated_row_per_checkpoint() {
    let listed = |checkpoints: Value| text("snapshot_list", json!({ "checkpoints": checkpoints, "more": false }));
    assert_eq!(
        listed(json!([checkpoint("s1"), checkpoint("s2")])),
        "s1\t9a3f0c6e4b2e\t2026-04-23T12:30:00+00:00\tbefore refactor\n\
         s2\t9a3f0c6e4b2e\t2026-04-23T12:30:00+00:00\tbefore refactor"
    );
    assert_eq!(listed(json!([])), "no checkpoints");
}

#[test]
fn checkpoint_row_is_one_line_for_every_description() {
    let long = extended(checkpoint("s1"), json!({ "description": "\tone\ntwo\r\n  three " }));
    assert_eq!(
        text("snapshot_list", json!({ "checkpoints": [long], "more": false })),
        "s1\t9a3f0c6e4b2e\t2026-04-23T12:30:00+00:00\tone two three"
    );
}

#[test]
fn checkpoint_list_text_is_shortened_and_states_that_older_ones_exist() {
    let long = extended(checkpoint("s1"), json!({ "description": "ä".repeat(1_001) }));
    let text = text("snapshot_list", json!({ "checkpoints": [long], "cursor": "MSBzMQ" }));
    let (row, rest) = text.split_once('\n').unwrap();
    assert!(row.ends_with(&format!("\t{}…", "ä".repeat(1_000))), "{row}");
    assert_eq!(rest, "There are older ones; a list has at most 100.");
}

#[test]
fn checkpoint_restore_text_lists_changed_paths() {
    assert_eq!(restored(&["a.txt", "b.txt"], 2), "restored checkpoint s1 (2 file(s) changed):\na.txt\nb.txt");
    assert_eq!(restored(&[], 0), "restored checkpoint s1 (no files changed)");
}

#[test]
fn checkpoint_restore_text_counts_unlisted_paths() {
    assert_eq!(restored(&["a.txt"], 3), "restored checkpoint s1 (3 file(s) changed):\na.txt\n… and 2 more");
}

#[test]
fn diff_text_is_the_output_of_git() {
    let printed = "diff --git a/a.txt b/a.txt\n@@ -1 +1 @@\n-v1\n+v2\n";
    assert_eq!(diff(printed, printed.len()), printed);
    assert_eq!(diff("", 0), "no differences");
}

#[test]
fn truncated_diff_text_states_the_full_size() {
    assert_eq!(diff("-v1\n", 900), "-v1\n\n… cut off here: the whole diff has 900 bytes");
}
