//! `usage` counts stored bytes, operations and running time, and estimates their cost.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, HOUR, MINUTE, WORKSPACE, no_expiry};

fn usage(fixture: &Fixture, options: &Value) -> Result<Value> {
    fixture.run(Operation::Usage, options)
}

/// Returns the usage of the workspace `work`.
fn usage_of_work(fixture: &Fixture) -> Value {
    usage(fixture, &json!({ "name": WORKSPACE })).unwrap()["workspaces"][0].clone()
}

#[test]
fn usage_counts_captures_restores_and_stored_bytes_of_all_sandboxes_of_a_workspace() {
    let fixture = Fixture::with_workspace();
    let first = fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({ "from": first["snapshotId"] })).unwrap();
    let counted = usage_of_work(&fixture);
    let list = |id: &str| fixture.run(Operation::List, &json!({ "sandboxId": id })).unwrap()["snapshots"].clone();
    let ids: Vec<String> = fixture.record(WORKSPACE).sandboxes().map(ToString::to_string).collect();
    let snapshots: Vec<Value> = ids.iter().flat_map(|id| list(id).as_array().unwrap().clone()).collect();
    let bytes: u64 = snapshots.iter().map(|snapshot| snapshot["sizeBytes"].as_u64().unwrap()).sum();
    assert_eq!(ids.len(), 2);
    let expected = json!({ "snapshots": snapshots.len(), "ownBytes": bytes, "sharedBytes": 0 });
    assert_eq!(counted["stored"], expected);
    assert_eq!(counted["operations"]["captures"], snapshots.len());
    assert_eq!(counted["operations"]["restores"], 1);
}

#[test]
fn running_time_is_counted_until_the_stop() {
    let fixture = Fixture::with_workspace();
    fixture.world.advance_clock(HOUR);
    let running = usage_of_work(&fixture)["runningSeconds"].as_u64().unwrap();
    assert_eq!(running, 3600 + 60);
    fixture.stop_workspace(WORKSPACE).unwrap();
    let stopped = usage_of_work(&fixture)["runningSeconds"].as_u64().unwrap();
    assert!(stopped >= running, "{stopped}");
    fixture.world.advance_clock(HOUR);
    assert_eq!(usage_of_work(&fixture)["runningSeconds"], stopped, "a stopped workspace does not run");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    assert!(usage_of_work(&fixture)["runningSeconds"].as_u64().unwrap() >= stopped + 60);
}

#[test]
fn usage_of_a_tenant_has_the_sums_of_its_workspaces() {
    let fixture = Fixture::with_workspace();
    fixture.create_workspace("other", &no_expiry()).unwrap();
    fixture.stop_with_content(WORKSPACE, "first");
    fixture.stop_with_content("other", "second");
    fixture.world.finish_background();
    fixture.world.reset_calls();
    let all = usage(&fixture, &json!({ "instanceType": "basic" })).unwrap();
    let workspaces = all["workspaces"].as_array().unwrap();
    assert_eq!(workspaces.iter().map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>(), ["other", "work"]);
    for path in ["/stored/ownBytes", "/operations/captures", "/runningSeconds"] {
        let sum: u64 = workspaces.iter().map(|it| it.pointer(path).unwrap().as_u64().unwrap()).sum();
        assert!(sum > 0, "{path}");
        assert_eq!(all.pointer(path).unwrap(), sum, "{path}");
    }
    assert!(all["cost"]["running"].as_f64().unwrap() > 0.0 && all["cost"]["operations"].as_f64().unwrap() > 0.0);
    assert!(!all["leavesOut"].as_array().unwrap().is_empty());
    assert!(fixture.world.calls().iter().all(|(method, _)| !method.is_sandbox_call()), "no sandbox is called");
}

#[test]
fn usage_is_read_in_pages() {
    let fixture = Fixture::with_workspace();
    fixture.create_workspace("other", &no_expiry()).unwrap();
    fixture.world.finish_background();
    let first = usage(&fixture, &json!({ "limit": 1 })).unwrap();
    assert_eq!((&first["workspaces"][0]["name"], &first["cursor"]), (&json!("other"), &json!("other")));
    let second = usage(&fixture, &json!({ "limit": 1, "cursor": first["cursor"] })).unwrap();
    assert_eq!((&second["workspaces"][0]["name"], second.get("cursor")), (&json!(WORKSPACE), None));
}

#[test]
fn usage_of_a_missing_workspace_is_refused() {
    let fixture = Fixture::with_workspace();
    usage(&fixture, &json!({ "name": "missing" })).expect_code(Code::WorkspaceNotFound);
    usage(&fixture, &json!({ "instanceType": "dev" })).expect_code(Code::InvalidArgument);
}
