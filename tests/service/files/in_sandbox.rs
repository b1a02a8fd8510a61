//! The files of running sandboxes, and of named workspaces, which are started if they are not running.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, Method, WORKSPACE, by_ref, sandbox};

const AGENT: &str = "agent-42";

/// The operations on the files of sandboxes, with options for `notes.txt`.
fn calls() -> [(Operation, Value); 7] {
    let at = |further: Value| {
        let mut options = json!({ "path": "notes.txt" });
        options.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        options
    };
    [
        (Operation::ListFiles, json!({})),
        (Operation::StatFile, at(json!({}))),
        (Operation::ReadFile, at(json!({}))),
        (Operation::WriteFile, at(json!({ "content": "second" }))),
        (Operation::MakeDirectory, json!({ "path": "src" })),
        (Operation::MoveFile, at(json!({ "to": "moved.txt" }))),
        (Operation::RemoveFile, json!({ "path": "moved.txt" })),
    ]
}

impl Fixture {
    /// Calls an operation on the files of `agent-42`.
    fn in_agent(&self, operation: Operation, options: &Value) -> Result<Value> {
        self.run(operation, &with(options, "sandboxId", AGENT))
    }

    /// Calls an operation on the files of the workspace.
    fn in_workspace(&self, operation: Operation, options: &Value) -> Result<Value> {
        self.run(operation, &with(options, "name", WORKSPACE))
    }
}

fn with(options: &Value, name: &str, value: &str) -> Value {
    let mut options = options.clone();
    options[name] = json!(value);
    options
}

#[test]
fn file_has_the_same_answer_in_a_sandbox_and_in_its_snapshot() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    for operation in [Operation::StatFile, Operation::ReadFile] {
        let place = |mut answer: Value| {
            let members = answer.as_object_mut().unwrap();
            let place = (members.remove("snapshotId"), members.remove("sandboxId"));
            // The archive in memory has another time, and no etag.
            members.remove("modifiedAt");
            members.remove("etag");
            (place, answer)
        };
        let (in_snapshot, first) =
            place(fixture.run(operation, &json!({ "ref": snapshot, "path": "notes.txt" })).unwrap());
        let (in_sandbox, second) =
            place(fixture.in_agent(operation, &json!({ "path": "/workspace/notes.txt" })).unwrap());
        assert_eq!(in_snapshot, (Some(json!(snapshot.snapshot_id())), None));
        assert_eq!(in_sandbox, (None, Some(json!(AGENT))));
        assert_eq!(with(&first, "path", ""), with(&second, "path", ""));
    }
}

#[test]
fn part_of_a_file_is_not_returned_for_the_whole_one() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/workspace/long", &"x".repeat(1024 * 1024 + 1));
    fixture.world.write_file("agent-42", "/workspace/longest", &"x".repeat(1024 * 1024));
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    let read = |path: &str, part: Value| {
        let options = |mut options: Value| {
            options["path"] = json!(path);
            for (name, value) in part.as_object().unwrap() {
                options[name] = value.clone();
            }
            options
        };
        let in_snapshot = fixture.run(Operation::ReadFile, &options(by_ref(&snapshot)));
        [fixture.in_agent(Operation::ReadFile, &options(json!({}))), in_snapshot]
    };
    for outcome in [read("long", json!({})), read("long", json!({ "offset": 0 }))].into_iter().flatten() {
        let error = outcome.expect_code(Code::InvalidArgument);
        assert!(error.message().contains("has 1048577 bytes") && error.remediation().contains("`length`"), "{error:?}");
    }
    let parts =
        [read("long", json!({ "length": 1 << 20 })), read("long", json!({ "offset": 1 })), read("longest", json!({}))];
    for outcome in parts.into_iter().flatten() {
        assert_eq!(outcome.unwrap()["length"], json!(1 << 20));
    }
}

#[test]
fn directory_is_not_moved_into_itself() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/workspace/src/a", "a");
    for to in ["src/in", "./src//deep/in"] {
        let error = fixture.in_agent(Operation::MoveFile, &json!({ "path": "src/", "to": to }));
        let error = error.expect_code(Code::InvalidArgument);
        assert!(error.message().contains("is in the directory"), "{error:?}");
    }
    fixture.in_agent(Operation::MoveFile, &json!({ "path": "src", "to": "src-2" })).unwrap();
}

