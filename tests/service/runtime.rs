//! The runtimes of sandboxes: the same id in two namespaces is two containers.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::record::SandboxRecord;
use sandbox_snapshotter::model::{ArchiveFormat, Code, Runtime};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, MINUTE, Method, WORKSPACE, by_ref, sandbox, workspace_args};

fn snapshot(fixture: &Fixture, options: &Value) -> sandbox_snapshotter::model::Result<Value> {
    let mut arguments = json!({ "sandboxId": "agent-42" });
    arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    fixture.run(Operation::Snapshot, &arguments)
}

#[test]
fn first_snapshot_records_the_default_runtime() {
    for (default, id) in [(Runtime::Sdk012, "agent-42"), (Runtime::Container, "container:agent-42")] {
        let fixture = Fixture::empty();
        fixture.deploy_both_runtimes(default);
        fixture.start_sandbox(id);
        snapshot(&fixture, &json!({})).unwrap();
        assert_eq!(fixture.runtime_of("agent-42"), Some(default));
        assert!(fixture.world.calls().iter().all(|(_, called)| !called.contains("agent-42") || called == id));
    }
}

#[test]
fn first_snapshot_records_the_requested_runtime() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("container:agent-42");
    snapshot(&fixture, &json!({ "runtime": "container" })).unwrap();
    assert_eq!(fixture.runtime_of("agent-42"), Some(Runtime::Container));
    fixture.crash_worker();
    snapshot(&fixture, &json!({})).unwrap();
    assert_eq!(fixture.world.calls_about("agent-42"), []);
}

#[test]
fn failed_first_snapshot_records_no_runtime() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("container:agent-42");
    snapshot(&fixture, &json!({})).expect_code(Code::SandboxNotRunning);
    snapshot(&fixture, &json!({ "runtime": "container" })).unwrap();
    assert_eq!(fixture.runtime_of("agent-42"), Some(Runtime::Container));
}

#[test]
fn request_for_another_runtime_is_refused_and_calls_no_sandbox() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("agent-42");
    fixture.start_sandbox("container:agent-42");
    let taken = snapshot(&fixture, &json!({})).unwrap();
    fixture.world.reset_calls();
    let backup = json!({ "id": "b1", "dir": "/workspace" });
    for (operation, options) in [
        (Operation::Snapshot, json!({})),
        (Operation::Import, json!({ "backup": backup })),
        (Operation::CreateCheckpoint, json!({ "name": "first" })),
        (Operation::ListCheckpoints, json!({})),
    ] {
        let mut arguments = json!({ "sandboxId": "agent-42", "runtime": "container" });
        arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let error = fixture.run(operation, &arguments).expect_code(Code::RuntimeMismatch);
        assert!(error.message().contains("has the runtime sdk-0.12"), "{error}");
        assert!(error.remediation().contains("workspaces/migrate"), "{error}");
        assert_eq!(fixture.world.calls_about("agent-42"), [], "{operation:?}");
    }
    snapshot(&fixture, &json!({ "runtime": "sdk-0.12" })).unwrap();
    assert!(taken["ref"]["snapshotId"].is_string());
}

#[test]
fn concurrent_first_snapshots_of_two_runtimes_record_one() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("agent-42");
    fixture.start_sandbox("container:agent-42");
    let gate = fixture.world.before(Method::Status).nth(1).block();
    let first = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "runtime": "container" }));
    let second = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "runtime": "sdk-0.12" }));
    gate.open();
    first.answer().unwrap();
    second.answer().expect_code(Code::RuntimeMismatch);
    assert_eq!(fixture.runtime_of("agent-42"), Some(Runtime::Container));
    assert_eq!(fixture.world.calls_about("agent-42"), []);
}

#[test]
fn restored_sandbox_is_in_the_requested_runtime_or_in_that_of_its_origin() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("agent-42");
    let taken = snapshot(&fixture, &json!({})).unwrap();
    for (options, prefix, runtime) in [
        (json!({}), "", Runtime::Sdk012),
        (json!({ "runtime": "container" }), "container:", Runtime::Container),
        (json!({ "runtime": "sdk-0.12" }), "", Runtime::Sdk012),
    ] {
        let mut arguments = json!({ "ref": taken });
        arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let restored = fixture.run(Operation::Restore, &arguments).unwrap();
        let id = restored["ref"]["sandboxId"].as_str().unwrap().to_owned();
        assert_eq!(fixture.runtime_of(&id), Some(runtime));
        let files = fixture.world.files(&format!("{prefix}{id}")).unwrap();
        assert_eq!(files.get(FILE).map(String::as_str), Some("first"));
        // Its own snapshots come from the same namespace.
        fixture.world.advance_clock(60_000);
        let own = fixture.run(Operation::Snapshot, &json!({ "sandboxId": id })).unwrap();
        let branch = fixture.run(Operation::Branch, &json!({ "ref": own })).unwrap();
        assert_eq!(fixture.runtime_of(branch["ref"]["sandboxId"].as_str().unwrap()), Some(runtime));
    }
}

