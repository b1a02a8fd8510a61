//! The API document lists every error code that an operation returns when a call of a port fails.

use sandbox_snapshotter::api::openapi::error_codes;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, Runtime};
use serde_json::{Value, json};

use super::support::{FILE, Fixture, Method};

const AGENT: &str = "agent-42";

/// The failures that are injected into a method.
fn injected_failures(method: Method) -> Vec<Failure> {
    let of_sdk = |code: &&str| Failure::new("Error", "It failed.").with_code(*code);
    let mut failures = vec![
        Failure::new("Error", "Network connection lost."),
        Failure::new("Error", "Something else."),
        Failure::new("TypeError", "The RPC receiver does not implement the method."),
    ];
    failures.extend(["OPERATION_INTERRUPTED", "INVALID_BACKUP_CONFIG", "COMMAND_EXECUTION_ERROR"].iter().map(of_sdk));
    if let Method::CreateBackup | Method::RestoreBackup = method {
        failures
            .extend(["BACKUP_NOT_FOUND", "BACKUP_EXPIRED", "BACKUP_INTEGRITY", "BACKUP_TRANSFER"].iter().map(of_sdk));
    }
    // The answers of these methods come from R2 itself, in a known form.
    if !matches!(method, Method::List | Method::ReadArchivePrefix) {
        failures.push(Failure::protocol("it", "nothing of the kind"));
    }
    failures
}

/// Calls every operation, first with an injected fault and then, if it failed, without.
struct FaultyCaller {
    fixture: Fixture,
    fault: Option<(Method, Failure)>,
    failures: Vec<(Operation, Code)>,
}

impl FaultyCaller {
    /// Calls every operation. Returns the error codes of the failed calls, and the methods that were called.
    fn call_all(fault: Option<(Method, Failure)>) -> (Vec<(Operation, Code)>, Vec<Method>) {
        let mut caller = Self { fixture: Fixture::with_sandbox(), fault, failures: Vec::new() };
        caller.call_snapshots();
        caller.call_workspaces();
        let methods = caller.fixture.world.calls().into_iter().map(|(method, _)| method).collect();
        (caller.failures, methods)
    }

    /// Calls an operation with the fault, and returns its answer without the fault, or null if it fails then too.
    fn call(&mut self, operation: Operation, options: &Value) -> Value {
        if let Some((method, failure)) = &self.fault {
            self.fixture.world.before(*method).fail_with(failure.clone());
        }
        let outcome = self.fixture.run(operation, options);
        self.fixture.world.clear_faults();
        outcome.unwrap_or_else(|error| {
            self.failures.push((operation, error.code()));
            self.fixture.run(operation, options).unwrap_or_default()
        })
    }

    fn call_snapshots(&mut self) {
        let sandbox = json!({ "sandboxId": AGENT });
        let snapshot = json!({ "sandboxId": AGENT, "label": "before" });
        let checkpoint = json!({ "sandboxId": AGENT, "name": "s1" });
        let backup = self.fixture.world.create_app_backup(AGENT, None);
        for (operation, options) in [
            (Operation::Snapshot, &snapshot),
            (Operation::Restore, &snapshot),
            (Operation::Branch, &snapshot),
            (Operation::List, &json!({ "sandboxId": AGENT, "check": true })),
            (Operation::Get, &snapshot),
            (Operation::Manifest, &snapshot),
            (Operation::Verify, &snapshot),
            (Operation::ListFiles, &json!({ "sandboxId": AGENT, "label": "before", "path": "/" })),
            (Operation::StatFile, &json!({ "sandboxId": AGENT, "label": "before", "path": "/" })),
            (Operation::ReadFile, &json!({ "sandboxId": AGENT, "label": "before", "path": "notes.txt" })),
            (
                Operation::RestoreFiles,
                &json!({ "sandboxId": AGENT, "label": "before", "paths": ["notes.txt"], "to": AGENT }),
            ),
            (Operation::Diff, &json!({ "from": snapshot, "to": snapshot })),
            (Operation::Diff, &json!({ "from": snapshot, "to": sandbox })),
            (Operation::Pin, &snapshot),
            (Operation::Unpin, &snapshot),
            (Operation::Import, &json!({ "sandboxId": AGENT, "backup": backup, "label": "nightly" })),
            (Operation::Lineage, &json!({ "sandboxId": AGENT, "check": true })),
            (Operation::Retention, &sandbox),
            (Operation::SetRetention, &json!({ "sandboxId": AGENT, "policy": { "keepDaily": 7 } })),
            (Operation::ApplyRetention, &sandbox),
            (Operation::RotateKey, &sandbox),
            (Operation::CreateCheckpoint, &checkpoint),
            (Operation::ListCheckpoints, &sandbox),
            (Operation::DiffCheckpoint, &checkpoint),
            (Operation::RestoreCheckpoint, &checkpoint),
            (Operation::DeleteCheckpoint, &checkpoint),
            (Operation::Label, &json!({ "sandboxId": AGENT, "label": "nightly", "newLabel": "daily" })),
            (Operation::Delete, &json!({ "sandboxId": AGENT, "label": "daily" })),
            (Operation::Exec, &json!({ "sandboxId": AGENT, "command": "true" })),
            (Operation::StartCommand, &json!({ "sandboxId": AGENT, "command": "true" })),
            (Operation::ListCommands, &sandbox),
            (Operation::ReadCommandOutput, &json!({ "sandboxId": AGENT, "commandId": "c1" })),
            (Operation::EndCommand, &json!({ "sandboxId": AGENT, "commandId": "c1" })),
            (Operation::ListFiles, &sandbox),
            (Operation::StatFile, &json!({ "sandboxId": AGENT, "path": "notes.txt" })),
            (Operation::ReadFile, &json!({ "sandboxId": AGENT, "path": "notes.txt" })),
            (Operation::WriteFile, &json!({ "sandboxId": AGENT, "path": "new.txt", "content": "x" })),
            (Operation::MakeDirectory, &json!({ "sandboxId": AGENT, "path": "src" })),
            (Operation::MoveFile, &json!({ "sandboxId": AGENT, "path": "new.txt", "to": "moved.txt" })),
            (Operation::RemoveFile, &json!({ "sandboxId": AGENT, "path": "moved.txt" })),
            (Operation::Usage, &json!({})),
            (Operation::Sweep, &json!({})),
            (Operation::CreateToken, &json!({ "permissions": ["read"] })),
            (Operation::ListTokens, &json!({})),
            (Operation::RevokeToken, &json!({ "id": "abcdefghij01" })),
        ] {
            self.call(operation, options);
        }
        self.fixture.world.end_container(AGENT);
        self.call(Operation::Revive, &sandbox);
    }

