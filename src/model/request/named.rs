//! Requests about named workspaces.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fields::Fields;
use super::{idempotency_key, invalid, no_memory};
use crate::model::named::settings::{DependsOn, Expiry, Hooks, Settings};
use crate::model::named::standing::{OnDiverged, Start};
use crate::model::named::{Address, Tenant, WorkspaceName};
use crate::model::policy::Policy;
use crate::model::{Directory, Result, Selection, SnapshotId, json};

/// A workspace by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NameRequest {
    /// Which.
    pub address: Address,
}

impl NameRequest {
    /// Decodes `{name, tenant?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let address = Named::take(&mut fields)?;
        fields.end()?;
        Ok(Self { address: address.check()? })
    }
}

/// A workspace to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRequest {
    /// Which.
    pub address: Address,
    /// The directory that persists; the source's, or the deployment's, where absent.
    pub dir: Option<Directory>,
    /// How it is to be kept.
    pub changes: Changes,
    /// What it begins with; nothing where absent.
    pub source: Option<Source>,
    /// A key by which the same call can be made again, and gets the same workspace.
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

impl CreateRequest {
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
pub struct GetOrCreateRequest {
    /// How it is made. Of one that exists, only the fingerprint is changed.
    pub create: CreateRequest,
    /// How it is started.
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

/// A workspace to be started.
#[derive(Clone, Debug, PartialEq)]
pub struct StartRequest {
    /// Which.
    pub address: Address,
    /// What the world is like now; unchanged where absent.
    pub fingerprint: Option<String>,
    /// How.
    pub start: Start,
}

impl StartRequest {
    /// Decodes `{name, tenant?, fingerprint?, onDiverged?, allowEmpty?, acceptStale?, expect?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let named = Named::take(&mut fields)?;
        let (start, fingerprint) = (take_start(&mut fields)?, fields.text("fingerprint")?);
        fields.end()?;
        Ok(Self { address: named.check()?, fingerprint: checked_fingerprint(fingerprint)?, start })
    }
}

/// A workspace to be stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct StopRequest {
    /// Which.
    pub address: Address,
}

impl StopRequest {
    /// Decodes `{name, tenant?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let named = Named::take(&mut fields)?;
        no_memory(&mut fields)?;
        fields.end()?;
        Ok(Self { address: named.check()? })
    }
}

/// Workspaces to be made from the present files of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkRequest {
    /// Of which.
    pub address: Address,
    /// What the fork is called; `<newName>-1`, `<newName>-2`… where there are several. Minted where absent.
    pub new_name: Option<WorkspaceName>,
    /// How many.
    pub count: u32,
    /// Whether they get the environment variables, which may be secrets.
    pub copy_env: bool,
    /// A key by which the same call can be made again, and gets the same workspaces.
    pub idempotency_key: Option<String>,
}

impl ForkRequest {
    /// The most forks of one call.
    pub const MOST: u32 = 100;

    /// Decodes `{name, tenant?, newName?, count?, copyEnv?, idempotencyKey?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let named = Named::take(&mut fields)?;
        no_memory(&mut fields)?;
        let (new_name, count) = (fields.text("newName")?, fields.number("count")?.unwrap_or(1));
        let (copy_env, key) = (fields.flag("copyEnv")?, fields.text("idempotencyKey")?);
        fields.end()?;
        let count = u32::try_from(count).ok().filter(|count| (1..=Self::MOST).contains(count));
        Ok(Self {
            address: named.check()?,
            new_name: new_name.as_deref().map(WorkspaceName::parse).transpose()?,
            count: count.ok_or_else(|| {
                invalid("`count` is not one of forks", &format!("Give 1 to {}; call again for more.", Self::MOST))
            })?,
            copy_env,
            idempotency_key: idempotency_key(key)?,
        })
    }
}

/// A workspace to be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateRequest {
    /// Which.
    pub address: Address,
    /// How it is to be kept.
    pub changes: Changes,
    /// The snapshot to go back to.
    pub current_snapshot_id: Option<SnapshotId>,
    /// How that one is started.
    pub start: Start,
}

impl UpdateRequest {
    /// Decodes `{name, tenant?, currentSnapshotId?, acceptStale?, persistent?, retention?, hooks?, expiry?, dependsOn?,
    /// env?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let named = Named::take(&mut fields)?;
        let (changes, snapshot) = (Changes::take(&mut fields)?, fields.text("currentSnapshotId")?);
        let start = Start { accept_stale: fields.flag("acceptStale")?, ..Start::default() };
        fields.end()?;
        let address = named.check()?;
        let current_snapshot_id = snapshot.as_deref().map(SnapshotId::parse).transpose()?;
        changes.check()?;
        if current_snapshot_id.is_none() && changes == Changes::default() {
            return Err(invalid("Nothing is given that could be changed", "Give what is to be another from now on."));
        }
        Ok(Self { address, changes, current_snapshot_id, start })
    }
}

