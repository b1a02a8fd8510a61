//! The health of a deployment.

use serde::{Deserialize, Serialize};

use super::{Code, Timestamp};

/// The health of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Health {
    /// Whether no check failed.
    pub ok: bool,
    /// The version of sandbox-snapshotter.
    pub version: String,
    /// The current time of the deployment.
    pub time: Timestamp,
    /// The checks, in the order in which they ran.
    pub checks: Vec<HealthCheck>,
}

impl Health {
    /// Returns the health of a version of the Worker, from its checks.
    pub fn new(version: &str, time: Timestamp, checks: Vec<HealthCheck>) -> Self {
        let ok = checks.iter().all(|check| check.ok != Some(false));
        Self { ok, version: version.to_owned(), time, checks }
    }
}

/// The check of one component. It contains no configured values, only the names of variables and whether they are set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HealthCheck {
    /// The component.
    pub name: HealthComponent,
    /// Whether the component works; absent if it is optional and missing, or cannot be checked from this Worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The code with which operations fail because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// What was found.
    pub detail: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
}

/// A component of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum HealthComponent {
    /// The variables that the Worker reads.
    Config,
    /// The R2 bucket that contains the backups.
    Bucket,
    /// The Durable Object namespace of the sandboxes.
    Sandboxes,
    /// The Durable Object namespaces of the Worker's own workspaces.
    Workspaces,
    /// The list of named workspaces.
    Directory,
    /// The platform snapshots that are the only copy of a workspace's files, in the default tenant.
    PlatformSnapshots,
    /// The workspaces whose automatic saves fail, in the default tenant.
    Autosaves,
    /// The token of the HTTP API.
    ApiToken,
    /// The credentials with which sandboxes sign their transfers to the bucket.
    BackupCredentials,
    /// The Analytics Engine dataset that counts operations.
    Metrics,
}

impl HealthComponent {
    /// Returns whether the check of the component names workspaces of the default tenant.
    pub const fn names_workspaces(self) -> bool {
        match self {
            Self::PlatformSnapshots | Self::Autosaves => true,
            Self::Config
            | Self::Bucket
            | Self::Sandboxes
            | Self::Workspaces
            | Self::Directory
            | Self::ApiToken
            | Self::BackupCredentials
            | Self::Metrics => false,
        }
    }
}

impl HealthCheck {
    /// A check that passed.
    pub fn healthy(name: HealthComponent, detail: impl Into<String>) -> Self {
        Self { name, ok: Some(true), code: None, detail: detail.into(), remediation: None }
    }

    /// A check that failed: operations fail because of this component.
    pub fn unhealthy(
        name: HealthComponent,
        code: Code,
        detail: impl Into<String>,
        remediation: impl Into<String>,
    ) -> Self {
        let (detail, remediation) = (detail.into(), Some(remediation.into()));
        Self { name, ok: Some(false), code: Some(code), detail, remediation }
    }

    /// A check without a result: the component is optional and missing, or cannot be checked from this Worker.
    pub fn undetermined(name: HealthComponent, detail: impl Into<String>, remediation: impl Into<String>) -> Self {
        Self { name, ok: None, code: None, detail: detail.into(), remediation: Some(remediation.into()) }
    }
}
