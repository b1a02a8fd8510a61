//! A snapshot that is there, and what to do with it.

use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "schema")]
use super::MAX_KEY;
use super::fields::Fields;
use super::workspace::Session;
use super::{idempotency_key, invalid};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, exclusive, extends, needs, whole_ref};
use crate::model::{Label, Result, SandboxId, SnapshotId, SnapshotRef};

/// Which snapshot is meant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Selector {
    /// By its ref.
    Ref {
        /// The ref.
        #[cfg_attr(feature = "schema", schemars(transform = whole_ref))]
        r#ref: SnapshotRef,
    },
    /// By its id.
    #[serde(rename_all = "camelCase")]
    Id {
        /// The sandbox that it was taken of.
        sandbox_id: SandboxId,
        /// The snapshot.
        snapshot_id: SnapshotId,
    },
    /// By its label.
    #[serde(rename_all = "camelCase")]
    Label {
        /// The sandbox that it was taken of.
        sandbox_id: SandboxId,
        /// The label.
        label: Label,
    },
}

impl Selector {
    /// The sandbox that it was taken of.
    pub fn origin_id(&self) -> &SandboxId {
        match self {
            Self::Ref { r#ref } => r#ref.origin_id(),
            Self::Id { sandbox_id, .. } | Self::Label { sandbox_id, .. } => sandbox_id,
        }
    }
}

/// A snapshot, and whose session it is asked for in.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(transform = needs(&[]), transform = extends("Session"), transform = exclusive)
)]
pub struct Selection {
    /// The snapshot.
    #[serde(flatten)]
    pub selector: Selector,
    /// Who asks.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub session: Session,
}

impl Selection {
    /// The snapshot of a ref, asked for in nobody's session.
    pub const fn of(r#ref: SnapshotRef) -> Self {
        Self { selector: Selector::Ref { r#ref }, session: Session::NONE }
    }

    /// The snapshot of an id, asked for in nobody's session.
    pub const fn by_id(sandbox_id: SandboxId, snapshot_id: SnapshotId) -> Self {
        Self { selector: Selector::Id { sandbox_id, snapshot_id }, session: Session::NONE }
    }

    /// The snapshot of a label, asked for in nobody's session.
    pub const fn by_label(sandbox_id: SandboxId, label: Label) -> Self {
        Self { selector: Selector::Label { sandbox_id, label }, session: Session::NONE }
    }

    /// Decodes `{ref}`, `{sandboxId, snapshotId}` or `{sandboxId, label}`, each with `session?` and `allowCrossSession?`.
    ///
    /// # Errors
    /// `InvalidArgument` for the shape, then the errors of the ids and of [`SnapshotRef::decode`].
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let named = Named::take(&mut fields)?;
        fields.end()?;
        named.check()
    }
}

/// A selection as it was given: its shape is right, and its content not yet looked at.
struct Named {
    r#ref: Option<Value>,
    sandbox_id: Option<String>,
    snapshot_id: Option<String>,
    label: Option<String>,
    session: Option<String>,
    allow_cross_session: bool,
}

impl Named {
    fn take(fields: &mut Fields) -> Result<Self> {
        Ok(Self {
            r#ref: fields.value("ref"),
            sandbox_id: fields.text("sandboxId")?,
            snapshot_id: fields.text("snapshotId")?,
            label: fields.text("label")?,
            session: fields.text("session")?,
            allow_cross_session: fields.flag("allowCrossSession")?,
        })
    }

    fn check(self) -> Result<Selection> {
        let sandbox_id = self.sandbox_id.as_deref().map(SandboxId::parse);
        let selector = match (self.r#ref, sandbox_id, self.snapshot_id, self.label) {
            (Some(r#ref), None, None, None) => Selector::Ref { r#ref: SnapshotRef::decode(&r#ref)? },
            (None, Some(sandbox_id), Some(id), None) => {
                Selector::Id { sandbox_id: sandbox_id?, snapshot_id: SnapshotId::parse(&id)? }
            }
            (None, Some(sandbox_id), None, Some(label)) => {
                Selector::Label { sandbox_id: sandbox_id?, label: Label::parse(&label)? }
            }
            _ => {
                return Err(invalid(
                    "The arguments do not name one snapshot",
                    "Give its `ref`, or the `sandboxId` that it was taken of with its `snapshotId` or its `label`.",
                ));
            }
        };
        let session = Session::checked(self.session.as_deref(), self.allow_cross_session)?;
        Ok(Selection { selector, session })
    }
}

/// A snapshot to restore or to branch from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "RestoreOptions"),
    schemars(transform = extends("Selection"))
)]
pub struct RestoreRequest {
    /// The snapshot.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub selection: Selection,
    /// A key by which the same call can be made again, and gets the same answer.
    #[serde(skip)]
    #[cfg_attr(
        feature = "schema",
        schemars(!skip, length(min = 1, max = MAX_KEY), regex(pattern = NO_CONTROL))
    )]
    pub idempotency_key: Option<String>,
}

impl RestoreRequest {
    /// The snapshot of a ref.
    pub const fn of(r#ref: SnapshotRef) -> Self {
        Self { selection: Selection::of(r#ref), idempotency_key: None }
    }

    /// Decodes a [`Selection`] with `idempotencyKey?`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (named, key) = (Named::take(&mut fields)?, fields.text("idempotencyKey")?);
        fields.end()?;
        Ok(Self { selection: named.check()?, idempotency_key: idempotency_key(key)? })
    }
}

/// A snapshot to delete.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "DeleteOptions", rename_all = "camelCase"),
    schemars(transform = needs(&[]), transform = extends("Selection"))
)]
pub struct DeleteRequest {
    /// The snapshot.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub selection: Selection,
    /// Whether it goes although it is pinned, or others need it.
    pub force: bool,
}

impl DeleteRequest {
    /// Decodes a [`Selection`] with `force?`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (named, force) = (Named::take(&mut fields)?, fields.flag("force")?);
        fields.end()?;
        Ok(Self { selection: named.check()?, force })
    }
}

/// A snapshot to give another label.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "LabelOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["newLabel"]), transform = extends("Selection"))
)]
pub struct LabelRequest {
    /// The snapshot.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub selection: Selection,
    /// The label that it gets.
    pub new_label: Label,
    /// Whether the label is taken from another snapshot that has it.
    pub replace: bool,
}

impl LabelRequest {
    /// Decodes a [`Selection`] with `newLabel` and `replace?`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let named = Named::take(&mut fields)?;
        let (new_label, replace) = (fields.required("newLabel")?, fields.flag("replace")?);
        fields.end()?;
        Ok(Self { selection: named.check()?, new_label: Label::parse(&new_label)?, replace })
    }
}
