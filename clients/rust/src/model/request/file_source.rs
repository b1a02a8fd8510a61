//! Where the files of a request are: in a snapshot, in a running sandbox, or in a named workspace.

use serde::Serialize;
use serde_json::Value;

use super::declare::{Content, Field, request};
use super::fields::Fields;
use super::sandbox_selection::SandboxSelection;
use super::selection::{Selection, Selector};
use super::workspace::LineageScope;
use crate::model::named::Address;
#[cfg(feature = "schema")]
use crate::model::named::{Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{exclusive, extends, needs, whole_ref};
use crate::model::{Directory, Error, Result, SandboxId};
#[cfg(feature = "schema")]
use crate::model::{Label, Runtime, ShortRef, SnapshotId, SnapshotRef};

request! {
    /// The selection of the files of a running sandbox, or of a named workspace.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "SandboxFiles", transform = needs(&[]), transform = extends("SandboxSelection"))
    )]
    pub struct SandboxFiles {
        /// The sandbox.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: SandboxSelection,
        /// The directory that the paths are relative to; the directory of the workspace if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub dir: Option<Directory>,
    }
}

impl SandboxFiles {
    /// Selects the files of a named workspace.
    pub fn named(address: Address) -> Self {
        SandboxSelection::named(address).into()
    }

    /// Selects the files of a running sandbox.
    pub fn sandbox(sandbox_id: SandboxId) -> Self {
        SandboxSelection::sandbox(sandbox_id).into()
    }
}

impl From<SandboxSelection> for SandboxFiles {
    /// Selects the files in the directory of the workspace.
    fn from(selection: SandboxSelection) -> Self {
        Self { selection, dir: None }
    }
}

/// Where files are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FileSource {
    /// In a snapshot.
    Snapshot(Selection),
    /// In a running sandbox, or in a named workspace.
    Sandbox(SandboxFiles),
}

impl FileSource {
    /// Returns the selector of the snapshot; `None` for the files of a sandbox.
    pub const fn selector(&self) -> Option<&Selector> {
        match self {
            Self::Snapshot(selection) => Some(&selection.selector),
            Self::Sandbox(_) => None,
        }
    }
}

impl From<Selection> for FileSource {
    fn from(selection: Selection) -> Self {
        Self::Snapshot(selection)
    }
}

impl From<SandboxFiles> for FileSource {
    fn from(files: SandboxFiles) -> Self {
        Self::Sandbox(files)
    }
}

impl Field for FileSource {
    /// The selector of a snapshot, the name, the tenant, the runtime and the directory as text, and the lineage scope.
    type Raw = (<Selector as Field>::Raw, [Option<String>; 4], <LineageScope as Field>::Raw);

    fn take(fields: &mut Fields, _: &str) -> Result<Self::Raw> {
        let selector = Selector::take(fields, "")?;
        let mut text = |name| fields.string(name);
        let texts = [text("name")?, text("tenant")?, text("runtime")?, text("dir")?];
        Ok((selector, texts, LineageScope::take(fields, "")?))
    }
}

impl Content for FileSource {
    fn check((selector, [name, tenant, runtime, dir], scope): Self::Raw) -> Result<Self> {
        let (r#ref, sandbox_id, snapshot_id, label) = &selector;
        let of_snapshot: Option<Value> =
            r#ref.clone().or_else(|| snapshot_id.clone().or(label.clone()).map(Value::from));
        let of_workspace = name.as_ref().or(tenant.as_ref());
        if of_snapshot.is_none() && (sandbox_id.is_some() || of_workspace.is_some()) {
            let selection = (name, tenant, sandbox_id.clone(), runtime, scope);
            return SandboxFiles::check((selection, dir)).map(Self::Sandbox);
        }
        if of_workspace.or(runtime.as_ref()).or(dir.as_ref()).is_some() {
            return Err(Error::file_source_ambiguous());
        }
        Ok(Self::Snapshot(Selection::check((selector, scope))?))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for FileSource {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FileSource".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        /// Where files are: in a snapshot, in a running sandbox, or in a named workspace.
        #[derive(schemars::JsonSchema)]
        #[serde(untagged, rename_all_fields = "camelCase")]
        #[schemars(transform = exclusive, transform = extends("LineageScope"))]
        #[allow(dead_code)]
        enum Form {
            /// In a snapshot, by its ref.
            Ref {
                /// The ref of the snapshot.
                #[schemars(transform = whole_ref)]
                r#ref: SnapshotRef,
            },
            /// In a snapshot, by its ref as one text.
            Short {
                /// Or its short form: one text, as `shortRef` of an answer.
                r#ref: ShortRef,
            },
            /// In a snapshot, by its id.
            Id {
                /// The sandbox that the snapshot was taken of, or a running sandbox.
                sandbox_id: SandboxId,
                /// The id of the snapshot.
                snapshot_id: SnapshotId,
            },
            /// In a snapshot, by its label.
            Label {
                /// The sandbox that the snapshot was taken of, or a running sandbox.
                sandbox_id: SandboxId,
                /// The label of the snapshot.
                label: Label,
            },
            /// In a snapshot, by its id in a workspace.
            IdInWorkspace {
                /// The name of the workspace.
                name: WorkspaceName,
                /// The tenant of the workspace; the default tenant if absent.
                tenant: Option<Tenant>,
                /// The id of the snapshot.
                snapshot_id: SnapshotId,
            },
            /// In a snapshot, by its label in a workspace.
            LabelInWorkspace {
                /// The name of the workspace.
                name: WorkspaceName,
                /// The tenant of the workspace; the default tenant if absent.
                tenant: Option<Tenant>,
                /// The label of the snapshot. If none has the label `latest`, it selects the newest snapshot of the present files.
                label: Label,
            },
            /// In a running sandbox.
            Sandbox {
                /// The sandbox that the snapshot was taken of, or a running sandbox.
                sandbox_id: SandboxId,
                /// The runtime of the sandbox. If the sandbox is new to the snapshotter: the deployment's default if absent.
                runtime: Option<Runtime>,
                /// The directory that the paths are relative to; the directory of the workspace if absent.
                dir: Option<Directory>,
            },
            /// In a named workspace, which is started if it is not running.
            Named {
                /// The name of the workspace.
                name: WorkspaceName,
                /// The tenant of the workspace; the default tenant if absent.
                tenant: Option<Tenant>,
                /// The runtime of the workspace. Another one is refused.
                runtime: Option<Runtime>,
                /// The directory that the paths are relative to; the directory of the workspace if absent.
                dir: Option<Directory>,
            },
        }
        Form::json_schema(generator)
    }
}
