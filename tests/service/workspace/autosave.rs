//! Automatic saves of a running workspace, with the clock moved.

mod turns;

use std::cell::Cell;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, Result, Timestamp};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{
    DAY, ExpectError, FILE, Fixture, HOUR, MINUTE, Method, PendingOperation, WORKSPACE, address, no_expiry,
    workspace_args,
};

/// Returns options for saves every `minutes`.
fn every(minutes: u64) -> Value {
    with(json!({ "everySeconds": 60 * minutes }))
}

fn with(autosave: Value) -> Value {
    let mut options = no_expiry();
    options["autosave"] = autosave;
    options
}

/// Returns the number of automatic snapshots.
fn saves(fixture: &Fixture) -> usize {
    let rows = fixture.ledger(&fixture.sandbox_of(WORKSPACE)).snapshot_page(None, None, 1000).unwrap();
    rows.iter().filter(|row| row.autosave && row.stored().is_some()).count()
}

/// Runs the alarm of the workspace until it waits.
fn begin_alarm(fixture: &Fixture) -> PendingOperation<Result<()>> {
    let named = fixture.named_workspace(WORKSPACE);
    PendingOperation::start_with_background(&fixture.world, async move { named.alarm().await })
}

/// Loses the container with everything in it, and starts the workspace again. Returns the content of its file.
fn lose_and_restart(fixture: &Fixture) -> Option<String> {
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.read_workspace_file(WORKSPACE)
}

#[test]
fn workspace_saves_nothing_by_default() {
    let fixture = Fixture::with_workspace();
    fixture.advance_with_alarms(DAY);
    assert_eq!((saves(&fixture), fixture.world.calls_about(&fixture.sandbox_of(WORKSPACE)).len()), (0, 0));
}

#[test]
fn changed_files_are_saved_within_the_interval() {
    let fixture = Fixture::with_workspace_options(&every(5));
    fixture.advance_with_alarms(5 * MINUTE);
    assert_eq!(saves(&fixture), 1);
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert_eq!(described["autosave"]["everySeconds"], 300);
    assert!(described["lastSavedAt"].is_string() && described.get("lastSnapshot").is_none(), "{described}");
    assert_eq!(lose_and_restart(&fixture).unwrap(), "first");
}

#[test]
fn lineage_marks_snapshots_of_automatic_saves() {
    let fixture = Fixture::with_workspace_options(&every(5));
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": id })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.advance_with_alarms(10 * MINUTE);
    let tree = fixture.run(Operation::Lineage, &json!({ "sandboxId": id })).unwrap();
    let snapshots = tree["root"]["snapshots"].as_array().unwrap();
    let marks: Vec<bool> = snapshots.iter().map(|snapshot| snapshot["autosave"] == true).collect();
    assert_eq!(marks.iter().filter(|mark| **mark).count(), saves(&fixture), "{tree}");
    assert!(marks.contains(&false), "{tree}");
}

#[test]
fn each_change_is_saved_and_start_takes_the_newest_save() {
    let fixture = Fixture::with_workspace_options(&every(1));
    for number in 1..=4 {
        fixture.write_workspace_file(WORKSPACE, &format!("version {number}"));
        fixture.advance_with_alarms(2 * MINUTE);
        assert_eq!(saves(&fixture), number);
    }
    assert_eq!(lose_and_restart(&fixture).unwrap(), "version 4");
}

#[test]
fn file_written_during_the_save_is_saved_by_the_next_one() {
    let fixture = Fixture::with_workspace_options(&every(1));
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.after(Method::CreateBackup).nth(1).run(move |world| world.write_file(&id, FILE, "second"));
    fixture.advance_with_alarms(3 * MINUTE);
    assert_eq!(saves(&fixture), 2);
    assert_eq!(lose_and_restart(&fixture).unwrap(), "second");
}

#[test]
fn unchanged_files_are_saved_on_request_only() {
    let fixture = Fixture::with_workspace_options(&with(json!({ "everySeconds": 60, "onlyIfChanged": false })));
    fixture.advance_with_alarms(3 * MINUTE);
    assert_eq!(saves(&fixture), 3);
}

