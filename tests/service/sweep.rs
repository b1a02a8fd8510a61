//! The sweep of the bucket: what carries the product's mark and is no ledger's goes; nothing else is touched.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::answer::MAX_UNOWNED;
use sandbox_snapshotter::model::record::WorkspaceRecord;
use sandbox_snapshotter::model::request::SweepRequest;
use sandbox_snapshotter::model::{Code, Failure};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::support::{Checked, DAY, HOUR, Method, Stage, by_label, foreign_mark};

/// The mark that the first version gave its backups.
const EARLIER: &str = "snapshotter/1 snap-0123456789abcdef agent-42";

/// Sweeps, and answers the counts that are not zero, and what is listed.
fn sweep(stage: &Stage, arguments: &Value) -> Value {
    let counts = stage.run(Operation::Sweep, arguments).unwrap();
    let counted = counts.as_object().unwrap().iter().filter(|(_, count)| **count != json!(0) && **count != json!([]));
    Value::Object(counted.map(|(name, count)| (name.clone(), count.clone())).collect())
}

/// A bucket with `count` backups that are nobody's, two days old.
fn with_orphans(count: usize) -> Stage {
    let stage = Stage::with_sandbox();
    (0..count).for_each(|_| drop(stage.orphans("agent-42")));
    stage.world.pass(2 * DAY);
    stage.world.forget_calls();
    stage
}

#[test]
fn an_empty_bucket_is_swept_at_once() {
    assert_eq!(sweep(&Stage::empty(), &json!({})), json!({ "dryRun": false }));
}

#[test]
fn what_is_nobodys_goes() {
    let stage = with_orphans(3);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 3, "swept": 3, "dryRun": false }));
    stage.assert_nothing_stored();
}

#[test]
fn what_a_ledger_owns_stays() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.pass(2 * DAY);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 1, "owned": 1, "dryRun": false }));
    stage.restore(&snapshot).unwrap();
}

#[test]
fn what_does_not_carry_the_mark_is_the_applications_own() {
    let stage = Stage::with_sandbox();
    for name in [None, Some("nightly"), Some("snapshotter/1"), Some("snapshotter/1 snap-x agent-42")] {
        stage.world.backs_up("agent-42", name);
    }
    stage.world.pass(400 * DAY);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 4, "unmarked": 4, "dryRun": false }));
    assert_eq!((stage.world.stored().len(), stage.world.count(Method::Delete)), (4, 0));
}

#[test]
fn what_is_young_is_left_for_the_next_time() {
    let stage = Stage::with_sandbox();
    stage.orphans("agent-42");
    stage.world.pass(DAY - HOUR);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 1, "young": 1, "dryRun": false }));
    stage.world.pass(2 * HOUR);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 1, "swept": 1, "dryRun": false }));
}

#[test]
fn what_is_as_old_as_the_grace_period_goes() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.orphans("agent-42");
    let stored_at = stage.world.metadata_of(snapshot.backup().id().as_str()).created_at;
    stage.world.pass(DAY - 1 - stage.world.moment().millis_since(stored_at));
    let grace = json!({ "graceSeconds": 24 * 3600, "dryRun": true });
    assert_eq!(sweep(&stage, &grace)["young"], 1);
    stage.world.pass(DAY - stage.world.moment().millis_since(stored_at));
    assert_eq!(sweep(&stage, &grace)["swept"], 1);
}

#[test]
fn how_young_is_for_the_caller_to_say() {
    let stage = with_orphans(1);
    assert_eq!(sweep(&stage, &json!({ "graceSeconds": 3 * 24 * 3600 }))["young"], 1);
    assert_eq!(sweep(&stage, &json!({ "graceSeconds": 0 }))["swept"], 1);
}

#[test]
fn no_grace_is_too_long_to_be_waited_for() {
    let stage = with_orphans(1);
    assert_eq!(sweep(&stage, &json!({ "graceSeconds": SweepRequest::MAX_GRACE }))["young"], 1);
}

#[test]
fn a_dry_run_counts_and_touches_nothing() {
    let stage = with_orphans(2);
    stage.captures("agent-42", "owned");
    stage.world.backs_up("agent-42", None);
    stage.world.pass(2 * DAY);
    let dry = json!({ "dryRun": true });
    assert_eq!(sweep(&stage, &dry), json!({ "seen": 4, "swept": 2, "owned": 1, "unmarked": 1, "dryRun": true }));
    assert_eq!((stage.world.stored().len(), stage.world.count(Method::Delete)), (4, 0));
}

