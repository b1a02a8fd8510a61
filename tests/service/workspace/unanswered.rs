//! Sandbox calls that are answered late or never, in every state of a workspace: `start`, `stop` and `delete` answer
//! within a bounded time, and no files are lost.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use super::scenarios::{SCENARIOS, assert_recovered, is_content_preserved, with_active, with_diverged};
use crate::support::{
    CallPhase, ExpectError, Fixture, HOUR, MINUTE, Method, Scenario, WORKSPACE, for_every_call_in, workspace_args,
};

/// The longest time, in milliseconds, that a call may take while one sandbox does not answer.
const MAX_CALL_MILLIS: i64 = 2 * HOUR;

/// The sandbox methods that operations on workspaces call.
const METHODS: [Method; 14] = [
    Method::Status,
    Method::SetName,
    Method::Probe,
    Method::RemoveReplacedNote,
    Method::CreateBackup,
    Method::RestoreBackup,
    Method::Destroy,
    Method::SetIdleTimeout,
    Method::SetEnv,
    Method::UpdateMarker,
    Method::ListDirectory,
    Method::HashFiles,
    Method::ChangedSinceWatch,
    Method::RunHook,
];

/// A state of the workspace `work`: its name, the file content that must not be lost, and its fixture.
type NamedState = (&'static str, &'static str, fn() -> Fixture);

const STATES: [NamedState; 8] = [
    ("active", "second", with_active),
    ("active and diverged", "second", with_diverged),
    ("active, container ended", "first", || {
        let fixture = with_active();
        fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
        fixture
    }),
    ("active, cold-started", "first", || {
        let fixture = with_active();
        fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
        fixture
    }),
    ("stopped", "first", Fixture::with_stopped_workspace),
    ("failed", "second", || {
        let fixture = with_diverged();
        fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::WorkspaceDiverged);
        assert_eq!(fixture.state(WORKSPACE), "failed");
        fixture
    }),
    ("restoring, Worker crashed", "first", || {
        crash_at(Fixture::with_stopped_workspace(), Operation::StartWorkspace, Method::RestoreBackup)
    }),
    ("stopping, Worker crashed", "second", || crash_at(with_active(), Operation::StopWorkspace, Method::CreateBackup)),
];

/// Crashes the Worker at the first call of `method` during an operation on `work`.
fn crash_at(fixture: Fixture, operation: Operation, method: Method) -> Fixture {
    let gate = fixture.world.before(method).nth(1).block();
    fixture.world.reset_calls();
    let work = fixture.begin_in_workspace(operation, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    fixture.crash_during(work);
    fixture.world.clear_faults();
    fixture
}

/// Runs an operation. Verifies that it answers within [`MAX_CALL_MILLIS`], and that a failure has an actionable code.
#[track_caller]
fn assert_answered(fixture: &Fixture, operation: Operation, options: &Value) -> Result<Value> {
    let started_at = fixture.world.current_time();
    let outcome = fixture.run(operation, &workspace_args(WORKSPACE, options));
    let millis = fixture.world.current_time().millis_since(started_at);
    assert!(millis <= MAX_CALL_MILLIS, "{operation:?} took {} minutes", millis / MINUTE);
    if let Err(error) = &outcome {
        assert!(!matches!(error.code(), Code::Internal | Code::SandboxFailed), "{error}");
    }
    outcome
}

/// Verifies that the workspace can be started, stopped and deleted, and that `content` is not lost.
#[track_caller]
fn assert_usable(fixture: &Fixture, content: &str) {
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "rescue" })).unwrap();
    assert!(
        is_content_preserved(fixture, content),
        "{content:?} is lost, got {:?}",
        fixture.read_workspace_file(WORKSPACE)
    );
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.delete_workspace(WORKSPACE).unwrap();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
}

/// Injects a fault at each sandbox call of every scenario in a phase, and verifies that the operation recovers.
fn for_every_sandbox_call(phase: CallPhase, inject: impl Fn(&Scenario)) {
    for_every_call_in(phase, &SCENARIOS, |scenario| {
        inject(scenario);
        let outcome = scenario.start().answer();
        scenario.fixture.world.finish_background();
        let calls = scenario.fixture.world.calls();
        scenario.fixture.world.clear_faults();
        if let Err(error) = &outcome {
            assert!(!matches!(error.code(), Code::Internal | Code::SandboxFailed), "{error}");
        }
        let is_sandbox_call =
            calls.get(scenario.call_number as usize - 1).is_some_and(|(method, _)| method.is_sandbox_call());
        if is_sandbox_call {
            assert_recovered(scenario);
        }
        calls.len() >= scenario.call_number as usize
    });
}

#[test]
fn operations_recover_when_a_sandbox_call_is_never_answered() {
    for phase in CallPhase::BOTH {
        for_every_sandbox_call(phase, |scenario| {
            scenario.fixture.world.at_any_call(phase).nth(scenario.call_number).hang();
        });
    }
}

#[test]
fn operations_recover_when_a_sandbox_call_takes_effect_after_its_timeout() {
    for_every_sandbox_call(CallPhase::Before, |scenario| {
        scenario.fixture.world.at_any_call(CallPhase::Before).nth(scenario.call_number).take_effect_late();
    });
}

#[test]
fn start_stop_and_delete_answer_while_one_method_is_never_answered() {
    for (name, content, prepare) in STATES {
        for method in METHODS {
            for operation in [Operation::StartWorkspace, Operation::StopWorkspace, Operation::DeleteWorkspace] {
                let fixture = prepare();
                fixture.world.before(method).hang();
                println!("{operation:?} in state {name:?}, while {method:?} is never answered");
                let outcome = assert_answered(&fixture, operation, &json!({}));
                if operation == Operation::DeleteWorkspace {
                    outcome.unwrap();
                }
                fixture.world.clear_faults();
                if operation != Operation::DeleteWorkspace {
                    assert_usable(&fixture, content);
                }
            }
        }
    }
}

#[test]
fn start_stop_and_delete_answer_while_the_sandbox_answers_nothing() {
    for (name, _, prepare) in STATES {
        for order in [["start", "stop", "start"], ["stop", "start", "stop"]] {
            let fixture = prepare();
            println!("{order:?} in state {name:?}");
            fixture.world.hang_sandbox(&fixture.sandbox_of(WORKSPACE));
            for operation in order {
                let operation = if operation == "start" { Operation::StartWorkspace } else { Operation::StopWorkspace };
                drop(assert_answered(&fixture, operation, &json!({})));
                fixture.advance_with_alarms(10 * MINUTE);
            }
            assert_answered(&fixture, Operation::DeleteWorkspace, &json!({})).unwrap();
            fixture.world.clear_faults();
            fixture.advance_with_alarms(3 * HOUR);
            fixture.assert_nothing_pending();
        }
    }
}
