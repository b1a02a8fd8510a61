//! The operations as JSON Schemas of their options and answers. Built only with the feature `schema`, on the build
//! machine.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::operations::Operation;
use crate::model::answer::{Deletion, KeyRotation, Manifest, Page, Retention, Summary, Sweep, Tree, Verification};
use crate::model::checkpoint::{CheckpointDiff, Checkpoints, CreatedCheckpoint, RestoredCheckpoint};
use crate::model::error::ErrorBody;
use crate::model::health::Health;
use crate::model::named::Address;
use crate::model::named::answer::{
    DeletedWorkspace, ForkedWorkspaces, StartedWorkspace, StoppedWorkspace, WorkspaceDescription, WorkspacePage,
};
use crate::model::named::messages::StartSettings;
use crate::model::request::{
    ApplyRetentionRequest, CallToolRequest, CheckpointLocation, CreateCheckpointRequest, CreateRequest, DeleteRequest,
    DiffCheckpointRequest, ForkRequest, GetOrCreateRequest, GrantRequest, HealthRequest, ImportRequest, LabelRequest,
    LineageRequest, LineageScope, ListCheckpointsRequest, ListRequest, ListWorkspacesRequest, RestoreCheckpointRequest,
    SandboxRequest, SetRetentionRequest, SettingsUpdate, StartRequest, SweepRequest, Toolset, UpdateRequest,
};
use crate::model::schema::NULLABLE;
use crate::model::tool::{ToolGrant, ToolResult, Tools};
use crate::model::{RestoreRequest, Selection, SnapshotRequest, TakenSnapshot, WorkspaceRef};

/// The contract of an operation: its summary for callers, its options and its answer.
struct Contract {
    summary: &'static str,
    options: fn(&mut SchemaGenerator) -> Schema,
    answer: fn(&mut SchemaGenerator) -> Schema,
}

impl Contract {
    fn of<Options: JsonSchema, Answer: JsonSchema>(summary: &'static str) -> Self {
        let (options, answer) = (SchemaGenerator::subschema_for::<Options>, SchemaGenerator::subschema_for::<Answer>);
        Self { summary, options, answer }
    }
}

