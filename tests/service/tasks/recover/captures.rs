//! Recovery of snapshots whose Worker crashed during the capture.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::{capture_args, crash_at, crash_during_capture, unfinished_mark};
use crate::support::{
    CallPhase, CancellationSource, DAY, ExpectError, Fixture, HOUR, MINUTE, Method, by_label, by_ref,
};

// Crashes after the sandbox answered `createBackup`.

#[test]
fn answered_capture_is_recovered_by_the_next_call() {
    let fixture = crash_during_capture(Method::GetMetadata, CallPhase::Before);
    let listed = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!((&listed["snapshots"][0]["label"], &listed["snapshots"][0]["state"]), (&json!("lost"), &json!("ready")));
    fixture.run(Operation::Restore, &by_label("lost")).unwrap();
    fixture.world.finish_background();
    fixture.assert_nothing_pending();
}

#[test]
fn answered_capture_is_recovered_by_the_alarm() {
    let fixture = crash_during_capture(Method::HeadArchive, CallPhase::After);
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
    fixture.run(Operation::Restore, &by_label("lost")).unwrap();
}

#[test]
fn recovered_capture_replaces_the_label() {
    let fixture = Fixture::with_sandbox();
    let first = fixture.snapshot_labelled("agent-42", "latest");
    let arguments = json!({ "sandboxId": "agent-42", "label": "latest", "replace": true });
    fixture.world.reset_calls();
    crash_at(&fixture, Operation::Snapshot, &arguments, Method::GetMetadata, CallPhase::Before);
    let found = fixture.run(Operation::Get, &by_label("latest")).unwrap();
    assert_ne!(found["snapshotId"], json!(first.snapshot_id()));
    fixture.run(Operation::Restore, &by_ref(&first)).unwrap();
}

#[test]
fn recovered_capture_releases_the_source_snapshot() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
    fixture.world.advance_clock(MINUTE);
    fixture.world.reset_calls();
    let arguments = json!({ "sandboxId": restored });
    crash_at(&fixture, Operation::Snapshot, &arguments, Method::GetMetadata, CallPhase::Before);
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
}

