//! Production mode: archives are mounted below overlays.

use sandbox_snapshotter::model::{FullReason, Runtime, SnapshotForm, SnapshotRequest};
use serde_json::json;

use super::{changed_sandbox, restored_files, take, workspace_of};
use crate::support::{DAY, FILE, Fixture, HOUR, MINUTE, WORKSPACE, sandbox};

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
