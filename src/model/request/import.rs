//! A backup to take in.

use serde_json::Value;

#[cfg(feature = "schema")]
use super::MIN_EXPIRATION;
use super::fields::Fields;
use super::{expiration, invalid, wanted_label};
#[cfg(feature = "schema")]
use crate::model::policy::MAX_EXPIRATION;
#[cfg(feature = "schema")]
use crate::model::schema::{needs, replaces_label, zero_or};
use crate::model::{BackupHandle, Label, Result, SandboxId};

/// A backup that the ledger does not know, made by the SDK directly or by an earlier version of this product.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ImportOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["sandboxId", "backup"]), transform = replaces_label)
)]
pub struct ImportRequest {
    /// The sandbox that it was made of.
    pub sandbox_id: SandboxId,
    /// The handle that `createBackup` answered.
    pub backup: BackupHandle,
    /// A person's name for the snapshot; one by the time where absent.
    pub label: Option<Label>,
    /// Whether the label is taken from another snapshot that has it.
    pub replace: bool,
    /// Seconds from its last use to its end, 0 for none; what the workspace's policy says where absent.
    #[cfg_attr(feature = "schema", schemars(transform = zero_or(MIN_EXPIRATION, MAX_EXPIRATION)))]
    pub expiration_seconds: Option<u64>,
}

impl ImportRequest {
    /// A backup of a sandbox, as `createBackup` answered it.
    pub const fn of(sandbox_id: SandboxId, backup: BackupHandle) -> Self {
        Self { sandbox_id, backup, label: None, replace: false, expiration_seconds: None }
    }

    /// Decodes `{sandboxId, backup, label?, replace?, expirationSeconds?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (sandbox_id, label) = (fields.required("sandboxId")?, fields.text("label")?);
        let backup: Option<BackupHandle> = fields.object("backup")?;
        let replace = fields.flag("replace")?;
        let expiration_seconds = fields.number("expirationSeconds")?;
        fields.end()?;
        let sandbox_id = SandboxId::parse(&sandbox_id)?;
        let refuse = |what| invalid(what, "Give the handle that createBackup() answered.");
        let backup = backup.ok_or_else(|| refuse("`backup` is missing"))?;
        if !backup.is_of_javascript() {
            return Err(refuse("`backup` has a number or a field `__proto__` that JavaScript does not keep as it is"));
        }
        Ok(Self {
            sandbox_id,
            backup,
            label: wanted_label(label.as_deref(), replace)?,
            replace,
            expiration_seconds: expiration(expiration_seconds)?,
        })
    }
}
