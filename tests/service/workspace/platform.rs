//! A workspace whose `storage` has platform snapshots is stopped and started from them, and from its archives otherwise.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, SandboxId, SnapshotRequest};
use serde_json::{Value, json};

use crate::support::{DAY, ExpectError, Fixture, MINUTE, Method, WORKSPACE, no_expiry};

/// A file outside of the workspace's directory.
pub(super) const TOOL: &str = "/opt/tool";

/// Returns the options of a workspace with a storage.
pub(super) fn with_storage(storage: &str) -> Value {
    let mut options = no_expiry();
    options["storage"] = storage.into();
    options["durable"] = (storage != "platform").into();
    options
}

/// The active workspace `work` with a storage, which has [`FILE`] and [`TOOL`].
pub(super) fn active(storage: &str) -> Fixture {
    let fixture = Fixture::empty();
    fixture.world.enable_platform_snapshots();
    fixture.create_workspace(WORKSPACE, &with_storage(storage)).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "first");
    fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), TOOL, "installed");
    fixture.world.reset_calls();
    fixture
}

/// As [`active`], stopped 1 minute ago.
pub(super) fn stopped(storage: &str) -> Fixture {
    let fixture = active(storage);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.world.reset_calls();
    fixture
}

pub(super) fn start(fixture: &Fixture) -> Value {
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap()
}

/// Returns the content of [`TOOL`] in the workspace.
pub(super) fn tool(fixture: &Fixture) -> Option<String> {
    fixture.world.files(&fixture.sandbox_of(WORKSPACE))?.get(TOOL).cloned()
}

/// Verifies that the start used the archive of the last stop, for a reason.
fn assert_fallback(fixture: &Fixture, started: &Value, reason: &str) {
    assert_eq!((&started["how"], &started["restoredFrom"]["storage"]), (&json!("restored"), &json!("archive")));
    let given = started["platformFallback"].as_str().unwrap();
    assert!(given.contains(reason), "{given}");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    assert_eq!(tool(fixture), None, "an archive has only the directory");
}

#[test]
fn stop_with_both_storages_stores_an_archive_and_a_platform_snapshot() {
    let fixture = active("both");
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    let platform = &stopped["platformSnapshot"];
    assert_eq!(platform["archiveId"], stopped["lastSnapshot"]["id"]);
    assert_eq!(platform["image"], "0.12.10 0123456789abcdef");
    assert_eq!((fixture.world.call_count(Method::CreateBackup), fixture.world.stored_disks()), (1, 1));
    assert!(!fixture.has_container(WORKSPACE));
}

#[test]
fn start_restores_the_whole_disk_from_the_platform_snapshot() {
    let fixture = stopped("both");
    let started = start(&fixture);
    assert_eq!((&started["how"], &started["restoredFrom"]["storage"]), (&json!("restored"), &json!("platform")));
    assert_eq!(started["restoredFrom"]["snapshotId"], started["lastSnapshot"]["id"]);
    assert_eq!(started["platformFallback"], Value::Null);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    assert_eq!(tool(&fixture).unwrap(), "installed");
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 0);
}

#[test]
fn stop_and_start_repeat_with_each_storage() {
    for storage in ["archive", "both", "platform"] {
        let fixture = stopped(storage);
        for content in ["second", "third"] {
            start(&fixture);
            fixture.write_workspace_file(WORKSPACE, content);
            fixture.world.advance_clock(MINUTE);
            fixture.stop_workspace(WORKSPACE).unwrap();
            fixture.world.advance_clock(MINUTE);
            let started = start(&fixture);
            assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), content, "{storage}");
            assert_eq!(started["restoredFrom"]["storage"], if storage == "archive" { "archive" } else { "platform" });
            fixture.stop_workspace(WORKSPACE).unwrap();
        }
    }
}

#[test]
fn start_falls_back_to_the_archive_when_the_platform_snapshot_is_gone() {
    for starts_empty in [false, true] {
        let fixture = stopped("both");
        fixture.world.delete_disks();
        if starts_empty {
            fixture.world.start_empty_without_disk();
        }
        let started = start(&fixture);
        let reason = if starts_empty { "another container" } else { "requires a running container" };
        assert_fallback(&fixture, &started, reason);
        assert_eq!(started["restoredFrom"]["snapshotId"], started["lastSnapshot"]["id"]);
    }
}

#[test]
fn start_falls_back_to_the_archive_when_the_platform_snapshot_has_expired() {
    let fixture = stopped("both");
    fixture.world.advance_clock(31 * DAY);
    assert_fallback(&fixture, &start(&fixture), "it expired at");
    assert_eq!(fixture.world.call_count(Method::StartFromPlatformSnapshot), 0);
}

#[test]
fn restore_extends_the_lifetime_of_the_platform_snapshot() {
    let fixture = stopped("both");
    fixture.world.advance_clock(20 * DAY);
    start(&fixture);
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.world.advance_clock(20 * DAY);
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "platform");
}

