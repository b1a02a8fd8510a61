//! Whatever else happens to a workspace while an operation on it waits at any of its calls, both come to a good end.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::plays::PLAYS;
use crate::support::{HOUR, Moment, Play, Running, Stage, WORK, at_every_call_of, on};

type Calls = Vec<Running<Result<Value>>>;

/// Lets `other` happen at each call of every play, and looks at what becomes of both.
fn meanwhile(other: impl Fn(&Stage) -> Calls) {
    at_every_call_of(&PLAYS, |play| {
        if play.moment == Moment::After {
            // What happens then happens before the next call as well.
            return play.number < 3;
        }
        let stage = &play.stage;
        let gate = stage.world.at_any_call(play.moment).nth(play.number).held();
        let held = play.begin();
        if !gate.is_reached() {
            return false;
        }
        let others = other(stage);
        gate.open();
        assert_legible(&held.answer());
        for call in others {
            assert_legible(&call.answer());
        }
        stage.world.finish_background();
        stage.passes(3 * HOUR);
        stage.assert_settled();
        assert_usable(play);
        true
    });
}

/// That a call which failed says what a caller can do something about.
fn assert_legible(outcome: &Result<Value>) {
    if let Err(error) = outcome {
        assert!(!matches!(error.code(), Code::Internal | Code::LedgerUnavailable), "{error}");
    }
}

/// That the workspace can be worked in, if it is there.
fn assert_usable(play: &Play) {
    match play.stage.starts(WORK, &json!({ "onDiverged": "save", "allowEmpty": true })) {
        Ok(_) => drop(play.stage.stops(WORK).unwrap()),
        Err(error) => assert_eq!(error.code(), Code::WorkspaceNotFound, "{error}"),
    }
}

fn begin(stage: &Stage, operation: Operation, further: &Value) -> Calls {
    vec![stage.begin(operation, &on(WORK, further))]
}

#[test]
fn while_it_is_started() {
    meanwhile(|stage| begin(stage, Operation::StartWorkspace, &json!({})));
}

#[test]
fn while_it_is_stopped() {
    meanwhile(|stage| begin(stage, Operation::StopWorkspace, &json!({})));
}

#[test]
fn while_it_is_deleted() {
    meanwhile(|stage| begin(stage, Operation::DeleteWorkspace, &json!({})));
}

#[test]
fn while_it_is_deleted_and_made_again() {
    meanwhile(|stage| {
        let mut calls = begin(stage, Operation::DeleteWorkspace, &json!({}));
        calls.extend(begin(stage, Operation::GetOrCreateWorkspace, &json!({ "expiry": { "idleSeconds": 0 } })));
        calls
    });
}

#[test]
fn while_it_is_forked() {
    meanwhile(|stage| begin(stage, Operation::ForkWorkspace, &json!({ "newName": "third" })));
}

#[test]
fn while_it_is_changed() {
    meanwhile(|stage| begin(stage, Operation::UpdateWorkspace, &json!({ "retention": { "keepDaily": 3 } })));
}

#[test]
fn while_its_sandbox_is_captured() {
    meanwhile(|stage| {
        let ids = stage.world.running().into_iter();
        ids.map(|id| stage.begin(Operation::Snapshot, &json!({ "sandboxId": id }))).collect()
    });
}

#[test]
fn while_its_container_ends() {
    meanwhile(|stage| {
        for id in stage.world.running() {
            stage.world.stops(&id);
        }
        Vec::new()
    });
}

#[test]
fn while_its_container_is_replaced() {
    meanwhile(|stage| {
        for id in stage.world.running() {
            stage.world.is_replaced(&id);
        }
        Vec::new()
    });
}

#[test]
fn while_the_bucket_is_swept_without_any_grace() {
    meanwhile(|stage| vec![stage.begin(Operation::Sweep, &json!({ "graceSeconds": 0 }))]);
}

#[test]
fn while_minutes_pass_and_alarms_of_sandboxes_ring() {
    meanwhile(|stage| {
        for id in stage.world.workspaces() {
            if stage.alarm_due(&id).is_some() {
                drop(stage.ring(&id));
            }
        }
        Vec::new()
    });
}
