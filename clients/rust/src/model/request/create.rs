//! The requests to create a named workspace, and to get or create one.

use serde::{Serialize, Serializer};
use serde_json::Value;

#[cfg(feature = "schema")]
use super::MAX_KEY_CHARS;
use super::declare::{Content, Field, request};
use super::fields::Fields;
use super::settings_update::SettingsUpdate;
use super::snapshot_text::SnapshotText;
use super::{check_key, refuse_memory};
use crate::model::named::settings::StartSettings;
use crate::model::named::{Address, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, closed, extends, from_excludes_sources, not_both};
use crate::model::{Directory, Error, Result, Runtime, Selection};

request! {
    /// The request to create a named workspace.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "CreateWorkspaceOptions", transform = not_both("sourceWorkspace", "sourceSnapshot")),
        schemars(transform = extends("WorkspaceAddress"), transform = extends("WorkspaceSettings"))
    )]
    pub struct CreateRequest {
        /// The tenant and the name of the new workspace.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub address: Address,
        /// The source of the workspace's files; the workspace begins empty if absent.
        #[serde(flatten, serialize_with = "serialize_source")]
        #[cfg_attr(feature = "schema", schemars(with = "SourceOptions"))]
        pub source: Option<Source>,
        /// The settings of the workspace.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub settings: SettingsUpdate,
        /// The runtime of the workspace's sandbox. If absent: the source's, or without a source the deployment's default.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub runtime: Option<Runtime>,
        /// The directory that persists. If absent: the source's directory, or without a source the deployment's default.
        pub dir: Option<Directory>,
        /// An idempotency key: a repeated call with the same key gets the same workspace.
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL)))]
        pub idempotency_key: Option<String> = check_key,
    }
    refuse refuse_memory;
}

/// The source of a new workspace's files.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The present files of another workspace of the tenant.
    Workspace(WorkspaceName),
    /// A snapshot: the JSON of a [`Selection`].
    Snapshot(Value),
}

/// The options of the source.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SourceOptions<'a> {
    /// Another workspace of the tenant: the new workspace begins with its present files. Excludes `sourceSnapshot`.
    source_workspace: Option<&'a WorkspaceName>,
    /// A snapshot: the new workspace begins with its files. Excludes `sourceWorkspace`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Selection>", transform = closed))]
    source_snapshot: Option<&'a Value>,
}

#[allow(clippy::ref_option)] // Serde passes the field.
fn serialize_source<S: Serializer>(source: &Option<Source>, serializer: S) -> Result<S::Ok, S::Error> {
    let (source_workspace, source_snapshot) = match source {
        None => (None, None),
        Some(Source::Workspace(name)) => (Some(name), None),
        Some(Source::Snapshot(selection)) => (None, Some(selection)),
    };
    SourceOptions { source_workspace, source_snapshot }.serialize(serializer)
}

impl Field for Option<Source> {
    type Raw = (Option<String>, Option<Value>);

    fn take(fields: &mut Fields, _: &str) -> Result<Self::Raw> {
        Ok((fields.string("sourceWorkspace")?, fields.object("sourceSnapshot")?))
    }
}

impl Content for Option<Source> {
    fn check(raw: Self::Raw) -> Result<Self> {
        Ok(match raw {
            (None, None) => None,
            (Some(name), None) => Some(Source::Workspace(WorkspaceName::parse(&name)?)),
            (None, Some(selection)) => {
                Selection::decode(&selection)?;
                Some(Source::Snapshot(selection))
            }
            (Some(_), Some(_)) => {
                return Err(Error::invalid_argument(
                    "`sourceWorkspace` and `sourceSnapshot` exclude each other",
                    "Pass only one of them.",
                ));
            }
        })
    }
}

impl CreateRequest {
    /// Returns a request to create an empty workspace with the deployment's default settings.
    pub fn of(address: Address) -> Self {
        let settings = SettingsUpdate::default();
        Self { address, dir: None, runtime: None, settings, source: None, idempotency_key: None }
    }
}

request! {
    /// The request to start a named workspace, or to create it if it does not exist. The settings apply only when the
    /// workspace is created: of those of an existing one, only the fingerprint changes. `update` changes the others.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "GetOrCreateWorkspaceOptions", transform = from_excludes_sources),
        schemars(transform = extends("CreateWorkspaceOptions")),
        schemars(transform = extends("StartSettings"))
    )]
    pub struct GetOrCreateRequest {
        /// How the workspace is created. If it exists, only its fingerprint is changed.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub create: CreateRequest,
        /// The snapshot from which the workspace continues in a new sandbox: the id or the short ref of one of its lineage, or the
        /// label of one of its own. If the workspace does not exist, it is created from the snapshot, which must be a short ref then.
        /// A repeated call with the same `idempotencyKey` does not go back to it again.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from: Option<SnapshotText>,
        /// How the workspace is started.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub start: StartSettings,
    }
    rule Self::check_from;
}

impl GetOrCreateRequest {
    fn check_from(&self) -> Result<()> {
        if self.from.is_some() && self.create.source.is_some() {
            return Err(Error::invalid_argument(
                "`from` excludes `sourceWorkspace` and `sourceSnapshot`",
                "Pass only one of them.",
            ));
        }
        Ok(())
    }

    /// Returns a request to start a workspace, or to create it empty with the deployment's default settings.
    pub fn of(address: Address) -> Self {
        Self { create: CreateRequest::of(address), from: None, start: StartSettings::default() }
    }
}
