//! The selection of an existing snapshot, and the requests that extend it.

use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "schema")]
use super::MAX_KEY_CHARS;
use super::declare::{Content, Field, request};
use super::fields::Fields;
use super::workspace::LineageScope;
use super::{check_key, parse_new_label};
use crate::model::named::settings::OnImageChange;
#[cfg(feature = "schema")]
use crate::model::named::{Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, exclusive, extends, needs, no_snapshot, whole_ref};
use crate::model::{DeltasOnDelete, Error, Label, Result, Runtime, SandboxId, ShortRef, SnapshotId, SnapshotRef};

/// The ways to select a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Selector {
    /// By the snapshot's ref.
    Ref {
        /// The ref of the snapshot.
        r#ref: SnapshotRef,
    },
    /// By the snapshot's ref as one text.
    Short {
        /// Or its short form: one text, as `shortRef` of an answer.
        r#ref: ShortRef,
    },
    /// By the snapshot's id.
    #[serde(rename_all = "camelCase")]
    Id {
        /// The sandbox that the snapshot was taken of, or with a `snapshotId` another one of its lineage.
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
            Self::Short { r#ref } => r#ref.origin_id(),
            Self::Id { sandbox_id, .. } | Self::Label { sandbox_id, .. } => sandbox_id,
        }
    }
}

impl Selector {
    /// Decodes a ref from outside: the object, or one text.
    ///
    /// # Errors
    /// Those of [`SnapshotRef::decode`] and [`ShortRef::parse`].
    pub fn of_ref(value: &Value) -> Result<Self> {
        Ok(match value {
            Value::String(text) => Self::Short { r#ref: ShortRef::parse(text)? },
            value => Self::Ref { r#ref: SnapshotRef::decode(value)? },
        })
    }
}

/// The forms of a selection from outside. Before it is decoded, the Worker replaces a workspace by the sandbox of the snapshot.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Selector {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Selector".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        /// The ways to select a snapshot.
        #[derive(schemars::JsonSchema)]
        #[serde(untagged, rename_all_fields = "camelCase")]
        #[allow(dead_code)]
        enum Form {
            /// By the snapshot's ref.
            Ref {
                /// The ref of the snapshot.
                #[schemars(transform = whole_ref)]
                r#ref: SnapshotRef,
            },
            /// By the snapshot's ref as one text.
            Short {
                /// Or its short form: one text, as `shortRef` of an answer.
                r#ref: ShortRef,
            },
            /// By the snapshot's id.
            Id {
                /// The sandbox that the snapshot was taken of, or with a `snapshotId` another one of its lineage.
                sandbox_id: SandboxId,
                /// The id of the snapshot.
                snapshot_id: SnapshotId,
            },
            /// By the snapshot's label.
            Label {
                /// The sandbox that the snapshot was taken of.
                sandbox_id: SandboxId,
                /// The label of the snapshot.
                label: Label,
            },
            /// By the snapshot's id, in a workspace.
            IdInWorkspace {
                /// The name of a workspace. The snapshot is one of its lineage.
                name: WorkspaceName,
                /// The tenant of the workspace; the default tenant if absent.
                tenant: Option<Tenant>,
                /// The id of the snapshot.
                snapshot_id: SnapshotId,
            },
            /// By the snapshot's label, in a workspace.
            LabelInWorkspace {
                /// The name of the workspace. The snapshot is one of its present or a former sandbox.
                name: WorkspaceName,
                /// The tenant of the workspace; the default tenant if absent.
                tenant: Option<Tenant>,
                /// The label of the snapshot. If none has the label `latest`, it selects the newest snapshot of the present files.
                label: Label,
            },
        }
        Form::json_schema(generator)
    }
}

/// Parses the id of a selected snapshot.
///
/// # Errors
/// Those of [`SnapshotId::parse`]. It says how a label is passed.
pub(super) fn parse_selected(text: &str) -> Result<SnapshotId> {
    SnapshotId::parse(text).map_err(|error| {
        error.with_remediation("Pass the `snapshotId` or the `shortRef` of a snapshot, or its label as `label`.")
    })
}

impl Field for Selector {
    /// The ref, and the ids and the label as text.
    type Raw = (Option<Value>, Option<String>, Option<String>, Option<String>);

    fn take(fields: &mut Fields, _: &str) -> Result<Self::Raw> {
        let raw =
            (fields.value("ref"), fields.string("sandboxId")?, fields.string("snapshotId")?, fields.string("label")?);
        fields.offer(&["name", "tenant"]);
        Ok(raw)
    }
}

