//! The operations that each tool calls, and the results of the tools.

use sandbox_snapshotter::api::tools::call::error_result;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::tool::ERROR_META;
use serde_json::{Value, json};

use super::any_error::error;
use super::support::{
    FakeOperations, READ_ONLY_TOOLS, TOOL_NAMES, call, checkpoint, expect_error, extended, sandbox_toolset,
    snapshot_ref, summary, workspace_ref,
};

/// The options of an operation on the declared directory, with others.
fn files_request(others: Value) -> Value {
    extended(json!({ "sandboxId": "agent-42", "dir": "/workspace/app" }), others)
}

/// The answer of a checkpoint's restore.
fn restored_checkpoint() -> Value {
    json!({ "name": "s1", "commit": "9a3f", "changed": ["a.txt"], "changedCount": 1, "before": "4c8d" })
}

/// The answer of a checkpoint's diff.
fn checkpoint_diff() -> Value {
    json!({ "name": "s1", "commit": "9a3f", "diff": "", "sizeBytes": 0, "truncated": false })
}

#[test]
fn snapshot_captures_the_declared_sandbox() {
    let taken = extended(snapshot_ref(), json!({ "capture": { "durationMs": 5 } }));
    let (result, calls) = call("snapshot", json!({ "label": "before" }), taken);
    assert_eq!(calls, [("snapshot", files_request(json!({ "label": "before" })))]);
    assert_eq!(result.structured_content, Some(json!({ "ref": snapshot_ref() })));
}

#[test]
fn snapshot_needs_no_label() {
    let (_, calls) = call("snapshot", json!({}), snapshot_ref());
    assert_eq!(calls, [("snapshot", files_request(json!({})))]);
}

#[test]
fn restore_and_branch_return_the_new_workspace() {
    for op in ["restore", "branch"] {
        let (result, calls) = call(op, json!({ "ref": snapshot_ref() }), workspace_ref());
        assert_eq!(calls, [(op, json!({ "ref": snapshot_ref() }))]);
        assert_eq!(result.structured_content, Some(json!({ "ref": workspace_ref() })));
    }
}

#[test]
fn delete_returns_whether_the_snapshot_existed() {
    let answer = json!({ "snapshotId": "snap-abcdefghij012345", "removed": true });
    let (result, calls) = call("delete", json!({ "ref": snapshot_ref() }), answer.clone());
    assert_eq!(calls, [("delete", json!({ "ref": snapshot_ref() }))]);
    assert_eq!(result.structured_content, Some(answer));
}

#[test]
fn list_returns_20_snapshots_by_default() {
    for (arguments, limit) in [(json!({}), 20), (json!({ "limit": 3 }), 3)] {
        let (_, calls) = call("list", arguments, json!({ "snapshots": [] }));
        assert_eq!(calls, [("list", json!({ "sandboxId": "agent-42", "limit": limit }))]);
    }
}

