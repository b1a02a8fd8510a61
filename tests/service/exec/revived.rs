//! `exec` with `revive` restores the files of a sandbox that has lost them, before the command runs.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result, Runtime};
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, MINUTE, Method, WORKSPACE};

impl Fixture {
    fn exec_revived(&self) -> Result<Value> {
        self.run(Operation::Exec, &json!({ "sandboxId": "agent-42", "command": "true", "revive": true }))
    }

    /// Creates a sandbox with a snapshot, and one that was made from it. Returns the id of the latter.
    fn with_restored_sandbox(runtime: Runtime) -> (Self, String) {
        let fixture = Self::of_runtime(runtime);
        fixture.start_sandbox("agent-42");
        let snapshot = fixture.snapshot().unwrap();
        let restored = fixture.restore(&snapshot).unwrap();
        fixture.world.advance_clock(MINUTE);
        (fixture, restored.sandbox_id().to_string())
    }
}

#[test]
fn command_runs_in_a_sandbox_that_slept() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let (fixture, _) = Fixture::with_restored_sandbox(runtime);
        fixture.world.end_container("agent-42");
        let answer = fixture.exec_revived().unwrap();
        assert_eq!((&answer["exitCode"], &answer["started"]["how"]), (&json!(0), &json!("restored")), "{answer}");
        assert_eq!(answer["started"]["mayHaveLost"], true);
        assert_eq!(fixture.world.files("agent-42").unwrap()[FILE], "first", "{runtime:?}");
    }
}

#[test]
fn command_runs_in_a_sandbox_that_cold_started() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.world.replace_container("agent-42");
    assert_eq!(fixture.exec_revived().unwrap()["started"]["how"], "restored");
    assert_eq!(fixture.world.hook_calls().len(), 1);
}

#[test]
fn running_sandbox_is_verified_and_not_restored() {
    let (fixture, _) = Fixture::with_snapshot();
    let answer = fixture.exec_revived().unwrap();
    assert_eq!((answer.get("started"), fixture.world.call_count(Method::RestoreBackup)), (None, 0));
    let calls = fixture.world.calls().into_iter().map(|(method, _)| method);
    let calls: Vec<_> = calls.filter(|method| matches!(method, Method::Probe | Method::RunCommand)).collect();
    assert_eq!(calls, [Method::Probe, Method::RunCommand]);
}

#[test]
fn command_runs_again_when_the_container_ends_after_the_verification() {
    let (fixture, _) = Fixture::with_snapshot();
    fixture.world.before(Method::PrepareExec).nth(1).run(|world| world.end_container("agent-42"));
    let answer = fixture.exec_revived().unwrap();
    assert_eq!((&answer["exitCode"], &answer["started"]["how"]), (&json!(0), &json!("restored")), "{answer}");
    assert_eq!(fixture.world.hook_calls().len(), 1);
}

#[test]
fn command_does_not_run_where_the_caller_must_decide_about_files() {
    let (fixture, _) = Fixture::with_diverged_sandbox();
    let error = fixture.exec_revived().expect_code(Code::WorkspaceDiverged);
    assert!(error.remediation().contains("onDiverged"), "{error}");
    assert!(fixture.world.hook_calls().is_empty());
    assert_eq!(fixture.world.files("agent-42").unwrap()[FILE], "second");
}

#[test]
fn sandbox_of_a_stopped_workspace_is_not_revived() {
    let fixture = Fixture::with_stopped_workspace();
    let options = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "command": "true", "revive": true });
    fixture.run(Operation::Exec, &options).expect_code(Code::InvalidArgument);
}

#[test]
fn command_without_revive_does_not_start_a_sandbox_that_slept() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let (fixture, restored) = Fixture::with_restored_sandbox(runtime);
        fixture.world.end_container(&restored);
        let error = fixture.exec(&restored, "true").expect_code(Code::SandboxNotRunning);
        assert!(error.remediation().contains("revive"), "{error}");
        fixture.world.replace_container(&restored);
        fixture.world.advance_clock(MINUTE);
        let error = fixture.exec(&restored, "true").expect_code(Code::SandboxReplaced);
        assert!(error.remediation().contains("revive"), "{error}");
        assert!(fixture.world.hook_calls().is_empty(), "{runtime:?}");
    }
}
