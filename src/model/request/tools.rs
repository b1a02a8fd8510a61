//! Requests about tools for language models.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use serde_json::json;
use serde_json::{Map, Value};

#[cfg(feature = "schema")]
use super::MAX_KEY;
use super::fields::Fields;
use super::{idempotency_key, invalid};
use crate::model::ids::quoted;
use crate::model::named::{Address, Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, extends, needs, nullable};
use crate::model::{Code, Directory, Error, Result, SandboxId, WorkspaceRef};

/// The longest name of a tool that models take.
const MAX_TOOL_NAME: usize = 64;

/// What the longest tool is called, apart from its workspace: `workspace____snapshot_restore`.
const AROUND_NAME: usize = 29;

/// The most workspaces that one set of tools can be for.
const MAX_WORKSPACES: usize = 16;

/// Which tools there are: those for some workspaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!deny_unknown_fields, transform = nullable, transform = short_names))]
pub struct Toolset {
    /// The workspaces; at least one of them has tools.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_WORKSPACES), transform = has_tools))]
    pub workspaces: Vec<Declared>,
    /// How the tools are called.
    #[serde(default)]
    pub style: Style,
    /// Whether there are only tools that change nothing.
    #[serde(default)]
    pub read_only: bool,
}

/// How tools are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Style {
    /// `workspace__<name>__<op>`: for each workspace tools of its own.
    #[default]
    Namespaced,
    /// `workspace_<op>`, and `snapshot_<op>` for checkpoints: tools for all workspaces, which take the name as an argument
    /// where there is more than one.
    Flat,
}

/// A workspace that tools are for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ToolWorkspace", transform = one_ground))]
pub struct Declared {
    /// What the model knows it by: 1–35 letters, digits, `_` and `-`; up to 64 in the flat style.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$")))]
    pub name: String,
    /// Whether there are tools for snapshots.
    #[serde(default)]
    pub snapshot: bool,
    /// Whether there are tools for checkpoints; as `snapshot` where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<bool>,
    /// The sandbox that it is; where absent, it is the workspace that persists by a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<SandboxId>,
    /// The directory that is captured, of a sandbox; the deployment's default where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<Directory>,
    /// The name by which it persists; `name` where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceName>,
    /// Whose it is; the default tenant's where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Tenant>,
    /// Whether the tools reach every sandbox and snapshot of this deployment, and not only the workspace and what was made
    /// from it.
    #[serde(default)]
    pub allow_cross_session: bool,
}

/// That at least one of the workspaces has tools.
#[cfg(feature = "schema")]
fn has_tools(schema: &mut schemars::Schema) {
    let has = |kind: &str| json!({ "properties": { kind: { "const": true } }, "required": [kind] });
    schema.insert("contains".into(), json!({ "anyOf": [has("snapshot"), has("checkpoint")] }));
}

/// That names are short where the name of a tool has the operation beside them.
#[cfg(feature = "schema")]
fn short_names(schema: &mut schemars::Schema) {
    let name = json!({ "properties": { "name": { "maxLength": MAX_TOOL_NAME - AROUND_NAME } } });
    schema.insert("if".into(), json!({ "properties": { "style": { "const": "flat" } }, "required": ["style"] }));
    schema.insert("else".into(), json!({ "properties": { "workspaces": { "items": name } } }));
}

/// That it is either a sandbox or a workspace that persists by name, which may be its own.
#[cfg(feature = "schema")]
fn one_ground(schema: &mut schemars::Schema) {
    let none = || json!({ "type": "null" });
    let text = || json!({ "type": "string" });
    let own_name = json!({ "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$" });
    let grounds = json!([
        { "properties": { "sandboxId": text(), "workspace": none(), "tenant": none() }, "required": ["sandboxId"] },
        { "properties": { "sandboxId": none(), "dir": none(), "workspace": text() }, "required": ["workspace"] },
        { "properties": { "sandboxId": none(), "dir": none(), "workspace": none(), "name": own_name } },
    ]);
    schema.insert("anyOf".into(), grounds);
}

/// What a declared workspace is.
#[derive(Clone, Debug, PartialEq)]
pub enum Ground {
    /// A sandbox, and the directory of it.
    Sandbox(SandboxId, Option<Directory>),
    /// A workspace that persists by name.
    Named(Address),
}

