//! A backup to take in.

use serde_json::Value;

use super::fields::Fields;
use super::{expiration, invalid, wanted_label};
use crate::model::{BackupHandle, Label, Result, SandboxId};

/// A backup that the ledger does not know, made by the SDK directly or by an earlier version of this product.
#[derive(Clone, Debug, PartialEq)]
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
    pub expiration_seconds: Option<u64>,
}

impl ImportRequest {
    /// Decodes `{sandboxId, backup, label?, replace?, expirationSeconds?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (sandbox_id, label) = (fields.required("sandboxId")?, fields.text("label")?);
        let backup = fields.object("backup")?;
        let replace = fields.flag("replace")?;
        let expiration_seconds = fields.number("expirationSeconds")?;
        fields.end()?;
        Ok(Self {
            sandbox_id: SandboxId::parse(&sandbox_id)?,
            backup: backup
                .ok_or_else(|| invalid("`backup` is missing", "Give the handle that createBackup() answered."))?,
            label: wanted_label(label.as_deref(), replace)?,
            replace,
            expiration_seconds: expiration(expiration_seconds)?,
        })
    }
}
