//! Workspaces whose directory was deleted or moved in the running container.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, HOUR, Method, WORKSPACE};

/// The active workspace `work`, which stops after 600 idle seconds and whose directory was deleted.
fn without_directory() -> Fixture {
    let options = json!({ "dir": "/workspace/app", "expiry": { "idleSeconds": 600, "maxSeconds": 0 } });
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &options).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, "/workspace/app/a.txt", "first");
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.remove_directory(&id, "/workspace/app");
    fixture.world.reset_calls();
    fixture
}

fn entry(fixture: &Fixture) -> Value {
    fixture.run(Operation::ListWorkspaces, &json!({})).unwrap()["workspaces"][0].clone()
}

#[test]
fn start_reports_that_the_directory_is_missing_and_changes_nothing() {
    let fixture = without_directory();
    for options in [json!({}), json!({ "fingerprint": "1" })] {
        let started = fixture.start_workspace(WORKSPACE, &options).unwrap();
        assert_eq!((&started["how"], &started["state"]), (&json!("running"), &json!("active")));
        assert_eq!(started["problem"]["code"], json!(Code::InvalidDirectory), "{started}");
        assert!(started["problem"]["message"].as_str().unwrap().contains("/workspace/app"), "{started}");
        assert!(started["problem"]["remediation"].as_str().unwrap().contains("`rollback`"), "{started}");
    }
    assert_eq!(fixture.world.call_count(Method::Destroy), 0);
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["problem"]["code"], json!(Code::InvalidDirectory));
    assert_eq!(entry(&fixture)["problemCode"], json!(Code::InvalidDirectory));
}

#[test]
fn start_reports_no_problem_once_the_directory_is_back() {
    let fixture = without_directory();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), "/workspace/app/a.txt", "moved back");
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&started["how"], &started["problem"]), (&json!("running"), &Value::Null));
    assert_eq!(entry(&fixture)["problemCode"], Value::Null);
}

#[test]
fn list_names_the_problem_of_a_workspace_that_cannot_be_stopped() {
    let fixture = without_directory();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.state(WORKSPACE), "active");
    assert_eq!(entry(&fixture)["problemCode"], json!(Code::InvalidDirectory));
}

#[test]
fn writes_do_not_create_the_directory_again() {
    let fixture = without_directory();
    for (operation, options) in [
        (Operation::WriteFile, json!({ "name": WORKSPACE, "path": "b.txt", "content": "second" })),
        (Operation::MakeDirectory, json!({ "name": WORKSPACE, "path": "src" })),
    ] {
        let error = fixture.run(operation, &options).expect_code(Code::InvalidDirectory);
        assert!(error.remediation().contains("move it back"), "{error}");
    }
    fixture.stop_workspace(WORKSPACE).expect_code(Code::InvalidDirectory);
}

#[test]
fn writes_create_another_directory_that_the_caller_names() {
    let fixture = without_directory();
    let options = json!({ "name": WORKSPACE, "dir": "/workspace/other", "path": "b.txt", "content": "second" });
    fixture.run(Operation::WriteFile, &options).unwrap();
}

#[test]
fn commands_are_refused_with_the_way_to_create_the_directory_again() {
    let fixture = without_directory();
    for operation in [Operation::Exec, Operation::StartCommand] {
        let refused = fixture.run(operation, &json!({ "name": WORKSPACE, "command": "true" }));
        let error = refused.expect_code(Code::InvalidDirectory);
        assert!(error.remediation().contains("`mkdir -p /workspace/app` with `cwd: \"/\"`"), "{error}");
    }
}
