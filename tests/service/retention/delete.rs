//! `delete` hides a snapshot from callers at once and then deletes its objects in R2. It refuses a snapshot that has
//! dependents, and never deletes a backup that this product did not make.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, Failure, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{DAY, ExpectError, Fixture, HOUR, Method, by_id, by_label, by_ref, foreign_mark};

fn delete(fixture: &Fixture, snapshot: &SnapshotRef) -> Result<Value, Error> {
    fixture.run(Operation::Delete, &by_ref(snapshot))
}

fn with_force(mut selection: Value) -> Value {
    selection["force"] = json!(true);
    selection
}

fn delete_selection(fixture: &Fixture, selection: &Value) -> bool {
    fixture.run(Operation::Delete, selection).unwrap()["removed"].as_bool().unwrap()
}

#[test]
fn delete_removes_both_objects_and_leaves_the_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let files = fixture.world.files("agent-42");
    let deletion = delete(&fixture, &snapshot).unwrap();
    assert_eq!(deletion, json!({ "snapshotId": snapshot.snapshot_id(), "removed": true }));
    fixture.assert_nothing_stored();
    assert_eq!(fixture.world.files("agent-42"), files);
    assert_eq!(fixture.world.calls_about("agent-42"), []);
}

#[test]
fn delete_removes_only_the_selected_snapshot() {
    let fixture = Fixture::with_sandbox();
    let [one, other] = ["one", "other"].map(|label| fixture.snapshot_labelled("agent-42", label));
    fixture.run(Operation::Delete, &by_label("one")).unwrap();
    assert_eq!(fixture.world.backup_ids(), [other.backup().id().to_string()]);
    fixture.restore(&one).expect_code(Code::SnapshotNotFound);
    fixture.restore(&other).unwrap();
}

#[test]
fn delete_is_idempotent() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    assert!(delete_selection(&fixture, &by_id(&snapshot)));
    for selection in [by_ref(&snapshot), by_id(&snapshot)] {
        assert!(!delete_selection(&fixture, &selection));
    }
    assert_eq!(fixture.world.call_count(Method::Delete), 1);
}

#[test]
fn delete_by_ref_is_idempotent_after_the_row_is_gone() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    assert!(delete_selection(&fixture, &by_ref(&snapshot)));
    fixture.advance_with_alarms(32 * DAY);
    assert!(!delete_selection(&fixture, &by_ref(&snapshot)));
    fixture.run(Operation::Delete, &by_id(&snapshot)).expect_code(Code::SnapshotNotFound);
}

#[test]
fn delete_of_unknown_snapshot_fails_with_not_found() {
    let fixture = Fixture::with_sandbox();
    let unknown = json!({ "sandboxId": "agent-42", "snapshotId": "snap-0123456789abcdef" });
    for selection in [unknown, by_label("never")] {
        fixture.run(Operation::Delete, &selection).expect_code(Code::SnapshotNotFound);
    }
}

#[test]
fn delete_of_snapshot_with_dependents_is_refused_and_names_them() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let dependents = [fixture.restore(&snapshot).unwrap(), fixture.branch(&snapshot).unwrap()];
    let error = delete(&fixture, &snapshot).expect_code(Code::SnapshotHasDependents);
    for dependent in dependents {
        assert!(error.message().contains(dependent.sandbox_id().as_str()), "{error}");
    }
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.restore(&snapshot).unwrap();
}

#[test]
fn delete_of_pinned_snapshot_is_refused_until_unpin() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Pin, &by_ref(&snapshot)).unwrap();
    let error = delete(&fixture, &snapshot).expect_code(Code::SnapshotHasDependents);
    assert!(error.message().contains("is pinned"), "{error}");
    assert!(error.remediation().starts_with("Unpin it with `unpin`, or pass"), "{}", error.remediation());
    fixture.run(Operation::Unpin, &by_ref(&snapshot)).unwrap();
    delete(&fixture, &snapshot).unwrap();
}

#[test]
fn delete_of_snapshot_with_dependents_does_not_advise_to_unpin_it() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.restore(&snapshot).unwrap();
    let error = delete(&fixture, &snapshot).expect_code(Code::SnapshotHasDependents);
    assert!(error.remediation().starts_with("Take a snapshot of each of these sandboxes"), "{}", error.remediation());
}

