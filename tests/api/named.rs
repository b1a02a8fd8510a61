//! The tools of a named workspace. Each call first reads which sandbox the workspace has.

use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use super::any_error::error;
use super::support::{
    FakeOperations, TOOL_NAMES, checkpoint, expect_error, extended, named_toolset, snapshot_ref, summary, workspace_ref,
};

fn workspace_answer(state: &str, former: &[&str]) -> Value {
    json!({
        "name": "project", "tenant": "acme", "state": state, "sandboxId": "project-3", "formerSandboxIds": former,
        "dir": "/workspace/app",
    })
}

fn snapshot_page(labels: &[&str]) -> Value {
    json!({ "snapshots": labels.iter().map(|label| summary(label)).collect::<Vec<_>>() })
}

/// The first call of each tool.
fn describe_call() -> (&'static str, Value) {
    ("workspaces/getByName", json!({ "name": "project", "tenant": "acme" }))
}

/// Lists snapshots. Returns the sandbox and limit of each call, the labels of the result, and whether it reports more.
fn list_snapshots(limit: Value, former: &[&str], pages: &[Value]) -> (Vec<(Value, Value)>, Vec<Value>, Value) {
    let operations =
        FakeOperations::with_answers([workspace_answer("active", former)].into_iter().chain(pages.iter().cloned()));
    let result =
        operations.call(&named_toolset(), "workspace__work__list", Value::from_iter([("limit", limit)])).unwrap();
    let calls = operations.calls().into_iter().skip(1);
    let calls = calls.map(|(_, given)| (given["sandboxId"].clone(), given["limit"].clone())).collect();
    let answer = result.structured_content.unwrap();
    let labels = answer["snapshots"].as_array().unwrap().iter().map(|shown| shown["label"].clone()).collect();
    (calls, labels, answer["more"].clone())
}

#[test]
fn tools_use_the_current_sandbox() {
    let operations = FakeOperations::with_answers([workspace_answer("active", &[]), snapshot_ref()]);
    operations.call(&named_toolset(), "workspace__work__snapshot", json!({})).unwrap();
    let taken = json!({ "sandboxId": "project-3", "dir": "/workspace/app" });
    assert_eq!(operations.calls(), [describe_call(), ("snapshot", taken)]);
}

#[test]
fn workspace_name_defaults_to_the_name_of_the_tools() {
    let toolset = json!({ "workspaces": [{ "name": "work", "snapshot": true }] });
    let operations = FakeOperations::with_answers([workspace_answer("active", &[]), snapshot_ref()]);
    operations.call(&toolset, "workspace__work__snapshot", json!({})).unwrap();
    let address = json!({ "name": "work", "tenant": "default" });
    assert_eq!(operations.calls()[0], ("workspaces/getByName", address));
}

#[test]
fn tools_on_files_require_a_started_workspace() {
    for state in ["provisioning", "stopping", "stopped", "restoring", "failed"] {
        for op in TOOL_NAMES.iter().filter(|op| op.starts_with("snapshot")) {
            let operations = FakeOperations::with_answers([workspace_answer(state, &[])]);
            let arguments =
                if op.contains('_') && *op != "snapshot_list" { json!({ "name": "s1" }) } else { json!({}) };
            let error = expect_error(operations.call(&named_toolset(), &format!("workspace__work__{op}"), arguments));
            assert_eq!(error.code(), Code::SandboxNotRunning, "{op} while {state}");
            assert_eq!(operations.calls(), [describe_call()], "{op} while {state}");
        }
    }
}

#[test]
fn snapshots_of_a_stopped_workspace_can_be_used() {
    for (op, arguments, answer) in [
        ("list", json!({ "limit": 1 }), snapshot_page(&["last"])),
        ("restore", json!({ "ref": snapshot_ref() }), workspace_ref()),
        ("branch", json!({ "ref": snapshot_ref() }), workspace_ref()),
        ("delete", json!({ "ref": snapshot_ref() }), json!({})),
        ("snapshot", json!({ "workspace": workspace_ref() }), snapshot_ref()),
        ("snapshot_create", json!({ "name": "s1", "workspace": workspace_ref() }), checkpoint("s1")),
    ] {
        let operations = FakeOperations::with_answers([workspace_answer("stopped", &["agent-42"]), answer]);
        operations.call(&named_toolset(), &format!("workspace__work__{op}"), arguments).unwrap();
        assert_eq!(operations.calls().len(), 2, "{op}");
    }
}

#[test]
fn missing_workspace_is_not_found() {
    let operations = FakeOperations::with_error(error(Code::WorkspaceNotFound, "There is none.", "Create it."));
    let error = expect_error(operations.call(&named_toolset(), "workspace__work__list", json!({})));
    assert_eq!(error.code(), Code::WorkspaceNotFound);
}

#[test]
fn list_includes_snapshots_of_former_sandboxes() {
    let pages = [snapshot_page(&["now"]), snapshot_page(&["before", "still before"]), snapshot_page(&["first"])];
    let (calls, labels, more) = list_snapshots(json!(null), &["project-2", "project-1"], &pages);
    assert_eq!(
        calls,
        [(json!("project-3"), json!(20)), (json!("project-2"), json!(19)), (json!("project-1"), json!(17))]
    );
    assert_eq!(labels, ["now", "before", "still before", "first"]);
    assert_eq!(more, json!(false));
}

#[test]
fn list_reads_no_more_snapshots_than_requested() {
    let (calls, labels, more) = list_snapshots(json!(1), &["project-2"], &[snapshot_page(&["now"])]);
    assert_eq!(calls, [(json!("project-3"), json!(1))]);
    assert_eq!((labels, more), (vec![json!("now")], json!(true)));
}

#[test]
fn list_skips_former_sandboxes_while_the_current_one_has_more() {
    let first = extended(snapshot_page(&["now"]), json!({ "cursor": "next" }));
    let (calls, labels, more) = list_snapshots(json!(5), &["project-2"], &[first]);
    assert_eq!(calls.len(), 1);
    assert_eq!((labels, more), (vec![json!("now")], json!(true)));
}

#[test]
fn list_of_another_workspace_includes_only_its_sandbox() {
    let operations = FakeOperations::with_answers([
        workspace_answer("active", &["project-2", "agent-42"]),
        snapshot_page(&["there"]),
    ]);
    operations.call(&named_toolset(), "workspace__work__list", json!({ "workspace": workspace_ref() })).unwrap();
    let calls = operations.calls();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].1["sandboxId"], json!("agent-42-restored-abcd1234"));
}
