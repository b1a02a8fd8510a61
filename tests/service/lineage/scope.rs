//! A caller that passes `lineageScope` can use only the lineage of that sandbox.

use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::model::{Code, SnapshotRef};
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, Method, backup_id, by_id, by_label, by_ref, sandbox};

/// Returns valid arguments of the operation.
pub fn arguments(operation: Operation, snapshot: &SnapshotRef) -> Value {
    let sandbox = |extra: Value| merged(json!({ "sandboxId": "agent-42" }), extra);
    let tools = |extra: Value| {
        let workspace = json!({ "name": "work", "snapshot": true, "sandboxId": "agent-42" });
        merged(json!({ "workspaces": [workspace] }), extra)
    };
    match operation {
        Operation::Get
        | Operation::Manifest
        | Operation::Verify
        | Operation::SummarizeFiles
        | Operation::Pin
        | Operation::Unpin
        | Operation::Restore
        | Operation::Branch => by_ref(snapshot),
        Operation::ListFiles | Operation::StatFile => merged(by_ref(snapshot), json!({ "path": "/" })),
        Operation::ReadFile => merged(by_ref(snapshot), json!({ "path": "notes.txt" })),
        Operation::WriteFile => sandbox(json!({ "path": "notes.txt", "content": "x" })),
        Operation::MakeDirectory => sandbox(json!({ "path": "new" })),
        Operation::MoveFile => sandbox(json!({ "path": "notes.txt", "to": "moved.txt" })),
        Operation::RemoveFile => sandbox(json!({ "path": "moved.txt" })),
        Operation::RestoreFiles => merged(by_ref(snapshot), json!({ "paths": ["notes.txt"], "to": "agent-42" })),
        Operation::Diff => json!({ "from": by_ref(snapshot), "to": by_ref(snapshot) }),
        Operation::Label => merged(by_ref(snapshot), json!({ "newLabel": "another" })),
        Operation::Delete => merged(by_ref(snapshot), json!({ "force": true })),
        Operation::Snapshot
        | Operation::Revive
        | Operation::List
        | Operation::Lineage
        | Operation::Retention
        | Operation::ApplyRetention
        | Operation::RotateKey
        | Operation::ListCheckpoints
        | Operation::ListCommands => sandbox(json!({})),
        Operation::CreateCheckpoint
        | Operation::RestoreCheckpoint
        | Operation::DeleteCheckpoint
        | Operation::DiffCheckpoint => sandbox(json!({ "name": "before" })),
        Operation::ReadCommandOutput | Operation::EndCommand => sandbox(json!({ "commandId": "c1" })),
        Operation::Exec | Operation::StartCommand => sandbox(json!({ "command": "true" })),
        Operation::SetRetention => sandbox(json!({ "policy": {} })),
        Operation::Import => sandbox(json!({ "backup": { "id": backup_id(1), "dir": "/workspace" } })),
        Operation::CreateWorkspace
        | Operation::GetOrCreateWorkspace
        | Operation::GetWorkspaceByName
        | Operation::StartWorkspace
        | Operation::StopWorkspace
        | Operation::TurnEnded
        | Operation::ForkWorkspace
        | Operation::DeleteWorkspace => json!({ "name": "project" }),
        Operation::UpdateWorkspace => json!({ "name": "project", "persistent": true }),
        Operation::PromoteWorkspace => json!({ "name": "project", "from": "experiment" }),
        Operation::MigrateWorkspace => json!({ "name": "project", "runtime": "container" }),
        Operation::CallTool => tools(json!({ "name": "workspace__work__list" })),
        Operation::ListTools | Operation::GrantTools => tools(json!({})),
        Operation::CreateToken => json!({ "permissions": ["read"] }),
        Operation::RevokeToken => json!({ "id": "abcdefghijkl" }),
        Operation::ListWorkspaces
        | Operation::Sweep
        | Operation::Health
        | Operation::Usage
        | Operation::ListTokens
        | Operation::CurrentToken => json!({}),
    }
}

#[allow(clippy::needless_pass_by_value)] // Callers pass a temporary.
fn merged(mut base: Value, extra: Value) -> Value {
    base.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    base
}

/// Returns valid arguments of the operation with a lineage scope.
fn scoped_args(operation: Operation, snapshot: &SnapshotRef, scope: &str) -> Value {
    merged(arguments(operation, snapshot), json!({ "lineageScope": scope }))
}