impl Toolset {
    /// Decodes `{workspaces: [{name, snapshot?, checkpoint?, sandboxId? | workspace?, dir?, tenant?, allowCrossSession?}],
    /// style?, readOnly?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let toolset = Self::take(&mut fields)?;
        fields.end()?;
        Ok(toolset)
    }

    fn take(fields: &mut Fields) -> Result<Self> {
        let mut given = Map::new();
        for field in ["workspaces", "style", "readOnly"] {
            if let Some(value) = fields.value(field) {
                given.insert(field.to_owned(), value);
            }
        }
        let toolset: Self = crate::model::json::read(&Value::Object(given)).map_err(|why| {
            invalid(
                &format!("The tools can't be read: {why}"),
                "Give `workspaces`, a list of {name, snapshot: true} with the `sandboxId` of each, unless it persists by its name.",
            )
        })?;
        toolset.check()?;
        Ok(toolset)
    }

    /// Whether there are tools that can't be without the bucket.
    pub fn needs_bucket(&self) -> bool {
        self.workspaces.iter().any(|declared| declared.snapshot)
    }

    /// Checks what the types don't.
    pub fn check(&self) -> Result<()> {
        if self.workspaces.is_empty() || self.workspaces.len() > MAX_WORKSPACES {
            return Err(invalid(
                &format!("`workspaces` has {} of them", self.workspaces.len()),
                &format!("Declare 1 to {MAX_WORKSPACES} workspaces."),
            ));
        }
        if !self.workspaces.iter().any(|declared| declared.snapshot || declared.has_checkpoints()) {
            return Err(invalid(
                "None of the `workspaces` has tools",
                "Declare `snapshot: true`, or `checkpoint: true`, for those that tools are for.",
            ));
        }
        for (index, declared) in self.workspaces.iter().enumerate() {
            declared.check(index, self.style)?;
            let is_twice = self.workspaces.iter().take(index).any(|other| other.name == declared.name);
            if is_twice {
                return Err(invalid(
                    &format!("`workspaces[{index}].name` is {}, as another one's is", quoted(&declared.name)),
                    "Give each workspace a name of its own.",
                ));
            }
        }
        Ok(())
    }
}

impl Declared {
    /// A name for something that is called `text`: what can't be in the name of a tool is `-`, and what is too long is cut.
    pub fn name_of(text: &str, is_flat: bool) -> String {
        let longest = if is_flat { MAX_TOOL_NAME } else { MAX_TOOL_NAME - AROUND_NAME };
        let allowed = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' };
        text.chars().map(allowed).take(longest).collect()
    }

    /// Whether there are tools for checkpoints.
    pub fn has_checkpoints(&self) -> bool {
        self.checkpoint.unwrap_or(self.snapshot)
    }

    /// What it is.
    pub fn ground(&self) -> Result<Ground> {
        if let Some(id) = &self.sandbox_id {
            return Ok(Ground::Sandbox(id.clone(), self.dir.clone()));
        }
        let name = match &self.workspace {
            Some(name) => name.clone(),
            None => WorkspaceName::parse(&self.name)?,
        };
        let tenant = self.tenant.clone().unwrap_or_else(Tenant::fallback);
        Ok(Ground::Named(Address { tenant, name }))
    }

    fn check(&self, index: usize, style: Style) -> Result<()> {
        let longest = match style {
            Style::Namespaced => MAX_TOOL_NAME - AROUND_NAME,
            Style::Flat => MAX_TOOL_NAME,
        };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if self.name.is_empty() || self.name.len() > longest || !self.name.bytes().all(is_allowed) {
            return Err(invalid(
                &format!("`workspaces[{index}].name` is {}, which can't be in the name of a tool", quoted(&self.name)),
                &format!(
                    "Give 1 to {longest} letters, digits, `_` or `-`, and the name of what it is as `sandboxId` or `workspace`."
                ),
            ));
        }
        let of_sandbox = self.dir.is_some();
        let of_name = self.workspace.is_some() || self.tenant.is_some();
        if (self.sandbox_id.is_some() && of_name) || (self.sandbox_id.is_none() && of_sandbox) {
            return Err(invalid(
                &format!("`workspaces[{index}]` is not either a sandbox or a workspace that persists by name"),
                "Give `sandboxId` and perhaps `dir`, or else perhaps `workspace` and `tenant`.",
            ));
        }
        self.ground().map(drop)
    }
}

