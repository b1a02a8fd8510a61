//! What the tools of a workspace reach.

use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::support::{FakeOperations, expect_error, extended, sandbox_toolset, snapshot_ref, workspace_ref};

/// The ref of a snapshot of a sandbox.
fn snapshot_of(id: &str) -> Value {
    let mut snapshot = snapshot_ref();
    snapshot["ref"]["originId"] = json!(id);
    snapshot
}

/// The ref of a sandbox, in whatever lineage it claims to be.
fn workspace(id: &str) -> Value {
    let mut workspace = workspace_ref();
    workspace["ref"]["sandboxId"] = json!(id);
    workspace
}

/// A family: a template, of which the sandbox of the tools was made, and another one with a name; and children of both.
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

/// What a call of a tool asks for, if it may.
fn call_tool(family: &FakeOperations, op: &str, arguments: Value) -> Result<usize> {
    family.call(&sandbox_toolset(), &format!("workspace__work__{op}"), arguments).map(|_| family.calls().len())
}

#[track_caller]
fn assert_refused(op: &str, arguments: Value) {
    let family = lineage_operations();
    let error = expect_error(call_tool(&family, op, arguments));
    assert_eq!(error.code(), Code::CrossLineage, "{error}");
    assert!(family.calls().is_empty(), "nothing is asked for");
}

const WORKSPACE_TOOLS: [&str; 6] =
    ["snapshot", "list", "snapshot_create", "snapshot_list", "snapshot_restore", "snapshot_diff"];

fn in_sandbox(op: &str, id: &str) -> Value {
    let named = op.starts_with("snapshot_") && op != "snapshot_list";
    let arguments = if named { json!({ "name": "s1" }) } else { json!({}) };
    extended(arguments, json!({ "workspace": workspace(id) }))
}

#[test]
fn what_was_made_from_the_workspace_can_be_worked_in() {
    for id in ["agent-42", "agent-42-branch", "agent-42-branch-branch"] {
        for op in WORKSPACE_TOOLS {
            assert_eq!(call_tool(&lineage_operations(), op, in_sandbox(op, id)).unwrap(), 1, "{op} in {id}");
        }
    }
}

#[test]
fn what_the_workspace_was_made_from_and_its_other_children_are_out_of_reach() {
    for id in ["template", "bob", "bob-branch", "somebody"] {
        for op in WORKSPACE_TOOLS {
            assert_refused(op, in_sandbox(op, id));
        }
    }
}

#[test]
fn a_workspace_with_a_name_is_nobody_elses_whatever_it_was_made_from() {
    for id in ["fork", "fork-branch"] {
        for op in WORKSPACE_TOOLS {
            assert_refused(op, in_sandbox(op, id));
        }
    }
}

#[test]
fn snapshots_of_the_workspace_and_of_what_it_was_made_from_can_be_restored() {
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
fn snapshots_of_other_workspaces_cant_be_restored() {
    for id in ["bob", "bob-branch", "fork", "somebody"] {
        for op in ["restore", "branch"] {
            assert_refused(op, json!({ "ref": snapshot_of(id) }));
        }
    }
}

#[test]
fn snapshots_of_others_cant_be_deleted() {
    assert!(call_tool(&lineage_operations(), "delete", json!({ "ref": snapshot_of("agent-42-branch") })).is_ok());
    for id in ["template", "bob", "fork", "somebody"] {
        assert_refused("delete", json!({ "ref": snapshot_of(id) }));
    }
}

#[test]
fn everything_is_in_reach_where_that_is_declared() {
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
fn refs_of_others_are_told_from_ours() {
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
