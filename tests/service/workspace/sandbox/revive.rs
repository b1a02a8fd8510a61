//! `revive` gives a sandbox without a named workspace its newest snapshot again, under its own id.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result, Runtime};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{CallPhase, ExpectError, FILE, Fixture, HOUR, MINUTE, Method, PendingOperation, WORKSPACE};

const SANDBOX: &str = "agent-42";

impl Fixture {
    /// Revives the sandbox, with options.
    pub(super) fn revive(&self, options: Value) -> Result<Value> {
        self.begin_revive(options).answer()
    }

    pub(super) fn begin_revive(&self, mut options: Value) -> PendingOperation<Result<Value>> {
        options["sandboxId"] = json!(SANDBOX);
        self.begin(Operation::Revive, &options)
    }

    /// Creates the sandbox with a snapshot, and its container has ended.
    pub(super) fn with_sleeping_sandbox(runtime: Runtime) -> Self {
        let fixture = Self::of_runtime(runtime);
        fixture.start_sandbox(SANDBOX);
        fixture.snapshot().unwrap();
        fixture.world.advance_clock(MINUTE);
        fixture.world.end_container(SANDBOX);
        fixture.world.reset_calls();
        fixture
    }

    fn file(&self) -> Option<String> {
        self.read(SANDBOX, FILE)
    }

    fn read(&self, id: &str, path: &str) -> Option<String> {
        self.world.files(id)?.get(path).cloned()
    }
}

#[test]
fn sandbox_that_slept_gets_its_newest_snapshot_under_its_own_id() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        let revived = fixture.revive(json!({})).unwrap();
        let newest = fixture.run(Operation::List, &json!({ "sandboxId": SANDBOX })).unwrap()["snapshots"][0].clone();
        assert_eq!((&revived["how"], fixture.file().as_deref()), (&json!("restored"), Some("first")), "{runtime:?}");
        assert_eq!(
            (&revived["sandboxId"], &revived["workspace"]["ref"]["sandboxId"]),
            (&json!(SANDBOX), &json!(SANDBOX))
        );
        let from = &revived["restoredFrom"];
        assert_eq!((&from["snapshotId"], &from["ageSeconds"]), (&newest["snapshotId"], &json!(60)), "{revived}");
        assert_eq!(revived["mayHaveLost"], true, "nothing proves that the snapshot has all files");
        assert!(fixture.world.running_sandboxes().iter().eq([SANDBOX]));
    }
}

#[test]
fn sandbox_that_cold_started_gets_its_files() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.world.replace_container(SANDBOX);
        assert_eq!(fixture.revive(json!({})).unwrap()["how"], "restored", "{runtime:?}");
        assert_eq!(fixture.file().as_deref(), Some("first"));
        let methods = fixture.world.calls_about(SANDBOX);
        let position = |method| methods.iter().position(|call| *call == method).unwrap();
        assert!(position(Method::Destroy) < position(Method::RestoreBackup), "{methods:?}");
    }
}

#[test]
fn container_that_was_captured_is_left_alone() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::of_runtime(runtime);
        fixture.start_sandbox(SANDBOX);
        fixture.snapshot().unwrap();
        fixture.world.write_file(SANDBOX, FILE, "unsaved");
        fixture.world.reset_calls();
        let revived = fixture.revive(json!({ "onDiverged": "discard" })).unwrap();
        assert_eq!((&revived["how"], fixture.file().as_deref()), (&json!("running"), Some("unsaved")), "{runtime:?}");
        assert_eq!((revived.get("restoredFrom"), revived.get("mayHaveLost")), (None, None));
        let calls = fixture.world.calls_about(SANDBOX);
        assert!(calls.iter().all(|call| matches!(call, Method::Status | Method::Probe)), "{calls:?}");
    }
}

#[test]
fn container_whose_first_capture_completes_meanwhile_is_left_alone() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::of_runtime(runtime);
        fixture.start_sandbox(SANDBOX);
        let capture_gate = fixture.world.before(Method::CreateBackup).block();
        let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": SANDBOX }));
        assert!(capture_gate.is_reached());
        fixture.world.reset_calls();
        let status_gate = fixture.world.after(Method::Status).nth(1).block();
        let revive = fixture.begin_revive(json!({ "onDiverged": "rescue" }));
        assert!(status_gate.is_reached());
        capture_gate.open();
        capture.answer().unwrap();
        status_gate.open();
        assert_eq!(revive.answer().unwrap()["how"], "running", "{runtime:?}");
        assert_eq!(fixture.world.call_count(Method::Destroy), 0);
    }
}

