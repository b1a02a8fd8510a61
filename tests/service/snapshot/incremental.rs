//! Incremental snapshots: a delta contains what changed since its base, is restored together with it, and is made only where
//! the changes are certain.

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{
    ArchiveFormat, Code, FullReason, Runtime, Selection, SnapshotForm, SnapshotRef, SnapshotRequest, TakenSnapshot,
};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{
    DAY, ExpectError, FILE, Fixture, HOUR, MINUTE, Method, Setup, WORKSPACE, by_id, by_ref, crash_at_every_call,
    fail_every_call_permanently, fail_every_call_transiently, no_expiry, sandbox,
};

const RUNTIMES: [Runtime; 2] = [Runtime::Sdk012, Runtime::Container];

/// A sandbox with two files and a full snapshot, in which one file was changed since.
fn changed_sandbox(runtime: Runtime) -> (Fixture, TakenSnapshot) {
    let fixture = Fixture::incremental(runtime);
    fixture.start_sandbox("agent-42");
    fixture.world.write_file("agent-42", "/workspace/large", &"x".repeat(1000));
    let base = take(&fixture);
    fixture.world.advance_clock(MINUTE);
    fixture.world.write_file("agent-42", FILE, "second");
    (fixture, base)
}

fn request() -> SnapshotRequest {
    SnapshotRequest::of(sandbox("agent-42"))
}

fn take(fixture: &Fixture) -> TakenSnapshot {
    fixture.capture(request()).unwrap()
}

fn restored_files(fixture: &Fixture, snapshot: &SnapshotRef) -> Option<std::collections::BTreeMap<String, String>> {
    let restored = fixture.restore(snapshot).unwrap();
    fixture.world.files(restored.sandbox_id().as_str())
}

#[test]
fn second_snapshot_stores_only_what_changed() {
    for runtime in RUNTIMES {
        let (fixture, base) = changed_sandbox(runtime);
        let delta = take(&fixture);
        assert_eq!((base.capture.form, base.capture.reason), (SnapshotForm::Full, Some(FullReason::NoBase)));
        assert_eq!((delta.capture.form, delta.capture.reason), (SnapshotForm::Delta, None));
        assert_eq!(delta.capture.base.as_ref(), Some(base.snapshot.snapshot_id()));
        assert_eq!(delta.capture.total_bytes, delta.capture.stored_bytes + base.capture.stored_bytes);
        let stored = &fixture.world.backup_options()[1];
        assert!(stored.dir.as_str().starts_with("/var/tmp/.sandbox-snapshotter.delta.snap-"), "{}", stored.dir);
        let files = fixture.world.files("agent-42").unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["/workspace/large", FILE]);
    }
}

#[test]
fn restore_and_branch_of_delta_have_the_files_of_the_capture() {
    for runtime in RUNTIMES {
        let (fixture, _) = changed_sandbox(runtime);
        fixture.world.write_file("agent-42", "/workspace/new", "n");
        fixture.world.remove_file("agent-42", "/workspace/large");
        let files = fixture.world.files("agent-42");
        let delta = take(&fixture).snapshot;
        fixture.world.write_file("agent-42", FILE, "later");
        assert_eq!(restored_files(&fixture, &delta), files);
        let branch = fixture.branch(&delta).unwrap();
        assert_eq!(fixture.world.files(branch.sandbox_id().as_str()), files);
    }
}

#[test]
fn restore_of_delta_leaves_no_file_of_the_image() {
    let (fixture, _) = changed_sandbox(Runtime::Sdk012);
    let delta = take(&fixture).snapshot;
    let files = fixture.world.files("agent-42");
    fixture.world.add_image_file("/workspace/of-image", "i");
    assert_eq!(restored_files(&fixture, &delta), files);
}

