//! Commands in named workspaces, which are started if they are not running.

use std::rc::Rc;

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::request::ExecRequest;
use sandbox_snapshotter::model::{Code, Result};
use sandbox_snapshotter::service::{CancellationToken, exec};
use serde_json::{Value, json};

use crate::support::{CommandResult, ExpectError, FILE, Fixture, HOUR, MINUTE, Method, WORKSPACE};

fn run(fixture: &Fixture) -> Result<Value> {
    fixture.run(Operation::Exec, &json!({ "name": WORKSPACE, "command": "true" }))
}

#[test]
fn active_workspace_runs_a_command_without_a_start() {
    let fixture = Fixture::with_workspace();
    let answer = run(&fixture).unwrap();
    assert_eq!(answer.get("started"), None);
    let id = fixture.sandbox_of(WORKSPACE);
    let methods: Vec<Method> = fixture.world.calls_about(&id);
    assert_eq!(methods, [Method::PrepareExec, Method::Status, Method::RunCommand]);
}

#[test]
fn stopped_workspace_is_started_with_its_files() {
    let fixture = Fixture::with_stopped_workspace();
    let answer = run(&fixture).unwrap();
    assert_eq!(answer["started"]["how"], json!("restored"));
    assert_eq!(answer["started"]["mayHaveLost"], json!(false));
    let id = fixture.sandbox_of(WORKSPACE);
    assert_eq!(answer["sandboxId"], json!(id));
    assert_eq!(fixture.world.files(&id).unwrap()[FILE], "first");
}

#[test]
fn concurrent_commands_share_one_start() {
    let fixture = Fixture::with_stopped_workspace();
    let options = json!({ "name": WORKSPACE, "command": "true" });
    let gate = fixture.world.before(Method::EnsureRunning).nth(1).block();
    let callers: Vec<_> = (0..16).map(|_| fixture.begin(Operation::Exec, &options)).collect();
    assert!(gate.is_reached());
    gate.open();
    for caller in callers {
        assert_eq!(caller.answer().unwrap()["exitCode"], json!(0));
    }
    assert_eq!(fixture.world.call_count(Method::EnsureRunning), 1);
    assert_eq!(fixture.world.hook_calls().len(), 16);
}

#[test]
fn workspace_whose_container_ended_is_started_and_says_so() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let answer = run(&fixture).unwrap();
    assert_eq!(answer["started"]["mayHaveLost"], json!(true));
    assert_eq!(fixture.world.hook_calls().len(), 1);
}

#[test]
fn workspace_whose_container_ended_unnoticed_is_started_before_the_command_runs() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.end_container_unnoticed(&id);
    let answer = run(&fixture).unwrap();
    assert_eq!(answer["started"]["how"], json!("restored"));
    assert_eq!(fixture.world.files(&id).unwrap()[FILE], "first");
    assert_eq!(fixture.world.hook_calls().len(), 1);
}

#[test]
fn diverged_workspace_runs_no_command() {
    let fixture = Fixture::with_diverged_workspace();
    run(&fixture).expect_code(Code::WorkspaceDiverged);
    assert!(fixture.world.hook_calls().is_empty());
}

#[test]
fn missing_workspace_is_not_found() {
    run(&Fixture::empty()).expect_code(Code::WorkspaceNotFound);
}

#[test]
fn command_gets_the_variables_of_the_workspace() {
    let fixture = Fixture::with_workspace_options(&json!({ "env": { "TOKEN": "secret", "MODE": "a" } }));
    fixture.world.clear_env(&fixture.sandbox_of(WORKSPACE));
    let options = json!({ "name": WORKSPACE, "command": "true", "env": { "MODE": "b" } });
    fixture.run(Operation::Exec, &options).unwrap();
    let call = fixture.world.hook_calls().pop().unwrap();
    let variables = ["TOKEN", "MODE"].map(|name| call.env[name].clone());
    assert_eq!(variables, ["secret", "b"]);
}

