//! The requests of operations on named workspaces.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "schema")]
use super::MAX_KEY_CHARS;
use super::fields::Fields;
use super::settings_update::SettingsUpdate;
use super::{idempotency_key, invalid, refuse_memory};
use crate::model::named::messages::{OnDiverged, StartSettings};
use crate::model::named::settings::DependsOn;
#[cfg(feature = "schema")]
use crate::model::named::settings::MAX_FINGERPRINT;
use crate::model::named::{Address, Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, extends, needs, some_of};
use crate::model::{Result, SnapshotId, json};

impl Address {
    /// Decodes `{name, tenant?}`: the request of an operation that takes only the address of a workspace.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let address = AddressFields::from_fields(&mut fields)?;
        fields.finish()?;
        address.check()
    }
}

/// The request to start a workspace.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "StartWorkspaceOptions", rename_all = "camelCase"),
    schemars(transform = extends("WorkspaceAddress"), transform = extends("StartSettings"))
)]
pub struct StartRequest {
    /// The tenant and the name of the workspace.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub address: Address,
    /// The present fingerprint of the environment; unchanged if absent.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_FINGERPRINT)))]
    pub fingerprint: Option<String>,
    /// The start options.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub start: StartSettings,
}

impl StartRequest {
    /// Returns a start request with default options: the start fails where the caller has to decide.
    pub fn of(address: Address) -> Self {
        Self { address, fingerprint: None, start: StartSettings::default() }
    }

    /// Decodes `{name, tenant?, fingerprint?, onDiverged?, allowEmpty?, acceptStale?, expect?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let address = AddressFields::from_fields(&mut fields)?;
        let (start, fingerprint) = (parse_start(&mut fields)?, fields.string("fingerprint")?);
        fields.finish()?;
        Ok(Self { address: address.check()?, fingerprint: check_fingerprint(fingerprint)?, start })
    }
}

/// The request to stop a workspace.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transparent))]
pub struct StopRequest {
    /// The tenant and the name of the workspace.
    pub address: Address,
}

impl StopRequest {
    /// Decodes `{name, tenant?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let address = AddressFields::from_fields(&mut fields)?;
        refuse_memory(&mut fields)?;
        fields.finish()?;
        Ok(Self { address: address.check()? })
    }
}

/// The request to fork a workspace: to create new workspaces from its present files.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ForkWorkspaceOptions", rename_all = "camelCase"),
    schemars(transform = needs(&[]), transform = extends("WorkspaceAddress"))
)]
pub struct ForkRequest {
    /// The tenant and the name of the workspace to fork.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub address: Address,
    /// The name of the fork; several forks are named `<newName>-1`, `<newName>-2`… If absent, the Worker generates a
    /// name.
    pub new_name: Option<WorkspaceName>,
    /// The number of forks; 1 if absent.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_COUNT), extend("default" = 1)))]
    pub count: u32,
    /// Whether to copy the environment variables, which may be secrets, to the forks.
    pub copy_env: bool,
    /// An idempotency key: a repeated call with the same key gets the same workspaces.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL)))]
    pub idempotency_key: Option<String>,
}

impl ForkRequest {
    /// The maximum number of forks per call.
    pub const MAX_COUNT: u32 = 100;

    /// Returns a request for one fork with a generated name.
    pub const fn of(address: Address) -> Self {
        Self { address, new_name: None, count: 1, copy_env: false, idempotency_key: None }
    }

    /// Decodes `{name, tenant?, newName?, count?, copyEnv?, idempotencyKey?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let address = AddressFields::from_fields(&mut fields)?;
        refuse_memory(&mut fields)?;
        let (new_name, count) = (fields.string("newName")?, fields.number("count")?.unwrap_or(1));
        let (copy_env, key) = (fields.flag("copyEnv")?, fields.string("idempotencyKey")?);
        fields.finish()?;
        let allowed = u32::try_from(count).ok().filter(|count| (1..=Self::MAX_COUNT).contains(count));
        Ok(Self {
            address: address.check()?,
            new_name: new_name.as_deref().map(WorkspaceName::parse).transpose()?,
            count: allowed.ok_or_else(|| {
                let most = Self::MAX_COUNT;
                invalid(
                    &format!("`count` must be 1–{most}, got {count}"),
                    &format!("Pass 1 to {most}; call again for more."),
                )
            })?,
            copy_env,
            idempotency_key: idempotency_key(key)?,
        })
    }
}

/// The request to update a workspace: to change its settings, or to go back to an earlier snapshot.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "UpdateWorkspaceOptions", rename_all = "camelCase"),
    schemars(transform = needs(&[]), transform = some_of(&["persistent", "retention", "hooks", "expiry", "dependsOn", "env", "currentSnapshotId"]), transform = extends("WorkspaceAddress"), transform = extends("WorkspaceSettings"))
)]
pub struct UpdateRequest {
    /// The tenant and the name of the workspace.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub address: Address,
    /// The settings to change.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub settings: SettingsUpdate,
    /// The id of the snapshot to go back to, in a new sandbox.
    pub current_snapshot_id: Option<SnapshotId>,
    /// The start options for the return to the snapshot.
    #[cfg_attr(
        feature = "schema",
        schemars(
            rename = "acceptStale",
            with = "bool",
            description = "Whether to go back to the snapshot although it is stale."
        )
    )]
    pub start: StartSettings,
}