fn contract(operation: Operation) -> Contract {
    match operation {
        Operation::Snapshot => {
            Contract::of::<SnapshotRequest, TakenSnapshot>("Captures a directory of a running sandbox.")
        }
        Operation::Restore => Contract::of::<RestoreRequest, WorkspaceRef>(
            "Creates a sandbox, `<origin>-restored-<id>`, with the files of a snapshot.",
        ),
        Operation::Branch => Contract::of::<RestoreRequest, WorkspaceRef>(
            "Creates a sandbox, `<origin>-branch-<id>`, with the files of a snapshot, to continue from them independently.",
        ),
        Operation::List => Contract::of::<ListRequest, Page>("Lists the snapshots of a sandbox, newest first."),
        Operation::Get => Contract::of::<Selection, Summary>("Returns one snapshot, in the form that `list` returns."),
        Operation::Manifest => Contract::of::<Selection, Manifest>("Returns all details of one snapshot."),
        Operation::Verify => Contract::of::<Selection, Verification>(
            "Checks in R2 whether a snapshot can be restored. Does not start a container.",
        ),
        Operation::Label => Contract::of::<LabelRequest, Summary>("Changes the label of a snapshot."),
        Operation::Pin => {
            Contract::of::<Selection, Summary>("Pins a snapshot, so that the retention policy never removes it.")
        }
        Operation::Unpin => {
            Contract::of::<Selection, Summary>("Unpins a snapshot, so that the retention policy applies to it again.")
        }
        Operation::Delete => Contract::of::<DeleteRequest, Deletion>(
            "Deletes a snapshot. A snapshot that is pinned or has dependents is deleted only with `force: true`.",
        ),
        Operation::Import => Contract::of::<ImportRequest, TakenSnapshot>(
            "Imports a backup that the SDK created directly, as a snapshot.",
        ),
        Operation::Lineage => Contract::of::<LineageRequest, Tree>(
            "Returns the tree of sandboxes and snapshots that a sandbox belongs to.",
        ),
        Operation::Retention => Contract::of::<SandboxRequest, Retention>(
            "Returns the retention policy of a sandbox, and its current effect on each snapshot.",
        ),
        Operation::SetRetention => Contract::of::<SetRetentionRequest, Retention>(
            "Sets the retention policy of a sandbox, and applies it at once.",
        ),
        Operation::ApplyRetention => Contract::of::<ApplyRetentionRequest, Retention>(
            "Removes the snapshots that the retention policy no longer keeps.",
        ),
        Operation::RotateKey => Contract::of::<SandboxRequest, KeyRotation>(
            "Creates a new key that signs the refs of a sandbox. Refs that the previous key signed stay valid.",
        ),
        Operation::Sweep => Contract::of::<SweepRequest, Sweep>(
            "Deletes the backups in R2 that carry the snapshotter's mark and that no ledger lists.",
        ),
        Operation::CreateWorkspace => Contract::of::<CreateRequest, StartedWorkspace>(
            "Creates a workspace. Fails with `NAME_TAKEN` if the name is in use.",
        ),
        Operation::GetOrCreateWorkspace => Contract::of::<GetOrCreateRequest, StartedWorkspace>(
            "Starts a workspace, or creates it if it does not exist. If it exists, only its fingerprint is changed.",
        ),
        Operation::GetWorkspaceByName => {
            Contract::of::<Address, WorkspaceDescription>("Returns the description of a workspace. Does not start it.")
        }
        Operation::ListWorkspaces => Contract::of::<ListWorkspacesRequest, WorkspacePage>(
            "Lists the workspaces of a tenant, sorted by name. The list may not contain the latest changes yet.",
        ),
        Operation::StartWorkspace => Contract::of::<StartRequest, StartedWorkspace>(
            "Starts a workspace: a sandbox runs with the workspace's files in place.",
        ),
        Operation::StopWorkspace => Contract::of::<Address, StoppedWorkspace>(
            "Takes a snapshot if the workspace is persistent, and destroys the sandbox.",
        ),
        Operation::ForkWorkspace => Contract::of::<ForkRequest, ForkedWorkspaces<StartedWorkspace>>(
            "Creates workspaces from the present files of this workspace, all from one snapshot.",
        ),
        Operation::UpdateWorkspace => Contract::of::<UpdateRequest, WorkspaceDescription>(
            "Changes the settings of a workspace, or restores an earlier snapshot in a new sandbox.",
        ),
        Operation::DeleteWorkspace => Contract::of::<Address, DeletedWorkspace>(
            "Deletes a workspace and its snapshots, and frees its name. Snapshots that are pinned or have dependents are kept.",
        ),
        Operation::CreateCheckpoint => Contract::of::<CreateCheckpointRequest, CreatedCheckpoint>(
            "Records the files of a running sandbox as a checkpoint in the sandbox.",
        ),
        Operation::ListCheckpoints => Contract::of::<ListCheckpointsRequest, Checkpoints>(
            "Lists the checkpoints in a running sandbox, newest first.",
        ),
        Operation::RestoreCheckpoint => Contract::of::<RestoreCheckpointRequest, RestoredCheckpoint>(
            "Restores the files of a running sandbox to a checkpoint.",
        ),
        Operation::DiffCheckpoint => Contract::of::<DiffCheckpointRequest, CheckpointDiff>(
            "Compares the files of a running sandbox with a checkpoint.",
        ),
        Operation::ListTools => {
            Contract::of::<Toolset, Tools>("Returns the definitions of tools for a language model.")
        }
        Operation::CallTool => {
            Contract::of::<CallToolRequest, ToolResult>("Calls a tool with the arguments that a language model passed.")
        }
        Operation::GrantTools => Contract::of::<GrantRequest, ToolGrant>(
            "Creates a token for `/mcp` that permits some tools and nothing else.",
        ),
        Operation::Health => Contract::of::<HealthRequest, Health>(
            "Checks the configuration of the deployment, and whether the bucket and the list of workspaces respond.",
        ),
    }
}

/// The schemas of one operation.
pub(super) struct OperationSchema {
    pub operation: Operation,
    /// The description of the operation, in sentences.
    pub summary: &'static str,
    pub options: Schema,
    pub answer: Schema,
}

