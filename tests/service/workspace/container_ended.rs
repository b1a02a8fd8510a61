//! `containerEnded`: a workspace whose container ended without a stop says so, also after a stop that found it ended.

use sandbox_snapshotter::api::operations::Operation;
use serde_json::{Value, json};

use super::loss::{restored, start, with_unsaved_file};
use crate::support::{Fixture, HOUR, Method, WORKSPACE};

/// `containerEnded` of the workspace's description, and of its entry in the list.
fn container_ended(fixture: &Fixture) -> [Option<bool>; 2] {
    let list = fixture.run(Operation::ListWorkspaces, &json!({})).unwrap();
    let of = |value: &Value| value["containerEnded"].as_bool();
    [of(&fixture.get_workspace(WORKSPACE).unwrap()), of(&list["workspaces"][0])]
}

#[test]
fn description_says_that_the_container_has_ended() {
    let fixture = Fixture::with_workspace();
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["containerEnded"], Value::Null);
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert_eq!((&described["state"], &described["containerEnded"]), (&json!("active"), &json!(true)));
    assert_eq!(described["mayHaveLost"], true);
    assert!(fixture.world.running_sandboxes().is_empty(), "the description starts nothing");
    fixture.world.before(Method::Status).fail_transiently();
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["containerEnded"], Value::Null, "it is not known");
}

#[test]
fn stopped_workspace_whose_container_had_ended_says_so_until_it_is_started() {
    let fixture = with_unsaved_file();
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(stopped["mayHaveLost"], true);
    assert_eq!(container_ended(&fixture), [Some(true); 2]);
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(container_ended(&fixture), [Some(true); 2], "a further stop finds nothing new");
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
    assert_eq!(container_ended(&fixture), [None; 2]);
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(container_ended(&fixture), [None; 2]);
}

#[test]
fn workspace_whose_container_had_ended_at_its_time_limit_says_so() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({ "expiry": { "idleSeconds": 600, "maxSeconds": 0 } })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "first");
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["state"], json!("stopped"));
    assert_eq!(container_ended(&fixture), [Some(true); 2]);
}

#[test]
fn workspace_whose_container_had_ended_with_all_files_saved_does_not_say_so() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(container_ended(&fixture), [None; 2]);
}

#[test]
fn workspace_that_is_not_persistent_has_no_files_to_lose_when_its_container_ends() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({ "persistent": false })).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(container_ended(&fixture), [None; 2]);
}

#[test]
fn workspace_that_is_not_persistent_is_started_empty_and_says_that_its_container_had_ended() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({ "persistent": false })).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&started["how"], &started["mayHaveLost"]), (&json!("empty"), &json!(true)), "{started}");
    assert_eq!(started["history"][0]["cause"], json!("it was started empty; its earlier files may be lost"));
    let ran = fixture.run(Operation::Exec, &json!({ "name": WORKSPACE, "command": "true" })).unwrap();
    assert_eq!(ran["started"]["mayHaveLost"], json!(true), "the first answer may be lost: {ran}");
    fixture.stop_workspace(WORKSPACE).unwrap();
    let restarted = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&restarted["how"], restarted.get("mayHaveLost")), (&json!("empty"), None), "{restarted}");
    assert_eq!(restarted["history"][0]["cause"], json!("it was started without files"));
}

#[test]
fn empty_start_that_fails_says_later_that_the_container_had_ended() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({ "persistent": false })).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.world.before(Method::BeginRestore).fail_transiently();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap_err();
    assert_eq!(container_ended(&fixture), [Some(true); 2]);
}

#[test]
fn rollback_of_a_workspace_whose_container_had_ended_starts_without_the_report() {
    let fixture = with_unsaved_file();
    fixture.stop_workspace(WORKSPACE).unwrap();
    let snapshot = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"].clone();
    fixture.revert_workspace(WORKSPACE, &snapshot).unwrap();
    assert_eq!(container_ended(&fixture), [None; 2]);
}
