//! `reconcile` of a sandbox whose start was interrupted by a Worker crash.

use std::cell::RefCell;
use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{CallPhase, ExpectError, FILE, Fixture, HOUR, MINUTE, Method, WORKSPACE};

/// Crashes the Worker at the first call of `method` during a start of `work`.
fn crash_during_start(method: Method, phase: CallPhase) -> Fixture {
    let fixture =
        Fixture::with_stopped_workspace_options(&json!({ "hooks": { "afterStart": { "command": "exit 0" } } }));
    let gate = fixture.world.at(method, phase).nth(1).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached(), "{method:?}");
    fixture.crash_during(start);
    fixture.world.clear_faults();
    fixture
}

const METHODS: [Method; 6] = [
    Method::Configure,
    Method::BeginRestore,
    Method::RestoreBackup,
    Method::CompleteRestore,
    Method::RunHook,
    Method::UpdateMarker,
];

#[test]
fn alarms_end_container_of_crashed_start() {
    for method in METHODS {
        for phase in CallPhase::BOTH {
            let fixture = crash_during_start(method, phase);
            fixture.advance_with_alarms(3 * HOUR);
            assert!(fixture.world.running_sandboxes().is_empty(), "{method:?} {phase:?}");
            assert_eq!(fixture.state(WORKSPACE), "stopped");
            fixture.assert_nothing_pending();
        }
    }
}

#[test]
fn start_succeeds_immediately_after_crashed_start() {
    for method in METHODS {
        for phase in CallPhase::BOTH {
            let fixture = crash_during_start(method, phase);
            fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
            assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first", "{method:?} {phase:?}");
            fixture.advance_with_alarms(5 * MINUTE);
            assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first", "{method:?} {phase:?}");
        }
    }
}

#[test]
fn container_of_restore_that_outlives_its_worker_is_ended() {
    for millis in [0, 30_000, 3 * MINUTE] {
        let fixture = crash_during_start(Method::RestoreBackup, CallPhase::Before);
        fixture.advance_with_alarms(millis);
        let id = fixture.sandbox_of(WORKSPACE);
        fixture.world.end_container(&id);
        fixture.advance_with_alarms(1000);
        fixture.world.replace_container(&id);
        fixture.advance_with_alarms(3 * HOUR);
        assert!(fixture.world.running_sandboxes().is_empty(), "{millis}");
    }
}

#[test]
fn files_written_after_crashed_start_are_preserved() {
    let fixture = crash_during_start(Method::BeginRestore, CallPhase::Before);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, FILE, "second");
    fixture.advance_with_alarms(3 * HOUR);
    let is_in_container = fixture.world.files(&id).is_some_and(|files| files[FILE] == "second");
    let is_in_snapshot = fixture.snapshots_of(&id).len() == 2;
    assert!(is_in_container || is_in_snapshot);
}

#[test]
fn written_files_are_preserved_when_marker_of_crashed_start_arrives_late() {
    for on_diverged in ["rescue", "adopt"] {
        let fixture = crash_during_start(Method::BeginRestore, CallPhase::Before);
        let id = fixture.sandbox_of(WORKSPACE);
        fixture.world.write_file(&id, FILE, "second");
        fixture.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
        fixture.world.apply_marker_late(&id, 1);
        let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": on_diverged })).unwrap();
        let is_adopted = fixture.read_workspace_file(WORKSPACE).unwrap() == "second";
        assert!(is_adopted || started["rescueSnapshotId"].is_string(), "{on_diverged}: {started}");
    }
}

#[test]
fn written_files_are_preserved_when_late_marker_arrives_after_probe() {
    for on_diverged in ["rescue", "adopt"] {
        let fixture = crash_during_start(Method::BeginRestore, CallPhase::Before);
        let id = fixture.sandbox_of(WORKSPACE);
        fixture.world.write_file(&id, FILE, "second");
        let target = id.clone();
        fixture.world.before(Method::UpdateMarker).nth(1).run(move |world| world.apply_marker_late(&target, 1));
        let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": on_diverged })).unwrap();
        let is_adopted = fixture.read_workspace_file(WORKSPACE).unwrap() == "second";
        assert!(is_adopted || started["rescueSnapshotId"].is_string(), "{on_diverged}: {started}");
    }
}

#[test]
fn checks_before_their_due_time_do_not_count_despite_worker_crashes() {
    let fixture = crash_during_start(Method::RestoreBackup, CallPhase::Before);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.end_container(&id);
    for _ in 0..5 {
        fixture.crash_worker();
        fixture.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
    }
    fixture.advance_with_alarms(2 * MINUTE);
    fixture.world.replace_container(&id);
    fixture.advance_with_alarms(3 * HOUR);
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn reconcile_task_stays_until_container_of_deleted_workspace_ends() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::Destroy).fail_transiently();
    drop(fixture.delete_workspace(WORKSPACE));
    fixture.world.clear_faults();
    fixture.crash_worker();
    let gate = fixture.world.before(Method::Destroy).block();
    let list = fixture.begin(Operation::List, &json!({ "sandboxId": id }));
    assert!(gate.is_reached());
    fixture.crash_during(list);
    let binding = fixture.ledger(&id).sandbox().unwrap().unwrap().binding.unwrap();
    assert!(binding.start.reconcile_task.is_some());
}

#[test]
fn alarms_leave_active_sandbox_running() {
    let fixture = Fixture::with_workspace();
    fixture.crash_worker();
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!((fixture.state(WORKSPACE), fixture.read_workspace_file(WORKSPACE)), ("active", Some("first".into())));
    assert_eq!(fixture.world.call_count(Method::Destroy), 0);
}

