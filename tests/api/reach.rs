//! What the tools of a workspace reach.

use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::support::{Noted, of_sandbox, refusal, snapshot_ref, with, workspace_ref};

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
fn family() -> Noted {
    Noted::answering([json!({})])
        .made_from("agent-42", "template")
        .made_from("agent-42-branch", "agent-42")
        .made_from("agent-42-branch-branch", "agent-42-branch")
        .made_from("bob", "template")
        .with_name("bob")
        .made_from("bob-branch", "bob")
        .made_from("fork", "agent-42")
        .with_name("fork")
        .made_from("fork-branch", "fork")
}

/// What a call of a tool asks for, if it may.
fn call(family: &Noted, op: &str, arguments: Value) -> Result<usize> {
    family.call(&of_sandbox(), &format!("workspace__work__{op}"), arguments).map(|_| family.asked().len())
}

#[track_caller]
fn refused(op: &str, arguments: Value) {
    let family = family();
    let error = refusal(call(&family, op, arguments));
    assert_eq!(error.code(), Code::CrossSession, "{error}");
    assert!(family.asked().is_empty(), "nothing is asked for");
}

const OF_A_WORKSPACE: [&str; 6] =
    ["snapshot", "list", "snapshot_create", "snapshot_list", "snapshot_restore", "snapshot_diff"];

fn within(op: &str, id: &str) -> Value {
    let named = op.starts_with("snapshot_") && op != "snapshot_list";
    let arguments = if named { json!({ "name": "s1" }) } else { json!({}) };
    with(arguments, json!({ "workspace": workspace(id) }))
}

#[test]
fn what_was_made_from_the_workspace_can_be_worked_in() {
    for id in ["agent-42", "agent-42-branch", "agent-42-branch-branch"] {
        for op in OF_A_WORKSPACE {
            assert_eq!(call(&family(), op, within(op, id)).unwrap(), 1, "{op} in {id}");
        }
    }
}

#[test]
fn what_the_workspace_was_made_from_and_its_other_children_are_out_of_reach() {
    for id in ["template", "bob", "bob-branch", "somebody"] {
        for op in OF_A_WORKSPACE {
            refused(op, within(op, id));
        }
    }
}

#[test]
fn a_workspace_with_a_name_is_nobody_elses_whatever_it_was_made_from() {
    for id in ["fork", "fork-branch"] {
        for op in OF_A_WORKSPACE {
            refused(op, within(op, id));
        }
    }
}

#[test]
fn snapshots_of_the_workspace_and_of_what_it_was_made_from_can_be_restored() {
    for id in ["agent-42", "agent-42-branch", "template"] {
        for op in ["restore", "branch"] {
            assert_eq!(call(&family(), op, json!({ "ref": snapshot_of(id) })).unwrap(), 1, "{op} of {id}");
        }
    }
}

#[test]
fn snapshots_of_other_workspaces_cant_be_restored() {
    for id in ["bob", "bob-branch", "fork", "somebody"] {
        for op in ["restore", "branch"] {
            refused(op, json!({ "ref": snapshot_of(id) }));
        }
    }
}

#[test]
fn snapshots_of_others_cant_be_deleted() {
    assert!(call(&family(), "delete", json!({ "ref": snapshot_of("agent-42-branch") })).is_ok());
    for id in ["template", "bob", "fork", "somebody"] {
        refused("delete", json!({ "ref": snapshot_of(id) }));
    }
}

#[test]
fn everything_is_in_reach_where_that_is_declared() {
    let toolset = json!({ "workspaces": [
        { "name": "work", "snapshot": true, "sandboxId": "agent-42", "allowCrossSession": true },
    ] });
    for (op, arguments) in [
        ("restore", json!({ "ref": snapshot_of("bob") })),
        ("delete", json!({ "ref": snapshot_of("bob") })),
        ("snapshot", json!({ "workspace": workspace("bob") })),
    ] {
        assert!(family().call(&toolset, &format!("workspace__work__{op}"), arguments).is_ok(), "{op}");
    }
}

#[test]
fn refs_of_others_are_told_from_ours() {
    let mut foreign = workspace("agent-42");
    foreign["providerId"] = json!("e2b");
    let error = refusal(call(&family(), "snapshot", json!({ "workspace": foreign })));
    assert_eq!(error.code(), Code::ForeignRef);
    let mut later = workspace("agent-42");
    later["schemaVersion"] = json!(9);
    let error = refusal(call(&family(), "snapshot", json!({ "workspace": later })));
    assert_eq!(error.code(), Code::UnsupportedRefVersion);
    let error = refusal(call(&family(), "snapshot", json!({ "workspace": { "ref": {} } })));
    assert_eq!(error.code(), Code::InvalidRef);
}
