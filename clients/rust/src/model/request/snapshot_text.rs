//! A snapshot as one text, in the requests of a named workspace: an id finds the snapshots of its lineage, and a label its own.

use std::fmt;

use serde::Serialize;

use super::declare::{Content, Field};
use super::fields::Fields;
use crate::model::named::WorkspaceName;
#[cfg(feature = "schema")]
use crate::model::schema::SnapshotOrLabel;
use crate::model::{Error, Label, Result, SandboxId, ShortRef, SnapshotId};

/// The id, the short ref or the label of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SnapshotText {
    /// The id.
    Id(SnapshotId),
    /// The short ref.
    Short(ShortRef),
    /// The label. The snapshot is one of the present or a former sandbox of the workspace; with the label `latest`, if none has it,
    /// the newest one of the present files.
    Label(Label),
}

impl SnapshotText {
    /// Parses the id, the short ref or the label of a snapshot. A text with the form of one of the first two is one.
    ///
    /// # Errors
    /// Those of [`ShortRef::parse`] and [`Label::parse`].
    pub fn parse(text: &str) -> Result<Self> {
        if text.starts_with(ShortRef::PREFIX) {
            return ShortRef::parse(text).map(Self::Short);
        }
        SnapshotId::parse(text).map(Self::Id).or_else(|_| Label::parse(text).map(Self::Label))
    }

    /// Returns the id of the snapshot, which a label does not contain.
    pub const fn snapshot_id(&self) -> Option<&SnapshotId> {
        match self {
            Self::Id(id) => Some(id),
            Self::Short(short) => Some(short.snapshot_id()),
            Self::Label(_) => None,
        }
    }

    /// Returns the sandbox that the snapshot was taken of, which only a short ref contains.
    pub const fn origin_id(&self) -> Option<&SandboxId> {
        match self {
            Self::Short(short) => Some(short.origin_id()),
            Self::Id(_) | Self::Label(_) => None,
        }
    }
}

impl From<SnapshotId> for SnapshotText {
    fn from(id: SnapshotId) -> Self {
        Self::Id(id)
    }
}

/// Writes the label, or the id.
impl fmt::Display for SnapshotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Short(short) => short.snapshot_id().fmt(f),
            Self::Label(label) => label.fmt(f),
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
        SnapshotOrLabel::json_schema(generator)
    }
}

/// The source of forks other than the present files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ForkFrom {
    /// The newest snapshot, without a new capture.
    #[serde(serialize_with = "serialize_latest")]
    Latest,
    /// A snapshot of the workspace, or by its id one of its lineage.
    Snapshot(SnapshotText),
}

impl ForkFrom {
    /// The text that means the newest snapshot.
    pub const LATEST: &str = "latest";

    /// Parses `latest`, or the id, the short ref or the label of a snapshot.
    pub fn parse(text: &str) -> Result<Self> {
        if text == Self::LATEST { Ok(Self::Latest) } else { SnapshotText::parse(text).map(Self::Snapshot) }
    }
}

impl fmt::Display for ForkFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str(Self::LATEST),
            Self::Snapshot(snapshot) => snapshot.fmt(f),
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
    /// A snapshot of the lineage, by its id, or one of the workspace itself, by its label.
    Snapshot(SnapshotText),
}

impl PromoteFrom {
    /// Parses the name of a workspace, or the id, the short ref or the label of a snapshot. A label with the form of a name is
    /// taken for one.
    pub fn parse(text: &str) -> Result<Self> {
        if let Ok(short) = ShortRef::parse(text) {
            return Ok(Self::Snapshot(short.snapshot_id().clone().into()));
        }
        match (SnapshotId::parse(text), WorkspaceName::parse(text)) {
            (Ok(id), _) => Ok(Self::Snapshot(id.into())),
            (_, Ok(name)) => Ok(Self::Workspace(name)),
            _ if text.starts_with(ShortRef::PREFIX) => Err(Error::invalid_short_ref()),
            (_, Err(error)) => {
                Label::parse(text).map(|label| Self::Snapshot(SnapshotText::Label(label))).map_err(|_| {
                    error.with_remediation(
                        "Pass the name of a workspace, or the id, the short ref or the label of a snapshot.",
                    )
                })
            }
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