#[test]
fn repeated_restore_with_a_key_requires_the_same_runtime() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("agent-42");
    let taken = snapshot(&fixture, &json!({})).unwrap();
    let call = |runtime: &str| {
        fixture.run(Operation::Restore, &json!({ "ref": taken, "runtime": runtime, "idempotencyKey": "k" }))
    };
    let first = call("container").unwrap();
    assert_eq!(call("container").unwrap(), first);
    call("sdk-0.12").expect_code(Code::IdempotencyConflict);
}

#[test]
fn failed_restore_destroys_the_sandbox_in_its_runtime() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("agent-42");
    let taken = snapshot(&fixture, &json!({})).unwrap();
    fixture.world.after(Method::RestoreBackup).fail_transiently();
    let restored = fixture.run(Operation::Restore, &json!({ "ref": taken, "runtime": "container" }));
    restored.expect_code(Code::SandboxUnavailable);
    fixture.assert_no_minted_sandbox_runs();
    let destroyed: Vec<_> =
        fixture.world.calls().into_iter().filter(|(method, _)| *method == Method::Destroy).collect();
    assert!(!destroyed.is_empty() && destroyed.iter().all(|(_, id)| id.starts_with("container:")), "{destroyed:?}");
}

#[test]
fn interrupted_restore_is_destroyed_in_its_runtime() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("agent-42");
    let taken = snapshot(&fixture, &json!({})).unwrap();
    let gate = fixture.world.after(Method::RestoreBackup).nth(1).block();
    let restore = fixture.begin(Operation::Restore, &json!({ "ref": taken, "runtime": "container" }));
    assert!(gate.is_reached());
    fixture.crash_during(restore);
    fixture.world.clear_faults();
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    fixture.assert_no_minted_sandbox_runs();
}

#[test]
fn tar_is_refused_in_the_runtime_of_sdk_0_12_before_an_id_is_claimed() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("container:agent-42");
    let taken = snapshot(&fixture, &json!({ "runtime": "container" })).unwrap();
    fixture.world.edit_backups(|backup| backup.metadata.as_mut().unwrap().format = ArchiveFormat::TarGzip);
    fixture.world.reset_calls();
    let restored = fixture.run(Operation::Restore, &json!({ "ref": taken, "runtime": "sdk-0.12" }));
    let error = restored.expect_code(Code::Unsupported);
    assert!(error.message().contains("\"tar+gzip\"") && error.message().contains("sdk-0.12"), "{error}");
    let created = fixture.run(
        Operation::CreateWorkspace,
        &workspace_args("copy", &json!({ "sourceSnapshot": { "ref": taken }, "runtime": "sdk-0.12" })),
    );
    created.expect_code(Code::Unsupported);
    assert_eq!(fixture.world.call_count(Method::Claim), 0);
    fixture.run(Operation::Restore, &json!({ "ref": taken })).unwrap();
}

#[test]
fn ledger_of_an_earlier_release_uses_the_binding_of_that_release() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot().unwrap();
    let row = |fixture: &Fixture| fixture.ledger("agent-42").sandbox().unwrap().unwrap();
    assert_eq!(row(&fixture).runtime, None, "this deployment names no runtimes");
    fixture.deploy_both_runtimes(Runtime::Container);
    fixture.world.advance_clock(60_000);
    snapshot(&fixture, &json!({ "runtime": "container" })).expect_code(Code::RuntimeMismatch);
    let taken = snapshot(&fixture, &json!({ "runtime": "sdk-0.12" })).unwrap();
    let restored = fixture.run(Operation::Restore, &json!({ "ref": taken })).unwrap();
    let id = restored["ref"]["sandboxId"].as_str().unwrap();
    assert_eq!(fixture.runtime_of(id), Some(Runtime::Sdk012));
}

#[test]
fn snapshots_of_a_runtime_without_a_binding_can_be_restored_in_another_one() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot().unwrap();
    let sandboxes = json!([{ "binding": "SnapshotSandbox", "runtime": "container" }]);
    fixture.deploy_sandboxes(&sandboxes);
    let list = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(list["snapshots"].as_array().unwrap().len(), 1);
    let mut arguments = by_ref(&snapshot);
    let error = fixture.run(Operation::Restore, &arguments).expect_code(Code::SandboxBindingMissing);
    assert!(error.message().contains("\"Sandbox\""), "{error}");
    arguments["runtime"] = json!("container");
    fixture.run(Operation::Restore, &arguments).unwrap();
}

#[test]
fn named_runtime_is_refused_where_the_deployment_names_none() {
    let fixture = Fixture::with_sandbox();
    snapshot(&fixture, &json!({ "runtime": "sdk-0.12" })).expect_code(Code::InvalidArgument);
    snapshot(&fixture, &json!({})).unwrap();
}

