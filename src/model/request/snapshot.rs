//! The request to take a snapshot.

use serde::Serialize;
use serde_json::Value;

use super::fields::Fields;
use super::workspace::LineageScope;
#[cfg(feature = "schema")]
use super::{MAX_KEY_CHARS, MIN_EXPIRATION};
use super::{check_expiration, idempotency_key, invalid, parse_label, refuse_memory};
#[cfg(feature = "schema")]
use crate::model::policy::MAX_EXPIRATION;
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, extends, needs, replaces_label, zero_or};
use crate::model::{Compression, Directory, Label, Result, SandboxId};

/// The request to take a snapshot of a sandbox.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools)] // The flags are independent options of the call.
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SnapshotOptions"),
    schemars(transform = needs(&["sandboxId"]), transform = replaces_label, transform = extends("LineageScope"))
)]
pub struct SnapshotRequest {
    /// The sandbox to capture.
    pub sandbox_id: SandboxId,
    /// The directory to capture; the deployment's default directory if absent.
    pub dir: Option<Directory>,
    /// The label of the snapshot, a name for people; derived from the time if absent.
    pub label: Option<Label>,
    /// Whether to take the label from another snapshot that has it.
    pub replace: bool,
    /// The expiration, in seconds after the last use. 0 means never; if absent, the workspace's policy applies.
    #[cfg_attr(feature = "schema", schemars(transform = zero_or(MIN_EXPIRATION, MAX_EXPIRATION)))]
    pub expiration_seconds: Option<u64>,
    /// The patterns of names to exclude, at any depth: `node_modules`, `*.log`. The Worker refuses patterns with a
    /// slash.
    #[cfg_attr(feature = "schema", schemars(inner(length(min = 1), regex(pattern = r"^[^\u0000\u000a]*$"))))]
    pub excludes: Vec<String>,
    /// Whether to exclude the files that git ignores. The Worker refuses it if ignored files are in a subdirectory.
    pub gitignore: Option<bool>,
    /// The compression of the archive.
    pub compression: Option<Compression>,
    /// Whether to start a sandbox that is not running, and to capture it as it starts, without any of its files. If the
    /// sandbox was captured or restored before, the result is a rescue snapshot.
    pub wake: bool,
    /// Whether to adopt the present files as the sandbox's own after its container was replaced: this call captures
    /// them in a rescue snapshot, and the next snapshot is a regular one again. The Worker refuses to adopt an empty
    /// directory.
    pub adopt: bool,
    /// Whether to start a new capture even if one is already in progress. A capture in progress may miss files that the
    /// caller has written since it began.
    pub fresh: bool,
    /// An idempotency key: a repeated call with the same key gets the same answer.
    #[serde(skip)]
    #[cfg_attr(
        feature = "schema",
        schemars(!skip, length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL))
    )]
    pub idempotency_key: Option<String>,
    /// The lineage that the caller works in.
    #[serde(skip)]
    pub lineage_scope: LineageScope,
    /// Whether to take a rescue snapshot: the files are not the workspace's own, and the workspace starts from them
    /// only on explicit request.
    #[serde(skip)]
    pub rescue: bool,
}

impl SnapshotRequest {
    /// Returns a request to capture the default directory of a sandbox.
    pub fn of(sandbox_id: SandboxId) -> Self {
        Self {
            sandbox_id,
            dir: None,
            label: None,
            replace: false,
            expiration_seconds: None,
            excludes: Vec::new(),
            gitignore: None,
            compression: None,
            wake: false,
            adopt: false,
            fresh: false,
            idempotency_key: None,
            lineage_scope: LineageScope::UNRESTRICTED,
            rescue: false,
        }
    }

    /// Returns whether one capture can answer both requests. It ignores `fresh`, the idempotency key and the lineage
    /// scope.
    pub fn is_same_capture(&self, other: &Self) -> bool {
        let (idempotency_key, lineage_scope) = (self.idempotency_key.clone(), self.lineage_scope.clone());
        *self == Self { fresh: self.fresh, idempotency_key, lineage_scope, ..other.clone() }
    }

    /// Decodes `{sandboxId, dir?, label?, replace?, expirationSeconds?, excludes?, gitignore?, compression?, wake?,
    /// adopt?, fresh?, lineageScope?, allowCrossLineage?, idempotencyKey?}`.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) for fields that are missing, unknown or of the
    /// wrong type, then in this order the errors of the sandbox id, the directory and the label, then `InvalidArgument`
    /// for the rest.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (sandbox_id, dir, label) = (fields.required("sandboxId")?, fields.string("dir")?, fields.string("label")?);
        let replace = fields.flag("replace")?;
        let expiration_seconds = fields.number("expirationSeconds")?;
        let (excludes, gitignore) = (fields.strings("excludes")?, fields.optional_flag("gitignore")?);
        let compression: Option<Compression> = fields.object("compression")?;
        let (wake, adopt, fresh) = (fields.flag("wake")?, fields.flag("adopt")?, fields.flag("fresh")?);
        let key = fields.string("idempotencyKey")?;
        let (lineage_scope, allow) = (fields.string("lineageScope")?, fields.flag("allowCrossLineage")?);
        refuse_memory(&mut fields)?;
        fields.finish()?;
        let request = Self {
            sandbox_id: SandboxId::parse(&sandbox_id)?,
            dir: dir.as_deref().map(Directory::parse).transpose()?,
            label: parse_label(label.as_deref(), replace)?,
            replace,
            expiration_seconds: check_expiration(expiration_seconds)?,
            excludes,
            gitignore,
            compression,
            wake,
            adopt,
            fresh,
            idempotency_key: idempotency_key(key)?,
            lineage_scope: LineageScope::parse(lineage_scope.as_deref(), allow)?,
            rescue: false,
        };
        if let Some(threads) = request.compression.and_then(|compression| compression.threads)
            && threads.get() > Compression::MAX_THREADS
        {
            return Err(invalid(
                &format!("`compression.threads` must be 1–{}, got {threads}", Compression::MAX_THREADS),
                &format!("Pass 1 to {} threads.", Compression::MAX_THREADS),
            ));
        }
        if request.excludes.iter().any(|pattern| pattern.is_empty() || pattern.contains(['\0', '\n'])) {
            return Err(invalid(
                "`excludes` has a pattern that is empty or contains a null byte or a line break",
                "Pass patterns of names, such as \"node_modules\" or \"*.log\".",
            ));
        }
        Ok(request)
    }
}
