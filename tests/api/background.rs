//! The tools about background commands of a workspace.

use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::tool::ToolResult;
use serde_json::{Value, json};

use super::support::{FakeOperations, assert_valid, definitions, extended};

/// A toolset with one workspace in which tools work, and further options of it.
fn toolset(further: Value) -> Value {
    json!({ "workspaces": [extended(json!({ "name": "work", "work": true }), further)] })
}

/// Calls a tool, and validates its arguments and its result. Returns the result and the call.
fn call(op: &str, arguments: Value, answer: Value) -> (ToolResult, (&'static str, Value)) {
    let name = format!("workspace__work__{op}");
    let tool = definitions(&toolset(json!({}))).into_iter().find(|tool| tool.name == name).unwrap();
    assert_valid(&tool.input_schema, &arguments);
    let operations = FakeOperations::with_answers([answer]);
    let result = operations.call(&toolset(json!({})), &name, arguments).unwrap();
    assert_valid(&tool.output_schema, result.structured_content.as_ref().unwrap());
    (result, operations.calls().remove(0))
}

fn command(further: Value) -> Value {
    let running = json!({
        "sandboxId": "work-1", "commandId": "c1", "command": "npm run\n dev", "state": "running",
        "startedAt": "2026-11-20T05:00:00.000Z", "stdoutBytes": 9, "stderrBytes": 0, "truncated": false,
    });
    extended(running, further)
}

fn part(further: Value) -> Value {
    let part = json!({ "stream": "stdout", "offset": 0, "nextOffset": 5, "encoding": "utf8", "content": "ready" });
    extended(command(part), further)
}

const OPS: [&str; 4] = ["start_command", "list_commands", "read_command_output", "end_command"];

#[test]
fn tools_about_commands_need_the_permission_to_work() {
    let names = |toolset: &Value| -> Vec<String> {
        let tools = definitions(toolset).into_iter().map(|tool| tool.name);
        tools.filter(|name| name.contains("command")).collect()
    };
    assert_eq!(names(&toolset(json!({ "snapshot": true, "checkpoint": true, "work": false }))), [""; 0]);
    assert_eq!(names(&toolset(json!({}))), OPS.map(|op| format!("workspace__work__{op}")));
    let read_only = extended(toolset(json!({})), json!({ "readOnly": true }));
    assert_eq!(names(&read_only), OPS[1..3].iter().map(|op| format!("workspace__work__{op}")).collect::<Vec<_>>());
    for op in ["start_command", "end_command"] {
        let refused = FakeOperations::default().call(&read_only, &format!("workspace__work__{op}"), json!({}));
        assert_eq!(refused.unwrap_err().code(), Code::ToolNotFound);
    }
}

#[test]
fn command_starts_in_the_declared_directory() {
    let arguments = json!({ "command": "npm run dev", "cwd": "app", "timeoutSeconds": 7200 });
    let (result, called) = call("start_command", arguments, command(json!({})));
    let options =
        json!({ "name": "work", "tenant": "default", "command": "npm run dev", "cwd": "app", "timeoutSeconds": 7200 });
    assert_eq!(called, ("commands/start", options));
    assert_eq!(result.content[0].text, "Started the command c1. It runs.");
    let lost = command(json!({ "started": { "how": "restored", "mayHaveLost": true } }));
    assert!(call("start_command", json!({ "command": "x" }), lost).0.content[0].text.contains("may be lost"));
}

#[test]
fn list_has_a_line_for_each_command() {
    let killed = command(json!({ "commandId": "c0", "state": "killed", "exitCode": 124, "timedOut": true }));
    let answer = json!({ "sandboxId": "work-1", "commands": [command(json!({})), killed] });
    let (result, called) = call("list_commands", json!({}), answer);
    assert_eq!(called, ("commands/list", json!({ "name": "work", "tenant": "default" })));
    let text = "c1\truns\tnpm run dev\nc0\texceeded its time limit and was killed (exit code 124)\tnpm run dev";
    assert_eq!(result.content[0].text, text);
    let empty = json!({ "sandboxId": "work-1", "commands": [] });
    assert_eq!(call("list_commands", json!({}), empty).0.content[0].text, "no background commands");
}

#[test]
fn output_says_where_it_continues() {
    let arguments = json!({ "commandId": "c1", "offset": 2, "waitSeconds": 5 });
    let (result, (operation, options)) = call("read_command_output", arguments, part(json!({})));
    assert_eq!((operation, &options["length"], &options["waitSeconds"]), ("commands/output", &json!(65536), &json!(5)));
    assert_eq!(result.content[0].text, "ready\n… The command runs. The output continues at the offset 5.");
    let text =
        |further| call("read_command_output", json!({ "commandId": "c1" }), part(further)).0.content[0].text.clone();
    let ended = json!({ "state": "exited", "exitCode": 0, "stdoutBytes": 5 });
    assert_eq!(text(ended), "ready\n… The command exited (exit code 0).");
    assert!(text(json!({ "encoding": "base64" })).contains("Base64"));
    assert!(text(json!({ "content": "", "nextOffset": 0 })).starts_with("… The command runs."));
}

#[test]
fn command_is_ended_with_a_signal() {
    let ended = command(json!({ "state": "killed", "exitCode": 130 }));
    let (result, called) = call("end_command", json!({ "commandId": "c1", "killSignal": "INT" }), ended);
    let options = json!({ "name": "work", "tenant": "default", "commandId": "c1", "killSignal": "INT" });
    assert_eq!(called, ("commands/end", options));
    assert_eq!(result.content[0].text, "The command was killed (exit code 130).");
}