#[test]
fn check_that_finds_nothing_stores_nothing_and_backs_off() {
    let fixture = Fixture::with_workspace_options(&every(1));
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(saves(&fixture), 1);
    fixture.world.reset_calls();
    fixture.advance_with_alarms(HOUR);
    let calls: Vec<Method> = fixture.world.calls().into_iter().map(|(method, _)| method).collect();
    assert_eq!(fixture.world.rows_written(), 0);
    let check = [Method::Autosave, Method::Status, Method::ChangedSinceSave];
    let checks = calls.len() / check.len();
    assert_eq!((calls, checks), (check.repeat(checks), 19));
}

#[test]
fn command_by_name_ends_the_back_off() {
    let fixture = Fixture::with_workspace_options(&every(1));
    fixture.advance_with_alarms(HOUR);
    fixture.run(Operation::GetOrCreateWorkspace, &workspace_args(WORKSPACE, &json!({}))).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.advance_with_alarms(MINUTE);
    assert_eq!(saves(&fixture), 2);
}

#[test]
fn idle_workspace_stops_at_the_same_time_with_and_without_autosave() {
    let stopped_at = |autosave: Value| -> Vec<Timestamp> {
        let options = json!({ "expiry": { "idleSeconds": 600 }, "autosave": autosave });
        let fixture = Fixture::with_workspace_options(&options);
        let began_at = fixture.world.current_time();
        for minute in [3, 7, 12] {
            fixture.advance_with_alarms(minute * MINUTE);
            if fixture.state(WORKSPACE) == "active" {
                fixture.write_workspace_file(WORKSPACE, &format!("minute {minute}"));
            }
        }
        fixture.advance_with_alarms(HOUR);
        let transitions = fixture.workspace_store(WORKSPACE).transitions();
        let stops = transitions.into_iter().filter(|(_, change)| change.to.to_string() == "stopped");
        stops.map(|(_, stop)| Timestamp::from_millis(stop.at.millis_since(began_at) / MINUTE)).collect()
    };
    let without = stopped_at(json!({}));
    assert_eq!(without.len(), 1);
    for autosave in [json!({ "everySeconds": 60 }), json!({ "everySeconds": 300, "onlyIfChanged": false })] {
        assert_eq!(stopped_at(autosave), without);
    }
}

#[test]
fn check_does_not_hide_a_change_from_the_idle_check_or_the_stop() {
    let fixture = Fixture::with_workspace_options(&json!({
        "expiry": { "idleSeconds": 600 }, "autosave": { "everySeconds": 60 },
    }));
    fixture.advance_with_alarms(8 * MINUTE);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.advance_with_alarms(3 * MINUTE);
    assert_eq!(fixture.state(WORKSPACE), "active", "the change postpones the stop, although it is saved");
    let id = fixture.sandbox_of(WORKSPACE);
    let writes = Cell::new(false);
    fixture.world.after(Method::CreateBackup).run(move |world| {
        if !writes.replace(true) {
            world.write_file(&id, FILE, "third");
        }
    });
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "third");
}

#[test]
fn container_that_ended_is_not_started_by_a_check() {
    let fixture = Fixture::with_workspace_options(&every(1));
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.world.reset_calls();
    fixture.advance_with_alarms(HOUR);
    assert!(!fixture.has_container(WORKSPACE));
    assert_eq!(fixture.world.call_count(Method::ChangedSinceSave), 0);
}

#[test]
fn stopped_workspace_is_not_checked() {
    let fixture = Fixture::with_workspace_options(&every(1));
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.reset_calls();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.world.calls_about(&fixture.sandbox_of(WORKSPACE)), []);
}

#[test]
fn empty_container_never_replaces_a_good_snapshot() {
    let fixture = Fixture::with_workspace_options(&every(1));
    fixture.advance_with_alarms(2 * MINUTE);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.replace_container(&id);
    fixture.world.write_file(&id, FILE, "other");
    fixture.advance_with_alarms(HOUR);
    assert_eq!(saves(&fixture), 1);
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "discard" })).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn container_that_replaces_the_checked_one_is_not_captured() {
    let fixture = Fixture::with_workspace_options(&every(1));
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.after(Method::ChangedSinceSave).nth(1).run(move |world| world.replace_container(&id));
    fixture.advance_with_alarms(HOUR);
    assert_eq!(saves(&fixture), 0);
}

