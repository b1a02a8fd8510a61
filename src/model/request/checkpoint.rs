//! The requests of operations on the checkpoints in a sandbox.

use serde_json::Value;

use super::fields::Fields;
use super::invalid;
use super::workspace::LineageScope;
use crate::model::checkpoint::{CheckpointCursor, CheckpointDescription, CheckpointName};
#[cfg(feature = "schema")]
use crate::model::schema::{extends, needs};
use crate::model::{Directory, Result, SandboxId};

/// The location of checkpoints: a sandbox and a directory in it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "CheckpointsOptions", rename_all = "camelCase"),
    schemars(transform = extends("LineageScope"))
)]
pub struct CheckpointLocation {
    /// The id of the sandbox.
    pub sandbox_id: SandboxId,
    /// The directory; the deployment's default directory if absent.
    pub dir: Option<Directory>,
    /// The lineage that the caller works in.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub lineage_scope: LineageScope,
}

impl CheckpointLocation {
    /// Decodes `{sandboxId, dir?, lineageScope?, allowCrossLineage?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let location = LocationFields::from_fields(&mut fields)?;
        fields.finish()?;
        location.check()
    }
}

/// The request for a page of the checkpoints in a sandbox.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ListCheckpointsOptions", rename_all = "camelCase"),
    schemars(transform = needs(&[]), transform = extends("CheckpointsOptions"))
)]
pub struct ListCheckpointsRequest {
    /// The sandbox and the directory.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub location: CheckpointLocation,
    /// The cursor of the previous page; the page begins with the newest checkpoint if absent.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub cursor: Option<CheckpointCursor>,
    /// The maximum number of checkpoints on the page. A page with more than 1 MiB of checkpoints ends earlier.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::DEFAULT_LIMIT)))]
    pub limit: u32,
}

impl ListCheckpointsRequest {
    /// The default number of checkpoints on a page.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The maximum number of checkpoints on a page.
    pub const MAX_LIMIT: u32 = 1000;

    /// Returns a request for the newest checkpoints of a location.
    pub const fn of(location: CheckpointLocation) -> Self {
        Self { location, cursor: None, limit: Self::DEFAULT_LIMIT }
    }

    /// Decodes `{sandboxId, cursor?, limit?, dir?, lineageScope?, allowCrossLineage?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let location = LocationFields::from_fields(&mut fields)?;
        let (cursor, limit) = (fields.string("cursor")?, fields.number("limit")?.unwrap_or(Self::DEFAULT_LIMIT.into()));
        fields.finish()?;
        let location = location.check()?;
        let cursor = cursor.as_deref().map(CheckpointCursor::parse).transpose()?;
        let allowed = u32::try_from(limit).ok().filter(|limit| (1..=Self::MAX_LIMIT).contains(limit));
        let limit = allowed.ok_or_else(|| {
            let remediation = format!("Pass 1 to {}, and continue with the cursor of the answer.", Self::MAX_LIMIT);
            invalid(&format!("`limit` must be 1–{}, got {limit}", Self::MAX_LIMIT), &remediation)
        })?;
        Ok(Self { location, cursor, limit })
    }
}

/// The request to create a checkpoint.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "CreateCheckpointOptions", rename_all = "camelCase"),
    schemars(transform = extends("CheckpointsOptions"))
)]
pub struct CreateCheckpointRequest {
    /// The sandbox and the directory.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub location: CheckpointLocation,
    /// The name of the checkpoint.
    pub name: CheckpointName,
    /// A description of the checkpoint; `snapshot: <name>` if absent.
    pub description: Option<CheckpointDescription>,
}

impl CreateCheckpointRequest {
    /// Decodes `{sandboxId, name, description?, dir?, lineageScope?, allowCrossLineage?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let location = LocationFields::from_fields(&mut fields)?;
        let (name, description) = (fields.string("name")?, fields.string("description")?);
        fields.finish()?;
        let location = location.check()?;
        let name = CheckpointName::parse(&name.unwrap_or_default())?;
        let description = description.filter(|text| !text.is_empty());
        let description = description.as_deref().map(CheckpointDescription::parse).transpose()?;
        Ok(Self { location, name, description })
    }
}

/// The request to restore a checkpoint.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "RestoreCheckpointOptions", rename_all = "camelCase"),
    schemars(transform = extends("CheckpointsOptions"))
)]
pub struct RestoreCheckpointRequest {
    /// The sandbox and the directory.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub location: CheckpointLocation,
    /// The name of the checkpoint.
    pub name: CheckpointName,
}

impl RestoreCheckpointRequest {
    /// Decodes `{sandboxId, name, dir?, lineageScope?, allowCrossLineage?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let location = LocationFields::from_fields(&mut fields)?;
        let name = fields.string("name")?;
        fields.finish()?;
        Ok(Self { location: location.check()?, name: CheckpointName::parse(&name.unwrap_or_default())? })
    }
}

/// The request to compare the files of a sandbox with a checkpoint.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "DiffCheckpointOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["name"]), transform = extends("CheckpointsOptions"))
)]
pub struct DiffCheckpointRequest {
    /// The sandbox and the directory.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub location: CheckpointLocation,
    /// The name of the checkpoint.
    pub name: CheckpointName,
    /// The maximum length of the diff, in bytes.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_BYTES), extend("default" = Self::DEFAULT_BYTES)))]
    pub max_bytes: u32,
}

impl DiffCheckpointRequest {
    /// The default maximum length of a diff, in bytes.
    pub const DEFAULT_BYTES: u32 = 256 * 1024;
    /// The largest `max_bytes`.
    pub const MAX_BYTES: u32 = 4 * 1024 * 1024;

    /// Decodes `{sandboxId, name, maxBytes?, dir?, lineageScope?, allowCrossLineage?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let location = LocationFields::from_fields(&mut fields)?;
        let (name, max_bytes) =
            (fields.string("name")?, fields.number("maxBytes")?.unwrap_or(Self::DEFAULT_BYTES.into()));
        fields.finish()?;
        let (location, name) = (location.check()?, CheckpointName::parse(&name.unwrap_or_default())?);
        let allowed = u32::try_from(max_bytes).ok().filter(|bytes| (1..=Self::MAX_BYTES).contains(bytes));
        let max_bytes = allowed.ok_or_else(|| {
            let most = Self::MAX_BYTES;
            invalid(&format!("`maxBytes` must be 1–{most}, got {max_bytes}"), &format!("Pass 1 to {most}."))
        })?;
        Ok(Self { location, name, max_bytes })
    }
}

/// The fields of a [`CheckpointLocation`] as the caller passed them: their types are verified, their content is not.
struct LocationFields {
    sandbox_id: String,
    dir: Option<String>,
    lineage_scope: Option<String>,
    allow_cross_lineage: bool,
}

impl LocationFields {
    fn from_fields(fields: &mut Fields) -> Result<Self> {
        Ok(Self {
            sandbox_id: fields.required("sandboxId")?,
            dir: fields.string("dir")?,
            lineage_scope: fields.string("lineageScope")?,
            allow_cross_lineage: fields.flag("allowCrossLineage")?,
        })
    }

    fn check(self) -> Result<CheckpointLocation> {
        Ok(CheckpointLocation {
            sandbox_id: SandboxId::parse(&self.sandbox_id)?,
            dir: self.dir.as_deref().map(Directory::parse).transpose()?,
            lineage_scope: LineageScope::parse(self.lineage_scope.as_deref(), self.allow_cross_lineage)?,
        })
    }
}
