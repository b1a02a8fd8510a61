//! The references between a base and its deltas: deletion, retention, the sweep, and what answers show.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Runtime, SnapshotRef, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::{changed_sandbox, lose_archive, request, restored_files, take};
use crate::support::{DAY, ExpectError, Fixture, MINUTE, Method, by_id, by_ref, sandbox};

#[test]
fn deleted_delta_no_longer_counts() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    for _ in 0..40 {
        let delta = take(&fixture);
        assert_eq!(delta.capture.base.as_ref(), Some(base.snapshot.snapshot_id()));
        fixture.run(Operation::Delete, &by_ref(&delta.snapshot)).unwrap();
    }
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn deleted_base_is_hidden_and_its_archive_stays_until_the_last_delta_is_deleted() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let deltas = [take(&fixture), take(&fixture)].map(|taken| taken.snapshot);
    let files = fixture.world.files("agent-42");
    let deletion = fixture.run(Operation::Delete, &by_ref(&base.snapshot)).unwrap();
    let ids = deltas.each_ref().map(SnapshotRef::snapshot_id);
    let expires_at = fixture.ledger("agent-42").snapshot(ids[1]).unwrap().unwrap().expires_at;
    let kept = json!({ "bytes": base.capture.size_bytes, "deltas": ids, "until": expires_at });
    assert_eq!(deletion, json!({ "snapshotId": base.snapshot.snapshot_id(), "removed": true, "kept": kept }));
    assert_eq!(fixture.world.backup_ids().len(), 3);
    fixture.restore(&base.snapshot).expect_code(Code::SnapshotNotFound);
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(page["snapshots"].as_array().unwrap().len(), 2);
    fixture.run(Operation::Delete, &by_ref(&deltas[0])).unwrap();
    assert_eq!(fixture.world.backup_ids().len(), 2);
    assert_eq!(restored_files(&fixture, &deltas[1]), files);
    let with_force = json!({ "sandboxId": "agent-42", "snapshotId": ids[1], "force": true });
    fixture.run(Operation::Delete, &with_force).unwrap();
    assert_eq!(fixture.world.backup_ids(), [""; 0]);
}

fn with_deltas(snapshot: &SnapshotRef, choice: &str) -> Value {
    let mut arguments = by_ref(snapshot);
    arguments["deltas"] = json!(choice);
    arguments
}

#[test]
fn deltas_are_deleted_with_their_base_on_request() {
    for is_hidden in [false, true] {
        let (fixture, base) = changed_sandbox(Runtime::Container);
        let deltas = [take(&fixture), take(&fixture)].map(|taken| taken.snapshot);
        let ids = deltas.each_ref().map(SnapshotRef::snapshot_id);
        if is_hidden {
            fixture.run(Operation::Delete, &with_deltas(&base.snapshot, "keep")).unwrap();
        }
        let deletion = fixture.run(Operation::Delete, &with_deltas(&base.snapshot, "delete")).unwrap();
        let id = base.snapshot.snapshot_id();
        assert_eq!(deletion, json!({ "snapshotId": id, "removed": !is_hidden, "deltas": ids }));
        assert_eq!(fixture.world.backup_ids(), [""; 0]);
        fixture.restore(&deltas[0]).expect_code(Code::SnapshotNotFound);
        fixture.assert_nothing_pending();
    }
}

#[test]
fn deltas_are_not_deleted_with_their_base_while_one_of_them_is_needed() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let [pinned, other] = [take(&fixture), take(&fixture)].map(|taken| taken.snapshot);
    fixture.run(Operation::Pin, &by_ref(&pinned)).unwrap();
    let mut arguments = with_deltas(&base.snapshot, "delete");
    let error = fixture.run(Operation::Delete, &arguments).expect_code(Code::SnapshotHasDependents);
    assert!(error.message().contains(pinned.snapshot_id().as_str()), "{}", error.message());
    assert_eq!(fixture.world.backup_ids().len(), 3);
    for snapshot in [&base.snapshot, &pinned, &other] {
        fixture.restore(snapshot).unwrap();
    }
    arguments["force"] = json!(true);
    fixture.run(Operation::Delete, &arguments).unwrap();
    assert_eq!(fixture.world.backup_ids(), [""; 0]);
}

#[test]
fn base_is_not_deleted_with_a_delta_that_is_being_created() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let gate = fixture.world.before(Method::CreateBackup).nth(2).block();
    let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    fixture.run(Operation::Delete, &with_deltas(&base.snapshot, "delete")).expect_code(Code::SnapshotBusy);
    gate.open();
    let delta = capture.answer().unwrap();
    assert_eq!(delta["capture"]["base"], json!(base.snapshot.snapshot_id()));
    fixture.restore(&base.snapshot).unwrap();
}