#[test]
fn every_delta_is_based_on_the_same_full_snapshot() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    for content in ["second", "third", "fourth"] {
        fixture.world.write_file("agent-42", FILE, content);
        let delta = take(&fixture);
        assert_eq!(delta.capture.base.as_ref(), Some(base.snapshot.snapshot_id()));
        assert_eq!(restored_files(&fixture, &delta.snapshot).unwrap()[FILE], content);
    }
}

#[test]
fn caller_and_deployment_decide_whether_snapshots_are_incremental() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let full = fixture.capture(SnapshotRequest { incremental: Some(false), ..request() }).unwrap();
    assert_eq!((full.capture.form, full.capture.reason), (SnapshotForm::Full, None));
    let fixture = Fixture::with_sandbox();
    fixture.world.reset_calls();
    assert_eq!(take(&fixture).capture.reason, None);
    assert_eq!(fixture.world.call_count(Method::BeginCapture), 0);
    for expected in [SnapshotForm::Full, SnapshotForm::Delta] {
        let taken = fixture.capture(SnapshotRequest { incremental: Some(true), ..request() }).unwrap();
        assert_eq!(taken.capture.form, expected);
    }
}

/// Asserts that the next snapshot is full, for a reason, and contains all files.
fn assert_full(fixture: &Fixture, request: SnapshotRequest, reason: FullReason) {
    let files = fixture.world.files("agent-42");
    let taken = fixture.capture(request).unwrap();
    assert_eq!((taken.capture.form, taken.capture.reason), (SnapshotForm::Full, Some(reason)));
    assert_eq!(restored_files(fixture, &taken.snapshot), files, "{reason:?}");
}

#[test]
fn snapshot_is_full_where_the_base_is_not_usable() {
    type Change = fn(&Fixture, &TakenSnapshot);
    let cases: [(FullReason, Change); 6] = [
        (FullReason::BaseOld, |fixture, _| fixture.world.advance_clock(8 * DAY)),
        (FullReason::BaseUnusable, |fixture, base| {
            fixture.run(Operation::Delete, &by_ref(&base.snapshot)).unwrap();
        }),
        (FullReason::BaseUnusable, |fixture, base| {
            fixture.world.edit_archives(|archive| archive.truncate(50));
            fixture.run(Operation::Verify, &by_ref(&base.snapshot)).unwrap();
            fixture.world.edit_archives(|archive| archive.resize(6000, 0));
        }),
        (FullReason::Container, |fixture, _| {
            fixture.world.with_container(&sandbox("agent-42"), |container, _| container.deltas.inventory = None);
        }),
        (FullReason::Inventory, |fixture, _| {
            fixture.world.with_container(&sandbox("agent-42"), |container, _| {
                container.deltas.inventory.as_mut().unwrap().base.inventory = "0".repeat(64);
            });
        }),
        (FullReason::Changing, |fixture, _| {
            fixture.world.with_container(&sandbox("agent-42"), |container, _| {
                container.deltas.refusal = Some(FullReason::Changing);
            });
        }),
    ];
    for (reason, change) in cases {
        let (fixture, base) = changed_sandbox(Runtime::Container);
        change(&fixture, &base);
        assert_full(&fixture, request(), reason);
    }
}

#[test]
fn snapshot_with_exclusions_or_of_another_directory_is_full() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    fixture.world.write_file("agent-42", "/workspace/a/b", "b");
    let other = SnapshotRequest { dir: Some("/workspace/a".to_owned().try_into().unwrap()), ..request() };
    assert_eq!(fixture.capture(other).unwrap().capture.reason, Some(FullReason::Directory));
    let excludes = SnapshotRequest { excludes: vec!["*.log".into()], ..request() };
    assert_eq!(fixture.capture(excludes).unwrap().capture.reason, Some(FullReason::Excludes));
}

