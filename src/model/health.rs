//! Whether a deployment is fit for work.

use serde::{Deserialize, Serialize};

use super::origin::is_origin;
use super::{Code, Timestamp};

/// What was found of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Health {
    /// Whether nothing was found that is wrong.
    pub ok: bool,
    /// The version of the snapshotter.
    pub version: String,
    /// What time it is there.
    pub time: Timestamp,
    /// What was looked at, in its order.
    pub checks: Vec<HealthCheck>,
}

impl Health {
    /// That of this version, from what was looked at.
    pub fn of(time: Timestamp, checks: Vec<HealthCheck>) -> Self {
        let ok = checks.iter().all(|check| check.ok != Some(false));
        Self { ok, version: env!("CARGO_PKG_VERSION").to_owned(), time, checks }
    }
}

/// One part of a deployment. It tells of no configured value: names and absences only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HealthCheck {
    /// The part.
    pub name: Part,
    /// Whether it is right; absent where it need not be there, or can't be judged from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The code that operations fail with because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// What was found.
    pub detail: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
}

/// A part of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Part {
    /// The vars that the Worker reads.
    Config,
    /// The R2 bucket that backups are in.
    Bucket,
    /// The Durable Object namespace of the sandboxes.
    Sandboxes,
    /// The Durable Object namespaces of the Worker's own workspaces.
    Workspaces,
    /// The list of named workspaces.
    Directory,
    /// The token of the HTTP API.
    ApiToken,
    /// What sandboxes sign their transfers to the bucket with.
    BackupCredentials,
    /// The Analytics Engine dataset that operations are counted in.
    Metrics,
}

impl HealthCheck {
    /// A part that is right.
    pub fn right(name: Part, detail: impl Into<String>) -> Self {
        Self { name, ok: Some(true), code: None, detail: detail.into(), remediation: None }
    }

    /// A part that operations fail because of.
    pub fn wrong(name: Part, code: Code, detail: impl Into<String>, remediation: impl Into<String>) -> Self {
        let (detail, remediation) = (detail.into(), Some(remediation.into()));
        Self { name, ok: Some(false), code: Some(code), detail, remediation }
    }

    /// A part that need not be there, or that can't be judged from here.
    pub fn open(name: Part, detail: impl Into<String>, remediation: impl Into<String>) -> Self {
        Self { name, ok: None, code: None, detail: detail.into(), remediation: Some(remediation.into()) }
    }
}

/// The vars and secrets that sandboxes sign their transfers with; any one of the names in a row will do.
///
/// Source: the environment that `createBackup` of @cloudflare/sandbox 0.12.10 reads.
const CREDENTIALS: [&[&str]; 4] = [
    &["BACKUP_BUCKET_NAME"],
    &["R2_ACCESS_KEY_ID"],
    &["R2_SECRET_ACCESS_KEY"],
    &["CLOUDFLARE_R2_ACCOUNT_ID", "CLOUDFLARE_ACCOUNT_ID"],
];

/// The var with the endpoint of a bucket that has one of its own. The class of the sandboxes refuses to work with another one
/// than it takes.
const ENDPOINT: &str = "BACKUP_BUCKET_ENDPOINT";

/// Judges what sandboxes of this Worker would sign their transfers with. `value` is that of a var or secret, which may be empty.
pub fn backup_credentials(local_bucket: bool, value: impl Fn(&str) -> Option<String>) -> HealthCheck {
    let name = Part::BackupCredentials;
    let is_set = |name: &str| value(name).is_some_and(|value| !value.is_empty());
    if value(ENDPOINT).is_some_and(|endpoint| !(endpoint.starts_with("https://") && is_origin(&endpoint))) {
        return HealthCheck::wrong(
            name,
            Code::BackupConfigInvalid,
            format!("{ENDPOINT} is not an https origin: every call of a sandbox fails."),
            "Set it to one without a path, such as https://<account id>.eu.r2.cloudflarestorage.com, or leave it out.",
        );
    }
    if local_bucket {
        return HealthCheck::right(name, "LOCAL_BUCKET is set: backups pass through the Worker, and need none.");
    }
    let missing: Vec<String> = CREDENTIALS
        .iter()
        .filter(|names| !names.iter().any(|name| is_set(name)))
        .map(|names| names.join(" or "))
        .collect();
    let secrets = ["R2_ACCESS_KEY_ID", "R2_SECRET_ACCESS_KEY"];
    if missing.is_empty() {
        HealthCheck::right(name, "All of them are set. Whether R2 accepts them shows with the first snapshot.")
    } else if secrets.iter().any(|name| is_set(name)) {
        HealthCheck::wrong(
            name,
            Code::BackupConfigInvalid,
            format!("Missing on this Worker: {}.", missing.join(", ")),
            "Set secrets with `wrangler secret put <NAME>`, and BACKUP_BUCKET_NAME as a var.",
        )
    } else {
        HealthCheck::open(
            name,
            format!("Not on this Worker: {}.", missing.join(", ")),
            "That is right where another Worker exports the class of the sandboxes: they belong there. Otherwise set them with \
             `wrangler secret put <NAME>`.",
        )
    }
}
