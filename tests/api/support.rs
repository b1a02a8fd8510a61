//! Toolsets, fixtures, and fake operations that record their calls.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;

use boon::{Compiler, Draft, Schemas};
use futures_executor::block_on;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::api::tools::{self, OperationExecutor};
use sandbox_snapshotter::model::answer::SandboxParent;
use sandbox_snapshotter::model::request::{CallToolRequest, Toolset};
use sandbox_snapshotter::model::tool::{ToolDefinition, ToolResult};
use sandbox_snapshotter::model::{Error, Result, SandboxId, SnapshotId};
use serde_json::{Map, Value, json};

use super::decoding::decode;

/// The names of the tools without the name of the workspace, in the order of the definitions.
pub const TOOL_NAMES: [&str; 9] = [
    "snapshot",
    "restore",
    "branch",
    "list",
    "delete",
    "snapshot_create",
    "snapshot_list",
    "snapshot_restore",
    "snapshot_diff",
];

/// The tools that change nothing.
pub const READ_ONLY_TOOLS: [&str; 3] = ["list", "snapshot_list", "snapshot_diff"];

/// All tools of one sandbox.
pub fn sandbox_toolset() -> Value {
    json!({ "workspaces": [{ "name": "work", "snapshot": true, "sandboxId": "agent-42", "dir": "/workspace/app" }] })
}

/// All tools of one named workspace.
pub fn named_toolset() -> Value {
    json!({ "workspaces": [{ "name": "work", "snapshot": true, "workspace": "project", "tenant": "acme" }] })
}

/// An object with further members.
pub fn extended(object: Value, further: Value) -> Value {
    let (Value::Object(mut members), Value::Object(further)) = (object, further) else { panic!("not objects") };
    members.extend(further);
    Value::Object(members)
}

pub fn definitions(toolset: &Value) -> Vec<ToolDefinition> {
    tools::definitions(&Toolset::decode(toolset).unwrap()).unwrap()
}

/// The names of the tools of a toolset.
pub fn names(toolset: &Value) -> Vec<String> {
    definitions(toolset).into_iter().map(|tool| tool.name).collect()
}

/// The ref of a snapshot.
pub fn snapshot_ref() -> Value {
    json!({
        "providerId": "cloudflare-sandbox",
        "ref": {
            "schemaVersion": 1,
            "snapshotId": "snap-abcdefghij012345",
            "originId": "agent-42",
            "rootId": "agent-42",
            "backup": { "id": "6b1f0c1e-0000-4000-8000-000000000001", "dir": "/workspace" },
            "createdAt": "2026-11-20T05:00:00.000Z",
            "signature": "1.h9swbdj2cYIBfKq62qHyWhWCx8D5qrXC9R1qVeCUDBs",
        }
    })
}

/// The ref of a workspace that was made from a snapshot.
pub fn workspace_ref() -> Value {
    json!({
        "providerId": "cloudflare-sandbox",
        "ref": { "sandboxId": "agent-42-restored-abcd1234", "rootId": "agent-42" },
        "capabilities": { "fs": true, "shell": true, "code": true, "snapshot": true },
        "schemaVersion": 1,
    })
}

/// A snapshot as `list` returns it.
pub fn summary(label: &str) -> Value {
    json!({
        "ref": snapshot_ref(), "snapshotId": "snap-abcdefghij012345", "label": label, "state": "ready", "pinned": false,
        "createdAt": "2026-11-20T05:00:00.000Z", "restorable": "yes", "sizeBytes": 4096, "dependents": [],
    })
}

/// A checkpoint.
pub fn checkpoint(name: &str) -> Value {
    json!({
        "name": name, "commit": "9a3f0c6e4b2e0a7a88f1de20b36d2b4c1e5a9b77", "createdAt": "2026-04-23T12:30:00.250Z",
        "description": "before refactor",
    })
}

/// Operations that return scripted answers in order. They accept only arguments that the real operations accept.
///
/// The sandbox of [`workspace_ref`] was made from that of [`snapshot_ref`].
#[derive(Default)]
pub struct FakeOperations {
    answers: RefCell<VecDeque<Result<Value>>>,
    calls: RefCell<Vec<(&'static str, Value)>>,
    parents: BTreeMap<String, String>,
    named_sandboxes: Vec<String>,
    origins: BTreeMap<String, String>,
}

impl FakeOperations {
    pub fn with_answers(answers: impl IntoIterator<Item = Value>) -> Self {
        Self { answers: RefCell::new(answers.into_iter().map(Ok).collect()), ..Self::default() }
    }

