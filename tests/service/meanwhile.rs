//! Whatever else happens in the workspace while an operation waits at any of its calls, both come to a good end.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::support::{HOUR, Play, Running, Stage, at_every_call};

type Calls = Vec<Running<Result<Value>>>;

/// Begins a call for each snapshot of `agent-42` that can be used, with these further arguments.
fn for_each_snapshot(stage: &Stage, operation: Operation, further: &Value) -> Calls {
    let page = stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    let rows = page["snapshots"].as_array().unwrap().iter().filter(|row| row["state"] == "ready");
    let call = |row: &Value| {
        let mut arguments = json!({ "sandboxId": "agent-42", "snapshotId": row["snapshotId"] });
        arguments.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        stage.begin(operation, &arguments)
    };
    rows.map(call).collect()
}

fn begin(stage: &Stage, operation: Operation, mut arguments: Value) -> Calls {
    if operation != Operation::Sweep {
        arguments["sandboxId"] = json!("agent-42");
    }
    vec![stage.begin(operation, &arguments)]
}

/// Lets `other` happen at each call of every play, and looks at what becomes of both.
fn meanwhile(other: impl Fn(&Stage) -> Calls) {
    at_every_call(|play| {
        let stage = &play.stage;
        let gate = stage.world.at_any_call(play.moment).nth(play.number).held();
        let held = play.begin();
        if !gate.is_reached() {
            return false;
        }
        let others = other(stage);
        gate.open();
        let outcome = held.answer();
        for call in others {
            assert_legible(&call.answer());
        }
        stage.world.finish_background();
        assert_legible(&outcome);
        if let Ok(answer) = outcome {
            assert_stands(play, &answer);
        }
        stage.passes(3 * HOUR);
        stage.assert_settled();
        assert_restorable(stage);
        true
    });
}

/// That a call which failed says what a caller can do something about.
fn assert_legible(outcome: &Result<Value>) {
    if let Err(error) = outcome {
        assert!(!matches!(error.code(), Code::Internal | Code::LedgerUnavailable), "{error}");
    }
}

/// That what was answered is there, or was let go since by somebody else.
fn assert_stands(play: &Play, answer: &Value) {
    match play.operation {
        Operation::Snapshot => drop(play.stage.run(Operation::Get, &json!({ "ref": answer })).unwrap()),
        Operation::Restore | Operation::Branch => {
            let minted = answer["ref"]["sandboxId"].as_str().unwrap();
            assert!(play.stage.world.running().contains(minted), "{minted} does not run");
        }
        _ => {}
    }
}

fn assert_restorable(stage: &Stage) {
    let page = stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    for row in page["snapshots"].as_array().unwrap() {
        assert_eq!((&row["state"], &row["restorable"]), (&json!("ready"), &json!("yes")), "{row}");
    }
}

#[test]
fn while_every_snapshot_is_deleted() {
    meanwhile(|stage| for_each_snapshot(stage, Operation::Delete, &json!({ "force": true })));
}

#[test]
fn while_another_policy_lets_snapshots_go() {
    meanwhile(|stage| begin(stage, Operation::SetRetention, json!({ "policy": { "keepLast": { "count": 1 } } })));
}

#[test]
fn while_labels_change_hands() {
    for label in ["before", "latest"] {
        meanwhile(|stage| for_each_snapshot(stage, Operation::Label, &json!({ "newLabel": label, "replace": true })));
    }
}

#[test]
fn while_snapshots_are_pinned() {
    meanwhile(|stage| for_each_snapshot(stage, Operation::Pin, &json!({})));
}

#[test]
fn while_snapshots_are_restored() {
    meanwhile(|stage| for_each_snapshot(stage, Operation::Restore, &json!({})));
}

#[test]
fn while_snapshots_are_verified() {
    meanwhile(|stage| for_each_snapshot(stage, Operation::Verify, &json!({})));
}

#[test]
fn while_another_snapshot_is_asked_for() {
    meanwhile(|stage| begin(stage, Operation::Snapshot, json!({ "label": "another", "wake": true })));
}

#[test]
fn while_another_snapshot_takes_the_same_label() {
    for label in ["before", "latest"] {
        let arguments = json!({ "label": label, "replace": true, "wake": true });
        meanwhile(|stage| begin(stage, Operation::Snapshot, arguments.clone()));
    }
}

#[test]
fn while_the_bucket_is_swept_without_any_grace() {
    meanwhile(|stage| begin(stage, Operation::Sweep, json!({ "graceSeconds": 0 })));
}

#[test]
fn while_hours_pass_and_alarms_ring() {
    meanwhile(|stage| {
        stage.passes(2 * HOUR);
        Vec::new()
    });
}

#[test]
fn while_every_backup_is_imported() {
    meanwhile(|stage| {
        let import = |id: String| {
            let backup = json!({ "id": id, "dir": "/workspace" });
            stage.begin(Operation::Import, &json!({ "sandboxId": "agent-42", "backup": backup }))
        };
        stage.world.stored().into_iter().map(import).collect()
    });
}

#[test]
fn while_keys_are_rotated() {
    // Once: the ref that is about to be answered is signed by the key before.
    meanwhile(|stage| begin(stage, Operation::RotateKey, json!({})));
}
