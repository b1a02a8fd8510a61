//! What an agent does with the operations, one after the other, in the world in memory: the examples of the API document.

use futures_util::FutureExt;
use sandbox_snapshotter::api::openapi::Example;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::api::tools::call::Operations;
use sandbox_snapshotter::api::tools::grant::grant;
use sandbox_snapshotter::api::tools::{call, definitions};
use sandbox_snapshotter::model::answer::Descent;
use sandbox_snapshotter::model::health::{Health, HealthCheck, Part};
use sandbox_snapshotter::model::request::{CallToolRequest, GrantRequest, Toolset};
use sandbox_snapshotter::model::tool::Tools;
use sandbox_snapshotter::model::{Result, SandboxId};
use sandbox_snapshotter::ports::Clock;
use serde_json::{Value, json};

use super::support::{FILE, HOUR, Stage};

const AGENT: &str = "agent-42";

/// The whole story.
pub fn story() -> Vec<Example> {
    let mut told = Told { stage: Stage::with_sandbox(), examples: Vec::new() };
    told.snapshots();
    told.care();
    told.checkpoints();
    told.workspaces();
    told.tools();
    told.deployment();
    told.examples
}

/// What happened until now.
struct Told {
    stage: Stage,
    examples: Vec<Example>,
}

impl Told {
    /// Carries an operation out, and tells of it.
    fn does(&mut self, operation: Operation, options: Value) -> Value {
        let answer = self.stage.run(operation, &options).unwrap();
        self.tells(operation, options, answer)
    }

    fn tells(&mut self, operation: Operation, options: Value, answer: Value) -> Value {
        self.examples.push(Example { operation, options, answer: answer.clone() });
        answer
    }

    /// Snapshots are taken and used.
    fn snapshots(&mut self) {
        let label = json!({ "sandboxId": AGENT, "label": "before the refactoring" });
        let taken = self.does(
            Operation::Snapshot,
            json!({
                "sandboxId": AGENT, "label": "before the refactoring", "excludes": ["node_modules"],
                "idempotencyKey": "5f0c1ad2-7f5b-4f0e-9d57-0d1c8b6f3a11",
            }),
        );
        let snapshot = json!({ "providerId": taken["providerId"], "ref": taken["ref"] });
        self.does(
            Operation::Restore,
            json!({ "ref": snapshot, "idempotencyKey": "0b9ad0b8-2c5e-4c53-8b0e-6a3b1f6d9c20" }),
        );
        self.does(Operation::Branch, label.clone());
        self.does(Operation::List, json!({ "sandboxId": AGENT, "limit": 20 }));
        for operation in [Operation::Get, Operation::Manifest, Operation::Verify, Operation::Pin, Operation::Unpin] {
            self.does(operation, label.clone());
        }
        self.does(
            Operation::Label,
            json!({ "sandboxId": AGENT, "label": "before the refactoring", "newLabel": "version 1" }),
        );
    }

    /// Snapshots are kept and let go.
    fn care(&mut self) {
        let sandbox = json!({ "sandboxId": AGENT });
        let backup = self.stage.world.backs_up(AGENT, None);
        self.stage.world.pass(HOUR);
        let imported =
            self.does(Operation::Import, json!({ "sandboxId": AGENT, "backup": backup, "label": "nightly" }));
        self.does(Operation::Lineage, json!({ "sandboxId": AGENT, "check": true }));
        self.does(
            Operation::SetRetention,
            json!({
                "sandboxId": AGENT,
                "policy": { "keepLast": { "count": 10 }, "expirationSeconds": 2_592_000, "keepDaily": 7 },
            }),
        );
        self.does(Operation::Retention, sandbox.clone());
        self.does(Operation::ApplyRetention, json!({ "sandboxId": AGENT, "dryRun": true }));
        self.does(Operation::RotateKey, sandbox);
        let imported = json!({ "sandboxId": AGENT, "snapshotId": imported["ref"]["snapshotId"] });
        self.does(Operation::Delete, imported);
        self.does(Operation::Sweep, json!({ "dryRun": true }));
    }

    /// Points to return to are kept in the sandbox.
    fn checkpoints(&mut self) {
        let checkpoint = json!({ "sandboxId": AGENT, "name": "tests-pass" });
        self.does(
            Operation::CreateCheckpoint,
            json!({ "sandboxId": AGENT, "name": "tests-pass", "description": "All tests pass" }),
        );
        self.stage.world.writes(AGENT, FILE, "second");
        self.does(Operation::ListCheckpoints, json!({ "sandboxId": AGENT }));
        self.does(Operation::DiffCheckpoint, checkpoint.clone());
        self.does(Operation::RestoreCheckpoint, checkpoint);
    }

