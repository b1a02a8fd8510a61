//! The request to import a backup.

#[cfg(feature = "schema")]
use super::MIN_EXPIRATION;
use super::declare::request;
use super::{check_expiration, check_replace, parse_new_label};
#[cfg(feature = "schema")]
use crate::model::policy::MAX_EXPIRATION;
#[cfg(feature = "schema")]
use crate::model::schema::{needs, no_snapshot, replaces_label, zero_or};
use crate::model::{BackupHandle, Error, Label, Result, Runtime, SandboxId};

request! {
    /// The request to import a backup that the ledger does not list: one that the SDK created directly, or an earlier
    /// version of this product.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "ImportOptions", transform = needs(&["sandboxId", "backup"]), transform = replaces_label)
    )]
    pub struct ImportRequest {
        /// The sandbox that the backup was taken of.
        pub sandbox_id: SandboxId,
        /// The runtime of the sandbox. If the sandbox is new to the snapshotter: the deployment's default if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub runtime: Option<Runtime>,
        /// The handle that `createBackup` returned, or the record that `DirectoryBackup` of the SDK 1.0 returned.
        pub backup: BackupHandle = check_backup,
        /// The label of the snapshot, a name for people; derived from the time if absent.
        #[cfg_attr(feature = "schema", schemars(transform = no_snapshot))]
        pub label: Option<Label> = |text| text.as_deref().map(parse_new_label).transpose(),
        /// Whether to take the label from another snapshot that has it.
        pub replace: bool = |replace| check_replace(replace, label.as_ref()),
        /// The expiration, in seconds after the last use. 0 means never; if absent, the workspace's policy applies.
        #[cfg_attr(feature = "schema", schemars(transform = zero_or(MIN_EXPIRATION, MAX_EXPIRATION)))]
        pub expiration_seconds: Option<u64> = check_expiration,
    }
}

impl ImportRequest {
    /// Returns a request to import a backup of a sandbox, with the handle that `createBackup` returned.
    pub const fn of(sandbox_id: SandboxId, backup: BackupHandle) -> Self {
        Self { sandbox_id, runtime: None, backup, label: None, replace: false, expiration_seconds: None }
    }
}

fn check_backup(backup: Option<BackupHandle>) -> Result<BackupHandle> {
    let refuse = |what| Error::invalid_argument(what, "Pass the handle that createBackup() returned.");
    let backup = backup.ok_or_else(|| refuse("`backup` is missing"))?;
    if backup.is_javascript_safe() {
        Ok(backup)
    } else {
        Err(refuse("`backup` has a number or a field `__proto__` that JavaScript would change"))
    }
}
