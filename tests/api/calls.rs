//! What each tool asks the service for, and what it answers.

use sandbox_snapshotter::api::tools::call::error_result;
use sandbox_snapshotter::model::tool::ERROR_META;
use sandbox_snapshotter::model::{Code, Error};
use serde_json::{Value, json};

use super::support::{
    FakeOperations, READ_ONLY_TOOLS, TOOL_NAMES, call, checkpoint, expect_error, extended, sandbox_toolset,
    snapshot_ref, summary, workspace_ref,
};

/// What is asked for of its files.
fn files_request(further: Value) -> Value {
    extended(json!({ "sandboxId": "agent-42", "dir": "/workspace/app" }), further)
}

/// What going back to a checkpoint answers.
fn restored_checkpoint() -> Value {
    json!({ "name": "s1", "commit": "9a3f", "changed": ["a.txt"], "changedCount": 1, "before": "4c8d" })
}

/// What comparing with a checkpoint answers.
fn checkpoint_diff() -> Value {
    json!({ "name": "s1", "commit": "9a3f", "diff": "", "sizeBytes": 0, "truncated": false })
}

#[test]
fn a_snapshot_is_taken_of_the_sandbox_that_is_declared() {
    let taken = extended(snapshot_ref(), json!({ "capture": { "durationMs": 5 } }));
    let (result, asked) = call("snapshot", json!({ "label": "before" }), taken);
    assert_eq!(asked, [("snapshot", files_request(json!({ "label": "before" })))]);
    assert_eq!(result.structured_content, Some(json!({ "ref": snapshot_ref() })));
}

#[test]
fn a_snapshot_needs_no_label() {
    let (_, asked) = call("snapshot", json!({}), snapshot_ref());
    assert_eq!(asked, [("snapshot", files_request(json!({})))]);
}

#[test]
fn a_restore_and_a_branch_answer_the_new_workspace() {
    for op in ["restore", "branch"] {
        let (result, asked) = call(op, json!({ "ref": snapshot_ref() }), workspace_ref());
        assert_eq!(asked, [(op, json!({ "ref": snapshot_ref() }))]);
        assert_eq!(result.structured_content, Some(json!({ "ref": workspace_ref() })));
    }
}

#[test]
fn a_delete_answers_whether_there_was_something_to_delete() {
    let answer = json!({ "snapshotId": "snap-abcdefghij012345", "removed": true });
    let (result, asked) = call("delete", json!({ "ref": snapshot_ref() }), answer.clone());
    assert_eq!(asked, [("delete", json!({ "ref": snapshot_ref() }))]);
    assert_eq!(result.structured_content, Some(answer));
}

#[test]
fn a_list_has_20_snapshots_where_the_model_does_not_say() {
    for (arguments, limit) in [(json!({}), 20), (json!({ "limit": 3 }), 3)] {
        let (_, asked) = call("list", arguments, json!({ "snapshots": [] }));
        assert_eq!(asked, [("list", json!({ "sandboxId": "agent-42", "limit": limit }))]);
    }
}

#[test]
fn a_list_has_what_a_model_needs_to_know_of_each_snapshot() {
    let gone = extended(summary("second"), json!({ "restorable": "no", "why": "Its archive is gone." }));
    let page = json!({ "snapshots": [summary("first"), gone], "cursor": "next" });
    let (result, _) = call("list", json!({}), page);
    let shown = |label: &str, restorable: &str| {
        json!({
            "ref": snapshot_ref(), "label": label, "createdAt": "2026-11-20T05:00:00.000Z", "sizeBytes": 4096,
            "pinned": false, "restorable": restorable,
        })
    };
    let second = extended(shown("second", "no"), json!({ "why": "Its archive is gone." }));
    let expected = json!({ "snapshots": [shown("first", "yes"), second], "more": true });
    assert_eq!(result.structured_content, Some(expected));
}

#[test]
fn a_snapshot_that_is_still_being_made_is_not_listed() {
    let mut unfinished = summary("unfinished");
    unfinished.as_object_mut().unwrap().remove("ref");
    let (result, _) = call("list", json!({}), json!({ "snapshots": [unfinished] }));
    assert_eq!(result.structured_content, Some(json!({ "snapshots": [], "more": false })));
}

