//! At every call of a port, before and after its effect, in every operation: the Worker may die, the caller may stop
//! waiting, the call may fail. Nothing is ever left over, and what is there can be restored.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure};
use serde_json::{Value, json};

use super::support::{Gate, HOUR, Moment, Play, Signal, Stage, at_every_call};

/// Will hold a play at its call.
fn held(play: &Play) -> Rc<Gate> {
    play.stage.world.at_any_call(play.moment).nth(play.number).held()
}

/// The Worker dies at the call of the play; says whether there was one.
fn dies(play: &Play) -> bool {
    let gate = held(play);
    let work = play.begin();
    if gate.is_reached() {
        play.stage.dies_during(work);
    }
    play.stage.world.goes_well();
    gate.is_reached()
}

/// Makes sure that after the alarms of some hours nothing is left over, and that all snapshots can be restored.
fn assert_all_well(play: &Play) {
    let stage = &play.stage;
    stage.world.go_on_in_background();
    stage.passes(3 * HOUR);
    stage.assert_settled();
    for id in stage.world.workspaces() {
        let page = stage.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
        for row in page["snapshots"].as_array().unwrap() {
            assert_eq!((&row["state"], &row["restorable"]), (&json!("ready"), &json!("yes")), "{row}");
        }
    }
}

/// The minted sandboxes that run, apart from those that ran before.
fn minted(stage: &Stage) -> Vec<String> {
    let minted = |id: &String| id.starts_with("agent-42-") && !id.ends_with("aaaaaaaa");
    stage.world.running().into_iter().filter(minted).collect()
}

/// The labels of the snapshots of the sandbox that the play is about.
fn labels(play: &Play) -> Vec<Value> {
    let Some(id) = play.arguments.get("sandboxId") else { return Vec::new() };
    let page = play.stage.run(Operation::List, &json!({ "sandboxId": id, "check": false })).unwrap();
    page["snapshots"].as_array().unwrap().iter().map(|row| row["label"].clone()).collect()
}

#[test]
fn wherever_the_worker_dies_the_alarms_leave_nothing_over() {
    at_every_call(|play| {
        let died = dies(play);
        if died {
            assert_all_well(play);
        }
        died
    });
}

#[test]
fn wherever_the_worker_dies_the_same_call_can_be_made_again_and_is_answered_once() {
    at_every_call(|play| {
        let died = dies(play);
        if died {
            let mut again = play.stage.run(play.operation, &play.arguments);
            if again.as_ref().is_err_and(|error| error.code() == Code::SandboxReplaced) {
                // Its container is another one since, and it says so.
                let mut waking = play.arguments.clone();
                waking["wake"] = json!(true);
                again = play.stage.run(play.operation, &waking);
            }
            let answer = again.unwrap();
            assert_all_well(play);
            assert_answered_once(play, &answer);
        }
        died
    });
}

/// Makes sure that there is one sandbox, or one snapshot, of that answer.
fn assert_answered_once(play: &Play, answer: &Value) {
    match play.operation {
        Operation::Restore | Operation::Branch => {
            assert!(minted(&play.stage).iter().eq([answer["ref"]["sandboxId"].as_str().unwrap()]));
            assert_eq!(play.stage.run(play.operation, &play.arguments).unwrap(), *answer);
        }
        Operation::Snapshot => {
            let same = labels(play).into_iter().filter(|label| *label == answer["capture"]["label"]);
            assert_eq!(same.count(), 1);
        }
        _ => {}
    }
}

#[test]
fn wherever_the_worker_dies_what_the_application_owns_is_untouched() {
    at_every_call(|play| {
        let own = play.stage.world.backs_up("agent-7", Some("nightly"));
        let files = play.stage.world.files("agent-7");
        let died = dies(play);
        play.stage.passes(3 * HOUR);
        assert!(play.stage.world.stored().contains(&own.id().to_string()));
        assert_eq!(play.stage.world.files("agent-7"), files);
        died
    });
}

#[test]
fn wherever_the_worker_dies_twice_the_alarms_leave_nothing_over() {
    at_every_call(|play| {
        let died = dies(play);
        if died {
            for nth in 1..6 {
                play.stage.world.forget_calls();
                play.stage.world.at_any_call(play.moment).nth(nth).held();
                let arguments = json!({ "sandboxId": "agent-42", "check": false });
                let work = play.stage.begin(Operation::List, &arguments);
                play.stage.dies_during(work);
                play.stage.world.goes_well();
            }
            assert_all_well(play);
        }
        died
    });
}

#[test]
fn wherever_the_caller_stops_waiting_nothing_is_left_over() {
    at_every_call(|play| {
        if !matches!(play.operation, Operation::Snapshot | Operation::Restore | Operation::Branch) {
            return play.number < 3;
        }
        let gate = held(play);
        let before = (labels(play).len(), play.stage.world.stored().len());
        let (signal, abort) = Signal::new();
        let work = play.stage.begin_until(play.operation, &play.arguments, abort);
        if !gate.is_reached() {
            return false;
        }
        signal.fire();
        let outcome = work.answer();
        assert_eq!(outcome.expect_err("the caller stopped").code(), Code::Aborted);
        gate.open();
        play.stage.world.finish_background();
        play.stage.world.goes_well();
        assert_all_well(play);
        assert_eq!((labels(play).len(), play.stage.world.stored().len()), before);
        assert_eq!(minted(&play.stage), [""; 0]);
        true
    });
}

/// Has a call of the play fail; says whether there was one.
fn fails(play: &Play, failure: &Failure) -> bool {
    play.stage.world.at_any_call(play.moment).nth(play.number).fails_with(failure.clone());
    let outcome = play.begin().answer();
    play.stage.world.go_on_in_background();
    let calls = play.stage.world.calls().len();
    play.stage.world.goes_well();
    assert_all_well(play);
    if let Ok(answer) = &outcome {
        assert_answered_once(play, answer);
    }
    calls >= play.number as usize
}

#[test]
fn whatever_call_fails_in_passing_nothing_is_left_over() {
    at_every_call(|play| fails(play, &Failure::new("Error", "Network connection lost.")));
}

#[test]
fn whatever_call_fails_for_good_nothing_is_left_over() {
    at_every_call(|play| match play.moment {
        Moment::Before => fails(play, &Failure::new("Error", "boom").with_code("UNKNOWN_ERROR")),
        // What has had its effect is not said to have failed for good.
        Moment::After => play.number < 3,
    });
}