impl Content for Selector {
    fn check((r#ref, sandbox_id, snapshot_id, label): Self::Raw) -> Result<Self> {
        let sandbox_id = sandbox_id.as_deref().map(SandboxId::parse);
        Ok(match (r#ref, sandbox_id, snapshot_id, label) {
            (Some(r#ref), None, None, None) => Self::of_ref(&r#ref)?,
            (None, sandbox_id, Some(text), None) if text.starts_with(ShortRef::PREFIX) => {
                let short = ShortRef::parse(&text)?;
                match sandbox_id.transpose()? {
                    Some(other) if other != *short.origin_id() => {
                        return Err(Error::short_ref_of_other_sandbox(&other));
                    }
                    _ => Self::Short { r#ref: short },
                }
            }
            (None, Some(sandbox_id), Some(id), None) => {
                Self::Id { sandbox_id: sandbox_id?, snapshot_id: parse_selected(&id)? }
            }
            (None, Some(sandbox_id), None, Some(label)) => {
                Self::Label { sandbox_id: sandbox_id?, label: Label::parse(&label)? }
            }
            _ => return Err(Error::not_one_snapshot()),
        })
    }
}

request! {
    /// The selection of a snapshot, with the lineage scope of the caller.
    #[cfg_attr(
        feature = "schema",
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
}

impl Selection {
    /// Selects a snapshot by its ref, without a lineage scope.
    pub const fn of(r#ref: SnapshotRef) -> Self {
        Self { selector: Selector::Ref { r#ref }, lineage_scope: LineageScope::UNRESTRICTED }
    }

    /// Selects a snapshot by its short ref, without a lineage scope.
    pub const fn by_short_ref(r#ref: ShortRef) -> Self {
        Self { selector: Selector::Short { r#ref }, lineage_scope: LineageScope::UNRESTRICTED }
    }

    /// Selects a snapshot by its id, without a lineage scope.
    pub const fn by_id(sandbox_id: SandboxId, snapshot_id: SnapshotId) -> Self {
        Self { selector: Selector::Id { sandbox_id, snapshot_id }, lineage_scope: LineageScope::UNRESTRICTED }
    }

    /// Selects a snapshot by its label, without a lineage scope.
    pub const fn by_label(sandbox_id: SandboxId, label: Label) -> Self {
        Self { selector: Selector::Label { sandbox_id, label }, lineage_scope: LineageScope::UNRESTRICTED }
    }
}

request! {
    /// The request to restore a snapshot or to branch from it.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "RestoreOptions", transform = needs(&[]), transform = extends("Selection"))
    )]
    pub struct RestoreRequest {
        /// The selection of the snapshot.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: Selection,
        /// The runtime of the new sandbox; that of the sandbox that the snapshot was taken of if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub runtime: Option<Runtime>,
        /// What to do if the image of the new sandbox differs from that of the snapshot; `report` if absent.
        #[serde(skip_serializing_if = "OnImageChange::is_default")]
        #[cfg_attr(feature = "schema", schemars(extend("default" = "report")))]
        pub on_image_change: OnImageChange,
        /// An idempotency key: a repeated call with the same key gets the same answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL)))]
        pub idempotency_key: Option<String> = check_key,
    }
}

impl RestoreRequest {
    /// Returns a request to restore the snapshot of a ref.
    pub const fn of(r#ref: SnapshotRef) -> Self {
        let on_image_change = OnImageChange::Report;
        Self { selection: Selection::of(r#ref), runtime: None, on_image_change, idempotency_key: None }
    }
}

request! {
    /// The request to delete a snapshot.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "DeleteOptions", transform = needs(&[]), transform = extends("Selection"))
    )]
    pub struct DeleteRequest {
        /// The selection of the snapshot.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: Selection,
        /// Whether to delete the snapshot although it is pinned or has dependents.
        pub force: bool,
        /// What to do with the deltas that are based on the snapshot.
        #[serde(skip_serializing_if = "DeltasOnDelete::is_keep")]
        pub deltas: DeltasOnDelete,
    }
}

impl DeleteRequest {
    /// Returns a request to delete a snapshot. Its deltas stay.
    pub const fn of(selection: Selection, force: bool) -> Self {
        Self { selection, force, deltas: DeltasOnDelete::Keep }
    }
}

request! {
    /// The request to change the label of a snapshot.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "LabelOptions", transform = needs(&["newLabel"]), transform = extends("Selection"))
    )]
    pub struct LabelRequest {
        /// The selection of the snapshot.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: Selection,
        /// The new label of the snapshot.
        #[cfg_attr(feature = "schema", schemars(transform = no_snapshot))]
        pub new_label: Label = |text| parse_new_label(&text),
        /// Whether to take the label from another snapshot that has it.
        pub replace: bool,
    }
}