#[test]
fn container_that_is_replaced_after_its_identity_was_read_is_not_reported_as_running() {
    let fixture = Fixture::of_runtime(Runtime::Container);
    fixture.start_sandbox(SANDBOX);
    fixture.snapshot().unwrap();
    fixture.world.reset_calls();
    fixture.world.before(Method::Probe).nth(1).run(|world| world.replace_container(SANDBOX));
    let revived = fixture.revive(json!({})).unwrap();
    assert_eq!((&revived["how"], fixture.file().as_deref()), (&json!("restored"), Some("first")));
}

#[test]
fn container_that_a_running_capture_adopts_is_left_alone() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.world.replace_container(SANDBOX);
        fixture.world.write_file(SANDBOX, FILE, "second");
        fixture.world.advance_clock(MINUTE);
        let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
        let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": SANDBOX, "adopt": true }));
        assert!(gate.is_reached());
        let revive = fixture.begin_revive(json!({ "onDiverged": "discard" }));
        gate.open();
        capture.answer().unwrap();
        let revived = revive.answer().unwrap();
        assert_eq!((&revived["how"], fixture.file().as_deref()), (&json!("running"), Some("second")), "{runtime:?}");
        fixture.run(Operation::Snapshot, &json!({ "sandboxId": SANDBOX })).unwrap();
    }
}

#[test]
fn second_revival_reports_the_restore_of_the_first_one() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        let first = fixture.revive(json!({})).unwrap();
        fixture.world.write_file(SANDBOX, FILE, "unsaved");
        fixture.world.advance_clock(HOUR);
        let second = fixture.revive(json!({})).unwrap();
        assert_eq!(
            (&second["how"], &second["restoredFrom"]),
            (&json!("running"), &first["restoredFrom"]),
            "{runtime:?}"
        );
        assert_eq!((&second["mayHaveLost"], fixture.file().as_deref()), (&json!(true), Some("unsaved")));
    }
}

#[test]
fn revived_sandbox_is_captured_as_before() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.revive(json!({})).unwrap();
        fixture.world.write_file(SANDBOX, FILE, "second");
        fixture.world.advance_clock(MINUTE);
        let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": SANDBOX })).unwrap();
        assert_eq!(taken["capture"].get("rescue"), None, "{runtime:?}");
        fixture.world.end_container(SANDBOX);
        let revived = fixture.revive(json!({})).unwrap();
        assert_eq!(revived["restoredFrom"]["snapshotId"], taken["ref"]["snapshotId"]);
        assert_eq!(fixture.file().as_deref(), Some("second"));
    }
}

#[test]
fn container_that_cold_started_after_a_revival_is_not_captured_as_the_sandboxs_own() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.revive(json!({})).unwrap();
        fixture.world.replace_container(SANDBOX);
        fixture.world.advance_clock(HOUR);
        fixture.run(Operation::Snapshot, &json!({ "sandboxId": SANDBOX })).expect_code(Code::SandboxReplaced);
    }
}

#[test]
fn sandbox_without_a_snapshot_of_its_own_gets_the_one_that_it_was_made_from() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
    fixture.world.end_container(&restored);
    let revived = fixture.run(Operation::Revive, &json!({ "sandboxId": restored })).unwrap();
    assert_eq!(revived["restoredFrom"]["snapshotId"], json!(snapshot.snapshot_id()));
    assert_eq!(revived["workspace"]["ref"], json!({ "sandboxId": restored, "rootId": SANDBOX }));
    assert_eq!(fixture.read(&restored, FILE).as_deref(), Some("first"));
}

#[test]
fn snapshot_of_another_directory_is_restored_where_it_was_taken() {
    let fixture = Fixture::empty();
    fixture.world.write_file(SANDBOX, "/home/data/notes.txt", "first");
    fixture.world.advance_clock(MINUTE);
    fixture
        .run(Operation::Snapshot, &json!({ "sandboxId": SANDBOX, "dir": "/home/data", "excludes": ["*.log"] }))
        .unwrap();
    fixture.world.end_container(SANDBOX);
    fixture.revive(json!({})).unwrap();
    assert_eq!(fixture.read(SANDBOX, "/home/data/notes.txt").as_deref(), Some("first"));
}

#[test]
fn files_written_since_the_cold_start_are_kept_by_default() {
    let (fixture, _) = Fixture::with_diverged_sandbox();
    let error = fixture.revive(json!({})).expect_code(Code::WorkspaceDiverged);
    assert!(["rescue", "adopt", "discard"].iter().all(|choice| error.remediation().contains(choice)), "{error}");
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!(fixture.file().as_deref(), Some("second"));
    assert_eq!(fixture.world.call_count(Method::Destroy), 0);
}

