//! `sweep` deletes backups in the bucket that carry the product's mark and are in no ledger, and changes nothing else.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::answer::MAX_UNOWNED;
use sandbox_snapshotter::model::record::SandboxRecord;
use sandbox_snapshotter::model::request::SweepRequest;
use sandbox_snapshotter::model::{Code, Failure};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{DAY, ExpectError, Fixture, HOUR, Method, by_label, foreign_mark};

/// A mark as the first version wrote it.
const EARLIER_MARK: &str = "snapshotter/1 snap-0123456789abcdef agent-42";

/// Runs a sweep and returns the counts that are not zero and the lists that are not empty.
fn sweep(fixture: &Fixture, arguments: &Value) -> Value {
    let counts = fixture.run(Operation::Sweep, arguments).unwrap();
    let counted = counts.as_object().unwrap().iter().filter(|(_, count)| **count != json!(0) && **count != json!([]));
    Value::Object(counted.map(|(name, count)| (name.clone(), count.clone())).collect())
}

/// Returns a bucket with `count` orphaned backups that are two days old.
fn with_orphans(count: usize) -> Fixture {
    let fixture = Fixture::with_sandbox();
    (0..count).for_each(|_| drop(fixture.create_orphan("agent-42")));
    fixture.world.advance_clock(2 * DAY);
    fixture.world.reset_calls();
    fixture
}

#[test]
fn sweep_of_empty_bucket_reports_nothing() {
    assert_eq!(sweep(&Fixture::empty(), &json!({})), json!({ "dryRun": false }));
}

#[test]
fn orphaned_backups_are_deleted() {
    let fixture = with_orphans(3);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 3, "deleted": 3, "dryRun": false }));
    fixture.assert_nothing_stored();
}

#[test]
fn backups_in_a_ledger_are_kept() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.advance_clock(2 * DAY);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 1, "owned": 1, "dryRun": false }));
    fixture.restore(&snapshot).unwrap();
}

#[test]
fn backups_without_mark_are_kept() {
    let fixture = Fixture::with_sandbox();
    for name in [None, Some("nightly"), Some("snapshotter/1"), Some("snapshotter/1 snap-x agent-42")] {
        fixture.world.create_app_backup("agent-42", name);
    }
    fixture.world.advance_clock(400 * DAY);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 4, "unmarked": 4, "dryRun": false }));
    assert_eq!((fixture.world.backup_ids().len(), fixture.world.call_count(Method::Delete)), (4, 0));
}

#[test]
fn recent_backup_is_kept_until_a_later_sweep() {
    let fixture = Fixture::with_sandbox();
    fixture.create_orphan("agent-42");
    fixture.world.advance_clock(DAY - HOUR);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 1, "tooRecent": 1, "dryRun": false }));
    fixture.world.advance_clock(2 * HOUR);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 1, "deleted": 1, "dryRun": false }));
}

#[test]
fn backup_as_old_as_the_grace_period_is_deleted() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.create_orphan("agent-42");
    let stored_at = fixture.world.metadata_of(snapshot.backup().id().as_str()).created_at;
    fixture.world.advance_clock(DAY - 1 - fixture.world.current_time().millis_since(stored_at));
    let grace = json!({ "graceSeconds": 24 * 3600, "dryRun": true });
    assert_eq!(sweep(&fixture, &grace)["tooRecent"], 1);
    fixture.world.advance_clock(DAY - fixture.world.current_time().millis_since(stored_at));
    assert_eq!(sweep(&fixture, &grace)["deleted"], 1);
}

#[test]
fn caller_can_set_the_grace_period() {
    let fixture = with_orphans(1);
    assert_eq!(sweep(&fixture, &json!({ "graceSeconds": 3 * 24 * 3600 }))["tooRecent"], 1);
    assert_eq!(sweep(&fixture, &json!({ "graceSeconds": 0 }))["deleted"], 1);
}

#[test]
fn longest_grace_period_is_accepted() {
    let fixture = with_orphans(1);
    assert_eq!(sweep(&fixture, &json!({ "graceSeconds": SweepRequest::MAX_GRACE_SECONDS }))["tooRecent"], 1);
}