/// A page of a tenant's workspaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamesRequest {
    /// Whose.
    pub tenant: Tenant,
    /// The name behind which the page begins.
    pub cursor: Option<WorkspaceName>,
    /// How many are on it at most.
    pub limit: u32,
    /// How their names begin.
    pub prefix: Option<String>,
}

impl NamesRequest {
    /// How many workspaces a page has, where the caller does not say.
    pub const LIMIT: u32 = 100;
    /// The most that a page can have.
    pub const MAX_LIMIT: u32 = 1000;

    /// Decodes `{tenant?, cursor?, limit?, prefix?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (tenant, cursor) = (fields.text("tenant")?, fields.text("cursor")?);
        let (limit, prefix) = (fields.number("limit")?.unwrap_or(Self::LIMIT.into()), fields.text("prefix")?);
        fields.end()?;
        let begin_again = |_| invalid("`cursor` is not one that list() answered", "Begin again without a cursor.");
        let limit = u32::try_from(limit).ok().filter(|limit| (1..=Self::MAX_LIMIT).contains(limit));
        Ok(Self {
            tenant: checked_tenant(tenant.as_deref())?,
            cursor: cursor.as_deref().map(WorkspaceName::parse).transpose().map_err(begin_again)?,
            limit: limit.ok_or_else(|| {
                let most = Self::MAX_LIMIT;
                invalid("`limit` is not one of a page", &format!("Give 1 to {most}, and go on with the cursor."))
            })?,
            prefix: prefix.filter(|prefix| !prefix.is_empty()),
        })
    }
}

/// What is to be another about a workspace; what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    /// See [`Settings::persistent`].
    pub persistent: Option<bool>,
    /// See [`Settings::retention`].
    pub retention: Option<Policy>,
    /// See [`Settings::hooks`]; all of them at once.
    pub hooks: Option<Hooks>,
    /// See [`Settings::expiry`].
    pub expiry: Option<Expiry>,
    /// See [`Settings::depends_on`].
    pub depends_on: Option<DependsOn>,
    /// See [`Settings::env`]; all of them at once.
    pub env: Option<BTreeMap<String, String>>,
}

impl Changes {
    fn take(fields: &mut Fields) -> Result<Self> {
        Ok(Self {
            persistent: fields.choice("persistent")?,
            retention: fields.object("retention")?,
            hooks: fields.object("hooks")?,
            expiry: fields.object("expiry")?,
            depends_on: fields.object("dependsOn")?,
            env: fields.object("env")?,
        })
    }

    /// The settings, with these changes.
    #[must_use]
    pub fn apply(self, settings: Settings) -> Settings {
        Settings {
            persistent: self.persistent.unwrap_or(settings.persistent),
            retention: self.retention.unwrap_or(settings.retention),
            hooks: self.hooks.unwrap_or(settings.hooks),
            expiry: self.expiry.unwrap_or(settings.expiry),
            depends_on: self.depends_on.unwrap_or(settings.depends_on),
            env: self.env.unwrap_or(settings.env),
            dir: settings.dir,
        }
    }

    fn check(&self) -> Result<()> {
        let any_dir = Directory::parse("/workspace")?;
        self.clone().apply(Settings::of(any_dir)).check()
    }
}

/// A name as it was given: its shape is right, and its content not yet looked at.
struct Named {
    name: String,
    tenant: Option<String>,
}

impl Named {
    fn take(fields: &mut Fields) -> Result<Self> {
        Ok(Self { name: fields.required("name")?, tenant: fields.text("tenant")? })
    }

    fn check(self) -> Result<Address> {
        Ok(Address { name: WorkspaceName::parse(&self.name)?, tenant: checked_tenant(self.tenant.as_deref())? })
    }
}

fn checked_tenant(tenant: Option<&str>) -> Result<Tenant> {
    tenant.map_or_else(|| Ok(Tenant::fallback()), Tenant::parse)
}

fn checked_fingerprint(fingerprint: Option<String>) -> Result<Option<String>> {
    let depends_on = DependsOn { fingerprint, ..DependsOn::default() };
    Changes { depends_on: Some(depends_on.clone()), ..Changes::default() }.check()?;
    Ok(depends_on.fingerprint)
}

fn take_start(fields: &mut Fields) -> Result<Start> {
    let on_diverged = fields.value("onDiverged").map(|word| json::read::<OnDiverged>(&word)).transpose();
    Ok(Start {
        on_diverged: on_diverged
            .map_err(|_| invalid("`onDiverged` is no choice", "Give \"fail\", \"keep\", \"save\" or \"discard\"."))?
            .unwrap_or_default(),
        allow_empty: fields.flag("allowEmpty")?,
        accept_stale: fields.flag("acceptStale")?,
        expect: fields.object("expect")?.unwrap_or_default(),
    })
}
