//! Which tools there are, and how they are described.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::model::ids::quoted;
use crate::model::request::{Declared, Style, Toolset};
use crate::model::tool::{ToolAnnotations, ToolDefinition};
use crate::model::{Code, Error, Result, json as text};

/// The tools, with the words for models: the one place to better them.
const DEFINITIONS: &str = include_str!("definitions.json");

/// Schemas that several tools have in common.
const SHARED: &str = include_str!("shared.json");

/// The argument that names a workspace, of a tool that is for several.
pub(super) const WORKSPACE_NAME: &str = "workspaceName";

macro_rules! tools {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal;)+) => {
        /// Something that a model can ask for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Tool { $($(#[doc = $doc])+ $name,)+ }

        impl Tool {
            /// All of them, in the order in which they are offered.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// What it is called by, apart from the workspace.
            pub const fn op(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

tools! {
    /// Takes a snapshot.
    Snapshot = "snapshot";
    /// Makes a new sandbox from one.
    Restore = "restore";
    /// The same, to go another way.
    Branch = "branch";
    /// Lists snapshots.
    List = "list";
    /// Deletes one.
    Delete = "delete";
    /// Makes a checkpoint.
    SnapshotCreate = "snapshot_create";
    /// Lists checkpoints.
    SnapshotList = "snapshot_list";
    /// Goes back to one.
    SnapshotRestore = "snapshot_restore";
    /// Compares the files with one.
    SnapshotDiff = "snapshot_diff";
}

impl Tool {
    /// Whether it is about checkpoints.
    pub const fn is_of_checkpoints(self) -> bool {
        matches!(self, Self::SnapshotCreate | Self::SnapshotList | Self::SnapshotRestore | Self::SnapshotDiff)
    }

    /// Whether it changes nothing.
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::List | Self::SnapshotList | Self::SnapshotDiff)
    }

    /// Whether a workspace has it.
    fn is_for(self, declared: &Declared) -> bool {
        if self.is_of_checkpoints() { declared.has_checkpoints() } else { declared.snapshot }
    }

    /// What it is called in a toolset, for a workspace.
    fn name(self, style: Style, workspace: &str) -> String {
        match style {
            Style::Namespaced => format!("workspace__{workspace}__{}", self.op()),
            Style::Flat if self.is_of_checkpoints() => self.op().to_owned(),
            Style::Flat => format!("workspace_{}", self.op()),
        }
    }
}

/// A tool as `definitions.json` has it.
#[derive(Deserialize)]
struct Described {
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
#[allow(clippy::struct_field_names)] // Those of the protocol.
struct Hints {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
}

/// The tools of a toolset.
pub fn definitions(toolset: &Toolset) -> Result<Vec<ToolDefinition>> {
    let described = described()?;
    let offered = |tool: &Tool| !toolset.read_only || tool.is_read_only();
    let describe = |tool: &Tool, those: &[&Declared]| {
        let described = described.iter().find(|described| described.op == tool.op()).ok_or_else(Error::defect)?;
        Ok(define(*tool, described, toolset.style, those))
    };
    let mut definitions = Vec::new();
    let groups: Vec<Vec<&Declared>> = match toolset.style {
        Style::Namespaced => toolset.workspaces.iter().map(|declared| vec![declared]).collect(),
        Style::Flat => vec![toolset.workspaces.iter().collect()],
    };
    for group in groups {
        for tool in Tool::ALL.iter().filter(|tool| offered(tool)) {
            let those: Vec<&Declared> = group.iter().copied().filter(|declared| tool.is_for(declared)).collect();
            if !those.is_empty() {
                definitions.push(describe(tool, &those)?);
            }
        }
    }
    Ok(definitions)
}

/// The tool of a name, and the workspaces that it is for.
///
/// # Errors
/// [`Code::ToolNotFound`].
pub fn find<'a>(toolset: &'a Toolset, name: &str) -> Result<(Tool, Vec<&'a Declared>)> {
    for tool in Tool::ALL.iter().filter(|tool| !toolset.read_only || tool.is_read_only()) {
        let is_called =
            |declared: &&Declared| tool.is_for(declared) && tool.name(toolset.style, &declared.name) == name;
        let those: Vec<&Declared> = toolset.workspaces.iter().filter(is_called).collect();
        if !those.is_empty() {
            return Ok((*tool, those));
        }
    }
    Err(Error::new(
        Code::ToolNotFound,
        format!("There is no tool {} for these workspaces", quoted(name)),
        "Use one of those that the list of tools has, by exactly its name.",
    ))
}

/// What is in `definitions.json`, with the shared schemas in their places.
fn described() -> Result<Vec<Described>> {
    let shared: Map<String, Value> = text::parse(SHARED).map_err(|_| Error::defect())?;
    let whole = shared
        .iter()
        .fold(DEFINITIONS.to_owned(), |text, (name, schema)| text.replace(&format!("\"{name}\""), &schema.to_string()));
    text::parse(&whole).map_err(|_| Error::defect())
}

fn define(tool: Tool, described: &Described, style: Style, those: &[&Declared]) -> ToolDefinition {
    let workspace = those.first().map(|declared| declared.name.as_str()).unwrap_or_default();
    let several = those.len() > 1;
    let mut description = described.description.clone();
    if those.iter().all(|declared| declared.snapshot && declared.has_checkpoints()) && !described.also.is_empty() {
        description = format!("{description} {}", described.also);
    }
    let called = if several { "a workspace".to_owned() } else { format!("the workspace {workspace:?}") };
    description = description.replace("{workspace}", &called);
    for other in Tool::ALL {
        description = description.replace(&format!("{{{}}}", other.op()), &other.name(style, workspace));
    }
    let mut input = described.input.clone();
    if several {
        let names: Vec<&str> = those.iter().map(|declared| declared.name.as_str()).collect();
        let which = json!({ "type": "string", "enum": names, "description": "The workspace that is meant." });
        add(&mut input, which);
    }
    let hints = &described.annotations;
    ToolDefinition {
        name: tool.name(style, workspace),
        title: described.title.clone(),
        description,
        input_schema: object(input, true),
        output_schema: object(described.output.clone(), false),
        annotations: ToolAnnotations {
            read_only_hint: hints.read_only_hint,
            destructive_hint: hints.destructive_hint,
            idempotent_hint: hints.idempotent_hint,
            open_world_hint: false,
        },
    }
}

/// Adds the argument that names the workspace, which must be given.
fn add(input: &mut Map<String, Value>, which: Value) {
    if let Some(Value::Object(properties)) = input.get_mut("properties") {
        properties.insert(WORKSPACE_NAME.to_owned(), which);
    }
    if let Some(Value::Array(required)) = input.get_mut("required") {
        required.push(WORKSPACE_NAME.into());
    }
}

/// The schema of an object. Arguments that are not in it are refused; in answers there may be more one day.
fn object(mut schema: Map<String, Value>, closed: bool) -> Map<String, Value> {
    schema.insert("type".to_owned(), "object".into());
    if closed {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    schema
}