    fn call_workspaces(&mut self) {
        let address = json!({ "name": "project" });
        let hook = json!({ "command": "true" });
        self.call(
            Operation::CreateWorkspace,
            &json!({
                "name": "project", "env": { "LEVEL": "debug" }, "dependsOn": { "files": ["notes.txt"] },
                "hooks": { "afterStart": hook, "beforeStop": hook },
            }),
        );
        let workspace = self.call(Operation::GetWorkspaceByName, &address);
        if let Some(sandbox) = workspace["sandboxId"].as_str() {
            self.fixture.world.write_file(sandbox, FILE, "first");
        }
        let stopped = self.call(Operation::StopWorkspace, &address);
        let (sandbox, newest) = (&stopped["sandboxId"], &stopped["lastSnapshot"]["id"]);
        self.call(Operation::Delete, &json!({ "sandboxId": sandbox, "snapshotId": newest }));
        self.call(Operation::ListWorkspaces, &json!({}));
        self.call(Operation::TurnEnded, &address);
        self.call(Operation::Exec, &json!({ "name": "project", "command": "true" }));
        self.call(Operation::ListCommands, &address);
        self.call(Operation::StopWorkspace, &address);
        self.call(Operation::ReadFile, &json!({ "name": "project", "path": "notes.txt" }));
        self.call(Operation::StartWorkspace, &address);
        self.call(Operation::GetOrCreateWorkspace, &address);
        self.call(Operation::ForkWorkspace, &json!({ "name": "project", "newName": "experiment" }));
        self.call(Operation::UpdateWorkspace, &json!({ "name": "project", "currentSnapshotId": newest }));
        self.call(Operation::PromoteWorkspace, &json!({ "name": "project", "from": "experiment" }));
        self.call(Operation::PromoteWorkspace, &json!({ "name": "project", "from": newest }));
        self.fixture.deploy_both_runtimes(Runtime::Sdk012);
        self.call(Operation::MigrateWorkspace, &json!({ "name": "project", "runtime": "container" }));
        self.call(Operation::DeleteWorkspace, &address);
    }
}

#[test]
fn every_error_code_of_an_operation_is_documented() {
    let (refused, called) = FaultyCaller::call_all(None);
    // A stopped workspace needs its newest snapshot, and no command has the id that is read and ended.
    let of_commands =
        [Operation::ReadCommandOutput, Operation::EndCommand].map(|operation| (operation, Code::CommandNotFound));
    assert_eq!(refused, [&of_commands[..], &[(Operation::Delete, Code::SnapshotHasDependents)]].concat());
    let mut methods: Vec<Method> = Vec::new();
    for method in called {
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    assert!(methods.len() >= 20, "{methods:?}");
    let mut undocumented = Vec::new();
    for method in methods {
        for failure in injected_failures(method) {
            let (failed, _) = FaultyCaller::call_all(Some((method, failure.clone())));
            let unknown = failed.into_iter().filter(|(operation, code)| !error_codes(*operation).contains(code));
            undocumented.extend(
                unknown.map(|(operation, code)| format!("{}: {code} ({method:?}: {failure})", operation.name())),
            );
        }
    }
    assert!(undocumented.is_empty(), "{undocumented:#?}");
}
