//! The tools that read and write files of a workspace.

use sandbox_snapshotter::api::tools::call::error_result;
use sandbox_snapshotter::model::named::WorkspaceName;
use sandbox_snapshotter::model::tool::ToolResult;
use sandbox_snapshotter::model::{Code, Directory, Error, SandboxId};
use serde_json::{Value, json};

use super::any_error::error;
use super::support::{FakeOperations, assert_valid, definitions, extended, workspace_ref};

/// A toolset with one sandbox in which tools work, and further options of it.
fn toolset(further: Value) -> Value {
    let sandbox = json!({ "name": "work", "work": true, "sandboxId": "agent-42", "dir": "/workspace/app" });
    json!({ "workspaces": [extended(sandbox, further)] })
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

/// The attributes in an answer.
fn file(further: Value) -> Value {
    let attributes = json!({
        "sandboxId": "agent-42", "path": "src/a.ts", "type": "file", "sizeBytes": 5, "mode": "0644", "uid": 0, "gid": 0,
        "modifiedAt": "2026-11-20T05:00:00.000Z",
    });
    extended(attributes, further)
}

fn content(further: Value) -> Value {
    let whole = json!({ "etag": "0f", "offset": 0, "length": 5, "encoding": "utf8", "content": "let a" });
    file(extended(whole, further))
}

#[test]
fn file_tools_need_the_permission_to_work() {
    let names = |toolset: &Value| -> Vec<String> {
        let tools = definitions(toolset).into_iter().map(|tool| tool.name);
        tools.filter(|name| name.ends_with("_file") || name.ends_with("_files")).collect()
    };
    assert_eq!(names(&toolset(json!({ "snapshot": true, "checkpoint": true, "work": false }))), [""; 0]);
    let [read, write, list] = ["read_file", "write_file", "list_files"].map(|op| format!("workspace__work__{op}"));
    assert_eq!(names(&toolset(json!({}))), [read.clone(), write, list.clone()]);
    let read_only = extended(toolset(json!({})), json!({ "readOnly": true }));
    assert_eq!(names(&read_only), [read, list]);
    let refused = FakeOperations::default().call(&read_only, "workspace__work__write_file", json!({}));
    assert_eq!(refused.unwrap_err().code(), Code::ToolNotFound);
}

#[test]
fn file_is_read_in_the_declared_directory() {
    let (result, called) = call("read_file", json!({ "path": "src/a.ts" }), content(json!({})));
    let options = json!({ "sandboxId": "agent-42", "dir": "/workspace/app", "path": "src/a.ts", "length": 65536 });
    assert_eq!(called, ("files/read", options));
    assert_eq!(result.content[0].text, "let a");
    let (_, (_, options)) = call("read_file", json!({ "path": "a", "offset": 3, "length": 9 }), content(json!({})));
    assert_eq!((&options["offset"], &options["length"]), (&json!(3), &json!(9)));
}

#[test]
fn text_of_a_partial_file_says_where_it_continues() {
    let text = |further| call("read_file", json!({ "path": "a" }), content(further)).0.content[0].text.clone();
    let part = text(json!({ "sizeBytes": 9, "offset": 1 }));
    assert_eq!(part, "let a\n… The file has 9 bytes, and continues at the offset 6.");
    assert!(text(json!({ "encoding": "base64" })).contains("Base64"));
    assert!(text(json!({ "started": { "how": "restored", "mayHaveLost": true } })).contains("may be lost"));
}

#[test]
fn file_is_written_with_the_etag_that_it_must_have() {
    let arguments = json!({ "path": "src/a.ts", "content": "let b", "ifMatch": "0f".repeat(32) });
    let (result, called) = call("write_file", arguments.clone(), file(json!({ "etag": "1e" })));
    let target = json!({ "sandboxId": "agent-42", "dir": "/workspace/app" });
    assert_eq!(called, ("files/write", extended(target, arguments)));
    assert_eq!(result.content[0].text, "Wrote \"src/a.ts\": 5 bytes.");
}

#[test]
fn list_has_one_line_for_each_file() {
    let entry = |name: &str, further: Value| extended(file(json!({ "name": name })), further);
    let files = [
        entry("a\nb", json!({})),
        entry("src", json!({ "type": "directory", "sizeBytes": 0 })),
        entry("link", json!({ "type": "symlink", "sizeBytes": 0, "target": "src" })),
    ];
    let page = json!({ "sandboxId": "agent-42", "path": "/", "files": files, "cursor": "bGluaw" });
    let (result, (operation, _)) = call("list_files", json!({}), page);
    assert_eq!(operation, "files/list");
    let lines: Vec<&str> = result.content[0].text.lines().collect();
    assert_eq!(lines, ["\"a\\nb\"\t5", "src/", "link -> src", "… there are more: pass the cursor \"bGluaw\""]);
    let empty = json!({ "sandboxId": "agent-42", "path": "/", "files": [] });
    assert_eq!(call("list_files", json!({ "cursor": "bGluaw" }), empty).0.content[0].text, "no files");
}

#[test]
fn named_workspace_is_selected_by_its_name_so_that_it_is_started() {
    let toolset =
        json!({ "workspaces": [{ "name": "work", "work": true, "workspace": "notebook", "tenant": "team" }] });
    let operations = FakeOperations::with_answers([content(json!({}))]);
    operations.call(&toolset, "workspace__work__read_file", json!({ "path": "a" })).unwrap();
    let [(operation, options)] = <[_; 1]>::try_from(operations.calls()).unwrap();
    assert_eq!(operation, "files/read");
    assert_eq!((&options["name"], &options["tenant"]), (&json!("notebook"), &json!("team")));
}

#[test]
fn branch_of_the_workspace_is_used_and_another_workspace_is_not() {
    let arguments = json!({ "path": "a", "workspace": workspace_ref() });
    let (_, (_, options)) = call("read_file", arguments.clone(), content(json!({})));
    assert_eq!(options["sandboxId"], json!("agent-42-restored-abcd1234"));
    let mut other = arguments;
    other["workspace"]["ref"]["sandboxId"] = json!("agent-7");
    let refused = FakeOperations::default().call(&toolset(json!({})), "workspace__work__read_file", other);
    assert_eq!(refused.unwrap_err().code(), Code::CrossLineage);
}

#[test]
fn error_about_a_deleted_directory_names_no_operation_to_the_model() {
    let id = SandboxId::parse("agent-42").unwrap();
    let name = WorkspaceName::parse("notebook").unwrap();
    let dir = Directory::parse("/workspace").unwrap();
    for error in [
        Error::cwd_not_found(&id, Some(&name), "/workspace"),
        Error::not_a_directory(&dir, "does not exist"),
        Error::directory_missing(&dir),
    ] {
        let text = &error_result(&error, "c0ffee").content[0].text;
        assert!(text.contains("ask the application to go back") && !text.contains("workspaces/update"), "{text}");
    }
}

#[test]
fn error_about_a_file_is_a_result_for_the_model() {
    let result = error_result(&error(Code::FileChanged, "It changed.", "Read it again."), "c0ffee");
    assert!(result.is_error && result.content[0].text.contains("FILE_CHANGED: It changed. → Read it again."));
}
