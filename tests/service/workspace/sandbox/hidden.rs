//! Workspaces whose files are below another file system in the running container.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, Runtime};
use serde_json::json;

use crate::support::{ExpectError, Fixture, HOUR, MINUTE, Method, WORKSPACE, sandbox};

/// The active workspace `work`, over whose files a file system was mounted.
fn with_hidden_files() -> Fixture {
    with_hidden_files_in(Runtime::Sdk012)
}

fn with_hidden_files_in(runtime: Runtime) -> Fixture {
    let fixture = Fixture::empty();
    fixture.world.runtime.set(runtime);
    fixture.create_workspace(WORKSPACE, &json!({ "expiry": { "idleSeconds": 600, "maxSeconds": 0 } })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "first");
    mount(&fixture);
    fixture.world.reset_calls();
    fixture
}

fn mount(fixture: &Fixture) {
    let id = sandbox(&fixture.sandbox_of(WORKSPACE));
    fixture.world.with_container(&id, |container, _| container.marker_below_mount.clone_from(&container.marker));
}

fn unmount(fixture: &Fixture) {
    let id = sandbox(&fixture.sandbox_of(WORKSPACE));
    fixture.world.with_container(&id, |container, _| container.marker_below_mount = None);
}

#[test]
fn stop_of_hidden_files_is_refused_and_keeps_the_container() {
    let fixture = with_hidden_files();
    let error = fixture.stop_workspace(WORKSPACE).expect_code(Code::InvalidDirectory);
    assert!(error.remediation().contains("unmount"), "{error}");
    assert_eq!(fixture.world.call_count(Method::Destroy), 0);
    unmount(&fixture);
    fixture.stop_workspace(WORKSPACE).unwrap();
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&started["how"], &started["mayHaveLost"]), (&json!("restored"), &json!(false)));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
}

#[test]
fn no_capture_of_hidden_files_is_kept() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = with_hidden_files_in(runtime);
        unmount(&fixture);
        fixture.world.advance_clock(MINUTE);
        let id = fixture.sandbox_of(WORKSPACE);
        let snapshot = || fixture.run(Operation::Snapshot, &json!({ "sandboxId": id }));
        snapshot().unwrap();
        mount(&fixture);
        snapshot().expect_code(Code::InvalidDirectory);
        // Nothing is known of the changes.
        fixture.world.reset_calls();
        fixture.world.before(Method::WatchChanges).nth(1).fail_with(Failure::new("Error", "no answer"));
        snapshot().expect_code(Code::InvalidDirectory);
        assert_eq!(fixture.snapshots_of(&id).len(), 1, "{runtime:?}");
    }
}

#[test]
fn automatic_save_of_hidden_files_is_a_problem() {
    let fixture = Fixture::empty();
    let options = json!({ "autosave": { "everySeconds": 600 }, "expiry": { "idleSeconds": 0, "maxSeconds": 0 } });
    fixture.create_workspace(WORKSPACE, &options).unwrap();
    fixture.write_workspace_file(WORKSPACE, "first");
    mount(&fixture);
    fixture.advance_with_alarms(HOUR);
    assert!(fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)).is_empty());
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["problem"]["code"], json!(Code::InvalidDirectory));
}

#[test]
fn automatic_stop_keeps_the_container_of_hidden_files() {
    let fixture = with_hidden_files();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.world.call_count(Method::Destroy), 0);
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["problem"]["code"], json!(Code::InvalidDirectory));
}

#[test]
fn start_asks_what_becomes_of_hidden_files() {
    let fixture = with_hidden_files();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::WorkspaceDiverged);
    let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    assert_eq!((&started["how"], &started["mayHaveLost"]), (&json!("adopted"), &json!(true)));
    fixture.stop_workspace(WORKSPACE).unwrap();
}

#[test]
fn commands_and_calls_for_files_do_not_use_what_hides_the_files() {
    let fixture = with_hidden_files();
    for (operation, options) in [
        (Operation::Exec, json!({ "name": WORKSPACE, "command": "true" })),
        (Operation::Exec, json!({ "name": WORKSPACE, "command": "true", "cwd": "src" })),
        (Operation::StartCommand, json!({ "name": WORKSPACE, "command": "true" })),
        (Operation::ListFiles, json!({ "name": WORKSPACE, "path": "" })),
        (Operation::WriteFile, json!({ "name": WORKSPACE, "path": "a.txt", "content": "lost" })),
    ] {
        let error = fixture.run(operation, &options).expect_code(Code::InvalidDirectory);
        assert!(error.remediation().contains("`umount /workspace` with `cwd: \"/\"`"), "{error}");
    }
    let unmount = json!({ "name": WORKSPACE, "command": "umount /workspace", "cwd": "/" });
    fixture.run(Operation::Exec, &unmount).unwrap();
}