#[test]
fn command_that_a_rollback_ended_says_so() {
    let fixture = Fixture::with_workspace();
    fixture.run(Operation::Snapshot, &json!({ "name": WORKSPACE, "label": "before" })).unwrap();
    let options = json!({ "name": WORKSPACE, "command": "sleep 99" });
    let request = ExecRequest::decode(&options).unwrap();
    let start = exec::start(Rc::new(fixture.entrypoint()), request, None, CancellationToken::never());
    let mut running = block_on(start).expect("the command starts");
    fixture.update_workspace(WORKSPACE, &json!({ "currentSnapshotId": "before" })).unwrap();
    let error = block_on(running.next()).unwrap_err();
    assert_eq!(error.code(), Code::OperationInterrupted);
    assert!(error.message().contains("continued in another sandbox while the command ran"), "{error}");
}

#[test]
fn command_that_a_stop_ended_says_so() {
    let fixture = Fixture::with_workspace();
    let begin = || {
        let options = json!({ "name": WORKSPACE, "command": "sleep 99" });
        let request = ExecRequest::decode(&options).unwrap();
        let start = exec::start(Rc::new(fixture.entrypoint()), request, None, CancellationToken::never());
        block_on(start).expect("the command starts")
    };
    let mut running = begin();
    fixture.stop_workspace(WORKSPACE).unwrap();
    let error = block_on(running.next()).unwrap_err();
    assert_eq!(error.code(), Code::OperationInterrupted);
    assert!(error.message().contains("was stopped while the command ran"), "{error}");

    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let mut running = begin();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let error = block_on(running.next()).unwrap_err();
    assert!(!error.message().contains("was stopped"), "{error}");
}

#[test]
fn command_that_a_deletion_ended_says_so() {
    let fixture = Fixture::with_workspace();
    let options = json!({ "name": WORKSPACE, "command": "sleep 99" });
    let request = ExecRequest::decode(&options).unwrap();
    let start = exec::start(Rc::new(fixture.entrypoint()), request, None, CancellationToken::never());
    let mut running = block_on(start).expect("the command starts");
    fixture.run(Operation::DeleteWorkspace, &json!({ "name": WORKSPACE })).unwrap();
    let error = block_on(running.next()).unwrap_err();
    assert_eq!(error.code(), Code::WorkspaceNotFound);
    assert!(error.message().contains("was deleted while the command ran"), "{error}");
    assert!(!error.remediation().contains("run it again"), "{error}");
}

#[test]
fn command_counts_as_use_of_the_workspace() {
    let expiry = json!({ "expiry": { "idleSeconds": 600, "maxSeconds": 0 } });
    let fixture = Fixture::with_workspace_options(&expiry);
    for _ in 0..6 {
        fixture.advance_with_alarms(9 * MINUTE);
        run(&fixture).unwrap();
    }
    let ensured = fixture.world.call_count(Method::EnsureRunning);
    assert_eq!(ensured, 0, "the workspace was never stopped");
    fixture.advance_with_alarms(HOUR);
    let description = fixture.run(Operation::GetWorkspaceByName, &json!({ "name": WORKSPACE })).unwrap();
    assert_eq!(description["state"], json!("stopped"));
}

#[test]
fn missing_working_directory_of_a_workspace_is_reported_with_the_way_back() {
    let fixture = Fixture::with_workspace();
    for operation in [Operation::Exec, Operation::StartCommand] {
        let options = json!({ "name": WORKSPACE, "command": "true", "cwd": "missing" });
        let error = fixture.run(operation, &options).expect_code(Code::InvalidDirectory);
        assert!(error.remediation().contains("`rollback`"), "{error}");
    }
}

#[test]
fn command_whose_container_ends_is_answered_when_the_next_call_sees_that() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.plan_command("crash", |world, call| {
        world.end_container_unnoticed(&call.sandbox);
        CommandResult::success()
    });
    fixture.world.reset_calls();
    fixture.world.before(Method::Status).nth(4).run(move |world| world.end_container(&id));
    let options = json!({ "name": WORKSPACE, "command": "crash" });
    fixture.run(Operation::Exec, &options).expect_code(Code::OperationInterrupted);
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["containerEnded"], true);
}
