//! What callers ask for, decoded from JSON.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Code, Compression, Directory, Error, Label, Result, SandboxId, SnapshotRef};

/// The shortest time to live, in seconds: the SDK stops restoring a backup 60 seconds before its end, so a
/// shorter one could never be restored.
const MIN_TTL: u64 = 61;

/// The longest time to live, in seconds: 100 years of 365 days.
pub const MAX_TTL: u64 = 100 * 365 * 24 * 3600;

/// A snapshot to take.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotRequest {
    /// The sandbox to capture.
    pub sandbox_id: SandboxId,
    /// The directory to capture; the deployment's default where absent.
    pub dir: Option<Directory>,
    /// A person's name for the snapshot.
    pub label: Option<Label>,
    /// Seconds for which the backup can be restored; [`MAX_TTL`] where absent.
    pub ttl: Option<u64>,
    /// Patterns of paths to leave out.
    pub excludes: Vec<String>,
    /// Whether to leave out what git ignores.
    pub gitignore: Option<bool>,
    /// How to compress the archive.
    pub compression: Option<Compression>,
    /// Whether a sandbox that is not running is started, and captured as it starts: with none of its files.
    pub wake: bool,
    /// Whether a capture that is under way already will not do: what the caller wrote since would not be in it.
    pub fresh: bool,
}

impl SnapshotRequest {
    /// A snapshot of a sandbox's default directory.
    pub fn of(sandbox_id: SandboxId) -> Self {
        Self {
            sandbox_id,
            dir: None,
            label: None,
            ttl: None,
            excludes: Vec::new(),
            gitignore: None,
            compression: None,
            wake: false,
            fresh: false,
        }
    }

    /// Whether one capture can answer both requests, apart from when it begins.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        *self == Self { fresh: self.fresh, ..other.clone() }
    }

    /// Decodes `{sandboxId, dir?, label?, ttl?, excludes?, gitignore?, compression?, wake?, fresh?}`.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] for the shape, then in this order the error of the sandbox id, the directory and
    /// the label, then [`Code::InvalidArgument`] for the rest.
    pub fn decode(value: &Value) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Wire {
            sandbox_id: String,
            dir: Option<String>,
            label: Option<String>,
            ttl: Option<u64>,
            excludes: Option<Vec<String>>,
            gitignore: Option<bool>,
            compression: Option<Compression>,
            wake: Option<bool>,
            fresh: Option<bool>,
        }
        let wire: Wire = shape(value)?;
        if value.get("compression").is_some_and(Value::is_array) {
            return Err(invalid(
                "`compression` is not an object".into(),
                "Give {format?, threads?}, or no compression.".into(),
            ));
        }
        let request = Self {
            sandbox_id: SandboxId::parse(&wire.sandbox_id)?,
            dir: wire.dir.as_deref().map(Directory::parse).transpose()?,
            label: wire.label.as_deref().map(Label::parse).transpose()?,
            ttl: wire.ttl,
            excludes: wire.excludes.unwrap_or_default(),
            gitignore: wire.gitignore,
            compression: wire.compression,
            wake: wire.wake.unwrap_or(false),
            fresh: wire.fresh.unwrap_or(false),
        };
        if let Some(ttl) = request.ttl.filter(|ttl| !(MIN_TTL..=MAX_TTL).contains(ttl)) {
            return Err(invalid(
                format!("`ttl` is {ttl} seconds"),
                format!(
                    "Give {MIN_TTL} to {MAX_TTL} seconds, or no ttl. The SDK stops restoring a backup 60 seconds before its end, \
                     so a shorter one could never be restored."
                ),
            ));
        }
        if request.excludes.iter().any(|pattern| pattern.is_empty() || pattern.contains(['\0', '\n'])) {
            return Err(invalid(
                "`excludes` has a pattern that is empty or contains a null byte or a line break".into(),
                "Give patterns of paths relative to the directory, such as \"node_modules\" or \"*.log\".".into(),
            ));
        }
        Ok(request)
    }
}

/// A snapshot to restore or to branch from.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreRequest {
    /// The snapshot.
    pub snapshot: SnapshotRef,
}

impl RestoreRequest {
    /// Decodes `{ref}`.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] for the shape, then the errors of [`SnapshotRef::decode`].
    pub fn decode(value: &Value) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Wire {
            r#ref: Value,
        }
        let wire: Wire = shape(value)?;
        Ok(Self { snapshot: SnapshotRef::decode(&wire.r#ref)? })
    }
}

fn shape<T: DeserializeOwned>(value: &Value) -> Result<T> {
    if !value.is_object() {
        return Err(invalid(
            "The arguments are not an object".into(),
            "Give one object with the operation's options.".into(),
        ));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        invalid(
            format!("The arguments can't be read: {error}"),
            "Compare them with the operation's documentation.".into(),
        )
    })
}

fn invalid(what: String, remediation: String) -> Error {
    Error::new(Code::InvalidArgument, what + ".", remediation)
}
