//! What is told to the Directory, and what it lists.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::named::answer::Entry;
use sandbox_snapshotter::model::named::{NamedRecord, State};
use sandbox_snapshotter::ports::Index;
use sandbox_snapshotter::service::directory;
use serde_json::{Value, json};

use crate::support::{Checked, DAY, HOUR, MINUTE, MemoryIndex, Method, Stage, WORK};

fn list(stage: &Stage, arguments: &Value) -> Value {
    stage.run(Operation::ListWorkspaces, arguments).unwrap()
}

fn names(listed: &Value) -> Vec<&str> {
    listed["workspaces"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn workspaces_are_listed_by_their_names_with_what_they_do() {
    let stage = Stage::empty();
    for name in ["b", "a", "c"] {
        stage.creates(name, &json!({})).unwrap();
    }
    stage.stops("b").unwrap();
    let listed = list(&stage, &json!({}));
    assert_eq!(names(&listed), ["a", "b", "c"]);
    assert_eq!(listed["workspaces"][1]["state"], "stopped");
    assert_eq!(listed["workspaces"][1]["sandboxId"], json!(stage.sandbox_of("b")));
    assert!(listed.get("cursor").is_none());
}

#[test]
fn a_list_has_pages() {
    let stage = Stage::empty();
    for name in ["a", "b", "c", "d"] {
        stage.creates(name, &json!({})).unwrap();
    }
    let first = list(&stage, &json!({ "limit": 2 }));
    let second = list(&stage, &json!({ "limit": 2, "cursor": first["cursor"] }));
    assert_eq!((names(&first), names(&second)), (vec!["a", "b"], vec!["c", "d"]));
    assert!(second.get("cursor").is_none());
}

#[test]
fn a_list_can_be_of_those_whose_names_begin_alike() {
    let stage = Stage::empty();
    for name in ["ab", "b", "a", "abc"] {
        stage.creates(name, &json!({})).unwrap();
    }
    assert_eq!(names(&list(&stage, &json!({ "prefix": "ab" }))), ["ab", "abc"]);
    assert_eq!(names(&list(&stage, &json!({ "prefix": "ab", "cursor": "ab" }))), ["abc"]);
}

#[test]
fn each_tenant_has_its_own_list() {
    let stage = Stage::with_work();
    stage.creates("theirs", &json!({ "tenant": "other" })).unwrap();
    assert_eq!(names(&list(&stage, &json!({}))), [WORK]);
    assert_eq!(names(&list(&stage, &json!({ "tenant": "other" }))), ["theirs"]);
}

#[test]
fn a_list_starts_nothing() {
    let stage = Stage::with_stopped_work();
    list(&stage, &json!({}));
    assert_eq!(stage.world.calls().len(), stage.world.count(Method::ListNames));
}

#[test]
fn everything_works_while_the_directory_is_down_and_it_is_told_later() {
    let stage = Stage::empty();
    stage.world.before(Method::Note).fails_in_passing();
    stage.world.before(Method::ListNames).fails_in_passing();
    stage.creates(WORK, &json!({ "expiry": { "idleSeconds": 0 } })).unwrap();
    stage.world.pass(MINUTE);
    stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    stage.deletes("other").unwrap();
    stage.run(Operation::ListWorkspaces, &json!({})).fails_as(Code::DirectoryUnavailable);
    stage.passes(HOUR);
    stage.world.goes_well();
    assert!(names(&list(&stage, &json!({}))).is_empty(), "it was told nothing");
    stage.passes(2 * MINUTE);
    assert_eq!(names(&list(&stage, &json!({}))), [WORK]);
    stage.assert_settled();
}

#[test]
fn news_whose_answer_was_lost_may_be_told_twice() {
    let stage = Stage::empty();
    stage.world.after(Method::Note).first(3).fails_in_passing();
    stage.creates(WORK, &json!({ "expiry": { "idleSeconds": 0 } })).unwrap();
    stage.passes(5 * MINUTE);
    assert_eq!(names(&list(&stage, &json!({}))), [WORK]);
    stage.assert_settled();
}

fn entry(of: &Stage, version: u64, state: State) -> Entry {
    Entry::from(&NamedRecord { version, state, ..of.record(WORK) })
}

#[test]
fn stale_news_changes_nothing() {
    let stage = Stage::with_work();
    let index = MemoryIndex::default();
    let listed = || {
        let request = serde_json::from_value(json!({ "tenant": "default", "limit": 9 })).unwrap();
        directory::list(&index, &request).unwrap().workspaces
    };
    directory::note(&index, &entry(&stage, 7, State::Stopped)).unwrap();
    directory::note(&index, &entry(&stage, 6, State::Active)).unwrap();
    directory::note(&index, &entry(&stage, 7, State::Failed)).unwrap();
    assert_eq!(listed(), [entry(&stage, 7, State::Stopped)]);
    directory::note(&index, &entry(&stage, 8, State::Deleted)).unwrap();
    directory::note(&index, &entry(&stage, 7, State::Stopped)).unwrap();
    assert_eq!(listed(), []);
}

#[test]
fn a_name_that_is_given_again_is_listed_again() {
    let stage = Stage::with_work();
    stage.deletes(WORK).unwrap();
    assert!(names(&list(&stage, &json!({}))).is_empty());
    stage.creates(WORK, &json!({})).unwrap();
    assert_eq!(names(&list(&stage, &json!({}))), [WORK]);
}

#[test]
fn what_is_gone_for_a_day_is_forgotten_when_another_one_goes() {
    let stage = Stage::with_work();
    stage.creates("other", &json!({})).unwrap();
    let index = MemoryIndex::default();
    let gone = entry(&stage, 7, State::Deleted);
    directory::note(&index, &gone).unwrap();
    let other = |version, state| Entry {
        updated_at: gone.updated_at.plus_millis(2 * DAY),
        ..Entry::from(&NamedRecord { version, state, ..stage.record("other") })
    };
    directory::note(&index, &other(7, State::Stopped)).unwrap();
    assert!(index.entry(&gone.name).unwrap().is_some());
    directory::note(&index, &other(8, State::Deleted)).unwrap();
    assert!(index.entry(&gone.name).unwrap().is_none());
}
