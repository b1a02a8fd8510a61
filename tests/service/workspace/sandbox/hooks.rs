//! Hooks: commands that run in the sandbox of a workspace.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use crate::support::{CallPhase, CommandResult, ExpectError, FILE, Fixture, MINUTE, Method, WORKSPACE};

fn hook_settings(hooks: &Value) -> Value {
    json!({ "hooks": hooks, "expiry": { "idleSeconds": 0 } })
}

fn hooks_run(fixture: &Fixture) -> Vec<String> {
    fixture.world.hook_calls().into_iter().map(|hook| hook.name).collect()
}

#[test]
fn hooks_run_at_their_events_in_the_workspace_directory() {
    let hooks = json!({
        "beforeStop": { "command": "exit 0" }, "afterStart": { "command": "exit 0" }, "onTimeout": { "command": "exit 0" },
    });
    let fixture = Fixture::with_workspace_options(&hook_settings(&hooks));
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(hooks_run(&fixture), ["afterStart", "beforeStop", "afterStart"]);
    let first = &fixture.world.hook_calls()[0];
    assert_eq!((first.dir.as_str(), first.sandbox.clone()), ("/workspace", fixture.sandbox_of(WORKSPACE)));
}

#[test]
fn hook_gets_variables_after_sandbox_object_restart() {
    let fixture = Fixture::with_workspace_options(&json!({
        "env": { "A": "1" },
        "hooks": { "beforeStop": { "command": "exit 0" } },
    }));
    fixture.world.clear_env(&fixture.sandbox_of(WORKSPACE));
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.world.hook_calls()[0].env["A"], "1");
}

#[test]
fn hook_result_is_returned() {
    let fixture = Fixture::empty();
    fixture.world.plan_command("build", |_, _| CommandResult::exit(0, "built"));
    let created =
        fixture.create_workspace(WORKSPACE, &hook_settings(&json!({ "afterStart": { "command": "build" } }))).unwrap();
    let expected = json!([{ "hook": "afterStart", "ok": true, "exitCode": 0, "timedOut": false, "output": "built" }]);
    assert_eq!(created["hookRuns"], expected);
}

#[test]
fn after_start_hook_runs_after_files_are_restored() {
    let fixture =
        Fixture::with_stopped_workspace_options(&hook_settings(&json!({ "afterStart": { "command": "look" } })));
    fixture.world.plan_command("look", |world, call| {
        CommandResult::exit(0, &world.files(&call.sandbox).unwrap().get(FILE).cloned().unwrap_or_default())
    });
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["hookRuns"][0]["output"], "first");
}

#[test]
fn start_returns_only_when_after_start_hook_has_finished() {
    let fixture =
        Fixture::with_stopped_workspace_options(&hook_settings(&json!({ "afterStart": { "command": "exit 0" } })));
    let gate = fixture.world.after(Method::RunHook).nth(1).block();
    let mut start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached() && !start.is_done());
    assert!(!fixture.world.marker_on(&fixture.sandbox_of(WORKSPACE)).unwrap().is_ready());
    gate.open();
    start.answer().unwrap();
    assert!(fixture.world.marker_on(&fixture.sandbox_of(WORKSPACE)).unwrap().is_ready());
}

#[test]
fn snapshot_contains_files_written_by_before_stop_hook() {
    let fixture = Fixture::with_workspace_options(&hook_settings(&json!({ "beforeStop": { "command": "save" } })));
    fixture.world.plan_command("save", |world, call| {
        world.write_file(&call.sandbox, FILE, "saved by the hook");
        CommandResult::success()
    });
    assert_eq!(fixture.stop_workspace(WORKSPACE).unwrap()["changedDuringCapture"], false);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "saved by the hook");
}

