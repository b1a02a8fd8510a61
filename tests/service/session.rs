//! A caller who names its session stays within the lineage of that.

use sandbox_snapshotter::api::operations::{Operation, target_of};
use sandbox_snapshotter::model::{Code, SnapshotRef};
use serde_json::{Value, json};

use super::support::{Checked, Method, Stage, backup_id, by_id, by_label, by_ref};

/// Valid arguments of every operation.
fn arguments(operation: Operation, snapshot: &SnapshotRef) -> Value {
    let sandbox = |further: Value| merged(json!({ "sandboxId": "agent-42" }), further);
    let tools = |further: Value| {
        let workspace = json!({ "name": "work", "snapshot": true, "sandboxId": "agent-42" });
        merged(json!({ "workspaces": [workspace] }), further)
    };
    match operation {
        Operation::Get
        | Operation::Manifest
        | Operation::Verify
        | Operation::Pin
        | Operation::Unpin
        | Operation::Restore
        | Operation::Branch => by_ref(snapshot),
        Operation::Label => merged(by_ref(snapshot), json!({ "newLabel": "another" })),
        Operation::Delete => merged(by_ref(snapshot), json!({ "force": true })),
        Operation::Snapshot
        | Operation::List
        | Operation::Lineage
        | Operation::Retention
        | Operation::ApplyRetention
        | Operation::RotateKey
        | Operation::ListCheckpoints => sandbox(json!({})),
        Operation::CreateCheckpoint | Operation::RestoreCheckpoint | Operation::DiffCheckpoint => {
            sandbox(json!({ "name": "before" }))
        }
        Operation::SetRetention => sandbox(json!({ "policy": {} })),
        Operation::Import => sandbox(json!({ "backup": { "id": backup_id(1), "dir": "/workspace" } })),
        Operation::CreateWorkspace
        | Operation::GetOrCreateWorkspace
        | Operation::GetWorkspaceByName
        | Operation::StartWorkspace
        | Operation::StopWorkspace
        | Operation::ForkWorkspace
        | Operation::DeleteWorkspace => json!({ "name": "project" }),
        Operation::UpdateWorkspace => json!({ "name": "project", "persistent": true }),
        Operation::CallTool => tools(json!({ "name": "workspace__work__list" })),
        Operation::ListTools | Operation::GrantTools => tools(json!({})),
        Operation::ListWorkspaces | Operation::Sweep | Operation::Health => json!({}),
    }
}

#[allow(clippy::needless_pass_by_value)] // Callers make it on the spot.
fn merged(mut base: Value, further: Value) -> Value {
    base.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    base
}

/// The arguments of an operation, in the session of a sandbox.
fn within(operation: Operation, snapshot: &SnapshotRef, session: &str) -> Value {
    merged(arguments(operation, snapshot), json!({ "session": session }))
}

/// The operations that take a session.
fn every() -> impl Iterator<Item = Operation> {
    let (_, snapshot) = Stage::with_snapshot();
    let takes = move |operation: &Operation| target_of(*operation, &within(*operation, &snapshot, "agent-42")).is_ok();
    Operation::ALL.iter().copied().filter(takes)
}

/// A sandbox with a snapshot, and with the checkpoint `before`.
fn with_snapshot_and_checkpoint() -> (Stage, SnapshotRef) {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::CreateCheckpoint, &json!({ "sandboxId": "agent-42", "name": "before" })).unwrap();
    stage.world.forget_calls();
    (stage, snapshot)
}

#[test]
fn every_operation_enforces_the_session_or_refuses_the_argument() {
    for operation in Operation::ALL.iter().copied() {
        let (stage, snapshot) = with_snapshot_and_checkpoint();
        target_of(operation, &arguments(operation, &snapshot)).unwrap();
        let foreign = within(operation, &snapshot, "agent-7");
        match target_of(operation, &foreign) {
            Err(refused) => {
                assert_eq!(refused.code(), Code::InvalidArgument, "{operation:?}");
                assert!(refused.message().contains("session"), "{operation:?}: {refused}");
            }
            Ok(_) => match stage.run(operation, &foreign) {
                Err(error) => assert_eq!(error.code(), Code::CrossSession, "{operation:?}"),
                Ok(answer) => panic!("{operation:?} ignores the session: {answer}"),
            },
        }
    }
}

#[test]
fn another_lineage_is_refused_and_nothing_is_touched() {
    for operation in every() {
        let (stage, snapshot) = with_snapshot_and_checkpoint();
        let error = stage.run(operation, &within(operation, &snapshot, "agent-7")).fails_as(Code::CrossSession);
        assert!(error.message().contains("agent-7") && error.message().contains("agent-42"), "{error}");
        assert!(stage.world.calls().iter().all(|(method, _)| *method == Method::Root), "{operation:?}");
        stage.run(Operation::Restore, &by_ref(&snapshot)).unwrap();
    }
}

#[test]
fn another_lineage_is_allowed_where_the_caller_says_so() {
    for operation in every() {
        let (stage, snapshot) = with_snapshot_and_checkpoint();
        let mut arguments = within(operation, &snapshot, "agent-7");
        arguments["allowCrossSession"] = json!(true);
        stage.run(operation, &arguments).unwrap();
        assert_eq!(stage.world.count(Method::Root), 0, "{operation:?}");
    }
}

#[test]
fn saying_that_it_is_not_allowed_is_the_same_as_saying_nothing() {
    let (stage, snapshot) = Stage::with_snapshot();
    let mut arguments = within(Operation::Get, &snapshot, "agent-7");
    arguments["allowCrossSession"] = json!(false);
    stage.run(Operation::Get, &arguments).fails_as(Code::CrossSession);
}