#[test]
fn snapshot_over_another_mount_is_full() {
    let (fixture, _) = changed_sandbox(Runtime::Sdk012);
    fixture.world.with_container(&sandbox("agent-42"), |container, _| {
        container.mounted = Some("mounted".to_owned().try_into().unwrap());
    });
    assert_eq!(take(&fixture).capture.reason, Some(FullReason::Overlay));
}

#[test]
fn sandbox_whose_archives_are_mounted_has_deltas_of_its_first_snapshot() {
    let fixture = Fixture::incremental_in_production();
    fixture.start_sandbox("agent-42");
    fixture.world.write_file("agent-42", "/workspace/large", &"x".repeat(1000));
    let base = take(&fixture);
    fixture.world.write_file("agent-42", FILE, "second");
    let delta = take(&fixture);
    assert_eq!(delta.capture.base.as_ref(), Some(base.snapshot.snapshot_id()));
    assert_eq!(restored_files(&fixture, &delta.snapshot), fixture.world.files("agent-42"));
}

#[test]
fn first_snapshot_over_the_base_of_another_sandbox_is_full() {
    let fixture = Fixture::incremental_in_production();
    fixture.start_sandbox("agent-42");
    let base = take(&fixture);
    let restored = fixture.restore(&base.snapshot).unwrap().sandbox_id().clone();
    fixture.world.advance_clock(HOUR);
    let taken = fixture.capture(SnapshotRequest::of(restored)).unwrap();
    assert_eq!((taken.capture.form, taken.capture.reason), (SnapshotForm::Full, Some(FullReason::NoBase)));
}

#[test]
fn base_that_is_too_old_is_named_as_the_reason_over_its_mount() {
    let fixture = workspace_of(Fixture::incremental_in_production());
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(8 * DAY);
    fixture.write_workspace_file(WORKSPACE, "second");
    let taken = fixture.capture(SnapshotRequest::of(sandbox(&id))).unwrap();
    assert_eq!((taken.capture.form, taken.capture.reason), (SnapshotForm::Full, Some(FullReason::BaseOld)));
}

#[test]
fn full_snapshot_over_a_mounted_base_is_no_base_of_that_container() {
    let fixture = workspace_of(Fixture::incremental_in_production());
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let base = fixture.ledger(&id).live_snapshots().remove(0);
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "second");
    let request = || SnapshotRequest::of(sandbox(&id));
    fixture.capture(SnapshotRequest { incremental: Some(false), ..request() }).unwrap();
    fixture.write_workspace_file(WORKSPACE, "third");
    assert_eq!(fixture.capture(request()).unwrap().capture.base, Some(base.snapshot_id));
}

#[test]
fn rescue_snapshot_is_full_and_no_base() {
    let (fixture, _) = changed_sandbox(Runtime::Sdk012);
    fixture.world.replace_container("agent-42");
    fixture.world.write_file("agent-42", FILE, "other");
    let rescue = fixture.capture(SnapshotRequest { wake: true, ..request() }).unwrap();
    assert_eq!((rescue.capture.rescue, rescue.capture.reason), (true, Some(FullReason::Rescue)));
}

#[test]
fn thirty_third_delta_is_a_new_base() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    for number in 0..32 {
        fixture.world.write_file("agent-42", FILE, &number.to_string());
        assert_eq!(take(&fixture).capture.base.as_ref(), Some(base.snapshot.snapshot_id()));
    }
    let full = take(&fixture);
    assert_eq!((full.capture.form, full.capture.reason), (SnapshotForm::Full, Some(FullReason::BaseFull)));
    assert_eq!(take(&fixture).capture.base.as_ref(), Some(full.snapshot.snapshot_id()));
}

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
fn ref_of_delta_does_not_contain_the_handle_of_its_archive() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    assert!(!fixture.world.backup_ids().contains(&delta.backup().id().to_string()));
    assert_eq!(delta.backup().dir().as_str(), "/workspace");
}

