//! The sandboxes and snapshots that the tools of a workspace may use.

use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::support::{
    FakeOperations, expect_error, extended, named_toolset, sandbox_toolset, snapshot_ref, workspace_ref,
};

/// The ref of a snapshot of a sandbox.
fn snapshot_of(id: &str) -> Value {
    let mut snapshot = snapshot_ref();
    snapshot["ref"]["originId"] = json!(id);
    snapshot
}

/// The ref of a sandbox. Its root is not checked.
fn workspace(id: &str) -> Value {
    let mut workspace = workspace_ref();
    workspace["ref"]["sandboxId"] = json!(id);
    workspace
}

/// A lineage: `agent-42` (the sandbox of the tools) and `bob` (a named workspace) were made from `template`, and other
/// sandboxes from these two.
fn lineage_operations() -> FakeOperations {
    FakeOperations::with_answers([json!({})])
        .with_parent("agent-42", "template")
        .with_parent("agent-42-branch", "agent-42")
        .with_parent("agent-42-branch-branch", "agent-42-branch")
        .with_parent("bob", "template")
        .with_named_sandbox("bob")
        .with_parent("bob-branch", "bob")
        .with_parent("fork", "agent-42")
        .with_named_sandbox("fork")
        .with_parent("fork-branch", "fork")
}

/// Calls a tool, and returns the number of operations that it called.
fn call_tool(operations: &FakeOperations, op: &str, arguments: Value) -> Result<usize> {
    operations.call(&sandbox_toolset(), &format!("workspace__work__{op}"), arguments).map(|_| operations.calls().len())
}

#[track_caller]
fn assert_refused(op: &str, arguments: Value) {
    let operations = lineage_operations();
    let error = expect_error(call_tool(&operations, op, arguments));
    assert_eq!(error.code(), Code::CrossLineage, "{error}");
    assert!(operations.calls().is_empty(), "no operation is called");
}

const WORKSPACE_TOOLS: [&str; 6] =
    ["snapshot", "list", "snapshot_create", "snapshot_list", "snapshot_restore", "snapshot_diff"];

fn in_sandbox(op: &str, id: &str) -> Value {
    let named = op.starts_with("snapshot_") && op != "snapshot_list";
    let arguments = if named { json!({ "name": "s1" }) } else { json!({}) };
    extended(arguments, json!({ "workspace": workspace(id) }))
}

#[test]
fn sandboxes_derived_from_the_workspace_are_in_scope() {
    for id in ["agent-42", "agent-42-branch", "agent-42-branch-branch"] {
        for op in WORKSPACE_TOOLS {
            assert_eq!(call_tool(&lineage_operations(), op, in_sandbox(op, id)).unwrap(), 1, "{op} in {id}");
        }
    }
}

#[test]
fn ancestors_and_siblings_are_out_of_scope() {
    for id in ["template", "bob", "bob-branch", "unrelated"] {
        for op in WORKSPACE_TOOLS {
            assert_refused(op, in_sandbox(op, id));
        }
    }
}

#[test]
fn named_workspaces_are_out_of_scope_whatever_they_were_made_from() {
    for id in ["fork", "fork-branch"] {
        for op in WORKSPACE_TOOLS {
            assert_refused(op, in_sandbox(op, id));
        }
    }
}

#[test]
fn snapshots_of_the_workspace_and_its_ancestors_can_be_restored() {
    for id in ["agent-42", "agent-42-branch", "template"] {
        for op in ["restore", "branch"] {
            assert_eq!(
                call_tool(&lineage_operations(), op, json!({ "ref": snapshot_of(id) })).unwrap(),
                1,
                "{op} of {id}"
            );
        }
    }
}

#[test]
fn snapshots_of_other_workspaces_cannot_be_restored() {
    for id in ["bob", "bob-branch", "fork", "unrelated"] {
        for op in ["restore", "branch"] {
            assert_refused(op, json!({ "ref": snapshot_of(id) }));
        }
    }
}

#[test]
fn snapshots_of_ancestors_and_other_workspaces_cannot_be_deleted() {
    assert!(call_tool(&lineage_operations(), "delete", json!({ "ref": snapshot_of("agent-42-branch") })).is_ok());
    for id in ["template", "bob", "fork", "unrelated"] {
        assert_refused("delete", json!({ "ref": snapshot_of(id) }));
    }
}

