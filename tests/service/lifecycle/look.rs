//! What has become of a sandbox is seen without touching anything.

use futures_executor::block_on;
use sandbox_snapshotter::model::named::messages::Condition;

use crate::support::{Method, Stage, WORK};

fn look(stage: &Stage) -> Condition {
    block_on(stage.of(&stage.sandbox_of(WORK)).look()).unwrap()
}

#[test]
fn one_that_was_handed_out_and_runs_is_alive() {
    assert_eq!(look(&Stage::with_work()), Condition::Alive);
}

#[test]
fn one_that_does_not_run_is_asleep_and_stays_so() {
    let stage = Stage::with_stopped_work();
    assert_eq!(look(&stage), Condition::Asleep);
    assert!(stage.world.running().is_empty());
}

#[test]
fn one_whose_container_was_replaced_has_woken() {
    let stage = Stage::with_work();
    stage.world.is_replaced(&stage.sandbox_of(WORK));
    assert_eq!(look(&stage), Condition::Woken);
}

#[test]
fn one_whose_end_nobody_noticed_has_woken() {
    let stage = Stage::with_work();
    stage.world.dies_unnoticed(&stage.sandbox_of(WORK));
    assert_eq!(look(&stage), Condition::Woken);
}

#[test]
fn a_look_that_fails_in_passing_is_made_again() {
    let stage = Stage::with_work();
    stage.world.before(Method::State).first(2).fails_in_passing();
    assert_eq!(look(&stage), Condition::Alive);
}