    pub fn with_error(error: Error) -> Self {
        Self { answers: RefCell::new([Err(error)].into()), ..Self::default() }
    }

    /// Adds a sandbox that was made from another one.
    pub fn with_parent(mut self, id: &str, parent: &str) -> Self {
        self.parents.insert(id.to_owned(), parent.to_owned());
        self
    }

    /// Adds a snapshot of a sandbox of the lineage.
    pub fn with_snapshot(mut self, snapshot_id: &str, origin: &str) -> Self {
        self.origins.insert(snapshot_id.to_owned(), origin.to_owned());
        self
    }

    /// Adds a sandbox that belongs to a named workspace.
    pub fn with_named_sandbox(mut self, id: &str) -> Self {
        self.named_sandboxes.push(id.to_owned());
        self
    }

    pub fn call(&self, toolset: &Value, name: &str, arguments: Value) -> Result<ToolResult> {
        let request = extended(toolset.clone(), Value::from_iter([("name", json!(name)), ("arguments", arguments)]));
        block_on(tools::call(self, &CallToolRequest::decode(&request)?))
    }

    /// The recorded calls, without arguments that are null.
    pub fn calls(&self) -> Vec<(&'static str, Value)> {
        self.calls.borrow().clone()
    }
}

impl OperationExecutor for FakeOperations {
    async fn execute(&self, operation: Operation, arguments: Value) -> Result<Value> {
        decode(operation, &arguments)?;
        let Value::Object(mut given) = arguments else { panic!("{operation:?} is called without arguments") };
        given.retain(|_, value| !value.is_null());
        self.calls.borrow_mut().push((operation.name(), Value::Object(given)));
        self.answers.borrow_mut().pop_front().unwrap_or_else(|| panic!("{operation:?} is not expected"))
    }

    async fn parent_of(&self, id: &SandboxId) -> Result<SandboxParent> {
        let default = (id.as_str() == "agent-42-restored-abcd1234").then(|| "agent-42".to_owned());
        let parent = self.parents.get(id.as_str()).cloned().or(default);
        let parent = parent.map(|parent| SandboxId::parse(&parent).unwrap());
        let has_binding = self.named_sandboxes.iter().any(|name| name == id.as_str());
        Ok(SandboxParent { parent, has_binding, workspace: None })
    }

    async fn origin_of(&self, _: &SandboxId, snapshot_id: &SnapshotId) -> Result<Option<SandboxId>> {
        Ok(self.origins.get(snapshot_id.as_str()).map(|origin| SandboxId::parse(origin).unwrap()))
    }
}

/// Calls the tool `op` of a sandbox. Validates arguments and result by its schemas. Returns the result and the recorded
/// calls.
pub fn call(op: &str, arguments: Value, answer: Value) -> (ToolResult, Vec<(&'static str, Value)>) {
    let name = format!("workspace__work__{op}");
    let tool = definitions(&sandbox_toolset()).into_iter().find(|tool| tool.name == name).unwrap();
    assert_valid(&tool.input_schema, &arguments);
    let operations = FakeOperations::with_answers([answer]);
    let result = operations.call(&sandbox_toolset(), &name, arguments).unwrap();
    assert_valid(&tool.output_schema, result.structured_content.as_ref().unwrap());
    (result, operations.calls())
}

/// Asserts that a schema is valid JSON Schema 2020-12, and that a value matches it.
#[track_caller]
pub fn assert_valid(schema: &Map<String, Value>, value: &Value) {
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    compiler.set_default_draft(Draft::V2020_12);
    compiler.enable_format_assertions();
    compiler.add_resource("tool.json", Value::Object(schema.clone())).unwrap();
    let index = compiler.compile("tool.json", &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
    schemas.validate(value, index).unwrap_or_else(|error| panic!("{error:#}"));
}

/// Returns the error of an outcome that must be one.
#[track_caller]
pub fn expect_error<T: Debug>(outcome: Result<T>) -> Error {
    outcome.expect_err("an error")
}
