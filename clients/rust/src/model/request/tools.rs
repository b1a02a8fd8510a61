//! The requests of operations on tools for language models.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use serde_json::json;
use serde_json::{Map, Value};

#[cfg(feature = "schema")]
use super::MAX_KEY_CHARS;
use super::declare::{Content, Field, decode, request};
use super::fields::Fields;
use super::{check_key, check_range};
use crate::model::ids::quoted;
use crate::model::named::{Address, Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, extends, needs, nullable};
use crate::model::{Directory, Error, Result, SandboxId};

/// The maximum length of a tool name that models accept.
const MAX_TOOL_NAME: usize = 64;

/// The length of the longest tool name without its workspace name: `workspace____snapshot_restore`.
const TOOL_NAME_OVERHEAD: usize = 29;

/// The maximum number of workspaces in one toolset.
const MAX_WORKSPACES: usize = 16;

/// A set of tools: the tools for some workspaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!deny_unknown_fields, transform = nullable, transform = limit_name_length))]
pub struct Toolset {
    /// The workspaces. At least one of them must have tools.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_WORKSPACES), transform = require_tools))]
    pub workspaces: Vec<ToolWorkspace>,
    /// The style of the tool names.
    #[serde(default)]
    pub style: NameStyle,
    /// Whether the set contains only tools that change nothing.
    #[serde(default)]
    pub read_only: bool,
}

/// The style of tool names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum NameStyle {
    /// `workspace__<name>__<op>`: each workspace has its own tools.
    #[default]
    Namespaced,
    /// `workspace_<op>`, and `snapshot_<op>` for checkpoints: all workspaces share the tools. If there is more than one
    /// workspace, the tools take its name as an argument.
    Flat,
}

/// A workspace in a toolset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ToolWorkspace", transform = require_one_target))]
pub struct ToolWorkspace {
    /// The name that the model uses for the workspace: 1–35 letters, digits, `_` and `-`; up to 64 in the flat style.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$")))]
    pub name: String,
    /// Whether the workspace has tools for snapshots.
    #[serde(default)]
    pub snapshot: bool,
    /// Whether the workspace has tools for checkpoints; the value of `snapshot` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<bool>,
    /// Whether the workspace has the tool `branch`, if it has tools for snapshots; true if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<bool>,
    /// Whether the workspace has tools that run commands, and read and write files. Commands can read and change everything
    /// in the sandbox, and also read the environment variables of the workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub work: bool,
    /// The id of the sandbox. If absent, the workspace is a named workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<SandboxId>,
    /// The directory to capture, for a sandbox only; the deployment's default directory if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<Directory>,
    /// The name of the named workspace; the value of `name` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceName>,
    /// The tenant of the named workspace; the default tenant if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Tenant>,
    /// Whether the tools may use every sandbox and snapshot of this deployment. Otherwise they may use only the
    /// workspace and the sandboxes and snapshots that were created from it.
    #[serde(default)]
    #[serde(alias = "allowCrossSession")]
    pub allow_cross_lineage: bool,
}

/// Requires that at least one of the workspaces has tools.
#[cfg(feature = "schema")]
fn require_tools(schema: &mut schemars::Schema) {
    let has = |kind: &str| json!({ "properties": { kind: { "const": true } }, "required": [kind] });
    schema.insert("contains".into(), json!({ "anyOf": [has("snapshot"), has("checkpoint"), has("work")] }));
}

/// Limits the workspace names in the namespaced style, where the tool name contains the workspace name and the
/// operation.
#[cfg(feature = "schema")]
fn limit_name_length(schema: &mut schemars::Schema) {
    let name = json!({ "properties": { "name": { "maxLength": MAX_TOOL_NAME - TOOL_NAME_OVERHEAD } } });
    schema.insert("if".into(), json!({ "properties": { "style": { "const": "flat" } }, "required": ["style"] }));
    schema.insert("else".into(), json!({ "properties": { "workspaces": { "items": name } } }));
}

