//! A snapshot that is much smaller than the previous one is valid but suspect; retention keeps the previous one longer.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{SizeDrop, SnapshotRef, SnapshotRequest, TakenSnapshot};
use serde_json::json;

use crate::support::{DAY, Fixture, MINUTE, Method, by_ref, sandbox};

const LARGE_ARCHIVE: usize = 2_000_000;

/// Returns a sandbox whose policy keeps one snapshot, with a snapshot whose archive has `bytes` bytes.
fn with_archive_of(bytes: usize) -> (Fixture, SnapshotRef) {
    let fixture = Fixture::with_sandbox();
    let first = capture_archive(&fixture, bytes).snapshot;
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 }, "expirationSeconds": 0 } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    (fixture, first)
}

/// Takes a snapshot whose archive has `bytes` bytes.
fn capture_archive(fixture: &Fixture, bytes: usize) -> TakenSnapshot {
    fixture.world.advance_clock(MINUTE);
    fixture.world.clear_faults();
    fixture.world.after(Method::CreateBackup).run(move |world| world.edit_backups(|backup| backup.resize(bytes)));
    let request = SnapshotRequest { fresh: true, ..SnapshotRequest::of(sandbox("agent-42")) };
    let taken = fixture.capture(request).unwrap();
    fixture.world.clear_faults();
    taken
}

fn snapshot_exists(fixture: &Fixture, snapshot: &SnapshotRef) -> bool {
    fixture.run(Operation::Get, &by_ref(snapshot)).is_ok_and(|row| row["state"] == "ready")
}

#[test]
fn capture_below_two_percent_of_previous_size_is_suspect_and_newest() {
    let (fixture, _) = with_archive_of(LARGE_ARCHIVE);
    let taken = capture_archive(&fixture, LARGE_ARCHIVE / 50 - 1);
    assert_eq!(
        taken.capture.suspect,
        Some(SizeDrop { before: LARGE_ARCHIVE as u64, after: (LARGE_ARCHIVE / 50 - 1) as u64 })
    );
    assert!(!taken.capture.rescue);
}

#[test]
fn capture_that_shrank_less_or_from_small_size_is_not_suspect() {
    for (before, after) in [(LARGE_ARCHIVE, LARGE_ARCHIVE / 50), (1_000_000, 4096), (LARGE_ARCHIVE, LARGE_ARCHIVE * 2)]
    {
        let (fixture, _) = with_archive_of(before);
        assert_eq!(capture_archive(&fixture, after).capture.suspect, None, "{before} {after}");
    }
}

#[test]
fn snapshot_before_suspect_one_is_kept_for_seven_days() {
    let (fixture, first) = with_archive_of(LARGE_ARCHIVE);
    capture_archive(&fixture, 4096);
    fixture.advance_with_alarms(7 * DAY - MINUTE);
    assert!(snapshot_exists(&fixture, &first));
    fixture.advance_with_alarms(DAY);
    assert!(!snapshot_exists(&fixture, &first));
}

#[test]
fn snapshot_before_suspect_one_is_kept_until_a_later_snapshot() {
    let (fixture, first) = with_archive_of(LARGE_ARCHIVE);
    let suspect = capture_archive(&fixture, 4096).snapshot;
    capture_archive(&fixture, 4096);
    fixture.advance_with_alarms(10 * MINUTE);
    assert!(!snapshot_exists(&fixture, &first) && !snapshot_exists(&fixture, &suspect));
}

#[test]
fn retention_explains_why_snapshot_before_suspect_one_is_kept() {
    let (fixture, first) = with_archive_of(LARGE_ARCHIVE);
    capture_archive(&fixture, 4096);
    let plan = fixture.run(Operation::Retention, &json!({ "sandboxId": "agent-42" })).unwrap();
    let decisions = plan["decisions"].as_array().unwrap();
    let decision = decisions.iter().find(|row| row["snapshotId"] == json!(first.snapshot_id())).unwrap();
    assert_eq!(decision["keep"], true);
    assert!(decision["reasons"][0].as_str().unwrap().starts_with("the next snapshot is much smaller"), "{decision}");
}
