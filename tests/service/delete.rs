//! A snapshot goes for callers at once, and then from R2; what others need does not go, and what is not ours never does.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, Failure, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::support::{Checked, DAY, HOUR, Method, Stage, by_id, by_label, by_ref, foreign_mark};

fn delete(stage: &Stage, snapshot: &SnapshotRef) -> Result<Value, Error> {
    stage.run(Operation::Delete, &by_ref(snapshot))
}

fn forced(mut selection: Value) -> Value {
    selection["force"] = json!(true);
    selection
}

fn removed(stage: &Stage, selection: &Value) -> bool {
    stage.run(Operation::Delete, selection).unwrap()["removed"].as_bool().unwrap()
}

#[test]
fn both_objects_go_and_the_sandbox_stays() {
    let (stage, snapshot) = Stage::with_snapshot();
    let files = stage.world.files("agent-42");
    let deletion = delete(&stage, &snapshot).unwrap();
    assert_eq!(deletion, json!({ "snapshotId": snapshot.snapshot_id(), "removed": true }));
    stage.assert_nothing_stored();
    assert_eq!(stage.world.files("agent-42"), files);
    assert_eq!(stage.world.calls_about("agent-42"), []);
}

#[test]
fn only_the_snapshot_that_is_meant_goes() {
    let stage = Stage::with_sandbox();
    let [one, other] = ["one", "other"].map(|label| stage.captures("agent-42", label));
    stage.run(Operation::Delete, &by_label("one")).unwrap();
    assert_eq!(stage.world.stored(), [other.backup().id().to_string()]);
    stage.restore(&one).fails_as(Code::SnapshotNotFound);
    stage.restore(&other).unwrap();
}

#[test]
fn deleting_again_is_fine() {
    let (stage, snapshot) = Stage::with_snapshot();
    assert!(removed(&stage, &by_id(&snapshot)));
    for selection in [by_ref(&snapshot), by_id(&snapshot)] {
        assert!(!removed(&stage, &selection));
    }
    assert_eq!(stage.world.count(Method::Delete), 1);
}

#[test]
fn deleting_again_is_fine_long_after_by_a_ref_which_proves_that_it_was_there() {
    let (stage, snapshot) = Stage::with_snapshot();
    assert!(removed(&stage, &by_ref(&snapshot)));
    stage.passes(32 * DAY);
    assert!(!removed(&stage, &by_ref(&snapshot)));
    stage.run(Operation::Delete, &by_id(&snapshot)).fails_as(Code::SnapshotNotFound);
}

#[test]
fn what_was_never_there_is_not_found() {
    let stage = Stage::with_sandbox();
    let nobody = json!({ "sandboxId": "agent-42", "snapshotId": "snap-0123456789abcdef" });
    for selection in [nobody, by_label("never")] {
        stage.run(Operation::Delete, &selection).fails_as(Code::SnapshotNotFound);
    }
}

#[test]
fn a_snapshot_that_others_need_is_refused_and_they_are_named() {
    let (stage, snapshot) = Stage::with_snapshot();
    let holders = [stage.restore(&snapshot).unwrap(), stage.branch(&snapshot).unwrap()];
    let error = delete(&stage, &snapshot).fails_as(Code::SnapshotHeld);
    for holder in holders {
        assert!(error.message().contains(holder.sandbox_id().as_str()), "{error}");
    }
    assert_eq!(stage.world.stored().len(), 1);
    stage.restore(&snapshot).unwrap();
}

#[test]
fn a_pinned_snapshot_is_refused_until_it_is_unpinned() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Pin, &by_ref(&snapshot)).unwrap();
    let error = delete(&stage, &snapshot).fails_as(Code::SnapshotHeld);
    assert!(error.message().contains("is pinned"), "{error}");
    stage.run(Operation::Unpin, &by_ref(&snapshot)).unwrap();
    delete(&stage, &snapshot).unwrap();
}

