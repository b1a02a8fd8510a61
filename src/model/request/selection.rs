//! The selection of an existing snapshot, and the requests that extend it.

use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "schema")]
use super::MAX_KEY_CHARS;
use super::fields::Fields;
use super::workspace::LineageScope;
use super::{idempotency_key, invalid};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, exclusive, extends, needs, whole_ref};
use crate::model::{Label, Result, SandboxId, SnapshotId, SnapshotRef};

/// The ways to select a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Selector {
    /// By the snapshot's ref.
    Ref {
        /// The ref of the snapshot.
        #[cfg_attr(feature = "schema", schemars(transform = whole_ref))]
        r#ref: SnapshotRef,
    },
    /// By the snapshot's id.
    #[serde(rename_all = "camelCase")]
    Id {
        /// The sandbox that the snapshot was taken of.
        sandbox_id: SandboxId,
        /// The id of the snapshot.
        snapshot_id: SnapshotId,
    },
    /// By the snapshot's label.
    #[serde(rename_all = "camelCase")]
    Label {
        /// The sandbox that the snapshot was taken of.
        sandbox_id: SandboxId,
        /// The label of the snapshot.
        label: Label,
    },
}

impl Selector {
    /// Returns the sandbox that the snapshot was taken of.
    pub fn origin_id(&self) -> &SandboxId {
        match self {
            Self::Ref { r#ref } => r#ref.origin_id(),
            Self::Id { sandbox_id, .. } | Self::Label { sandbox_id, .. } => sandbox_id,
        }
    }
}

/// The selection of a snapshot, with the lineage scope of the caller.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(transform = needs(&[]), transform = extends("LineageScope"), transform = exclusive)
)]
pub struct Selection {
    /// The selector of the snapshot.
    #[serde(flatten)]
    pub selector: Selector,
    /// The lineage that the caller works in.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub lineage_scope: LineageScope,
}

impl Selection {
    /// Selects a snapshot by its ref, without a lineage scope.
    pub const fn of(r#ref: SnapshotRef) -> Self {
        Self { selector: Selector::Ref { r#ref }, lineage_scope: LineageScope::UNRESTRICTED }
    }

    /// Selects a snapshot by its id, without a lineage scope.
    pub const fn by_id(sandbox_id: SandboxId, snapshot_id: SnapshotId) -> Self {
        Self { selector: Selector::Id { sandbox_id, snapshot_id }, lineage_scope: LineageScope::UNRESTRICTED }
    }

    /// Selects a snapshot by its label, without a lineage scope.
    pub const fn by_label(sandbox_id: SandboxId, label: Label) -> Self {
        Self { selector: Selector::Label { sandbox_id, label }, lineage_scope: LineageScope::UNRESTRICTED }
    }

    /// Decodes `{ref}`, `{sandboxId, snapshotId}` or `{sandboxId, label}`, each with `lineageScope?` and
    /// `allowCrossLineage?`.
    ///
    /// # Errors
    /// `InvalidArgument` for the types and the combination of the fields, then the errors of the ids and of
    /// [`SnapshotRef::decode`].
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let selection = SelectionFields::from_fields(&mut fields)?;
        fields.finish()?;
        selection.check()
    }
}

/// The fields of a [`Selection`] as the caller passed them: their types are verified, their content is not.
struct SelectionFields {
    r#ref: Option<Value>,
    sandbox_id: Option<String>,
    snapshot_id: Option<String>,
    label: Option<String>,
    lineage_scope: Option<String>,
    allow_cross_lineage: bool,
}

impl SelectionFields {
    fn from_fields(fields: &mut Fields) -> Result<Self> {
        Ok(Self {
            r#ref: fields.value("ref"),
            sandbox_id: fields.string("sandboxId")?,
            snapshot_id: fields.string("snapshotId")?,
            label: fields.string("label")?,
            lineage_scope: fields.string("lineageScope")?,
            allow_cross_lineage: fields.flag("allowCrossLineage")?,
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
                    "The arguments must select exactly one snapshot",
                    "Pass its `ref`, or the `sandboxId` that it was taken of and its `snapshotId` or `label`.",
                ));
            }
        };
        let lineage_scope = LineageScope::parse(self.lineage_scope.as_deref(), self.allow_cross_lineage)?;
        Ok(Selection { selector, lineage_scope })
    }
}

/// The request to restore a snapshot or to branch from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "RestoreOptions"),
    schemars(transform = extends("Selection"))
)]
pub struct RestoreRequest {
    /// The selection of the snapshot.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub selection: Selection,
    /// An idempotency key: a repeated call with the same key gets the same answer.
    #[serde(skip)]
    #[cfg_attr(
        feature = "schema",
        schemars(!skip, length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL))
    )]
    pub idempotency_key: Option<String>,
}

impl RestoreRequest {
    /// Returns a request to restore the snapshot of a ref.
    pub const fn of(r#ref: SnapshotRef) -> Self {
        Self { selection: Selection::of(r#ref), idempotency_key: None }
    }

    /// Decodes a [`Selection`] with `idempotencyKey?`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (selection, key) = (SelectionFields::from_fields(&mut fields)?, fields.string("idempotencyKey")?);
        fields.finish()?;
        Ok(Self { selection: selection.check()?, idempotency_key: idempotency_key(key)? })
    }
}

/// The request to delete a snapshot.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "DeleteOptions", rename_all = "camelCase"),
    schemars(transform = needs(&[]), transform = extends("Selection"))
)]
pub struct DeleteRequest {
    /// The selection of the snapshot.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub selection: Selection,
    /// Whether to delete the snapshot although it is pinned or has dependents.
    pub force: bool,
}

impl DeleteRequest {
    /// Decodes a [`Selection`] with `force?`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (selection, force) = (SelectionFields::from_fields(&mut fields)?, fields.flag("force")?);
        fields.finish()?;
        Ok(Self { selection: selection.check()?, force })
    }
}

/// The request to change the label of a snapshot.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "LabelOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["newLabel"]), transform = extends("Selection"))
)]
pub struct LabelRequest {
    /// The selection of the snapshot.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub selection: Selection,
    /// The new label of the snapshot.
    pub new_label: Label,
    /// Whether to take the label from another snapshot that has it.
    pub replace: bool,
}

impl LabelRequest {
    /// Decodes a [`Selection`] with `newLabel` and `replace?`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let selection = SelectionFields::from_fields(&mut fields)?;
        let (new_label, replace) = (fields.required("newLabel")?, fields.flag("replace")?);
        fields.finish()?;
        Ok(Self { selection: selection.check()?, new_label: Label::parse(&new_label)?, replace })
    }
}