#[test]
fn archive_of_changes_is_not_imported() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let row = fixture.ledger("agent-42").snapshot(delta.snapshot_id()).unwrap().unwrap();
    let backup = &row.stored().unwrap().backup;
    let handle = json!({ "id": backup.id(), "dir": backup.handle_dir(), "localBucket": true });
    fixture.ledger("agent-42").delete_snapshot(delta.snapshot_id()).unwrap();
    let arguments = json!({ "sandboxId": "agent-42", "backup": handle });
    fixture.run(Operation::Import, &arguments).expect_code(Code::RefMismatch);
}

#[test]
fn files_of_delta_are_not_read_from_its_archive() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let with = |name: &str, value: Value| {
        let mut arguments = by_ref(&delta);
        arguments[name] = value;
        arguments
    };
    let path = with("path", json!("large"));
    let mut restore = with("paths", json!(["large"]));
    restore["to"] = json!("agent-42");
    let calls = [
        (Operation::ListFiles, by_ref(&delta)),
        (Operation::StatFile, path.clone()),
        (Operation::ReadFile, path),
        (Operation::RestoreFiles, restore),
        (Operation::Diff, json!({ "from": by_ref(&base.snapshot), "to": by_ref(&delta) })),
        (Operation::Diff, json!({ "from": by_ref(&delta), "to": by_ref(&base.snapshot) })),
    ];
    for (operation, arguments) in calls {
        let error = fixture.run(operation, &arguments).expect_code(Code::ArchiveUnreadable);
        assert!(error.message().contains(base.snapshot.snapshot_id().as_str()), "{}", error.message());
    }
    // Downloads ask the object where the archive is.
    let selection = Selection::decode(&by_ref(&delta)).unwrap();
    block_on(fixture.snapshotter("agent-42").locate_snapshot(&selection)).expect_code(Code::ArchiveUnreadable);
}

#[test]
fn files_of_delta_are_not_written_to_another_sandbox() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let branch = fixture.branch(&delta).unwrap();
    let mut arguments = by_ref(&delta);
    (arguments["paths"], arguments["to"]) = (json!(["large"]), json!(branch.sandbox_id()));
    fixture.run(Operation::RestoreFiles, &arguments).expect_code(Code::ArchiveUnreadable);
}

#[test]
fn files_of_base_are_read_while_deltas_need_it() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    take(&fixture);
    let mut arguments = by_ref(&base.snapshot);
    arguments["path"] = json!("notes.txt");
    let read = fixture.run(Operation::ReadFile, &arguments).unwrap();
    assert_eq!(read["content"], json!("first"));
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
fn damage_of_the_base_is_damage_of_its_deltas() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let check = |fixture: &Fixture| fixture.run(Operation::Verify, &by_ref(&delta)).unwrap();
    assert_eq!(check(&fixture)["ok"], json!(true));
    let id = base.snapshot.backup().id().clone();
    fixture.world.edit_backups(|backup| {
        if *backup.id() == id {
            backup.resize(5);
        }
    });
    assert_eq!(check(&fixture)["ok"], json!(false));
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(page["snapshots"][0]["restorable"], json!("no"));
    fixture.restore(&delta).expect_code(Code::BackupIncomplete);
}

/// Changes a file of the carriers in all backups.
fn edit_carriers(fixture: &Fixture, part: &str, change: impl Fn(&str) -> String) {
    fixture.world.edit_backups(|backup| {
        for (path, content) in &mut backup.capture.files {
            if path.ends_with(part) {
                *content = change(content);
            }
        }
    });
}

#[test]
fn restore_of_changed_carrier_fails_and_destroys_the_sandbox() {
    type Edit = fn(&str) -> String;
    let edits: [(&str, Edit); 4] = [
        ("/head", |head| head.replace("base", "bases")),
        ("/lists", |_| "[]".into()),
        ("/payload.tar", |payload| payload.replace("second", "forged")),
        ("/payload.tar", |_| "{}".into()),
    ];
    for (part, edit) in edits {
        let (fixture, _) = changed_sandbox(Runtime::Container);
        let delta = take(&fixture).snapshot;
        edit_carriers(&fixture, part, edit);
        let error = fixture.restore(&delta).expect_code(Code::RestoreFailed);
        assert!(error.message().contains("was destroyed"), "{error}");
        fixture.assert_no_minted_sandbox_runs();
    }
}

