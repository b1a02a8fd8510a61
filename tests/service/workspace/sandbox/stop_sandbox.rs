//! `stop_sandbox` takes a snapshot of a sandbox and ends its container.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::named::ContainerMarker;
use serde_json::json;

use crate::support::{ExpectError, FILE, Fixture, HOUR, MINUTE, Method, WORKSPACE, no_expiry, workspace_args};

#[test]
fn stop_captures_the_workspace_directory() {
    let fixture = Fixture::with_workspace_options(&workspace_args(
        WORKSPACE,
        &json!({ "dir": "/home", "expiry": no_expiry()["expiry"] }),
    ));
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, "/home/notes.txt", "first");
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.world.files(&id).unwrap().get("/home/notes.txt").map(String::as_str), Some("first"));
}

#[test]
fn stop_does_not_share_a_capture_begun_before_it() {
    let fixture = Fixture::with_workspace();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let snapshot = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "dir": "/workspace" });
    let capture = fixture.begin(Operation::Snapshot, &snapshot);
    assert!(gate.is_reached());
    let stop = fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}));
    gate.open();
    let snapshot = capture.answer().unwrap();
    assert_ne!(stop.answer().unwrap()["lastSnapshot"]["id"], snapshot["ref"]["snapshotId"]);
}

#[test]
fn stop_rescues_files_written_after_cold_start_only_when_persistent() {
    for persistent in [true, false] {
        let fixture = Fixture::with_diverged_workspace();
        fixture.update_workspace(WORKSPACE, &json!({ "persistent": persistent })).unwrap();
        let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
        assert_eq!(stopped.get("rescueSnapshotId").is_some(), persistent);
        assert!(!fixture.has_container(WORKSPACE));
    }
}

#[test]
fn stop_without_hooks_sets_no_variables() {
    let fixture = Fixture::with_workspace_options(&json!({ "env": { "TOKEN": "t" }, "expiry": no_expiry()["expiry"] }));
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.world.call_count(Method::SetEnv), 0);
}

#[test]
fn stop_sets_an_idle_timeout_on_the_sandbox() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    assert_eq!(fixture.world.sleeps_after(&id), Some(None));
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert!(matches!(fixture.world.sleeps_after(&id), Some(Some(_))));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.end_container(&id);
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert!(matches!(fixture.world.sleeps_after(&id), Some(Some(_))), "also when its container had already ended");
}

#[test]
fn start_never_restores_a_rescue_snapshot() {
    let fixture = Fixture::with_diverged_workspace();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "rescue" })).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(
        fixture.world.files(&fixture.sandbox_of(WORKSPACE)).unwrap().get(FILE).map(String::as_str),
        Some("first")
    );
}

#[test]
fn stop_reconciles_a_start_that_crashed_after_its_restore() {
    let fixture = Fixture::with_stopped_workspace();
    let gate = fixture.world.after(Method::CompleteRestore).nth(1).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    fixture.crash_during(start);
    fixture.world.before(Method::Status).fail_transiently();
    fixture.run(Operation::List, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "check": false })).unwrap();
    fixture.world.clear_faults();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.advance_with_alarms(2 * HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn container_started_by_capture_of_crashed_stop_is_ended() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.replace_container(&id);
    fixture.world.write_file(&id, FILE, "second");
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let stop = fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    fixture.world.replace_container(&id);
    fixture.crash_during(stop);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(3 * HOUR);
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn late_ready_marker_of_abandoned_start_is_not_applied_during_rescue() {
    let fixture = Fixture::with_diverged_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::UpdateMarker).nth(2).hang();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).expect_code(Code::SandboxTimeout);
    let target = id.clone();
    fixture.world.before(Method::CreateBackup).run(move |world| world.apply_marker_late(&target, 2));
    fixture.world.before(Method::Destroy).run(move |world| {
        assert!(
            world.marker_on(&id).is_none_or(|marker| !marker.is_ready()),
            "a container with a ready marker is not destroyed"
        );
    });
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert!(stopped["rescueSnapshotId"].is_string(), "{stopped}");
}

#[test]
fn container_started_by_snapshot_of_stopped_workspace_gets_idle_timeout() {
    let fixture = Fixture::with_diverged_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::WorkspaceDiverged);
    fixture.world.reset_calls();
    fixture.world.after(Method::CreateBackup).run({
        let id = id.clone();
        move |world| world.replace_container(&id)
    });
    let snapshot = json!({ "sandboxId": id, "wake": true });
    fixture.run(Operation::Snapshot, &snapshot).expect_code(Code::SandboxReplaced);
    assert!(matches!(fixture.world.sleeps_after(&id), Some(Some(_))));
}

#[test]
fn late_restoring_marker_of_abandoned_start_is_not_applied_during_rescue() {
    let fixture = Fixture::with_late_marker();
    let id = fixture.sandbox_of(WORKSPACE);
    let target = id.clone();
    fixture.world.before(Method::CreateBackup).run(move |world| world.apply_marker_late(&target, 1));
    fixture.world.after(Method::CreateBackup).run(move |world| {
        assert!(
            !matches!(world.marker_on(&id), Some(ContainerMarker::Restoring(_))),
            "the container carries no restoring marker"
        );
    });
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert!(stopped["rescueSnapshotId"].is_string(), "{stopped}");
}
