//! The arguments that language models pass to tools.

use serde_json::Value;

use super::fields::Fields;
use crate::model::{Error, Result, WorkspaceRef};

/// The arguments that a model passes to a tool. Each tool takes some of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolArguments {
    /// The name of the workspace, if the toolset has several.
    pub workspace_name: Option<String>,
    /// A workspace that was created from the snapshots of the tool's workspace, to use in its place.
    pub workspace: Option<WorkspaceRef>,
    /// The ref of a snapshot.
    pub r#ref: Option<Value>,
    /// The label of a snapshot.
    pub label: Option<String>,
    /// The number of snapshots.
    pub limit: Option<u64>,
    /// The name of a checkpoint.
    pub name: Option<String>,
    /// The description of a checkpoint.
    pub description: Option<String>,
    /// The maximum length of a diff, in bytes.
    pub max_bytes: Option<u64>,
    /// A command line.
    pub command: Option<String>,
    /// The working directory of a command.
    pub cwd: Option<String>,
    /// The standard input of a command.
    pub stdin: Option<String>,
    /// The time limit of a command, in seconds.
    pub timeout_seconds: Option<u64>,
    /// The id of a background command.
    pub command_id: Option<String>,
    /// The output of a background command.
    pub stream: Option<String>,
    /// How long to wait for the output of a background command, in seconds.
    pub wait_seconds: Option<u64>,
    /// The signal that ends a background command.
    pub kill_signal: Option<String>,
    /// The path of a file.
    pub path: Option<String>,
    /// The offset of the first byte of a file or an output.
    pub offset: Option<u64>,
    /// The maximum number of bytes of a file or an output.
    pub length: Option<u64>,
    /// The content of a file.
    pub content: Option<String>,
    /// The etag that a file must have.
    pub if_match: Option<String>,
    /// The cursor of the previous list of files.
    pub cursor: Option<String>,
}

impl ToolArguments {
    /// Decodes the arguments named in `accepted`, and refuses all others. Accepts objects that are written as JSON
    /// text, because some models do so.
    pub fn decode(value: &Value, accepted: &[&str]) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let mut arguments = Self::default();
        for field in accepted {
            match *field {
                "workspaceName" => arguments.workspace_name = fields.string(field)?,
                "workspace" => arguments.workspace = fields.value(field).map(parse_workspace).transpose()?,
                "ref" => arguments.r#ref = fields.value(field).map(parse_if_text),
                "shortRef" => drop(fields.string(field)?),
                "label" => arguments.label = fields.string(field)?,
                "limit" => arguments.limit = fields.number(field)?,
                "name" => arguments.name = fields.string(field)?,
                "description" => arguments.description = fields.string(field)?,
                "command" => arguments.command = fields.string(field)?,
                "cwd" => arguments.cwd = fields.string(field)?,
                "stdin" => arguments.stdin = fields.string(field)?,
                "timeoutSeconds" => arguments.timeout_seconds = fields.number(field)?,
                "commandId" => arguments.command_id = fields.string(field)?,
                "stream" => arguments.stream = fields.string(field)?,
                "waitSeconds" => arguments.wait_seconds = fields.number(field)?,
                "killSignal" => arguments.kill_signal = fields.string(field)?,
                "path" => arguments.path = fields.string(field)?,
                "offset" => arguments.offset = fields.number(field)?,
                "length" => arguments.length = fields.number(field)?,
                "content" => arguments.content = fields.string(field)?,
                "ifMatch" => arguments.if_match = fields.string(field)?,
                "cursor" => arguments.cursor = fields.string(field)?,
                "maxBytes" => arguments.max_bytes = fields.number(field)?,
                _ => return Err(Error::internal()),
            }
        }
        fields.finish()?;
        Ok(arguments)
    }
}

fn parse_workspace(value: Value) -> Result<WorkspaceRef> {
    WorkspaceRef::decode(&parse_if_text(value))
}

fn parse_if_text(value: Value) -> Value {
    let parsed = value.as_str().and_then(|text| crate::model::json::from_str::<Value>(text).ok());
    parsed.filter(Value::is_object).unwrap_or(value)
}
