//! Faults at every port call, before and after its effect, in every operation on a named workspace: the Worker crashes,
//! the caller cancels, or the call fails. Each operation recovers: no transient state remains, no files are lost, and
//! no resources are left over.

use sandbox_snapshotter::model::{Code, Failure};

use super::scenarios::{SCENARIOS, assert_recovered, block_call, crash_at_call};
use crate::support::{CallPhase, CancellationSource, MINUTE, Method, Scenario, for_every_call_of};

#[test]
fn alarms_recover_from_worker_crash_at_every_call() {
    for_every_call_of(&SCENARIOS, |scenario| {
        let crashed = crash_at_call(scenario);
        if crashed {
            assert_recovered(scenario);
        }
        crashed
    });
}

#[test]
fn operation_can_be_repeated_after_worker_crash_at_every_call() {
    for_every_call_of(&SCENARIOS, |scenario| {
        let crashed = crash_at_call(scenario);
        if crashed {
            scenario.fixture.run(scenario.operation, &scenario.arguments).unwrap_or_else(|error| panic!("{error}"));
            assert_recovered(scenario);
        }
        crashed
    });
}

#[test]
fn alarms_recover_from_repeated_worker_crashes() {
    for_every_call_of(&SCENARIOS, |scenario| {
        let crashed = crash_at_call(scenario);
        if crashed {
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
        }
        crashed
    });
}

#[test]
fn work_finishes_when_caller_cancels_at_every_call() {
    for_every_call_of(&SCENARIOS, |scenario| {
        let gate = block_call(scenario);
        let (signal, abort) = CancellationSource::new();
        let work = scenario.fixture.begin_cancellable(scenario.operation, &scenario.arguments, abort);
        if !gate.is_reached() {
            return false;
        }
        signal.cancel();
        let outcome = work.answer();
        assert!(outcome.is_ok() || outcome.is_err_and(|error| error.code() == Code::Aborted));
        gate.open();
        scenario.fixture.world.finish_background();
        scenario.fixture.world.clear_faults();
        assert_recovered(scenario);
        true
    });
}

/// Makes the port call of the scenario fail. Returns whether the operation made that call.
fn fail_call(scenario: &Scenario, failure: &Failure) -> bool {
    scenario.fixture.world.at_any_call(scenario.phase).nth(scenario.call_number).fail_with(failure.clone());
    let outcome = scenario.start().answer();
    scenario.fixture.world.run_background();
    let calls = scenario.fixture.world.calls().len();
    scenario.fixture.world.clear_faults();
    if let Err(error) = &outcome {
        assert!(error.code() != Code::Internal, "{error}");
    }
    assert_recovered(scenario);
    calls >= scenario.call_number as usize
}

#[test]
fn operations_recover_from_transient_failure_at_every_call() {
    for_every_call_of(&SCENARIOS, |scenario| fail_call(scenario, &Failure::new("Error", "Network connection lost.")));
}

#[test]
fn operations_recover_from_permanent_failure_at_every_call() {
    for_every_call_of(&SCENARIOS, |scenario| match scenario.phase {
        CallPhase::Before => fail_call(scenario, &Failure::new("Error", "boom").with_code("UNKNOWN_ERROR")),
        // A call that took effect never reports a permanent failure.
        CallPhase::After => scenario.call_number < 3,
    });
}

#[test]
fn operations_recover_when_a_failing_method_succeeds_again() {
    const METHODS: [Method; 13] = [
        Method::Destroy,
        Method::Status,
        Method::Probe,
        Method::UpdateMarker,
        Method::RestoreBackup,
        Method::CreateBackup,
        Method::StopSandbox,
        Method::Decommission,
        Method::EnsureRunning,
        Method::Release,
        Method::UpdateDirectory,
        Method::Claim,
        Method::Delete,
    ];
    for method in METHODS {
        for_every_call_of(&SCENARIOS, |scenario| {
            scenario.fixture.world.at(method, scenario.phase).fail_transiently();
            drop(scenario.start().answer());
            scenario.fixture.advance_with_alarms(10 * MINUTE);
            scenario.fixture.world.clear_faults();
            assert_recovered(scenario);
            // The call number has no effect here, so two runs are enough.
            scenario.call_number < 3
        });
    }
}