#[test]
fn sandbox_is_checked_when_due_and_not_at_every_alarm() {
    let fixture = crash_during_start(Method::Configure, CallPhase::Before);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
    fixture.world.reset_calls();
    let mut check_counts = Vec::new();
    for _ in 0..20 {
        fixture.ledger(&id).set_alarm(Some(fixture.world.current_time())).unwrap();
        fixture.advance_with_alarms(5 * MINUTE);
        check_counts.push(fixture.world.calls_about(&id).iter().filter(|method| **method == Method::Status).count());
    }
    // The named workspace checks once, with two calls. The next checks follow after 1, 10 and 60 more minutes.
    let expected = [(3, 2), (4, 12), (5, 6)].into_iter().flat_map(|(count, times)| vec![count; times]);
    assert!(expected.eq(check_counts.iter().copied()), "{check_counts:?}");
}

#[test]
fn former_sandbox_started_by_late_call_is_captured_and_ended() {
    let fixture = Fixture::with_stopped_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).nth(1).hang();
    fixture.world.before(Method::Destroy).nth(1).hang();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.advance_with_alarms(2 * MINUTE);
    assert!(!fixture.world.running_sandboxes().contains(&former));
    // A late call starts a container whose files no start has probed.
    fixture.world.replace_container(&former);
    fixture.world.write_file(&former, FILE, "of another image");
    fixture.advance_with_alarms(3 * HOUR);
    assert!(!fixture.world.running_sandboxes().contains(&former));
    assert!(fixture.has_container(WORKSPACE));
    assert_eq!(fixture.snapshots_of(&former).len(), 2, "its files are in a snapshot");
}

#[test]
fn former_sandbox_is_checked_until_no_late_call_can_arrive() {
    let fixture = Fixture::with_stopped_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    let [snapshot] = fixture.snapshots_of(&former).try_into().unwrap();
    fixture.revert_workspace(WORKSPACE, &json!(snapshot)).unwrap();
    fixture.advance_with_alarms(20 * MINUTE);
    // A call that timed out starts a container.
    fixture.world.replace_container(&former);
    fixture.advance_with_alarms(HOUR);
    assert!(!fixture.world.running_sandboxes().contains(&former));
    fixture.assert_nothing_pending();
}

#[test]
fn application_files_are_preserved_when_late_marker_arrives_on_container() {
    for on_diverged in ["rescue", "adopt"] {
        let fixture = Fixture::with_late_marker();
        let id = fixture.sandbox_of(WORKSPACE);
        fixture.world.apply_marker_late(&id, 1);
        fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::WorkspaceDiverged);
        let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": on_diverged })).unwrap();
        let is_adopted = fixture.read_workspace_file(WORKSPACE).as_deref() == Some("second");
        assert_eq!(
            (is_adopted, started["rescueSnapshotId"].is_string()),
            (on_diverged == "adopt", on_diverged == "rescue")
        );
    }
}

#[test]
fn adopt_captures_files_only_after_marker_excludes_late_restores() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::SandboxUnavailable);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(5 * MINUTE);
    fixture.world.replace_container(&id);
    fixture.world.write_file(&id, FILE, "second");
    fixture.world.apply_marker_late(&id, 1);
    let captured = Rc::new(RefCell::new(Vec::new()));
    let markers = captured.clone();
    fixture.world.before(Method::CreateBackup).run(move |world| markers.borrow_mut().push(world.marker_on(&id)));
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap()["how"], "adopted");
    let captured = captured.take();
    assert!(matches!(captured.as_slice(), [Some(ContainerMarker::Adopted(_))]), "{captured:?}");
}

/// Stops the workspace. Verifies that a container that a late call starts after that is ended.
#[track_caller]
fn assert_late_container_ends_after_stop(fixture: &Fixture) {
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.advance_with_alarms(20 * MINUTE);
    fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
    fixture.advance_with_alarms(2 * HOUR);
    assert!(fixture.world.running_sandboxes().is_empty());
    fixture.assert_nothing_pending();
}

#[test]
fn container_started_by_unanswered_probe_after_stop_is_ended() {
    let fixture = Fixture::with_workspace();
    fixture.world.before(Method::Probe).nth(1).hang();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::SandboxTimeout);
    assert_late_container_ends_after_stop(&fixture);
}

#[test]
fn container_started_by_crashed_start_after_stop_is_ended() {
    let fixture = Fixture::with_stopped_workspace();
    let gate = fixture.world.after(Method::CompleteRestore).nth(1).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    fixture.crash_during(start);
    fixture.world.clear_faults();
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "running");
    assert_late_container_ends_after_stop(&fixture);
}

#[test]
fn container_started_by_late_call_after_one_with_files_ended_is_ended() {
    let fixture = Fixture::with_workspace();
    fixture.world.before(Method::Probe).nth(1).hang();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::SandboxTimeout);
    fixture.stop_workspace(WORKSPACE).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, FILE, "second");
    fixture.advance_with_alarms(5 * MINUTE);
    assert!(fixture.world.running_sandboxes().contains(&id), "its files are in no snapshot");
    fixture.world.replace_container(&id);
    fixture.advance_with_alarms(2 * HOUR);
    assert!(fixture.world.running_sandboxes().is_empty());
    fixture.assert_nothing_pending();
}

#[test]
fn container_started_by_repeated_marker_update_after_stop_is_ended() {
    let fixture = Fixture::with_diverged_workspace();
    fixture.world.before(Method::UpdateMarker).nth(1).fail_transiently();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    assert_late_container_ends_after_stop(&fixture);
}