#[test]
fn dry_run_counts_and_deletes_nothing() {
    let fixture = with_orphans(2);
    fixture.snapshot_labelled("agent-42", "owned");
    fixture.world.create_app_backup("agent-42", None);
    fixture.world.advance_clock(2 * DAY);
    let dry = json!({ "dryRun": true });
    assert_eq!(sweep(&fixture, &dry), json!({ "scanned": 4, "deleted": 2, "owned": 1, "unmarked": 1, "dryRun": true }));
    assert_eq!((fixture.world.backup_ids().len(), fixture.world.call_count(Method::Delete)), (4, 0));
}

#[test]
fn sweep_reads_every_page_of_the_bucket() {
    let fixture = with_orphans(10);
    fixture.world.set_list_page_size(3);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 10, "deleted": 10, "dryRun": false }));
    fixture.assert_nothing_stored();
    assert_eq!(fixture.world.call_count(Method::List), 7, "20 objects");
}

#[test]
fn backup_that_reappears_after_delete_is_deleted_again() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let name = fixture.world.name_of(snapshot.backup().id().as_str());
    fixture.run(Operation::Delete, &json!({ "ref": snapshot })).unwrap();
    fixture.world.create_app_backup("agent-42", name.as_deref());
    fixture.world.advance_clock(2 * DAY);
    assert_eq!(sweep(&fixture, &json!({}))["deleted"], 1);
}

#[test]
fn copy_of_snapshot_backup_is_deleted_and_snapshot_is_kept() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let name = fixture.world.name_of(snapshot.backup().id().as_str());
    fixture.world.create_app_backup("agent-42", name.as_deref());
    fixture.world.advance_clock(2 * DAY);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 2, "owned": 1, "deleted": 1, "dryRun": false }));
    fixture.restore(&snapshot).unwrap();
}

#[test]
fn backup_of_running_capture_is_kept() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.after(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("slow"));
    fixture.world.advance_clock(2 * DAY);
    assert_eq!(sweep(&fixture, &json!({}))["owned"], 1);
    gate.open();
    capture.answer().unwrap();
}

/// Asserts that a sweep deletes nothing from the bucket and writes nothing to the ledger of `origin`.
fn assert_not_swept(fixture: &Fixture, origin: &str) {
    let (stored, sandbox) = (fixture.world.backup_ids(), fixture.ledger(origin).sandbox().unwrap());
    fixture.world.advance_clock(2 * DAY);
    for dry_run in [true, false] {
        let counts = sweep(fixture, &json!({ "dryRun": dry_run }));
        assert_eq!(counts, json!({ "scanned": stored.len(), "owned": stored.len(), "dryRun": dry_run }));
    }
    assert_eq!((fixture.world.backup_ids(), fixture.world.call_count(Method::Delete)), (stored, 0));
    assert_eq!(fixture.ledger(origin).sandbox().unwrap(), sandbox);
}

#[test]
fn backups_of_another_deployment_are_kept() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    for mark in [foreign_mark(1, "agent-42"), foreign_mark(2, "agent-42"), EARLIER_MARK.to_owned()] {
        fixture.world.create_app_backup("agent-42", Some(&mark));
    }
    assert_not_swept(&fixture, "agent-42");
    fixture.restore(&snapshot).unwrap();
}

#[test]
fn sandbox_without_record_sweeps_nothing() {
    let fixture = Fixture::with_sandbox();
    for mark in [foreign_mark(1, "agent-42"), EARLIER_MARK.to_owned(), foreign_mark(1, "agent-7")] {
        fixture.world.create_app_backup("agent-42", Some(&mark));
    }
    assert_not_swept(&fixture, "agent-42");
    assert_not_swept(&fixture, "agent-7");
}

#[test]
fn sandbox_that_minted_no_snapshot_sweeps_nothing() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let restored = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
    fixture.world.create_app_backup(&restored, Some(&foreign_mark(1, &restored)));
    assert_not_swept(&fixture, &restored);
    fixture.run(Operation::RotateKey, &json!({ "sandboxId": restored })).unwrap();
    assert_not_swept(&fixture, &restored);
}

#[test]
fn backup_minted_by_another_sandbox_is_kept() {
    let fixture = Fixture::with_sandbox();
    fixture.start_sandbox("agent-7");
    fixture.snapshot_labelled("agent-7", "own");
    let orphan = fixture.create_orphan("agent-42");
    let mark = format!("snapshotter/1 {} agent-7", orphan.snapshot_id());
    fixture.world.edit_metadata(|metadata| {
        if metadata.id == *orphan.backup().id() {
            metadata.name = Some(mark.clone());
        }
    });
    assert_not_swept(&fixture, "agent-7");
}