#[test]
fn delete_of_pinned_snapshot_with_dependents_reports_both_reasons() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Pin, &by_ref(&snapshot)).unwrap();
    let dependent = fixture.restore(&snapshot).unwrap();
    let error = delete(&fixture, &snapshot).expect_code(Code::SnapshotHasDependents);
    assert!(error.message().contains("is pinned and needed by"), "{error}");
    assert!(error.message().contains(dependent.sandbox_id().as_str()), "{error}");
}

#[test]
fn force_deletes_pinned_snapshot_with_dependents_and_keeps_the_dependent() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Pin, &by_ref(&snapshot)).unwrap();
    let dependent = fixture.restore(&snapshot).unwrap();
    assert!(delete_selection(&fixture, &with_force(by_ref(&snapshot))));
    fixture.assert_nothing_stored();
    fixture.snapshot_labelled(dependent.sandbox_id().as_str(), "its own");
    fixture.world.finish_background();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn delete_succeeds_after_dependent_has_its_own_snapshot() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let dependent = fixture.restore(&snapshot).unwrap();
    fixture.snapshot_labelled(dependent.sandbox_id().as_str(), "its own");
    fixture.world.finish_background();
    assert!(delete_selection(&fixture, &by_ref(&snapshot)));
}

#[test]
fn delete_of_snapshot_being_restored_is_refused_even_with_force() {
    for method in [Method::SetName, Method::UpdateMarker, Method::RestoreBackup, Method::CompleteRestore] {
        let (fixture, snapshot) = Fixture::with_snapshot();
        let gate = fixture.world.before(method).block();
        let restoring = fixture.begin(Operation::Restore, &by_ref(&snapshot));
        assert!(gate.is_reached());
        for selection in [by_ref(&snapshot), with_force(by_ref(&snapshot))] {
            let error = fixture.run(Operation::Delete, &selection).expect_code(Code::SnapshotBusy);
            assert!(error.is_retryable());
        }
        gate.open();
        restoring.answer().unwrap();
        assert!(delete_selection(&fixture, &with_force(by_ref(&snapshot))), "{method:?}");
    }
}

#[test]
fn delete_during_claim_of_id_succeeds_and_the_restore_makes_no_sandbox() {
    for moment in [Method::Claim, Method::HeadArchive] {
        let (fixture, snapshot) = Fixture::with_snapshot();
        let gate = fixture.world.after(moment).nth(1).block();
        let restoring = fixture.begin(Operation::Restore, &by_ref(&snapshot));
        assert!(gate.is_reached() && delete_selection(&fixture, &by_ref(&snapshot)));
        gate.open();
        restoring.answer().expect_code(Code::SnapshotNotFound);
        assert_eq!(fixture.world.call_count(Method::SetName), 0, "{moment:?}");
        fixture.advance_with_alarms(HOUR);
        fixture.assert_nothing_pending();
    }
}

#[test]
fn delete_of_snapshot_being_created_is_refused_even_with_force() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("soon"));
    fixture.run(Operation::Delete, &with_force(by_label("soon"))).expect_code(Code::SnapshotBusy);
    gate.open();
    capture.answer().unwrap();
    assert!(delete_selection(&fixture, &by_label("soon")));
}

#[test]
fn failed_restore_does_not_block_delete() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::SandboxUnavailable);
    assert!(delete_selection(&fixture, &by_ref(&snapshot)));
}

#[test]
fn delete_hides_snapshot_when_r2_fails_and_alarm_completes_it() {
    for method in [Method::GetMetadata, Method::Delete] {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.world.before(method).first(3).fail_transiently();
        let error = delete(&fixture, &snapshot).expect_code(Code::StorageUnavailable);
        assert!(error.message().contains("The snapshot itself is deleted."), "{error}");
        fixture.restore(&snapshot).expect_code(Code::SnapshotNotFound);
        assert_eq!(fixture.world.backup_ids().len(), 1, "{method:?}");
        fixture.advance_with_alarms(HOUR);
        fixture.assert_nothing_stored();
        fixture.assert_nothing_pending();
    }
}

