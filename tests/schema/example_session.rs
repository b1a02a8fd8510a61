//! A session of an agent that calls every operation, over in-memory ports: the examples of the API document.

use futures_util::FutureExt;
use sandbox_snapshotter::api::openapi::Example;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::api::tools::grant::issue_token;
use sandbox_snapshotter::api::tools::{OperationExecutor, call, definitions};
use sandbox_snapshotter::model::answer::SandboxParent;
use sandbox_snapshotter::model::health::{Health, HealthCheck, HealthComponent};
use sandbox_snapshotter::model::request::{CallToolRequest, GrantRequest, Toolset};
use sandbox_snapshotter::model::tool::ToolList;
use sandbox_snapshotter::model::{Result, Runtime, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::Clock;
use serde_json::{Value, json};

use super::support::{CommandResult, FILE, Fixture, HOUR};

/// A sandbox of an application.
const AGENT: &str = "agent-42";

/// A workspace.
const NOTEBOOK: &str = "notebook";

/// Runs the session, and returns its calls.
pub fn example_session() -> Vec<Example> {
    let mut recorder = ExampleRecorder { fixture: Fixture::with_sandbox(), examples: Vec::new() };
    recorder.snapshots();
    recorder.retention();
    recorder.checkpoints();
    recorder.file_changes();
    recorder.background_commands();
    recorder.workspaces();
    recorder.tools();
    recorder.tokens();
    recorder.revival();
    recorder.deployment();
    recorder.examples
}

/// Runs operations, and records them as examples.
struct ExampleRecorder {
    fixture: Fixture,
    examples: Vec<Example>,
}

impl ExampleRecorder {
    /// Runs an operation and records it.
    fn run(&mut self, operation: Operation, options: Value) -> Value {
        let answer = self.fixture.run(operation, &options).unwrap();
        self.record(operation, options, answer)
    }

    fn record(&mut self, operation: Operation, options: Value, answer: Value) -> Value {
        self.examples.push(Example { operation, options, answer: answer.clone() });
        answer
    }

    /// Takes, restores, reads and labels snapshots of a named workspace, which a reader has after the first call of the
    /// reference: the examples work when they are copied.
    fn snapshots(&mut self) {
        let sandbox = self.create_notebook();
        let before = json!({ "name": NOTEBOOK, "label": "before the refactoring" });
        // Without a key, so that a reader who runs the example again gets no earlier answer.
        self.run(Operation::Snapshot, before.clone());
        self.run(Operation::Restore, before.clone());
        self.run(Operation::Branch, before.clone());
        self.run(Operation::List, json!({ "name": NOTEBOOK, "limit": 20 }));
        for operation in [Operation::Get, Operation::Manifest, Operation::Verify, Operation::Pin, Operation::Unpin] {
            self.run(operation, before.clone());
        }
        self.run(Operation::Lineage, json!({ "name": NOTEBOOK, "check": true }));
        let at = |path: &str| json!({ "name": NOTEBOOK, "label": "before the refactoring", "path": path });
        self.run(Operation::ListFiles, at("/"));
        for operation in [Operation::StatFile, Operation::ReadFile] {
            self.run(operation, at("notes.txt"));
        }
        self.run(Operation::SummarizeFiles, before.clone());
        self.fixture.world.write_file(&sandbox, FILE, "The refactoring is complete.");
        self.fixture.world.write_file(&sandbox, "/workspace/src/main.rs", "fn main() {}");
        self.run(Operation::Diff, json!({ "from": before, "to": { "name": NOTEBOOK } }));
        let after = json!({ "name": NOTEBOOK, "label": "after the refactoring" });
        self.fixture.run(Operation::Snapshot, &after).unwrap();
        self.run(
            Operation::RestoreFiles,
            json!({ "name": NOTEBOOK, "label": "before the refactoring", "paths": ["notes.txt"], "overwrite": true }),
        );
        // The examples of the other operations need the label of the first snapshot.
        self.run(
            Operation::Label,
            json!({ "name": NOTEBOOK, "label": "after the refactoring", "newLabel": "version 1" }),
        );
    }

    /// Creates the workspace with a file, and returns its sandbox.
    fn create_notebook(&mut self) -> String {
        self.run(Operation::GetOrCreateWorkspace, json!({ "name": NOTEBOOK }));
        let described = self.run(Operation::GetWorkspaceByName, json!({ "name": NOTEBOOK }));
        let sandbox = described["sandboxId"].as_str().unwrap().to_owned();
        let command = "echo 'first draft' | tee notes.txt";
        self.fixture.world.plan_command(command, |world, call| {
            world.write_file(&call.sandbox, FILE, "first draft\n");
            CommandResult::exit(0, "first draft\n")
        });
        self.run(Operation::Exec, json!({ "name": NOTEBOOK, "command": command, "timeoutSeconds": 600 }));
        sandbox
    }

    /// Imports, expires and deletes snapshots.
    fn retention(&mut self) {
        let sandbox = json!({ "sandboxId": AGENT });
        let backup = self.fixture.world.create_app_backup(AGENT, None);
        self.fixture.world.advance_clock(HOUR);
        let imported = self.run(Operation::Import, json!({ "sandboxId": AGENT, "backup": backup, "label": "nightly" }));
        self.run(
            Operation::SetRetention,
            json!({
                "sandboxId": AGENT,
                "policy": { "keepLast": { "count": 10 }, "expirationSeconds": 2_592_000, "keepDaily": 7 },
            }),
        );
        self.run(Operation::Retention, sandbox.clone());
        self.run(Operation::ApplyRetention, json!({ "sandboxId": AGENT, "dryRun": true }));
        self.run(Operation::RotateKey, sandbox);
        let imported = json!({ "sandboxId": AGENT, "snapshotId": imported["ref"]["snapshotId"] });
        self.run(Operation::Delete, imported);
        self.run(Operation::Sweep, json!({ "dryRun": true }));
    }

    /// Creates, lists, diffs and restores checkpoints.
    fn checkpoints(&mut self) {
        let checkpoint = json!({ "workspace": NOTEBOOK, "name": "tests-pass" });
        self.run(
            Operation::CreateCheckpoint,
            json!({ "workspace": NOTEBOOK, "name": "tests-pass", "description": "All tests pass" }),
        );
        self.fixture.write_workspace_file(NOTEBOOK, "second");
        self.run(Operation::ListCheckpoints, json!({ "workspace": NOTEBOOK }));
        self.run(Operation::DiffCheckpoint, checkpoint.clone());
        self.run(Operation::RestoreCheckpoint, checkpoint.clone());
        self.run(Operation::DeleteCheckpoint, checkpoint);
    }

    /// Revives the sandbox, whose container was replaced.
    fn revival(&mut self) {
        self.fixture.snapshot_labelled(AGENT, "before the replacement");
        self.fixture.world.replace_container(AGENT);
        self.fixture.world.write_file(AGENT, FILE, "written since");
        self.fixture.world.advance_clock(HOUR);
        self.run(Operation::Revive, json!({ "sandboxId": AGENT, "onDiverged": "rescue" }));
    }

    /// Changes files.
    fn file_changes(&mut self) {
        let content = "export const port = 8080;\n";
        self.run(Operation::WriteFile, json!({ "name": NOTEBOOK, "path": "src/config.ts", "content": content }));
        self.run(Operation::MakeDirectory, json!({ "name": NOTEBOOK, "path": "dist" }));
        self.run(Operation::MoveFile, json!({ "name": NOTEBOOK, "path": "src/config.ts", "to": "src/settings.ts" }));
        self.run(Operation::RemoveFile, json!({ "name": NOTEBOOK, "path": "src/settings.ts" }));
    }

    /// Starts, reads and ends a background command.
    fn background_commands(&mut self) {
        self.fixture.world.plan_command("npm run dev", |_, _| CommandResult::exit(0, "Ready on port 8080.\n"));
        let start = json!({ "name": NOTEBOOK, "argv": ["npm", "run", "dev"], "timeoutSeconds": 7200 });
        let started = self.run(Operation::StartCommand, start);
        let command = json!({ "name": NOTEBOOK, "commandId": started["commandId"] });
        self.run(Operation::ListCommands, json!({ "name": NOTEBOOK }));
        self.run(Operation::ReadCommandOutput, command.clone());
        self.fixture.world.advance_clock(HOUR);
        self.run(Operation::EndCommand, command);
    }

    /// Creates, stops, starts, forks and deletes named workspaces.
    fn workspaces(&mut self) {
        let notebook = json!({ "name": NOTEBOOK });
        self.run(
            Operation::CreateWorkspace,
            json!({
                "name": "website", "env": { "NODE_ENV": "development" },
                "hooks": { "afterStart": { "command": "[ ! -f package.json ] || npm ci" } }, "expiry": { "idleSeconds": 900 }, "autosave": { "everySeconds": 300, "afterTurn": true },
            }),
        );
        self.run(Operation::TurnEnded, json!({ "name": "website" }));
        let stopped = self.run(Operation::StopWorkspace, notebook.clone());
        self.run(Operation::ListWorkspaces, json!({ "limit": 20 }));
        self.run(Operation::Usage, json!({ "instanceType": "standard-1" }));
        self.run(Operation::StartWorkspace, notebook.clone());
        self.run(Operation::ForkWorkspace, json!({ "name": NOTEBOOK, "newName": "experiment" }));
        let first = &stopped["lastSnapshot"]["id"];
        self.run(Operation::UpdateWorkspace, json!({ "name": NOTEBOOK, "currentSnapshotId": first }));
        self.run(
            Operation::PromoteWorkspace,
            json!({ "name": NOTEBOOK, "from": "experiment", "idempotencyKey": "keep-the-experiment" }),
        );
        self.fixture.deploy_both_runtimes(Runtime::Sdk012);
        self.run(Operation::MigrateWorkspace, json!({ "name": NOTEBOOK, "runtime": "container" }));
        // The examples of the other operations need `notebook`.
        self.run(Operation::DeleteWorkspace, json!({ "name": "website" }));
    }

    /// Lists, calls and grants the tools of a language model.
    fn tools(&mut self) {
        let workspaces = json!([{ "name": "code", "snapshot": true, "checkpoint": false, "sandboxId": AGENT }]);
        let options = json!({ "workspaces": workspaces, "readOnly": true });
        let toolset = Toolset::decode(&options).unwrap();
        let tools = ToolList { tools: definitions(&toolset).unwrap() };
        self.record(Operation::ListTools, options, json!(tools));
        let options = json!({
            "workspaces": workspaces, "name": "workspace__code__snapshot", "arguments": { "label": "before the upgrade" },
        });
        let request = CallToolRequest::decode(&options).unwrap();
        let result = call(&FixtureOperations(&self.fixture), &request).now_or_never().unwrap().unwrap();
        self.record(Operation::CallTool, options, json!(result));
        let options = json!({ "workspaces": workspaces, "expirationSeconds": 3600 });
        let request = GrantRequest::decode(&options).unwrap();
        let granted = issue_token(Some("an API token for examples"), &request, self.fixture.world.now()).unwrap();
        self.record(Operation::GrantTools, options, json!(granted));
    }

    /// Creates, lists and revokes tokens.
    fn tokens(&mut self) {
        let created = self.run(
            Operation::CreateToken,
            json!({ "permissions": ["snapshot", "work"], "workspaces": [NOTEBOOK], "label": "CI of the notebook" }),
        );
        self.run(Operation::ListTokens, json!({}));
        self.run(Operation::CurrentToken, json!({}));
        self.run(Operation::RevokeToken, json!({ "id": created["id"] }));
    }

    /// Checks the health of the deployment.
    fn deployment(&mut self) {
        let configured = vec![
            HealthCheck::healthy(HealthComponent::Config, "Every var that is set has a valid value."),
            HealthCheck::healthy(HealthComponent::Bucket, "The R2 bucket is bound."),
            HealthCheck::healthy(HealthComponent::Sandboxes, "The Durable Object namespace of the sandboxes is bound."),
            HealthCheck::healthy(HealthComponent::Workspaces, "The Durable Object namespace Workspace is bound."),
            HealthCheck::healthy(
                HealthComponent::Directory,
                "The Durable Object namespaces NamedWorkspace and Directory are bound.",
            ),
            HealthCheck::healthy(HealthComponent::ApiToken, "It is set."),
            HealthCheck::healthy(
                HealthComponent::BackupCredentials,
                "All credentials are set. The first snapshot shows whether R2 accepts them.",
            ),
            HealthCheck::undetermined(
                HealthComponent::Metrics,
                "No Analytics Engine dataset is bound as METRICS: operations are logged, but not counted.",
                "To count them, add [[analytics_engine_datasets]] to wrangler.toml.",
            ),
        ];
        let found = Health::new(env!("CARGO_PKG_VERSION"), self.fixture.world.now(), configured);
        self.record(Operation::Health, json!({}), json!(found));
    }
}

/// Runs the operations of tools on the fixture.
struct FixtureOperations<'a>(&'a Fixture);

impl OperationExecutor for FixtureOperations<'_> {
    async fn execute(&self, operation: Operation, arguments: Value) -> Result<Value> {
        self.0.run(operation, &arguments)
    }

    async fn parent_of(&self, _: &SandboxId) -> Result<SandboxParent> {
        Ok(SandboxParent { parent: None, has_binding: false, workspace: None })
    }

    async fn origin_of(&self, id: &SandboxId, _: &SnapshotId) -> Result<Option<SandboxId>> {
        Ok(Some(id.clone()))
    }
}
