//! A call is made again where that does no harm, and not otherwise.

use std::time::Duration;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::client::{Client, HttpResponse, Result, RetryPolicy, TransportError};
use serde_json::{Value, json};

use super::fake_transport::{FakeTransport, error_reply, lost_reply, ok_reply};
use super::in_memory::run_ready;

/// Operations that make something, and take an idempotency key.
const KEYED_OPERATIONS: [Operation; 7] = [
    Operation::Snapshot,
    Operation::Restore,
    Operation::Branch,
    Operation::CreateWorkspace,
    Operation::GetOrCreateWorkspace,
    Operation::ForkWorkspace,
    Operation::CallTool,
];

/// Operations that act on a snapshot, by whatever it is named.
const SNAPSHOT_OPERATIONS: [Operation; 4] = [Operation::Label, Operation::Pin, Operation::Unpin, Operation::Delete];

/// Calls that could do harm if they were made a second time.
fn unsafe_calls() -> Vec<(Operation, Value)> {
    let by_label = json!({ "sandboxId": "agent-42", "label": "before", "ref": null });
    let tool = |name: &str| (Operation::CallTool, json!({ "name": name }));
    let others = [
        (Operation::RotateKey, json!({ "sandboxId": "agent-42" })),
        (Operation::UpdateWorkspace, json!({ "name": "work", "currentSnapshotId": "snap-abcdefghij012345" })),
        (Operation::DeleteWorkspace, json!({ "name": "work" })),
        (Operation::RestoreCheckpoint, json!({ "sandboxId": "agent-42", "name": "s1" })),
        tool("snapshot_restore"),
        tool("workspace__code__snapshot_restore"),
    ];
    others.into_iter().chain(SNAPSHOT_OPERATIONS.map(|operation| (operation, by_label.clone()))).collect()
}

/// Calls of the same operations that do none.
fn safe_calls() -> Vec<(Operation, Value)> {
    let by_id = json!({ "sandboxId": "agent-42", "snapshotId": "snap-abcdefghij012345" });
    let selectors = [json!({ "ref": {} }), by_id];
    let selected = selectors.iter().flat_map(|named| SNAPSHOT_OPERATIONS.map(|operation| (operation, named.clone())));
    let others = [
        (Operation::UpdateWorkspace, json!({ "name": "work", "persistent": true })),
        (Operation::CallTool, json!({ "name": "workspace__code__restore" })),
        (Operation::CallTool, json!({ "name": "workspace__snapshot_restore__list" })),
    ];
    others.into_iter().chain(selected).collect()
}

/// Makes a call that gets these replies.
fn call_with_replies(
    operation: &str,
    options: Value,
    replies: Vec<Result<HttpResponse, TransportError>>,
) -> (Result<Value>, FakeTransport) {
    let scripted = FakeTransport::new(replies);
    let outcome = run_ready(async { Client::new(&scripted).call(operation, options).await });
    (outcome, scripted)
}

fn ok() -> Result<HttpResponse, TransportError> {
    ok_reply(&json!({ "done": true }))
}

#[test]
fn a_failure_that_may_pass_is_tried_again() {
    let (outcome, scripted) =
        call_with_replies("get", json!({}), vec![error_reply("STORAGE_UNAVAILABLE", "transient"), ok()]);
    assert_eq!(outcome.unwrap(), json!({ "done": true }));
    assert_eq!(scripted.calls().len(), 2);
}

#[test]
fn a_failure_that_stays_is_not() {
    for (code, kind) in [("SNAPSHOT_NOT_FOUND", "not_found"), ("LABEL_TAKEN", "conflict"), ("FROZEN", "permanent")] {
        let (outcome, _) = call_with_replies("get", json!({}), vec![error_reply(code, kind)]);
        assert_eq!(outcome.unwrap_err().code().as_str(), code);
    }
}

#[test]
fn who_hung_up_is_not_called_again() {
    call_with_replies("get", json!({}), vec![Err(TransportError::Aborted)]).0.unwrap_err();
    call_with_replies("get", json!({}), vec![error_reply("ABORTED", "transient")]).0.unwrap_err();
}