/// Returns the operations that accept a lineage scope.
fn scoped_operations() -> impl Iterator<Item = Operation> {
    let (_, snapshot) = Fixture::with_snapshot();
    let accepts_scope = move |operation: &Operation| {
        Request::decode(*operation, &scoped_args(*operation, &snapshot, "agent-42")).is_ok()
    };
    Operation::ALL.iter().copied().filter(accepts_scope)
}

/// Returns a sandbox with a snapshot, the checkpoint `before`, and the background command `c1`.
fn with_snapshot_and_checkpoint() -> (Fixture, SnapshotRef) {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::CreateCheckpoint, &json!({ "sandboxId": "agent-42", "name": "before" })).unwrap();
    fixture.world.with_container(&sandbox("agent-42"), |container, now| container.run_in_background("c1", now));
    fixture.world.reset_calls();
    (fixture, snapshot)
}

#[test]
fn every_operation_enforces_lineage_scope_or_refuses_the_argument() {
    for operation in Operation::ALL.iter().copied() {
        let (fixture, snapshot) = with_snapshot_and_checkpoint();
        Request::decode(operation, &arguments(operation, &snapshot)).unwrap();
        let foreign = scoped_args(operation, &snapshot, "agent-7");
        match Request::decode(operation, &foreign) {
            Err(refused) => {
                assert_eq!(refused.code(), Code::InvalidArgument, "{operation:?}");
                assert!(refused.message().contains("lineageScope"), "{operation:?}: {refused}");
            }
            Ok(_) => match fixture.run(operation, &foreign) {
                Err(error) => assert_eq!(error.code(), Code::CrossLineage, "{operation:?}"),
                Ok(answer) => panic!("{operation:?} ignores the lineage scope: {answer}"),
            },
        }
    }
}

#[test]
fn another_lineage_is_refused_and_nothing_is_changed() {
    for operation in scoped_operations() {
        let (fixture, snapshot) = with_snapshot_and_checkpoint();
        let error =
            fixture.run(operation, &scoped_args(operation, &snapshot, "agent-7")).expect_code(Code::CrossLineage);
        assert!(error.message().contains("agent-7") && error.message().contains("agent-42"), "{error}");
        // The ledger of the sandbox checks the scope of a command.
        let is_check = |method| matches!(method, Method::RootId | Method::PrepareExec);
        assert!(fixture.world.calls().into_iter().all(|(method, _)| is_check(method)), "{operation:?}");
        fixture.run(Operation::Restore, &by_ref(&snapshot)).unwrap();
    }
}

#[test]
fn another_lineage_is_allowed_with_allow_cross_lineage() {
    for operation in scoped_operations() {
        let (fixture, snapshot) = with_snapshot_and_checkpoint();
        let mut arguments = scoped_args(operation, &snapshot, "agent-7");
        arguments["allowCrossLineage"] = json!(true);
        fixture.run(operation, &arguments).unwrap();
        assert_eq!(fixture.world.call_count(Method::RootId), 0, "{operation:?}");
    }
}

#[test]
fn allow_cross_lineage_false_equals_the_default() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let mut arguments = scoped_args(Operation::Get, &snapshot, "agent-7");
    arguments["allowCrossLineage"] = json!(false);
    fixture.run(Operation::Get, &arguments).expect_code(Code::CrossLineage);
}

#[test]
fn own_lineage_is_allowed_from_every_sandbox_in_it() {
    let (fixture, snapshot) = with_snapshot_and_checkpoint();
    let restored = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
    let own = fixture.snapshot_labelled(&restored, "own");
    let grandchild = fixture.branch(&own).unwrap().sandbox_id().to_string();
    for scope in ["agent-42", &restored, &grandchild] {
        for operation in scoped_operations() {
            // These two delete the snapshot, or the key of its ref.
            if operation != Operation::Delete && operation != Operation::RotateKey {
                fixture.run(operation, &scoped_args(operation, &snapshot, scope)).unwrap();
            }
        }
        fixture.run(Operation::Get, &scoped_args(Operation::Get, &own, scope)).unwrap();
    }
    for scope in ["agent-42", &restored, &grandchild] {
        fixture.run(Operation::RotateKey, &scoped_args(Operation::RotateKey, &snapshot, scope)).unwrap();
    }
}

#[test]
fn sandbox_can_restore_snapshot_of_its_sibling() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let siblings = [(); 2].map(|()| fixture.branch(&snapshot).unwrap().sandbox_id().to_string());
    let own = fixture.snapshot_labelled(&siblings[0], "own");
    fixture.run(Operation::Restore, &scoped_args(Operation::Restore, &own, &siblings[1])).unwrap();
}