#[test]
fn tree_checks_each_sandbox_in_its_runtime() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("agent-42");
    let taken = snapshot(&fixture, &json!({})).unwrap();
    let restored = fixture.run(Operation::Restore, &json!({ "ref": taken, "runtime": "container" })).unwrap();
    let tree = fixture.run(Operation::Lineage, &json!({ "sandboxId": "agent-42", "check": true })).unwrap();
    let derived = &tree["root"]["snapshots"][0]["derived"][0];
    assert_eq!((&tree["root"]["running"], &derived["running"]), (&json!(true), &json!(true)));
    assert_eq!(derived["sandboxId"], restored["ref"]["sandboxId"]);
}

#[test]
fn new_workspace_is_in_the_requested_runtime() {
    let fixture = Fixture::with_both_runtimes();
    let created = fixture.create_workspace(WORKSPACE, &json!({ "runtime": "container" })).unwrap();
    assert_eq!(created["runtime"], json!("container"));
    let id = created["sandboxId"].as_str().unwrap();
    assert_eq!(fixture.runtime_of(id), Some(Runtime::Container));
    assert!(fixture.world.files(&format!("container:{id}")).is_some());
    let listed = fixture.run(Operation::ListWorkspaces, &json!({})).unwrap();
    assert_eq!(listed["workspaces"][0]["runtime"], json!("container"));
}

#[test]
fn new_workspace_is_in_the_runtime_of_its_source() {
    let fixture = Fixture::with_both_runtimes();
    fixture.create_workspace(WORKSPACE, &json!({ "runtime": "container" })).unwrap();
    fixture.world.advance_clock(MINUTE);
    let copy = fixture.create_workspace("copy", &json!({ "sourceWorkspace": WORKSPACE })).unwrap();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork" })).unwrap();
    assert_eq!((&copy["runtime"], &forked["forks"][0]["value"]["runtime"]), (&json!("container"), &json!("container")));
    let other = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other", "runtime": "sdk-0.12" })).unwrap();
    assert_eq!(other["forks"][0]["value"]["runtime"], json!("sdk-0.12"));
}

#[test]
fn existing_workspace_is_not_returned_for_another_runtime() {
    let fixture = Fixture::with_both_runtimes();
    let call = |runtime: Value| {
        fixture.run(Operation::GetOrCreateWorkspace, &workspace_args(WORKSPACE, &json!({ "runtime": runtime })))
    };
    call(json!("container")).unwrap();
    let error = call(json!("sdk-0.12")).expect_code(Code::RuntimeMismatch);
    assert!(error.message().contains("the workspace \"work\" has the runtime container"), "{error}");
    call(json!("container")).unwrap();
    call(Value::Null).unwrap();
}

#[test]
fn workspace_of_an_earlier_release_is_listed_with_its_runtime() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.deploy_both_runtimes(Runtime::Container);
    let listed = fixture.run(Operation::ListWorkspaces, &json!({})).unwrap();
    assert_eq!(listed["workspaces"][0]["runtime"], json!("sdk-0.12"));
    let described = fixture.run(Operation::GetWorkspaceByName, &workspace_args(WORKSPACE, &json!({}))).unwrap();
    assert_eq!(described["runtime"], json!("sdk-0.12"));
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let id = started["sandboxId"].as_str().unwrap();
    assert!(fixture.world.files(id).is_some() && fixture.world.files(&format!("container:{id}")).is_none());
}

#[test]
fn revert_to_the_snapshot_of_another_runtime_keeps_the_runtime_of_the_workspace() {
    let fixture = Fixture::with_both_runtimes();
    fixture.start_sandbox("agent-42");
    let taken = snapshot(&fixture, &json!({})).unwrap();
    let options = json!({ "sourceSnapshot": { "ref": taken }, "runtime": "container" });
    fixture.create_workspace(WORKSPACE, &options).unwrap();
    let reverted = fixture.revert_workspace(WORKSPACE, &taken["ref"]["snapshotId"]).unwrap();
    assert_eq!(reverted["runtime"], json!("container"));
    assert_eq!(fixture.runtime_of(reverted["sandboxId"].as_str().unwrap()), Some(Runtime::Container));
}

#[test]
fn claim_of_an_earlier_release_is_for_the_binding_that_it_uses() {
    let fixture = Fixture::with_both_runtimes();
    fixture.deploy_both_runtimes(Runtime::Container);
    let claim = serde_json::from_value(json!({ "rootId": "agent-42", "parent": null, "binding": null })).unwrap();
    assert!(fixture.snapshotter("agent-42-branch-aaaaaaaa").claim(&claim).unwrap());
    let row: SandboxRecord = fixture.world.ledger(&sandbox("agent-42-branch-aaaaaaaa")).sandbox().unwrap().unwrap();
    assert_eq!(row.runtime, Some(Runtime::Sdk012));
}