#[test]
fn a_snapshot_that_is_pinned_and_held_is_refused_for_both() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Pin, &by_ref(&snapshot)).unwrap();
    let holder = stage.restore(&snapshot).unwrap();
    let error = delete(&stage, &snapshot).fails_as(Code::SnapshotHeld);
    assert!(error.message().contains("is pinned, and held by"), "{error}");
    assert!(error.message().contains(holder.sandbox_id().as_str()), "{error}");
}

#[test]
fn force_deletes_what_is_pinned_and_held_and_the_holder_lives_on() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Pin, &by_ref(&snapshot)).unwrap();
    let holder = stage.restore(&snapshot).unwrap();
    assert!(removed(&stage, &forced(by_ref(&snapshot))));
    stage.assert_nothing_stored();
    stage.captures(holder.sandbox_id().as_str(), "its own");
    stage.world.finish_background();
    stage.passes(HOUR);
    stage.assert_settled();
}

#[test]
fn a_snapshot_that_is_no_longer_needed_can_go() {
    let (stage, snapshot) = Stage::with_snapshot();
    let holder = stage.restore(&snapshot).unwrap();
    stage.captures(holder.sandbox_id().as_str(), "its own");
    stage.world.finish_background();
    assert!(removed(&stage, &by_ref(&snapshot)));
}

#[test]
fn a_snapshot_that_is_being_restored_does_not_go_even_with_force() {
    for method in [Method::Name, Method::Stamp, Method::RestoreBackup, Method::Arrive] {
        let (stage, snapshot) = Stage::with_snapshot();
        let gate = stage.world.before(method).held();
        let restoring = stage.begin(Operation::Restore, &by_ref(&snapshot));
        assert!(gate.is_reached());
        for selection in [by_ref(&snapshot), forced(by_ref(&snapshot))] {
            let error = stage.run(Operation::Delete, &selection).fails_as(Code::SnapshotBusy);
            assert!(error.retryable());
        }
        gate.open();
        restoring.answer().unwrap();
        assert!(removed(&stage, &forced(by_ref(&snapshot))), "{method:?}");
    }
}

#[test]
fn a_snapshot_may_go_while_an_id_is_claimed_for_a_sandbox_which_is_not_made_then() {
    for moment in [Method::Claim, Method::Archive] {
        let (stage, snapshot) = Stage::with_snapshot();
        let gate = stage.world.after(moment).nth(1).held();
        let restoring = stage.begin(Operation::Restore, &by_ref(&snapshot));
        assert!(gate.is_reached() && removed(&stage, &by_ref(&snapshot)));
        gate.open();
        restoring.answer().fails_as(Code::SnapshotNotFound);
        assert_eq!(stage.world.count(Method::Name), 0, "{moment:?}");
        stage.passes(HOUR);
        stage.assert_settled();
    }
}

#[test]
fn a_snapshot_that_is_being_made_does_not_go_even_with_force() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("soon"));
    stage.run(Operation::Delete, &forced(by_label("soon"))).fails_as(Code::SnapshotBusy);
    gate.open();
    capture.answer().unwrap();
    assert!(removed(&stage, &by_label("soon")));
}

#[test]
fn a_restore_that_failed_does_not_keep_its_snapshot() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::SandboxUnavailable);
    assert!(removed(&stage, &by_ref(&snapshot)));
}

#[test]
fn when_r2_fails_the_snapshot_is_gone_and_an_alarm_finishes_it() {
    for method in [Method::Metadata, Method::Delete] {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.world.before(method).first(3).fails_in_passing();
        let error = delete(&stage, &snapshot).fails_as(Code::StorageUnavailable);
        assert!(error.message().contains("gone all the same"), "{error}");
        stage.restore(&snapshot).fails_as(Code::SnapshotNotFound);
        assert_eq!(stage.world.stored().len(), 1, "{method:?}");
        stage.passes(HOUR);
        stage.assert_nothing_stored();
        stage.assert_settled();
    }
}