#[test]
fn restore_onto_another_base_fails() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let id = base.snapshot.backup().id().clone();
    fixture.world.edit_backups(|backup| {
        if *backup.id() == id {
            backup.capture.files.insert("/workspace/large".into(), "y".repeat(1000));
        }
    });
    let error = fixture.restore(&delta).expect_code(Code::RestoreFailed);
    assert!(error.message().contains("differ"), "{error}");
    fixture.assert_no_minted_sandbox_runs();
}

#[test]
fn carrier_that_changes_while_it_is_archived_is_discarded() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    fixture.world.before(Method::CreateBackup).nth(2).run(|world| {
        world.with_container(&sandbox("agent-42"), |container, _| {
            container.retain_files(|path| !path.ends_with("/lists"));
        });
    });
    fixture.capture(request()).expect_code(Code::OperationInterrupted);
    fixture.assert_nothing_pending();
    assert_eq!(fixture.world.backup_ids(), [base.snapshot.backup().id().to_string()]);
    assert_eq!(take(&fixture).capture.form, SnapshotForm::Delta);
}

#[test]
fn file_that_changes_while_the_base_is_archived_is_in_the_delta() {
    let fixture = Fixture::incremental(Runtime::Container);
    fixture.start_sandbox("agent-42");
    fixture.world.write_file("agent-42", "/workspace/large", &"x".repeat(1000));
    fixture.world.before(Method::CreateBackup).nth(1).run(|world| {
        world.write_file("agent-42", FILE, "during");
        world.write_file("agent-42", "/workspace/temporary", "t");
    });
    take(&fixture);
    fixture.world.write_file("agent-42", FILE, "first");
    fixture.world.remove_file("agent-42", "/workspace/temporary");
    let delta = take(&fixture);
    assert_eq!(delta.capture.form, SnapshotForm::Delta);
    assert_eq!(restored_files(&fixture, &delta.snapshot), fixture.world.files("agent-42"));
}

#[test]
fn first_snapshot_of_a_restored_sandbox_is_full() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let restored = fixture.restore(&delta).unwrap().sandbox_id().clone();
    fixture.world.advance_clock(HOUR);
    let taken = fixture.capture(SnapshotRequest::of(restored)).unwrap();
    assert_eq!((taken.capture.form, taken.capture.reason), (SnapshotForm::Full, Some(FullReason::NoBase)));
}

#[test]
fn deletion_of_most_files_is_suspect_in_a_delta() {
    let fixture = Fixture::incremental(Runtime::Container);
    fixture.start_sandbox("agent-42");
    fixture.world.write_file("agent-42", "/workspace/large", &"x".repeat(3_000_000));
    take(&fixture);
    fixture.world.write_file("agent-42", FILE, "second");
    assert_eq!(take(&fixture).capture.suspect, None);
    fixture.world.remove_file("agent-42", "/workspace/large");
    let delta = take(&fixture);
    assert_eq!((delta.capture.form, delta.capture.suspect.is_some()), (SnapshotForm::Delta, true));
}

fn active_workspace(runtime: Runtime) -> Fixture {
    workspace_of(Fixture::incremental(runtime))
}

fn workspace_of(fixture: Fixture) -> Fixture {
    fixture.create_workspace(WORKSPACE, &no_expiry()).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "first");
    fixture
}