#[test]
fn start_fails_with_hook_output_when_after_start_hook_fails() {
    let fixture =
        Fixture::with_stopped_workspace_options(&hook_settings(&json!({ "afterStart": { "command": "build" } })));
    fixture.world.plan_command("build", |_, _| CommandResult::exit(7, "no such file"));
    let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::HookFailed);
    let message = error.message();
    assert!(["afterStart", "exit code 7", "no such file"].iter().all(|part| message.contains(part)), "{error}");
    assert!(fixture.world.running_sandboxes().is_empty());
    fixture.world.plan_command("build", |_, _| CommandResult::success());
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn message_of_a_failed_hook_ends_with_its_output_in_quotes() {
    for (output, end) in [
        ("", "failed with exit code 7."),
        (" \n", "failed with exit code 7."),
        ("boo\n", "failed with exit code 7. Output: \"boo\"."),
        ("one\ntwo\n\n", "failed with exit code 7. Output: \"one\ntwo\"."),
    ] {
        let fixture = Fixture::with_workspace_options(&hook_settings(&json!({ "beforeStop": { "command": "build" } })));
        fixture.world.plan_command("build", move |_, _| CommandResult::exit(7, output));
        let error = fixture.stop_workspace(WORKSPACE).expect_code(Code::HookFailed);
        assert!(error.message().ends_with(end), "{error}");
    }
}

#[test]
fn stop_fails_and_workspace_stays_active_when_before_stop_hook_fails() {
    let fixture = Fixture::with_workspace_options(&hook_settings(&json!({ "beforeStop": { "command": "exit 1" } })));
    fixture.stop_workspace(WORKSPACE).expect_code(Code::HookFailed);
    assert_eq!((fixture.state(WORKSPACE), fixture.read_workspace_file(WORKSPACE)), ("active", Some("first".into())));
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["problem"]["code"], "HOOK_FAILED");
}

#[test]
fn hook_failure_with_warn_does_not_fail_the_operation() {
    let warn = |command: &str| json!({ "command": command, "onFailure": "warn" });
    let fixture = Fixture::empty();
    let created = fixture
        .create_workspace(
            WORKSPACE,
            &hook_settings(&json!({ "afterStart": warn("exit 2"), "beforeStop": warn("exit 3") })),
        )
        .unwrap();
    assert_eq!((&created["hookRuns"][0]["ok"], &created["hookRuns"][0]["exitCode"]), (&json!(false), &json!(2)));
    fixture.world.advance_clock(MINUTE);
    assert_eq!(fixture.stop_workspace(WORKSPACE).unwrap()["hookRuns"][0]["exitCode"], 3);
}

#[test]
fn hook_that_exceeds_its_timeout_fails_the_stop() {
    let fixture = Fixture::with_workspace_options(&hook_settings(
        &json!({ "beforeStop": { "command": "sleep", "timeoutSeconds": 5 } }),
    ));
    fixture.world.plan_command("sleep", |_, _| CommandResult::timeout());
    let error = fixture.stop_workspace(WORKSPACE).expect_code(Code::HookFailed);
    assert!(error.message().contains("exceeded its time limit of 5 seconds"), "{error}");
}

#[test]
fn stop_fails_when_hook_cannot_be_run() {
    for phase in CallPhase::BOTH {
        let fixture =
            Fixture::with_workspace_options(&hook_settings(&json!({ "beforeStop": { "command": "exit 0" } })));
        fixture.world.at(Method::RunHook, phase).fail_transiently();
        fixture.world.reset_calls();
        fixture.stop_workspace(WORKSPACE).expect_code(Code::HookFailed);
        assert_eq!(fixture.state(WORKSPACE), "active", "{phase:?}");
    }
}

#[test]
fn hook_does_not_run_in_a_replaced_container() {
    let fixture =
        Fixture::with_stopped_workspace_options(&hook_settings(&json!({ "beforeStop": { "command": "exit 0" } })));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let before = hooks_run(&fixture).len();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.reset_calls();
    fixture.world.before(Method::RunHook).nth(1).run(move |world| world.replace_container(&id));
    fixture.stop_workspace(WORKSPACE).expect_code(Code::OperationInterrupted);
    assert_eq!(hooks_run(&fixture).len(), before);
    assert!(fixture.stop_workspace(WORKSPACE).unwrap()["hadEnded"].as_bool().unwrap());
}

#[test]
fn stop_skips_before_stop_hook_when_container_has_ended() {
    let fixture = Fixture::with_stopped_workspace_options(&hook_settings(
        &json!({ "beforeStop": { "command": "exit 1", "onFailure": "warn" } }),
    ));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let before = hooks_run(&fixture).len();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(hooks_run(&fixture).len(), before);
}

#[test]
fn start_of_running_workspace_runs_no_hook() {
    let fixture = Fixture::with_workspace_options(&hook_settings(&json!({ "afterStart": { "command": "exit 0" } })));
    let before = hooks_run(&fixture).len();
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["hookRuns"], json!([]));
    assert_eq!(hooks_run(&fixture).len(), before);
}