/// A tool to be called.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "CallToolOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["name"]), transform = extends("Toolset"))
)]
pub struct CallToolRequest {
    /// Which tools there are.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub toolset: Toolset,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as the model gave them.
    #[cfg_attr(feature = "schema", schemars(with = "Value"))]
    pub arguments: Value,
    /// A key by which the same call can be made again, and takes the same snapshot, or answers the same new workspace.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY), regex(pattern = NO_CONTROL)))]
    pub idempotency_key: Option<String>,
}

impl CallToolRequest {
    /// Decodes a [`Toolset`] with `name`, `arguments?` and `idempotencyKey?`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let toolset = Toolset::take(&mut fields)?;
        let (name, arguments) = (fields.required("name")?, fields.value("arguments"));
        let key = fields.text("idempotencyKey")?;
        fields.end()?;
        let arguments = arguments.unwrap_or_else(|| Value::Object(Map::new()));
        Ok(Self { toolset, name, arguments, idempotency_key: idempotency_key(key)? })
    }
}

/// A token to be made, for who may use some tools over MCP.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "GrantToolsOptions", rename_all = "camelCase"),
    schemars(transform = needs(&[]), transform = extends("Toolset"))
)]
pub struct GrantRequest {
    /// Which tools.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub toolset: Toolset,
    /// For how long, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_EXPIRATION), extend("default" = Self::EXPIRATION)))]
    pub expiration_seconds: u64,
}

impl GrantRequest {
    /// For how long, where the caller does not say: a day.
    pub const EXPIRATION: u64 = 24 * 3600;
    /// For how long at most: 30 days.
    pub const MAX_EXPIRATION: u64 = 30 * 24 * 3600;

    /// Decodes a [`Toolset`] with `expirationSeconds?`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let toolset = Toolset::take(&mut fields)?;
        let expiration_seconds = fields.number("expirationSeconds")?.unwrap_or(Self::EXPIRATION);
        fields.end()?;
        if !(1..=Self::MAX_EXPIRATION).contains(&expiration_seconds) {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("`expirationSeconds` is {expiration_seconds}"),
                format!("Give 1 to {} seconds.", Self::MAX_EXPIRATION),
            ));
        }
        Ok(Self { toolset, expiration_seconds })
    }
}

/// What a model gives to a tool. Each tool takes some of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolArguments {
    /// Which workspace is meant, of several, by its name.
    pub workspace_name: Option<String>,
    /// Another workspace than the one that the tool is for: one that was made from its snapshots.
    pub workspace: Option<WorkspaceRef>,
    /// The ref of a snapshot.
    pub r#ref: Option<Value>,
    /// The label of a snapshot.
    pub label: Option<String>,
    /// How many snapshots.
    pub limit: Option<u64>,
    /// The name of a checkpoint.
    pub name: Option<String>,
    /// What a checkpoint is of.
    pub description: Option<String>,
    /// How long a diff may be.
    pub max_bytes: Option<u64>,
}

impl ToolArguments {
    /// Decodes those of the arguments that are `taken`. Models write objects as text now and then, which is as good.
    pub fn decode(value: &Value, taken: &[&str]) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let mut arguments = Self::default();
        for field in taken {
            match *field {
                "workspaceName" => arguments.workspace_name = fields.text(field)?,
                "workspace" => arguments.workspace = fields.value(field).map(workspace).transpose()?,
                "ref" => arguments.r#ref = fields.value(field).map(written_as_text),
                "label" => arguments.label = fields.text(field)?,
                "limit" => arguments.limit = fields.number(field)?,
                "name" => arguments.name = fields.text(field)?,
                "description" => arguments.description = fields.text(field)?,
                "maxBytes" => arguments.max_bytes = fields.number(field)?,
                _ => return Err(Error::defect()),
            }
        }
        fields.end()?;
        Ok(arguments)
    }
}

fn workspace(value: Value) -> Result<WorkspaceRef> {
    WorkspaceRef::decode(&written_as_text(value))
}

fn written_as_text(value: Value) -> Value {
    let read = value.as_str().and_then(|text| crate::model::json::parse::<Value>(text).ok());
    read.filter(Value::is_object).unwrap_or(value)
}
