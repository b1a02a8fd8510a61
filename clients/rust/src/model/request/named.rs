//! The requests of operations on named workspaces.

use serde::Deserialize;
use serde_json::Value;

use super::declare::{Content, Field, decode, request};
use super::fields::Fields;
use super::settings_update::SettingsUpdate;
use super::snapshot_text::{ForkFrom, PromoteFrom, SnapshotText};
#[cfg(feature = "schema")]
use super::{MAX_EXPIRATION, MAX_KEY_CHARS, MIN_EXPIRATION};
use super::{check_expiration, check_key, check_range, check_replace, parse_new_label, refuse_memory};
#[cfg(feature = "schema")]
use crate::model::named::settings::MAX_FINGERPRINT;
use crate::model::named::settings::{DependsOn, OnDiverged, OnImageChange, StartSettings};
use crate::model::named::{Address, Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{
    NO_CONTROL, SnapshotOrLabel, closed, extends, needs, no_snapshot, replaces_label, some_of, zero_or,
};
use crate::model::{Error, Label, Result, Runtime, SecretsMode, json};

impl Address {
    /// Decodes `{name, tenant?}`: the request of an operation that takes only the address of a workspace.
    pub fn decode(options: &Value) -> Result<Self> {
        decode(options)
    }
}

impl Field for Address {
    type Raw = (String, Option<String>);

    fn take(fields: &mut Fields, _: &str) -> Result<Self::Raw> {
        Ok((WorkspaceName::take(fields, "name")?, Tenant::take(fields, "tenant")?))
    }
}

impl Content for Address {
    fn check((name, tenant): Self::Raw) -> Result<Self> {
        Ok(Self { name: WorkspaceName::check(name)?, tenant: Tenant::check(tenant)? })
    }
}

impl Field for OnDiverged {
    type Raw = Self;

    fn take(fields: &mut Fields, name: &str) -> Result<Self> {
        let value = fields.value(name).map(|value| json::from_value(&value)).transpose();
        let value = value.map_err(|_| {
            let choices = "\"fail\", \"adopt\", \"rescue\" or \"discard\"";
            Error::invalid_argument(format!("`{name}` must be {choices}"), format!("Pass {choices}."))
        })?;
        Ok(value.unwrap_or_default())
    }
}

impl Content for OnDiverged {
    fn check(raw: Self) -> Result<Self> {
        Ok(raw)
    }
}

impl Field for OnImageChange {
    type Raw = Self;

    fn take(fields: &mut Fields, name: &str) -> Result<Self> {
        let value = fields.value(name).map(|value| json::from_value(&value)).transpose();
        let value = value.map_err(|_| {
            let choices = "\"fail\", \"report\" or \"allow\"";
            Error::invalid_argument(format!("`{name}` must be {choices}"), format!("Pass {choices}."))
        })?;
        Ok(value.unwrap_or_default())
    }
}

impl Content for OnImageChange {
    fn check(raw: Self) -> Result<Self> {
        Ok(raw)
    }
}

impl Field for StartSettings {
    type Raw = Self;

    fn take(fields: &mut Fields, _: &str) -> Result<Self> {
        Ok(Self {
            on_diverged: OnDiverged::take(fields, "onDiverged")?,
            allow_empty: fields.flag("allowEmpty")?,
            accept_stale: fields.flag("acceptStale")?,
            expect: fields.map("expect")?.unwrap_or_default(),
        })
    }
}

impl Content for StartSettings {
    fn check(raw: Self) -> Result<Self> {
        Ok(raw)
    }
}

request! {
    /// The request to start a workspace.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "StartWorkspaceOptions", transform = extends("WorkspaceAddress")),
        schemars(transform = extends("StartSettings"))
    )]
    pub struct StartRequest {
        /// The tenant and the name of the workspace.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub address: Address,
        /// The present fingerprint of the environment; unchanged if absent.
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_FINGERPRINT)))]
        pub fingerprint: Option<String> = check_fingerprint,
        /// The snapshot from which the workspace continues in a new sandbox: the id or the short ref of one of its lineage, or the
        /// label of one of its own. If absent, it continues with its newest files.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from: Option<SnapshotText>,
        /// An idempotency key: a repeated call with the same key starts the workspace without going back to `from` again.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL)))]
        pub idempotency_key: Option<String> = check_key,
        /// The start options.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub start: StartSettings,
    }
}

