//! Commands that run in the sandbox of a workspace.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use crate::support::{Checked, FILE, MINUTE, Method, Moment, Ran, Stage, WORK};

fn hooks(hooks: &Value) -> Value {
    json!({ "hooks": hooks, "expiry": { "idleSeconds": 0 } })
}

fn run(stage: &Stage) -> Vec<String> {
    stage.world.hooks_run().into_iter().map(|hook| hook.name).collect()
}

#[test]
fn each_runs_at_its_time_in_the_directory_of_the_workspace() {
    let all = json!({
        "beforeStop": { "command": "exit 0" }, "afterStart": { "command": "exit 0" }, "onTimeout": { "command": "exit 0" },
    });
    let stage = Stage::with_work_as(&hooks(&all));
    stage.stops(WORK).unwrap();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(run(&stage), ["afterStart", "beforeStop", "afterStart"]);
    let first = &stage.world.hooks_run()[0];
    assert_eq!((first.dir.as_str(), first.sandbox.clone()), ("/workspace", stage.sandbox_of(WORK)));
}

#[test]
fn it_sees_the_variables_also_when_the_sandbox_has_forgotten_them() {
    let stage = Stage::with_work_as(&json!({
        "env": { "A": "1" },
        "hooks": { "beforeStop": { "command": "exit 0" } },
    }));
    stage.world.forgets_env(&stage.sandbox_of(WORK));
    stage.stops(WORK).unwrap();
    assert_eq!(stage.world.hooks_run()[0].env["A"], "1");
}

#[test]
fn what_it_came_to_is_told() {
    let stage = Stage::empty();
    stage.world.command("build", |_, _| Ran::exits(0, "built"));
    let created = stage.creates(WORK, &hooks(&json!({ "afterStart": { "command": "build" } }))).unwrap();
    let expected = json!([{ "hook": "afterStart", "ok": true, "exitCode": 0, "timedOut": false, "output": "built" }]);
    assert_eq!(created["hookRuns"], expected);
}

#[test]
fn the_files_are_in_place_before_the_command_after_a_start() {
    let stage = Stage::with_stopped_work_as(&hooks(&json!({ "afterStart": { "command": "look" } })));
    stage.world.command("look", |world, call| {
        Ran::exits(0, &world.files(&call.sandbox).unwrap().get(FILE).cloned().unwrap_or_default())
    });
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["hookRuns"][0]["output"], "first");
}

#[test]
fn a_workspace_is_not_handed_out_before_the_command_after_a_start_is_done() {
    let stage = Stage::with_stopped_work_as(&hooks(&json!({ "afterStart": { "command": "exit 0" } })));
    let gate = stage.world.after(Method::RunHook).nth(1).held();
    let mut start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    assert!(gate.is_reached() && !start.is_done());
    assert!(!stage.world.stamp_on(&stage.sandbox_of(WORK)).unwrap().is_ready());
    gate.open();
    start.answer().unwrap();
    assert!(stage.world.stamp_on(&stage.sandbox_of(WORK)).unwrap().is_ready());
}

#[test]
fn what_the_command_before_a_stop_writes_is_in_the_snapshot() {
    let stage = Stage::with_work_as(&hooks(&json!({ "beforeStop": { "command": "save" } })));
    stage.world.command("save", |world, call| {
        world.writes(&call.sandbox, FILE, "saved by the hook");
        Ran::well()
    });
    assert_eq!(stage.stops(WORK).unwrap()["unsettled"], false);
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "saved by the hook");
}

#[test]
fn a_start_fails_by_its_command_and_tells_what_that_printed() {
    let stage = Stage::with_stopped_work_as(&hooks(&json!({ "afterStart": { "command": "build" } })));
    stage.world.command("build", |_, _| Ran::exits(7, "no such file"));
    let error = stage.starts(WORK, &json!({})).fails_as(Code::HookFailed);
    let message = error.message();
    assert!(["afterStart", "exit code 7", "no such file"].iter().all(|word| message.contains(word)), "{error}");
    assert!(stage.world.running().is_empty());
    stage.world.command("build", |_, _| Ran::well());
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn a_stop_fails_by_its_command_and_the_workspace_goes_on() {
    let stage = Stage::with_work_as(&hooks(&json!({ "beforeStop": { "command": "exit 1" } })));
    stage.stops(WORK).fails_as(Code::HookFailed);
    assert_eq!((stage.state(WORK), stage.file(WORK)), ("active", Some("first".into())));
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
    assert_eq!(stage.described(WORK).unwrap()["problem"]["code"], "HOOK_FAILED");
}

#[test]
fn a_failure_may_only_be_told() {
    let warn = |command: &str| json!({ "command": command, "onFailure": "warn" });
    let stage = Stage::empty();
    let created =
        stage.creates(WORK, &hooks(&json!({ "afterStart": warn("exit 2"), "beforeStop": warn("exit 3") }))).unwrap();
    assert_eq!((&created["hookRuns"][0]["ok"], &created["hookRuns"][0]["exitCode"]), (&json!(false), &json!(2)));
    stage.world.pass(MINUTE);
    assert_eq!(stage.stops(WORK).unwrap()["hookRuns"][0]["exitCode"], 3);
}

#[test]
fn a_command_that_takes_too_long_is_killed_and_says_so() {
    let stage = Stage::with_work_as(&hooks(&json!({ "beforeStop": { "command": "sleep", "timeoutSeconds": 5 } })));
    stage.world.command("sleep", |_, _| Ran::for_ever());
    let error = stage.stops(WORK).fails_as(Code::HookFailed);
    assert!(error.message().contains("longer than 5 seconds"), "{error}");
}

#[test]
fn a_command_that_cannot_be_run_is_one_that_failed() {
    for moment in Moment::BOTH {
        let stage = Stage::with_work_as(&hooks(&json!({ "beforeStop": { "command": "exit 0" } })));
        stage.world.at(Method::RunHook, moment).fails_in_passing();
        stage.world.forget_calls();
        stage.stops(WORK).fails_as(Code::HookFailed);
        assert_eq!(stage.state(WORK), "active", "{moment:?}");
    }
}

#[test]
fn a_command_does_not_run_in_another_container() {
    let stage = Stage::with_stopped_work_as(&hooks(&json!({ "beforeStop": { "command": "exit 0" } })));
    stage.starts(WORK, &json!({})).unwrap();
    let before = run(&stage).len();
    let id = stage.sandbox_of(WORK);
    stage.world.forget_calls();
    stage.world.before(Method::RunHook).nth(1).happens(move |world| world.is_replaced(&id));
    stage.stops(WORK).fails_as(Code::OperationInterrupted);
    assert_eq!(run(&stage).len(), before);
    assert!(stage.stops(WORK).unwrap()["wasAsleep"].as_bool().unwrap());
}

#[test]
fn a_workspace_whose_sandbox_slept_is_stopped_without_its_command() {
    let stage =
        Stage::with_stopped_work_as(&hooks(&json!({ "beforeStop": { "command": "exit 1", "onFailure": "warn" } })));
    stage.starts(WORK, &json!({})).unwrap();
    let before = run(&stage).len();
    stage.world.stops(&stage.sandbox_of(WORK));
    stage.stops(WORK).unwrap();
    assert_eq!(run(&stage).len(), before);
}

#[test]
fn a_start_of_what_is_up_runs_no_command() {
    let stage = Stage::with_work_as(&hooks(&json!({ "afterStart": { "command": "exit 0" } })));
    let before = run(&stage).len();
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["hookRuns"], json!([]));
    assert_eq!(run(&stage).len(), before);
}