#[test]
fn saves_and_snapshots_of_a_person_do_not_evict_each_other() {
    let mut options = with(json!({ "everySeconds": 60, "keepLast": 2 }));
    options["retention"] = json!({ "keepLast": { "count": 2 } });
    let fixture = Fixture::with_workspace_options(&options);
    let snapshot = || fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    let made: Vec<Value> = (0..2).map(|_| snapshot()).collect();
    for number in 0..6 {
        fixture.write_workspace_file(WORKSPACE, &format!("version {number}"));
        fixture.advance_with_alarms(2 * MINUTE);
    }
    assert_eq!(saves(&fixture), 2);
    for taken in &made {
        fixture.run(Operation::Restore, &json!({ "ref": taken })).unwrap();
    }
    for _ in 0..3 {
        snapshot();
        fixture.advance_with_alarms(1000);
    }
    assert_eq!(saves(&fixture), 2);
}

#[test]
fn save_beyond_keep_last_goes_when_no_sandbox_needs_it_any_longer() {
    let fixture = Fixture::with_workspace_options(&with(json!({ "everySeconds": 60, "keepLast": 1 })));
    fixture.advance_with_alarms(2 * MINUTE);
    let id = fixture.sandbox_of(WORKSPACE);
    let list = || fixture.run(Operation::List, &json!({ "sandboxId": id, "check": false })).unwrap();
    let save = list()["snapshots"][0].clone();
    let branch = fixture.run(Operation::Branch, &json!({ "ref": save["ref"] })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(saves(&fixture), 2, "the branch needs the first one");
    fixture.snapshot_labelled(branch["ref"]["sandboxId"].as_str().unwrap(), "own");
    fixture.world.finish_background();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(saves(&fixture), 1);
}

#[test]
fn failure_to_save_is_reported_after_a_stop_that_fails() {
    let fixture = Fixture::with_workspace_options(&every(60));
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.advance_with_alarms(HOUR);
    let unsaved_since = fixture.get_workspace(WORKSPACE).unwrap()["unsavedSince"].clone();
    fixture.stop_workspace(WORKSPACE).unwrap_err();
    assert!(unsaved_since.is_string());
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["unsavedSince"], unsaved_since);
}

#[test]
fn snapshot_before_most_files_disappear_is_kept_when_more_disappear() {
    let fixture = Fixture::with_workspace_options(&with(json!({ "everySeconds": 60, "keepLast": 1 })));
    let mut content = String::new();
    for (number, bytes) in [60_000_000, 1_100_000, 4096, 4096].into_iter().enumerate() {
        fixture.world.clear_faults();
        fixture.world.after(Method::CreateBackup).run(move |world| {
            world.edit_backups(|backup| {
                if backup.capture.files.contains_key(FILE) && backup.capture.files[FILE] == format!("version {number}")
                {
                    backup.resize(bytes);
                }
            });
        });
        fixture.write_workspace_file(WORKSPACE, &format!("version {number}"));
        fixture.advance_with_alarms(2 * MINUTE);
        content = fixture.read_workspace_file(WORKSPACE).unwrap();
    }
    assert_eq!((content.as_str(), saves(&fixture)), ("version 3", 2));
    let rows = fixture.ledger(&fixture.sandbox_of(WORKSPACE)).live_snapshots();
    assert_eq!(rows.iter().filter_map(|row| row.stored()).map(|stored| stored.size_bytes).max(), Some(60_000_000));
}

