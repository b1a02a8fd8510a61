//! `ensure_running` restores the files of a sandbox where they are missing. It discards written files only on request.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, Runtime};
use serde_json::json;

use crate::support::{CallPhase, ExpectError, FILE, Fixture, HOUR, MINUTE, Method, PendingOperation, WORKSPACE};

#[test]
fn start_ends_empty_cold_started_container_and_restores_files() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&started["how"], fixture.read_workspace_file(WORKSPACE)), (&json!("restored"), Some("first".into())));
    assert!(started["history"][1]["cause"].as_str().unwrap().contains("cold-started"), "{started}");
}

#[test]
fn start_restores_stopped_workspace_whose_container_cold_started() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "restored");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn start_fails_without_touching_files_written_after_cold_start() {
    let fixture = Fixture::with_diverged_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::WorkspaceDiverged);
    assert!(["rescue", "adopt", "discard"].iter().all(|choice| error.remediation().contains(choice)), "{error}");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
    let mutating_methods =
        [Method::Destroy, Method::RestoreBackup, Method::UpdateMarker, Method::CreateBackup, Method::AddReplacedNote];
    let mutations: Vec<_> =
        fixture.world.calls_about(&id).into_iter().filter(|call| mutating_methods.contains(call)).collect();
    assert_eq!(mutations, []);
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn start_with_adopt_keeps_diverged_files() {
    let fixture = Fixture::with_diverged_workspace();
    let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    assert_eq!((&started["how"], fixture.read_workspace_file(WORKSPACE)), (&json!("adopted"), Some("second".into())));
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn adopt_waits_for_restore_left_by_crashed_worker() {
    let fixture = Fixture::with_stopped_workspace();
    let gate = fixture.world.before(Method::RestoreBackup).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    fixture.crash_during(start);
    fixture.world.clear_faults();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.replace_container(&id);
    fixture.world.write_file(&id, FILE, "second");
    fixture.world.advance_clock(1000);
    fixture.world.reset_calls();
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap()["how"], "adopted");
    let methods = [Method::CreateBackup, Method::UpdateMarker];
    let calls: Vec<_> = fixture.world.calls_about(&id).into_iter().filter(|call| methods.contains(call)).collect();
    let expected = [Method::UpdateMarker, Method::UpdateMarker, Method::CreateBackup, Method::UpdateMarker];
    assert_eq!(calls, expected, "a sandbox runs one capture or restore at a time");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn snapshot_succeeds_after_adopt_of_container_reported_as_replaced() {
    let fixture = Fixture::with_diverged_workspace();
    let snapshot = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) });
    fixture.run(Operation::Snapshot, &snapshot).expect_code(Code::SandboxReplaced);
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    fixture.run(Operation::Snapshot, &snapshot).unwrap();
}

#[test]
fn start_with_rescue_saves_diverged_files_and_restores_previous_ones() {
    let fixture = Fixture::with_diverged_workspace();
    let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "rescue" })).unwrap();
    assert_eq!((&started["how"], fixture.read_workspace_file(WORKSPACE)), (&json!("restored"), Some("first".into())));
    let rescue_snapshot_id = started["rescueSnapshotId"].clone();
    fixture.revert_workspace(WORKSPACE, &rescue_snapshot_id).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn start_with_discard_restores_previous_files_without_backup() {
    let fixture = Fixture::with_diverged_workspace();
    let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "discard" })).unwrap();
    assert_eq!((&started["how"], fixture.read_workspace_file(WORKSPACE)), (&json!("restored"), Some("first".into())));
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
}

#[test]
fn container_keeps_running_when_rescue_snapshot_fails() {
    let fixture = Fixture::with_diverged_workspace();
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "rescue" })).expect_code(Code::BackupFailed);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn rescue_succeeds_for_files_written_after_a_failed_start() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::SandboxUnavailable);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(5 * MINUTE);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(1000);
    let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "rescue" })).unwrap();
    assert_eq!(
        (started["rescueSnapshotId"].is_string(), fixture.read_workspace_file(WORKSPACE)),
        (true, Some("first".into()))
    );
}