#[test]
fn checkpoints_are_those_of_the_directory_that_is_declared() {
    let made = checkpoint("s1");
    let listed = json!({ "checkpoints": [made], "more": false });
    let named = json!({ "name": "s1" });
    for (op, operation, arguments, answer) in [
        ("snapshot_create", "create", json!({ "name": "s1", "description": "why" }), made.clone()),
        ("snapshot_create", "create", named.clone(), made.clone()),
        ("snapshot_list", "list", json!({ "limit": 7 }), listed),
        ("snapshot_restore", "restore", named.clone(), restored_checkpoint()),
        ("snapshot_diff", "diff", json!({ "name": "s1", "maxBytes": 100 }), checkpoint_diff()),
        ("snapshot_diff", "diff", named, checkpoint_diff()),
    ] {
        let (result, asked) = call(op, arguments.clone(), answer.clone());
        assert_eq!(asked, [(format!("checkpoints/{operation}").as_str(), files_request(arguments))]);
        assert_eq!(result.structured_content, Some(answer), "{op}");
    }
}

#[test]
fn a_list_of_checkpoints_says_whether_there_are_older_ones() {
    for (arguments, limit) in [(json!({}), 20), (json!({ "limit": 3 }), 3)] {
        let page = json!({ "checkpoints": [checkpoint("s1")], "cursor": "MSBzMQ" });
        let (result, asked) = call("snapshot_list", arguments, page);
        assert_eq!(asked, [("checkpoints/list", files_request(json!({ "limit": limit })))]);
        let expected = json!({ "checkpoints": [checkpoint("s1")], "more": true });
        assert_eq!(result.structured_content, Some(expected));
    }
}

#[test]
fn another_workspace_is_meant_by_its_ref() {
    for (op, arguments, answer) in [
        ("snapshot", json!({}), snapshot_ref()),
        ("list", json!({}), json!({ "snapshots": [] })),
        ("snapshot_create", json!({ "name": "s1" }), checkpoint("s1")),
        ("snapshot_list", json!({}), json!({ "checkpoints": [], "more": false })),
        ("snapshot_restore", json!({ "name": "s1" }), restored_checkpoint()),
        ("snapshot_diff", json!({ "name": "s1" }), checkpoint_diff()),
    ] {
        let (_, asked) = call(op, extended(arguments, json!({ "workspace": workspace_ref() })), answer);
        let [(_, given)] = &asked[..] else { panic!("{op}: {asked:?}") };
        assert_eq!(given["sandboxId"], json!("agent-42-restored-abcd1234"), "{op}");
    }
}

#[test]
fn a_call_with_a_key_makes_things_once() {
    let key = json!({ "idempotencyKey": "turn-17" });
    let toolset = extended(sandbox_toolset(), key.clone());
    for (op, arguments, answer) in [
        ("snapshot", json!({}), snapshot_ref()),
        ("restore", json!({ "ref": snapshot_ref() }), workspace_ref()),
        ("branch", json!({ "ref": snapshot_ref() }), workspace_ref()),
    ] {
        let operations = FakeOperations::with_answers([answer]);
        operations.call(&toolset, &format!("workspace__work__{op}"), arguments).unwrap();
        assert_eq!(operations.calls()[0].1["idempotencyKey"], key["idempotencyKey"], "{op}");
    }
}