#[test]
fn the_whole_bucket_is_swept_page_by_page() {
    let stage = with_orphans(10);
    stage.world.lists_at_once(3);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 10, "swept": 10, "dryRun": false }));
    stage.assert_nothing_stored();
    assert_eq!(stage.world.count(Method::List), 7, "20 objects");
}

#[test]
fn a_snapshot_that_was_deleted_and_came_back_goes_again() {
    let (stage, snapshot) = Stage::with_snapshot();
    let name = stage.world.name_of(snapshot.backup().id().as_str());
    stage.run(Operation::Delete, &json!({ "ref": snapshot })).unwrap();
    stage.world.backs_up("agent-42", name.as_deref());
    stage.world.pass(2 * DAY);
    assert_eq!(sweep(&stage, &json!({}))["swept"], 1);
}

#[test]
fn a_copy_of_a_snapshots_backup_goes_and_the_snapshot_stays() {
    let (stage, snapshot) = Stage::with_snapshot();
    let name = stage.world.name_of(snapshot.backup().id().as_str());
    stage.world.backs_up("agent-42", name.as_deref());
    stage.world.pass(2 * DAY);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 2, "owned": 1, "swept": 1, "dryRun": false }));
    stage.restore(&snapshot).unwrap();
}

#[test]
fn the_backup_of_a_capture_that_is_under_way_is_owned() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.after(Method::CreateBackup).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("slow"));
    stage.world.pass(2 * DAY);
    assert_eq!(sweep(&stage, &json!({}))["owned"], 1);
    gate.open();
    capture.answer().unwrap();
}

/// Makes sure that nothing of what is in the bucket is swept, and that nothing is kept of the sweep.
fn assert_stays(stage: &Stage, origin: &str) {
    let (stored, workspace) = (stage.world.stored(), stage.ledger(origin).workspace().unwrap());
    stage.world.pass(2 * DAY);
    for dry_run in [true, false] {
        let counts = sweep(stage, &json!({ "dryRun": dry_run }));
        assert_eq!(counts, json!({ "seen": stored.len(), "owned": stored.len(), "dryRun": dry_run }));
    }
    assert_eq!((stage.world.stored(), stage.world.count(Method::Delete)), (stored, 0));
    assert_eq!(stage.ledger(origin).workspace().unwrap(), workspace);
}

#[test]
fn what_another_deployment_made_stays() {
    let (stage, snapshot) = Stage::with_snapshot();
    for mark in [foreign_mark(1, "agent-42"), foreign_mark(2, "agent-42"), EARLIER.to_owned()] {
        stage.world.backs_up("agent-42", Some(&mark));
    }
    assert_stays(&stage, "agent-42");
    stage.restore(&snapshot).unwrap();
}

#[test]
fn a_workspace_that_has_no_record_sweeps_nothing() {
    let stage = Stage::with_sandbox();
    for mark in [foreign_mark(1, "agent-42"), EARLIER.to_owned(), foreign_mark(1, "agent-7")] {
        stage.world.backs_up("agent-42", Some(&mark));
    }
    assert_stays(&stage, "agent-42");
    assert_stays(&stage, "agent-7");
}

#[test]
fn a_workspace_that_has_minted_nothing_sweeps_nothing() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    stage.world.backs_up(&restored, Some(&foreign_mark(1, &restored)));
    assert_stays(&stage, &restored);
    stage.run(Operation::RotateKey, &json!({ "sandboxId": restored })).unwrap();
    assert_stays(&stage, &restored);
}

#[test]
fn what_another_workspace_has_minted_stays() {
    let stage = Stage::with_sandbox();
    stage.runs("agent-7");
    stage.captures("agent-7", "own");
    let orphan = stage.orphans("agent-42");
    let mark = format!("snapshotter/1 {} agent-7", orphan.snapshot_id());
    stage.world.spoil_metadata(|metadata| {
        if metadata.id == *orphan.backup().id() {
            metadata.name = Some(mark.clone());
        }
    });
    assert_stays(&stage, "agent-7");
}