/// Requires that the workspace is either a sandbox or a named workspace, whose name defaults to `name`.
#[cfg(feature = "schema")]
fn require_one_target(schema: &mut schemars::Schema) {
    let none = || json!({ "type": "null" });
    let text = || json!({ "type": "string" });
    let own_name = json!({ "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$" });
    let targets = json!([
        { "properties": { "sandboxId": text(), "workspace": none(), "tenant": none() }, "required": ["sandboxId"] },
        { "properties": { "sandboxId": none(), "dir": none(), "workspace": text() }, "required": ["workspace"] },
        { "properties": { "sandboxId": none(), "dir": none(), "workspace": none(), "name": own_name } },
    ]);
    schema.insert("anyOf".into(), targets);
}

/// The target of a declared workspace.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolTarget {
    /// A sandbox, and the directory in it.
    Sandbox(SandboxId, Option<Directory>),
    /// A named workspace.
    Named(Address),
}

impl Toolset {
    /// Decodes `{workspaces: [{name, snapshot?, checkpoint?, branch?, work?, sandboxId? | workspace?, dir?, tenant?,
    /// allowCrossLineage?}], style?, readOnly?}`.
    pub fn decode(options: &Value) -> Result<Self> {
        decode(options)
    }

    /// Returns whether the set has tools that need the R2 bucket.
    pub fn needs_bucket(&self) -> bool {
        self.workspaces.iter().any(|declared| declared.snapshot)
    }

    /// Verifies the rules that the types do not enforce.
    pub fn check(&self) -> Result<()> {
        if self.workspaces.is_empty() || self.workspaces.len() > MAX_WORKSPACES {
            return Err(Error::invalid_argument(
                format!("`workspaces` must have 1–{MAX_WORKSPACES} items, got {}", self.workspaces.len()),
                format!("Declare 1 to {MAX_WORKSPACES} workspaces."),
            ));
        }
        if !self.workspaces.iter().any(ToolWorkspace::has_tools) {
            return Err(Error::invalid_argument(
                "None of the `workspaces` has tools",
                "Declare `snapshot: true`, `checkpoint: true` or `work: true` for at least one of them.",
            ));
        }
        for (index, declared) in self.workspaces.iter().enumerate() {
            declared.check(index, self.style)?;
            let is_duplicate = self.workspaces.iter().take(index).any(|other| other.name == declared.name);
            if is_duplicate {
                return Err(Error::invalid_argument(
                    format!(
                        "`workspaces[{index}].name` is {}, like the name of another workspace",
                        quoted(&declared.name)
                    ),
                    "Give each workspace a unique name.",
                ));
            }
        }
        Ok(())
    }
}

impl Field for Toolset {
    /// The options that are given.
    type Raw = Map<String, Value>;

    fn take(fields: &mut Fields, _: &str) -> Result<Self::Raw> {
        let mut given = Map::new();
        for field in ["workspaces", "style", "readOnly"] {
            if let Some(value) = fields.value(field) {
                given.insert(field.to_owned(), value);
            }
        }
        Ok(given)
    }
}

impl Content for Toolset {
    fn check(raw: Self::Raw) -> Result<Self> {
        let toolset: Self = crate::model::json::from_value(&Value::Object(raw)).map_err(|why| {
            Error::invalid_argument(
                format!("The tools cannot be read: {why}"),
                "Pass `workspaces`, a list of {name, snapshot: true}, with a `sandboxId` for each one that is not a named workspace.",
            )
        })?;
        toolset.check()?;
        Ok(toolset)
    }
}

impl ToolWorkspace {
    /// Converts `text` to a valid value of [`name`](Self::name): replaces each character that a tool name cannot
    /// contain with `-`, and truncates the result to the maximum length.
    pub fn to_tool_name(text: &str, is_flat: bool) -> String {
        let max_length = if is_flat { MAX_TOOL_NAME } else { MAX_TOOL_NAME - TOOL_NAME_OVERHEAD };
        let to_allowed = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' };
        text.chars().map(to_allowed).take(max_length).collect()
    }