#[test]
fn deleted_base_frees_its_label() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let labelled = || {
        let label = Some("release".to_owned().try_into().unwrap());
        fixture.capture(SnapshotRequest { label, incremental: Some(true), ..request() })
    };
    fixture.world.with_container(&sandbox("agent-42"), |container, _| container.deltas.inventory = None);
    let base = labelled().unwrap();
    let delta = take(&fixture).snapshot;
    fixture.run(Operation::Delete, &by_ref(&base.snapshot)).unwrap();
    labelled().unwrap();
    fixture.run(Operation::Delete, &by_ref(&delta)).unwrap();
    assert!(!fixture.world.backup_ids().contains(&base.snapshot.backup().id().to_string()));
    fixture.assert_nothing_pending();
}

#[test]
fn sweep_keeps_the_archive_of_a_deleted_base() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    fixture.run(Operation::Delete, &by_ref(&base.snapshot)).unwrap();
    fixture.world.advance_clock(30 * DAY);
    let swept = fixture.run(Operation::Sweep, &json!({ "graceSeconds": 86_400 })).unwrap();
    assert_eq!((&swept["deleted"], &swept["owned"]), (&json!(0), &json!(2)));
    fixture.restore(&delta).unwrap();
}

#[test]
fn evicted_base_stays_for_its_deltas() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    fixture.advance_with_alarms(MINUTE);
    fixture.run(Operation::Get, &by_id(&base.snapshot)).map(|row| row["state"].clone()).unwrap();
    assert_eq!(fixture.world.backup_ids().len(), 2);
    fixture.restore(&delta).unwrap();
}

#[test]
fn list_and_manifest_show_the_base_and_its_deltas() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture);
    let shown = fixture.run(Operation::Manifest, &by_ref(&delta.snapshot)).unwrap();
    let total = delta.capture.total_bytes;
    assert_eq!((&shown["form"], &shown["totalBytes"]), (&json!("delta"), &json!(total)));
    assert_eq!(shown["base"], json!(base.snapshot.snapshot_id()));
    let shown = fixture.run(Operation::Manifest, &by_ref(&base.snapshot)).unwrap();
    assert_eq!((&shown["deltas"], &shown["form"]), (&json!([delta.snapshot.snapshot_id()]), &Value::Null));
    assert_eq!(shown["fullReason"], json!("noBase"));
}

#[test]
fn own_and_shared_bytes_add_up() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let bytes = |fixture: &Fixture, snapshot: &SnapshotRef| {
        let shown = fixture.run(Operation::Get, &by_ref(snapshot)).unwrap();
        (shown["ownBytes"].as_u64().unwrap(), shown["sharedBytes"].as_u64().unwrap())
    };
    let size = base.capture.stored_bytes;
    assert_eq!(bytes(&fixture, &base.snapshot), (size, 0));
    let delta = take(&fixture);
    assert_eq!(bytes(&fixture, &base.snapshot), (0, size));
    assert_eq!(bytes(&fixture, &delta.snapshot), (delta.capture.stored_bytes, size));
    fixture.run(Operation::Delete, &by_ref(&delta.snapshot)).unwrap();
    assert_eq!(bytes(&fixture, &base.snapshot), (size, 0));
}

#[test]
fn lineage_shows_the_base_of_a_delta() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture);
    let tree = fixture.run(Operation::Lineage, &json!({ "sandboxId": "agent-42" })).unwrap();
    let shown = &tree["root"]["snapshots"];
    assert_eq!((&shown[0]["form"], &shown[0]["base"]), (&json!("delta"), &json!(base.snapshot.snapshot_id())));
    assert_eq!(shown[0]["totalBytes"], json!(delta.capture.total_bytes));
    assert_eq!((&shown[1]["form"], &shown[1]["base"]), (&Value::Null, &Value::Null));
}

#[test]
fn deltas_of_a_damaged_base_do_not_count_in_retention() {
    for (is_base_verified, is_base_deleted) in [(true, false), (false, false), (false, true)] {
        let fixture = Fixture::incremental(Runtime::Container);
        fixture.start_sandbox("agent-42");
        let older = fixture.capture(SnapshotRequest { incremental: Some(false), ..request() }).unwrap().snapshot;
        let base = take(&fixture).snapshot;
        let deltas = [take(&fixture), take(&fixture)].map(|taken| taken.snapshot);
        if is_base_deleted {
            fixture.run(Operation::Delete, &by_ref(&base)).unwrap();
        }
        lose_archive(&fixture, &base);
        let verified = if is_base_verified { &base } else { &deltas[0] };
        assert_eq!(fixture.run(Operation::Verify, &by_ref(verified)).unwrap()["ok"], json!(false));
        let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
        fixture.run(Operation::SetRetention, &policy).unwrap();
        fixture.advance_with_alarms(MINUTE);
        let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
        let restorable = |row: &&Value| row["restorable"] == json!("yes");
        let kept: Vec<_> = page["snapshots"].as_array().unwrap().iter().filter(restorable).collect();
        assert_eq!((kept.len(), &kept[0]["snapshotId"]), (1, &json!(older.snapshot_id())), "{page}");
        fixture.restore(&older).unwrap();
    }
}