#[test]
fn when_r2_fails_the_next_call_may_finish_it() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::Delete).first(3).fails_in_passing();
    delete(&stage, &snapshot).fails_as(Code::StorageUnavailable);
    assert!(!removed(&stage, &by_ref(&snapshot)));
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn r2_may_fail_for_hours() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::Delete).fails_in_passing();
    delete(&stage, &snapshot).fails_as(Code::StorageUnavailable);
    stage.passes(6 * HOUR);
    stage.world.goes_well();
    stage.passes(HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn while_r2_fails_it_is_not_asked_without_end() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::Delete).fails_in_passing();
    delete(&stage, &snapshot).fails_as(Code::StorageUnavailable);
    stage.world.forget_calls();
    stage.passes(DAY);
    assert!(stage.world.count(Method::Delete) < 200, "{}", stage.world.count(Method::Delete));
}

#[test]
fn two_callers_who_delete_the_same_do_not_disturb_each_other() {
    let (stage, snapshot) = Stage::with_snapshot();
    let gate = stage.world.before(Method::Delete).nth(1).held();
    let first = stage.begin(Operation::Delete, &by_ref(&snapshot));
    assert!(gate.is_reached());
    assert!(!removed(&stage, &by_ref(&snapshot)));
    gate.open();
    assert_eq!(first.answer().unwrap()["removed"], true);
    assert_eq!(stage.world.count(Method::Delete), 1);
    stage.assert_settled();
}

#[test]
fn a_backup_that_is_gone_from_r2_already_is_no_reason_to_fail() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.empty_bucket();
    assert!(removed(&stage, &by_ref(&snapshot)));
    stage.assert_settled();
}

#[test]
fn what_is_left_of_a_backup_without_metadata_goes_too() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.spoil(|backup| backup.metadata = None);
    assert!(removed(&stage, &by_ref(&snapshot)));
    stage.assert_nothing_stored();
}

#[test]
fn what_an_application_put_in_the_place_of_the_backup_stays() {
    for name in [None, Some("nightly".to_owned())] {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.world.spoil_metadata(|metadata| metadata.name.clone_from(&name));
        assert!(removed(&stage, &by_ref(&snapshot)));
        assert_eq!(stage.world.stored().len(), 1);
        stage.assert_settled();
    }
}

#[test]
fn a_backup_whose_mark_cannot_be_read_stays() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::Metadata).fails_with(Failure::unexpected("R2", "meta.json: no JSON"));
    assert!(removed(&stage, &by_ref(&snapshot)));
    assert_eq!(stage.world.stored().len(), 1);
    assert_eq!(stage.ledger("agent-42").unfinished().unwrap(), []);
}

#[test]
fn an_imported_backup_that_was_not_made_here_stays_in_r2() {
    for name in ["nightly".to_owned(), foreign_mark(1, "agent-42")] {
        let (stage, id) = with_import(&name);
        assert!(removed(&stage, &by_label("imported")));
        stage.passes(HOUR);
        assert_eq!(stage.world.stored(), [id]);
        assert_eq!(stage.world.count(Method::Delete), 0);
    }
}

#[test]
fn what_is_left_of_an_imported_backup_stays_too() {
    let (stage, id) = with_import("nightly");
    stage.world.spoil(|backup| backup.metadata = None);
    assert!(removed(&stage, &by_label("imported")));
    assert_eq!(stage.world.stored(), [id]);
}

#[test]
fn an_imported_backup_stays_even_if_somebody_gives_it_the_snapshots_mark() {
    let (stage, id) = with_import("nightly");
    let got = stage.run(Operation::Get, &by_label("imported")).unwrap();
    let mark = format!("snapshotter/1 {} agent-42", got["snapshotId"].as_str().unwrap());
    stage.world.spoil_metadata(|metadata| metadata.name = Some(mark.clone()));
    assert!(removed(&stage, &by_label("imported")));
    assert_eq!(stage.world.stored(), [id]);
}

/// A backup with that name was imported, with the label `imported`. The backup's id.
fn with_import(name: &str) -> (Stage, String) {
    let stage = Stage::with_sandbox();
    let handle = stage.world.backs_up("agent-42", Some(name));
    let arguments = json!({ "sandboxId": "agent-42", "backup": handle, "label": "imported" });
    stage.run(Operation::Import, &arguments).unwrap();
    (stage, handle.id().to_string())
}