#[test]
fn a_workspace_that_lost_its_ledger_owns_nothing_and_sweeps_nothing_of_before() {
    let stage = with_orphans(1);
    let ledger = stage.ledger("agent-42");
    let kept = ledger.workspace().unwrap().unwrap();
    ledger.put_workspace(&WorkspaceRecord { keys: Vec::new(), seal: None, ..kept }).unwrap();
    assert_stays(&stage, "agent-42");
    stage.captures("agent-42", "new");
    stage.world.pass(2 * DAY);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 2, "owned": 2, "dryRun": false }));
}

#[test]
fn what_a_workspace_has_minted_is_known_however_often_its_keys_are_rotated() {
    let stage = with_orphans(1);
    (0..3).for_each(|_| drop(stage.run(Operation::RotateKey, &json!({ "sandboxId": "agent-42" })).unwrap()));
    stage.captures("agent-42", "after");
    stage.world.pass(2 * DAY);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 2, "owned": 1, "swept": 1, "dryRun": false }));
}

#[test]
fn each_workspace_answers_for_its_own_marks() {
    let stage = Stage::with_sandbox();
    for (number, origin) in [(1, "agent-42"), (2, "agent-7"), (3, "agent-7")] {
        stage.world.backs_up("agent-42", Some(&foreign_mark(number, origin)));
    }
    stage.world.pass(2 * DAY);
    stage.world.forget_calls();
    sweep(&stage, &json!({}));
    let asked: Vec<_> = stage.world.calls().into_iter().filter(|(method, _)| *method == Method::Sweep).collect();
    assert_eq!(asked, [(Method::Sweep, "agent-42".into()), (Method::Sweep, "agent-7".into())]);
}

#[test]
fn a_workspace_that_fails_does_not_stop_the_others() {
    let stage = Stage::empty();
    for origin in ["agent-1", "agent-1", "agent-2"] {
        stage.runs(origin);
        stage.orphans(origin);
    }
    stage.world.pass(2 * DAY);
    stage.world.before(Method::Sweep).nth(1).fails_in_passing();
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 3, "swept": 1, "failed": 2, "dryRun": false }));
    stage.world.goes_well();
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 2, "swept": 2, "dryRun": false }));
}

#[test]
fn a_backup_that_cannot_be_looked_at_does_not_stop_the_others() {
    let stage = with_orphans(2);
    stage.world.before(Method::Metadata).first(3).fails_in_passing();
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 2, "swept": 1, "failed": 1, "dryRun": false }));
}

#[test]
fn metadata_that_cannot_be_read_carries_no_mark() {
    let stage = with_orphans(1);
    stage.world.before(Method::Metadata).fails_with(Failure::unexpected("R2", "meta.json: no JSON"));
    assert_eq!(sweep(&stage, &json!({}))["unmarked"], 1);
    assert_eq!(stage.world.count(Method::Delete), 0);
}

#[test]
fn what_changed_its_mark_before_it_is_deleted_stays() {
    let stage = with_orphans(1);
    stage.world.before(Method::Sweep).happens(|world| world.spoil_metadata(|metadata| metadata.name = None));
    sweep(&stage, &json!({}));
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn a_bucket_that_cannot_be_listed_fails_the_sweep() {
    let stage = with_orphans(1);
    stage.world.before(Method::List).first(3).fails_in_passing();
    stage.run(Operation::Sweep, &json!({})).fails_as(Code::StorageUnavailable);
    assert_eq!(sweep(&stage, &json!({}))["swept"], 1);
}

#[test]
fn what_an_imported_snapshot_is_of_is_owned_or_unmarked() {
    let stage = Stage::with_sandbox();
    let minted = stage.orphans("agent-42");
    let foreign = stage.world.backs_up("agent-42", Some(EARLIER));
    let unmarked = stage.world.backs_up("agent-42", None);
    for handle in [minted.backup(), &foreign, &unmarked] {
        stage.run(Operation::Import, &json!({ "sandboxId": "agent-42", "backup": handle })).unwrap();
    }
    stage.world.pass(2 * DAY);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 3, "owned": 2, "unmarked": 1, "dryRun": false }));
}

