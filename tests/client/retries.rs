//! A call is made again where that does no harm, and not otherwise.

use std::time::Duration;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::client::{Client, Loss, Reply, Result, Retry};
use serde_json::{Value, json};

use super::in_memory::done;
use super::scripted::{Scripted, answer, error, lost};

/// Operations that make something, and take an idempotency key.
const KEYED: [Operation; 6] = [
    Operation::Snapshot,
    Operation::Restore,
    Operation::Branch,
    Operation::CreateWorkspace,
    Operation::GetOrCreateWorkspace,
    Operation::ForkWorkspace,
];

/// Operations that would do their work twice.
const REPEATING: [Operation; 3] = [Operation::RotateKey, Operation::RestoreCheckpoint, Operation::CallTool];

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
    for operation in Operation::ALL.iter().filter(|operation| !KEYED.contains(operation)) {
        let (_, scripted) = call(operation.name(), json!({}), vec![ok()]);
        assert_eq!(scripted.calls()[0].1, json!({}), "{}", operation.name());
    }
}

#[test]
fn an_answer_that_is_lost_is_asked_for_again_unless_the_work_would_be_done_twice() {
    for operation in Operation::ALL {
        let is_repeatable = !REPEATING.contains(operation);
        let replies = if is_repeatable { vec![lost(), ok()] } else { vec![lost()] };
        assert_eq!(call(operation.name(), json!({}), replies).0.is_ok(), is_repeatable, "{}", operation.name());
    }
}

#[test]
fn an_operation_of_a_later_snapshotter_is_taken_for_the_worst() {
    call("snapshots/freeze", json!({}), vec![lost()]).0.unwrap_err();
}

#[test]
fn going_back_is_not_repeated_and_changing_settings_is() {
    let back = json!({ "name": "work", "currentSnapshotId": "snap-abcdefghij012345" });
    call("workspaces/update", back, vec![lost()]).0.unwrap_err();
    call("workspaces/update", json!({ "name": "work", "persistent": true }), vec![lost(), ok()]).0.unwrap();
}

#[test]
fn whatever_it_is_it_is_tried_again_where_nothing_was_done() {
    for operation in REPEATING {
        let unreachable = Err(Loss::Unreachable("it is being deployed".into()));
        for reply in [unreachable, error("SANDBOX_STARTING", "transient"), error("SANDBOX_BUSY", "transient")] {
            call(operation.name(), json!({}), vec![reply, ok()]).0.unwrap();
        }
        call(operation.name(), json!({}), vec![error("STORAGE_UNAVAILABLE", "transient")]).0.unwrap_err();
    }
}

#[test]
fn a_workspace_that_was_cut_off_is_asked_again_where_that_does_no_harm() {
    let cut_off = || error("WORKSPACE_UNAVAILABLE", "conflict");
    call("restore", json!({}), vec![cut_off(), ok()]).0.unwrap();
    call("rotateKey", json!({}), vec![cut_off()]).0.unwrap_err();
}
