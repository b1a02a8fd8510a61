//! The answers of the operations match their schemas.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::api::tools::call::error_result;
use sandbox_snapshotter::api::tools::definitions;
use sandbox_snapshotter::api::tools::grant::issue_token;
use sandbox_snapshotter::model::request::{GrantRequest, Toolset};
use sandbox_snapshotter::model::tool::ToolList;
use sandbox_snapshotter::model::{Code, Failure, Runtime, Timestamp};
use serde_json::{Value, json};

use super::schemas::Schemas;
use super::support::{FILE, Fixture, MINUTE, WORKSPACE, error};

/// A fixture that validates each answer against its schema.
struct SchemaChecker {
    fixture: Fixture,
    schemas: Schemas,
}

impl SchemaChecker {
    fn of(fixture: Fixture) -> Self {
        Self { fixture, schemas: Schemas::new() }
    }

    #[track_caller]
    fn run(&mut self, operation: Operation, options: &Value) -> Value {
        let answer = self.fixture.run(operation, options).unwrap();
        self.schemas.answer(operation, &answer).unwrap_or_else(|error| panic!("{error}\n{answer:#}"));
        answer
    }
}

#[test]
fn answers_about_snapshots_match_their_schemas() {
    let mut checked = SchemaChecker::of(Fixture::with_sandbox());
    let sandbox = json!({ "sandboxId": "agent-42" });
    let full = json!({
        "sandboxId": "agent-42", "label": "before", "expirationSeconds": 3600, "excludes": ["*.log"], "gitignore": true,
        "compression": { "format": "zstd" },
    });
    let mut taken = checked.run(Operation::Snapshot, &full);
    checked.run(Operation::Snapshot, &sandbox);
    let selection = json!({ "sandboxId": "agent-42", "label": "before" });
    taken.as_object_mut().unwrap().remove("capture");
    checked.run(Operation::Restore, &json!({ "ref": taken }));
    let branch = checked.run(Operation::Branch, &selection);
    for operation in [Operation::List, Operation::Lineage, Operation::Retention, Operation::RotateKey] {
        checked.run(operation, &sandbox);
    }
    checked.run(Operation::Lineage, &json!({ "sandboxId": branch["ref"]["sandboxId"] }));
    let operations =
        [Operation::Get, Operation::Manifest, Operation::Verify, Operation::Pin, Operation::Unpin, Operation::Delete];
    checked.run(Operation::SetRetention, &json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } }));
    checked.run(Operation::ApplyRetention, &json!({ "sandboxId": "agent-42", "dryRun": true }));
    checked.run(Operation::Label, &json!({ "sandboxId": "agent-42", "label": "before", "newLabel": "new" }));
    let selection = json!({ "sandboxId": "agent-42", "label": "new" });
    for operation in &operations[..5] {
        checked.run(*operation, &selection);
    }
    for (operation, path) in
        [(Operation::ListFiles, "/"), (Operation::StatFile, "/"), (Operation::ReadFile, "notes.txt")]
    {
        checked.run(operation, &json!({ "sandboxId": "agent-42", "label": "new", "path": path }));
    }
    checked.run(Operation::SummarizeFiles, &selection);
    checked.fixture.world.write_file("agent-42", "/workspace/added.txt", "added");
    checked.fixture.snapshot_labelled("agent-42", "later");
    let later = json!({ "sandboxId": "agent-42", "label": "later" });
    let files = json!({ "sandboxId": "agent-42", "label": "later", "paths": ["added.txt"], "to": "agent-42" });
    checked.run(Operation::RestoreFiles, &files);
    checked.run(Operation::Diff, &json!({ "from": selection, "to": later, "limit": 1 }));
    let id = checked.run(Operation::Get, &selection)["snapshotId"].clone();
    checked.run(Operation::Delete, &json!({ "sandboxId": "agent-42", "snapshotId": id, "force": true }));
    checked.run(Operation::Manifest, &json!({ "sandboxId": "agent-42", "snapshotId": id }));
    checked.run(Operation::Usage, &json!({ "instanceType": "basic" }));
    checked.run(Operation::Sweep, &json!({ "graceSeconds": 0 }));
    checked.fixture.world.replace_container("agent-42");
    checked.fixture.world.write_file("agent-42", "/workspace/added.txt", "since");
    checked.run(Operation::Revive, &json!({ "sandboxId": "agent-42", "onDiverged": "rescue" }));
    checked.run(Operation::Revive, &sandbox);
}

