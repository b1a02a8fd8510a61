//! The request to import a backup.

use serde_json::Value;

#[cfg(feature = "schema")]
use super::MIN_EXPIRATION;
use super::fields::Fields;
use super::{check_expiration, invalid, parse_label};
#[cfg(feature = "schema")]
use crate::model::policy::MAX_EXPIRATION;
#[cfg(feature = "schema")]
use crate::model::schema::{needs, replaces_label, zero_or};
use crate::model::{BackupHandle, Label, Result, SandboxId};

/// The request to import a backup that the ledger does not list: one that the SDK created directly, or an earlier
/// version of this product.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ImportOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["sandboxId", "backup"]), transform = replaces_label)
)]
pub struct ImportRequest {
    /// The sandbox that the backup was taken of.
    pub sandbox_id: SandboxId,
    /// The handle that `createBackup` returned.
    pub backup: BackupHandle,
    /// The label of the snapshot, a name for people; derived from the time if absent.
    pub label: Option<Label>,
    /// Whether to take the label from another snapshot that has it.
    pub replace: bool,
    /// The expiration, in seconds after the last use. 0 means never; if absent, the workspace's policy applies.
    #[cfg_attr(feature = "schema", schemars(transform = zero_or(MIN_EXPIRATION, MAX_EXPIRATION)))]
    pub expiration_seconds: Option<u64>,
}

impl ImportRequest {
    /// Returns a request to import a backup of a sandbox, with the handle that `createBackup` returned.
    pub const fn of(sandbox_id: SandboxId, backup: BackupHandle) -> Self {
        Self { sandbox_id, backup, label: None, replace: false, expiration_seconds: None }
    }

    /// Decodes `{sandboxId, backup, label?, replace?, expirationSeconds?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (sandbox_id, label) = (fields.required("sandboxId")?, fields.string("label")?);
        let backup: Option<BackupHandle> = fields.object("backup")?;
        let replace = fields.flag("replace")?;
        let expiration_seconds = fields.number("expirationSeconds")?;
        fields.finish()?;
        let sandbox_id = SandboxId::parse(&sandbox_id)?;
        let refuse = |what| invalid(what, "Pass the handle that createBackup() returned.");
        let backup = backup.ok_or_else(|| refuse("`backup` is missing"))?;
        if !backup.is_javascript_safe() {
            return Err(refuse("`backup` has a number or a field `__proto__` that JavaScript would change"));
        }
        Ok(Self {
            sandbox_id,
            backup,
            label: parse_label(label.as_deref(), replace)?,
            replace,
            expiration_seconds: check_expiration(expiration_seconds)?,
        })
    }
}
