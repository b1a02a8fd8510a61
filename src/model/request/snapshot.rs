//! A snapshot to take.

use serde::Serialize;
use serde_json::Value;

use super::fields::Fields;
use super::workspace::Session;
#[cfg(feature = "schema")]
use super::{MAX_KEY, MIN_EXPIRATION};
use super::{expiration, idempotency_key, invalid, no_memory, wanted_label};
#[cfg(feature = "schema")]
use crate::model::policy::MAX_EXPIRATION;
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, extends, needs, replaces_label, zero_or};
use crate::model::{Compression, Directory, Label, Result, SandboxId};

/// A snapshot to take.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools)] // The options of a call.
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SnapshotOptions"),
    schemars(transform = needs(&["sandboxId"]), transform = replaces_label, transform = extends("Session"))
)]
pub struct SnapshotRequest {
    /// The sandbox to capture.
    pub sandbox_id: SandboxId,
    /// The directory to capture; the deployment's default where absent.
    pub dir: Option<Directory>,
    /// A person's name for the snapshot; one by the time where absent.
    pub label: Option<Label>,
    /// Whether the label is taken from another snapshot that has it.
    pub replace: bool,
    /// Seconds from its last use to its end, 0 for none; what the workspace's policy says where absent.
    #[cfg_attr(feature = "schema", schemars(transform = zero_or(MIN_EXPIRATION, MAX_EXPIRATION)))]
    pub expiration_seconds: Option<u64>,
    /// Patterns of names to leave out, at any depth: `node_modules`, `*.log`. Patterns with a slash are refused.
    #[cfg_attr(feature = "schema", schemars(inner(length(min = 1), regex(pattern = r"^[^\u0000\u000a]*$"))))]
    pub excludes: Vec<String>,
    /// Whether to leave out what git ignores. Refused where that is in a subdirectory.
    pub gitignore: Option<bool>,
    /// How to compress the archive.
    pub compression: Option<Compression>,
    /// Whether a sandbox that is not running is started, and captured as it starts: with none of its files. Where the ledger knows
    /// it already, that is a rescue snapshot.
    pub wake: bool,
    /// Whether the present files become the sandbox's own, where its container was replaced: they are captured in a rescue
    /// snapshot, and the next snapshot counts again. An empty directory is refused.
    pub adopt: bool,
    /// Whether a capture that is under way already will not do: what the caller wrote since would not be in it.
    pub fresh: bool,
    /// A key by which the same call can be made again, and gets the same answer.
    #[serde(skip)]
    #[cfg_attr(
        feature = "schema",
        schemars(!skip, length(min = 1, max = MAX_KEY), regex(pattern = NO_CONTROL))
    )]
    pub idempotency_key: Option<String>,
    /// Who asks.
    #[serde(skip)]
    pub session: Session,
    /// Whether the files are not the workspace's own, so that it is never started from them unasked.
    #[serde(skip)]
    pub aside: bool,
}

impl SnapshotRequest {
    /// A snapshot of a sandbox's default directory.
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
            session: Session::NONE,
            aside: false,
        }
    }

    /// Whether one capture can answer both requests, apart from when it begins and for whom.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        let (key, session) = (self.idempotency_key.clone(), self.session.clone());
        *self == Self { fresh: self.fresh, idempotency_key: key, session, ..other.clone() }
    }

    /// Decodes `{sandboxId, dir?, label?, replace?, expirationSeconds?, excludes?, gitignore?, compression?, wake?,
    /// adopt?, fresh?, session?, allowCrossSession?, idempotencyKey?}`.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) for the shape, then in this order the error of the
    /// sandbox id, the directory and the label, then `InvalidArgument` for the rest.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (sandbox_id, dir, label) = (fields.required("sandboxId")?, fields.text("dir")?, fields.text("label")?);
        let replace = fields.flag("replace")?;
        let expiration_seconds = fields.number("expirationSeconds")?;
        let (excludes, gitignore) = (fields.texts("excludes")?, fields.choice("gitignore")?);
        let compression: Option<Compression> = fields.object("compression")?;
        let (wake, adopt, fresh) = (fields.flag("wake")?, fields.flag("adopt")?, fields.flag("fresh")?);
        let key = fields.text("idempotencyKey")?;
        let (session, allow) = (fields.text("session")?, fields.flag("allowCrossSession")?);
        no_memory(&mut fields)?;
        fields.end()?;
        let request = Self {
            sandbox_id: SandboxId::parse(&sandbox_id)?,
            dir: dir.as_deref().map(Directory::parse).transpose()?,
            label: wanted_label(label.as_deref(), replace)?,
            replace,
            expiration_seconds: expiration(expiration_seconds)?,
            excludes,
            gitignore,
            compression,
            wake,
            adopt,
            fresh,
            idempotency_key: idempotency_key(key)?,
            session: Session::checked(session.as_deref(), allow)?,
            aside: false,
        };
        if let Some(threads) = request.compression.and_then(|compression| compression.threads)
            && threads.get() > Compression::MAX_THREADS
        {
            return Err(invalid(
                &format!("`compression.threads` is {threads}"),
                &format!("Give 1 to {} threads.", Compression::MAX_THREADS),
            ));
        }
        if request.excludes.iter().any(|pattern| pattern.is_empty() || pattern.contains(['\0', '\n'])) {
            return Err(invalid(
                "`excludes` has a pattern that is empty or contains a null byte or a line break",
                "Give patterns of paths relative to the directory, such as \"node_modules\" or \"*.log\".",
            ));
        }
        Ok(request)
    }
}
