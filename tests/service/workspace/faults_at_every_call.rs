//! Faults at every port call, before and after its effect, in every operation on a named workspace: the Worker crashes,
//! the caller cancels, or the call fails. Each operation recovers: no transient state remains, no files are lost, and
//! no resources are left over.

use sandbox_snapshotter::model::{Code, Result};
use serde_json::Value;

use super::scenarios::{SCENARIOS, assert_recovered};
use crate::support::{
    MINUTE, Method, Scenario, crash_at_every_call, fail_every_call_permanently, fail_every_call_transiently,
    for_every_call_of, for_every_scenario,
};

#[test]
fn alarms_recover_from_worker_crash_at_every_call() {
    crash_at_every_call(&SCENARIOS, assert_recovered);
}

#[test]
fn operation_can_be_repeated_after_worker_crash_at_every_call() {
    crash_at_every_call(&SCENARIOS, |scenario| {
        scenario.fixture.run(scenario.operation, &scenario.arguments).unwrap_or_else(|error| panic!("{error}"));
        assert_recovered(scenario);
    });
}

#[test]
fn alarms_recover_from_repeated_worker_crashes() {
    crash_at_every_call(&SCENARIOS, |scenario| {
        for nth in [3, 9] {
            scenario.fixture.world.reset_calls();
            let gate = scenario.fixture.world.at_any_call(scenario.phase).nth(nth).block();
            let again = scenario.fixture.begin(scenario.operation, &scenario.arguments);
            if gate.is_reached() {
                scenario.fixture.crash_during(again);
            }
            scenario.fixture.world.clear_faults();
        }
        assert_recovered(scenario);
    });
}

#[test]
fn work_finishes_when_caller_cancels_at_every_call() {
    for_every_call_of(&SCENARIOS, |scenario| {
        let Some(outcome) = scenario.cancel_at_call() else { return false };
        assert!(outcome.is_ok() || outcome.is_err_and(|error| error.code() == Code::Aborted));
        assert_recovered(scenario);
        true
    });
}

/// Verifies that a call that failed has an actionable code and leaves nothing behind.
fn assert_legible(scenario: &Scenario, outcome: &Result<Value>) {
    if let Err(error) = outcome {
        assert!(error.code() != Code::Internal, "{error}");
    }
    assert_recovered(scenario);
}

#[test]
fn operations_recover_from_transient_failure_at_every_call() {
    fail_every_call_transiently(&SCENARIOS, assert_legible);
}

#[test]
fn operations_recover_from_permanent_failure_at_every_call() {
    fail_every_call_permanently(&SCENARIOS, assert_legible);
}

#[test]
fn operations_recover_when_a_failing_method_succeeds_again() {
    const METHODS: [Method; 14] = [
        Method::Destroy,
        Method::Status,
        Method::Probe,
        Method::UpdateMarker,
        Method::RestoreBackup,
        Method::CreateBackup,
        Method::StopSandbox,
        Method::SwitchRuntime,
        Method::Decommission,
        Method::EnsureRunning,
        Method::Release,
        Method::UpdateDirectory,
        Method::Claim,
        Method::Delete,
    ];
    for method in METHODS {
        for_every_scenario(&SCENARIOS, |scenario| {
            scenario.fixture.world.at(method, scenario.phase).fail_transiently();
            drop(scenario.start().answer());
            scenario.fixture.advance_with_alarms(10 * MINUTE);
            scenario.fixture.world.clear_faults();
            assert_recovered(scenario);
        });
    }
}
