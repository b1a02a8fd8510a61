//! The differences between a snapshot and the present files of a running sandbox in memory.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRef};
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, Method, WORKSPACE, by_ref, sandbox};

const AGENT: &str = "agent-42";

fn to_agent(from: &SnapshotRef) -> Value {
    json!({ "from": by_ref(from), "to": { "sandboxId": AGENT } })
}

/// Returns how the paths of a page differ: with `?` where the content may be the same.
fn changes(page: &Value) -> Vec<String> {
    let text = |change: &Value| {
        let sure = if change["certainty"] == "content" { "" } else { "?" };
        let from = change["previousPath"].as_str().map_or_else(String::new, |from| format!(" {from} ->"));
        format!("{}{sure}{from} {}", change["change"].as_str().unwrap(), change["path"].as_str().unwrap())
    };
    page["changes"].as_array().unwrap().iter().map(text).collect()
}

/// Returns a snapshot of `agent-42`, in whose files every kind of change was made since.
fn with_changes() -> (Fixture, SnapshotRef) {
    let fixture = Fixture::with_sandbox();
    for (path, content) in [("same.txt", "same"), ("edited.txt", "before"), ("removed.txt", "removed")] {
        fixture.world.write_file(AGENT, &format!("/workspace/{path}"), content);
    }
    let before = fixture.snapshot_labelled(AGENT, "before");
    fixture.world.write_file(AGENT, FILE, "longer than before");
    fixture.world.write_file(AGENT, "/workspace/edited.txt", "after");
    fixture.world.write_file(AGENT, "/workspace/src/new.txt", "new");
    fixture.world.remove_file(AGENT, "/workspace/removed.txt");
    fixture.world.reset_calls();
    (fixture, before)
}

const CHANGES: [&str; 5] =
    ["changed edited.txt", "changed notes.txt", "removed removed.txt", "added src", "added src/new.txt"];

#[test]
fn present_files_are_compared_with_a_snapshot() {
    let (fixture, before) = with_changes();
    let page = fixture.run(Operation::Diff, &to_agent(&before)).unwrap();
    assert_eq!(changes(&page), CHANGES);
    assert_eq!((&page["from"], &page["to"]), (&json!(before.snapshot_id()), &Value::Null));
    assert_eq!((&page["sandboxId"], page.get("cursor")), (&json!(AGENT), None));
    let edited = &page["changes"][0];
    assert_eq!((&edited["differences"], &edited["to"]["sizeBytes"]), (&json!(["content"]), &json!(5)));
}

