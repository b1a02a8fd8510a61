//! `restoredFrom` and `mayHaveLost` of a workspace with platform snapshots.

use sandbox_snapshotter::model::{Code, Failure};
use serde_json::{Value, json};

use super::platform::{active, start, stopped};
use crate::support::{DAY, ExpectError, MINUTE, Method, WORKSPACE};

/// Verifies what a start restored, and whether newer files may be lost.
#[track_caller]
fn assert_restored(started: &Value, storage: &str, may_have_lost: bool) {
    let reported = (&started["restoredFrom"]["storage"], &started["mayHaveLost"]);
    assert_eq!(reported, (&json!(storage), &json!(may_have_lost)), "{started}");
}

#[test]
fn start_from_the_platform_snapshot_of_a_stop_loses_nothing() {
    for storage in ["both", "platform"] {
        let fixture = stopped(storage);
        let described = fixture.get_workspace(WORKSPACE).unwrap();
        let started = start(&fixture);
        assert_restored(&started, "platform", false);
        let from = &started["restoredFrom"];
        assert_eq!(from["createdAt"], described["platformSnapshot"]["createdAt"]);
        assert_eq!(from["ageSeconds"], json!(60));
        assert_eq!(from["snapshotId"], described["lastSnapshot"]["id"], "{storage}");
        assert_eq!(from["snapshotId"].is_null(), storage == "platform");
        assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["restoredFrom"], *from, "the description has it too");
    }
}

#[test]
fn start_from_the_archive_of_a_lost_platform_snapshot_loses_nothing() {
    let fixture = stopped("both");
    fixture.world.delete_disks();
    assert_restored(&start(&fixture), "archive", false);
}

#[test]
fn container_that_ended_by_itself_may_have_had_newer_files() {
    for storage in ["both", "platform"] {
        let fixture = stopped(storage);
        start(&fixture);
        fixture.world.advance_clock(MINUTE);
        fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
        assert_restored(&start(&fixture), "platform", true);
    }
}

#[test]
fn files_that_changed_during_the_platform_snapshot_may_be_lost() {
    let fixture = active("platform");
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.after(Method::TakePlatformSnapshot).run(move |world| world.write_file(&id, "/workspace/late", "x"));
    assert_eq!(fixture.stop_workspace(WORKSPACE).unwrap()["changedDuringCapture"], true);
    fixture.world.clear_faults();
    assert_restored(&start(&fixture), "platform", true);
}

#[test]
fn refresh_of_the_only_copy_loses_nothing() {
    let fixture = stopped("platform");
    fixture.advance_with_alarms(50 * DAY);
    assert!(fixture.world.call_count(Method::StartFromPlatformSnapshot) > 0);
    assert_restored(&start(&fixture), "platform", false);
}

#[test]
fn platform_snapshot_is_restored_after_its_known_expiration_if_a_refresh_got_no_answer() {
    let fixture = stopped("platform");
    fixture.world.after(Method::StartFromPlatformSnapshot).fail_transiently();
    fixture.advance_with_alarms(32 * DAY);
    fixture.world.clear_faults();
    assert_restored(&start(&fixture), "platform", false);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn platform_snapshot_is_restored_after_its_known_expiration_if_refreshes_lost_the_first_answer_of_the_marker() {
    let fixture = stopped("platform");
    fixture.world.reset_calls();
    for odd in (1..60).step_by(2) {
        fixture.world.after(Method::BeginRestore).nth(odd).fail_transiently();
    }
    fixture.advance_with_alarms(32 * DAY);
    fixture.world.clear_faults();
    assert_restored(&start(&fixture), "platform", false);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn platform_snapshot_that_is_gone_is_lost_after_its_lifetime() {
    for starts_empty in [false, true] {
        let fixture = stopped("platform");
        fixture.world.delete_disks();
        if starts_empty {
            fixture.world.start_empty_without_disk();
        }
        fixture.advance_with_alarms(32 * DAY);
        let calls = fixture.world.call_count(Method::StartFromPlatformSnapshot);
        assert!(calls > 0);
        let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
        assert!(error.message().contains("it expired at"), "{error}");
        fixture.advance_with_alarms(32 * DAY);
        assert_eq!(fixture.world.call_count(Method::StartFromPlatformSnapshot), calls);
    }
}

#[test]
fn failed_start_from_the_platform_snapshot_loses_nothing() {
    let fixture = stopped("platform");
    fixture.world.before(Method::StartFromPlatformSnapshot).fail_with(Failure::new("Error", "no capacity"));
    assert!(fixture.start_workspace(WORKSPACE, &json!({})).is_err());
    fixture.world.clear_faults();
    assert_restored(&start(&fixture), "platform", false);
}

#[test]
fn loss_is_reported_by_the_stop_and_not_by_the_next_start() {
    let fixture = stopped("platform");
    start(&fixture);
    fixture.world.advance_clock(MINUTE);
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    assert_restored(&start(&fixture), "platform", true);
    fixture.world.advance_clock(MINUTE);
    assert_eq!(fixture.stop_workspace(WORKSPACE).unwrap()["mayHaveLost"], true);
    assert_restored(&start(&fixture), "platform", false);
}