#[test]
fn list_returns_the_fields_that_a_model_needs() {
    let unrestorable = extended(summary("second"), json!({ "restorable": "no", "why": "Its archive is gone." }));
    let page = json!({ "snapshots": [summary("first"), unrestorable], "cursor": "next" });
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
fn unfinished_snapshot_is_not_listed() {
    let mut unfinished = summary("unfinished");
    unfinished.as_object_mut().unwrap().remove("ref");
    let (result, _) = call("list", json!({}), json!({ "snapshots": [unfinished] }));
    assert_eq!(result.structured_content, Some(json!({ "snapshots": [], "more": false })));
}

#[test]
fn checkpoint_tools_use_the_declared_directory() {
    let created = checkpoint("s1");
    let listed = json!({ "checkpoints": [created], "more": false });
    let named = json!({ "name": "s1" });
    for (op, operation, arguments, answer) in [
        ("snapshot_create", "create", json!({ "name": "s1", "description": "why" }), created.clone()),
        ("snapshot_create", "create", named.clone(), created.clone()),
        ("snapshot_list", "list", json!({ "limit": 7 }), listed),
        ("snapshot_restore", "restore", named.clone(), restored_checkpoint()),
        ("snapshot_diff", "diff", json!({ "name": "s1", "maxBytes": 100 }), checkpoint_diff()),
        ("snapshot_diff", "diff", named, checkpoint_diff()),
    ] {
        let (result, calls) = call(op, arguments.clone(), answer.clone());
        assert_eq!(calls, [(format!("checkpoints/{operation}").as_str(), files_request(arguments))]);
        assert_eq!(result.structured_content, Some(answer), "{op}");
    }
}

#[test]
fn list_of_checkpoints_returns_whether_older_ones_exist() {
    for (arguments, limit) in [(json!({}), 20), (json!({ "limit": 3 }), 3)] {
        let page = json!({ "checkpoints": [checkpoint("s1")], "cursor": "MSBzMQ" });
        let (result, calls) = call("snapshot_list", arguments, page);
        assert_eq!(calls, [("checkpoints/list", files_request(json!({ "limit": limit })))]);
        let expected = json!({ "checkpoints": [checkpoint("s1")], "more": true });
        assert_eq!(result.structured_content, Some(expected));
    }
}

#[test]
fn workspace_ref_selects_another_workspace() {
    for (op, arguments, answer) in [
        ("snapshot", json!({}), snapshot_ref()),
        ("list", json!({}), json!({ "snapshots": [] })),
        ("snapshot_create", json!({ "name": "s1" }), checkpoint("s1")),
        ("snapshot_list", json!({}), json!({ "checkpoints": [], "more": false })),
        ("snapshot_restore", json!({ "name": "s1" }), restored_checkpoint()),
        ("snapshot_diff", json!({ "name": "s1" }), checkpoint_diff()),
    ] {
        let (_, calls) = call(op, extended(arguments, json!({ "workspace": workspace_ref() })), answer);
        let [(_, given)] = &calls[..] else { panic!("{op}: {calls:?}") };
        assert_eq!(given["sandboxId"], json!("agent-42-restored-abcd1234"), "{op}");
    }
}

#[test]
fn idempotency_key_is_passed_to_creating_operations() {
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
fn workspace_name_selects_one_of_several_workspaces() {
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
    // Only one of them has checkpoints, so the tool takes no name.
    assert_eq!(call("snapshot_create", json!({ "name": "s1" })).unwrap(), json!("agent-1"));
    let error = expect_error(call("snapshot_create", json!({ "name": "s1", "workspaceName": "back" })));
    assert_eq!(error.code(), Code::InvalidArgument);
}

#[test]
fn unknown_tool_is_refused_by_its_name() {
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
fn read_only_toolset_can_read() {
    let toolset = extended(sandbox_toolset(), json!({ "readOnly": true }));
    let operations = FakeOperations::with_answers([json!({ "snapshots": [] })]);
    assert!(operations.call(&toolset, "workspace__work__list", json!({})).is_ok());
}

#[test]
fn failure_of_the_operation_is_returned_by_the_tool() {
    let operations = FakeOperations::with_error(error(Code::SnapshotHasDependents, "It is pinned.", "Unpin it."));
    let arguments = json!({ "ref": snapshot_ref() });
    let error = expect_error(operations.call(&sandbox_toolset(), "workspace__work__delete", arguments));
    assert_eq!(error.code(), Code::SnapshotHasDependents);
}

#[test]
fn error_result_contains_message_and_remediation() {
    let error = error(Code::GitMissing, "There is no git.", "Install it.");
    assert_eq!(
        serde_json::to_value(error_result(&error, "c0ffee")).unwrap(),
        json!({
            "content": [{ "type": "text", "text": "GIT_MISSING: There is no git. → Install it." }],
            "isError": true,
            "_meta": { "sandbox-snapshotter/error": {
                "code": "GIT_MISSING", "kind": "unsupported", "message": "There is no git.", "remediation": "Install it.",
                "retryable": false, "correlationId": "c0ffee",
            } },
        })
    );
}

#[test]
fn error_result_omits_options_that_models_lack() {
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
        let result = error_result(&error(code, "It failed.", only_programs), "c0ffee");
        assert!(!result.content[0].text.contains("Pass"), "{}", result.content[0].text);
        assert!(!result.meta.unwrap()[ERROR_META]["remediation"].as_str().unwrap().contains("Pass"), "{code}");
    }
}

#[test]
fn error_result_omits_ids_of_other_sandboxes() {
    for code in [Code::SnapshotHasDependents, Code::CrossLineage] {
        let result = error_result(&error(code, "It is needed by \"agent-7\".", "Ask \"agent-7\"."), "c0ffee");
        assert!(!serde_json::to_string(&result).unwrap().contains("agent-7"), "{code}");
    }
}

#[test]
fn whole_answer_about_a_snapshot_is_accepted_by_the_next_tool() {
    let taken = extended(snapshot_ref(), json!({ "shortRef": "snap_YWdlbnQtNDI.abcdefghij012345.1.x" }));
    let (result, _) = call("snapshot", json!({}), taken);
    let answer = result.structured_content.unwrap();
    assert!(answer["shortRef"].is_string());
    for op in ["restore", "branch"] {
        let (_, calls) = call(op, answer.clone(), workspace_ref());
        assert_eq!(calls, [(op, json!({ "ref": snapshot_ref() }))]);
    }
    let deleted = json!({ "snapshotId": "snap-abcdefghij012345", "removed": true });
    assert_eq!(call("delete", answer, deleted).1, [("delete", json!({ "ref": snapshot_ref() }))]);
}