#[test]
fn answers_to_commands_match_their_schemas() {
    let mut checked = SchemaChecker::of(Fixture::with_stopped_workspace());
    let exec = json!({ "name": WORKSPACE, "argv": ["true"] });
    let first = checked.run(Operation::Exec, &exec);
    assert_eq!(first["started"]["how"], json!("restored"));
    checked.run(Operation::Exec, &exec);
}

#[test]
fn answers_about_background_commands_match_their_schemas() {
    let mut checked = SchemaChecker::of(Fixture::with_stopped_workspace());
    let start = |command: &str| json!({ "name": WORKSPACE, "command": command });
    let served = checked.run(Operation::StartCommand, &start("serve"));
    assert_eq!(served["started"]["how"], json!("restored"));
    checked.run(Operation::StartCommand, &start("exit 3"));
    checked.run(Operation::ListCommands, &json!({ "name": WORKSPACE }));
    let command = json!({ "name": WORKSPACE, "commandId": served["commandId"] });
    checked.run(Operation::ReadCommandOutput, &command);
    checked.run(Operation::EndCommand, &command);
}

#[test]
fn answers_about_files_of_workspaces_match_their_schemas() {
    let mut checked = SchemaChecker::of(Fixture::with_stopped_workspace());
    let write = json!({ "name": WORKSPACE, "path": "src/main.rs", "content": "fn main() {}" });
    assert_eq!(checked.run(Operation::WriteFile, &write)["started"]["how"], json!("restored"));
    for (operation, path) in [
        (Operation::MakeDirectory, "new"),
        (Operation::ListFiles, "/"),
        (Operation::StatFile, "src"),
        (Operation::ReadFile, "src/main.rs"),
        (Operation::RemoveFile, "new"),
    ] {
        checked.run(operation, &json!({ "name": WORKSPACE, "path": path }));
    }
    checked.run(Operation::MoveFile, &json!({ "name": WORKSPACE, "path": "src/main.rs", "to": "src/lib.rs" }));
}

#[test]
fn answers_about_damaged_snapshots_match_their_schemas() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let mut checked = SchemaChecker::of(fixture);
    checked.fixture.world.clear_bucket();
    checked.run(Operation::Verify, &json!({ "ref": snapshot }));
    checked.run(Operation::List, &json!({ "sandboxId": "agent-42" }));
}

#[test]
fn answers_about_workspaces_match_their_schemas() {
    let mut checked = SchemaChecker::of(Fixture::empty());
    let hook = json!({ "command": "make" });
    let work = json!({ "name": WORKSPACE });
    let create = json!({
        "name": WORKSPACE, "hooks": { "afterStart": hook, "beforeStop": hook }, "dependsOn": { "files": ["a"], "fingerprint": "v1" },
        "env": { "A": "1" }, "retention": { "keepDaily": 7 }, "autosave": { "everySeconds": 60, "afterTurn": true },
    });
    checked.run(Operation::CreateWorkspace, &create);
    checked.fixture.write_workspace_file(WORKSPACE, "first");
    checked.fixture.world.advance_clock(MINUTE);
    checked.run(Operation::TurnEnded, &work);
    checked.fixture.advance_with_alarms(5000);
    checked.run(Operation::ListWorkspaces, &json!({}));
    checked.run(Operation::StopWorkspace, &work);
    checked.run(Operation::StartWorkspace, &work);
    checked.run(Operation::GetOrCreateWorkspace, &work);
    checked.run(Operation::ForkWorkspace, &json!({ "name": WORKSPACE, "newName": "other", "count": 2 }));
    checked.run(Operation::ListWorkspaces, &json!({ "limit": 1 }));
    let sandbox = checked.fixture.sandbox_of(WORKSPACE);
    let snapshots = checked.run(Operation::List, &json!({ "sandboxId": sandbox }));
    let id = &snapshots["snapshots"][0]["snapshotId"];
    checked.run(Operation::UpdateWorkspace, &json!({ "name": WORKSPACE, "currentSnapshotId": id }));
    checked.run(Operation::PromoteWorkspace, &json!({ "name": WORKSPACE, "from": "other-1" }));
    checked.run(Operation::GetWorkspaceByName, &work);
    checked.fixture.deploy_both_runtimes(Runtime::Sdk012);
    checked.run(Operation::MigrateWorkspace, &json!({ "name": WORKSPACE, "runtime": "container" }));
    checked.run(Operation::StartWorkspace, &work);
    checked.run(Operation::DeleteWorkspace, &work);
}