#[test]
fn sweeping_again_finds_nothing_more() {
    let stage = with_orphans(2);
    sweep(&stage, &json!({}));
    assert_eq!(sweep(&stage, &json!({})), json!({ "dryRun": false }));
}

/// Everything in the bucket loses its metadata.
fn lose_metadata(stage: &Stage) {
    stage.world.spoil(|backup| backup.metadata = None);
}

#[test]
fn an_archive_without_metadata_is_listed_as_unowned_and_stays() {
    let stage = with_orphans(2);
    stage.captures("agent-42", "whole");
    let whole = stage.world.stored().pop().unwrap();
    stage.world.spoil(|backup| {
        if backup.id().as_str() != whole {
            backup.metadata = None;
        }
    });
    stage.world.pass(2 * DAY);
    for arguments in [json!({}), json!({ "dryRun": true })] {
        let swept = stage.run(Operation::Sweep, &arguments).unwrap();
        assert_eq!((&swept["seen"], &swept["owned"], &swept["swept"]), (&json!(1), &json!(1), &json!(0)));
        assert_eq!(swept["unowned"], 2);
        let [first, second] = swept["unownedObjects"].as_array().unwrap().as_slice() else { panic!("{swept}") };
        assert!(first["key"].as_str().unwrap() < second["key"].as_str().unwrap());
        for object in [first, second] {
            assert!(object["key"].as_str().unwrap().ends_with("/data.sqsh"), "{object}");
            assert_eq!(object["sizeBytes"], 4096 + 25);
            assert!(object["ageSeconds"].as_u64().unwrap() >= 4 * 24 * 3600, "{object}");
        }
    }
    assert_eq!((stage.world.stored().len(), stage.world.count(Method::Delete)), (3, 0));
}

#[test]
fn an_archive_whose_metadata_may_still_come_is_not_unowned() {
    let stage = Stage::with_sandbox();
    stage.orphans("agent-42");
    lose_metadata(&stage);
    stage.world.pass(DAY - HOUR);
    assert_eq!(sweep(&stage, &json!({})), json!({ "dryRun": false }));
    stage.world.pass(2 * HOUR);
    assert_eq!(sweep(&stage, &json!({}))["unowned"], 1);
}

#[test]
fn an_archive_whose_metadata_are_on_the_next_page_is_not_unowned() {
    for page in 1..=4 {
        let stage = with_orphans(3);
        stage.world.lists_at_once(page);
        assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 3, "swept": 3, "dryRun": false }), "{page}");
        stage.orphans("agent-42");
        stage.orphans("agent-42");
        lose_metadata(&stage);
        stage.world.pass(2 * DAY);
        assert_eq!(sweep(&stage, &json!({}))["unowned"], 2, "{page}");
    }
}

#[test]
fn a_hundred_unowned_objects_are_listed_and_all_are_counted() {
    let stage = Stage::with_sandbox();
    for _ in 0..MAX_UNOWNED + 5 {
        stage.world.backs_up("agent-42", None);
    }
    lose_metadata(&stage);
    stage.world.pass(2 * DAY);
    stage.world.lists_at_once(7);
    let swept = stage.run(Operation::Sweep, &json!({})).unwrap();
    assert_eq!(swept["unowned"], MAX_UNOWNED + 5);
    assert_eq!(swept["unownedObjects"].as_array().unwrap().len(), MAX_UNOWNED);
}

#[test]
fn metadata_without_an_archive_goes_where_it_carries_the_mark() {
    let stage = with_orphans(1);
    stage.world.backs_up("agent-42", Some("nightly"));
    stage.world.pass(2 * DAY);
    stage.world.spoil(|backup| backup.archive = None);
    assert_eq!(sweep(&stage, &json!({})), json!({ "seen": 2, "swept": 1, "unmarked": 1, "dryRun": false }));
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn a_capture_that_died_between_the_two_objects_leaves_an_archive_that_is_listed() {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).nth(1).happens(|world| world.spoil(|backup| backup.metadata = None));
    stage.world.after(Method::CreateBackup).nth(1).fails_in_passing();
    stage.snapshot().fails_as(Code::BackupInterrupted);
    stage.world.goes_well();
    stage.passes(2 * DAY);
    stage.assert_settled();
    assert_eq!(sweep(&stage, &json!({}))["unowned"], 1);
    assert_eq!(stage.world.stored().len(), 1);
}
