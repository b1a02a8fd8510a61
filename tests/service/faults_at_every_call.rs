//! Fault injection at every port call of every operation, before and after its effect: the Worker dies, the caller
//! aborts, or the call fails. Afterwards no task is pending, and every listed snapshot can be restored.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::support::{
    FILE, Fixture, HOUR, SCENARIOS, Scenario, crash_at_every_call, fail_every_call_permanently,
    fail_every_call_transiently, for_every_call,
};

/// Asserts that after 3 hours of alarms no task is pending and all snapshots can be restored.
fn assert_recovered(scenario: &Scenario) {
    let fixture = &scenario.fixture;
    fixture.world.run_background();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
    for id in fixture.world.sandbox_ids() {
        let page = fixture.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
        for row in page["snapshots"].as_array().unwrap() {
            assert_eq!((&row["state"], &row["restorable"]), (&json!("ready"), &json!("yes")), "{row}");
        }
    }
}

/// Returns the running minted sandboxes, except those that the scenario started with.
fn minted_running(fixture: &Fixture) -> Vec<String> {
    let minted = |id: &String| id.starts_with("agent-42-") && !id.ends_with("aaaaaaaa");
    fixture.world.running_sandboxes().into_iter().filter(minted).collect()
}

/// Returns the labels of the snapshots of the scenario's sandbox.
fn labels(scenario: &Scenario) -> Vec<Value> {
    let Some(id) = scenario.arguments.get("sandboxId") else { return Vec::new() };
    let page = scenario.fixture.run(Operation::List, &json!({ "sandboxId": id, "check": false })).unwrap();
    page["snapshots"].as_array().unwrap().iter().map(|row| row["label"].clone()).collect()
}

#[test]
fn alarms_recover_after_worker_dies_at_any_call() {
    crash_at_every_call(&SCENARIOS, assert_recovered);
}

#[test]
fn repeated_call_is_answered_once_after_worker_dies_at_any_call() {
    crash_at_every_call(&SCENARIOS, |scenario| {
        let mut retried = scenario.fixture.run(scenario.operation, &scenario.arguments);
        if retried.as_ref().is_err_and(|error| error.code() == Code::SandboxReplaced) {
            // The container was replaced meanwhile, as the error says.
            let mut with_wake = scenario.arguments.clone();
            with_wake["wake"] = json!(true);
            retried = scenario.fixture.run(scenario.operation, &with_wake);
        }
        if retried.as_ref().is_err_and(|error| error.code() == Code::SandboxUnresponsive) {
            // The Worker died during a destroy, which may be late.
            scenario.fixture.advance_with_alarms(2 * HOUR);
            retried = scenario.fixture.run(scenario.operation, &scenario.arguments);
        }
        let answer = retried.unwrap();
        assert_recovered(scenario);
        assert_answered_once(scenario, &answer);
    });
}

/// Asserts that exactly one sandbox, or one snapshot, belongs to the answer.
fn assert_answered_once(scenario: &Scenario, answer: &Value) {
    match scenario.operation {
        Operation::Restore | Operation::Branch => {
            assert!(minted_running(&scenario.fixture).iter().eq([answer["ref"]["sandboxId"].as_str().unwrap()]));
            assert_eq!(scenario.fixture.run(scenario.operation, &scenario.arguments).unwrap(), *answer);
        }
        Operation::Revive => {
            assert_eq!(scenario.fixture.world.files("agent-42").unwrap()[FILE], "first");
            assert_eq!(scenario.fixture.run(scenario.operation, &scenario.arguments).unwrap(), *answer);
        }
        Operation::Snapshot => {
            let same_label = labels(scenario).into_iter().filter(|label| *label == answer["capture"]["label"]);
            assert_eq!(same_label.count(), 1);
        }
        _ => {}
    }
}

#[test]
fn application_data_is_unchanged_after_worker_dies_at_any_call() {
    for_every_call(|scenario| {
        let own = scenario.fixture.world.create_app_backup("agent-7", Some("nightly"));
        let files = scenario.fixture.world.files("agent-7");
        let crashed = scenario.crash_at_call();
        scenario.fixture.advance_with_alarms(3 * HOUR);
        assert!(scenario.fixture.world.backup_ids().contains(&own.id().to_string()));
        assert_eq!(scenario.fixture.world.files("agent-7"), files);
        crashed
    });
}

#[test]
fn alarms_recover_after_worker_dies_repeatedly_at_any_call() {
    crash_at_every_call(&SCENARIOS, |scenario| {
        for nth in 1..6 {
            scenario.fixture.world.reset_calls();
            scenario.fixture.world.at_any_call(scenario.phase).nth(nth).block();
            let arguments = json!({ "sandboxId": "agent-42", "check": false });
            let work = scenario.fixture.begin(Operation::List, &arguments);
            scenario.fixture.crash_during(work);
            scenario.fixture.world.clear_faults();
        }
        assert_recovered(scenario);
    });
}

#[test]
fn abort_at_any_call_leaves_nothing_behind() {
    for_every_call(|scenario| {
        if !matches!(scenario.operation, Operation::Snapshot | Operation::Restore | Operation::Branch) {
            return scenario.call_number < 3;
        }
        let stored = || (labels(scenario).len(), scenario.fixture.world.backup_ids().len());
        let before = stored();
        scenario.fixture.world.reset_calls(); // A list of a sandbox without a record calls the Directory.
        let Some(outcome) = scenario.cancel_at_call() else { return false };
        assert_eq!(outcome.expect_err("the caller stopped").code(), Code::Aborted);
        assert_recovered(scenario);
        assert_eq!(stored(), before);
        assert_eq!(minted_running(&scenario.fixture), [""; 0]);
        true
    });
}

/// Asserts that nothing is left of a call that failed, and that one that succeeded is answered once.
fn assert_completed(scenario: &Scenario, outcome: &Result<Value>) {
    assert_recovered(scenario);
    if let Ok(answer) = outcome {
        assert_answered_once(scenario, answer);
    }
}

#[test]
fn transient_failure_of_any_call_leaves_nothing_behind() {
    fail_every_call_transiently(&SCENARIOS, assert_completed);
}

#[test]
fn permanent_failure_of_any_call_leaves_nothing_behind() {
    fail_every_call_permanently(&SCENARIOS, assert_completed);
}