#[test]
fn another_lineage_is_refused_by_ref_id_and_label() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    for mut selection in [by_ref(&snapshot), by_id(&snapshot), by_label("before")] {
        selection["lineageScope"] = json!("agent-7");
        fixture.run(Operation::Restore, &selection).expect_code(Code::CrossLineage);
    }
}

#[test]
fn refusal_does_not_reveal_whether_snapshot_exists() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "before");
    for label in ["before", "never"] {
        let mut selection = by_label(label);
        selection["lineageScope"] = json!("agent-7");
        fixture.run(Operation::Get, &selection).expect_code(Code::CrossLineage);
    }
}

#[test]
fn altered_ref_does_not_bypass_lineage_scope() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let mut arguments = scoped_args(Operation::Restore, &snapshot, "agent-7");
    arguments["ref"]["ref"]["rootId"] = json!("agent-7");
    fixture.run(Operation::Restore, &arguments).expect_code(Code::CrossLineage);
    arguments["lineageScope"] = json!("agent-42");
    fixture.run(Operation::Restore, &arguments).expect_code(Code::RefMismatch);
}

/// Returns a sandbox whose id is too long for a suffix, and one restored from it, whose id doesn't contain its root.
fn with_cut_id() -> (Fixture, SnapshotRef, String) {
    let long = "x".repeat(60);
    let fixture = Fixture::empty();
    fixture.start_sandbox(&long);
    let snapshot = fixture.snapshot_labelled(&long, "before");
    let restored = fixture.restore(&snapshot).unwrap().sandbox_id().to_string();
    assert!(!restored.starts_with(&long));
    fixture.world.reset_calls();
    (fixture, snapshot, restored)
}

#[test]
fn root_of_shortened_id_is_read_from_its_ledger() {
    let (fixture, snapshot, restored) = with_cut_id();
    fixture.run(Operation::Get, &scoped_args(Operation::Get, &snapshot, &restored)).unwrap();
    assert_eq!(fixture.world.calls_about(&restored), [Method::RootId]);
}

#[test]
fn scope_of_own_sandbox_or_root_needs_no_call() {
    let (fixture, snapshot, restored) = with_cut_id();
    let own = fixture.snapshot_labelled(&restored, "own");
    fixture.world.reset_calls();
    for (snapshot, scope) in [(&own, restored.as_str()), (&snapshot, snapshot.origin_id().as_str())] {
        fixture.run(Operation::Get, &scoped_args(Operation::Get, snapshot, scope)).unwrap();
    }
    let minted_elsewhere = "elsewhere-restored-k3f9x2ab";
    fixture.start_sandbox(minted_elsewhere);
    let snapshot_elsewhere = fixture.snapshot_labelled(minted_elsewhere, "its");
    let branch = fixture.branch(&snapshot_elsewhere).unwrap().sandbox_id().to_string();
    let of_branch = fixture.snapshot_labelled(&branch, "its own");
    fixture.run(Operation::Get, &scoped_args(Operation::Get, &of_branch, minted_elsewhere)).unwrap();
    assert_eq!(fixture.world.call_count(Method::RootId), 0);
}

#[test]
fn unreachable_sandbox_grants_no_permission() {
    let (fixture, snapshot, restored) = with_cut_id();
    fixture.world.before(Method::RootId).fail_transiently();
    let error = fixture.run(Operation::Get, &scoped_args(Operation::Get, &snapshot, &restored)).expect_err("no answer");
    assert_eq!(error.code(), Code::LedgerUnavailable);
    assert!(error.is_retryable());
}

#[test]
fn snapshot_is_allowed_only_within_the_lineage_scope() {
    let fixture = Fixture::with_sandbox();
    let arguments = |scope: &str| json!({ "sandboxId": "agent-42", "lineageScope": scope });
    fixture.run(Operation::Snapshot, &arguments("agent-7")).expect_code(Code::CrossLineage);
    fixture.assert_nothing_stored();
    fixture.run(Operation::Snapshot, &arguments("agent-42-branch-k3f9x2ab")).unwrap();
}

#[test]
fn operation_without_lineage_scope_refuses_the_argument() {
    let fixture = Fixture::with_sandbox();
    let arguments = json!({ "sandboxId": "agent-42", "lineageScope": "agent-42" });
    fixture.run(Operation::ApplyRetention, &arguments).expect_code(Code::InvalidArgument);
}
