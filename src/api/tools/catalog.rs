//! The catalog of the tools: their names and their definitions.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::model::request::{ListRequest, NameStyle, ToolWorkspace, Toolset};
use crate::model::tool::{ToolAnnotations, ToolDefinition};
use crate::model::{Error, Result, json as text};

/// The definitions of the tools, with all descriptions for models.
const DEFINITIONS: &str = include_str!("definitions.json");

/// The schemas that several tools share.
const SHARED_SCHEMAS: &str = include_str!("shared.json");

/// The argument that names the workspace, for a tool with several workspaces.
pub(super) const WORKSPACE_NAME: &str = "workspaceName";

/// The maximum number of snapshots or checkpoints in a list.
pub(super) const MAX_LIMIT: u64 = ListRequest::MAX_LIMIT as u64;

macro_rules! tools {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal;)+) => {
        /// A tool that a model can call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Tool { $($(#[doc = $doc])+ $name,)+ }

        impl Tool {
            /// All tools, in the order of their definitions.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the name of the tool without the workspace.
            pub const fn op(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

tools! {
    /// Takes a snapshot.
    Snapshot = "snapshot";
    /// Creates a sandbox from a snapshot.
    Restore = "restore";
    /// Creates a sandbox from a snapshot, to try an alternative.
    Branch = "branch";
    /// Lists snapshots.
    List = "list";
    /// Deletes a snapshot.
    Delete = "delete";
    /// Creates a checkpoint.
    CheckpointCreate = "snapshot_create";
    /// Lists checkpoints.
    CheckpointList = "snapshot_list";
    /// Restores a checkpoint.
    CheckpointRestore = "snapshot_restore";
    /// Compares the files with a checkpoint.
    CheckpointDiff = "snapshot_diff";
    /// Runs a command.
    Exec = "exec";
    /// Starts a background command.
    StartCommand = "start_command";
    /// Lists background commands.
    ListCommands = "list_commands";
    /// Reads an output of a background command.
    ReadCommandOutput = "read_command_output";
    /// Ends a background command.
    EndCommand = "end_command";
    /// Reads a file.
    ReadFile = "read_file";
    /// Writes a file.
    WriteFile = "write_file";
    /// Lists the files in a directory.
    ListFiles = "list_files";
}

impl Tool {
    /// Returns whether the tool uses checkpoints.
    pub const fn is_checkpoint_tool(self) -> bool {
        matches!(self, Self::CheckpointCreate | Self::CheckpointList | Self::CheckpointRestore | Self::CheckpointDiff)
    }

    /// Returns whether the tool runs in the sandbox of the workspace. Those that are not about existing background commands
    /// start a workspace that is not running.
    pub const fn works_in_sandbox(self) -> bool {
        self.is_about_commands() || matches!(self, Self::ReadFile | Self::WriteFile | Self::ListFiles)
    }

    const fn is_about_commands(self) -> bool {
        matches!(
            self,
            Self::Exec | Self::StartCommand | Self::ListCommands | Self::ReadCommandOutput | Self::EndCommand
        )
    }

    /// Returns whether the tool changes nothing.
    pub const fn is_read_only(self) -> bool {
        matches!(
            self,
            Self::List
                | Self::CheckpointList
                | Self::CheckpointDiff
                | Self::ListCommands
                | Self::ReadCommandOutput
                | Self::ReadFile
                | Self::ListFiles
        )
    }

    /// Returns whether a workspace has the tool.
    fn is_for(self, declared: &ToolWorkspace) -> bool {
        match self {
            _ if self.works_in_sandbox() => declared.work,
            _ if self.is_checkpoint_tool() => declared.has_checkpoints(),
            Self::Branch => declared.has_branch(),
            _ => declared.snapshot,
        }
    }

    /// Returns the name of the tool in a toolset, for a workspace.
    fn name(self, style: NameStyle, workspace: &str) -> String {
        match style {
            NameStyle::Namespaced => format!("workspace__{workspace}__{}", self.op()),
            NameStyle::Flat if self.is_checkpoint_tool() => self.op().to_owned(),
            NameStyle::Flat => format!("workspace_{}", self.op()),
        }
    }
}

/// A tool as `definitions.json` describes it.
#[derive(Deserialize)]
struct ToolTemplate {
    op: String,
    title: String,
    description: String,
    #[serde(default)]
    also: String,
    input: Map<String, Value>,
    output: Map<String, Value>,
    annotations: Hints,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_field_names)] // The names come from the protocol.
struct Hints {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
}

/// Returns the definitions of the tools of a toolset.
pub fn definitions(toolset: &Toolset) -> Result<Vec<ToolDefinition>> {
    let templates = load_templates()?;
    let is_offered = |tool: &Tool| !toolset.read_only || tool.is_read_only();
    let describe = |tool: &Tool, workspaces: &[&ToolWorkspace]| {
        let template = templates.iter().find(|template| template.op == tool.op()).ok_or_else(Error::internal)?;
        Ok(define(*tool, template, toolset.style, workspaces))
    };
    let mut definitions = Vec::new();
    let groups: Vec<Vec<&ToolWorkspace>> = match toolset.style {
        NameStyle::Namespaced => toolset.workspaces.iter().map(|declared| vec![declared]).collect(),
        NameStyle::Flat => vec![toolset.workspaces.iter().collect()],
    };
    for group in groups {
        for tool in Tool::ALL.iter().filter(|tool| is_offered(tool)) {
            let workspaces: Vec<&ToolWorkspace> =
                group.iter().copied().filter(|declared| tool.is_for(declared)).collect();
            if !workspaces.is_empty() {
                definitions.push(describe(tool, &workspaces)?);
            }
        }
    }
    Ok(definitions)
}

/// Returns the tool with the name `name`, and its workspaces.
///
/// # Errors
/// [`Code::ToolNotFound`] when the toolset has no such tool.
pub fn find_tool<'a>(toolset: &'a Toolset, name: &str) -> Result<(Tool, Vec<&'a ToolWorkspace>)> {
    for tool in Tool::ALL.iter().filter(|tool| !toolset.read_only || tool.is_read_only()) {
        let has_name =
            |declared: &&ToolWorkspace| tool.is_for(declared) && tool.name(toolset.style, &declared.name) == name;
        let workspaces: Vec<&ToolWorkspace> = toolset.workspaces.iter().filter(has_name).collect();
        if !workspaces.is_empty() {
            return Ok((*tool, workspaces));
        }
    }
    Err(Error::tool_not_found(name))
}

/// Returns the tools in `definitions.json`, with the shared schemas inserted.
fn load_templates() -> Result<Vec<ToolTemplate>> {
    let shared: Map<String, Value> = text::from_str(SHARED_SCHEMAS).map_err(|_| Error::internal())?;
    let definitions = shared
        .iter()
        .fold(DEFINITIONS.to_owned(), |text, (name, schema)| text.replace(&format!("\"{name}\""), &schema.to_string()));
    text::from_str(&definitions).map_err(|_| Error::internal())
}

fn define(tool: Tool, template: &ToolTemplate, style: NameStyle, workspaces: &[&ToolWorkspace]) -> ToolDefinition {
    let workspace = workspaces.first().map(|declared| declared.name.as_str()).unwrap_or_default();
    let has_several = workspaces.len() > 1;
    let mut description = template.description.clone();
    if workspaces.iter().all(|declared| declared.snapshot && declared.has_checkpoints()) && !template.also.is_empty() {
        description = format!("{description} {}", template.also);
    }
    let phrase = if has_several { "a workspace".to_owned() } else { format!("the workspace {workspace:?}") };
    description = description.replace("{workspace}", &phrase);
    for other in Tool::ALL {
        description = description.replace(&format!("{{{}}}", other.op()), &other.name(style, workspace));
    }
    let mut input = template.input.clone();
    if has_several {
        let names: Vec<&str> = workspaces.iter().map(|declared| declared.name.as_str()).collect();
        let schema =
            json!({ "type": "string", "enum": names, "description": "The name of the workspace that the tool uses." });
        add_workspace_argument(&mut input, schema);
    }
    let hints = &template.annotations;
    ToolDefinition {
        name: tool.name(style, workspace),
        title: template.title.clone(),
        description,
        input_schema: object_schema(input, true),
        output_schema: object_schema(template.output.clone(), false),
        annotations: ToolAnnotations {
            read_only_hint: hints.read_only_hint,
            destructive_hint: hints.destructive_hint,
            idempotent_hint: hints.idempotent_hint,
            open_world_hint: false,
        },
    }
}

/// Adds the required argument that names the workspace.
fn add_workspace_argument(input: &mut Map<String, Value>, schema: Value) {
    if let Some(Value::Object(properties)) = input.get_mut("properties") {
        properties.insert(WORKSPACE_NAME.to_owned(), schema);
    }
    if let Some(Value::Array(required)) = input.get_mut("required") {
        required.push(WORKSPACE_NAME.into());
    }
}

/// Completes the schema of an object. `closed` refuses unknown members: arguments are closed, and answers may get more
/// members later.
fn object_schema(mut schema: Map<String, Value>, closed: bool) -> Map<String, Value> {
    schema.insert("type".to_owned(), "object".into());
    if closed {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    schema
}
