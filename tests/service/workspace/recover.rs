//! Recovery of operations on named workspaces after a Worker crash.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::named::messages::EnsureRunningRequest;
use sandbox_snapshotter::model::named::settings::StartSettings;
use serde_json::json;

use crate::support::{CallPhase, ExpectError, Fixture, MINUTE, Method, PendingOperation, WORKSPACE, no_expiry};

/// Crashes the Worker at the first call of `method` during an operation on `work`.
fn crash_during(fixture: Fixture, operation: Operation, method: Method, phase: CallPhase) -> Fixture {
    let gate = fixture.world.at(method, phase).nth(1).block();
    let work = fixture.begin_in_workspace(operation, WORKSPACE, &no_expiry_args(operation));
    assert!(gate.is_reached(), "{method:?}");
    fixture.crash_during(work);
    fixture.world.clear_faults();
    fixture
}

fn no_expiry_args(operation: Operation) -> serde_json::Value {
    if operation == Operation::CreateWorkspace { no_expiry() } else { json!({}) }
}

#[test]
fn late_ensure_running_call_is_refused_after_a_later_stop() {
    let fixture = Fixture::with_stopped_workspace();
    let record = fixture.record(WORKSPACE);
    let (address, settings, version) = (record.address, record.settings, record.version - 2);
    let request = EnsureRunningRequest {
        address: Some(address),
        settings,
        start: StartSettings::default(),
        version,
        may_have_lost: false,
        lost_since: None,
        never_persistent: false,
    };
    let sandbox = fixture.snapshotter(record.sandbox_id.as_str());
    let outcome =
        PendingOperation::start_with_background(&fixture.world, async move { sandbox.ensure_running(request).await })
            .answer();
    outcome.expect_code(Code::OperationInterrupted);
    assert!(!fixture.has_container(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
}

#[test]
fn workspace_of_crashed_create_is_failed_and_can_be_started() {
    for method in [Method::Claim, Method::EnsureRunning, Method::UpdateMarker] {
        for phase in CallPhase::BOTH {
            let fixture = crash_during(Fixture::empty(), Operation::CreateWorkspace, method, phase);
            fixture.advance_with_alarms(2 * MINUTE);
            assert_eq!(fixture.state(WORKSPACE), "failed", "{method:?} {phase:?}");
            assert!(fixture.record(WORKSPACE).tasks.is_empty(), "{method:?} {phase:?}");
            fixture.create_workspace(WORKSPACE, &no_expiry()).expect_code(Code::NameTaken);
            fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
            assert!(fixture.has_container(WORKSPACE));
        }
    }
}

#[test]
fn workspace_of_crashed_create_can_be_deleted() {
    for method in [Method::Claim, Method::EnsureRunning, Method::UpdateMarker] {
        for phase in CallPhase::BOTH {
            let fixture = crash_during(Fixture::empty(), Operation::CreateWorkspace, method, phase);
            fixture.delete_workspace(WORKSPACE).unwrap();
            fixture.advance_with_alarms(10 * MINUTE);
            fixture.assert_nothing_pending();
            assert!(fixture.world.running_sandboxes().is_empty(), "{method:?} {phase:?}");
        }
    }
}

#[test]
fn crashed_start_leaves_workspace_stopped() {
    let fixture = crash_during(
        Fixture::with_stopped_workspace(),
        Operation::StartWorkspace,
        Method::RestoreBackup,
        CallPhase::After,
    );
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    assert!(
        fixture.get_workspace(WORKSPACE).unwrap()["history"][0]["cause"].as_str().unwrap().contains("was interrupted")
    );
}

#[test]
fn crashed_stop_leaves_workspace_active() {
    let fixture =
        crash_during(Fixture::with_workspace(), Operation::StopWorkspace, Method::CreateBackup, CallPhase::Before);
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!((fixture.state(WORKSPACE), fixture.read_workspace_file(WORKSPACE)), ("active", Some("first".into())));
}

#[test]
fn start_after_unrecorded_stop_restores_files() {
    let fixture = crash_during(Fixture::with_workspace(), Operation::StopWorkspace, Method::Destroy, CallPhase::After);
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&started["how"], fixture.read_workspace_file(WORKSPACE)), (&json!("restored"), Some("first".into())));
}

#[test]
fn sandbox_started_by_crashed_worker_is_captured_and_ended() {
    let fixture = crash_during(
        Fixture::with_stopped_workspace(),
        Operation::StartWorkspace,
        Method::EnsureRunning,
        CallPhase::After,
    );
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.advance_with_alarms(5 * MINUTE);
    assert!(!fixture.has_container(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn worker_crash_without_running_operation_changes_nothing() {
    let fixture = Fixture::with_workspace();
    let before = fixture.record(WORKSPACE);
    fixture.crash_worker();
    fixture.advance_with_alarms(10 * MINUTE);
    assert_eq!(fixture.record(WORKSPACE).history, before.history);
    assert!(fixture.has_container(WORKSPACE));
}

/// The workspace `work`, whose `create` crashed before it claimed a sandbox.
fn crash_before_sandbox() -> Fixture {
    let fixture = Fixture::empty();
    let gate = fixture.world.before(Method::Claim).nth(1).block();
    let create = fixture.begin_in_workspace(Operation::CreateWorkspace, WORKSPACE, &no_expiry());
    assert!(gate.is_reached());
    fixture.crash_during(create);
    fixture.world.clear_faults();
    fixture.world.reset_calls();
    fixture
}

#[test]
fn workspace_without_sandbox_can_be_updated_and_started() {
    let fixture = crash_before_sandbox();
    fixture.update_workspace(WORKSPACE, &json!({ "retention": { "keepLast": { "count": 1 } } })).unwrap();
    assert_eq!(fixture.world.call_count(Method::SetPolicy), 0);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let policy = fixture.run(Operation::Retention, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    assert_eq!(policy["policy"]["keepLast"]["count"], 1);
}

#[test]
fn stop_of_workspace_without_sandbox_calls_no_sandbox() {
    let fixture = crash_before_sandbox();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.world.call_count(Method::StopSandbox), 0);
}
