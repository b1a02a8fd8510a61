//! `stop` takes a snapshot of a persistent workspace and ends its container. A container that cannot be captured keeps
//! running.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, Result, Timestamp};
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, HOUR, MINUTE, Method, WORKSPACE, no_expiry};

/// Returns the cause of the newest transition.
fn state_cause(described: &Value) -> &str {
    described["history"][0]["cause"].as_str().unwrap()
}

#[test]
fn stop_takes_a_snapshot_and_ends_the_container() {
    let fixture = Fixture::with_workspace();
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(stopped["state"], "stopped");
    assert_eq!(fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)), [stopped["lastSnapshot"]["id"].as_str().unwrap()]);
    assert_eq!((&stopped["hadEnded"], &stopped["changedDuringCapture"]), (&json!(false), &json!(false)));
    assert!(!fixture.has_container(WORKSPACE));
}

#[test]
fn stop_of_stopped_workspace_changes_nothing() {
    let fixture = Fixture::with_stopped_workspace();
    let before = fixture.record(WORKSPACE);
    let again = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!((&again["state"], &again["hadEnded"]), (&json!("stopped"), &json!(false)));
    assert_eq!(fixture.record(WORKSPACE), before);
    assert_eq!((fixture.world.call_count(Method::CreateBackup), fixture.world.call_count(Method::Destroy)), (0, 0));
}

#[test]
fn stop_rescues_files_written_after_cold_start_of_stopped_workspace() {
    let fixture = Fixture::with_stopped_workspace();
    let last = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"].clone();
    fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), FILE, "second");
    let again = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_ne!(again["rescueSnapshotId"], last);
    assert!(again["history"][0]["cause"].as_str().unwrap().contains(again["rescueSnapshotId"].as_str().unwrap()));
    assert!(!fixture.has_container(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn concurrent_stops_take_one_snapshot() {
    let fixture = Fixture::with_workspace();
    let pending: Vec<_> =
        (0..3).map(|_| fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}))).collect();
    let answers: Vec<_> = pending.into_iter().map(|stop| stop.answer().unwrap()).collect();
    assert!(answers.iter().all(|answer| answer["lastSnapshot"] == answers[0]["lastSnapshot"]));
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 1);
}

#[test]
fn stop_waits_for_running_start() {
    let fixture = Fixture::with_stopped_workspace();
    let gate = fixture.world.before(Method::RestoreBackup).nth(1).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    let mut stop = fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached() && !stop.is_done());
    gate.open();
    start.answer().unwrap();
    assert_eq!(stop.answer().unwrap()["state"], "stopped");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn workspace_stays_active_when_capture_fails() {
    let fixture = Fixture::with_workspace();
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    let error = fixture.stop_workspace(WORKSPACE).expect_code(Code::BackupFailed);
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert_eq!((&described["state"], &described["problem"]["message"]), (&json!("active"), &json!(error.message())));
    assert!(described["history"][0]["cause"].as_str().unwrap().contains("BACKUP_FAILED"), "{described}");
    assert_eq!(
        (fixture.has_container(WORKSPACE), fixture.read_workspace_file(WORKSPACE)),
        (true, Some("first".into()))
    );
    fixture.world.clear_faults();
    assert!(fixture.stop_workspace(WORKSPACE).unwrap().get("problem").is_none());
}

#[test]
fn workspace_stays_active_and_error_names_snapshot_when_destroy_fails() {
    let fixture = Fixture::with_workspace();
    fixture.world.before(Method::Destroy).fail_transiently();
    let error = fixture.stop_workspace(WORKSPACE).expect_code(Code::SandboxUnavailable);
    assert_eq!(fixture.state(WORKSPACE), "active");
    let [snapshot] = &fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE))[..] else { panic!("one snapshot") };
    assert!(error.message().contains(snapshot), "{error}");
}

#[test]
fn stop_can_be_repeated_after_lost_answer() {
    let fixture = Fixture::with_workspace();
    fixture.world.after(Method::StopSandbox).nth(1).fail_transiently();
    fixture.stop_workspace(WORKSPACE).expect_code(Code::WorkspaceUnavailable);
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(stopped["lastSnapshot"]["id"], fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE))[0].as_str());
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn stop_of_non_persistent_workspace_takes_no_snapshot() {
    let fixture = Fixture::with_workspace_options(&json!({ "persistent": false }));
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert!(stopped.get("lastSnapshot").is_none(), "{stopped}");
    assert!(state_cause(&stopped).ends_with("no snapshot was taken"), "{stopped}");
    assert!(!fixture.has_container(WORKSPACE));
    fixture.assert_nothing_stored();
}