#[test]
fn rescue_saves_the_written_files_in_a_rescue_snapshot() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.world.replace_container(SANDBOX);
        fixture.world.write_file(SANDBOX, FILE, "second");
        fixture.world.advance_clock(MINUTE);
        let revived = fixture.revive(json!({ "onDiverged": "rescue" })).unwrap();
        assert_eq!((&revived["how"], fixture.file().as_deref()), (&json!("restored"), Some("first")), "{runtime:?}");
        let rescue = json!({ "sandboxId": SANDBOX, "snapshotId": revived["rescueSnapshotId"] });
        assert_eq!(fixture.run(Operation::Get, &rescue).unwrap()["rescue"], true);
        let restored = fixture.run(Operation::Restore, &rescue).unwrap();
        let id = restored["ref"]["sandboxId"].as_str().unwrap();
        assert_eq!(fixture.read(id, FILE).as_deref(), Some("second"));
    }
}

#[test]
fn no_rescue_snapshot_is_taken_of_a_container_that_replaced_the_one_with_the_written_files() {
    let (fixture, _) = Fixture::with_diverged_sandbox();
    fixture.world.after(Method::UpdateMarker).nth(1).run(|world| world.replace_container(SANDBOX));
    let error = fixture.revive(json!({ "onDiverged": "rescue" })).expect_code(Code::OperationInterrupted);
    assert!(error.is_retryable(), "{error}");
    assert_eq!(fixture.snapshots_of(SANDBOX).len(), 1, "no snapshot without the written files is called a rescue");
    let revived = fixture.revive(json!({ "onDiverged": "rescue" })).unwrap();
    assert_eq!((&revived["how"], fixture.file().as_deref()), (&json!("restored"), Some("first")));
    assert_eq!((&revived["mayHaveLost"], revived.get("rescueSnapshotId")), (&json!(true), None));
}

#[test]
fn adopt_continues_with_the_written_files() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::with_sleeping_sandbox(runtime);
        fixture.world.replace_container(SANDBOX);
        fixture.world.write_file(SANDBOX, FILE, "second");
        fixture.world.advance_clock(MINUTE);
        let revived = fixture.revive(json!({ "onDiverged": "adopt" })).unwrap();
        assert_eq!((&revived["how"], revived.get("restoredFrom")), (&json!("adopted"), None), "{runtime:?}");
        assert_eq!(fixture.revive(json!({})).unwrap()["how"], "running");
        let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": SANDBOX })).unwrap();
        assert_eq!(taken["capture"].get("rescue"), None, "the files are the sandbox's own");
        assert_eq!(fixture.file().as_deref(), Some("second"));
    }
}

#[test]
fn discard_restores_without_the_written_files() {
    let (fixture, _) = Fixture::with_diverged_sandbox();
    let revived = fixture.revive(json!({ "onDiverged": "discard" })).unwrap();
    assert_eq!((&revived["how"], fixture.file().as_deref()), (&json!("restored"), Some("first")));
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
}

#[test]
fn nothing_is_discarded_before_a_snapshot_is_found() {
    let (fixture, snapshot) = Fixture::with_diverged_sandbox();
    let delete = json!({ "ref": snapshot, "force": true });
    fixture.run(Operation::Delete, &delete).unwrap();
    fixture.revive(json!({ "onDiverged": "discard" })).expect_code(Code::NothingRestorable);
    assert_eq!(fixture.file().as_deref(), Some("second"));
    assert_eq!(fixture.revive(json!({ "onDiverged": "adopt" })).unwrap()["how"], "adopted");
}

#[test]
fn sandbox_of_which_nothing_is_known_is_not_touched() {
    let fixture = Fixture::empty();
    fixture.revive(json!({})).expect_code(Code::SandboxNotRunning);
    fixture.start_sandbox(SANDBOX);
    fixture.revive(json!({ "onDiverged": "discard" })).expect_code(Code::NothingRestorable);
    assert_eq!((fixture.file().as_deref(), fixture.ledger(SANDBOX).sandbox().unwrap()), (Some("first"), None));
}

#[test]
fn sandbox_of_a_named_workspace_is_refused() {
    let fixture = Fixture::with_stopped_workspace();
    let options = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) });
    let error = fixture.run(Operation::Revive, &options).expect_code(Code::InvalidArgument);
    assert!(error.remediation().contains("getOrCreate"), "{error}");
}

#[test]
fn concurrent_callers_share_one_revival() {
    let fixture = Fixture::with_sleeping_sandbox(Runtime::Sdk012);
    let gate = fixture.world.before(Method::RestoreBackup).block();
    let calls: Vec<_> = (0..20).map(|_| fixture.begin_revive(json!({}))).collect();
    assert!(gate.is_reached());
    gate.open();
    let answers: Vec<_> = calls.into_iter().map(|call| call.answer().unwrap()).collect();
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 1);
    assert!(answers.iter().all(|answer| *answer == answers[0] && answer["how"] == "restored"), "{answers:?}");
}

