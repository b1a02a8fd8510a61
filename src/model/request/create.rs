//! A workspace that persists by name, to be made.

use serde_json::{Value, json};

#[cfg(feature = "schema")]
use super::MAX_KEY;
use super::changes::Changes;
use super::fields::Fields;
use super::named::{Named, take_start};
use super::{idempotency_key, invalid, no_memory};
use crate::model::named::messages::Start;
use crate::model::named::{Address, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, closed, extends, not_both};
use crate::model::{Directory, Result, Selection, json};

/// A workspace to be made.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "CreateWorkspaceOptions", rename_all = "camelCase"),
    schemars(transform = not_both("sourceWorkspace", "sourceSnapshot")),
    schemars(transform = extends("WorkspaceAddress"), transform = extends("WorkspaceSettings"))
)]
pub struct CreateRequest {
    /// Which.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub address: Address,
    /// The directory that persists; the source's, or the deployment's, where absent.
    pub dir: Option<Directory>,
    /// How it is to be kept.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub changes: Changes,
    /// What it begins with; nothing where absent.
    #[cfg_attr(feature = "schema", schemars(flatten, with = "SourceFields"))]
    pub source: Option<Source>,
    /// A key by which the same call can be made again, and gets the same workspace.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY), regex(pattern = NO_CONTROL)))]
    pub idempotency_key: Option<String>,
}

/// What a workspace begins with.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The present files of another workspace of the tenant.
    Workspace(WorkspaceName),
    /// A snapshot, as operations on snapshots name it.
    Snapshot(Value),
}

/// A [`Source`] as it is given.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct SourceFields {
    /// Another workspace of the tenant, to begin with its present files. Not together with `sourceSnapshot`.
    #[allow(dead_code)]
    source_workspace: Option<WorkspaceName>,
    /// A snapshot to begin with. Not together with `sourceWorkspace`.
    #[allow(dead_code)]
    #[schemars(transform = closed)]
    source_snapshot: Option<Selection>,
}

impl CreateRequest {
    /// A workspace that begins with nothing, and is kept as the deployment's defaults say.
    pub fn of(address: Address) -> Self {
        Self { address, dir: None, changes: Changes::default(), source: None, idempotency_key: None }
    }

    /// Decodes `{name, tenant?, sourceWorkspace? | sourceSnapshot?, dir?, persistent?, retention?, hooks?, expiry?,
    /// dependsOn?, env?, idempotencyKey?}`.
    ///
    /// # Errors
    /// `InvalidArgument` for the shape, then the errors of the name, the directory and the source, then
    /// `InvalidArgument` for the rest.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let named = Named::take(&mut fields)?;
        let request = Self::take(&mut fields, named)?;
        fields.end()?;
        Ok(request)
    }

    /// The arguments that [`decode`](Self::decode) reads.
    pub fn to_arguments(&self) -> Result<Value, String> {
        let mut arguments = json::write(&self.changes)?;
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

    fn take(fields: &mut Fields, named: Named) -> Result<Self> {
        no_memory(fields)?;
        let dir = fields.text("dir")?;
        let workspace = fields.text("sourceWorkspace")?;
        let snapshot = fields.object::<Value>("sourceSnapshot")?;
        let changes = Changes::take(fields)?;
        let key = fields.text("idempotencyKey")?;
        let address = named.check()?;
        let source = match (workspace, snapshot) {
            (None, None) => None,
            (Some(name), None) => Some(Source::Workspace(WorkspaceName::parse(&name)?)),
            (None, Some(selection)) => {
                Selection::decode(&selection)?;
                Some(Source::Snapshot(selection))
            }
            (Some(_), Some(_)) => {
                return Err(invalid(
                    "Both `sourceWorkspace` and `sourceSnapshot` are given",
                    "A workspace begins with one of them.",
                ));
            }
        };
        changes.check()?;
        let dir = dir.as_deref().map(Directory::parse).transpose()?;
        Ok(Self { address, dir, changes, source, idempotency_key: idempotency_key(key)? })
    }
}

/// A workspace to be made where there is none, and else to be started.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "GetOrCreateWorkspaceOptions"),
    schemars(transform = extends("CreateWorkspaceOptions"), transform = extends("StartSettings"))
)]
pub struct GetOrCreateRequest {
    /// How it is made. Of one that exists, only the fingerprint is changed.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub create: CreateRequest,
    /// How it is started.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub start: Start,
}

impl GetOrCreateRequest {
    /// Decodes the fields of [`CreateRequest`] and of [`StartRequest`].
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let named = Named::take(&mut fields)?;
        let start = take_start(&mut fields)?;
        let create = CreateRequest::take(&mut fields, named)?;
        fields.end()?;
        Ok(Self { create, start })
    }
}