#[test]
fn capture_is_removed_when_container_was_replaced_since() {
    let fixture = crash_during_capture(Method::GetMetadata, CallPhase::Before);
    fixture.world.replace_container("agent-42");
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn capture_is_removed_when_container_ended_since() {
    let fixture = crash_during_capture(Method::GetMetadata, CallPhase::Before);
    fixture.world.end_container("agent-42");
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
    assert!(fixture.world.running_sandboxes().is_empty(), "no container is started");
}

#[test]
fn truncated_capture_is_removed() {
    let fixture = crash_during_capture(Method::GetMetadata, CallPhase::Before);
    fixture.world.edit_archives(|archive| archive.truncate(archive.len() - 1));
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn container_started_by_late_call_is_not_captured_when_note_fails() {
    let fixture = crash_during_capture(Method::GetMetadata, CallPhase::Before);
    fixture.world.before(Method::GetMetadata).first(999).fail_transiently();
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.world.clear_faults();
    assert_eq!(fixture.ledger("agent-42").sandbox().unwrap().unwrap().unverified, None, "the container is verified");
    fixture.world.end_container_unnoticed("agent-42");
    fixture.world.before(Method::AddReplacedNote).nth(1).fail_transiently();
    let listed = json!({ "sandboxId": "agent-42" });
    fixture.crash_worker();
    fixture.run(Operation::List, &listed).unwrap();
    fixture.world.advance_clock(1000);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn repeated_call_before_recovery_creates_one_snapshot() {
    let fixture = crash_during_capture(Method::GetMetadata, CallPhase::Before);
    fixture.world.before(Method::Status).nth(1).fail_transiently();
    let snapshot = fixture.run(Operation::Snapshot, &capture_args()).unwrap();
    fixture.advance_with_alarms(HOUR);
    let listed = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let ids: Vec<_> = listed["snapshots"].as_array().unwrap().iter().map(|entry| &entry["snapshotId"]).collect();
    assert_eq!(ids, [&snapshot["ref"]["snapshotId"]]);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.assert_nothing_pending();
}

#[test]
fn capture_is_recovered_after_transient_r2_failures() {
    let fixture = crash_during_capture(Method::GetMetadata, CallPhase::Before);
    fixture.world.before(Method::GetMetadata).first(9).fail_transiently();
    fixture.advance_with_alarms(2 * HOUR);
    fixture.run(Operation::Restore, &by_label("lost")).unwrap();
    fixture.assert_nothing_pending();
}

#[test]
fn capture_in_rollback_is_not_recovered() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    crash_at(&fixture, Operation::Snapshot, &capture_args(), Method::Delete, CallPhase::Before);
    fixture.world.set_healthy("agent-42");
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn complete_capture_in_rollback_is_not_recovered() {
    let fixture = Fixture::with_sandbox();
    let metadata_gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let mut work = fixture.begin_cancellable(Operation::Snapshot, &capture_args(), abort);
    assert!(metadata_gate.is_reached());
    signal.cancel();
    assert!(work.is_done());
    let delete_gate = fixture.world.before(Method::Delete).nth(1).block();
    metadata_gate.open();
    fixture.world.run_background();
    assert!(delete_gate.is_reached());
    fixture.crash_during(work);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn row_of_rolled_back_capture_is_deleted_immediately() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    crash_at(&fixture, Operation::Snapshot, &capture_args(), Method::Delete, CallPhase::After);
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(fixture.ledger("agent-42").unfinished_snapshots().unwrap(), []);
}

// Crashes before the sandbox answered `createBackup`.

#[test]
fn row_is_deleted_immediately_when_backup_was_found_and_removed() {
    let fixture = crash_during_capture(Method::CreateBackup, CallPhase::After);
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(fixture.ledger("agent-42").unfinished_snapshots().unwrap(), []);
}

#[test]
fn search_for_lost_backup_is_not_shortened_by_worker_crashes() {
    let fixture = crash_during_capture(Method::CreateBackup, CallPhase::Before);
    let mark = unfinished_mark(&fixture);
    for _ in 0..5 {
        fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
        fixture.crash_worker();
    }
    fixture.advance_with_alarms(50 * MINUTE);
    fixture.world.create_app_backup("agent-42", Some(&mark));
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn container_started_by_lost_capture_is_refused_after_its_row_is_deleted() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    crash_at(&fixture, Operation::Snapshot, &capture_args(), Method::CreateBackup, CallPhase::After);
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(fixture.ledger("agent-42").unfinished_snapshots().unwrap(), []);
    fixture.world.advance_clock(1000);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn unanswered_capture_is_removed_by_its_mark() {
    let fixture = crash_during_capture(Method::CreateBackup, CallPhase::After);
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    fixture.assert_nothing_stored();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn backup_that_arrives_late_is_found_and_removed() {
    for delay_millis in [30_000, 5 * MINUTE, 50 * MINUTE] {
        let fixture = crash_during_capture(Method::CreateBackup, CallPhase::Before);
        fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
        let mark = unfinished_mark(&fixture);
        fixture.advance_with_alarms(delay_millis);
        fixture.world.create_app_backup("agent-42", Some(&mark));
        fixture.advance_with_alarms(3 * HOUR);
        fixture.assert_nothing_stored();
        fixture.assert_nothing_pending();
    }
}

#[test]
fn backup_that_arrives_after_recovery_is_left_to_the_sweep() {
    let fixture = crash_during_capture(Method::CreateBackup, CallPhase::Before);
    let mark = unfinished_mark(&fixture);
    fixture.advance_with_alarms(6 * HOUR);
    fixture.assert_nothing_pending();
    fixture.world.create_app_backup("agent-42", Some(&mark));
    fixture.advance_with_alarms(2 * DAY);
    assert_eq!(fixture.run(Operation::Sweep, &json!({})).unwrap()["deleted"], 1);
}

#[test]
fn recovery_removes_only_its_own_backup_across_list_pages() {
    let fixture = Fixture::with_sandbox();
    let kept = fixture.snapshot_labelled("agent-42", "kept");
    fixture.world.create_app_backup("agent-42", Some("nightly"));
    fixture.world.create_app_backup("agent-42", None);
    fixture.world.set_list_page_size(1);
    fixture.world.reset_calls();
    crash_at(&fixture, Operation::Snapshot, &capture_args(), Method::CreateBackup, CallPhase::After);
    assert_eq!(fixture.world.backup_ids().len(), 4);
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!(fixture.world.backup_ids().len(), 3);
    fixture.restore(&kept).unwrap();
}

#[test]
fn lost_capture_stays_recorded_while_r2_list_fails() {
    let fixture = crash_during_capture(Method::CreateBackup, CallPhase::After);
    fixture.world.before(Method::List).fail_transiently();
    fixture.advance_with_alarms(DAY);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn search_for_lost_backup_is_not_shortened_by_r2_failures() {
    let fixture = crash_during_capture(Method::CreateBackup, CallPhase::Before);
    let mark = unfinished_mark(&fixture);
    fixture.world.before(Method::List).fail_transiently();
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(50 * MINUTE);
    fixture.world.create_app_backup("agent-42", Some(&mark));
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn container_started_late_by_lost_capture_is_refused_after_r2_failures() {
    let fixture = crash_during_capture(Method::CreateBackup, CallPhase::Before);
    fixture.world.before(Method::List).fail_transiently();
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.world.clear_faults();
    fixture.world.end_container("agent-42");
    fixture.advance_with_alarms(50 * MINUTE);
    fixture.world.replace_container("agent-42");
    fixture.advance_with_alarms(3 * HOUR);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn label_of_lost_capture_is_free_for_the_next_one() {
    let fixture = crash_during_capture(Method::CreateBackup, CallPhase::Before);
    fixture.advance_with_alarms(3 * HOUR);
    fixture.snapshot_labelled("agent-42", "lost");
}

#[test]
fn repeated_capture_after_a_crash_succeeds() {
    for phase in CallPhase::BOTH {
        let fixture = crash_during_capture(Method::CreateBackup, phase);
        fixture.run(Operation::Snapshot, &capture_args()).unwrap();
        fixture.advance_with_alarms(3 * HOUR);
        fixture.assert_nothing_pending();
        assert_eq!(fixture.world.backup_ids().len(), 1, "{phase:?}");
    }
}