#[test]
fn started_workspace_continues_with_deltas_of_the_same_base() {
    let fixtures = RUNTIMES.map(Fixture::incremental).into_iter().chain([Fixture::incremental_in_production()]);
    for fixture in fixtures.map(workspace_of) {
        let id = fixture.sandbox_of(WORKSPACE);
        let mut bases = Vec::new();
        for content in ["one", "two", "three", "four"] {
            fixture.write_workspace_file(WORKSPACE, content);
            let files = fixture.world.files(&id);
            fixture.stop_workspace(WORKSPACE).unwrap();
            fixture.world.advance_clock(MINUTE);
            let newest = fixture.ledger(&id).live_snapshots().remove(0);
            bases.push(newest.base_id().cloned());
            fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
            fixture.world.advance_clock(MINUTE);
            assert_eq!(fixture.world.files(&id), files, "{content}");
        }
        assert_eq!(bases[0], None);
        assert!(bases[1].is_some() && bases[1..].iter().all(|base| *base == bases[1]), "{bases:?}");
    }
}

#[test]
fn workspace_decides_whether_its_snapshots_are_incremental() {
    for (deployment, workspace) in [(true, false), (false, true)] {
        let fixture = if deployment { Fixture::incremental(Runtime::Container) } else { Fixture::empty() };
        let mut settings = no_expiry();
        settings["incremental"] = json!(workspace);
        fixture.create_workspace(WORKSPACE, &settings).unwrap();
        fixture.world.advance_clock(MINUTE);
        let id = fixture.sandbox_of(WORKSPACE);
        for content in ["one", "two"] {
            fixture.write_workspace_file(WORKSPACE, content);
            fixture.capture(SnapshotRequest::of(sandbox(&id))).unwrap();
        }
        assert_eq!(fixture.ledger(&id).live_snapshots()[0].base_id().is_some(), workspace);
        fixture.write_workspace_file(WORKSPACE, "three");
        fixture.update_workspace(WORKSPACE, &json!({ "incremental": !workspace })).unwrap();
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.world.advance_clock(MINUTE);
        fixture.write_workspace_file(WORKSPACE, "four");
        fixture.stop_workspace(WORKSPACE).unwrap();
        assert_eq!(fixture.ledger(&id).live_snapshots()[0].base_id().is_some(), !workspace);
    }
}

#[test]
fn fork_and_promotion_of_a_delta_have_its_files() {
    let fixtures = RUNTIMES.map(Fixture::incremental).into_iter().chain([Fixture::incremental_in_production()]);
    for fixture in fixtures.map(workspace_of) {
        let id = fixture.sandbox_of(WORKSPACE);
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.world.advance_clock(MINUTE);
        fixture.write_workspace_file(WORKSPACE, "second");
        let files = fixture.world.files(&id);
        fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork" })).unwrap();
        assert!(fixture.ledger(&id).live_snapshots()[0].base_id().is_some());
        fixture.start_workspace("fork", &json!({})).unwrap();
        assert_eq!(fixture.world.files(&fixture.sandbox_of("fork")), files);
        // The fork depends on the delta, which depends on its base.
        fixture.write_workspace_file(WORKSPACE, "third");
        fixture.promote_workspace(WORKSPACE, &json!({ "from": "fork" })).unwrap();
        assert_eq!(fixture.world.files(&fixture.sandbox_of(WORKSPACE)), files);
    }
}

#[test]
fn workspace_with_platform_snapshots_has_its_files_after_each_start() {
    let fixture = Fixture::incremental(Runtime::Container);
    fixture.world.enable_platform_snapshots();
    let mut settings = no_expiry();
    settings["storage"] = json!("both");
    fixture.create_workspace(WORKSPACE, &settings).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    for content in ["one", "two", "three"] {
        fixture.world.advance_clock(MINUTE);
        fixture.write_workspace_file(WORKSPACE, content);
        let files = fixture.world.files(&id);
        fixture.stop_workspace(WORKSPACE).unwrap();
        let newest = fixture.ledger(&id).live_snapshots().remove(0);
        let restored = fixture.run(Operation::Restore, &json!({ "sandboxId": id, "snapshotId": newest.snapshot_id }));
        let sandbox_id = restored.unwrap()["ref"]["sandboxId"].as_str().unwrap().to_owned();
        assert_eq!(fixture.world.files(&sandbox_id), files, "{content}");
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_eq!(fixture.world.files(&id), files, "{content}");
    }
}