#[test]
fn failed_save_is_reported_and_repeated() {
    let fixture = Fixture::with_workspace_options(&every(60));
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.advance_with_alarms(HOUR);
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert_eq!((&described["problem"]["code"], described["unsavedSince"].is_string()), (&json!("BACKUP_FAILED"), true));
    let listed = fixture.run(Operation::ListWorkspaces, &json!({})).unwrap();
    assert_eq!(listed["workspaces"][0]["unsavedSince"], described["unsavedSince"]);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(2 * MINUTE);
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert_eq!((saves(&fixture), described.get("unsavedSince"), described.get("problem")), (1, None, None));
    let listed = fixture.run(Operation::ListWorkspaces, &json!({})).unwrap();
    assert_eq!(listed["workspaces"][0]["lastSavedAt"], described["lastSavedAt"]);
    assert_eq!(listed["workspaces"][0].get("unsavedSince"), None);
}

#[test]
fn change_before_a_failed_save_is_in_the_next_one() {
    let fixture = Fixture::with_workspace_options(&every(1));
    fixture.world.after(Method::CreateBackup).nth(1).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.advance_with_alarms(5 * MINUTE);
    assert_eq!(lose_and_restart(&fixture).unwrap(), "first");
}

#[test]
fn files_are_saved_again_after_their_snapshot_is_deleted() {
    let fixture = Fixture::with_workspace_options(&every(1));
    fixture.advance_with_alarms(2 * MINUTE);
    let id = fixture.sandbox_of(WORKSPACE);
    let saved = fixture.snapshots_of(&id);
    assert_eq!(saved.len(), 1);
    let only = json!({ "sandboxId": id, "snapshotId": saved[0], "force": true });
    assert!(fixture.get_workspace(WORKSPACE).unwrap()["lastSavedAt"].is_string());
    fixture.run(Operation::Delete, &only).unwrap();
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap().get("lastSavedAt"), None, "nothing has the files");
    fixture.advance_with_alarms(10 * MINUTE);
    assert_eq!(lose_and_restart(&fixture).unwrap(), "first");
}

#[test]
fn adopted_files_are_saved_after_an_adoption_that_is_interrupted() {
    let fixture = Fixture::with_diverged_workspace();
    fixture.update_workspace(WORKSPACE, &every(1)).unwrap();
    let gate = fixture.world.after(Method::UpdateMarker).nth(2).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({ "onDiverged": "adopt" }));
    assert!(gate.is_reached());
    fixture.crash_during(start);
    fixture.world.clear_faults();
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "running");
    fixture.advance_with_alarms(5 * MINUTE);
    assert_eq!(lose_and_restart(&fixture).unwrap(), "second");
}

#[test]
fn snapshot_of_a_caller_counts_as_a_save() {
    let fixture = Fixture::with_workspace();
    let saved_at = || fixture.get_workspace(WORKSPACE).unwrap().get("lastSavedAt").cloned();
    assert_eq!(saved_at(), None);
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    assert_eq!(saved_at().unwrap(), taken["ref"]["createdAt"]);
}

#[test]
fn files_of_the_hook_and_adopted_files_are_saved() {
    let mut options = every(1);
    options["hooks"] = json!({ "afterStart": { "command": "exit 0" } });
    let fixture = Fixture::with_stopped_workspace_options(&options);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(saves(&fixture), 1);
    let fixture = Fixture::with_diverged_workspace();
    fixture.update_workspace(WORKSPACE, &every(1)).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(lose_and_restart(&fixture).unwrap(), "second");
}

#[test]
fn start_during_a_save_does_not_wait_for_it() {
    let fixture = Fixture::with_workspace_options(&every(1));
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    fixture.world.advance_clock(MINUTE);
    let alarm = begin_alarm(&fixture);
    assert!(gate.is_reached());
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["how"], "running");
    gate.open();
    alarm.answer().unwrap();
    assert_eq!(saves(&fixture), 1);
}

#[test]
fn setting_that_is_out_of_range_is_refused() {
    let fixture = Fixture::empty();
    for autosave in [json!({ "everySeconds": 59 }), json!({ "everySeconds": 604_801 }), json!({ "keepLast": 1001 })] {
        fixture.create_workspace(WORKSPACE, &with(autosave)).expect_code(Code::InvalidArgument);
    }
    let _ = address(WORKSPACE);
}
