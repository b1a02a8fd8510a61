//! The order of checks: the deployment, then the arguments, then the sandbox. A check that fails makes no calls.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::WorkspaceStore;
use serde_json::{Value, json};

use super::support::{ExpectError, Fixture, Method, WORKSPACE};

/// Returns the operations that a `Workspace` object carries out and that need the bucket.
fn workspace_operations() -> impl Iterator<Item = Operation> {
    let needs_bucket = |operation: &Operation| *operation != Operation::Sweep && operation.needs_bucket();
    Operation::ALL.iter().copied().filter(needs_bucket)
}

/// Returns the error code of `snapshot` with `arguments`. No sandbox runs, so each valid argument leads to the next
/// check.
fn refusal_code(arguments: &Value) -> Code {
    let fixture = Fixture::empty();
    let error = fixture.run(Operation::Snapshot, arguments).expect_err("one argument is invalid");
    assert!(fixture.world.calls().is_empty(), "touched: {:?}", fixture.world.calls());
    error.code()
}

#[test]
fn missing_bucket_is_reported_before_any_other_error() {
    for operation in workspace_operations() {
        let fixture = Fixture::empty();
        fixture.world.remove_ports(&[Code::R2BindingMissing, Code::SandboxBindingMissing, Code::LedgerTooNew]);
        fixture
            .run(operation, &json!({ "sandboxId": "-", "dir": 7, "nonsense": 1 }))
            .expect_code(Code::R2BindingMissing);
        assert!(fixture.world.calls().is_empty());
    }
}

#[test]
fn missing_sandbox_binding_is_reported_before_invalid_arguments() {
    for operation in workspace_operations() {
        let fixture = Fixture::empty();
        fixture.world.remove_ports(&[Code::SandboxBindingMissing]);
        fixture.run(operation, &json!({ "sandboxId": "-" })).expect_code(Code::SandboxBindingMissing);
    }
}

#[test]
fn missing_binding_is_reported_to_rust_callers_before_any_call() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    for code in [Code::R2BindingMissing, Code::SandboxBindingMissing] {
        fixture.world.remove_ports(&[code]);
        fixture.snapshotter("agent-42").ready().expect_code(code);
        fixture.snapshot().expect_code(code);
        fixture.restore(&snapshot).expect_code(code);
        fixture.branch(&snapshot).expect_code(code);
        assert!(fixture.world.calls().is_empty(), "{code}: {:?}", fixture.world.calls());
    }
}

#[test]
fn ledger_of_later_version_is_reported_before_any_call() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.remove_ports(&[Code::LedgerTooNew]);
    fixture.snapshot().expect_code(Code::LedgerTooNew);
    fixture.restore(&snapshot).expect_code(Code::LedgerTooNew);
    for operation in [Operation::List, Operation::Retention, Operation::Lineage, Operation::RotateKey] {
        fixture.run(operation, &json!({ "sandboxId": "agent-42" })).expect_code(Code::LedgerTooNew);
    }
    assert!(fixture.world.calls().is_empty(), "{:?}", fixture.world.calls());
}

#[test]
fn sweep_without_its_bindings_makes_no_calls() {
    for code in [Code::R2BindingMissing, Code::WorkspaceBindingMissing] {
        let (fixture, _) = Fixture::with_snapshot();
        fixture.world.remove_ports(&[code]);
        fixture.run(Operation::Sweep, &json!({})).expect_code(code);
        assert!(fixture.world.calls().is_empty(), "{code}: {:?}", fixture.world.calls());
    }
}

#[test]
fn named_workspace_calls_change_nothing_without_bindings_or_storage() {
    for code in [Code::WorkspaceBindingMissing, Code::LedgerTooNew] {
        let fixture = Fixture::with_workspace();
        let record_before = fixture.record(WORKSPACE);
        fixture.world.remove_ports(&[code]);
        fixture.create_workspace("other", &json!({})).expect_code(code);
        fixture.start_workspace(WORKSPACE, &json!({})).expect_code(code);
        fixture.stop_workspace(WORKSPACE).expect_code(code);
        fixture.fork_workspace(WORKSPACE, &json!({})).expect_code(code);
        fixture.update_workspace(WORKSPACE, &json!({ "persistent": false })).expect_code(code);
        fixture.delete_workspace(WORKSPACE).expect_code(code);
        assert!(fixture.world.calls().is_empty(), "{code}: {:?}", fixture.world.calls());
        assert_eq!(
            (fixture.record(WORKSPACE), fixture.workspace_store("other").record().unwrap()),
            (record_before, None),
            "{code}"
        );
    }
}

