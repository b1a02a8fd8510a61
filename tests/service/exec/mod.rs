//! Commands of callers: in which container they run, what their callers get, and when they are killed.

mod background;
mod containers;
mod named;
mod revived;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result, Runtime};
use serde_json::{Value, json};

use crate::support::{CancellationSource, CommandResult, ExpectError, Fixture, Method, sandbox};

impl Fixture {
    /// Runs a command line in a sandbox.
    fn exec(&self, id: &str, command: &str) -> Result<Value> {
        self.run(Operation::Exec, &json!({ "sandboxId": id, "command": command }))
    }
}

#[test]
fn answer_has_the_exit_code_and_the_output() {
    let fixture = Fixture::with_sandbox();
    fixture.world.plan_command("make", |_, _| CommandResult::exit(3, "built\n"));
    let answer = fixture.exec("agent-42", "make").unwrap();
    let expected = json!({
        "sandboxId": "agent-42", "exitCode": 3, "stdout": "built\n", "stderr": "", "truncated": false, "durationMs": 0
    });
    assert_eq!(answer, expected);
}

#[test]
fn command_gets_its_directory_its_variables_and_its_input() {
    let fixture = Fixture::with_sandbox();
    let options = json!({
        "sandboxId": "agent-42", "argv": ["sort", "-u"], "cwd": "src", "env": { "A": "1" }, "stdin": "b\na\n"
    });
    fixture.run(Operation::Exec, &options).unwrap();
    let [call] = <[_; 1]>::try_from(fixture.world.hook_calls()).unwrap();
    assert_eq!((call.dir.as_str(), call.name.as_str()), ("src", "b\na\n"));
    assert_eq!(call.env.get("A").map(String::as_str), Some("1"));
}

#[test]
fn output_is_limited() {
    let fixture = Fixture::with_sandbox();
    fixture.world.plan_command("yes", |_, _| CommandResult::exit(0, "12345"));
    let options = json!({ "sandboxId": "agent-42", "command": "yes", "maxOutputBytes": 4 });
    let answer = fixture.run(Operation::Exec, &options).unwrap();
    assert_eq!((&answer["stdout"], &answer["truncated"]), (&json!("1234"), &json!(true)));
}

#[test]
fn command_that_exceeds_its_time_limit_has_exit_code_124() {
    let fixture = Fixture::with_sandbox();
    fixture.world.plan_command("sleep 99", |_, _| CommandResult::timeout());
    let answer = fixture.exec("agent-42", "sleep 99").unwrap();
    assert_eq!((&answer["exitCode"], &answer["timedOut"]), (&json!(124), &json!(true)));
}

#[test]
fn sandbox_runs_sixteen_commands_at_the_same_time() {
    let fixture = Fixture::with_sandbox();
    fixture.world.with_container(&sandbox("agent-42"), |container, _| container.commands = 15);
    fixture.exec("agent-42", "true").unwrap();
    fixture.world.with_container(&sandbox("agent-42"), |container, _| container.commands = 16);
    fixture.exec("agent-42", "true").expect_code(Code::SandboxBusy);
}

#[test]
fn missing_working_directory_is_reported() {
    let fixture = Fixture::with_sandbox();
    let options = json!({ "sandboxId": "agent-42", "command": "true", "cwd": "missing" });
    let error = fixture.run(Operation::Exec, &options).expect_code(Code::InvalidDirectory);
    assert!(error.message().contains("\"missing\""), "{error}");
    assert!(!error.remediation().contains("rollback"), "a sandbox has none: {error}");
}

#[test]
fn container_that_ends_during_a_command_is_reported() {
    let fixture = Fixture::with_sandbox();
    fixture.world.plan_command("crash", |world, _| {
        world.end_container("agent-42");
        CommandResult::success()
    });
    fixture.exec("agent-42", "crash").expect_code(Code::OperationInterrupted);
    fixture.world.run_background();
    assert_eq!(fixture.world.call_count(Method::KillCommand), 0, "a call would start another container");
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn kill_of_a_command_whose_container_ends_starts_no_other_container() {
    let fixture = Fixture::with_sandbox();
    fixture.world.runtime.set(Runtime::Container);
    let (signal, abort) = CancellationSource::new();
    let gate = fixture.world.after(Method::RunCommand).nth(1).block();
    fixture.world.before(Method::KillCommand).nth(1).run(|world| world.end_container("agent-42"));
    let options = json!({ "sandboxId": "agent-42", "command": "sleep 9" });
    let mut running = fixture.begin_cancellable(Operation::Exec, &options, abort);
    assert!(gate.is_reached() && !running.is_done(), "the command runs");
    signal.cancel();
    running.answer().expect_code(Code::Aborted);
    fixture.world.run_background();
    assert_eq!(fixture.world.call_count(Method::KillCommand), 1);
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn cancelled_command_is_killed() {
    let fixture = Fixture::with_sandbox();
    let (signal, abort) = CancellationSource::new();
    let gate = fixture.world.after(Method::RunCommand).nth(1).block();
    let options = json!({ "sandboxId": "agent-42", "command": "sleep 9" });
    let mut running = fixture.begin_cancellable(Operation::Exec, &options, abort);
    assert!(gate.is_reached() && !running.is_done(), "the command runs");
    signal.cancel();
    running.answer().expect_code(Code::Aborted);
    fixture.world.run_background();
    assert_eq!(fixture.world.call_count(Method::KillCommand), 1);
}

#[test]
fn command_that_ended_is_not_killed() {
    let fixture = Fixture::with_sandbox();
    fixture.exec("agent-42", "true").unwrap();
    fixture.world.finish_background();
    assert_eq!(fixture.world.call_count(Method::KillCommand), 0);
}

#[test]
fn invalid_options_reach_no_sandbox() {
    let fixture = Fixture::with_sandbox();
    for options in [
        json!({ "command": "true" }),
        json!({ "sandboxId": "agent-42", "name": "work", "command": "true" }),
        json!({ "sandboxId": "agent-42" }),
        json!({ "sandboxId": "agent-42", "command": "true", "argv": ["true"] }),
        json!({ "sandboxId": "agent-42", "command": "" }),
        json!({ "sandboxId": "agent-42", "argv": [] }),
        json!({ "sandboxId": "agent-42", "argv": ["a\u{0}"] }),
        json!({ "sandboxId": "agent-42", "command": "true", "timeoutSeconds": 3601 }),
        json!({ "sandboxId": "agent-42", "command": "true", "timeoutSeconds": 0 }),
        json!({ "sandboxId": "agent-42", "command": "true", "maxOutputBytes": 1_048_577 }),
        json!({ "sandboxId": "agent-42", "command": "true", "cwd": "" }),
        json!({ "sandboxId": "agent-42", "command": "true", "env": { "1A": "" } }),
        json!({ "sandboxId": "agent-42", "command": "true", "stdin": "x".repeat(81 * 1024) }),
    ] {
        fixture.run(Operation::Exec, &options).expect_code(Code::InvalidArgument);
    }
    assert_eq!(fixture.world.call_count(Method::RunCommand), 0);
}