#[test]
fn written_file_is_read_listed_moved_and_removed() {
    let fixture = Fixture::with_sandbox();
    let written = fixture.in_agent(Operation::WriteFile, &json!({ "path": "src/a.txt", "content": "text" })).unwrap();
    assert_eq!((&written["type"], &written["sizeBytes"]), (&json!("file"), &json!(4)));
    let read =
        fixture.in_agent(Operation::ReadFile, &json!({ "path": "src/a.txt", "offset": 1, "length": 2 })).unwrap();
    assert_eq!((&read["content"], &read["etag"]), (&json!("ex"), &written["etag"]));
    fixture.in_agent(Operation::MoveFile, &json!({ "path": "src/a.txt", "to": "src/b.txt" })).unwrap();
    let page = fixture.in_agent(Operation::ListFiles, &json!({ "path": "src" })).unwrap();
    assert_eq!(page["files"][0]["name"], json!("b.txt"));
    let remove = json!({ "path": "src/b.txt" });
    assert_eq!(fixture.in_agent(Operation::RemoveFile, &remove).unwrap()["removed"], json!(true));
    assert_eq!(fixture.in_agent(Operation::RemoveFile, &remove).unwrap()["removed"], json!(false));
}

#[test]
fn write_with_the_etag_of_an_earlier_content_is_refused() {
    let fixture = Fixture::with_sandbox();
    let etag = fixture.in_agent(Operation::ReadFile, &json!({ "path": "notes.txt" })).unwrap()["etag"].clone();
    let write = |content: &str| json!({ "path": "notes.txt", "content": content, "ifMatch": etag });
    fixture.in_agent(Operation::WriteFile, &write("second")).unwrap();
    fixture.in_agent(Operation::WriteFile, &write("third")).expect_code(Code::FileChanged);
    assert_eq!(fixture.world.files(AGENT).unwrap()[FILE], "second");
}

#[test]
fn refusals_name_the_path_and_change_nothing() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file(AGENT, "/workspace/src/a", "a");
    fixture.world.with_container(&sandbox(AGENT), |container, _| container.symlinks.insert("/workspace/link".into()));
    let before = fixture.world.files(AGENT);
    for (operation, options, code, path) in [
        (Operation::ReadFile, json!({ "path": "missing" }), Code::FileNotFound, "missing"),
        (Operation::ReadFile, json!({ "path": "src" }), Code::NotAFile, "src"),
        (Operation::ReadFile, json!({ "path": "link/secret" }), Code::NotADirectory, "link/secret"),
        (Operation::ListFiles, json!({ "path": "notes.txt" }), Code::NotADirectory, "notes.txt"),
        (Operation::WriteFile, json!({ "path": "src", "content": "" }), Code::NotAFile, "src"),
        (Operation::WriteFile, json!({ "path": "link/x", "content": "" }), Code::NotADirectory, "link/x"),
        (Operation::MakeDirectory, json!({ "path": "notes.txt" }), Code::NotADirectory, "notes.txt"),
        (Operation::MoveFile, json!({ "path": "src/a", "to": "notes.txt" }), Code::FileExists, "notes.txt"),
        (Operation::MoveFile, json!({ "path": "src/a", "to": "link/a" }), Code::NotADirectory, "link/a"),
        (Operation::RemoveFile, json!({ "path": "src" }), Code::DirectoryNotEmpty, "src"),
    ] {
        let error = fixture.in_agent(operation, &options).expect_code(code);
        assert!(error.message().contains(&format!("{path:?}")) && error.message().contains(AGENT), "{error}");
    }
    assert_eq!(fixture.world.files(AGENT), before);
}

#[test]
fn absolute_path_in_the_directory_is_that_of_its_file() {
    let fixture = Fixture::with_sandbox();
    let written = json!({ "path": "/workspace/src/a", "content": "a" });
    assert_eq!(fixture.in_agent(Operation::WriteFile, &written).unwrap()["path"], "/workspace/src/a");
    let moved = json!({ "path": "src/a", "to": "/workspace/b" });
    fixture.in_agent(Operation::MoveFile, &moved).unwrap();
    assert_eq!(fixture.in_agent(Operation::ReadFile, &json!({ "path": "b" })).unwrap()["content"], "a");
    let list = |options: &Value| with(&fixture.in_agent(Operation::ListFiles, options).unwrap(), "path", "");
    assert_eq!(list(&json!({ "path": "/workspace/" })), list(&json!({})));
}

#[test]
fn absolute_path_outside_of_the_directory_is_refused() {
    let fixture = Fixture::with_sandbox();
    let content = json!({ "path": "/workspace2/a", "content": "a" });
    for (operation, options) in [
        (Operation::WriteFile, content),
        (Operation::ReadFile, json!({ "path": "/etc/passwd" })),
        (Operation::MoveFile, json!({ "path": "notes.txt", "to": "/tmp/notes.txt" })),
    ] {
        fixture.in_agent(operation, &options).expect_code(Code::InvalidArgument);
    }
    fixture
        .in_agent(Operation::RemoveFile, &json!({ "path": "/workspace", "recursive": true }))
        .expect_code(Code::InvalidArgument);
}

