//! The restore of a base and a delta.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{ArchiveFormat, Code, FullReason, Runtime, SnapshotForm, SnapshotRequest};
use serde_json::json;

use super::{RUNTIMES, changed_sandbox, lose_archive, restored_files, take};
use crate::support::{ExpectError, FILE, Fixture, HOUR, by_ref};

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
fn damage_of_the_base_is_damage_of_its_deltas() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let check = |fixture: &Fixture| fixture.run(Operation::Verify, &by_ref(&delta)).unwrap();
    assert_eq!(check(&fixture)["ok"], json!(true));
    lose_archive(&fixture, &base.snapshot);
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
fn first_snapshot_of_a_restored_sandbox_is_full() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let delta = take(&fixture).snapshot;
    let restored = fixture.restore(&delta).unwrap().sandbox_id().clone();
    fixture.world.advance_clock(HOUR);
    let taken = fixture.capture(SnapshotRequest::of(restored)).unwrap();
    assert_eq!((taken.capture.form, taken.capture.reason), (SnapshotForm::Full, Some(FullReason::NoBase)));
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
