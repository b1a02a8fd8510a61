//! The client retries calls where repeating them is safe.

use std::time::Duration;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter_client::{Client, HttpResponse, Result, RetryPolicy, TransportError};
use serde_json::{Value, json};

use super::fake_transport::{FakeTransport, error_reply, lost_reply, ok_reply};
use super::in_memory::run_ready;

/// Operations that take an idempotency key.
const KEYED_OPERATIONS: [Operation; 9] = [
    Operation::Snapshot,
    Operation::Restore,
    Operation::Branch,
    Operation::Revive,
    Operation::CreateWorkspace,
    Operation::GetOrCreateWorkspace,
    Operation::ForkWorkspace,
    Operation::PromoteWorkspace,
    Operation::CallTool,
];

/// Operations that change a snapshot, by ref, id or label.
const SNAPSHOT_OPERATIONS: [Operation; 4] = [Operation::Label, Operation::Pin, Operation::Unpin, Operation::Delete];

/// Calls that are not safe to repeat.
fn unsafe_calls() -> Vec<(Operation, Value)> {
    let by_label = json!({ "sandboxId": "agent-42", "label": "before", "ref": null });
    let tool = |name: &str| (Operation::CallTool, json!({ "name": name }));
    let others = [
        (Operation::RestoreFiles, json!({})),
        (Operation::Exec, json!({ "sandboxId": "agent-42", "command": "npm publish" })),
        (Operation::StartCommand, json!({ "sandboxId": "agent-42", "command": "npm publish" })),
        (Operation::RotateKey, json!({ "sandboxId": "agent-42" })),
        (Operation::CreateToken, json!({ "permissions": ["read"] })),
        (Operation::UpdateWorkspace, json!({ "name": "work", "currentSnapshotId": "snap-abcdefghij012345" })),
        (Operation::DeleteWorkspace, json!({ "name": "work" })),
        (Operation::RestoreCheckpoint, json!({ "sandboxId": "agent-42", "name": "s1" })),
        tool("snapshot_restore"),
        tool("workspace__code__snapshot_restore"),
        tool("workspace__code__exec"),
        tool("workspace_exec"),
        tool("workspace__code__start_command"),
        tool("workspace_start_command"),
        tool("workspace__code__write_file"),
        tool("workspace_write_file"),
        (Operation::WriteFile, json!({ "sandboxId": "agent-42", "path": "a", "content": "" })),
        (Operation::MoveFile, json!({ "sandboxId": "agent-42", "path": "a", "to": "b" })),
        (Operation::RemoveFile, json!({ "sandboxId": "agent-42", "path": "a" })),
    ];
    others.into_iter().chain(SNAPSHOT_OPERATIONS.map(|operation| (operation, by_label.clone()))).collect()
}

/// Calls of the same operations that are safe to repeat.
fn safe_calls() -> Vec<(Operation, Value)> {
    let by_id = json!({ "sandboxId": "agent-42", "snapshotId": "snap-abcdefghij012345" });
    let selectors = [json!({ "ref": {} }), by_id];
    let selected =
        selectors.iter().flat_map(|selector| SNAPSHOT_OPERATIONS.map(|operation| (operation, selector.clone())));
    let others = [
        (Operation::UpdateWorkspace, json!({ "name": "work", "persistent": true })),
        (Operation::CallTool, json!({ "name": "workspace__code__restore" })),
        (Operation::CallTool, json!({ "name": "workspace__snapshot_restore__list" })),
    ];
    others.into_iter().chain(selected).collect()
}

/// Makes a call that receives these replies.
fn call_with_replies(
    operation: &str,
    options: Value,
    replies: Vec<Result<HttpResponse, TransportError>>,
) -> (Result<Value>, FakeTransport) {
    let transport = FakeTransport::new(replies);
    let outcome = run_ready(async { Client::new(&transport).call(operation, options).await });
    (outcome, transport)
}

fn ok() -> Result<HttpResponse, TransportError> {
    ok_reply(&json!({ "done": true }))
}

#[test]
fn transient_failure_is_retried() {
    let (outcome, transport) =
        call_with_replies("get", json!({}), vec![error_reply("STORAGE_UNAVAILABLE", "transient"), ok()]);
    assert_eq!(outcome.unwrap(), json!({ "done": true }));
    assert_eq!(transport.calls().len(), 2);
}

#[test]
fn permanent_failure_is_not_retried() {
    for (code, kind) in [("SNAPSHOT_NOT_FOUND", "not_found"), ("LABEL_TAKEN", "conflict"), ("FROZEN", "permanent")] {
        let (outcome, _) = call_with_replies("get", json!({}), vec![error_reply(code, kind)]);
        assert_eq!(outcome.unwrap_err().code().as_str(), code);
    }
}

#[test]
fn aborted_call_is_not_retried() {
    let aborted = call_with_replies("get", json!({}), vec![Err(TransportError::Aborted)]).0.unwrap_err();
    assert!(
        aborted.retryable() && aborted.remediation().starts_with("Repeat the call if you still need it"),
        "{aborted}"
    );
    call_with_replies("get", json!({}), vec![error_reply("ABORTED", "transient")]).0.unwrap_err();
}

