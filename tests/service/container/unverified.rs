//! An unverified container counts only if it is older than the call that may have started another container.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{ExpectError, Fixture, Gate, MINUTE, Method, PendingOperation, sandbox};

fn wake_request() -> SnapshotRequest {
    SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) }
}

fn is_unverified(fixture: &Fixture) -> bool {
    fixture.ledger("agent-42").sandbox().unwrap().is_some_and(|sandbox| sandbox.unverified.is_some())
}

/// Returns a fixture whose capture began 1 s ago and is blocked in `createBackup`; its caller is gone.
fn with_abandoned_capture() -> (Fixture, Rc<Gate>) {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let caller = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    fixture.world.run_background();
    assert!(gate.is_reached());
    drop(caller);
    fixture.world.advance_clock(1000);
    (fixture, gate)
}

/// Returns a fixture in which a probe with `wake` failed 1 s ago. Whether the probe started a container is unknown.
fn with_failed_probe() -> Fixture {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::Probe).fail_transiently();
    fixture.snapshot_with(wake_request()).expect_code(Code::SandboxUnavailable);
    fixture.world.clear_faults();
    fixture.world.advance_clock(1000);
    fixture.world.reset_calls();
    assert!(is_unverified(&fixture));
    fixture
}

#[test]
fn container_verified_by_capture_is_not_probed_again() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_with(wake_request()).unwrap();
    fixture.world.reset_calls();
    fixture.advance_with_alarms(5 * MINUTE);
    assert_eq!(fixture.world.calls_about("agent-42"), []);
}

#[test]
fn successful_capture_does_not_verify_container_left_by_interrupted_one() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).nth(1).fail_transiently();
    fixture.snapshot().expect_code(Code::BackupInterrupted);
    fixture.world.clear_faults();
    fixture.snapshot_with(wake_request()).unwrap();
    // The effect of the first `createBackup` comes only now: it finds no container and starts one.
    fixture.world.replace_container("agent-42");
    fixture.world.advance_clock(1000);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn capture_does_not_verify_what_another_leaves_after_its_probe() {
    let fixture = Fixture::with_sandbox();
    let probe_gate = fixture.world.before(Method::Probe).nth(1).block();
    let caller = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    fixture.world.run_background();
    drop(caller);
    let metadata_gate = fixture.world.before(Method::GetMetadata).nth(2).block();
    let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    fixture.world.run_background();
    assert!(probe_gate.is_reached() && metadata_gate.is_reached());
    assert_eq!(fixture.world.call_count(Method::Probe), 2, "the second capture has probed");
    fixture.world.replace_container("agent-42");
    fixture.world.before(Method::AddReplacedNote).fail_transiently();
    probe_gate.open();
    fixture.world.run_background();
    metadata_gate.open();
    capture.answer().unwrap();
    fixture.world.clear_faults();
    fixture.world.advance_clock(1000);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn container_that_a_running_capture_may_have_started_is_refused() {
    let (fixture, _gate) = with_abandoned_capture();
    fixture.world.replace_container("agent-42");
    fixture.world.advance_clock(1000);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn container_captured_with_wake_counts_after_abandoned_capture_fails() {
    let (fixture, gate) = with_abandoned_capture();
    fixture.world.replace_container("agent-42");
    fixture.world.advance_clock(MINUTE);
    fixture.snapshot_with(wake_request()).unwrap();
    fixture.world.after(Method::CreateBackup).nth(1).fail_transiently();
    fixture.world.reset_calls();
    fixture.world.before(Method::Status).nth(1).fail_transiently();
    gate.open();
    fixture.world.finish_background();
    fixture.world.clear_faults();
    fixture.snapshot().unwrap();
}

#[test]
fn alarm_does_not_verify_container_while_a_probe_runs() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::Probe).nth(1).block();
    let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "wake": true }));
    fixture.world.run_background();
    assert!(gate.is_reached() && is_unverified(&fixture));
    fixture.fire_alarm("agent-42").unwrap();
    assert_eq!(fixture.world.call_count(Method::Probe), 1);
    assert!(is_unverified(&fixture));
    gate.open();
    capture.answer().unwrap();
    assert!(!is_unverified(&fixture));
}

#[test]
fn probe_does_not_verify_container_that_an_unanswered_one_may_start() {
    let fixture = with_failed_probe();
    fixture.world.after(Method::Probe).nth(1).fail_transiently();
    fixture.fire_alarm("agent-42").unwrap();
    // The first probe of the alarm arrives only now: it finds no container and starts one.
    fixture.world.replace_container("agent-42");
    fixture.world.advance_clock(1000);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn container_stays_unverified_before_its_cause_is_over() {
    let fixture = with_failed_probe();
    fixture.crash_worker();
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    assert_eq!(fixture.world.calls(), []);
    assert!(is_unverified(&fixture));
}

#[test]
fn alarm_verifies_unverified_container() {
    let fixture = with_failed_probe();
    fixture.fire_alarm("agent-42").unwrap();
    assert!(!is_unverified(&fixture));
}

#[test]
fn capture_that_writes_marker_verifies_the_container() {
    let fixture = with_failed_probe();
    assert!(is_unverified(&fixture));
    fixture.snapshot_with(wake_request()).unwrap();
    assert!(!is_unverified(&fixture));
}

#[test]
fn successful_probe_verifies_container_once_it_is_due() {
    let fixture = with_failed_probe();
    fixture.world.advance_clock(2 * MINUTE);
    fixture.snapshot().unwrap();
    assert!(!is_unverified(&fixture));
}

#[test]
fn container_unverified_again_during_verification_stays_unverified() {
    let fixture = with_failed_probe();
    fixture.world.advance_clock(2 * MINUTE);
    let gate = fixture.world.after(Method::Probe).nth(1).block();
    let snapshotter = fixture.snapshotter("agent-42");
    let alarm = PendingOperation::start(async move { snapshotter.alarm().await });
    assert!(gate.is_reached());
    for nth in 2..=4 {
        fixture.world.before(Method::Probe).nth(nth).fail_transiently();
    }
    fixture.snapshot_with(wake_request()).expect_code(Code::SandboxUnavailable);
    gate.open();
    alarm.answer().unwrap();
    assert!(is_unverified(&fixture));
}
