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

const AGENT: &str = "agent-42";

/// Runs the session, and returns its calls.
pub fn example_session() -> Vec<Example> {
    let mut recorder = ExampleRecorder { fixture: Fixture::with_sandbox(), examples: Vec::new() };
    recorder.snapshots();
    recorder.retention();
    recorder.checkpoints();
    recorder.file_changes();
    recorder.workspaces();
    recorder.tools();
    recorder.tokens();
    recorder.revival();
    recorder.deployment();
    recorder.background_commands();
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

    /// Takes, restores, reads and labels snapshots.
    fn snapshots(&mut self) {
        let label = json!({ "sandboxId": AGENT, "label": "before the refactoring" });
        self.run(
            Operation::Snapshot,
            json!({
                "sandboxId": AGENT, "label": "before the refactoring", "excludes": ["node_modules"],
                "idempotencyKey": "5f0c1ad2-7f5b-4f0e-9d57-0d1c8b6f3a11",
            }),
        );
        self.run(Operation::Restore, label.clone());
        self.run(Operation::Branch, label.clone());
        self.run(Operation::List, json!({ "sandboxId": AGENT, "limit": 20 }));
        for operation in [Operation::Get, Operation::Manifest, Operation::Verify, Operation::Pin, Operation::Unpin] {
            self.run(operation, label.clone());
        }
        self.run(Operation::ListFiles, json!({ "sandboxId": AGENT, "label": "before the refactoring", "path": "/" }));
        for operation in [Operation::StatFile, Operation::ReadFile] {
            self.run(operation, json!({ "sandboxId": AGENT, "label": "before the refactoring", "path": "notes.txt" }));
        }
        self.run(Operation::SummarizeFiles, label);
        let at = |label: &str| json!({ "sandboxId": AGENT, "label": label });
        self.fixture.world.write_file(AGENT, FILE, "The refactoring is complete.");
        self.fixture.world.write_file(AGENT, "/workspace/src/main.rs", "fn main() {}");
        self.fixture.snapshot_labelled(AGENT, "after the refactoring");
        let files = json!({ "paths": ["notes.txt"], "to": AGENT, "overwrite": true });
        let mut options = at("before the refactoring");
        options.as_object_mut().unwrap().extend(files.as_object().unwrap().clone());
        self.run(Operation::RestoreFiles, options);
        let (from, to) = (at("before the refactoring"), at("after the refactoring"));
        self.run(Operation::Diff, json!({ "from": from, "to": to }));
        self.run(
            Operation::Label,
            json!({ "sandboxId": AGENT, "label": "before the refactoring", "newLabel": "version 1" }),
        );
    }

    /// Imports, expires and deletes snapshots.
    fn retention(&mut self) {
        let sandbox = json!({ "sandboxId": AGENT });
        let backup = self.fixture.world.create_app_backup(AGENT, None);
        self.fixture.world.advance_clock(HOUR);
        let imported = self.run(Operation::Import, json!({ "sandboxId": AGENT, "backup": backup, "label": "nightly" }));
        self.run(Operation::Lineage, json!({ "sandboxId": AGENT, "check": true }));
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
        let checkpoint = json!({ "sandboxId": AGENT, "name": "tests-pass" });
        self.run(
            Operation::CreateCheckpoint,
            json!({ "sandboxId": AGENT, "name": "tests-pass", "description": "All tests pass" }),
        );
        self.fixture.world.write_file(AGENT, FILE, "second");
        self.run(Operation::ListCheckpoints, json!({ "sandboxId": AGENT }));
        self.run(Operation::DiffCheckpoint, checkpoint.clone());
        self.run(Operation::RestoreCheckpoint, checkpoint.clone());
        self.run(Operation::DeleteCheckpoint, checkpoint);
    }

    /// Revives the sandbox, whose container was replaced.
    fn revival(&mut self) {
        self.fixture.world.replace_container(AGENT);
        self.fixture.world.write_file(AGENT, FILE, "written since");
        self.fixture.world.advance_clock(HOUR);
        self.run(Operation::Revive, json!({ "sandboxId": AGENT, "onDiverged": "rescue" }));
    }

    /// Changes files.
    fn file_changes(&mut self) {
        let content = "export const port = 8080;\n";
        self.run(Operation::WriteFile, json!({ "sandboxId": AGENT, "path": "src/config.ts", "content": content }));
        self.run(Operation::MakeDirectory, json!({ "sandboxId": AGENT, "path": "dist" }));
        self.run(Operation::MoveFile, json!({ "sandboxId": AGENT, "path": "src/config.ts", "to": "src/settings.ts" }));
        self.run(Operation::RemoveFile, json!({ "sandboxId": AGENT, "path": "src/settings.ts" }));
    }

    /// Starts, reads and ends a background command.
    fn background_commands(&mut self) {
        self.fixture.world.plan_command("npm run dev", |_, _| CommandResult::exit(0, "Ready on port 8080.\n"));
        let start = json!({ "sandboxId": AGENT, "argv": ["npm", "run", "dev"], "timeoutSeconds": 7200 });
        let started = self.run(Operation::StartCommand, start);
        let command = json!({ "sandboxId": AGENT, "commandId": started["commandId"] });
        self.run(Operation::ListCommands, json!({ "sandboxId": AGENT }));
        self.run(Operation::ReadCommandOutput, command.clone());
        self.fixture.world.advance_clock(HOUR);
        self.run(Operation::EndCommand, command);
    }

    /// Creates, stops, starts, forks and deletes named workspaces. A reader has the workspace `notebook` after the first call
    /// of the reference, so the examples work when they are copied.
    fn workspaces(&mut self) {
        let notebook = json!({ "name": "notebook" });
        self.run(
            Operation::CreateWorkspace,
            json!({
                "name": "website", "env": { "NODE_ENV": "development" },
                "hooks": { "afterStart": { "command": "[ ! -f package.json ] || npm ci" } }, "expiry": { "idleSeconds": 900 }, "autosave": { "everySeconds": 300, "afterTurn": true },
            }),
        );
        self.run(Operation::GetOrCreateWorkspace, notebook.clone());
        let described = self.run(Operation::GetWorkspaceByName, notebook.clone());
        let sandbox = described["sandboxId"].as_str().unwrap().to_owned();
        self.fixture.world.write_file(&sandbox, FILE, "first");
        self.fixture.world.plan_command("npm test", |_, _| CommandResult::exit(0, "12 passed\n"));
        self.run(Operation::Exec, json!({ "name": "notebook", "command": "npm test", "timeoutSeconds": 600 }));
        self.run(Operation::TurnEnded, json!({ "name": "website" }));
        let stopped = self.run(Operation::StopWorkspace, notebook.clone());
        self.run(Operation::ListWorkspaces, json!({ "limit": 20 }));
        self.run(Operation::Usage, json!({ "instanceType": "standard-1" }));
        self.run(Operation::StartWorkspace, notebook.clone());
        self.run(Operation::ForkWorkspace, json!({ "name": "notebook", "newName": "experiment" }));
        let first = &stopped["lastSnapshot"]["id"];
        self.run(Operation::UpdateWorkspace, json!({ "name": "notebook", "currentSnapshotId": first }));
        self.run(
            Operation::PromoteWorkspace,
            json!({ "name": "notebook", "from": "experiment", "idempotencyKey": "keep-the-experiment" }),
        );
        self.fixture.deploy_both_runtimes(Runtime::Sdk012);
        self.run(Operation::MigrateWorkspace, json!({ "name": "notebook", "runtime": "container" }));
        self.run(Operation::DeleteWorkspace, notebook);
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
            json!({ "permissions": ["snapshot", "work"], "workspaces": ["notebook"], "label": "CI of the notebook" }),
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