#[test]
fn adopted_files_survive_a_failing_after_start_hook() {
    let fixture = Fixture::with_diverged_workspace();
    fixture.update_workspace(WORKSPACE, &json!({ "hooks": { "afterStart": { "command": "exit 3" } } })).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).expect_code(Code::HookFailed);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
    fixture.advance_with_alarms(HOUR);
    fixture.update_workspace(WORKSPACE, &json!({ "hooks": {} })).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn adopted_files_survive_worker_crash_at_every_call() {
    for phase in CallPhase::BOTH {
        for call_number in 1.. {
            let fixture = Fixture::with_diverged_workspace();
            let gate = fixture.world.at_any_call(phase).nth(call_number).block();
            let start =
                fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({ "onDiverged": "adopt" }));
            if !gate.is_reached() {
                break;
            }
            fixture.crash_during(start);
            fixture.world.clear_faults();
            fixture.advance_with_alarms(HOUR);
            let outcome =
                fixture.start_workspace(WORKSPACE, &json!({})).map(|_| fixture.read_workspace_file(WORKSPACE).unwrap());
            let is_rescued = fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)).len() > 1;
            assert!(
                is_rescued || outcome.is_err() || outcome == Ok("second".into()),
                "{phase:?} {call_number}: {outcome:?}"
            );
        }
    }
}

#[test]
fn files_of_the_image_do_not_count_as_divergence() {
    let fixture = Fixture::empty();
    fixture.world.add_image_file("/workspace/README", "hello");
    fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.replace_container(&id);
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "restored");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    fixture.world.replace_container(&id);
    fixture.world.write_file(&id, "/workspace/README", "changed");
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::WorkspaceDiverged);
}

#[test]
fn files_outside_the_directory_do_not_count_as_divergence() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), "/tmp/x", "y");
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "restored");
}

#[test]
fn start_fails_when_files_are_lost_and_no_snapshot_exists() {
    let fixture = Fixture::with_workspace();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
    assert!(error.remediation().contains("allowEmpty"), "{error}");
    assert!(fixture.world.running_sandboxes().is_empty());
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap()["how"], "empty");
}

#[test]
fn start_restores_an_empty_directory_as_empty() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "restored");
}

#[test]
fn start_restores_again_when_container_is_replaced_during_restore() {
    for method in [Method::BeginRestore, Method::RestoreBackup, Method::CompleteRestore, Method::RunHook] {
        for phase in CallPhase::BOTH {
            let fixture =
                Fixture::with_stopped_workspace_options(&json!({ "hooks": { "afterStart": { "command": "exit 0" } } }));
            let id = fixture.sandbox_of(WORKSPACE);
            fixture.world.at(method, phase).nth(1).run(move |world| world.replace_container(&id));
            let started = fixture
                .start_workspace(WORKSPACE, &json!({}))
                .unwrap_or_else(|error| panic!("{method:?} {phase:?} {error}"));
            assert_eq!(started["how"], "restored", "{method:?} {phase:?}");
            assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first", "{method:?} {phase:?}");
            fixture.world.advance_clock(MINUTE);
            fixture.stop_workspace(WORKSPACE).unwrap();
        }
    }
}

#[test]
fn start_expects_the_container_in_which_the_restore_began() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.runtime.set(Runtime::Container);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).nth(1).run(move |world| world.replace_container(&id));
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "restored");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    assert_eq!(fixture.world.call_count(Method::CompleteRestore), 1, "nothing was restored into the other container");
}

#[test]
fn start_in_the_runtime_container_makes_no_call_that_only_starts_the_container() {
    let fixture = Fixture::empty();
    fixture.world.runtime.set(Runtime::Container);
    fixture.deploy_sandboxes(&json!([{ "binding": "SnapshotSandbox", "runtime": "container" }]));
    fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "first");
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.reset_calls();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let calls = fixture.world.calls_about(&fixture.world_id(&fixture.sandbox_of(WORKSPACE)));
    let in_container: Vec<_> = calls.into_iter().skip_while(|call| *call != Method::Configure).skip(1).collect();
    assert_eq!(in_container, [Method::BeginRestore, Method::RestoreBackup, Method::CompleteRestore]);
}

#[test]
fn start_fails_when_container_is_replaced_during_every_restore() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.after(Method::RestoreBackup).run(move |world| world.replace_container(&id));
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::OperationInterrupted);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn start_fails_when_restore_leaves_directory_empty() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.after(Method::RestoreBackup).run(move |world| world.remove_file(&id, FILE));
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::RestoreFailed);
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn start_waits_for_capture_in_flight() {
    let fixture = Fixture::with_workspace();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let id = fixture.sandbox_of(WORKSPACE);
    let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": id, "dir": "/workspace" }));
    assert!(gate.is_reached());
    fixture.world.end_container(&id);
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({ "allowEmpty": true }));
    fixture.world.run_background();
    gate.open();
    capture.answer().unwrap();
    assert_eq!(
        (&start.answer().unwrap()["how"], fixture.read_workspace_file(WORKSPACE)),
        (&json!("restored"), Some("first".into()))
    );
}