#[test]
fn allow_cross_lineage_removes_the_limits_of_the_scope() {
    let toolset = json!({ "workspaces": [
        { "name": "work", "snapshot": true, "sandboxId": "agent-42", "allowCrossLineage": true },
    ] });
    for (op, arguments) in [
        ("restore", json!({ "ref": snapshot_of("bob") })),
        ("delete", json!({ "ref": snapshot_of("bob") })),
        ("snapshot", json!({ "workspace": workspace("bob") })),
    ] {
        assert!(lineage_operations().call(&toolset, &format!("workspace__work__{op}"), arguments).is_ok(), "{op}");
    }
}

#[test]
fn foreign_later_and_malformed_refs_are_distinguished() {
    let mut foreign = workspace("agent-42");
    foreign["providerId"] = json!("e2b");
    let error = expect_error(call_tool(&lineage_operations(), "snapshot", json!({ "workspace": foreign })));
    assert_eq!(error.code(), Code::ForeignRef);
    let mut later = workspace("agent-42");
    later["schemaVersion"] = json!(9);
    let error = expect_error(call_tool(&lineage_operations(), "snapshot", json!({ "workspace": later })));
    assert_eq!(error.code(), Code::UnsupportedRefVersion);
    let error = expect_error(call_tool(&lineage_operations(), "snapshot", json!({ "workspace": { "ref": {} } })));
    assert_eq!(error.code(), Code::InvalidRef);
}

#[test]
fn snapshot_of_the_scope_is_selected_by_its_id_alone() {
    let operations = FakeOperations::with_answers([workspace_ref()]).with_snapshot("snap-aaaaaaaaaaaaaaaa", "agent-42");
    call_tool(&operations, "restore", json!({ "ref": "snap-aaaaaaaaaaaaaaaa" })).unwrap();
    let selection = json!({ "sandboxId": "agent-42", "snapshotId": "snap-aaaaaaaaaaaaaaaa" });
    assert_eq!(operations.calls(), [("restore", selection)]);
}

#[test]
fn snapshot_of_a_named_workspace_is_selected_by_its_label() {
    let workspace =
        json!({ "state": "active", "sandboxId": "project-2", "formerSandboxIds": ["project-1"], "dir": "/app" });
    let operations = FakeOperations::with_answers([workspace, workspace_ref()]);
    let arguments = json!({ "ref": "before the upgrade" });
    operations.call(&named_toolset(), "workspace__work__restore", arguments).unwrap();
    let selection = json!({ "name": "project", "tenant": "acme", "label": "before the upgrade" });
    assert_eq!(operations.calls().last(), Some(&("restore", selection)));
}

#[test]
fn snapshot_of_a_sandbox_is_selected_by_its_label() {
    let operations = FakeOperations::with_answers([workspace_ref()]);
    call_tool(&operations, "branch", json!({ "ref": "before" })).unwrap();
    assert_eq!(operations.calls(), [("branch", json!({ "sandboxId": "agent-42", "label": "before" }))]);
}

#[test]
fn snapshot_is_not_deleted_by_its_label_which_may_mean_another_one_when_the_call_is_repeated() {
    let operations = FakeOperations::with_answers([]);
    let error = expect_error(call_tool(&operations, "delete", json!({ "ref": "before" })));
    assert_eq!(error.code(), Code::InvalidRef);
    assert!(operations.calls().is_empty(), "no operation is called");
}

#[test]
fn snapshot_outside_the_scope_is_refused_by_its_id_alone() {
    let operations = lineage_operations().with_snapshot("snap-bbbbbbbbbbbbbbbb", "bob");
    let error = expect_error(call_tool(&operations, "restore", json!({ "ref": "snap-bbbbbbbbbbbbbbbb" })));
    assert_eq!(error.code(), Code::CrossLineage);
    let error = expect_error(call_tool(&operations, "restore", json!({ "ref": "snap-cccccccccccccccc" })));
    assert_eq!(error.code(), Code::SnapshotNotFound);
    assert!(operations.calls().is_empty(), "no operation is called");
}