#[test]
fn start_falls_back_to_the_archive_when_the_image_changed() {
    let fixture = stopped("both");
    fixture.world.set_image_version("another");
    assert_fallback(&fixture, &start(&fixture), "the image of the sandbox is");
}

#[test]
fn start_restores_the_archive_after_the_storage_was_changed() {
    let fixture = stopped("both");
    fixture.update_workspace(WORKSPACE, &json!({ "storage": "archive" })).unwrap();
    let started = start(&fixture);
    assert_eq!((&started["restoredFrom"]["storage"], &started["platformFallback"]), (&json!("archive"), &Value::Null));
}

#[test]
fn archive_that_is_newer_than_the_platform_snapshot_is_restored() {
    let fixture = stopped("both");
    start(&fixture);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.snapshot_with(SnapshotRequest::of(SandboxId::parse(&id).unwrap())).unwrap();
    fixture.world.end_container(&id);
    let started = start(&fixture);
    assert_eq!((&started["restoredFrom"]["storage"], &started["platformFallback"]), (&json!("archive"), &Value::Null));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn failed_platform_snapshot_leaves_the_archive_as_the_newest_state() {
    let fixture = stopped("both");
    start(&fixture);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture.world.before(Method::TakePlatformSnapshot).fail_with(Failure::new("Error", "no capacity"));
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert!(stopped["platformFailure"].as_str().unwrap().contains("no capacity"), "{stopped}");
    assert_eq!(stopped["platformSnapshot"], Value::Null);
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "archive");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn files_of_platform_storage_are_not_stored_in_r2() {
    let fixture = stopped("platform");
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
    assert!(fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)).is_empty());
    let started = start(&fixture);
    assert_eq!((&started["how"], &started["restoredFrom"]["storage"]), (&json!("restored"), &json!("platform")));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn failed_platform_snapshot_of_platform_storage_keeps_the_container() {
    let fixture = active("platform");
    fixture.world.before(Method::TakePlatformSnapshot).fail_with(Failure::new("Error", "no capacity"));
    fixture.stop_workspace(WORKSPACE).expect_code(Code::BackupFailed);
    assert_eq!(fixture.state(WORKSPACE), "active");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn late_attempt_of_a_platform_snapshot_writes_the_same_token() {
    let fixture = active("platform");
    fixture.world.after(Method::TakePlatformSnapshot).nth(1).fail_transiently();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.world.call_count(Method::TakePlatformSnapshot), 2);
    assert_eq!(fixture.world.disk_tokens().len(), 1);
}

#[test]
fn start_from_no_storage_reports_both_reasons() {
    let fixture = stopped("both");
    fixture.world.delete_disks();
    fixture.world.start_empty_without_disk();
    fixture.world.clear_bucket();
    let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::OperationInterrupted);
    assert!(error.message().contains("The archive: "), "{error}");
}

#[test]
fn lost_platform_snapshot_of_platform_storage_never_starts_an_empty_workspace() {
    let expired = |fixture: &Fixture| fixture.world.advance_clock(31 * DAY);
    let replaced = |fixture: &Fixture| fixture.world.set_image_version("another");
    for (lose, reason) in [(&expired as &dyn Fn(&Fixture), "it expired at"), (&replaced, "the image of the sandbox is")]
    {
        let fixture = stopped("platform");
        lose(&fixture);
        let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
        assert!(error.message().contains(reason), "{error}");
        assert!(!fixture.has_container(WORKSPACE));
        let started = fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
        assert_eq!(started["how"], "empty");
        assert!(started["platformFallback"].as_str().unwrap().contains(reason));
    }
}

#[test]
fn container_without_the_files_of_the_platform_snapshot_is_destroyed() {
    let fixture = stopped("platform");
    fixture.world.delete_disks();
    fixture.world.start_empty_without_disk();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::OperationInterrupted);
    assert!(!fixture.has_container(WORKSPACE));
    assert_eq!(fixture.state(WORKSPACE), "stopped");
}

/// Starts the stopped workspace in a container whose image is known, so that its stop takes only a platform snapshot.
fn start_for_the_platform(fixture: &Fixture) {
    fixture.update_workspace(WORKSPACE, &json!({ "storage": "platform", "durable": false })).unwrap();
    start(fixture);
}