#[test]
fn invalid_options_reach_no_sandbox() {
    let fixture = Fixture::with_sandbox();
    let write = |further: Value| with(&further, "sandboxId", AGENT);
    for (operation, options) in [
        (Operation::ReadFile, json!({ "path": "notes.txt" })),
        (Operation::ReadFile, json!({ "path": "notes.txt", "sandboxId": AGENT, "name": WORKSPACE })),
        (Operation::ReadFile, json!({ "path": "notes.txt", "name": WORKSPACE, "label": "a", "snapshotId": "b" })),
        (Operation::ReadFile, json!({ "path": "notes.txt", "sandboxId": AGENT, "label": "a", "dir": "/workspace" })),
        (Operation::ReadFile, json!({ "path": "../etc/passwd", "sandboxId": AGENT })),
        (Operation::WriteFile, write(json!({ "path": "src/../../x", "content": "" }))),
        (Operation::WriteFile, write(json!({ "path": "/", "content": "" }))),
        (Operation::WriteFile, write(json!({ "path": "a" }))),
        (Operation::WriteFile, write(json!({ "path": "a", "content": "?", "encoding": "base64" }))),
        (Operation::WriteFile, write(json!({ "path": "a", "content": "", "encoding": "latin1" }))),
        (Operation::WriteFile, write(json!({ "path": "a", "content": "", "mode": "0888" }))),
        (Operation::WriteFile, write(json!({ "path": "a", "content": "", "ifMatch": "W/\"1\"" }))),
        (Operation::MoveFile, write(json!({ "path": "a", "to": "../b" }))),
        (Operation::RemoveFile, write(json!({ "path": ".", "recursive": true }))),
    ] {
        fixture.run(operation, &options).expect_code(Code::InvalidArgument);
    }
    assert!(fixture.world.calls().is_empty(), "{:?}", fixture.world.calls());
}

#[test]
fn active_workspace_needs_no_start() {
    let fixture = Fixture::with_workspace();
    fixture.write_workspace_file(WORKSPACE, "first");
    for (operation, options) in calls() {
        fixture.world.reset_calls();
        let answer = fixture.in_workspace(operation, &options).unwrap();
        assert_eq!(answer.get("started"), None, "{operation:?}");
        let methods = fixture.world.calls_about(&fixture.sandbox_of(WORKSPACE));
        assert_eq!(methods, [Method::PrepareExec, Method::Status, Method::CallFiles], "{operation:?}");
    }
}

#[test]
fn stopped_workspace_is_started_with_its_files() {
    for (operation, options) in calls() {
        let fixture = Fixture::with_stopped_workspace();
        let answer = fixture.in_workspace(operation, &options).unwrap();
        assert_eq!(answer["started"]["how"], json!("restored"), "{operation:?}");
        assert_eq!(answer["sandboxId"], json!(fixture.sandbox_of(WORKSPACE)));
    }
}

#[test]
fn workspace_whose_container_ended_is_started_and_says_so() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "newer");
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let answer = fixture.in_workspace(Operation::ReadFile, &json!({ "path": "notes.txt" })).unwrap();
    assert_eq!((&answer["content"], &answer["started"]["mayHaveLost"]), (&json!("first"), &json!(true)));
}

#[test]
fn sandbox_that_is_not_running_is_reported_and_stays_so() {
    for (operation, options) in calls() {
        let fixture = Fixture::with_sandbox();
        fixture.world.end_container(AGENT);
        fixture.in_agent(operation, &options).expect_code(Code::SandboxNotRunning);
        assert!(fixture.world.running_sandboxes().is_empty(), "{operation:?}");
    }
}

#[test]
fn container_that_was_replaced_before_the_call_is_reported() {
    for (operation, options) in calls() {
        let (fixture, _) = Fixture::with_snapshot();
        fixture.world.before(Method::CallFiles).nth(1).run(|world| world.replace_container(AGENT));
        fixture.in_agent(operation, &options).expect_code(Code::SandboxReplaced);
    }
}

#[test]
fn other_directory_is_used_on_request() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file(AGENT, "/tmp/out/log", "line");
    let read = fixture.in_agent(Operation::ReadFile, &json!({ "dir": "/tmp/out", "path": "log" })).unwrap();
    assert_eq!(read["content"], json!("line"));
}