#[test]
fn a_call_is_made_four_times_at_most_with_longer_and_longer_waits() {
    let (outcome, scripted) =
        call_with_replies("get", json!({}), vec![lost_reply(), lost_reply(), lost_reply(), lost_reply()]);
    assert_eq!(outcome.unwrap_err().code().as_str(), "ANSWER_LOST");
    assert_eq!(scripted.sleeps(), [100, 200, 400].map(Duration::from_millis));
}

#[test]
fn no_wait_is_longer_than_the_longest() {
    let scripted = FakeTransport::new((0..8).map(|_| lost_reply()));
    let retry = RetryPolicy { attempts: 8, base_delay: Duration::from_secs(1), max_delay: Duration::from_secs(5) };
    run_ready(async { Client::new(&scripted).with_retry(retry).call("get", json!({})).await }).unwrap_err();
    assert_eq!(scripted.sleeps(), [1, 2, 4, 5, 5, 5, 5].map(Duration::from_secs));
}

#[test]
fn what_makes_something_gets_a_key_and_keeps_it() {
    for operation in KEYED_OPERATIONS {
        let (outcome, scripted) =
            call_with_replies(operation.name(), json!({ "idempotencyKey": null }), vec![lost_reply(), ok()]);
        outcome.unwrap();
        let keys: Vec<_> = scripted.calls().iter().map(|(_, options)| options["idempotencyKey"].clone()).collect();
        assert!(keys[0].as_str().is_some_and(|key| key.len() == 32) && keys[0] == keys[1], "{keys:?}");
    }
}

#[test]
fn a_key_that_was_given_is_kept() {
    let (_, scripted) = call_with_replies("restore", json!({ "idempotencyKey": "mine" }), vec![ok()]);
    assert_eq!(scripted.calls()[0].1["idempotencyKey"], "mine");
}

#[test]
fn nothing_else_gets_a_key() {
    let others = Operation::ALL.iter().filter(|operation| !KEYED_OPERATIONS.contains(operation));
    for (operation, options) in others.map(|operation| (*operation, json!({}))).chain(unsafe_calls()) {
        let (_, scripted) = call_with_replies(operation.name(), options.clone(), vec![ok()]);
        assert_eq!(scripted.calls()[0].1, options, "{}", operation.name());
    }
}

#[test]
fn an_answer_that_is_lost_is_asked_for_again_where_that_does_no_harm() {
    let is_always_harmless = |operation: &&Operation| unsafe_calls().iter().all(|(harmful, _)| harmful != *operation);
    let always = Operation::ALL.iter().filter(is_always_harmless).map(|operation| (*operation, json!({})));
    for (operation, options) in always.chain(safe_calls()) {
        let (outcome, _) = call_with_replies(operation.name(), options.clone(), vec![lost_reply(), ok()]);
        outcome.unwrap_or_else(|error| panic!("{} {options}: {error}", operation.name()));
    }
}

#[test]
fn an_answer_that_is_lost_is_not_asked_for_again_where_that_could_do_harm() {
    for (operation, options) in unsafe_calls() {
        let (outcome, scripted) = call_with_replies(operation.name(), options.clone(), vec![lost_reply(), ok()]);
        assert_eq!(scripted.calls().len(), 1, "{} {options}", operation.name());
        assert!(!outcome.unwrap_err().retryable());
    }
}

#[test]
fn an_operation_of_a_later_snapshotter_is_taken_for_the_worst() {
    call_with_replies("snapshots/freeze", json!({}), vec![lost_reply()]).0.unwrap_err();
}

#[test]
fn whatever_it_is_it_is_tried_again_where_nothing_was_done() {
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
fn a_workspace_that_was_cut_off_is_asked_again_where_that_does_no_harm() {
    let cut_off = || error_reply("WORKSPACE_UNAVAILABLE", "conflict");
    call_with_replies("restore", json!({}), vec![cut_off(), ok()]).0.unwrap();
    call_with_replies("rotateKey", json!({}), vec![cut_off()]).0.unwrap_err();
}
