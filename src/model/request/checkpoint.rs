//! Requests about the checkpoints in a sandbox.

use serde_json::Value;

use super::fields::Fields;
use super::invalid;
use super::workspace::Session;
use crate::model::checkpoint::{CheckpointCursor, CheckpointDescription, CheckpointName};
#[cfg(feature = "schema")]
use crate::model::schema::{extends, needs};
use crate::model::{Directory, Result, SandboxId};

/// Where checkpoints are.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "CheckpointsOptions", rename_all = "camelCase"),
    schemars(transform = extends("Session"))
)]
pub struct CheckpointsRequest {
    /// The sandbox.
    pub sandbox_id: SandboxId,
    /// The directory; the deployment's default where absent.
    pub dir: Option<Directory>,
    /// Who asks.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub session: Session,
}

impl CheckpointsRequest {
    /// Decodes `{sandboxId, dir?, session?, allowCrossSession?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let place = Place::take(&mut fields)?;
        fields.end()?;
        place.check()
    }
}

/// A page of the checkpoints in a sandbox.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ListCheckpointsOptions", rename_all = "camelCase"),
    schemars(transform = needs(&[]), transform = extends("CheckpointsOptions"))
)]
pub struct ListCheckpointsRequest {
    /// Where.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub at: CheckpointsRequest,
    /// Where the page begins; at the newest where absent.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub cursor: Option<CheckpointCursor>,
    /// How many are on it at most. A page ends earlier where its checkpoints have more than 1 MiB.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::LIMIT)))]
    pub limit: u32,
}

impl ListCheckpointsRequest {
    /// How many checkpoints a page has, where the caller does not say.
    pub const LIMIT: u32 = 100;
    /// The most that a page can have.
    pub const MAX_LIMIT: u32 = 1000;

    /// The newest checkpoints of a place.
    pub const fn of(at: CheckpointsRequest) -> Self {
        Self { at, cursor: None, limit: Self::LIMIT }
    }

    /// Decodes `{sandboxId, cursor?, limit?, dir?, session?, allowCrossSession?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let place = Place::take(&mut fields)?;
        let (cursor, limit) = (fields.text("cursor")?, fields.number("limit")?.unwrap_or(Self::LIMIT.into()));
        fields.end()?;
        let at = place.check()?;
        let cursor = cursor.as_deref().map(CheckpointCursor::parse).transpose()?;
        let allowed = u32::try_from(limit).ok().filter(|limit| (1..=Self::MAX_LIMIT).contains(limit));
        let limit = allowed.ok_or_else(|| {
            let remediation = format!("Pass 1 to {}, and continue with the cursor of the answer.", Self::MAX_LIMIT);
            invalid(&format!("`limit` must be 1–{}, got {limit}", Self::MAX_LIMIT), &remediation)
        })?;
        Ok(Self { at, cursor, limit })
    }
}

/// A checkpoint to be made.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "CreateCheckpointOptions", rename_all = "camelCase"),
    schemars(transform = extends("CheckpointsOptions"))
)]
pub struct CreateCheckpointRequest {
    /// Where.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub at: CheckpointsRequest,
    /// What it is called.
    pub name: CheckpointName,
    /// What it is of; `snapshot: <name>` where absent.
    pub description: Option<CheckpointDescription>,
}

impl CreateCheckpointRequest {
    /// Decodes `{sandboxId, name, description?, dir?, session?, allowCrossSession?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let place = Place::take(&mut fields)?;
        let (name, description) = (fields.text("name")?, fields.text("description")?);
        fields.end()?;
        let at = place.check()?;
        let name = CheckpointName::parse(&name.unwrap_or_default())?;
        let description = description.filter(|text| !text.is_empty());
        Ok(Self { at, name, description: description.as_deref().map(CheckpointDescription::parse).transpose()? })
    }
}

/// A checkpoint to go back to.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "RestoreCheckpointOptions", rename_all = "camelCase"),
    schemars(transform = extends("CheckpointsOptions"))
)]
pub struct RestoreCheckpointRequest {
    /// Where.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub at: CheckpointsRequest,
    /// Which.
    pub name: CheckpointName,
}

impl RestoreCheckpointRequest {
    /// Decodes `{sandboxId, name, dir?, session?, allowCrossSession?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let place = Place::take(&mut fields)?;
        let name = fields.text("name")?;
        fields.end()?;
        Ok(Self { at: place.check()?, name: CheckpointName::parse(&name.unwrap_or_default())? })
    }
}

/// A checkpoint to compare the files with.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "DiffCheckpointOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["name"]), transform = extends("CheckpointsOptions"))
)]
pub struct DiffCheckpointRequest {
    /// Where.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub at: CheckpointsRequest,
    /// Which.
    pub name: CheckpointName,
    /// How long the diff may be, in bytes.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_BYTES), extend("default" = Self::BYTES)))]
    pub max_bytes: u32,
}

impl DiffCheckpointRequest {
    /// How long the diff is at most, where the caller does not say.
    pub const BYTES: u32 = 256 * 1024;
    /// The longest that can be asked for.
    pub const MAX_BYTES: u32 = 4 * 1024 * 1024;

    /// Decodes `{sandboxId, name, maxBytes?, dir?, session?, allowCrossSession?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let place = Place::take(&mut fields)?;
        let (name, max_bytes) = (fields.text("name")?, fields.number("maxBytes")?.unwrap_or(Self::BYTES.into()));
        fields.end()?;
        let (at, name) = (place.check()?, CheckpointName::parse(&name.unwrap_or_default())?);
        let allowed = u32::try_from(max_bytes).ok().filter(|bytes| (1..=Self::MAX_BYTES).contains(bytes));
        let max_bytes = allowed.ok_or_else(|| {
            invalid(&format!("`maxBytes` is {max_bytes}"), &format!("Give 1 to {}.", Self::MAX_BYTES))
        })?;
        Ok(Self { at, name, max_bytes })
    }
}

/// A place as it was given.
struct Place {
    sandbox_id: String,
    dir: Option<String>,
    session: Option<String>,
    allow_cross_session: bool,
}

impl Place {
    fn take(fields: &mut Fields) -> Result<Self> {
        Ok(Self {
            sandbox_id: fields.required("sandboxId")?,
            dir: fields.text("dir")?,
            session: fields.text("session")?,
            allow_cross_session: fields.flag("allowCrossSession")?,
        })
    }

    fn check(self) -> Result<CheckpointsRequest> {
        Ok(CheckpointsRequest {
            sandbox_id: SandboxId::parse(&self.sandbox_id)?,
            dir: self.dir.as_deref().map(Directory::parse).transpose()?,
            session: Session::checked(self.session.as_deref(), self.allow_cross_session)?,
        })
    }
}