#[test]
fn restore_makes_no_sandbox_without_workspace_binding() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.remove_ports(&[Code::WorkspaceBindingMissing]);
    fixture.restore(&snapshot).expect_code(Code::WorkspaceBindingMissing);
    assert_eq!(fixture.world.running_sandboxes().len(), 1, "only the sandbox that was there");
}

#[test]
fn deployment_with_both_bindings_is_ready() {
    Fixture::empty().snapshotter("agent-42").ready().unwrap();
}

#[test]
fn argument_shape_is_checked_first() {
    let arguments = json!({ "sandboxId": "-", "dir": "x", "label": "", "expirationSeconds": 1, "unknown": true });
    assert_eq!(refusal_code(&arguments), Code::InvalidArgument);
}

#[test]
fn sandbox_id_is_checked_before_directory() {
    assert_eq!(
        refusal_code(&json!({ "sandboxId": "-", "dir": "x", "label": "", "expirationSeconds": 1, "excludes": [""] })),
        Code::InvalidSandboxId
    );
}

#[test]
fn directory_is_checked_before_label() {
    assert_eq!(
        refusal_code(
            &json!({ "sandboxId": "agent-42", "dir": "x", "label": "", "expirationSeconds": 1, "excludes": [""] })
        ),
        Code::InvalidDirectory
    );
}

#[test]
fn label_is_checked_before_remaining_arguments() {
    assert_eq!(
        refusal_code(
            &json!({ "sandboxId": "agent-42", "dir": "/workspace", "label": "", "expirationSeconds": 1, "excludes": [""] })
        ),
        Code::InvalidLabel
    );
}

#[test]
fn expiration_and_patterns_are_checked_before_sandbox_status() {
    assert_eq!(refusal_code(&json!({ "sandboxId": "agent-42", "expirationSeconds": 59 })), Code::InvalidArgument);
    assert_eq!(refusal_code(&json!({ "sandboxId": "agent-42", "excludes": [""] })), Code::InvalidArgument);
}

#[test]
fn sandbox_status_is_checked_last_with_one_status_call() {
    let fixture = Fixture::empty();
    let arguments = json!({ "sandboxId": "agent-42", "dir": "/workspace", "label": "before", "expirationSeconds": 60 });
    fixture.run(Operation::Snapshot, &arguments).expect_code(Code::SandboxNotRunning);
    assert_eq!(fixture.world.calls(), [(Method::Status, "agent-42".into())]);
}

#[test]
fn malformed_ref_makes_no_calls() {
    for operation in [Operation::Restore, Operation::Branch] {
        let fixture = Fixture::empty();
        fixture.run(operation, &json!({ "ref": {} })).expect_code(Code::InvalidRef);
        fixture.run(operation, &json!({})).expect_code(Code::InvalidArgument);
        assert!(fixture.world.calls().is_empty());
    }
}

#[test]
fn operation_is_found_by_its_exact_name() {
    for operation in Operation::ALL {
        assert_eq!(Operation::by_name(operation.name()), Some(*operation));
    }
    for name in ["", "Snapshot", "snapshot ", "constructor"] {
        assert_eq!(Operation::by_name(name), None, "{name:?}");
    }
}

#[test]
fn snapshot_answer_is_a_valid_ref_argument_of_restore_and_branch() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.run(Operation::Snapshot, &json!({ "sandboxId": "agent-42" })).unwrap();
    for operation in [Operation::Restore, Operation::Branch] {
        let workspace = fixture.run(operation, &json!({ "ref": snapshot })).unwrap();
        let minted = workspace["ref"]["sandboxId"].as_str().unwrap();
        assert_eq!(fixture.world.files(minted), fixture.world.files("agent-42"), "{operation:?}");
        assert!(minted.contains(if operation == Operation::Branch { "-branch-" } else { "-restored-" }), "{minted}");
    }
}
