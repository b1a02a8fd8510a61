//! Lists are read page by page, and no page before it is needed.

use futures_util::{StreamExt, TryStreamExt};
use sandbox_snapshotter::client::{Client, RetryPolicy};
use sandbox_snapshotter::model::CheckpointName;
use sandbox_snapshotter::model::request::{
    CheckpointLocation, CreateCheckpointRequest, LineageScope, ListCheckpointsRequest, ListRequest,
    ListWorkspacesRequest,
};
use serde_json::json;

use super::fake_transport::{FakeTransport, error_reply, ok_reply};
use super::in_memory::{InMemoryTransport, run_ready};
use super::support::{FILE, Fixture, WORKSPACE, address, no_expiry, sandbox};

fn three_snapshots() -> InMemoryTransport {
    let stage = Fixture::with_sandbox();
    for label in ["a", "b", "c"] {
        stage.snapshot_labelled("agent-42", label);
        stage.world.advance_clock(1000);
    }
    InMemoryTransport::new(stage)
}

#[test]
fn all_snapshots_come_whatever_the_size_of_the_pages() {
    let service = three_snapshots();
    let client = Client::new(&service);
    for limit in [1, 2, 3, 100] {
        let request = ListRequest { limit, ..ListRequest::of(sandbox("agent-42")) };
        let labels = client.snapshots(request).map_ok(|summary| summary.label.to_string());
        assert_eq!(run_ready(labels.try_collect::<Vec<_>>()).unwrap(), ["c", "b", "a"]);
    }
}

#[test]
fn all_workspaces_come() {
    let stage = Fixture::empty();
    for name in [WORKSPACE, "other", "third"] {
        stage.create_workspace(name, &no_expiry()).unwrap();
    }
    let service = InMemoryTransport::new(stage);
    let client = Client::new(&service);
    let request = ListWorkspacesRequest { limit: 2, ..ListWorkspacesRequest::of(address(WORKSPACE).tenant) };
    let all =
        run_ready(client.workspaces().all(request).map_ok(|entry| entry.name.to_string()).try_collect::<Vec<_>>());
    assert_eq!(all.unwrap(), ["other", "third", WORKSPACE]);
}

#[test]
fn all_checkpoints_come_whatever_the_size_of_the_pages() {
    let stage = Fixture::with_sandbox();
    stage.world.write_file("agent-42", FILE, "first");
    let service = InMemoryTransport::new(stage);
    let client = Client::new(&service);
    let checkpoints = client.checkpoints();
    let at =
        CheckpointLocation { sandbox_id: sandbox("agent-42"), dir: None, lineage_scope: LineageScope::UNRESTRICTED };
    for name in ["a", "b", "c"] {
        let name = CheckpointName::parse(name).unwrap();
        run_ready(checkpoints.create(&CreateCheckpointRequest { location: at.clone(), name, description: None }))
            .unwrap();
    }
    for limit in [1, 2, 3, 100] {
        let request = ListCheckpointsRequest { limit, ..ListCheckpointsRequest::of(at.clone()) };
        let names = checkpoints.all(request).map_ok(|checkpoint| checkpoint.name.to_string());
        let mut names = run_ready(names.try_collect::<Vec<_>>()).unwrap();
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
        ok_reply(&json!({ "workspaces": names.map(entry), "cursor": names[1] }))
    };
    let scripted = FakeTransport::new([page(["a", "b"]), error_reply("DIRECTORY_UNAVAILABLE", "transient")]);
    let client = Client::new(&scripted).with_retry(RetryPolicy::NEVER);
    let workspaces = client.workspaces();
    let mut all = std::pin::pin!(workspaces.all(ListWorkspacesRequest::of(address(WORKSPACE).tenant)));
    assert!(scripted.calls().is_empty());
    for name in ["a", "b"] {
        assert_eq!(run_ready(all.next()).unwrap().unwrap().name.as_str(), name);
        assert_eq!(scripted.calls().len(), 1);
    }
    assert!(run_ready(all.next()).unwrap().is_err());
    assert_eq!(scripted.calls()[1].1["cursor"], "b");
    assert!(run_ready(all.next()).is_none());
}
