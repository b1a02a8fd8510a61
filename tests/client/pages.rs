//! Lists are read page by page, and no page before it is needed.

use futures_util::{StreamExt, TryStreamExt};
use sandbox_snapshotter::client::{Client, Retry};
use sandbox_snapshotter::model::CheckpointName;
use sandbox_snapshotter::model::request::{
    CheckpointsRequest, CreateCheckpointRequest, ListCheckpointsRequest, ListRequest, NamesRequest, Session,
};
use serde_json::json;

use super::in_memory::{InMemory, done};
use super::scripted::{Scripted, answer, error};
use super::support::{FILE, Stage, WORK, address, for_ever, sandbox};

fn three_snapshots() -> InMemory {
    let stage = Stage::with_sandbox();
    for label in ["a", "b", "c"] {
        stage.captures("agent-42", label);
        stage.world.pass(1000);
    }
    InMemory::new(stage)
}

#[test]
fn all_snapshots_come_whatever_the_size_of_the_pages() {
    let service = three_snapshots();
    let client = Client::new(&service);
    for limit in [1, 2, 3, 100] {
        let request = ListRequest { limit, ..ListRequest::of(sandbox("agent-42")) };
        let labels = client.snapshots(request).map_ok(|summary| summary.label.to_string());
        assert_eq!(done(labels.try_collect::<Vec<_>>()).unwrap(), ["c", "b", "a"]);
    }
}

#[test]
fn all_workspaces_come() {
    let stage = Stage::empty();
    for name in [WORK, "other", "third"] {
        stage.creates(name, &for_ever()).unwrap();
    }
    let service = InMemory::new(stage);
    let client = Client::new(&service);
    let request = NamesRequest { limit: 2, ..NamesRequest::of(address(WORK).tenant) };
    let all = done(client.workspaces().all(request).map_ok(|entry| entry.name.to_string()).try_collect::<Vec<_>>());
    assert_eq!(all.unwrap(), ["other", "third", WORK]);
}

#[test]
fn all_checkpoints_come_whatever_the_size_of_the_pages() {
    let stage = Stage::with_sandbox();
    stage.world.writes("agent-42", FILE, "first");
    let service = InMemory::new(stage);
    let client = Client::new(&service);
    let checkpoints = client.checkpoints();
    let at = CheckpointsRequest { sandbox_id: sandbox("agent-42"), dir: None, session: Session::NONE };
    for name in ["a", "b", "c"] {
        let name = CheckpointName::parse(name).unwrap();
        done(checkpoints.create(&CreateCheckpointRequest { at: at.clone(), name, description: None })).unwrap();
    }
    for limit in [1, 2, 3, 100] {
        let request = ListCheckpointsRequest { limit, ..ListCheckpointsRequest::of(at.clone()) };
        let names = checkpoints.all(request).map_ok(|checkpoint| checkpoint.name.to_string());
        let mut names = done(names.try_collect::<Vec<_>>()).unwrap();
        names.sort();
        assert_eq!(names, ["a", "b", "c"], "{limit}");
    }
}

#[test]
fn a_page_is_asked_for_when_the_one_before_is_used_up() {
    let page = |names: [&str; 2]| {
        let entry = |name| {
            let at = "2026-11-20T05:00:00.000Z";
            json!({ "name": name, "state": "active", "sandboxId": name, "createdAt": at, "updatedAt": at, "version": 1 })
        };
        answer(&json!({ "workspaces": names.map(entry), "cursor": names[1] }))
    };
    let scripted = Scripted::new([page(["a", "b"]), error("DIRECTORY_UNAVAILABLE", "transient")]);
    let client = Client::new(&scripted).retrying(Retry::NEVER);
    let workspaces = client.workspaces();
    let mut all = std::pin::pin!(workspaces.all(NamesRequest::of(address(WORK).tenant)));
    assert!(scripted.calls().is_empty());
    for name in ["a", "b"] {
        assert_eq!(done(all.next()).unwrap().unwrap().name.as_str(), name);
        assert_eq!(scripted.calls().len(), 1);
    }
    assert!(done(all.next()).unwrap().is_err());
    assert_eq!(scripted.calls()[1].1["cursor"], "b");
    assert!(done(all.next()).is_none());
}
