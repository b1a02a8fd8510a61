//! The health of a deployment.

use serde::{Deserialize, Serialize};

use super::web_origin::is_web_origin;
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
    /// Returns the health of this version, from its checks.
    pub fn new(time: Timestamp, checks: Vec<HealthCheck>) -> Self {
        let ok = checks.iter().all(|check| check.ok != Some(false));
        Self { ok, version: env!("CARGO_PKG_VERSION").to_owned(), time, checks }
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
    /// The token of the HTTP API.
    ApiToken,
    /// The credentials with which sandboxes sign their transfers to the bucket.
    BackupCredentials,
    /// The Analytics Engine dataset that counts operations.
    Metrics,
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

/// The variables and secrets with which sandboxes sign their transfers. Each row needs one of its names.
///
/// Source: the environment that `createBackup` of @cloudflare/sandbox 0.12.10 reads.
const CREDENTIALS: [&[&str]; 4] = [
    &["BACKUP_BUCKET_NAME"],
    &["R2_ACCESS_KEY_ID"],
    &["R2_SECRET_ACCESS_KEY"],
    &["CLOUDFLARE_R2_ACCOUNT_ID", "CLOUDFLARE_ACCOUNT_ID"],
];

/// The variable with the endpoint of a bucket that has its own. The class of the sandboxes fails every call when the
/// value is not one that it accepts.
const ENDPOINT: &str = "BACKUP_BUCKET_ENDPOINT";

/// Checks the credentials with which sandboxes of this Worker sign their transfers. `value` returns the value of a
/// variable or secret, which may be empty.
pub fn backup_credentials(local_bucket: bool, value: impl Fn(&str) -> Option<String>) -> HealthCheck {
    let name = HealthComponent::BackupCredentials;
    let is_set = |name: &str| value(name).is_some_and(|value| !value.is_empty());
    if value(ENDPOINT).is_some_and(|endpoint| !(endpoint.starts_with("https://") && is_web_origin(&endpoint))) {
        return HealthCheck::unhealthy(
            name,
            Code::BackupConfigInvalid,
            format!("{ENDPOINT} is not an https origin: every call to a sandbox fails."),
            "Set it to an origin without a path, such as https://<account id>.eu.r2.cloudflarestorage.com, or remove it.",
        );
    }
    if local_bucket {
        return HealthCheck::healthy(
            name,
            "LOCAL_BUCKET is set: backups pass through the Worker, and need no credentials.",
        );
    }
    let missing: Vec<String> = CREDENTIALS
        .iter()
        .filter(|names| !names.iter().any(|name| is_set(name)))
        .map(|names| names.join(" or "))
        .collect();
    let secrets = ["R2_ACCESS_KEY_ID", "R2_SECRET_ACCESS_KEY"];
    if missing.is_empty() {
        HealthCheck::healthy(name, "All credentials are set. The first snapshot shows whether R2 accepts them.")
    } else if secrets.iter().any(|name| is_set(name)) {
        HealthCheck::unhealthy(
            name,
            Code::BackupConfigInvalid,
            format!("Missing on this Worker: {}.", missing.join(", ")),
            "Set secrets with `wrangler secret put <NAME>`, and BACKUP_BUCKET_NAME as a var.",
        )
    } else {
        HealthCheck::undetermined(
            name,
            format!("Not set on this Worker: {}.", missing.join(", ")),
            "If another Worker exports the class of the sandboxes, set them on that Worker. Otherwise set them on this Worker, \
             with `wrangler secret put <NAME>`.",
        )
    }
}