impl StartRequest {
    /// Returns a start request with default options: the start fails where the caller has to decide.
    pub fn of(address: Address) -> Self {
        Self { address, fingerprint: None, from: None, idempotency_key: None, start: StartSettings::default() }
    }
}

fn check_fingerprint(fingerprint: Option<String>) -> Result<Option<String>> {
    let depends_on = DependsOn { fingerprint, ..DependsOn::default() };
    SettingsUpdate { depends_on: Some(depends_on.clone()), ..SettingsUpdate::default() }.check_settings()?;
    Ok(depends_on.fingerprint)
}

request! {
    /// The request to stop a workspace.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "StopWorkspaceOptions", transform = needs(&[]), transform = extends("WorkspaceAddress"))
    )]
    pub struct StopRequest {
        /// The tenant and the name of the workspace.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub address: Address,
        /// The options of the snapshot that the stop takes.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(transform = closed))]
        pub snapshot: Option<StopSnapshot>,
    }
    refuse refuse_memory;
}

impl StopRequest {
    /// Returns a request to stop a workspace. Its snapshot gets a label from the time.
    pub const fn of(address: Address) -> Self {
        Self { address, snapshot: None }
    }
}

request! {
    /// The options of the snapshot that a stop takes. It is taken even if the workspace is not persistent.
    #[derive(Default, Eq, Deserialize)]
    #[cfg_attr(feature = "schema", schemars(transform = needs(&[]), transform = replaces_label))]
    pub struct StopSnapshot {
        /// The label of the snapshot, a name for people; derived from the time if absent.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(transform = no_snapshot))]
        pub label: Option<Label> = |text| text.as_deref().map(parse_new_label).transpose(),
        /// Whether to take the label from another snapshot that has it.
        #[serde(default)]
        pub replace: bool = |replace| check_replace(replace, label.as_ref()),
        /// The expiration, in seconds after the last use. 0 means never; if absent, the workspace's policy applies.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(transform = zero_or(MIN_EXPIRATION, MAX_EXPIRATION)))]
        pub expiration_seconds: Option<u64> = check_expiration,
    }
}

impl Field for Option<StopSnapshot> {
    type Raw = Option<Value>;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.object(name)
    }
}

impl Content for Option<StopSnapshot> {
    fn check(raw: Self::Raw) -> Result<Self> {
        raw.as_ref().map(StopSnapshot::decode).transpose()
    }
}

request! {
    /// The request to fork a workspace: to create new workspaces from its present files.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "ForkWorkspaceOptions", transform = needs(&[]), transform = extends("WorkspaceAddress"))
    )]
    pub struct ForkRequest {
        /// The tenant and the name of the workspace to fork.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub address: Address,
        /// The name of the fork; several forks are named `<newName>-1`, `<newName>-2`… If absent, the Worker generates a
        /// name.
        pub new_name: Option<WorkspaceName>,
        /// The number of forks; 1 if absent.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_COUNT), extend("default" = 1)))]
        pub count: u32 = Self::check_count,
        /// Where the forks begin: `latest` for the newest snapshot, without a new capture, the id or the short ref of a snapshot of
        /// the workspace's lineage, or the label of one of its own. If absent, with the present files.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<SnapshotOrLabel>"))]
        pub from: Option<ForkFrom>,
        /// Whether to copy the environment variables, which may be secrets, to the forks.
        pub copy_env: bool,
        /// What to do with files that seem to contain secrets: `exclude` leaves them out of the forks. The workspace must be
        /// active, and there must be no `from`. If absent, they are copied, and not searched for.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub secrets: Option<SecretsMode> = |text| text.as_deref().map(SecretsMode::parse).transpose(),
        /// The runtime of the forks; that of the workspace if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub runtime: Option<Runtime>,
        /// An idempotency key: a repeated call with the same key gets the same workspaces.
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL)))]
        pub idempotency_key: Option<String> = check_key,
    }
    refuse refuse_memory;
    rule Self::check_secrets;
}