#[test]
fn of_several_workspaces_the_one_is_meant_that_is_named() {
    let toolset = json!({ "style": "flat", "workspaces": [
        { "name": "front", "snapshot": true, "sandboxId": "agent-1" },
        { "name": "back", "snapshot": true, "checkpoint": false, "sandboxId": "agent-2" },
    ] });
    let call = |name: &str, arguments: Value| {
        let operations = FakeOperations::with_answers([snapshot_ref()]);
        let outcome = operations.call(&toolset, name, arguments);
        outcome.map(|_| operations.calls()[0].1["sandboxId"].clone())
    };
    assert_eq!(call("workspace_snapshot", json!({ "workspaceName": "front" })).unwrap(), json!("agent-1"));
    assert_eq!(call("workspace_snapshot", json!({ "workspaceName": "back" })).unwrap(), json!("agent-2"));
    for arguments in [json!({}), json!({ "workspaceName": "middle" }), json!({ "workspaceName": "" })] {
        let error = expect_error(call("workspace_snapshot", arguments));
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.remediation().contains(r#""front", "back""#), "{error}");
    }
    // Only one of them has checkpoints: a name would be one too many.
    assert_eq!(call("snapshot_create", json!({ "name": "s1" })).unwrap(), json!("agent-1"));
    let error = expect_error(call("snapshot_create", json!({ "name": "s1", "workspaceName": "back" })));
    assert_eq!(error.code(), Code::InvalidArgument);
}

#[test]
fn a_tool_that_there_is_not_is_refused_by_its_name() {
    let read_only = extended(sandbox_toolset(), json!({ "readOnly": true }));
    let writing = TOOL_NAMES
        .iter()
        .filter(|op| !READ_ONLY_TOOLS.contains(op))
        .map(|op| (&read_only, format!("workspace__work__{op}")));
    let toolset = sandbox_toolset();
    let unknown = ["workspace__other__snapshot", "workspace_snapshot", "WORKSPACE__work__snapshot", "snapshot", ""];
    for (toolset, name) in unknown.iter().map(|name| (&toolset, (*name).to_owned())).chain(writing) {
        let error = expect_error(FakeOperations::default().call(toolset, &name, json!({})));
        assert_eq!(error.code(), Code::ToolNotFound, "{name}");
        assert!(error.message().contains(&format!("{name:?}")), "{error}");
    }
}

#[test]
fn who_may_only_read_may_read() {
    let toolset = extended(sandbox_toolset(), json!({ "readOnly": true }));
    let operations = FakeOperations::with_answers([json!({ "snapshots": [] })]);
    assert!(operations.call(&toolset, "workspace__work__list", json!({})).is_ok());
}

#[test]
fn a_failure_of_the_operation_is_the_tools() {
    let operations = FakeOperations::with_error(Error::new(Code::SnapshotHasDependents, "It is pinned.", "Unpin it."));
    let arguments = json!({ "ref": snapshot_ref() });
    let error = expect_error(operations.call(&sandbox_toolset(), "workspace__work__delete", arguments));
    assert_eq!(error.code(), Code::SnapshotHasDependents);
}

#[test]
fn a_failure_tells_the_model_what_happened_and_what_to_do() {
    let error = Error::new(Code::GitMissing, "There is no git.", "Install it.");
    assert_eq!(
        serde_json::to_value(error_result(&error, "c0ffee")).unwrap(),
        json!({
            "content": [{ "type": "text", "text": "GIT_MISSING: There is no git. Install it." }],
            "isError": true,
            "_meta": { "sandbox-snapshotter/error": {
                "code": "GIT_MISSING", "kind": "unsupported", "message": "There is no git.", "remediation": "Install it.",
                "retryable": false, "correlationId": "c0ffee",
            } },
        })
    );
}

#[test]
fn a_model_is_not_told_of_options_that_it_does_not_have() {
    let only_programs =
        "Pass `replace: true`, `force: true`, `wake: true` or `allowCrossLineage: true`, or create() it.";
    for code in [
        Code::SandboxStarting,
        Code::SandboxNotRunning,
        Code::SandboxReplaced,
        Code::CrossLineage,
        Code::SnapshotHasDependents,
        Code::LabelTaken,
        Code::WorkspaceNotFound,
    ] {
        let result = error_result(&Error::new(code, "It failed.", only_programs), "c0ffee");
        assert!(!result.content[0].text.contains("Pass"), "{}", result.content[0].text);
        assert!(!result.meta.unwrap()[ERROR_META]["remediation"].as_str().unwrap().contains("Pass"), "{code}");
    }
}

#[test]
fn a_model_is_not_told_of_other_peoples_sandboxes() {
    for code in [Code::SnapshotHasDependents, Code::CrossLineage] {
        let result = error_result(&Error::new(code, "It is needed by \"agent-7\".", "Ask \"agent-7\"."), "c0ffee");
        assert!(!serde_json::to_string(&result).unwrap().contains("agent-7"), "{code}");
    }
}
