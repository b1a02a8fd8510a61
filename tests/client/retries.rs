//! A call is made again where that does no harm, and not otherwise.

use std::time::Duration;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::client::{Client, Loss, Reply, Result, Retry};
use serde_json::{Value, json};

use super::in_memory::done;
use super::scripted::{Scripted, answer, error, lost};

/// Operations that make something, and take an idempotency key.
const KEYED: [Operation; 7] = [
    Operation::Snapshot,
    Operation::Restore,
    Operation::Branch,
    Operation::CreateWorkspace,
    Operation::GetOrCreateWorkspace,
    Operation::ForkWorkspace,
    Operation::CallTool,
];

/// Operations that act on a snapshot, by whatever it is named.
const ON_SNAPSHOTS: [Operation; 4] = [Operation::Label, Operation::Pin, Operation::Unpin, Operation::Delete];

/// Calls that could do harm if they were made a second time.
fn harmful() -> Vec<(Operation, Value)> {
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
    others.into_iter().chain(ON_SNAPSHOTS.map(|operation| (operation, by_label.clone()))).collect()
}

/// Calls of the same operations that do none.
fn harmless() -> Vec<(Operation, Value)> {
    let by_id = json!({ "sandboxId": "agent-42", "snapshotId": "snap-abcdefghij012345" });
    let selectors = [json!({ "ref": {} }), by_id];
    let selected = selectors.iter().flat_map(|named| ON_SNAPSHOTS.map(|operation| (operation, named.clone())));
    let others = [
        (Operation::UpdateWorkspace, json!({ "name": "work", "persistent": true })),
        (Operation::CallTool, json!({ "name": "workspace__code__restore" })),
        (Operation::CallTool, json!({ "name": "workspace__snapshot_restore__list" })),
    ];
    others.into_iter().chain(selected).collect()
}

/// Makes a call that gets these replies.
fn call(operation: &str, options: Value, replies: Vec<Result<Reply, Loss>>) -> (Result<Value>, Scripted) {
    let scripted = Scripted::new(replies);
    let outcome = done(async { Client::new(&scripted).call(operation, options).await });
    (outcome, scripted)
}

fn ok() -> Result<Reply, Loss> {
    answer(&json!({ "done": true }))
}

#[test]
fn a_failure_that_may_pass_is_tried_again() {
    let (outcome, scripted) = call("get", json!({}), vec![error("STORAGE_UNAVAILABLE", "transient"), ok()]);
    assert_eq!(outcome.unwrap(), json!({ "done": true }));
    assert_eq!(scripted.calls().len(), 2);
}

#[test]
fn a_failure_that_stays_is_not() {
    for (code, kind) in [("SNAPSHOT_NOT_FOUND", "not_found"), ("LABEL_TAKEN", "conflict"), ("FROZEN", "permanent")] {
        let (outcome, _) = call("get", json!({}), vec![error(code, kind)]);
        assert_eq!(outcome.unwrap_err().code().as_str(), code);
    }
}

#[test]
fn who_hung_up_is_not_called_again() {
    call("get", json!({}), vec![Err(Loss::Aborted)]).0.unwrap_err();
    call("get", json!({}), vec![error("ABORTED", "transient")]).0.unwrap_err();
}

#[test]
fn a_call_is_made_four_times_at_most_with_longer_and_longer_waits() {
    let (outcome, scripted) = call("get", json!({}), vec![lost(), lost(), lost(), lost()]);
    assert_eq!(outcome.unwrap_err().code().as_str(), "ANSWER_LOST");
    assert_eq!(scripted.waits(), [100, 200, 400].map(Duration::from_millis));
}

#[test]
fn no_wait_is_longer_than_the_longest() {
    let scripted = Scripted::new((0..8).map(|_| lost()));
    let retry = Retry { attempts: 8, base: Duration::from_secs(1), longest: Duration::from_secs(5) };
    done(async { Client::new(&scripted).retrying(retry).call("get", json!({})).await }).unwrap_err();
    assert_eq!(scripted.waits(), [1, 2, 4, 5, 5, 5, 5].map(Duration::from_secs));
}

#[test]
fn what_makes_something_gets_a_key_and_keeps_it() {
    for operation in KEYED {
        let (outcome, scripted) = call(operation.name(), json!({ "idempotencyKey": null }), vec![lost(), ok()]);
        outcome.unwrap();
        let keys: Vec<_> = scripted.calls().iter().map(|(_, options)| options["idempotencyKey"].clone()).collect();
        assert!(keys[0].as_str().is_some_and(|key| key.len() == 32) && keys[0] == keys[1], "{keys:?}");
    }
}

#[test]
fn a_key_that_was_given_is_kept() {
    let (_, scripted) = call("restore", json!({ "idempotencyKey": "mine" }), vec![ok()]);
    assert_eq!(scripted.calls()[0].1["idempotencyKey"], "mine");
}

#[test]
fn nothing_else_gets_a_key() {
    let others = Operation::ALL.iter().filter(|operation| !KEYED.contains(operation));
    for (operation, options) in others.map(|operation| (*operation, json!({}))).chain(harmful()) {
        let (_, scripted) = call(operation.name(), options.clone(), vec![ok()]);
        assert_eq!(scripted.calls()[0].1, options, "{}", operation.name());
    }
}

#[test]
fn an_answer_that_is_lost_is_asked_for_again_where_that_does_no_harm() {
    let is_always_harmless = |operation: &&Operation| harmful().iter().all(|(harmful, _)| harmful != *operation);
    let always = Operation::ALL.iter().filter(is_always_harmless).map(|operation| (*operation, json!({})));
    for (operation, options) in always.chain(harmless()) {
        let (outcome, _) = call(operation.name(), options.clone(), vec![lost(), ok()]);
        outcome.unwrap_or_else(|error| panic!("{} {options}: {error}", operation.name()));
    }
}

#[test]
fn an_answer_that_is_lost_is_not_asked_for_again_where_that_could_do_harm() {
    for (operation, options) in harmful() {
        let (outcome, scripted) = call(operation.name(), options.clone(), vec![lost(), ok()]);
        assert_eq!(scripted.calls().len(), 1, "{} {options}", operation.name());
        assert!(!outcome.unwrap_err().retryable());
    }
}

#[test]
fn an_operation_of_a_later_snapshotter_is_taken_for_the_worst() {
    call("snapshots/freeze", json!({}), vec![lost()]).0.unwrap_err();
}

#[test]
fn whatever_it_is_it_is_tried_again_where_nothing_was_done() {
    for (operation, options) in harmful() {
        let unreachable = Err(Loss::Unreachable("it is being deployed".into()));
        for reply in [unreachable, error("SANDBOX_STARTING", "transient"), error("SANDBOX_BUSY", "transient")] {
            call(operation.name(), options.clone(), vec![reply, ok()]).0.unwrap();
        }
        call(operation.name(), options, vec![error("STORAGE_UNAVAILABLE", "transient")]).0.unwrap_err();
    }
}

#[test]
fn a_workspace_that_was_cut_off_is_asked_again_where_that_does_no_harm() {
    let cut_off = || error("WORKSPACE_UNAVAILABLE", "conflict");
    call("restore", json!({}), vec![cut_off(), ok()]).0.unwrap();
    call("rotateKey", json!({}), vec![cut_off()]).0.unwrap_err();
}
