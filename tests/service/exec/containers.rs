//! In which container of a sandbox a command runs.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Runtime};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{ExpectError, Fixture, HOUR, MINUTE, Method};

#[test]
fn ended_sandbox_runs_no_command() {
    let fixture = Fixture::with_sandbox();
    fixture.world.end_container("agent-42");
    fixture.exec("agent-42", "true").expect_code(Code::SandboxNotRunning);
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn command_does_not_run_in_a_container_that_started_for_it() {
    let fixture = Fixture::with_sandbox();
    fixture.world.end_container_unnoticed("agent-42");
    fixture.exec("agent-42", "true").expect_code(Code::SandboxReplaced);
    assert!(fixture.world.hook_calls().is_empty());
    assert!(fixture.world.has_replaced_note("agent-42"), "no snapshot takes the empty container for the user's work");
}

#[test]
fn command_does_not_run_in_a_container_that_was_replaced_between_the_checks() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::RunCommand).nth(1).run(|world| world.replace_container("agent-42"));
    fixture.exec("agent-42", "true").expect_code(Code::SandboxReplaced);
    assert!(fixture.world.hook_calls().is_empty());
}

#[test]
fn command_runs_in_a_container_that_is_a_few_seconds_old() {
    let fixture = Fixture::empty();
    fixture.world.write_file("agent-42", "/workspace/file", "");
    fixture.world.advance_clock(5000);
    fixture.exec("agent-42", "true").unwrap();
    let calls = fixture.world.call_count(Method::RunCommand);
    assert_eq!(calls, 2, "the second call requires the age that the first one measured");
}

#[test]
fn young_container_that_was_replaced_runs_no_command() {
    let fixture = Fixture::empty();
    fixture.world.write_file("agent-42", "/workspace/file", "");
    fixture.world.advance_clock(5000);
    fixture.world.before(Method::RunCommand).nth(2).run(|world| world.replace_container("agent-42"));
    fixture.exec("agent-42", "true").expect_code(Code::SandboxReplaced);
    assert!(fixture.world.hook_calls().is_empty());
}

#[test]
fn young_container_that_an_interrupted_command_started_runs_no_command() {
    let fixture = Fixture::with_sandbox();
    fixture.world.end_container_unnoticed("agent-42");
    let gate = fixture.world.after(Method::RunCommand).nth(1).block();
    let call = fixture.begin(Operation::Exec, &json!({ "sandboxId": "agent-42", "command": "true" }));
    assert!(gate.is_reached());
    drop(call);
    fixture.crash_worker();
    fixture.world.clear_faults();
    fixture.world.advance_clock(5000);
    fixture.exec("agent-42", "true").expect_code(Code::SandboxReplaced);
    assert!(fixture.world.hook_calls().is_empty());
}

#[test]
fn container_of_a_command_is_verified_when_it_runs() {
    let fixture = Fixture::with_sandbox();
    fixture.exec("agent-42", "true").unwrap();
    fixture.world.finish_background();
    assert_eq!(fixture.ledger("agent-42").sandbox().unwrap().unwrap().unverified, None);
}

#[test]
fn captured_sandbox_is_recognized_by_its_marker() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.exec("agent-42", "true").unwrap();
    fixture.world.replace_container("agent-42");
    fixture.world.advance_clock(HOUR);
    fixture.exec("agent-42", "true").expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.hook_calls().len(), 1);
}

#[test]
fn restored_sandbox_runs_commands() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap();
    let answer = fixture.exec(restored.sandbox_id().as_str(), "true").unwrap();
    assert_eq!(answer["sandboxId"], json!(restored.sandbox_id()));
}

#[test]
fn identity_of_a_container_decides_where_the_class_reports_it() {
    let fixture = Fixture::with_sandbox();
    fixture.world.runtime.set(Runtime::Container);
    fixture.exec("agent-42", "true").unwrap();
    fixture.world.before(Method::RunCommand).nth(2).run(|world| world.replace_container("agent-42"));
    fixture.exec("agent-42", "true").expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.hook_calls().len(), 1);
}

#[test]
fn snapshot_after_a_command_accepts_the_container() {
    let fixture = Fixture::with_sandbox();
    fixture.exec("agent-42", "true").unwrap();
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" })).unwrap();
}

#[test]
fn container_that_ends_after_a_command_is_not_taken_for_the_users_work() {
    let fixture = Fixture::with_sandbox();
    fixture.exec("agent-42", "true").unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.world.replace_container("agent-42");
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" })).expect_code(Code::SandboxReplaced);
}

#[test]
fn other_lineage_runs_no_command() {
    let fixture = Fixture::with_sandbox();
    let options = json!({ "sandboxId": "agent-42", "command": "true", "lineageScope": "agent-7" });
    fixture.run(Operation::Exec, &options).expect_code(Code::CrossLineage);
    assert_eq!(fixture.world.call_count(Method::RunCommand), 0);
}
