//! The requests to create a named workspace, and to get or create one.

use serde_json::{Value, json};

#[cfg(feature = "schema")]
use super::MAX_KEY_CHARS;
use super::fields::Fields;
use super::named::{AddressFields, parse_start};
use super::settings_update::SettingsUpdate;
use super::{idempotency_key, invalid, refuse_memory};
use crate::model::named::messages::StartSettings;
use crate::model::named::{Address, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, closed, extends, not_both};
use crate::model::{Directory, Result, Selection, json};

/// The request to create a named workspace.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "CreateWorkspaceOptions", rename_all = "camelCase"),
    schemars(transform = not_both("sourceWorkspace", "sourceSnapshot")),
    schemars(transform = extends("WorkspaceAddress"), transform = extends("WorkspaceSettings"))
)]
pub struct CreateRequest {
    /// The tenant and the name of the new workspace.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub address: Address,
    /// The directory that persists. If absent: the source's directory, or without a source the deployment's default.
    pub dir: Option<Directory>,
    /// The settings of the workspace.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub settings: SettingsUpdate,
    /// The source of the workspace's files; the workspace begins empty if absent.
    #[cfg_attr(feature = "schema", schemars(flatten, with = "SourceFields"))]
    pub source: Option<Source>,
    /// An idempotency key: a repeated call with the same key gets the same workspace.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL)))]
    pub idempotency_key: Option<String>,
}

/// The source of a new workspace's files.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The present files of another workspace of the tenant.
    Workspace(WorkspaceName),
    /// A snapshot: the JSON of a [`Selection`].
    Snapshot(Value),
}

/// The fields of the source in the request.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct SourceFields {
    /// Another workspace of the tenant: the new workspace begins with its present files. Excludes `sourceSnapshot`.
    #[allow(dead_code)]
    source_workspace: Option<WorkspaceName>,
    /// A snapshot: the new workspace begins with its files. Excludes `sourceWorkspace`.
    #[allow(dead_code)]
    #[schemars(transform = closed)]
    source_snapshot: Option<Selection>,
}

impl CreateRequest {
    /// Returns a request to create an empty workspace with the deployment's default settings.
    pub fn of(address: Address) -> Self {
        Self { address, dir: None, settings: SettingsUpdate::default(), source: None, idempotency_key: None }
    }

    /// Decodes `{name, tenant?, sourceWorkspace? | sourceSnapshot?, dir?, persistent?, retention?, hooks?, expiry?,
    /// dependsOn?, env?, idempotencyKey?}`.
    ///
    /// # Errors
    /// In this order: `InvalidArgument` if a field has the wrong type, the errors of the name and of the source,
    /// `InvalidArgument` for the settings, the error of the directory, `InvalidArgument` for the idempotency key and
    /// for unknown fields. `Unsupported` if `memory` is true.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let address = AddressFields::from_fields(&mut fields)?;
        let request = Self::from_fields(&mut fields, address)?;
        fields.finish()?;
        Ok(request)
    }

    /// Returns the arguments that [`decode`](Self::decode) reads.
    pub fn to_arguments(&self) -> Result<Value, String> {
        let mut arguments = json::to_value(&self.settings)?;
        let (workspace, snapshot) = match &self.source {
            None => (None, None),
            Some(Source::Workspace(name)) => (Some(name), None),
            Some(Source::Snapshot(selection)) => (None, Some(selection)),
        };
        let rest = json!({
            "name": self.address.name,
            "tenant": self.address.tenant,
            "dir": self.dir,
            "sourceWorkspace": workspace,
            "sourceSnapshot": snapshot,
            "idempotencyKey": self.idempotency_key,
        });
        if let (Value::Object(arguments), Value::Object(rest)) = (&mut arguments, rest) {
            arguments.extend(rest);
        }
        Ok(arguments)
    }

    fn from_fields(fields: &mut Fields, address: AddressFields) -> Result<Self> {
        refuse_memory(fields)?;
        let dir = fields.string("dir")?;
        let workspace = fields.string("sourceWorkspace")?;
        let snapshot = fields.object::<Value>("sourceSnapshot")?;
        let settings = SettingsUpdate::from_fields(fields)?;
        let key = fields.string("idempotencyKey")?;
        let address = address.check()?;
        let source = match (workspace, snapshot) {
            (None, None) => None,
            (Some(name), None) => Some(Source::Workspace(WorkspaceName::parse(&name)?)),
            (None, Some(selection)) => {
                Selection::decode(&selection)?;
                Some(Source::Snapshot(selection))
            }
            (Some(_), Some(_)) => {
                return Err(invalid(
                    "`sourceWorkspace` and `sourceSnapshot` exclude each other",
                    "Pass only one of them.",
                ));
            }
        };
        settings.check()?;
        let dir = dir.as_deref().map(Directory::parse).transpose()?;
        Ok(Self { address, dir, settings, source, idempotency_key: idempotency_key(key)? })
    }
}

/// The request to start a named workspace, or to create it if it does not exist.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "GetOrCreateWorkspaceOptions"),
    schemars(transform = extends("CreateWorkspaceOptions"), transform = extends("StartSettings"))
)]
pub struct GetOrCreateRequest {
    /// How the workspace is created. If it exists, only its fingerprint is changed.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub create: CreateRequest,
    /// How the workspace is started.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub start: StartSettings,
}

impl GetOrCreateRequest {
    /// Decodes the fields of [`CreateRequest`] and of [`StartSettings`].
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let address = AddressFields::from_fields(&mut fields)?;
        let start = parse_start(&mut fields)?;
        let create = CreateRequest::from_fields(&mut fields, address)?;
        fields.finish()?;
        Ok(Self { create, start })
    }
}
