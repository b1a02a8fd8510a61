//! Updates of the Directory, and lists of workspaces.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::{NamedRecord, State};
use sandbox_snapshotter::ports::DirectoryStore;
use sandbox_snapshotter::service::workspace::directory;
use serde_json::{Value, json};

use crate::support::{DAY, ExpectError, Fixture, HOUR, MINUTE, MemoryDirectoryStore, Method, WORKSPACE};

fn list(fixture: &Fixture, arguments: &Value) -> Value {
    fixture.run(Operation::ListWorkspaces, arguments).unwrap()
}

fn listed_names(listed: &Value) -> Vec<&str> {
    listed["workspaces"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn list_returns_workspaces_by_name_with_state() {
    let fixture = Fixture::empty();
    for name in ["b", "a", "c"] {
        fixture.create_workspace(name, &json!({})).unwrap();
    }
    fixture.stop_workspace("b").unwrap();
    let listed = list(&fixture, &json!({}));
    assert_eq!(listed_names(&listed), ["a", "b", "c"]);
    assert_eq!(listed["workspaces"][1]["state"], "stopped");
    assert_eq!(listed["workspaces"][1]["sandboxId"], json!(fixture.sandbox_of("b")));
    assert!(listed.get("cursor").is_none());
}

#[test]
fn size_in_a_list_is_that_of_the_last_save() {
    let fixture = Fixture::with_workspace();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, &"long ".repeat(1000));
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    let listed = fixture.run(Operation::List, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    let [newest, older] = [0, 1].map(|index| listed["snapshots"][index]["sizeBytes"].as_u64());
    assert!(newest > older, "{listed}");
    assert_eq!(WorkspaceEntry::from(&fixture.record(WORKSPACE)).size_bytes, newest);
}

#[test]
fn list_returns_pages() {
    let fixture = Fixture::empty();
    for name in ["a", "b", "c", "d"] {
        fixture.create_workspace(name, &json!({})).unwrap();
    }
    let first = list(&fixture, &json!({ "limit": 2 }));
    let second = list(&fixture, &json!({ "limit": 2, "cursor": first["cursor"] }));
    assert_eq!((listed_names(&first), listed_names(&second)), (vec!["a", "b"], vec!["c", "d"]));
    assert!(second.get("cursor").is_none());
}

#[test]
fn list_filters_by_name_prefix() {
    let fixture = Fixture::empty();
    for name in ["ab", "b", "a", "abc"] {
        fixture.create_workspace(name, &json!({})).unwrap();
    }
    assert_eq!(listed_names(&list(&fixture, &json!({ "prefix": "ab" }))), ["ab", "abc"]);
    assert_eq!(listed_names(&list(&fixture, &json!({ "prefix": "ab", "cursor": "ab" }))), ["abc"]);
}

#[test]
fn list_returns_only_workspaces_of_the_tenant() {
    let fixture = Fixture::with_workspace();
    fixture.create_workspace("theirs", &json!({ "tenant": "other" })).unwrap();
    assert_eq!(listed_names(&list(&fixture, &json!({}))), [WORKSPACE]);
    assert_eq!(listed_names(&list(&fixture, &json!({ "tenant": "other" }))), ["theirs"]);
}

#[test]
fn list_starts_no_container() {
    let fixture = Fixture::with_stopped_workspace();
    list(&fixture, &json!({}));
    assert_eq!(fixture.world.calls().len(), fixture.world.call_count(Method::ListWorkspaces));
}

#[test]
fn operations_succeed_while_directory_is_down_and_update_it_later() {
    let fixture = Fixture::empty();
    fixture.world.before(Method::UpdateDirectory).fail_transiently();
    fixture.world.before(Method::ListWorkspaces).fail_transiently();
    fixture.create_workspace(WORKSPACE, &json!({ "expiry": { "idleSeconds": 0 } })).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    fixture.delete_workspace("other").unwrap();
    fixture.run(Operation::ListWorkspaces, &json!({})).expect_code(Code::DirectoryUnavailable);
    fixture.advance_with_alarms(HOUR);
    fixture.world.clear_faults();
    assert!(listed_names(&list(&fixture, &json!({}))).is_empty(), "the Directory got no update");
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(listed_names(&list(&fixture, &json!({}))), [WORKSPACE]);
    fixture.assert_nothing_pending();
}

#[test]
fn directory_update_with_lost_answer_is_repeated() {
    let fixture = Fixture::empty();
    fixture.world.after(Method::UpdateDirectory).first(3).fail_transiently();
    fixture.create_workspace(WORKSPACE, &json!({ "expiry": { "idleSeconds": 0 } })).unwrap();
    fixture.advance_with_alarms(5 * MINUTE);
    assert_eq!(listed_names(&list(&fixture, &json!({}))), [WORKSPACE]);
    fixture.assert_nothing_pending();
}

fn entry(fixture: &Fixture, version: u64, state: State) -> WorkspaceEntry {
    WorkspaceEntry::from(&NamedRecord { version, state, ..fixture.record(WORKSPACE) })
}

#[test]
fn outdated_directory_update_is_ignored() {
    let fixture = Fixture::with_workspace();
    let store = MemoryDirectoryStore::default();
    let listed = || {
        let request = serde_json::from_value(json!({ "tenant": "default", "limit": 9 })).unwrap();
        directory::list(&store, &request).unwrap().workspaces
    };
    directory::record_entry(&store, &entry(&fixture, 7, State::Stopped)).unwrap();
    directory::record_entry(&store, &entry(&fixture, 6, State::Active)).unwrap();
    directory::record_entry(&store, &entry(&fixture, 7, State::Failed)).unwrap();
    assert_eq!(listed(), [entry(&fixture, 7, State::Stopped)]);
    directory::record_entry(&store, &entry(&fixture, 8, State::Deleted)).unwrap();
    directory::record_entry(&store, &entry(&fixture, 7, State::Stopped)).unwrap();
    assert_eq!(listed(), []);
}

#[test]
fn recreated_workspace_is_listed_again() {
    let fixture = Fixture::with_workspace();
    fixture.delete_workspace(WORKSPACE).unwrap();
    assert!(listed_names(&list(&fixture, &json!({}))).is_empty());
    fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(listed_names(&list(&fixture, &json!({}))), [WORKSPACE]);
}

#[test]
fn deleted_entry_is_purged_after_a_day_when_another_is_deleted() {
    let fixture = Fixture::with_workspace();
    fixture.create_workspace("other", &json!({})).unwrap();
    let store = MemoryDirectoryStore::default();
    let deleted = entry(&fixture, 7, State::Deleted);
    directory::record_entry(&store, &deleted).unwrap();
    let other = |version, state| WorkspaceEntry {
        updated_at: deleted.updated_at.plus_millis(2 * DAY),
        ..WorkspaceEntry::from(&NamedRecord { version, state, ..fixture.record("other") })
    };
    directory::record_entry(&store, &other(7, State::Stopped)).unwrap();
    assert!(store.entry(&deleted.name).unwrap().is_some());
    directory::record_entry(&store, &other(8, State::Deleted)).unwrap();
    assert!(store.entry(&deleted.name).unwrap().is_none());
}

#[test]
fn list_has_the_size_and_the_time_of_the_snapshot_of_a_rollback() {
    for is_running in [false, true] {
        let fixture = Fixture::with_workspace();
        let first = fixture.stop_with_content(WORKSPACE, "first");
        let (size, at) = (first_entry(&fixture)["sizeBytes"].clone(), first_entry(&fixture)["lastSavedAt"].clone());
        assert!(size.is_u64() && at.is_string());
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.world.advance_clock(MINUTE);
        if !is_running {
            fixture.stop_with_content(WORKSPACE, "second, and longer");
        }
        fixture.revert_workspace(WORKSPACE, &first).unwrap();
        fixture.world.run_background();
        assert_eq!(
            (&first_entry(&fixture)["sizeBytes"], &first_entry(&fixture)["lastSavedAt"]),
            (&size, &at),
            "{is_running}"
        );
    }
}

#[test]
fn snapshot_of_a_caller_counts_as_a_save_of_a_stopped_workspace() {
    let fixture = Fixture::with_workspace_options(&json!({ "persistent": false }));
    let snapshot = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) });
    fixture.run(Operation::Snapshot, &snapshot).unwrap();
    fixture.world.before(Method::NewestSnapshot).fail_transiently();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.clear_faults();
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert_eq!(described["state"], "stopped");
    assert!(described["lastSavedAt"].is_string(), "{described}");
}

fn first_entry(fixture: &Fixture) -> Value {
    fixture.run(Operation::ListWorkspaces, &json!({})).unwrap()["workspaces"][0].clone()
}