#[test]
fn caller_does_not_share_a_revival_that_found_the_container_before_it_ended() {
    let (fixture, _) = Fixture::with_snapshot();
    let gate = fixture.world.after(Method::Probe).nth(1).block();
    let first = fixture.begin_revive(json!({}));
    assert!(gate.is_reached());
    fixture.world.end_container(SANDBOX);
    let second = fixture.begin_revive(json!({}));
    gate.open();
    assert_eq!(first.answer().unwrap()["how"], "running");
    assert_eq!(second.answer().unwrap()["how"], "restored");
}

#[test]
fn caller_does_not_share_a_revival_whose_container_ended_before_its_call() {
    let fixture = Fixture::with_sleeping_sandbox(Runtime::Sdk012);
    let gate = fixture.world.after(Method::CompleteRestore).block();
    let first = fixture.begin_revive(json!({}));
    assert!(gate.is_reached());
    fixture.world.end_container(SANDBOX);
    let second = fixture.begin_revive(json!({}));
    gate.open();
    assert_eq!(first.answer().unwrap()["how"], "restored");
    assert_eq!(second.answer().unwrap()["how"], "restored");
    assert_eq!(fixture.file().as_deref(), Some("first"), "the second call restored the files again");
}

#[test]
fn nothing_is_captured_or_run_while_a_revival_did_not_finish() {
    let fixture = Fixture::with_sleeping_sandbox(Runtime::Sdk012);
    let gate = fixture.world.before(Method::RestoreBackup).block();
    let revive = fixture.begin_revive(json!({}));
    assert!(gate.is_reached());
    fixture.crash_during(revive);
    fixture.world.clear_faults();
    for (operation, options) in [
        (Operation::Snapshot, json!({ "sandboxId": SANDBOX })),
        (Operation::CreateCheckpoint, json!({ "sandboxId": SANDBOX, "name": "before" })),
        (Operation::Exec, json!({ "sandboxId": SANDBOX, "command": "true" })),
    ] {
        let error = fixture.run(operation, &options).expect_err("the container has no files");
        assert!(matches!(error.code(), Code::SandboxStarting | Code::SandboxNotRunning), "{operation:?}: {error}");
    }
    fixture.revive(json!({})).unwrap();
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": SANDBOX })).unwrap();
}

#[test]
fn directory_that_was_deleted_is_a_problem_of_the_running_sandbox() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::of_runtime(runtime);
        fixture.start_sandbox(SANDBOX);
        fixture.world.write_file(SANDBOX, "/workspace/app/file", "first");
        fixture.run(Operation::Snapshot, &json!({ "sandboxId": SANDBOX, "dir": "/workspace/app" })).unwrap();
        assert_eq!(fixture.revive(json!({})).unwrap().get("problem"), None, "{runtime:?}");
        fixture.world.remove_directory(SANDBOX, "/workspace/app");
        let revived = fixture.revive(json!({})).unwrap();
        let problem = &revived["problem"];
        assert_eq!(
            (&revived["how"], &problem["code"]),
            (&json!("running"), &json!(Code::InvalidDirectory)),
            "{revived}"
        );
        assert!(problem["message"].as_str().unwrap().contains("\"/workspace/app\" does not exist"), "{revived}");
        assert!(problem["remediation"].as_str().unwrap().contains("in a new sandbox"), "{revived}");
        assert_eq!(fixture.world.call_count(Method::Destroy), 0);
    }
}

#[test]
fn idle_timeout_of_the_application_stays() {
    for phase in [CallPhase::Before, CallPhase::After] {
        let fixture = Fixture::with_sleeping_sandbox(Runtime::Sdk012);
        let gate = fixture.world.at(Method::RestoreBackup, phase).block();
        let revive = fixture.begin_revive(json!({}));
        assert!(gate.is_reached());
        fixture.crash_during(revive);
        fixture.world.clear_faults();
        fixture.advance_with_alarms(3 * HOUR);
        fixture.revive(json!({})).unwrap();
        let calls = [Method::SetIdleTimeout, Method::Configure].map(|method| fixture.world.call_count(method));
        assert_eq!(calls, [0, 0]);
    }
}

#[test]
fn sandbox_that_does_not_answer_is_revived_again_when_no_call_is_late() {
    let fixture = Fixture::with_sleeping_sandbox(Runtime::Sdk012);
    fixture.world.replace_container(SANDBOX);
    fixture.world.before(Method::Destroy).hang();
    let error = fixture.revive(json!({})).expect_code(Code::SandboxUnresponsive);
    assert!(error.remediation().contains("new sandbox"), "{error}");
    fixture.world.clear_faults();
    fixture.revive(json!({})).expect_code(Code::SandboxUnresponsive);
    fixture.advance_with_alarms(2 * HOUR);
    assert_eq!(fixture.revive(json!({})).unwrap()["how"], "restored");
    assert_eq!(fixture.file().as_deref(), Some("first"));
}