#[test]
fn non_persistent_workspace_starts_empty_after_a_stop() {
    let fixture = Fixture::with_workspace_options(&json!({ "persistent": false }));
    fixture.stop_workspace(WORKSPACE).unwrap();
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&started["how"], started.get("mayHaveLost")), (&json!("empty"), None), "{started}");
}

#[test]
fn workspace_that_was_persistent_starts_empty_only_with_allow_empty() {
    for fails_first in [false, true] {
        let fixture = Fixture::with_workspace();
        fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
        if fails_first {
            fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
        }
        fixture.update_workspace(WORKSPACE, &json!({ "persistent": false })).unwrap();
        fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
        let started = fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
        assert_eq!((&started["how"], &started["mayHaveLost"]), (&json!("empty"), &json!(true)), "{started}");
    }
}

#[test]
fn non_persistent_workspace_that_was_persistent_in_between_starts_empty_only_with_allow_empty() {
    let fixture = Fixture::with_workspace_options(&json!({ "persistent": false }));
    for persistent in [true, false] {
        fixture.update_workspace(WORKSPACE, &json!({ "persistent": persistent })).unwrap();
    }
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
}

#[test]
fn non_persistent_workspace_with_a_partial_snapshot_starts_empty_only_with_allow_empty() {
    let fixture = Fixture::with_workspace_options(&json!({ "persistent": false }));
    let excludes = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "excludes": ["*.log"] });
    fixture.run(Operation::Snapshot, &excludes).unwrap();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap()["how"], "empty");
}

#[test]
fn non_persistent_workspace_whose_source_is_deleted_starts_empty_only_with_allow_empty() {
    let fixture = Fixture::with_stopped_workspace();
    let source = fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE))[0].clone();
    fixture.create_workspace("scratch", &json!({ "persistent": false, "sourceWorkspace": WORKSPACE })).unwrap();
    fixture.stop_workspace("scratch").unwrap();
    let delete = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "snapshotId": source, "force": true });
    fixture.run(Operation::Delete, &delete).unwrap();
    fixture.start_workspace("scratch", &json!({})).expect_code(Code::NothingRestorable);
    assert_eq!(fixture.start_workspace("scratch", &json!({ "allowEmpty": true })).unwrap()["how"], "empty");
}

#[test]
fn formerly_persistent_workspace_starts_from_its_last_snapshot() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.update_workspace(WORKSPACE, &json!({ "persistent": false })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(stopped["lastSnapshot"]["id"], fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE))[0].as_str());
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn stop_reports_that_the_container_had_ended() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let last = fixture.record(WORKSPACE).last_snapshot;
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!((&stopped["hadEnded"], &stopped["state"]), (&json!(true), &json!("stopped")));
    assert_eq!(stopped["lastSnapshot"]["id"], json!(last.unwrap().id));
    assert!(state_cause(&stopped).ends_with("its sandbox had ended before"), "{stopped}");
}

#[test]
fn last_snapshot_is_the_newest_one_when_container_had_ended() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    let snapshot = fixture.run(Operation::Snapshot, &json!({ "sandboxId": id })).unwrap();
    fixture.world.end_container(&id);
    assert_eq!(fixture.stop_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"], snapshot["ref"]["snapshotId"]);
}

#[test]
fn stop_of_empty_cold_started_container_takes_no_snapshot() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
    fixture.world.reset_calls();
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!((fixture.world.call_count(Method::CreateBackup), fixture.has_container(WORKSPACE)), (0, false));
    assert_eq!(stopped["hadEnded"], true);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn stop_rescues_diverged_files_and_start_ignores_the_rescue_snapshot() {
    let fixture = Fixture::with_diverged_workspace();
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    let rescue_snapshot_id = stopped["rescueSnapshotId"].clone();
    assert!(rescue_snapshot_id.is_string() && stopped["lastSnapshot"]["id"] != rescue_snapshot_id, "{stopped}");
    assert!(
        stopped["history"][0]["cause"].as_str().unwrap().contains(rescue_snapshot_id.as_str().unwrap()),
        "{stopped}"
    );
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    fixture.revert_workspace(WORKSPACE, &rescue_snapshot_id).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn failed_workspace_can_be_stopped() {
    let fixture = Fixture::with_diverged_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::WorkspaceDiverged);
    assert_eq!(fixture.state(WORKSPACE), "failed");
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!((&stopped["state"], stopped["rescueSnapshotId"].is_string()), (&json!("stopped"), true));
    assert!(!fixture.has_container(WORKSPACE));
}

#[test]
fn stop_captures_changing_files_three_times_and_reports_the_change() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.after(Method::CreateBackup).run(move |world| {
        world.write_file(&id, FILE, &format!("after {}", world.call_count(Method::CreateBackup)));
    });
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!((&stopped["changedDuringCapture"], fixture.world.call_count(Method::CreateBackup)), (&json!(true), 3));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "after 2");
}

