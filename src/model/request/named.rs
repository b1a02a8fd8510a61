//! Requests about named workspaces.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "schema")]
use super::MAX_KEY;
use super::changes::Changes;
use super::fields::Fields;
use super::{idempotency_key, invalid, no_memory};
use crate::model::named::messages::{OnDiverged, Start};
use crate::model::named::settings::DependsOn;
#[cfg(feature = "schema")]
use crate::model::named::settings::MAX_FINGERPRINT;
use crate::model::named::{Address, Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, extends, needs, some_of};
use crate::model::{Result, SnapshotId, json};

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

/// A workspace to be started.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "StartWorkspaceOptions", rename_all = "camelCase"),
    schemars(transform = extends("WorkspaceAddress"), transform = extends("StartSettings"))
)]
pub struct StartRequest {
    /// Which.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub address: Address,
    /// What the world is like now; unchanged where absent.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_FINGERPRINT)))]
    pub fingerprint: Option<String>,
    /// How.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub start: Start,
}

impl StartRequest {
    /// A start that fails where anything is to be decided.
    pub fn of(address: Address) -> Self {
        Self { address, fingerprint: None, start: Start::default() }
    }

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
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ForkWorkspaceOptions", rename_all = "camelCase"),
    schemars(transform = needs(&[]), transform = extends("WorkspaceAddress"))
)]
pub struct ForkRequest {
    /// Of which.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub address: Address,
    /// What the fork is called; `<newName>-1`, `<newName>-2`… where there are several. Minted where absent.
    pub new_name: Option<WorkspaceName>,
    /// How many; one where absent.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MOST), extend("default" = 1)))]
    pub count: u32,
    /// Whether they get the environment variables, which may be secrets.
    pub copy_env: bool,
    /// A key by which the same call can be made again, and gets the same workspaces.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY), regex(pattern = NO_CONTROL)))]
    pub idempotency_key: Option<String>,
}

impl ForkRequest {
    /// The most forks of one call.
    pub const MOST: u32 = 100;

    /// One fork, of a name that is minted.
    pub const fn of(address: Address) -> Self {
        Self { address, new_name: None, count: 1, copy_env: false, idempotency_key: None }
    }

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
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "UpdateWorkspaceOptions", rename_all = "camelCase"),
    schemars(transform = needs(&[]), transform = some_of(&["persistent", "retention", "hooks", "expiry", "dependsOn", "env", "currentSnapshotId"]), transform = extends("WorkspaceAddress"), transform = extends("WorkspaceSettings"))
)]
pub struct UpdateRequest {
    /// Which.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub address: Address,
    /// How it is to be kept.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub changes: Changes,
    /// The snapshot to go back to.
    pub current_snapshot_id: Option<SnapshotId>,
    /// How that one is started.
    #[cfg_attr(
        feature = "schema",
        schemars(
            rename = "acceptStale",
            with = "bool",
            description = "Whether it goes back although that one is stale."
        )
    )]
    pub start: Start,
}

impl UpdateRequest {
    /// These changes.
    pub fn of(address: Address, changes: Changes) -> Self {
        Self { address, changes, current_snapshot_id: None, start: Start::default() }
    }

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
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ListWorkspacesOptions"),
    schemars(transform = needs(&[]))
)]
pub struct NamesRequest {
    /// Whose; the default tenant's where absent.
    pub tenant: Tenant,
    /// The name behind which the page begins.
    pub cursor: Option<WorkspaceName>,
    /// How many are on it at most.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::LIMIT)))]
    pub limit: u32,
    /// How their names begin.
    pub prefix: Option<String>,
}

impl NamesRequest {
    /// How many workspaces a page has, where the caller does not say.
    pub const LIMIT: u32 = 100;
    /// The most that a page can have.
    pub const MAX_LIMIT: u32 = 1000;

    /// The first workspaces of a tenant.
    pub const fn of(tenant: Tenant) -> Self {
        Self { tenant, cursor: None, limit: Self::LIMIT, prefix: None }
    }

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

/// A name as it was given: its shape is right, and its content not yet looked at.
pub(super) struct Named {
    name: String,
    tenant: Option<String>,
}

impl Named {
    pub fn take(fields: &mut Fields) -> Result<Self> {
        Ok(Self { name: fields.required("name")?, tenant: fields.text("tenant")? })
    }

    pub fn check(self) -> Result<Address> {
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

pub(super) fn take_start(fields: &mut Fields) -> Result<Start> {
    let on_diverged = fields.value("onDiverged").map(|word| json::read::<OnDiverged>(&word)).transpose();
    Ok(Start {
        on_diverged: on_diverged
            .map_err(|_| invalid("`onDiverged` is no choice", "Give \"fail\", \"keep\", \"save\" or \"discard\"."))?
            .unwrap_or_default(),
        allow_empty: fields.flag("allowEmpty")?,
        accept_stale: fields.flag("acceptStale")?,
        expect: fields.map("expect")?.unwrap_or_default(),
    })
}
