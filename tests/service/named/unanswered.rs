//! Whatever call to a sandbox is answered after its time limit, or never, in whatever state a workspace is: `start`, `stop` and
//! `delete` answer within a bounded time, and nothing is lost.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::plays::{PLAYS, active, assert_all_well, diverged, is_somewhere};
use crate::support::{Checked, HOUR, MINUTE, Method, Moment, Play, Stage, WORK, at_every_call_of, on};

/// The longest that a call may take with one sandbox that does not answer.
const LONGEST: i64 = 2 * HOUR;

/// The calls to a sandbox that operations on workspaces make.
const METHODS: [Method; 14] = [
    Method::State,
    Method::Name,
    Method::Probe,
    Method::RemoveNote,
    Method::CreateBackup,
    Method::RestoreBackup,
    Method::Destroy,
    Method::KeepAwake,
    Method::SetEnv,
    Method::Stamp,
    Method::Survey,
    Method::Hashes,
    Method::Stirred,
    Method::RunHook,
];

/// A state of a workspace `work`, and what is in it that must not be lost.
type State = (&'static str, &'static str, fn() -> Stage);

const STATES: [State; 8] = [
    ("active", "second", active),
    ("active and diverged", "second", diverged),
    ("active and asleep", "first", || {
        let stage = active();
        stage.world.stops(&stage.sandbox_of(WORK));
        stage
    }),
    ("active and woken", "first", || {
        let stage = active();
        stage.world.is_replaced(&stage.sandbox_of(WORK));
        stage
    }),
    ("stopped", "first", Stage::with_stopped_work),
    ("failed", "second", || {
        let stage = diverged();
        stage.starts(WORK, &json!({})).fails_as(Code::WorkspaceDiverged);
        assert_eq!(stage.state(WORK), "failed");
        stage
    }),
    ("restoring, and its Worker died", "first", || {
        dies_at(Stage::with_stopped_work(), Operation::StartWorkspace, Method::RestoreBackup)
    }),
    ("stopping, and its Worker died", "second", || dies_at(active(), Operation::StopWorkspace, Method::CreateBackup)),
];

/// The Worker dies in an operation on `work`, when that method is called.
fn dies_at(stage: Stage, operation: Operation, method: Method) -> Stage {
    let gate = stage.world.before(method).nth(1).held();
    stage.world.forget_calls();
    let work = stage.begins(operation, WORK, &json!({}));
    assert!(gate.is_reached());
    stage.dies_during(work);
    stage.world.goes_well();
    stage
}

/// Makes a call, which has to be answered in a bounded time; and legibly, where it fails.
#[track_caller]
fn answers(stage: &Stage, operation: Operation, further: &Value) -> Result<Value> {
    let began = stage.world.moment();
    let outcome = stage.run(operation, &on(WORK, further));
    let millis = stage.world.moment().millis_since(began);
    assert!(millis <= LONGEST, "{operation:?} took {} minutes", millis / MINUTE);
    if let Err(error) = &outcome {
        assert!(!matches!(error.code(), Code::Internal | Code::SandboxFailed), "{error}");
    }
    outcome
}

/// Makes sure that the workspace can be worked in, and that the files are there that were stopped or running before.
#[track_caller]
fn assert_usable(stage: &Stage, content: &str) {
    stage.passes(3 * HOUR);
    stage.assert_settled();
    stage.starts(WORK, &json!({ "onDiverged": "save" })).unwrap();
    assert!(is_somewhere(stage, content), "{content:?} is lost, and {:?} is there", stage.file(WORK));
    stage.stops(WORK).unwrap();
    stage.deletes(WORK).unwrap();
    stage.passes(3 * HOUR);
    stage.assert_settled();
}

/// Disturbs each call of each operation that is one to a sandbox.
fn at_every_call_to_a_sandbox(disturb: impl Fn(&Play)) {
    at_every_call_of(&PLAYS, |play| {
        disturb(play);
        let outcome = play.begin().answer();
        play.stage.world.finish_background();
        let calls = play.stage.world.calls();
        play.stage.world.goes_well();
        if let Err(error) = &outcome {
            assert!(!matches!(error.code(), Code::Internal | Code::SandboxFailed), "{error}");
        }
        let is_of_a_sandbox = calls.get(play.number as usize - 1).is_some_and(|(method, _)| method.is_of_sandboxes());
        if is_of_a_sandbox {
            assert_all_well(play);
        }
        calls.len() >= play.number as usize
    });
}

#[test]
fn whichever_call_is_never_answered_everything_comes_to_a_good_end() {
    at_every_call_to_a_sandbox(|play| {
        play.stage.world.at_any_call(play.moment).nth(play.number).is_never_answered();
    });
}

#[test]
fn whichever_call_has_its_effect_after_its_limit_everything_comes_to_a_good_end() {
    at_every_call_to_a_sandbox(|play| {
        if play.moment == Moment::Before {
            play.stage.world.at_any_call(play.moment).nth(play.number).comes_late();
        }
    });
}

#[test]
fn start_stop_and_delete_answer_while_a_method_is_never_answered() {
    for (name, content, prepare) in STATES {
        for method in METHODS {
            for operation in [Operation::StartWorkspace, Operation::StopWorkspace, Operation::DeleteWorkspace] {
                let stage = prepare();
                stage.world.before(method).is_never_answered();
                println!("{operation:?} of one that is {name}, while {method:?} is never answered");
                let answered = answers(&stage, operation, &json!({}));
                if operation == Operation::DeleteWorkspace {
                    answered.unwrap();
                }
                stage.world.goes_well();
                if operation != Operation::DeleteWorkspace {
                    assert_usable(&stage, content);
                }
            }
        }
    }
}

#[test]
fn start_stop_and_delete_answer_while_the_sandbox_answers_nothing() {
    for (name, _, prepare) in STATES {
        for order in [["start", "stop", "start"], ["stop", "start", "stop"]] {
            let stage = prepare();
            println!("{order:?} of one that is {name}");
            stage.world.falls_silent(&stage.sandbox_of(WORK));
            for operation in order {
                let operation = if operation == "start" { Operation::StartWorkspace } else { Operation::StopWorkspace };
                drop(answers(&stage, operation, &json!({})));
                stage.passes(10 * MINUTE);
            }
            answers(&stage, Operation::DeleteWorkspace, &json!({})).unwrap();
            stage.world.goes_well();
            stage.passes(3 * HOUR);
            stage.assert_settled();
        }
    }
}
