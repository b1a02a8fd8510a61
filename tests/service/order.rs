//! The order of checks: the deployment, then the arguments, then the sandbox. Whatever refuses touches nothing.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Home;
use sandbox_snapshotter::service::Snapshotter;
use serde_json::{Value, json};

use super::support::{Checked, Method, Stage, WORK};

/// The operations that a Workspace object carries out, and that need the bucket.
fn on_one_workspace() -> impl Iterator<Item = Operation> {
    let is_one = |operation: &Operation| *operation != Operation::Sweep && operation.needs_bucket();
    Operation::ALL.iter().copied().filter(is_one)
}

/// A deployment in which nothing runs, so that each argument that is right leads to the next check.
fn refused(arguments: &Value) -> Code {
    let stage = Stage::empty();
    let error = stage.run(Operation::Snapshot, arguments).expect_err("something is wrong");
    assert!(stage.world.calls().is_empty(), "touched: {:?}", stage.world.calls());
    error.code()
}

#[test]
fn a_missing_bucket_is_told_before_anything_else_that_is_wrong() {
    for operation in on_one_workspace() {
        let stage = Stage::empty();
        stage.world.lacks(&[Code::R2BindingMissing, Code::SandboxBindingMissing, Code::LedgerTooNew]);
        stage.run(operation, &json!({ "sandboxId": "-", "dir": 7, "nonsense": 1 })).fails_as(Code::R2BindingMissing);
        assert!(stage.world.calls().is_empty());
    }
}

#[test]
fn missing_sandboxes_are_told_before_the_arguments() {
    for operation in on_one_workspace() {
        let stage = Stage::empty();
        stage.world.lacks(&[Code::SandboxBindingMissing]);
        stage.run(operation, &json!({ "sandboxId": "-" })).fails_as(Code::SandboxBindingMissing);
    }
}

#[test]
fn a_missing_binding_is_told_to_callers_within_rust_too_before_anything_is_touched() {
    let (stage, snapshot) = Stage::with_snapshot();
    for code in [Code::R2BindingMissing, Code::SandboxBindingMissing] {
        stage.world.lacks(&[code]);
        stage.of("agent-42").ready().fails_as(code);
        stage.snapshot().fails_as(code);
        stage.restore(&snapshot).fails_as(code);
        stage.branch(&snapshot).fails_as(code);
        assert!(stage.world.calls().is_empty(), "{code}: {:?}", stage.world.calls());
    }
}

#[test]
fn a_ledger_of_a_later_version_is_told_before_anything_is_touched() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.lacks(&[Code::LedgerTooNew]);
    stage.snapshot().fails_as(Code::LedgerTooNew);
    stage.restore(&snapshot).fails_as(Code::LedgerTooNew);
    for operation in [Operation::List, Operation::Retention, Operation::Lineage, Operation::RotateKey] {
        stage.run(operation, &json!({ "sandboxId": "agent-42" })).fails_as(Code::LedgerTooNew);
    }
    assert!(stage.world.calls().is_empty(), "{:?}", stage.world.calls());
}

#[test]
fn a_sweep_without_its_bindings_touches_nothing() {
    for code in [Code::R2BindingMissing, Code::WorkspaceBindingMissing] {
        let (stage, _) = Stage::with_snapshot();
        stage.world.lacks(&[code]);
        stage.run(Operation::Sweep, &json!({})).fails_as(code);
        assert!(stage.world.calls().is_empty(), "{code}: {:?}", stage.world.calls());
    }
}

#[test]
fn without_its_bindings_or_its_storage_nothing_is_done_with_a_name() {
    for code in [Code::WorkspaceBindingMissing, Code::LedgerTooNew] {
        let stage = Stage::with_work();
        let kept = stage.record(WORK);
        stage.world.lacks(&[code]);
        stage.creates("other", &json!({})).fails_as(code);
        stage.starts(WORK, &json!({})).fails_as(code);
        stage.stops(WORK).fails_as(code);
        stage.forks(WORK, &json!({})).fails_as(code);
        stage.updates(WORK, &json!({ "persistent": false })).fails_as(code);
        stage.deletes(WORK).fails_as(code);
        assert!(stage.world.calls().is_empty(), "{code}: {:?}", stage.world.calls());
        assert_eq!((stage.record(WORK), stage.home("other").named().unwrap()), (kept, None), "{code}");
    }
}

