//! A snapshot as one text, in the requests of a named workspace: only the snapshots of its lineage are found by it.

use std::fmt;

use serde::Serialize;

use super::declare::{Content, Field};
use super::fields::Fields;
use crate::model::named::WorkspaceName;
#[cfg(feature = "schema")]
use crate::model::schema::AnySnapshotId;
use crate::model::{Error, Result, SandboxId, ShortRef, SnapshotId};

/// The id or the short ref of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SnapshotText {
    /// The id.
    Id(SnapshotId),
    /// The short ref.
    Short(ShortRef),
}

impl SnapshotText {
    /// Parses the id or the short ref of a snapshot.
    pub fn parse(text: &str) -> Result<Self> {
        if text.starts_with(ShortRef::PREFIX) {
            return ShortRef::parse(text).map(Self::Short);
        }
        SnapshotId::parse(text).map(Self::Id).map_err(|_| Error::invalid_snapshot_text(text))
    }

    /// Returns the id of the snapshot.
    pub const fn snapshot_id(&self) -> &SnapshotId {
        match self {
            Self::Id(id) => id,
            Self::Short(short) => short.snapshot_id(),
        }
    }

    /// Returns the id of the snapshot.
    pub fn into_id(self) -> SnapshotId {
        self.snapshot_id().clone()
    }

    /// Returns the sandbox that the snapshot was taken of, which only a short ref contains.
    pub const fn origin_id(&self) -> Option<&SandboxId> {
        match self {
            Self::Id(_) => None,
            Self::Short(short) => Some(short.origin_id()),
        }
    }
}

impl Field for Option<SnapshotText> {
    type Raw = Option<String>;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.string(name)
    }
}

impl Content for Option<SnapshotText> {
    fn check(raw: Self::Raw) -> Result<Self> {
        raw.as_deref().map(SnapshotText::parse).transpose()
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SnapshotText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SnapshotText".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        AnySnapshotId::json_schema(generator)
    }
}

/// The source of forks other than the present files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ForkFrom {
    /// The newest snapshot, without a new capture.
    #[serde(serialize_with = "serialize_latest")]
    Latest,
    /// A snapshot of the workspace or of its lineage.
    Snapshot(SnapshotText),
}

impl ForkFrom {
    /// The text that means the newest snapshot.
    pub const LATEST: &str = "latest";

    /// Parses `latest`, or the id or the short ref of a snapshot.
    pub fn parse(text: &str) -> Result<Self> {
        if text == Self::LATEST { Ok(Self::Latest) } else { SnapshotText::parse(text).map(Self::Snapshot) }
    }
}

impl fmt::Display for ForkFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str(Self::LATEST),
            Self::Snapshot(snapshot) => snapshot.snapshot_id().fmt(f),
        }
    }
}

fn serialize_latest<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(ForkFrom::LATEST)
}

impl Field for Option<ForkFrom> {
    type Raw = Option<String>;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.string(name)
    }
}

impl Content for Option<ForkFrom> {
    fn check(raw: Self::Raw) -> Result<Self> {
        raw.as_deref().map(ForkFrom::parse).transpose()
    }
}

/// The source of a promotion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PromoteFrom {
    /// The present files of another workspace of the tenant.
    Workspace(WorkspaceName),
    /// A snapshot of the lineage.
    Snapshot(SnapshotId),
}

impl PromoteFrom {
    /// Parses the name of a workspace, or the id or the short ref of a snapshot.
    pub fn parse(text: &str) -> Result<Self> {
        if let Ok(short) = ShortRef::parse(text) {
            return Ok(Self::Snapshot(short.snapshot_id().clone()));
        }
        match SnapshotId::parse(text) {
            Ok(id) => Ok(Self::Snapshot(id)),
            Err(_) => match WorkspaceName::parse(text) {
                Err(_) if text.starts_with(ShortRef::PREFIX) => Err(Error::invalid_short_ref()),
                Err(error) => Err(error.with_remediation(
                    "Pass the name of a workspace, or the id or short ref of a snapshot. A label is no source: list() returns the id \
                     of its snapshot, and `rollback` takes the label of one of the workspace's own snapshots.",
                )),
                Ok(name) => Ok(Self::Workspace(name)),
            },
        }
    }
}

impl Field for PromoteFrom {
    type Raw = String;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.required(name)
    }
}

impl Content for PromoteFrom {
    fn check(raw: Self::Raw) -> Result<Self> {
        Self::parse(&raw)
    }
}