#[test]
fn first_snapshot_after_a_start_over_files_of_the_image_is_full() {
    let fixture = active_workspace(Runtime::Sdk012);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.add_image_file("/workspace/of-image", "i");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.ledger(&id).live_snapshots()[0].base_id(), None);
}

#[test]
fn image_without_squashfs_has_deltas_that_the_sdk_cannot_restore() {
    let fixture = Fixture::incremental(Runtime::Container);
    fixture.world.set_archive_format(ArchiveFormat::TarZstd);
    fixture.start_sandbox("agent-42");
    take(&fixture);
    let delta = take(&fixture);
    assert_eq!(delta.capture.form, SnapshotForm::Delta);
    assert_eq!(restored_files(&fixture, &delta.snapshot), fixture.world.files("agent-42"));
}

const SCENARIOS: [(&str, Setup); 4] = [
    ("base", || {
        let fixture = Fixture::incremental(Runtime::Container);
        fixture.start_sandbox("agent-42");
        (fixture, Operation::Snapshot, json!({ "sandboxId": "agent-42", "label": "l", "idempotencyKey": "k" }))
    }),
    ("delta", || {
        let (fixture, _) = changed_sandbox(Runtime::Sdk012);
        (fixture, Operation::Snapshot, json!({ "sandboxId": "agent-42", "label": "l", "idempotencyKey": "k" }))
    }),
    ("restore of a delta", || {
        let (fixture, _) = changed_sandbox(Runtime::Sdk012);
        let delta = take(&fixture).snapshot;
        (fixture, Operation::Restore, json!({ "ref": delta, "idempotencyKey": "k" }))
    }),
    ("delete of the last delta of a deleted base", || {
        let (fixture, base) = changed_sandbox(Runtime::Container);
        let delta = take(&fixture).snapshot;
        fixture.run(Operation::Delete, &by_ref(&base.snapshot)).unwrap();
        (fixture, Operation::Delete, by_ref(&delta))
    }),
];

/// Asserts that nothing is pending, every listed snapshot can be restored, and the objects in R2 are those that the rows need.
fn assert_recovered(fixture: &Fixture) {
    fixture.world.run_background();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let mut needed = std::collections::BTreeSet::new();
    for row in page["snapshots"].as_array().unwrap() {
        assert_eq!((&row["state"], &row["restorable"]), (&json!("ready"), &json!("yes")), "{row}");
        let id = row["snapshotId"].as_str().unwrap().to_owned().try_into().unwrap();
        let row = fixture.ledger("agent-42").snapshot(&id).unwrap().unwrap();
        let backup = &row.stored().unwrap().backup;
        needed.insert(backup.id().to_string());
        needed.extend(backup.delta().map(|delta| delta.base.backup.id().to_string()));
        for delta in backup.deltas() {
            assert!(fixture.ledger("agent-42").snapshot(delta).unwrap().is_some(), "{delta}");
        }
    }
    assert_eq!(fixture.world.backup_ids(), needed.into_iter().collect::<Vec<_>>());
}

#[test]
fn alarms_recover_after_worker_dies_at_any_call() {
    crash_at_every_call(&SCENARIOS, |scenario| assert_recovered(&scenario.fixture));
}

#[test]
fn failure_of_any_call_leaves_nothing_behind() {
    fail_every_call_transiently(&SCENARIOS, |scenario, _| assert_recovered(&scenario.fixture));
    fail_every_call_permanently(&SCENARIOS, |scenario, _| assert_recovered(&scenario.fixture));
}
