//! Background commands: in which container they run, and what their callers learn about them.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use crate::support::{CommandResult, ExpectError, Fixture, HOUR, MINUTE, Method, WORKSPACE};

impl Fixture {
    /// Starts a background command in a sandbox.
    fn start_command(&self, id: &str, command: &str) -> Result<Value> {
        self.run(Operation::StartCommand, &json!({ "sandboxId": id, "command": command }))
    }

    /// Starts a background command in the workspace.
    fn serve(&self) -> Value {
        self.run(Operation::StartCommand, &json!({ "name": WORKSPACE, "command": "serve" })).unwrap()
    }

    /// Runs an operation on a background command of the workspace.
    fn on_command(&self, operation: Operation, started: &Value) -> Result<Value> {
        self.run(operation, &json!({ "name": WORKSPACE, "commandId": started["commandId"] }))
    }
}

const ABOUT_COMMANDS: [Operation; 2] = [Operation::ReadCommandOutput, Operation::EndCommand];

#[test]
fn command_runs_until_it_is_ended() {
    let fixture = Fixture::with_sandbox();
    let started = fixture.start_command("agent-42", "serve --port 80").unwrap();
    assert_eq!(started["state"], json!("running"));
    assert_eq!((started.get("exitCode"), started.get("endedAt")), (None, None));
    let list = || fixture.run(Operation::ListCommands, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(list()["commands"][0]["command"], json!("serve --port 80"));
    let command = json!({ "sandboxId": "agent-42", "commandId": started["commandId"] });
    let ended = fixture.run(Operation::EndCommand, &command).unwrap();
    assert_eq!((&ended["state"], &ended["exitCode"]), (&json!("killed"), &json!(143)));
    assert_eq!(list()["commands"][0]["state"], json!("killed"));
    assert_eq!(fixture.run(Operation::EndCommand, &command).unwrap(), ended, "a second call changes nothing");
}

#[test]
fn output_is_read_in_parts() {
    let fixture = Fixture::with_sandbox();
    fixture.world.plan_command("make", |_, _| CommandResult::exit(3, "built\n"));
    let started = fixture.start_command("agent-42", "make").unwrap();
    let read = |offset: u64, length: u32| {
        let options = json!({
            "sandboxId": "agent-42", "commandId": started["commandId"], "offset": offset, "length": length,
        });
        fixture.run(Operation::ReadCommandOutput, &options).unwrap()
    };
    let first = read(0, 4);
    assert_eq!((&first["content"], &first["nextOffset"], &first["exitCode"]), (&json!("buil"), &json!(4), &json!(3)));
    assert_eq!((&read(4, 100)["content"], &read(4, 100)["nextOffset"]), (&json!("t\n"), &json!(6)));
    assert_eq!((&read(6, 100)["content"], &read(6, 100)["nextOffset"]), (&json!(""), &json!(6)));
}

#[test]
fn command_gets_its_directory_its_variables_and_its_input() {
    let fixture = Fixture::with_workspace_options(&json!({ "env": { "TOKEN": "secret", "MODE": "a" } }));
    let options = json!({
        "name": WORKSPACE, "argv": ["sort", "-u"], "cwd": "src", "env": { "MODE": "b" }, "stdin": "b\na\n",
    });
    let started = fixture.run(Operation::StartCommand, &options).unwrap();
    let call = fixture.world.hook_calls().pop().unwrap();
    assert_eq!((call.dir.as_str(), call.name.as_str()), ("src", "b\na\n"));
    assert_eq!(["TOKEN", "MODE"].map(|name| call.env[name].clone()), ["secret", "b"]);
    assert!(!started.to_string().contains("secret"), "no answer contains variables");
}

#[test]
fn missing_working_directory_is_reported() {
    let fixture = Fixture::with_sandbox();
    let options = json!({ "sandboxId": "agent-42", "command": "true", "cwd": "missing" });
    let error = fixture.run(Operation::StartCommand, &options).expect_code(Code::InvalidDirectory);
    assert!(error.message().contains("\"missing\""), "{error}");
}

#[test]
fn sandbox_runs_sixteen_background_commands_and_further_commands() {
    let fixture = Fixture::with_sandbox();
    for _ in 0..16 {
        fixture.start_command("agent-42", "serve").unwrap();
    }
    let error = fixture.start_command("agent-42", "serve").expect_code(Code::SandboxBusy);
    assert!(error.is_retryable() && error.remediation().contains("End one"), "{error}");
    fixture.run(Operation::Exec, &json!({ "sandboxId": "agent-42", "command": "true" })).unwrap();
}

#[test]
fn command_that_does_not_exist_is_not_found() {
    let fixture = Fixture::with_workspace();
    for operation in ABOUT_COMMANDS {
        let error = fixture.on_command(operation, &json!({ "commandId": "never" })).expect_code(Code::CommandNotFound);
        assert!(error.message().contains("never"), "{error}");
    }
}

#[test]
fn stopped_workspace_is_started_for_a_command() {
    let fixture = Fixture::with_stopped_workspace();
    let started = fixture.serve();
    assert_eq!(started["started"]["how"], json!("restored"));
    assert_eq!(fixture.serve().get("started"), None);
}

#[test]
fn workspace_whose_container_ended_unnoticed_is_started_before_the_command() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.end_container_unnoticed(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(fixture.serve()["started"]["how"], json!("restored"));
    assert_eq!(fixture.world.hook_calls().len(), 1);
}

#[test]
fn stop_ends_the_commands_and_saves_the_files() {
    let fixture = Fixture::with_workspace();
    let started = fixture.serve();
    fixture.write_workspace_file(WORKSPACE, "served");
    let stopped = fixture.run(Operation::StopWorkspace, &json!({ "name": WORKSPACE })).unwrap();
    assert!(stopped["lastSnapshot"]["id"].is_string());
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let list = fixture.run(Operation::ListCommands, &json!({ "name": WORKSPACE })).unwrap();
    assert_eq!(list["commands"], json!([]));
    fixture.on_command(Operation::ReadCommandOutput, &started).expect_code(Code::CommandNotFound);
}

#[test]
fn workspace_that_is_not_running_is_not_started_to_learn_about_its_commands() {
    let fixture = Fixture::with_workspace();
    let started = fixture.serve();
    fixture.run(Operation::StopWorkspace, &json!({ "name": WORKSPACE })).unwrap();
    fixture.world.reset_calls();
    for operation in ABOUT_COMMANDS {
        let error = fixture.on_command(operation, &started).expect_code(Code::SandboxNotRunning);
        assert!(error.remediation().contains("Start the command again"), "{error}");
    }
    fixture.run(Operation::ListCommands, &json!({ "name": WORKSPACE })).expect_code(Code::SandboxNotRunning);
    assert_eq!(fixture.world.call_count(Method::EnsureRunning), 0);
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn container_that_ended_is_not_started_to_learn_about_its_commands() {
    let fixture = Fixture::with_workspace();
    let started = fixture.serve();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.end_container(&id);
    for operation in ABOUT_COMMANDS {
        let error = fixture.on_command(operation, &started).expect_code(Code::SandboxNotRunning);
        assert!(error.message().contains("its background commands ended"), "{error}");
    }
    assert!(fixture.world.running_sandboxes().is_empty());
    fixture.world.write_file(&id, "/workspace/other", "");
    fixture.on_command(Operation::EndCommand, &started).expect_code(Code::SandboxReplaced);
}

#[test]
fn former_sandbox_of_a_workspace_is_named_as_such() {
    let fixture = Fixture::with_stopped_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    let snapshot = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"].clone();
    fixture.revert_workspace(WORKSPACE, &snapshot).unwrap();
    let options = json!({ "sandboxId": former, "commandId": "k3f9x2ab" });
    for operation in ABOUT_COMMANDS {
        let error = fixture.run(operation, &options).expect_code(Code::SandboxNotRunning);
        assert!(error.message().contains("is a former one of the workspace \"work\""), "{error}");
    }
    let error = fixture.run(Operation::ListCommands, &json!({ "sandboxId": former })).unwrap_err();
    assert!(error.message().contains("is a former one of the workspace \"work\""), "{error}");
}

#[test]
fn running_command_keeps_an_idle_workspace_active() {
    let expiry = json!({ "expiry": { "idleSeconds": 600, "maxSeconds": 0 } });
    let fixture = Fixture::with_workspace_options(&expiry);
    let started = fixture.serve();
    let state = || fixture.run(Operation::GetWorkspaceByName, &json!({ "name": WORKSPACE })).unwrap()["state"].clone();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(state(), json!("active"));
    fixture.on_command(Operation::EndCommand, &started).unwrap();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(state(), json!("stopped"));
}

#[test]
fn reading_about_commands_does_not_keep_an_idle_workspace_active() {
    let expiry = json!({ "expiry": { "idleSeconds": 600, "maxSeconds": 0 } });
    let fixture = Fixture::with_workspace_options(&expiry);
    for _ in 0..6 {
        fixture.advance_with_alarms(4 * MINUTE);
        drop(fixture.run(Operation::ListCommands, &json!({ "name": WORKSPACE })));
    }
    let workspace = fixture.run(Operation::GetWorkspaceByName, &json!({ "name": WORKSPACE })).unwrap();
    assert_eq!(workspace["state"], json!("stopped"));
}

#[test]
fn call_about_commands_costs_one_command_in_the_container() {
    let fixture = Fixture::with_workspace();
    let started = fixture.serve();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.reset_calls();
    fixture.on_command(Operation::ReadCommandOutput, &started).unwrap();
    assert_eq!(fixture.world.calls_about(&id), [Method::PrepareExec, Method::Status, Method::CallBackground]);
}

#[test]
fn command_does_not_run_in_a_container_that_was_replaced_between_the_checks() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CallBackground).nth(1).run(|world| world.replace_container("agent-42"));
    fixture.start_command("agent-42", "serve").expect_code(Code::SandboxReplaced);
    assert!(fixture.world.hook_calls().is_empty());
}

#[test]
fn start_whose_answer_is_lost_is_not_repeated() {
    let fixture = Fixture::with_workspace();
    fixture.world.after(Method::CallBackground).nth(1).fail_transiently();
    let start = json!({ "name": WORKSPACE, "command": "serve" });
    fixture.run(Operation::StartCommand, &start).unwrap_err();
    assert_eq!((fixture.world.call_count(Method::CallBackground), fixture.world.hook_calls().len()), (1, 1));
}
