//! At every call of a port, before and after its effect, in every operation on a named workspace: the Worker may die, the
//! caller may leave, the call may fail. No state stays passing, no files are lost, and nothing is left over.

use sandbox_snapshotter::model::{Code, Failure};

use super::plays::{PLAYS, assert_all_well, dies, held};
use crate::support::{MINUTE, Method, Moment, Play, Signal, at_every_call_of};

#[test]
fn wherever_the_worker_dies_the_alarms_bring_everything_to_a_good_end() {
    at_every_call_of(&PLAYS, |play| {
        let died = dies(play);
        if died {
            assert_all_well(play);
        }
        died
    });
}

#[test]
fn wherever_the_worker_dies_the_same_call_can_be_made_again() {
    at_every_call_of(&PLAYS, |play| {
        let died = dies(play);
        if died {
            play.stage.run(play.operation, &play.arguments).unwrap_or_else(|error| panic!("{error}"));
            assert_all_well(play);
        }
        died
    });
}

#[test]
fn wherever_the_worker_dies_twice_everything_comes_to_a_good_end() {
    at_every_call_of(&PLAYS, |play| {
        let died = dies(play);
        if died {
            for nth in [3, 9] {
                play.stage.world.forget_calls();
                let gate = play.stage.world.at_any_call(play.moment).nth(nth).held();
                let again = play.stage.begin(play.operation, &play.arguments);
                if gate.is_reached() {
                    play.stage.dies_during(again);
                }
                play.stage.world.goes_well();
            }
            assert_all_well(play);
        }
        died
    });
}

#[test]
fn wherever_the_caller_leaves_the_work_comes_to_its_end() {
    at_every_call_of(&PLAYS, |play| {
        let gate = held(play);
        let (signal, abort) = Signal::new();
        let work = play.stage.begin_until(play.operation, &play.arguments, abort);
        if !gate.is_reached() {
            return false;
        }
        signal.fire();
        let outcome = work.answer();
        assert!(outcome.is_ok() || outcome.is_err_and(|error| error.code() == Code::Aborted));
        gate.open();
        play.stage.world.finish_background();
        play.stage.world.goes_well();
        assert_all_well(play);
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
    if let Err(error) = &outcome {
        assert!(error.code() != Code::Internal, "{error}");
    }
    assert_all_well(play);
    calls >= play.number as usize
}

#[test]
fn whatever_call_fails_in_passing_everything_comes_to_a_good_end() {
    at_every_call_of(&PLAYS, |play| fails(play, &Failure::new("Error", "Network connection lost.")));
}

#[test]
fn whatever_call_fails_for_good_everything_comes_to_a_good_end() {
    at_every_call_of(&PLAYS, |play| match play.moment {
        Moment::Before => fails(play, &Failure::new("Error", "boom").with_code("UNKNOWN_ERROR")),
        // What has had its effect is not said to have failed for good.
        Moment::After => play.number < 3,
    });
}

#[test]
fn whatever_method_always_fails_everything_comes_to_a_good_end_when_it_goes_well_again() {
    const METHODS: [Method; 13] = [
        Method::Destroy,
        Method::State,
        Method::Probe,
        Method::Stamp,
        Method::RestoreBackup,
        Method::CreateBackup,
        Method::Halt,
        Method::Retire,
        Method::Resume,
        Method::Release,
        Method::Note,
        Method::Claim,
        Method::Delete,
    ];
    for method in METHODS {
        at_every_call_of(&PLAYS, |play| {
            play.stage.world.at(method, play.moment).fails_in_passing();
            drop(play.begin().answer());
            play.stage.passes(10 * MINUTE);
            play.stage.world.goes_well();
            assert_all_well(play);
            // Which call it is does not matter here: twice will do.
            play.number < 3
        });
    }
}
