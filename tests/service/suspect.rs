//! A snapshot that is much smaller than the one before counts, and the one before is spared.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{SnapshotRef, SnapshotRequest, Suspect, Taken};
use serde_json::json;

use super::support::{DAY, MINUTE, Method, Stage, by_ref, sandbox};

const LARGE: usize = 2_000_000;

/// A sandbox whose policy keeps one snapshot, with one of `bytes`.
fn with_archive_of(bytes: usize) -> (Stage, SnapshotRef) {
    let stage = Stage::with_sandbox();
    let first = captured(&stage, bytes).snapshot;
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 }, "expirationSeconds": 0 } });
    stage.run(Operation::SetRetention, &policy).unwrap();
    (stage, first)
}

/// Takes a snapshot whose archive has `bytes`.
fn captured(stage: &Stage, bytes: usize) -> Taken {
    stage.world.pass(MINUTE);
    stage.world.goes_well();
    stage.world.after(Method::CreateBackup).happens(move |world| world.spoil(|backup| backup.resize(bytes)));
    let request = SnapshotRequest { fresh: true, ..SnapshotRequest::of(sandbox("agent-42")) };
    let taken = stage.take(request).unwrap();
    stage.world.goes_well();
    taken
}

fn is_there(stage: &Stage, snapshot: &SnapshotRef) -> bool {
    stage.run(Operation::Get, &by_ref(snapshot)).is_ok_and(|row| row["state"] == "ready")
}

#[test]
fn a_capture_that_shrank_below_two_percent_says_so_and_is_the_newest() {
    let (stage, _) = with_archive_of(LARGE);
    let taken = captured(&stage, LARGE / 50 - 1);
    assert_eq!(taken.capture.suspect, Some(Suspect { before: LARGE as u64, after: (LARGE / 50 - 1) as u64 }));
    assert!(!taken.capture.rescue);
}

#[test]
fn a_capture_that_shrank_less_or_from_little_says_nothing() {
    for (before, after) in [(LARGE, LARGE / 50), (1_000_000, 4096), (LARGE, LARGE * 2)] {
        let (stage, _) = with_archive_of(before);
        assert_eq!(captured(&stage, after).capture.suspect, None, "{before} {after}");
    }
}

#[test]
fn the_snapshot_before_a_suspect_one_is_spared_for_seven_days() {
    let (stage, first) = with_archive_of(LARGE);
    captured(&stage, 4096);
    stage.passes(7 * DAY - MINUTE);
    assert!(is_there(&stage, &first));
    stage.passes(DAY);
    assert!(!is_there(&stage, &first));
}

#[test]
fn the_snapshot_before_a_suspect_one_is_spared_until_a_later_one() {
    let (stage, first) = with_archive_of(LARGE);
    let suspect = captured(&stage, 4096).snapshot;
    captured(&stage, 4096);
    stage.passes(10 * MINUTE);
    assert!(!is_there(&stage, &first) && !is_there(&stage, &suspect));
}

#[test]
fn retention_says_why_a_snapshot_is_spared() {
    let (stage, first) = with_archive_of(LARGE);
    captured(&stage, 4096);
    let plan = stage.run(Operation::Retention, &json!({ "sandboxId": "agent-42" })).unwrap();
    let decisions = plan["decisions"].as_array().unwrap();
    let decision = decisions.iter().find(|row| row["snapshotId"] == json!(first.snapshot_id())).unwrap();
    assert_eq!(decision["keep"], true);
    assert!(decision["reasons"][0].as_str().unwrap().starts_with("the next snapshot is much smaller"), "{decision}");
}
