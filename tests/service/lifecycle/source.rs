//! What a sandbox gets its files from, and who may lend it.

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::named::Tenant;
use sandbox_snapshotter::model::{Code, Selection};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{Checked, DAY, MINUTE, Method, Stage, WORK, by_ref, sandbox};

/// A fork of `work`, which was deleted by force: what it was made from is gone.
fn without_what_it_was_made_from() -> Stage {
    let stage = Stage::with_work();
    let forked = stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    let snapshot = json!({ "sandboxId": forked["originId"], "snapshotId": forked["snapshotId"], "force": true });
    stage.run(Operation::Delete, &snapshot).unwrap();
    stage.world.stops(&stage.sandbox_of("other"));
    stage
}

#[test]
fn one_whose_source_was_deleted_by_force_says_so() {
    let stage = without_what_it_was_made_from();
    let error = stage.starts("other", &json!({})).fails_as(Code::NothingRestorable);
    assert!(error.message().contains("is gone") || error.message().contains("deleted"), "{error}");
    assert_eq!(stage.starts("other", &json!({ "allowEmpty": true })).unwrap()["how"], "empty");
}

#[test]
fn a_snapshot_is_lent_to_those_only_who_were_made_from_it() {
    let stage = Stage::with_work();
    let forked = stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    let snapshot_id = serde_json::from_value(forked["snapshotId"].clone()).unwrap();
    let origin = stage.of(&stage.sandbox_of(WORK));
    block_on(origin.lend(&snapshot_id, &sandbox(&stage.sandbox_of("other")))).unwrap();
    block_on(origin.lend(&snapshot_id, &sandbox("agent-7"))).fails_as(Code::SnapshotNotFound);
}

#[test]
fn what_is_lent_was_used() {
    let stage = Stage::with_work();
    let forked = stage.forks(WORK, &json!({ "newName": "other", "count": 1 })).unwrap();
    let snapshot_id = serde_json::from_value(forked["snapshotId"].clone()).unwrap();
    let ledger = stage.ledger(&stage.sandbox_of(WORK));
    let before = ledger.snapshot(&snapshot_id).unwrap().unwrap().last_used_at;
    stage.world.pass(DAY);
    stage.world.stops(&stage.sandbox_of("other"));
    stage.starts("other", &json!({})).unwrap();
    assert!(ledger.snapshot(&snapshot_id).unwrap().unwrap().last_used_at > before);
}

#[test]
fn a_workspace_that_is_started_now_and_then_keeps_its_snapshot() {
    let stage = Stage::with_stopped_work();
    for _ in 0..4 {
        stage.passes(20 * DAY);
        stage.starts(WORK, &json!({})).unwrap();
        assert_eq!(stage.file(WORK).unwrap(), "first");
        stage.world.stops(&stage.sandbox_of(WORK));
    }
}

#[test]
fn a_stopped_workspace_outlives_every_expiration() {
    let stage = Stage::with_stopped_work_as(&json!({ "retention": { "expirationSeconds": 60 } }));
    stage.passes(400 * DAY);
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn a_fork_that_was_never_stopped_outlives_every_expiration() {
    let stage =
        Stage::with_work_as(&json!({ "retention": { "expirationSeconds": 60 }, "expiry": { "idleSeconds": 0 } }));
    stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    stage.world.pass(MINUTE);
    stage.stops(WORK).unwrap();
    stage.world.stops(&stage.sandbox_of("other"));
    stage.passes(400 * DAY);
    stage.starts("other", &json!({})).unwrap();
    assert_eq!(stage.file("other").unwrap(), "first");
}

#[test]
fn the_snapshots_of_a_workspace_are_found_by_its_own_tenant_only() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    let selection =
        || Selection::decode(&json!({ "sandboxId": id, "snapshotId": stage.snapshots_of(&id)[0] })).unwrap();
    let find = |tenant: &str| block_on(stage.of(&id).find(selection(), &Tenant::parse(tenant).unwrap()));
    assert_eq!(find("default").unwrap().origin_id.as_str(), id);
    find("other").fails_as(Code::CrossSession);
}