#[test]
fn call_is_made_at_most_four_times_with_growing_waits() {
    let (outcome, transport) =
        call_with_replies("get", json!({}), vec![lost_reply(), lost_reply(), lost_reply(), lost_reply()]);
    assert_eq!(outcome.unwrap_err().code().as_str(), "ANSWER_LOST");
    assert_eq!(transport.sleeps(), [100, 200, 400].map(Duration::from_millis));
}

#[test]
fn call_without_an_answer_is_not_reported_as_unreachable() {
    for (first, code) in [
        (lost_reply(), "ANSWER_LOST"),
        (error_reply("WORKSPACE_UNAVAILABLE", "conflict"), "WORKSPACE_UNAVAILABLE"),
        (error_reply("SANDBOX_BUSY", "transient"), "SERVICE_UNREACHABLE"),
    ] {
        let unreachable = || Err(TransportError::Unreachable("no server".into()));
        let replies = vec![first, unreachable(), unreachable(), unreachable()];
        let error = call_with_replies("restore", json!({}), replies).0.unwrap_err();
        assert_eq!(error.code().as_str(), code);
        assert!(error.message().ends_with("The snapshotter could not be reached: no server."), "{error}");
        assert_eq!(error.remediation().contains("Nothing was done"), code == "SERVICE_UNREACHABLE", "{error}");
    }
}

#[test]
fn wait_is_limited_to_the_maximum() {
    let transport = FakeTransport::new((0..8).map(|_| lost_reply()));
    let retry = RetryPolicy { attempts: 8, base_delay: Duration::from_secs(1), max_delay: Duration::from_secs(5) };
    run_ready(async { Client::new(&transport).with_retry(retry).call("get", json!({})).await }).unwrap_err();
    assert_eq!(transport.sleeps(), [1, 2, 4, 5, 5, 5, 5].map(Duration::from_secs));
}

#[test]
fn keyed_operation_gets_a_key_and_keeps_it_for_retries() {
    for operation in KEYED_OPERATIONS {
        let (outcome, transport) =
            call_with_replies(operation.name(), json!({ "idempotencyKey": null }), vec![lost_reply(), ok()]);
        outcome.unwrap();
        let keys: Vec<_> = transport.calls().iter().map(|(_, options)| options["idempotencyKey"].clone()).collect();
        assert!(keys[0].as_str().is_some_and(|key| key.len() == 32) && keys[0] == keys[1], "{keys:?}");
    }
}

#[test]
fn given_key_is_kept() {
    let (_, transport) = call_with_replies("restore", json!({ "idempotencyKey": "mine" }), vec![ok()]);
    assert_eq!(transport.calls()[0].1["idempotencyKey"], "mine");
}

#[test]
fn other_operations_get_no_key() {
    let others = Operation::ALL.iter().filter(|operation| !KEYED_OPERATIONS.contains(operation));
    for (operation, options) in others.map(|operation| (*operation, json!({}))).chain(unsafe_calls()) {
        let (_, transport) = call_with_replies(operation.name(), options.clone(), vec![ok()]);
        let name = operation.name();
        assert_eq!(transport.calls()[0].1, options, "{name} takes a key: add it to KEYED_OPERATIONS");
    }
}

#[test]
fn lost_answer_is_retried_where_repeating_is_safe() {
    let is_always_safe = |operation: &&Operation| unsafe_calls().iter().all(|(other, _)| other != *operation);
    let always = Operation::ALL.iter().filter(is_always_safe).map(|operation| (*operation, json!({})));
    for (operation, options) in always.chain(safe_calls()) {
        let (outcome, _) = call_with_replies(operation.name(), options.clone(), vec![lost_reply(), ok()]);
        let name = operation.name();
        outcome.unwrap_or_else(|error| {
            panic!("{name} {options} was not repeated; if repeating it is unsafe, add it to unsafe_calls(): {error}")
        });
    }
}

#[test]
fn lost_answer_is_not_retried_where_repeating_is_unsafe() {
    for (operation, options) in unsafe_calls() {
        let (outcome, transport) = call_with_replies(operation.name(), options.clone(), vec![lost_reply(), ok()]);
        assert_eq!(transport.calls().len(), 1, "{} {options}", operation.name());
        assert!(!outcome.unwrap_err().retryable());
    }
}

#[test]
fn unknown_operation_is_treated_as_unsafe() {
    call_with_replies("snapshots/freeze", json!({}), vec![lost_reply()]).0.unwrap_err();
}

#[test]
fn every_call_is_retried_where_nothing_was_done() {
    for (operation, options) in unsafe_calls() {
        let unreachable = Err(TransportError::Unreachable("it is being deployed".into()));
        for reply in
            [unreachable, error_reply("SANDBOX_STARTING", "transient"), error_reply("SANDBOX_BUSY", "transient")]
        {
            call_with_replies(operation.name(), options.clone(), vec![reply, ok()]).0.unwrap();
        }
        call_with_replies(operation.name(), options, vec![error_reply("STORAGE_UNAVAILABLE", "transient")])
            .0
            .unwrap_err();
    }
}

#[test]
fn workspace_unavailable_is_retried_where_repeating_is_safe() {
    let interrupted = || error_reply("WORKSPACE_UNAVAILABLE", "conflict");
    call_with_replies("restore", json!({}), vec![interrupted(), ok()]).0.unwrap();
    call_with_replies("rotateKey", json!({}), vec![interrupted()]).0.unwrap_err();
}