#[test]
fn next_delete_call_completes_delete_that_failed_in_r2() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::Delete).first(3).fail_transiently();
    delete(&fixture, &snapshot).expect_code(Code::StorageUnavailable);
    assert!(!delete_selection(&fixture, &by_ref(&snapshot)));
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn delete_completes_after_hours_of_r2_failures() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::Delete).fail_transiently();
    delete(&fixture, &snapshot).expect_code(Code::StorageUnavailable);
    fixture.advance_with_alarms(6 * HOUR);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn failing_delete_makes_limited_number_of_r2_calls_per_day() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::Delete).fail_transiently();
    delete(&fixture, &snapshot).expect_code(Code::StorageUnavailable);
    fixture.world.reset_calls();
    fixture.advance_with_alarms(DAY);
    assert!(fixture.world.call_count(Method::Delete) < 200, "{}", fixture.world.call_count(Method::Delete));
}

#[test]
fn concurrent_deletes_of_one_snapshot_both_succeed() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let gate = fixture.world.before(Method::Delete).nth(1).block();
    let first = fixture.begin(Operation::Delete, &by_ref(&snapshot));
    assert!(gate.is_reached());
    assert!(!delete_selection(&fixture, &by_ref(&snapshot)));
    gate.open();
    assert_eq!(first.answer().unwrap()["removed"], true);
    assert_eq!(fixture.world.call_count(Method::Delete), 1);
    fixture.assert_nothing_pending();
}

#[test]
fn delete_succeeds_when_backup_is_missing_in_r2() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.clear_bucket();
    assert!(delete_selection(&fixture, &by_ref(&snapshot)));
    fixture.assert_nothing_pending();
}

#[test]
fn delete_removes_archive_without_metadata() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.edit_backups(|backup| backup.metadata = None);
    assert!(delete_selection(&fixture, &by_ref(&snapshot)));
    fixture.assert_nothing_stored();
}

#[test]
fn delete_keeps_foreign_backup_that_replaced_the_stored_one() {
    for name in [None, Some("nightly".to_owned())] {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.world.edit_metadata(|metadata| metadata.name.clone_from(&name));
        assert!(delete_selection(&fixture, &by_ref(&snapshot)));
        assert_eq!(fixture.world.backup_ids().len(), 1);
        fixture.assert_nothing_pending();
    }
}

#[test]
fn delete_keeps_backup_whose_mark_is_unreadable() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::GetMetadata).fail_with(Failure::protocol("R2", "meta.json: no JSON"));
    assert!(delete_selection(&fixture, &by_ref(&snapshot)));
    assert_eq!(fixture.world.backup_ids().len(), 1);
    assert_eq!(fixture.ledger("agent-42").unfinished_snapshots().unwrap(), []);
}

#[test]
fn delete_keeps_imported_foreign_backup_in_r2() {
    for name in ["nightly".to_owned(), foreign_mark(1, "agent-42")] {
        let (fixture, id) = with_import(&name);
        assert!(delete_selection(&fixture, &by_label("imported")));
        fixture.advance_with_alarms(HOUR);
        assert_eq!(fixture.world.backup_ids(), [id]);
        assert_eq!(fixture.world.call_count(Method::Delete), 0);
    }
}

#[test]
fn delete_keeps_imported_backup_without_metadata() {
    let (fixture, id) = with_import("nightly");
    fixture.world.edit_backups(|backup| backup.metadata = None);
    assert!(delete_selection(&fixture, &by_label("imported")));
    assert_eq!(fixture.world.backup_ids(), [id]);
}

#[test]
fn delete_keeps_imported_backup_that_later_carries_the_snapshots_mark() {
    let (fixture, id) = with_import("nightly");
    let got = fixture.run(Operation::Get, &by_label("imported")).unwrap();
    let mark = format!("snapshotter/1 {} agent-42", got["snapshotId"].as_str().unwrap());
    fixture.world.edit_metadata(|metadata| metadata.name = Some(mark.clone()));
    assert!(delete_selection(&fixture, &by_label("imported")));
    assert_eq!(fixture.world.backup_ids(), [id]);
}

/// Imports a backup with the given name under the label `imported`, and returns the id of the backup.
fn with_import(name: &str) -> (Fixture, String) {
    let fixture = Fixture::with_sandbox();
    let handle = fixture.world.create_app_backup("agent-42", Some(name));
    let arguments = json!({ "sandboxId": "agent-42", "backup": handle, "label": "imported" });
    fixture.run(Operation::Import, &arguments).unwrap();
    (fixture, handle.id().to_string())
}