#[test]
fn its_own_lineage_is_allowed_from_every_sandbox_of_it() {
    let (stage, snapshot) = with_snapshot_and_checkpoint();
    let restored = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    let own = stage.captures(&restored, "own");
    let grandchild = stage.branch(&own).unwrap().sandbox_id().to_string();
    for session in ["agent-42", &restored, &grandchild] {
        for operation in every() {
            // Neither the snapshot nor the key of its ref is there afterwards.
            if operation != Operation::Delete && operation != Operation::RotateKey {
                stage.run(operation, &within(operation, &snapshot, session)).unwrap();
            }
        }
        stage.run(Operation::Get, &within(Operation::Get, &own, session)).unwrap();
    }
    for session in ["agent-42", &restored, &grandchild] {
        stage.run(Operation::RotateKey, &within(Operation::RotateKey, &snapshot, session)).unwrap();
    }
}

#[test]
fn a_sandbox_may_use_its_sisters_snapshot() {
    let (stage, snapshot) = Stage::with_snapshot();
    let sisters = [(); 2].map(|()| stage.branch(&snapshot).unwrap().sandbox_id().to_string());
    let own = stage.captures(&sisters[0], "own");
    stage.run(Operation::Restore, &within(Operation::Restore, &own, &sisters[1])).unwrap();
}

#[test]
fn however_the_snapshot_is_named_another_lineage_is_refused() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.captures("agent-42", "before");
    for mut selection in [by_ref(&snapshot), by_id(&snapshot), by_label("before")] {
        selection["session"] = json!("agent-7");
        stage.run(Operation::Restore, &selection).fails_as(Code::CrossSession);
    }
}

#[test]
fn whether_a_snapshot_of_another_lineage_exists_is_not_told() {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "before");
    for label in ["before", "never"] {
        let mut selection = by_label(label);
        selection["session"] = json!("agent-7");
        stage.run(Operation::Get, &selection).fails_as(Code::CrossSession);
    }
}

#[test]
fn an_altered_ref_is_no_way_around() {
    let (stage, snapshot) = Stage::with_snapshot();
    let mut arguments = within(Operation::Restore, &snapshot, "agent-7");
    arguments["ref"]["ref"]["rootId"] = json!("agent-7");
    stage.run(Operation::Restore, &arguments).fails_as(Code::CrossSession);
    arguments["session"] = json!("agent-42");
    stage.run(Operation::Restore, &arguments).fails_as(Code::RefMismatch);
}

/// A sandbox whose id has no room for a suffix, and one that was restored from it: its root can't be read off its id.
fn with_cut_id() -> (Stage, SnapshotRef, String) {
    let long = "x".repeat(60);
    let stage = Stage::empty();
    stage.runs(&long);
    let snapshot = stage.captures(&long, "before");
    let restored = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    assert!(!restored.starts_with(&long));
    stage.world.forget_calls();
    (stage, snapshot, restored)
}

#[test]
fn an_id_that_was_cut_asks_its_workspace_for_its_root() {
    let (stage, snapshot, restored) = with_cut_id();
    stage.run(Operation::Get, &within(Operation::Get, &snapshot, &restored)).unwrap();
    assert_eq!(stage.world.calls_about(&restored), [Method::Root]);
}

#[test]
fn the_workspace_itself_and_its_root_need_not_be_asked() {
    let (stage, snapshot, restored) = with_cut_id();
    let own = stage.captures(&restored, "own");
    stage.world.forget_calls();
    for (snapshot, session) in [(&own, restored.as_str()), (&snapshot, snapshot.origin_id().as_str())] {
        stage.run(Operation::Get, &within(Operation::Get, snapshot, session)).unwrap();
    }
    let minted_elsewhere = "elsewhere-restored-k3f9x2ab";
    stage.runs(minted_elsewhere);
    let its = stage.captures(minted_elsewhere, "its");
    let branch = stage.branch(&its).unwrap().sandbox_id().to_string();
    let of_branch = stage.captures(&branch, "its own");
    stage.run(Operation::Get, &within(Operation::Get, &of_branch, minted_elsewhere)).unwrap();
    assert_eq!(stage.world.count(Method::Root), 0);
}

#[test]
fn a_workspace_that_cannot_be_asked_is_no_permission() {
    let (stage, snapshot, restored) = with_cut_id();
    stage.world.before(Method::Root).fails_in_passing();
    let error = stage.run(Operation::Get, &within(Operation::Get, &snapshot, &restored)).expect_err("no answer");
    assert_eq!(error.code(), Code::LedgerUnavailable);
    assert!(error.retryable());
}

#[test]
fn a_session_captures_within_its_own_lineage_alone() {
    let stage = Stage::with_sandbox();
    let by = |session: &str| json!({ "sandboxId": "agent-42", "session": session });
    stage.run(Operation::Snapshot, &by("agent-7")).fails_as(Code::CrossSession);
    stage.assert_nothing_stored();
    stage.run(Operation::Snapshot, &by("agent-42-branch-k3f9x2ab")).unwrap();
}

#[test]
fn an_operation_that_does_not_take_a_session_says_so() {
    let stage = Stage::with_sandbox();
    let arguments = json!({ "sandboxId": "agent-42", "session": "agent-42" });
    stage.run(Operation::ApplyRetention, &arguments).fails_as(Code::InvalidArgument);
}