#[test]
fn answer_about_a_failed_fork_matches_its_schema() {
    let mut checked = SchemaChecker::of(Fixture::with_workspace());
    checked.fixture.create_workspace("other-2", &json!({})).unwrap();
    let forked = checked.run(Operation::ForkWorkspace, &json!({ "name": WORKSPACE, "newName": "other", "count": 2 }));
    assert!(forked["forks"][1]["error"].is_object(), "{forked:#}");
}

#[test]
fn answers_about_checkpoints_match_their_schemas() {
    let mut checked = SchemaChecker::of(Fixture::with_sandbox());
    let sandbox = json!({ "sandboxId": "agent-42" });
    let checkpoint = json!({ "sandboxId": "agent-42", "name": "s1" });
    checked.run(Operation::CreateCheckpoint, &checkpoint);
    checked.run(Operation::CreateCheckpoint, &checkpoint);
    checked.run(Operation::ListCheckpoints, &sandbox);
    checked.fixture.world.write_file("agent-42", FILE, "second");
    checked.run(Operation::DiffCheckpoint, &checkpoint);
    checked.run(Operation::RestoreCheckpoint, &checkpoint);
    let prune = json!({ "sandboxId": "agent-42", "name": "s1", "pruneEmptyDirectories": true });
    checked.run(Operation::RestoreCheckpoint, &prune);
    let expiring = json!({ "sandboxId": "agent-42", "name": "s2", "expirationSeconds": 3600 });
    checked.run(Operation::CreateCheckpoint, &expiring);
    checked.run(Operation::ListCheckpoints, &sandbox);
    checked.run(Operation::DeleteCheckpoint, &checkpoint);
    checked.run(Operation::DeleteCheckpoint, &checkpoint);
}

#[test]
fn answers_about_tokens_match_their_schemas() {
    let mut checked = SchemaChecker::of(Fixture::empty());
    let full = json!({ "permissions": ["read", "work"], "workspaces": ["work"], "label": "CI" });
    let created = checked.run(Operation::CreateToken, &full);
    checked.run(Operation::CreateToken, &json!({ "permissions": ["admin"] }));
    checked.run(Operation::ListTokens, &json!({}));
    checked.run(Operation::CurrentToken, &json!({}));
    checked.run(Operation::RevokeToken, &json!({ "id": created["id"] }));
}

#[test]
fn answers_about_tools_match_their_schemas() {
    let mut schemas = Schemas::new();
    let workspace = json!({ "name": "code", "snapshot": true, "checkpoint": true, "sandboxId": "agent-42" });
    let toolset = Toolset::decode(&json!({ "workspaces": [workspace] })).unwrap();
    let tools = ToolList { tools: definitions(&toolset).unwrap() };
    schemas.answer(Operation::ListTools, &json!(tools)).unwrap();
    let error = error(Code::SnapshotNotFound, "It is gone.", "Take another one.");
    schemas.answer(Operation::CallTool, &json!(error_result(&error, "c0ffee"))).unwrap();
    let request = GrantRequest { toolset, expiration_seconds: 60 };
    let granted = issue_token(Some("token"), &request, Timestamp::from_millis(0)).unwrap();
    schemas.answer(Operation::GrantTools, &json!(granted)).unwrap();
}

#[test]
fn errors_of_every_code_match_their_schema() {
    let mut schemas = Schemas::new();
    for code in Code::ALL {
        let error = error(*code, "It happened.", "Do something.");
        schemas.error(&json!(error.body("c0ffee"))).unwrap();
        let error = error.caused_by(Failure::new("Error", "thrown").with_code("E"));
        schemas.error(&json!(error.body("c0ffee"))).unwrap();
    }
}