#[test]
fn sandbox_that_lost_its_ledger_keeps_earlier_backups() {
    let fixture = with_orphans(1);
    let ledger = fixture.ledger("agent-42");
    let sandbox = ledger.sandbox().unwrap().unwrap();
    ledger.put_sandbox(&SandboxRecord { keys: Vec::new(), id_key: None, ..sandbox }).unwrap();
    assert_not_swept(&fixture, "agent-42");
    fixture.snapshot_labelled("agent-42", "new");
    fixture.world.advance_clock(2 * DAY);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 2, "owned": 2, "dryRun": false }));
}

#[test]
fn minted_ids_are_recognized_after_key_rotations() {
    let fixture = with_orphans(1);
    (0..3).for_each(|_| drop(fixture.run(Operation::RotateKey, &json!({ "sandboxId": "agent-42" })).unwrap()));
    fixture.snapshot_labelled("agent-42", "after");
    fixture.world.advance_clock(2 * DAY);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 2, "owned": 1, "deleted": 1, "dryRun": false }));
}

#[test]
fn each_sandbox_sweeps_its_own_marks() {
    let fixture = Fixture::with_sandbox();
    for (number, origin) in [(1, "agent-42"), (2, "agent-7"), (3, "agent-7")] {
        fixture.world.create_app_backup("agent-42", Some(&foreign_mark(number, origin)));
    }
    fixture.world.advance_clock(2 * DAY);
    fixture.world.reset_calls();
    sweep(&fixture, &json!({}));
    let sweep_calls: Vec<_> =
        fixture.world.calls().into_iter().filter(|(method, _)| *method == Method::Sweep).collect();
    assert_eq!(sweep_calls, [(Method::Sweep, "agent-42".into()), (Method::Sweep, "agent-7".into())]);
}

#[test]
fn failing_sandbox_does_not_stop_the_sweep() {
    let fixture = Fixture::empty();
    for origin in ["agent-1", "agent-1", "agent-2"] {
        fixture.start_sandbox(origin);
        fixture.create_orphan(origin);
    }
    fixture.world.advance_clock(2 * DAY);
    fixture.world.before(Method::Sweep).nth(1).fail_transiently();
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 3, "deleted": 1, "failed": 2, "dryRun": false }));
    fixture.world.clear_faults();
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 2, "deleted": 2, "dryRun": false }));
}

#[test]
fn unreadable_backup_does_not_stop_the_sweep() {
    let fixture = with_orphans(2);
    fixture.world.before(Method::GetMetadata).first(3).fail_transiently();
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 2, "deleted": 1, "failed": 1, "dryRun": false }));
}

#[test]
fn unreadable_metadata_counts_as_unmarked() {
    let fixture = with_orphans(1);
    fixture.world.before(Method::GetMetadata).fail_with(Failure::protocol("R2", "meta.json: no JSON"));
    assert_eq!(sweep(&fixture, &json!({}))["unmarked"], 1);
    assert_eq!(fixture.world.call_count(Method::Delete), 0);
}

#[test]
fn backup_whose_mark_changes_before_delete_is_kept() {
    let fixture = with_orphans(1);
    fixture.world.before(Method::Sweep).run(|world| world.edit_metadata(|metadata| metadata.name = None));
    sweep(&fixture, &json!({}));
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn sweep_fails_when_bucket_cannot_be_listed() {
    let fixture = with_orphans(1);
    fixture.world.before(Method::List).first(3).fail_transiently();
    fixture.run(Operation::Sweep, &json!({})).expect_code(Code::StorageUnavailable);
    assert_eq!(sweep(&fixture, &json!({}))["deleted"], 1);
}

#[test]
fn backups_of_imported_snapshots_are_owned_or_unmarked() {
    let fixture = Fixture::with_sandbox();
    let minted = fixture.create_orphan("agent-42");
    let foreign = fixture.world.create_app_backup("agent-42", Some(EARLIER_MARK));
    let unmarked = fixture.world.create_app_backup("agent-42", None);
    for handle in [minted.backup(), &foreign, &unmarked] {
        fixture.run(Operation::Import, &json!({ "sandboxId": "agent-42", "backup": handle })).unwrap();
    }
    fixture.world.advance_clock(2 * DAY);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 3, "owned": 2, "unmarked": 1, "dryRun": false }));
}