impl ForkRequest {
    /// The maximum number of forks per call.
    pub const MAX_COUNT: u32 = 100;

    /// Returns a request for one fork with a generated name.
    pub const fn of(address: Address) -> Self {
        Self {
            address,
            new_name: None,
            count: 1,
            from: None,
            copy_env: false,
            secrets: None,
            runtime: None,
            idempotency_key: None,
        }
    }

    fn check_secrets(&self) -> Result<()> {
        if self.secrets.is_none() || self.from.is_none() {
            return Ok(());
        }
        Err(Error::invalid_argument(
            "`secrets` and `from` exclude each other: only present files are searched",
            "Omit `from` while the workspace is active, or fork from a snapshot that was taken with `secrets`.",
        ))
    }

    fn check_count(count: Option<u64>) -> Result<u32> {
        check_range("count", count.unwrap_or(1), 1..=Self::MAX_COUNT, |most| {
            format!("Pass 1 to {most}; call again for more.")
        })
    }
}

request! {
    /// The request to migrate a workspace: to stop it, and to move it to another runtime.
    #[derive(Eq)]
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "MigrateWorkspaceOptions", transform = needs(&["runtime"])),
        schemars(transform = extends("WorkspaceAddress"))
    )]
    pub struct MigrateRequest {
        /// The tenant and the name of the workspace.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub address: Address,
        /// The runtime in which the next start restores the files.
        pub runtime: Runtime,
    }
}

request! {
    /// The request to update a workspace: to change its settings, or to go back to an earlier snapshot.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "UpdateWorkspaceOptions", transform = needs(&[])),
        schemars(transform = some_of(&["persistent", "storage", "durable", "incremental", "retention", "hooks", "expiry", "autosave", "dependsOn", "env", "currentSnapshotId"], "image")),
        schemars(transform = extends("WorkspaceAddress"), transform = extends("WorkspaceSettings"))
    )]
    pub struct UpdateRequest {
        /// The tenant and the name of the workspace.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub address: Address,
        /// The snapshot to go back to, in a new sandbox: the id or the short ref of one of the lineage, or the label of one of the
        /// workspace's own.
        pub current_snapshot_id: Option<SnapshotText>,
        /// The settings to change.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub settings: SettingsUpdate,
        /// Whether to go back to the snapshot although it is stale.
        pub accept_stale: bool,
    }
    rule Self::check_changes;
}

impl UpdateRequest {
    /// Returns a request to change settings.
    pub fn of(address: Address, settings: SettingsUpdate) -> Self {
        Self { address, settings, current_snapshot_id: None, accept_stale: false }
    }

    fn check_changes(&self) -> Result<()> {
        if self.current_snapshot_id.is_none() && self.settings == SettingsUpdate::default() {
            return Err(Error::invalid_argument(
                "The arguments contain nothing to change",
                "Pass a setting or `currentSnapshotId`.",
            ));
        }
        Ok(())
    }
}

request! {
    /// The request to promote another workspace, or a snapshot, to a workspace.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "PromoteWorkspaceOptions", transform = needs(&["from"])),
        schemars(transform = extends("WorkspaceAddress"))
    )]
    pub struct PromoteRequest {
        /// The tenant and the name of the workspace that gets the files.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub address: Address,
        /// The source of the files, of the same lineage: the name of a workspace, the id or the short ref of a snapshot, or the label
        /// of one of the workspace's own. A text with the form of an id or a short ref is one, and the name of a workspace is no label.
        #[cfg_attr(feature = "schema", schemars(with = "SnapshotOrLabel"))]
        pub from: PromoteFrom,
        /// Whether to promote the snapshot although it is stale.
        pub accept_stale: bool,
        /// An idempotency key: a repeated call with the same key promotes nothing again.
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL)))]
        pub idempotency_key: Option<String> = check_key,
    }
    refuse refuse_memory;
}

impl PromoteRequest {
    /// Returns a request to promote `from` to the workspace at `address`.
    pub const fn of(address: Address, from: PromoteFrom) -> Self {
        Self { address, from, accept_stale: false, idempotency_key: None }
    }
}