impl UpdateRequest {
    /// Returns a request to change settings.
    pub fn of(address: Address, settings: SettingsUpdate) -> Self {
        Self { address, settings, current_snapshot_id: None, start: StartSettings::default() }
    }

    /// Decodes `{name, tenant?, currentSnapshotId?, acceptStale?, persistent?, retention?, hooks?, expiry?, dependsOn?,
    /// env?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let address = AddressFields::from_fields(&mut fields)?;
        let (settings, snapshot) = (SettingsUpdate::from_fields(&mut fields)?, fields.string("currentSnapshotId")?);
        let start = StartSettings { accept_stale: fields.flag("acceptStale")?, ..StartSettings::default() };
        fields.finish()?;
        let address = address.check()?;
        let current_snapshot_id = snapshot.as_deref().map(SnapshotId::parse).transpose()?;
        settings.check()?;
        if current_snapshot_id.is_none() && settings == SettingsUpdate::default() {
            return Err(invalid("The arguments contain nothing to change", "Pass a setting or `currentSnapshotId`."));
        }
        Ok(Self { address, settings, current_snapshot_id, start })
    }
}

/// The request for a page of a tenant's workspaces, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ListWorkspacesOptions"),
    schemars(transform = needs(&[]))
)]
pub struct ListWorkspacesRequest {
    /// The tenant; the default tenant if absent.
    pub tenant: Tenant,
    /// The cursor of the previous page: the page begins after this name.
    pub cursor: Option<WorkspaceName>,
    /// The maximum number of workspaces on the page.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::DEFAULT_LIMIT)))]
    pub limit: u32,
    /// The prefix that the names of the workspaces must have.
    pub prefix: Option<String>,
}

impl ListWorkspacesRequest {
    /// The default number of workspaces on a page.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The maximum number of workspaces on a page.
    pub const MAX_LIMIT: u32 = 1000;

    /// Returns a request for the first page of a tenant's workspaces.
    pub const fn of(tenant: Tenant) -> Self {
        Self { tenant, cursor: None, limit: Self::DEFAULT_LIMIT, prefix: None }
    }

    /// Decodes `{tenant?, cursor?, limit?, prefix?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (tenant, cursor) = (fields.string("tenant")?, fields.string("cursor")?);
        let (limit, prefix) = (fields.number("limit")?.unwrap_or(Self::DEFAULT_LIMIT.into()), fields.string("prefix")?);
        fields.finish()?;
        let invalid_cursor =
            |_| invalid("`cursor` is not a cursor that list() returned", "Start again without a cursor.");
        let allowed = u32::try_from(limit).ok().filter(|limit| (1..=Self::MAX_LIMIT).contains(limit));
        Ok(Self {
            tenant: parse_tenant(tenant.as_deref())?,
            cursor: cursor.as_deref().map(WorkspaceName::parse).transpose().map_err(invalid_cursor)?,
            limit: allowed.ok_or_else(|| {
                let remediation = format!("Pass 1 to {}, and continue with the cursor of the answer.", Self::MAX_LIMIT);
                invalid(&format!("`limit` must be 1–{}, got {limit}", Self::MAX_LIMIT), &remediation)
            })?,
            prefix: prefix.filter(|prefix| !prefix.is_empty()),
        })
    }
}

/// The fields of an [`Address`] as the caller passed them: their types are verified, their content is not.
pub(super) struct AddressFields {
    name: String,
    tenant: Option<String>,
}

impl AddressFields {
    pub fn from_fields(fields: &mut Fields) -> Result<Self> {
        Ok(Self { name: fields.required("name")?, tenant: fields.string("tenant")? })
    }

    pub fn check(self) -> Result<Address> {
        Ok(Address { name: WorkspaceName::parse(&self.name)?, tenant: parse_tenant(self.tenant.as_deref())? })
    }
}

fn parse_tenant(tenant: Option<&str>) -> Result<Tenant> {
    tenant.map_or_else(|| Ok(Tenant::default_tenant()), Tenant::parse)
}

fn check_fingerprint(fingerprint: Option<String>) -> Result<Option<String>> {
    let depends_on = DependsOn { fingerprint, ..DependsOn::default() };
    SettingsUpdate { depends_on: Some(depends_on.clone()), ..SettingsUpdate::default() }.check()?;
    Ok(depends_on.fingerprint)
}

pub(super) fn parse_start(fields: &mut Fields) -> Result<StartSettings> {
    let on_diverged = fields.value("onDiverged").map(|value| json::from_value::<OnDiverged>(&value)).transpose();
    Ok(StartSettings {
        on_diverged: on_diverged
            .map_err(|_| {
                let choices = "\"fail\", \"adopt\", \"rescue\" or \"discard\"";
                invalid(&format!("`onDiverged` must be {choices}"), &format!("Pass {choices}."))
            })?
            .unwrap_or_default(),
        allow_empty: fields.flag("allowEmpty")?,
        accept_stale: fields.flag("acceptStale")?,
        expect: fields.map("expect")?.unwrap_or_default(),
    })
}