#[test]
fn platform_snapshot_is_newer_than_the_archive_of_an_earlier_storage() {
    let fixture = stopped("archive");
    start_for_the_platform(&fixture);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.update_workspace(WORKSPACE, &json!({ "storage": "archive" })).unwrap();
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "platform");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "archive");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn older_archive_does_not_replace_a_lost_platform_snapshot() {
    let fixture = stopped("archive");
    let archive = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"].clone();
    start_for_the_platform(&fixture);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.advance_clock(31 * DAY);
    let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
    assert!(error.remediation().contains(archive.as_str().unwrap()), "{}", error.remediation());
    fixture.revert_workspace(WORKSPACE, &archive).unwrap();
    start(&fixture);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn older_archive_does_not_replace_a_deleted_archive_of_the_same_files() {
    let fixture = stopped("both");
    start(&fixture);
    let newest = fixture.stop_with_content(WORKSPACE, "second");
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.run(Operation::Delete, &json!({ "sandboxId": id, "snapshotId": newest, "force": true })).unwrap();
    for storage in ["both", "archive"] {
        fixture.update_workspace(WORKSPACE, &json!({ "storage": storage })).unwrap();
        assert_eq!(start(&fixture)["restoredFrom"]["storage"], "platform", "{storage}");
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
        fixture.world.end_container(&id);
    }
    fixture.world.delete_disks();
    assert!(fixture.start_workspace(WORKSPACE, &json!({})).is_err(), "the older archive is not restored");
    assert!(!fixture.has_container(WORKSPACE));
}

#[test]
fn platform_storage_requires_the_consent_of_the_caller() {
    let fixture = Fixture::empty();
    fixture.world.enable_platform_snapshots();
    for options in [json!({ "storage": "platform" }), json!({ "storage": "platform", "durable": true })] {
        let error = fixture.create_workspace(WORKSPACE, &options).expect_code(Code::InvalidArgument);
        assert!(error.message().contains("durable: false"), "{error}");
    }
    fixture.create_workspace(WORKSPACE, &with_storage("platform")).unwrap();
    fixture.update_workspace(WORKSPACE, &json!({ "durable": true })).expect_code(Code::InvalidArgument);
}

#[test]
fn class_without_platform_snapshots_refuses_the_storage() {
    let fixture = Fixture::empty();
    let error = fixture.create_workspace(WORKSPACE, &with_storage("both")).expect_code(Code::Unsupported);
    assert!(error.message().contains("no platform snapshots"), "{error}");
    fixture.create_workspace("other", &no_expiry()).unwrap();
    for is_active in [true, false] {
        fixture.update_workspace("other", &json!({ "storage": "both" })).expect_code(Code::Unsupported);
        assert_eq!(fixture.get_workspace("other").unwrap()["storage"], "archive");
        if is_active {
            fixture.stop_workspace("other").unwrap();
        }
    }
}

#[test]
fn delete_reports_until_when_the_platform_keeps_the_files() {
    let fixture = stopped("both");
    let expires_at = fixture.get_workspace(WORKSPACE).unwrap()["platformSnapshot"]["expiresAt"].clone();
    let deleted = fixture.delete_workspace(WORKSPACE).unwrap();
    assert_eq!(deleted["platformDataUntil"], expires_at);
    let fixture = Fixture::with_stopped_workspace();
    assert_eq!(fixture.delete_workspace(WORKSPACE).unwrap()["platformDataUntil"], Value::Null);
}

#[test]
fn start_continues_after_the_worker_crashed_before_the_marker() {
    for storage in ["both", "platform"] {
        let fixture = stopped(storage);
        let gate = fixture.world.before(Method::BeginRestore).nth(1).block();
        let pending = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
        assert!(gate.is_reached());
        fixture.crash_during(pending);
        let id = fixture.sandbox_of(WORKSPACE);
        assert_eq!((fixture.world.files(&id).unwrap().len(), fixture.world.marker_on(&id)), (2, None));
        fixture.world.clear_faults();
        assert_eq!(
            start(&fixture)["restoredFrom"]["storage"],
            "platform",
            "the files without a marker are not others'"
        );
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    }
}

#[test]
fn only_copy_is_refreshed_before_it_expires() {
    let fixture = stopped("platform");
    fixture.advance_with_alarms(50 * DAY);
    assert!(!fixture.has_container(WORKSPACE));
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
    let platform = fixture.get_workspace(WORKSPACE).unwrap()["platformSnapshot"].clone();
    assert_eq!((&platform["refreshFailure"], platform["lastRestoredAt"].is_string()), (&Value::Null, true));
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "platform");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn only_copy_of_running_workspace_is_replaced_before_it_expires() {
    let fixture = stopped("platform");
    start(&fixture);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.advance_with_alarms(50 * DAY);
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "platform");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn failed_refresh_is_reported_and_repeated_every_day() {
    let fixture = stopped("platform");
    fixture.world.set_image_version("another");
    fixture.advance_with_alarms(21 * DAY);
    let failure = || fixture.get_workspace(WORKSPACE).unwrap()["platformSnapshot"]["refreshFailure"].clone();
    assert!(failure().as_str().unwrap().contains("the image of the sandbox is"), "{}", failure());
    fixture.world.set_image_version("0.12.10 0123456789abcdef");
    fixture.advance_with_alarms(DAY);
    assert_eq!(failure(), Value::Null);
    fixture.world.set_image_version("another");
    fixture.advance_with_alarms(40 * DAY);
    let platform = fixture.get_workspace(WORKSPACE).unwrap()["platformSnapshot"].clone();
    assert!(platform["unusable"].as_str().unwrap().contains("it expired at"), "{platform}");
}

#[test]
fn platform_snapshot_with_an_archive_is_not_refreshed() {
    let fixture = stopped("both");
    fixture.advance_with_alarms(50 * DAY);
    assert_eq!(fixture.world.call_count(Method::StartFromPlatformSnapshot), 0);
    assert_fallback(&fixture, &start(&fixture), "it expired at");
}
