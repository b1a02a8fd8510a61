//! The client reads lists page by page, and requests a page only when it is needed.

use futures_util::{StreamExt, TryStreamExt};
use sandbox_snapshotter::model::CheckpointName;
use sandbox_snapshotter::model::request::{
    CheckpointLocation, CreateCheckpointRequest, LineageScope, ListCheckpointsRequest, ListRequest,
    ListWorkspacesRequest,
};
use sandbox_snapshotter_client::{Client, RetryPolicy};
use serde_json::json;

use super::fake_transport::{FakeTransport, error_reply, ok_reply};
use super::in_memory::{InMemoryTransport, run_ready};
use super::support::{FILE, Fixture, WORKSPACE, address, no_expiry, sandbox};

fn three_snapshots() -> InMemoryTransport {
    let fixture = Fixture::with_sandbox();
    for label in ["a", "b", "c"] {
        fixture.snapshot_labelled("agent-42", label);
        fixture.world.advance_clock(1000);
    }
    InMemoryTransport::new(fixture)
}

#[test]
fn stream_returns_all_snapshots_for_every_page_size() {
    let service = three_snapshots();
    let client = Client::new(&service);
    for limit in [1, 2, 3, 100] {
        let request = ListRequest { limit, ..ListRequest::of(sandbox("agent-42")) };
        let labels = client.snapshots(request).map_ok(|summary| summary.label.to_string());
        assert_eq!(run_ready(labels.try_collect::<Vec<_>>()).unwrap(), ["c", "b", "a"]);
    }
}

#[test]
fn stream_returns_all_workspaces() {
    let fixture = Fixture::empty();
    for name in [WORKSPACE, "other", "third"] {
        fixture.create_workspace(name, &no_expiry()).unwrap();
    }
    let service = InMemoryTransport::new(fixture);
    let client = Client::new(&service);
    let request = ListWorkspacesRequest { limit: 2, ..ListWorkspacesRequest::of(address(WORKSPACE).tenant) };
    let all =
        run_ready(client.workspaces().all(request).map_ok(|entry| entry.name.to_string()).try_collect::<Vec<_>>());
    assert_eq!(all.unwrap(), ["other", "third", WORKSPACE]);
}

#[test]
fn stream_returns_all_checkpoints_for_every_page_size() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", FILE, "first");
    let service = InMemoryTransport::new(fixture);
    let client = Client::new(&service);
    let checkpoints = client.checkpoints();
    let at = CheckpointLocation {
        sandbox_id: sandbox("agent-42"),
        runtime: None,
        dir: None,
        lineage_scope: LineageScope::UNRESTRICTED,
    };
    for name in ["a", "b", "c"] {
        let name = CheckpointName::parse(name).unwrap();
        run_ready(checkpoints.create(&CreateCheckpointRequest {
            location: at.clone(),
            name,
            description: None,
            expiration_seconds: None,
        }))
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
fn next_page_is_requested_after_the_last_item_of_the_previous_one() {
    let page = |names: [&str; 2]| {
        let entry = |name| {
            let at = "2026-11-20T05:00:00.000Z";
            json!({ "name": name, "state": "active", "sandboxId": name, "createdAt": at, "updatedAt": at, "version": 1 })
        };
        ok_reply(&json!({ "workspaces": names.map(entry), "cursor": names[1] }))
    };
    let transport = FakeTransport::new([page(["a", "b"]), error_reply("DIRECTORY_UNAVAILABLE", "transient")]);
    let client = Client::new(&transport).with_retry(RetryPolicy::NEVER);
    let workspaces = client.workspaces();
    let mut all = std::pin::pin!(workspaces.all(ListWorkspacesRequest::of(address(WORKSPACE).tenant)));
    assert!(transport.calls().is_empty());
    for name in ["a", "b"] {
        assert_eq!(run_ready(all.next()).unwrap().unwrap().name.as_str(), name);
        assert_eq!(transport.calls().len(), 1);
    }
    assert!(run_ready(all.next()).unwrap().is_err());
    assert_eq!(transport.calls()[1].1["cursor"], "b");
    assert!(run_ready(all.next()).is_none());
}