#[test]
fn stop_captures_again_when_files_change_during_capture() {
    let fixture = Fixture::with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.after(Method::CreateBackup).nth(1).run(move |world| world.write_file(&id, FILE, "second"));
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!((&stopped["changedDuringCapture"], fixture.world.call_count(Method::CreateBackup)), (&json!(false), 2));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn late_watch_of_an_earlier_stop_hides_no_change() {
    let fixture = Fixture::with_workspace();
    let late_watch = fixture.world.before(Method::WatchChanges).nth(1).hold();
    fixture.stop_workspace(WORKSPACE).expect_code(Code::SandboxTimeout);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.after(Method::CreateBackup).nth(1).run(move |world| {
        world.write_file(&id, FILE, "second");
        late_watch.take_effect();
    });
    assert_eq!(fixture.stop_workspace(WORKSPACE).unwrap()["changedDuringCapture"], false);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn workspace_can_be_stopped_and_started_repeatedly() {
    let fixture = Fixture::with_workspace_options(&no_expiry());
    for round in 0..5 {
        let content = format!("round {round}");
        fixture.stop_with_content(WORKSPACE, &content);
        fixture.advance_with_alarms(10 * MINUTE);
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), content);
    }
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.assert_nothing_pending();
}

/// Stops the workspace with options of its snapshot.
fn stop_with(fixture: &Fixture, snapshot: &Value) -> Result<Value> {
    fixture.run(Operation::StopWorkspace, &json!({ "name": WORKSPACE, "snapshot": snapshot }))
}

/// Returns the newest snapshot of the workspace.
fn newest_snapshot(fixture: &Fixture) -> Value {
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.run(Operation::List, &json!({ "sandboxId": id })).unwrap()["snapshots"][0].clone()
}

#[test]
fn stop_gives_its_snapshot_a_label_and_an_expiration() {
    let fixture = Fixture::with_workspace();
    let stopped = stop_with(&fixture, &json!({ "label": "tests green", "expirationSeconds": 3600 })).unwrap();
    let newest = newest_snapshot(&fixture);
    assert_eq!(newest["snapshotId"], stopped["lastSnapshot"]["id"]);
    let time = |member: &str| serde_json::from_value::<Timestamp>(newest[member].clone()).unwrap();
    let lifetime = time("expiresAt").millis_since(time("createdAt"));
    assert_eq!((&newest["label"], lifetime), (&json!("tests green"), HOUR));
}

#[test]
fn stop_with_options_takes_a_snapshot_of_a_workspace_that_is_not_persistent() {
    let fixture = Fixture::with_workspace_options(&json!({ "persistent": false }));
    let stopped = stop_with(&fixture, &json!({ "label": "keep" })).unwrap();
    assert_eq!(newest_snapshot(&fixture)["snapshotId"], stopped["lastSnapshot"]["id"]);
}

#[test]
fn stop_that_captures_again_gives_the_label_to_the_last_capture() {
    let fixture = Fixture::with_workspace();
    let (world, id) = (fixture.world.clone(), fixture.sandbox_of(WORKSPACE));
    fixture.world.after(Method::CreateBackup).nth(1).run(move |_| world.write_file(&id, FILE, "second"));
    let stopped = stop_with(&fixture, &json!({ "label": "last" })).unwrap();
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 2);
    let newest = newest_snapshot(&fixture);
    assert_eq!((&newest["label"], &newest["snapshotId"]), (&json!("last"), &stopped["lastSnapshot"]["id"]));
}

#[test]
fn stop_with_a_taken_label_is_refused_before_its_hooks_run() {
    let fixture = Fixture::with_workspace_options(&json!({ "hooks": { "beforeStop": { "command": "exit 0" } } }));
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": id, "label": "good" })).unwrap();
    fixture.world.reset_calls();
    stop_with(&fixture, &json!({ "label": "good" })).expect_code(Code::LabelTaken);
    assert_eq!((fixture.state(WORKSPACE), fixture.world.call_count(Method::RunHook)), ("active", 0));
    stop_with(&fixture, &json!({ "label": "good", "replace": true })).unwrap();
    assert_eq!(newest_snapshot(&fixture)["label"], "good");
}

#[test]
fn stop_of_stopped_workspace_ignores_the_options_of_a_snapshot() {
    let fixture = Fixture::with_stopped_workspace();
    let before = newest_snapshot(&fixture);
    stop_with(&fixture, &json!({ "label": "late" })).unwrap();
    let after = newest_snapshot(&fixture);
    assert_eq!((&after["snapshotId"], &after["label"]), (&before["snapshotId"], &before["label"]));
}