    /// A workspace lives by its name.
    fn workspaces(&mut self) {
        let project = json!({ "tenant": "acme", "name": "project" });
        self.does(
            Operation::CreateWorkspace,
            json!({
                "tenant": "acme", "name": "project", "env": { "NODE_ENV": "development" },
                "hooks": { "afterStart": { "command": "[ ! -f package.json ] || npm ci" } }, "expiry": { "idleSeconds": 900 },
            }),
        );
        let described = self.does(Operation::GetWorkspaceByName, project.clone());
        let sandbox = described["sandboxId"].as_str().unwrap().to_owned();
        self.stage.world.writes(&sandbox, FILE, "first");
        let stopped = self.does(Operation::StopWorkspace, project.clone());
        self.does(Operation::ListWorkspaces, json!({ "tenant": "acme", "limit": 20 }));
        self.does(Operation::StartWorkspace, project.clone());
        self.does(Operation::GetOrCreateWorkspace, project.clone());
        self.does(Operation::ForkWorkspace, json!({ "tenant": "acme", "name": "project", "newName": "experiment" }));
        let first = &stopped["lastSnapshot"]["id"];
        self.does(
            Operation::UpdateWorkspace,
            json!({ "tenant": "acme", "name": "project", "currentSnapshotId": first }),
        );
        self.does(Operation::DeleteWorkspace, project);
    }

    /// A language model saves its work.
    fn tools(&mut self) {
        let workspaces = json!([{ "name": "code", "snapshot": true, "checkpoint": false, "sandboxId": AGENT }]);
        let options = json!({ "workspaces": workspaces, "readOnly": true });
        let toolset = Toolset::decode(&options).unwrap();
        let tools = Tools { tools: definitions(&toolset).unwrap() };
        self.tells(Operation::ListTools, options, json!(tools));
        let options = json!({
            "workspaces": workspaces, "name": "workspace__code__snapshot", "arguments": { "label": "before the upgrade" },
        });
        let request = CallToolRequest::decode(&options).unwrap();
        let result = call(&Theirs(&self.stage), &request).now_or_never().unwrap().unwrap();
        self.tells(Operation::CallTool, options, json!(result));
        let options = json!({ "workspaces": workspaces, "expirationSeconds": 3600 });
        let request = GrantRequest::decode(&options).unwrap();
        let granted = grant(Some("an API token for examples"), &request, self.stage.world.now()).unwrap();
        self.tells(Operation::GrantTools, options, json!(granted));
    }

    /// Somebody looks after the deployment.
    fn deployment(&mut self) {
        let configured = vec![
            HealthCheck::right(Part::Config, "Every var that is set has a value that can be used."),
            HealthCheck::right(Part::Bucket, "The R2 bucket is bound."),
            HealthCheck::right(Part::Sandboxes, "The Durable Object namespace of the sandboxes is bound."),
            HealthCheck::right(Part::Workspaces, "The Durable Object namespace Workspace is bound."),
            HealthCheck::right(
                Part::Directory,
                "The Durable Object namespaces NamedWorkspace and Directory are bound.",
            ),
            HealthCheck::right(Part::ApiToken, "It is set."),
            HealthCheck::right(
                Part::BackupCredentials,
                "All of them are set. Whether R2 accepts them shows with the first snapshot.",
            ),
            HealthCheck::open(
                Part::Metrics,
                "No Analytics Engine dataset is bound as METRICS: operations are logged, and not counted.",
                "To count them, add [[analytics_engine_datasets]] to wrangler.toml.",
            ),
        ];
        let found = Health::of(self.stage.world.now(), configured);
        self.tells(Operation::Health, json!({}), json!(found));
    }
}

/// The operations that the tools of a model consist of.
struct Theirs<'a>(&'a Stage);

impl Operations for Theirs<'_> {
    async fn carry_out(&self, operation: Operation, arguments: Value) -> Result<Value> {
        self.0.run(operation, &arguments)
    }

    async fn descent(&self, _: &SandboxId) -> Result<Descent> {
        Ok(Descent { parent: None, has_name: false })
    }
}
