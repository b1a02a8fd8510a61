//! The snapshot that a sandbox is restored from, and the sandboxes that may get it.

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::named::Tenant;
use sandbox_snapshotter::model::{Code, Selection};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{DAY, ExpectError, Fixture, MINUTE, Method, WORKSPACE, by_ref, sandbox};

/// The fork `other` of `work`. Its container has ended, and its source snapshot was deleted by force.
fn fork_without_source() -> Fixture {
    let fixture = Fixture::with_workspace();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    let snapshot = json!({ "sandboxId": forked["originId"], "snapshotId": forked["snapshotId"], "force": true });
    fixture.run(Operation::Delete, &snapshot).unwrap();
    fixture.world.end_container(&fixture.sandbox_of("other"));
    fixture
}

#[test]
fn start_fails_when_source_snapshot_was_deleted_by_force() {
    let fixture = fork_without_source();
    let error = fixture.start_workspace("other", &json!({})).expect_code(Code::NothingRestorable);
    assert!(error.message().contains("no longer exists") || error.message().contains("deleted"), "{error}");
    assert_eq!(fixture.start_workspace("other", &json!({ "allowEmpty": true })).unwrap()["how"], "empty");
}

#[test]
fn get_for_restore_serves_only_sandboxes_derived_from_the_snapshot() {
    let fixture = Fixture::with_workspace();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    let snapshot_id = serde_json::from_value(forked["snapshotId"].clone()).unwrap();
    let origin = fixture.snapshotter(&fixture.sandbox_of(WORKSPACE));
    block_on(origin.get_for_restore(&snapshot_id, &sandbox(&fixture.sandbox_of("other")))).unwrap();
    block_on(origin.get_for_restore(&snapshot_id, &sandbox("agent-7"))).expect_code(Code::SnapshotNotFound);
}

#[test]
fn get_for_restore_updates_last_used_at() {
    let fixture = Fixture::with_workspace();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other", "count": 1 })).unwrap();
    let snapshot_id = serde_json::from_value(forked["snapshotId"].clone()).unwrap();
    let ledger = fixture.ledger(&fixture.sandbox_of(WORKSPACE));
    let before = ledger.snapshot(&snapshot_id).unwrap().unwrap().last_used_at;
    fixture.world.advance_clock(DAY);
    fixture.world.end_container(&fixture.sandbox_of("other"));
    fixture.start_workspace("other", &json!({})).unwrap();
    assert!(ledger.snapshot(&snapshot_id).unwrap().unwrap().last_used_at > before);
}

#[test]
fn snapshot_does_not_expire_when_workspace_is_started_regularly() {
    let fixture = Fixture::with_stopped_workspace();
    for _ in 0..4 {
        fixture.advance_with_alarms(20 * DAY);
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
        fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    }
}

#[test]
fn newest_snapshot_of_stopped_workspace_never_expires() {
    let fixture = Fixture::with_stopped_workspace_options(&json!({ "retention": { "expirationSeconds": 60 } }));
    fixture.advance_with_alarms(400 * DAY);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn source_snapshot_of_never_stopped_fork_never_expires() {
    let fixture = Fixture::with_workspace_options(
        &json!({ "retention": { "expirationSeconds": 60 }, "expiry": { "idleSeconds": 0 } }),
    );
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.end_container(&fixture.sandbox_of("other"));
    fixture.advance_with_alarms(400 * DAY);
    fixture.start_workspace("other", &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file("other").unwrap(), "first");
}

#[test]
fn find_snapshot_refuses_another_tenant() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    let selection =
        || Selection::decode(&json!({ "sandboxId": id, "snapshotId": fixture.snapshots_of(&id)[0] })).unwrap();
    let find =
        |tenant: &str| block_on(fixture.snapshotter(&id).find_snapshot(selection(), &Tenant::parse(tenant).unwrap()));
    assert_eq!(find("default").unwrap().snapshot.origin_id.as_str(), id);
    find("other").expect_code(Code::CrossLineage);
}

#[test]
fn find_snapshot_fails_when_snapshot_is_deleted() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    let selection = Selection::decode(&by_ref(&snapshot)).unwrap();
    block_on(fixture.snapshotter("agent-42").find_snapshot(selection, &Tenant::default_tenant()))
        .expect_code(Code::SnapshotNotFound);
}

#[test]
fn start_restores_source_snapshot_after_newest_is_deleted_by_force() {
    let fixture = Fixture::with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    fixture.world.advance_clock(MINUTE);
    let second = fixture.stop_with_content("other", "second");
    let selection = json!({ "sandboxId": fixture.sandbox_of("other"), "snapshotId": second, "force": true });
    fixture.run(Operation::Delete, &selection).unwrap();
    fixture.start_workspace("other", &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file("other").unwrap(), "first");
}

#[test]
fn start_fails_instead_of_starting_empty_when_source_is_unavailable() {
    let fixture = Fixture::with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    fixture.world.end_container(&fixture.sandbox_of("other"));
    fixture.world.before(Method::GetForRestore).fail_transiently();
    fixture.start_workspace("other", &json!({ "allowEmpty": true })).expect_code(Code::WorkspaceUnavailable);
    fixture.world.clear_faults();
    assert_eq!(fixture.start_workspace("other", &json!({})).unwrap()["how"], "restored");
}

#[test]
fn start_restores_newest_complete_snapshot_behind_many_partial_ones() {
    for partial in [19, 20, 21] {
        let fixture = Fixture::with_stopped_workspace();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        let id = fixture.sandbox_of(WORKSPACE);
        for _ in 0..partial {
            fixture.run(Operation::Snapshot, &json!({ "sandboxId": id, "excludes": ["*.log"] })).unwrap();
        }
        fixture.world.end_container(&id);
        assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "restored", "{partial}");
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    }
}

#[test]
fn start_fails_instead_of_restoring_older_when_newest_is_damaged() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let newest = fixture.stop_with_content(WORKSPACE, "second");
    let id = fixture.sandbox_of(WORKSPACE);
    let ledger = fixture.ledger(&id);
    let mut row = ledger.snapshot(&serde_json::from_value(newest).unwrap()).unwrap().unwrap();
    let backup = row.stored().unwrap().backup.id().to_string();
    fixture.world.edit_backups(|stored| {
        if stored.id().as_str() == backup {
            stored.archive = None;
        }
    });
    fixture.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
    row = ledger.snapshot(&row.snapshot_id).unwrap().unwrap();
    assert!(row.stored().unwrap().damage.is_some());
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::BackupIncomplete);
}