#[test]
fn a_snapshot_in_which_nothing_is_left_is_not_found() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    let selection = Selection::decode(&by_ref(&snapshot)).unwrap();
    block_on(stage.of("agent-42").find(selection, &Tenant::fallback())).fails_as(Code::SnapshotNotFound);
}

#[test]
fn a_snapshot_that_its_owner_deletes_by_force_leaves_the_one_before() {
    let stage = Stage::with_work();
    stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    stage.world.pass(MINUTE);
    let second = stage.saves("other", "second");
    let selection = json!({ "sandboxId": stage.sandbox_of("other"), "snapshotId": second, "force": true });
    stage.run(Operation::Delete, &selection).unwrap();
    stage.starts("other", &json!({})).unwrap();
    assert_eq!(stage.file("other").unwrap(), "first");
}

#[test]
fn the_files_of_a_workspace_that_has_stopped_are_not_deleted_unasked() {
    let stage = Stage::with_work();
    stage.world.pass(MINUTE);
    let last = stage.saves(WORK, "second");
    let selection = json!({ "sandboxId": stage.sandbox_of(WORK), "snapshotId": last });
    let error = stage.run(Operation::Delete, &selection).fails_as(Code::SnapshotHeld);
    assert!(error.message().contains("\"work\""), "{error}");
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn an_older_snapshot_of_a_workspace_that_has_stopped_can_be_deleted() {
    let stage = Stage::with_work();
    let first = stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.pass(MINUTE);
    stage.saves(WORK, "second");
    stage.run(Operation::Delete, &json!({ "sandboxId": stage.sandbox_of(WORK), "snapshotId": first })).unwrap();
}

#[test]
fn the_newest_snapshot_of_a_workspace_that_runs_can_be_deleted() {
    let stage = Stage::with_work();
    let last = stage.saves(WORK, "second");
    stage.starts(WORK, &json!({})).unwrap();
    stage.run(Operation::Delete, &json!({ "sandboxId": stage.sandbox_of(WORK), "snapshotId": last })).unwrap();
}

#[test]
fn a_source_that_cannot_be_asked_is_no_reason_to_start_with_nothing() {
    let stage = Stage::with_work();
    stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    stage.world.stops(&stage.sandbox_of("other"));
    stage.world.before(Method::Lend).fails_in_passing();
    stage.starts("other", &json!({ "allowEmpty": true })).fails_as(Code::WorkspaceUnavailable);
    stage.world.goes_well();
    assert_eq!(stage.starts("other", &json!({})).unwrap()["how"], "restored");
}

#[test]
fn a_workspace_is_started_from_the_newest_whole_snapshot_however_many_partial_ones_came_since() {
    for partial in [19, 20, 21] {
        let stage = Stage::with_stopped_work();
        stage.starts(WORK, &json!({})).unwrap();
        let id = stage.sandbox_of(WORK);
        for _ in 0..partial {
            stage.run(Operation::Snapshot, &json!({ "sandboxId": id, "excludes": ["*.log"] })).unwrap();
        }
        stage.world.stops(&id);
        assert_eq!(stage.starts(WORK, &json!({})).unwrap()["how"], "restored", "{partial}");
        assert_eq!(stage.file(WORK).unwrap(), "first");
    }
}

#[test]
fn one_whose_newest_snapshot_is_known_to_be_damaged_is_not_started_from_an_older_one() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    let newest = stage.saves(WORK, "second");
    let id = stage.sandbox_of(WORK);
    let ledger = stage.ledger(&id);
    let mut row = ledger.snapshot(&serde_json::from_value(newest).unwrap()).unwrap().unwrap();
    let backup = row.stored().unwrap().backup.id().to_string();
    stage.world.spoil(|stored| {
        if stored.id().as_str() == backup {
            stored.archive = None;
        }
    });
    stage.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
    row = ledger.snapshot(&row.snapshot_id).unwrap().unwrap();
    assert!(row.stored().unwrap().damage.is_some());
    stage.starts(WORK, &json!({})).fails_as(Code::BackupIncomplete);
}
