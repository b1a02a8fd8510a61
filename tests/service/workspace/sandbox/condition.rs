//! `condition` reports the state of a sandbox without changing it.

use futures_executor::block_on;
use sandbox_snapshotter::model::named::messages::Condition;

use crate::support::{Fixture, Method, WORKSPACE};

fn check_condition(fixture: &Fixture) -> Condition {
    block_on(fixture.snapshotter(&fixture.sandbox_of(WORKSPACE)).condition()).unwrap()
}

#[test]
fn sandbox_of_active_workspace_is_running() {
    assert_eq!(check_condition(&Fixture::with_workspace()), Condition::Running);
}

#[test]
fn sandbox_without_container_is_ended_and_is_not_started() {
    let fixture = Fixture::with_stopped_workspace();
    assert_eq!(check_condition(&fixture), Condition::Ended);
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn sandbox_with_replaced_container_is_cold_started() {
    let fixture = Fixture::with_workspace();
    fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(check_condition(&fixture), Condition::ColdStarted);
}

#[test]
fn sandbox_with_unnoticed_container_end_is_cold_started() {
    let fixture = Fixture::with_workspace();
    fixture.world.end_container_unnoticed(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(check_condition(&fixture), Condition::ColdStarted);
}

#[test]
fn condition_is_retried_after_transient_failures() {
    let fixture = Fixture::with_workspace();
    fixture.world.before(Method::Status).first(2).fail_transiently();
    assert_eq!(check_condition(&fixture), Condition::Running);
}