    fn has_tools(&self) -> bool {
        self.snapshot || self.has_checkpoints() || self.work
    }

    /// Returns whether the workspace has tools for checkpoints.
    pub fn has_checkpoints(&self) -> bool {
        self.checkpoint.unwrap_or(self.snapshot)
    }

    /// Returns whether the workspace has the tool that creates a branch.
    pub fn has_branch(&self) -> bool {
        self.snapshot && self.branch.unwrap_or(true)
    }

    /// Returns the target: the sandbox, or the named workspace.
    pub fn target(&self) -> Result<ToolTarget> {
        if let Some(id) = &self.sandbox_id {
            return Ok(ToolTarget::Sandbox(id.clone(), self.dir.clone()));
        }
        let name = match &self.workspace {
            Some(name) => name.clone(),
            None => WorkspaceName::parse(&self.name)?,
        };
        let tenant = self.tenant.clone().unwrap_or_else(Tenant::default_tenant);
        Ok(ToolTarget::Named(Address { tenant, name }))
    }

    fn check(&self, index: usize, style: NameStyle) -> Result<()> {
        let longest = match style {
            NameStyle::Namespaced => MAX_TOOL_NAME - TOOL_NAME_OVERHEAD,
            NameStyle::Flat => MAX_TOOL_NAME,
        };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if self.name.is_empty() || self.name.len() > longest || !self.name.bytes().all(is_allowed) {
            return Err(Error::invalid_argument(
                format!("`workspaces[{index}].name` is {}, which cannot be part of a tool name", quoted(&self.name)),
                format!(
                    "Pass 1 to {longest} letters, digits, `_` or `-`, and the actual id or name as `sandboxId` or `workspace`."
                ),
            ));
        }
        let has_sandbox_fields = self.dir.is_some();
        let has_named_fields = self.workspace.is_some() || self.tenant.is_some();
        if (self.sandbox_id.is_some() && has_named_fields) || (self.sandbox_id.is_none() && has_sandbox_fields) {
            return Err(Error::invalid_argument(
                format!("`workspaces[{index}]` must be either a sandbox or a named workspace"),
                "Pass `sandboxId` and optionally `dir`, or optionally `workspace` and `tenant`.",
            ));
        }
        self.target().map(drop)
    }
}

request! {
    /// The request to call a tool.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "CallToolOptions", transform = needs(&["name"]), transform = extends("Toolset"))
    )]
    pub struct CallToolRequest {
        /// The set of tools.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub toolset: Toolset,
        /// The name of the tool.
        pub name: String,
        /// The arguments from the model, unchanged.
        #[cfg_attr(feature = "schema", schemars(with = "Value"))]
        pub arguments: Value = |arguments| Ok(arguments.unwrap_or_else(|| Value::Object(Map::new()))),
        /// An idempotency key: a repeated call with the same key returns the same snapshot or the same new workspace.
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL)))]
        pub idempotency_key: Option<String> = check_key,
    }
}

request! {
    /// The request to create a token that permits the use of some tools over MCP.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "GrantToolsOptions", transform = needs(&[]), transform = extends("Toolset"))
    )]
    pub struct GrantRequest {
        /// The tools that the token permits.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub toolset: Toolset,
        /// The lifetime of the token, in seconds.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_EXPIRATION), extend("default" = Self::DEFAULT_EXPIRATION)))]
        pub expiration_seconds: u64 = Self::check_expiration,
    }
}

impl GrantRequest {
    /// The default lifetime, in seconds: one day.
    pub const DEFAULT_EXPIRATION: u64 = 24 * 3600;
    /// The maximum lifetime, in seconds: 30 days.
    pub const MAX_EXPIRATION: u64 = 30 * 24 * 3600;

    fn check_expiration(seconds: Option<u64>) -> Result<u64> {
        let seconds = seconds.unwrap_or(Self::DEFAULT_EXPIRATION);
        check_range("expirationSeconds", seconds, 1..=Self::MAX_EXPIRATION, |most| format!("Pass 1 to {most} seconds."))
    }
}