#[test]
fn without_the_binding_of_workspaces_no_sandbox_is_made() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.lacks(&[Code::WorkspaceBindingMissing]);
    stage.restore(&snapshot).fails_as(Code::WorkspaceBindingMissing);
    assert_eq!(stage.world.running().len(), 1, "only the sandbox that was there");
}

#[test]
fn a_deployment_with_both_bindings_is_ready() {
    Stage::empty().of("agent-42").ready().unwrap();
}

#[test]
fn the_shape_of_the_arguments_comes_first() {
    let arguments = json!({ "sandboxId": "-", "dir": "x", "label": "", "expirationSeconds": 1, "unknown": true });
    assert_eq!(refused(&arguments), Code::InvalidArgument);
}

#[test]
fn the_sandbox_id_comes_before_the_directory() {
    assert_eq!(
        refused(&json!({ "sandboxId": "-", "dir": "x", "label": "", "expirationSeconds": 1, "excludes": [""] })),
        Code::InvalidSandboxId
    );
}

#[test]
fn the_directory_comes_before_the_label() {
    assert_eq!(
        refused(&json!({ "sandboxId": "agent-42", "dir": "x", "label": "", "expirationSeconds": 1, "excludes": [""] })),
        Code::InvalidDirectory
    );
}

#[test]
fn the_label_comes_before_the_rest() {
    assert_eq!(
        refused(
            &json!({ "sandboxId": "agent-42", "dir": "/workspace", "label": "", "expirationSeconds": 1, "excludes": [""] })
        ),
        Code::InvalidLabel
    );
}

#[test]
fn the_expiration_and_the_patterns_come_before_the_state_of_the_sandbox() {
    assert_eq!(refused(&json!({ "sandboxId": "agent-42", "expirationSeconds": 59 })), Code::InvalidArgument);
    assert_eq!(refused(&json!({ "sandboxId": "agent-42", "excludes": [""] })), Code::InvalidArgument);
}

#[test]
fn the_state_of_the_sandbox_comes_last_and_only_its_state_is_asked_for() {
    let stage = Stage::empty();
    let arguments = json!({ "sandboxId": "agent-42", "dir": "/workspace", "label": "before", "expirationSeconds": 60 });
    stage.run(Operation::Snapshot, &arguments).fails_as(Code::SandboxNotRunning);
    assert_eq!(stage.world.calls(), [(Method::State, "agent-42".into())]);
}

#[test]
fn a_ref_that_cannot_be_read_touches_nothing() {
    for operation in [Operation::Restore, Operation::Branch] {
        let stage = Stage::empty();
        stage.run(operation, &json!({ "ref": {} })).fails_as(Code::InvalidRef);
        stage.run(operation, &json!({})).fails_as(Code::InvalidArgument);
        assert!(stage.world.calls().is_empty());
    }
}

#[test]
fn an_operation_is_found_by_the_name_it_has_everywhere() {
    for operation in Operation::ALL {
        assert_eq!(Operation::by_name(operation.name()), Some(*operation));
    }
    for name in ["", "Snapshot", "snapshot ", "constructor"] {
        assert_eq!(Operation::by_name(name), None, "{name:?}");
    }
}

#[test]
fn what_one_operation_answers_is_what_the_next_one_takes() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" })).unwrap();
    for operation in [Operation::Restore, Operation::Branch] {
        let workspace = stage.run(operation, &json!({ "ref": snapshot })).unwrap();
        let minted = workspace["ref"]["sandboxId"].as_str().unwrap();
        assert_eq!(stage.world.files(minted), stage.world.files("agent-42"), "{operation:?}");
        assert!(minted.contains(if operation == Operation::Branch { "-branch-" } else { "-restored-" }), "{minted}");
    }
}