#[test]
fn start_waits_for_recovery_of_unfinished_capture() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": id, "dir": "/workspace" }));
    assert!(gate.is_reached());
    fixture.crash_during(capture);
    fixture.world.clear_faults();
    fixture.world.before(Method::GetMetadata).fail_transiently();
    drop(fixture.run(Operation::List, &json!({ "sandboxId": id, "check": false })));
    fixture.world.clear_faults();
    fixture.world.advance_clock(10 * MINUTE);
    let recovery_gate = fixture.world.before(Method::GetMetadata).block();
    let snapshots = fixture.snapshotter(&id);
    let alarm = PendingOperation::start(async move { snapshots.alarm().await });
    assert!(recovery_gate.is_reached());
    fixture.world.end_container(&id);
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({ "allowEmpty": true }));
    fixture.world.run_background();
    recovery_gate.open();
    alarm.answer().unwrap();
    assert_eq!(start.answer().unwrap()["how"], "restored");
}

#[test]
fn update_removes_variables_missing_from_the_new_env() {
    let fixture = Fixture::with_workspace_options(&json!({ "env": { "A": "1", "B": "2" } }));
    fixture.update_workspace(WORKSPACE, &json!({ "env": { "B": "3" } })).unwrap();
    assert_eq!(fixture.world.env_of(&fixture.sandbox_of(WORKSPACE)), [("B".to_owned(), "3".to_owned())].into());
}

#[test]
fn start_sets_variables_again() {
    let fixture = Fixture::with_stopped_workspace_options(&json!({ "env": { "A": "1" } }));
    fixture.world.clear_env(&fixture.sandbox_of(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.world.env_of(&fixture.sandbox_of(WORKSPACE))["A"], "1");
}

#[test]
fn start_leaves_sandbox_unchanged_when_status_or_probe_fails() {
    for method in [Method::Status, Method::Probe] {
        let fixture = Fixture::with_workspace();
        fixture.world.before(method).fail_transiently();
        fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::SandboxUnavailable);
        fixture.world.clear_faults();
        assert_eq!(
            (fixture.state(WORKSPACE), fixture.read_workspace_file(WORKSPACE)),
            ("active", Some("first".into())),
            "{method:?}"
        );
    }
}

#[test]
fn sandbox_without_workspace_binding_is_neither_started_nor_ended() {
    let fixture = Fixture::with_sandbox();
    let agent = fixture.snapshotter("agent-42");
    futures_executor::block_on(agent.condition()).expect_code(Code::WorkspaceNotFound);
    futures_executor::block_on(agent.changed_since_watch()).expect_code(Code::WorkspaceNotFound);
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn adopt_fails_when_container_is_replaced_after_probe() {
    let fixture = Fixture::with_diverged_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::UpdateMarker).nth(1).run(move |world| world.replace_container(&id));
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).expect_code(Code::OperationInterrupted);
    assert_ne!(fixture.state(WORKSPACE), "active");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn container_started_to_set_variables_is_ended_before_restore() {
    let fixture = Fixture::with_workspace_options(&json!({ "env": { "TOKEN": "secret" } }));
    fixture.stop_workspace(WORKSPACE).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    let target = id.clone();
    fixture
        .world
        .before(Method::SetEnv)
        .run(move |world| world.write_file(&target, "shell-session", "opened too early"));
    fixture.world.reset_calls();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let methods = [Method::SetEnv, Method::Destroy, Method::RestoreBackup];
    let calls: Vec<_> = fixture.world.calls_about(&id).into_iter().filter(|call| methods.contains(call)).collect();
    let [.., set, ended, restored] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!([*set, *ended, *restored], methods);
    assert_eq!(fixture.world.files(&id).unwrap().get("shell-session"), None);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn start_ends_no_container_when_setting_variables_started_none() {
    let fixture = Fixture::with_workspace_options(&json!({ "env": { "TOKEN": "secret" } }));
    fixture.stop_workspace(WORKSPACE).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.reset_calls();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let calls = fixture.world.calls_about(&id);
    let set = calls.iter().position(|call| *call == Method::SetEnv).unwrap();
    assert!(!calls[set..].contains(&Method::Destroy), "{calls:?}");
}