/// The schemas of all operations.
pub(super) struct Schemas {
    pub operations: Vec<OperationSchema>,
    /// The body of an error.
    pub error: Schema,
    /// The types that the schemas refer to.
    pub types: Map<String, Value>,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let mut input_generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
        let mut output_generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let schema_of = |operation: &Operation| {
            let Contract { summary, options, answer } = contract(*operation);
            let mut options = options(&mut input_generator);
            // Set here and not in the types, because some types extend others.
            options.insert("unevaluatedProperties".into(), json!(false));
            OperationSchema { operation: *operation, summary, options, answer: answer(&mut output_generator) }
        };
        let operations = Operation::ALL.iter().map(schema_of).collect();
        let error = output_generator.subschema_for::<ErrorBody>();
        add_base_types(&mut input_generator);
        // A type that occurs both as an option and in an answer has the schema of the option, with its optional
        // members.
        let mut types = output_generator.take_definitions(true);
        let mut options = input_generator.take_definitions(true);
        types.values_mut().filter_map(|schema| schema.try_into().ok()).for_each(|schema| normalize(schema, false));
        options.values_mut().filter_map(|schema| schema.try_into().ok()).for_each(|schema| normalize(schema, true));
        types.extend(options);
        Self { operations, error, types }
    }
}

/// Returns the document with the `options` and the `answer` of every operation, the body of an `error`, and the types
/// that they refer to. The document is itself a schema of draft 2020-12, with the types in `$defs`.
pub fn document() -> Value {
    let Schemas { operations, error, types } = Schemas::new();
    let to_json = |OperationSchema { operation, summary, options, answer }: &OperationSchema| json!({ "name": operation.name(), "description": summary, "options": options, "answer": answer });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The operations of sandbox-snapshotter",
        "operations": operations.iter().map(to_json).collect::<Vec<_>>(),
        "error": error,
        "$defs": types,
    })
}

/// Adds the types that others extend and that no operation takes directly.
fn add_base_types(generator: &mut SchemaGenerator) {
    generator.subschema_for::<LineageScope>();
    generator.subschema_for::<CheckpointLocation>();
    generator.subschema_for::<SettingsUpdate>();
    generator.subschema_for::<StartSettings>();
}

/// Normalizes a generated schema. An optional option may also be `null`; an optional member of an answer is present or
/// absent.
fn normalize(schema: &mut Schema, is_input: bool) {
    RecursiveTransform(|schema: &mut Schema| {
        let is_nullable = remove_null(schema);
        // The minimum already expresses that the number is not negative.
        if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
            schema.remove("format");
        }
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
        }
        merge_constants(schema);
        if is_input && is_nullable {
            add_null(schema);
        }
    })
    .transform(schema);
}

/// Adds `null` to the values that a schema permits.
fn add_null(schema: &mut Schema) {
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) => types.push(json!("null")),
        Some(name) => *name = json!([name.take(), "null"]),
        None => {
            let names = ["$ref", "properties", "unevaluatedProperties"];
            let schema_members: Map<_, _> =
                names.iter().filter_map(|name| Some(((*name).to_owned(), schema.remove(*name)?))).collect();
            if !schema_members.is_empty() {
                schema.insert("anyOf".into(), json!([schema_members, { "type": "null" }]));
            }
        }
    }
}

/// Removes `null` from the values that a schema permits. Returns whether it was permitted.
fn remove_null(schema: &mut Schema) -> bool {
    let null = json!("null");
    let mut was_nullable = schema.remove(NULLABLE).is_some();
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        was_nullable |= types.contains(&null);
        types.retain(|name| *name != null);
        if let [name] = types.as_slice() {
            let name = name.clone();
            schema.insert("type".into(), name);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(forms)) = schema.get("anyOf")
        && let [Value::Object(form), other] = forms.as_slice()
        && other.get("type") == Some(&null)
    {
        let form = form.clone();
        was_nullable = true;
        schema.remove("anyOf");
        for (keyword, value) in form {
            schema.ensure_object().entry(keyword).or_insert(value);
        }
    }
    was_nullable
}

/// Converts a `oneOf` of constants to an `enum`, with the meaning of each constant in the description.
fn merge_constants(schema: &mut Schema) {
    let Some(Value::Array(forms)) = schema.get("oneOf") else { return };
    let Some(values) = forms.iter().map(|form| form.get("const").cloned()).collect::<Option<Vec<_>>>() else { return };
    let meaning = |form: &Value| {
        let (value, meaning) = (form.get("const")?.as_str()?, form.get("description")?.as_str()?);
        Some(format!("\n- `{value}`: {}", meaning.replace('\n', " ")))
    };
    let meanings: String = forms.iter().filter_map(meaning).collect();
    if values.len() > 1
        && let Some(Value::String(description)) = schema.get_mut("description")
    {
        description.push('\n');
        description.push_str(&meanings);
    }
    schema.remove("oneOf");
    schema.insert("type".into(), json!("string"));
    schema.insert("enum".into(), json!(values));
}