#[test]
fn second_sweep_finds_nothing() {
    let fixture = with_orphans(2);
    sweep(&fixture, &json!({}));
    assert_eq!(sweep(&fixture, &json!({})), json!({ "dryRun": false }));
}

/// Removes the metadata of every backup in the bucket.
fn remove_all_metadata(fixture: &Fixture) {
    fixture.world.edit_backups(|backup| backup.metadata = None);
}

#[test]
fn archive_without_metadata_is_listed_as_unowned_and_kept() {
    let fixture = with_orphans(2);
    fixture.snapshot_labelled("agent-42", "whole");
    let whole = fixture.world.backup_ids().pop().unwrap();
    fixture.world.edit_backups(|backup| {
        if backup.id().as_str() != whole {
            backup.metadata = None;
        }
    });
    fixture.world.advance_clock(2 * DAY);
    for arguments in [json!({}), json!({ "dryRun": true })] {
        let swept = fixture.run(Operation::Sweep, &arguments).unwrap();
        assert_eq!((&swept["scanned"], &swept["owned"], &swept["deleted"]), (&json!(1), &json!(1), &json!(0)));
        assert_eq!(swept["unowned"], 2);
        let [first, second] = swept["unownedObjects"].as_array().unwrap().as_slice() else { panic!("{swept}") };
        assert!(first["key"].as_str().unwrap() < second["key"].as_str().unwrap());
        for object in [first, second] {
            assert!(object["key"].as_str().unwrap().ends_with("/data.sqsh"), "{object}");
            assert_eq!(object["sizeBytes"], 4096 + 25);
            assert!(object["ageSeconds"].as_u64().unwrap() >= 4 * 24 * 3600, "{object}");
        }
    }
    assert_eq!((fixture.world.backup_ids().len(), fixture.world.call_count(Method::Delete)), (3, 0));
}

#[test]
fn recent_archive_without_metadata_is_not_unowned() {
    let fixture = Fixture::with_sandbox();
    fixture.create_orphan("agent-42");
    remove_all_metadata(&fixture);
    fixture.world.advance_clock(DAY - HOUR);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "dryRun": false }));
    fixture.world.advance_clock(2 * HOUR);
    assert_eq!(sweep(&fixture, &json!({}))["unowned"], 1);
}

#[test]
fn archive_whose_metadata_is_on_next_page_is_not_unowned() {
    for page in 1..=4 {
        let fixture = with_orphans(3);
        fixture.world.set_list_page_size(page);
        assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 3, "deleted": 3, "dryRun": false }), "{page}");
        fixture.create_orphan("agent-42");
        fixture.create_orphan("agent-42");
        remove_all_metadata(&fixture);
        fixture.world.advance_clock(2 * DAY);
        assert_eq!(sweep(&fixture, &json!({}))["unowned"], 2, "{page}");
    }
}

#[test]
fn unowned_objects_are_all_counted_and_listed_up_to_the_limit() {
    let fixture = Fixture::with_sandbox();
    for _ in 0..MAX_UNOWNED + 5 {
        fixture.world.create_app_backup("agent-42", None);
    }
    remove_all_metadata(&fixture);
    fixture.world.advance_clock(2 * DAY);
    fixture.world.set_list_page_size(7);
    let swept = fixture.run(Operation::Sweep, &json!({})).unwrap();
    assert_eq!(swept["unowned"], MAX_UNOWNED + 5);
    assert_eq!(swept["unownedObjects"].as_array().unwrap().len(), MAX_UNOWNED);
}

#[test]
fn marked_metadata_without_archive_is_deleted() {
    let fixture = with_orphans(1);
    fixture.world.create_app_backup("agent-42", Some("nightly"));
    fixture.world.advance_clock(2 * DAY);
    fixture.world.edit_backups(|backup| backup.archive = None);
    assert_eq!(sweep(&fixture, &json!({})), json!({ "scanned": 2, "deleted": 1, "unmarked": 1, "dryRun": false }));
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn capture_interrupted_between_objects_leaves_unowned_archive() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).nth(1).run(|world| world.edit_backups(|backup| backup.metadata = None));
    fixture.world.after(Method::CreateBackup).nth(1).fail_transiently();
    fixture.snapshot().expect_code(Code::BackupInterrupted);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(2 * DAY);
    fixture.assert_nothing_pending();
    assert_eq!(sweep(&fixture, &json!({}))["unowned"], 1);
    assert_eq!(fixture.world.backup_ids().len(), 1);
}
