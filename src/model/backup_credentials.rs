//! The check of the credentials with which sandboxes store backups.

use super::Code;
use super::health::{HealthCheck, HealthComponent};
use super::web_origin::is_web_origin;

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

/// Why sandboxes sign no transfers: their archives pass through a Worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassesThrough {
    /// The var `LOCAL_BUCKET` is set.
    LocalBucket,
    /// All sandboxes are of the runtime `container`, whose class reads and writes the bucket.
    Containers,
}

/// Checks the credentials with which sandboxes of this Worker sign their transfers. `passes_through` says why none of them
/// does; `None` if one may. `value` returns the value of a variable or secret, which may be empty.
pub fn backup_credentials(
    passes_through: Option<PassesThrough>,
    value: impl Fn(&str) -> Option<String>,
) -> HealthCheck {
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
    match passes_through {
        Some(PassesThrough::LocalBucket) => {
            return HealthCheck::healthy(
                name,
                "LOCAL_BUCKET is set: backups pass through the Worker, and need no credentials.",
            );
        }
        Some(PassesThrough::Containers) => {
            return HealthCheck::healthy(name, "The runtime container needs no credentials.");
        }
        None => {}
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