#[test]
fn comparison_starts_nothing_and_changes_no_files() {
    let (fixture, before) = with_changes();
    let files = fixture.world.files(AGENT);
    fixture.run(Operation::Diff, &to_agent(&before)).unwrap();
    assert_eq!(fixture.world.files(AGENT), files);
    fixture.world.end_container(AGENT);
    let error = fixture.run(Operation::Diff, &to_agent(&before)).expect_code(Code::SandboxNotRunning);
    assert!(error.message().contains(AGENT) && error.message().contains("no files to compare"), "{error}");
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn pages_continue_the_list_of_the_first_one() {
    let (fixture, before) = with_changes();
    fixture.world.with_container(&sandbox(AGENT), |container, _| container.listing_part = 100);
    let mut options = to_agent(&before);
    options["limit"] = json!(2);
    let mut found = Vec::new();
    loop {
        let page = fixture.run(Operation::Diff, &options).unwrap();
        found.extend(changes(&page));
        fixture.world.write_file(AGENT, "/workspace/zz-later.txt", "later");
        let Some(cursor) = page.get("cursor") else { break };
        options["cursor"] = cursor.clone();
    }
    assert_eq!(found, CHANGES);
}

#[test]
fn cursor_of_other_files_is_refused() {
    let (fixture, before) = with_changes();
    let mut options = to_agent(&before);
    for cursor in ["c3Jj", "c3Jj.x", "c3Jj.a/b.0", "c3Jj.x.-1", "c3Jj..0"] {
        options["cursor"] = json!(cursor);
        fixture.run(Operation::Diff, &options).expect_code(Code::InvalidArgument);
    }
    let two = json!({ "from": by_ref(&before), "to": by_ref(&before), "cursor": "c3Jj.list.7" });
    fixture.run(Operation::Diff, &two).expect_code(Code::InvalidArgument);
}

#[test]
fn excluded_files_are_not_compared() {
    let fixture = Fixture::with_sandbox();
    let options = json!({ "sandboxId": AGENT, "excludes": ["target"] });
    let before: SnapshotRef = serde_json::from_value(fixture.run(Operation::Snapshot, &options).unwrap()).unwrap();
    fixture.world.write_file(AGENT, "/workspace/target/out", "x");
    assert_eq!(changes(&fixture.run(Operation::Diff, &to_agent(&before)).unwrap()), [] as [String; 0]);
}

#[test]
fn list_that_is_not_sorted_is_not_compared() {
    let (fixture, before) = with_changes();
    let mut options = to_agent(&before);
    options["limit"] = json!(1);
    let page = fixture.run(Operation::Diff, &options).unwrap();
    options["cursor"] = page["cursor"].clone();
    fixture.world.with_container(&sandbox(AGENT), |container, _| container.list_of_files.reverse());
    let error = fixture.run(Operation::Diff, &options).expect_code(Code::SandboxFailed);
    assert!(error.message().contains("can't be listed completely"), "{error}");
}

#[test]
fn replaced_container_is_not_compared() {
    let (fixture, before) = with_changes();
    fixture.world.before(Method::CallFiles).nth(1).run(|world| world.replace_container(AGENT));
    fixture.run(Operation::Diff, &to_agent(&before)).expect_code(Code::SandboxReplaced);
}

#[test]
fn sandbox_of_another_lineage_is_compared_only_with_permission() {
    let (fixture, before) = with_changes();
    fixture.start_sandbox("agent-7");
    fixture.snapshot_labelled("agent-7", "other");
    let mut options = json!({ "from": by_ref(&before), "to": { "sandboxId": "agent-7" } });
    let error = fixture.run(Operation::Diff, &options).expect_code(Code::CrossLineage);
    assert!(error.message().contains("agent-7") && error.message().contains(AGENT), "{error}");
    options["to"]["allowCrossLineage"] = json!(true);
    fixture.run(Operation::Diff, &options).unwrap();
}

#[test]
fn snapshot_of_the_lineage_is_found_by_its_id() {
    let (fixture, before) = Fixture::with_snapshot();
    let restored = fixture.restore(&before).unwrap();
    let id = restored.sandbox_id().as_str();
    fixture.world.write_file(id, "/workspace/new.txt", "new");
    let from = json!({ "sandboxId": id, "snapshotId": before.snapshot_id() });
    let page = fixture.run(Operation::Diff, &json!({ "from": from, "to": { "sandboxId": id } })).unwrap();
    assert_eq!(changes(&page), ["added new.txt"]);
}

#[test]
fn workspace_is_compared_by_its_name_while_it_is_active() {
    let fixture = Fixture::with_stopped_workspace();
    let snapshot = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"].clone();
    let from = json!({ "name": WORKSPACE, "snapshotId": snapshot });
    let options = json!({ "from": from, "to": { "name": WORKSPACE } });
    let error = fixture.run(Operation::Diff, &options).expect_code(Code::SandboxNotRunning);
    assert_eq!(error.remediation(), "Start the workspace \"work\" first.");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, "/workspace/new.txt", "new");
    let record = fixture.record(WORKSPACE);
    let page = fixture.run(Operation::Diff, &options).unwrap();
    assert_eq!((changes(&page), &page["sandboxId"]), (vec!["added new.txt".to_owned()], &json!(id)));
    assert_eq!(fixture.record(WORKSPACE), record, "it does not count as a use of the workspace");
}

#[test]
fn former_sandbox_of_a_workspace_is_named_as_such() {
    let fixture = Fixture::with_stopped_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    let snapshot = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"].clone();
    fixture.revert_workspace(WORKSPACE, &snapshot).unwrap();
    let from = json!({ "name": WORKSPACE, "snapshotId": snapshot });
    let options = json!({ "from": from, "to": { "sandboxId": former } });
    let error = fixture.run(Operation::Diff, &options).expect_code(Code::SandboxNotRunning);
    assert!(error.message().contains("is a former one of the workspace \"work\""), "{error}");
}

#[test]
fn snapshot_and_sandbox_are_distinguished_strictly() {
    let (fixture, before) = with_changes();
    for to in [
        json!({}),
        json!({ "sandboxId": AGENT, "name": WORKSPACE }),
        json!({ "ref": before, "dir": "/workspace" }),
        json!({ "sandboxId": AGENT, "label": "before", "runtime": "container" }),
        json!({ "sandboxId": AGENT, "path": "src" }),
    ] {
        let options = json!({ "from": by_ref(&before), "to": to });
        fixture.run(Operation::Diff, &options).expect_code(Code::InvalidArgument);
    }
    let from = json!({ "from": { "sandboxId": AGENT }, "to": by_ref(&before) });
    fixture.run(Operation::Diff, &from).expect_code(Code::InvalidArgument);
}
