//! Checkpoints: named states inside of a sandbox, stored as detached git commits.
//!
//! They are cheap and local, and are lost with the container. A durable snapshot of their directory includes them.

use std::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Serialize, Serializer};

use super::ids::{checked_string, quoted};
use super::{Error, Result, Timestamp};
#[cfg(feature = "schema")]
use crate::model::schema::extends;

checked_string! {
    /// The name of a checkpoint: 1–100 characters of `A–Z a–z 0–9 _ . -`. It does not start with `.` or `-`, does not
    /// contain `..`, and does not end in `.` or `.lock`, which git refuses in refs.
    CheckpointName
}

impl CheckpointName {
    /// The maximum length, in characters.
    pub const MAX: usize = 100;

    /// Parses a name. Fails with [`Code::InvalidCheckpointName`].
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |message: &str| Err(Error::invalid_checkpoint_name(message, Self::MAX));
        if text.is_empty() {
            return refuse("name is required");
        }
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        let is_valid = text.len() <= Self::MAX
            && text.bytes().all(is_allowed)
            && !text.starts_with(['.', '-'])
            && !text.contains("..")
            && !text.ends_with('.')
            && !text.to_ascii_lowercase().ends_with(".lock");
        if is_valid {
            Ok(Self(text.to_owned()))
        } else {
            refuse(&format!("{} is not a valid checkpoint name", quoted(text)))
        }
    }
}

/// The description of a checkpoint: any text without a null byte, of at most [`MAX`](Self::MAX) characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckpointDescription(String);

impl CheckpointDescription {
    /// The maximum length, in characters.
    pub const MAX: usize = 10_000;

    /// Parses a description. Fails with [`Code::InvalidArgument`].
    pub fn parse(text: &str) -> Result<Self> {
        if text.chars().count() > Self::MAX || text.contains('\0') {
            return Err(Error::invalid_argument(
                format!("`description` is longer than {} characters, or contains a null byte", Self::MAX),
                "Pass a shorter description without null bytes.",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the description of a checkpoint that was created without one.
    pub fn default_for(name: &CheckpointName) -> Self {
        Self(format!("snapshot: {name}"))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checkpoint {
    /// The name of the checkpoint.
    pub name: CheckpointName,
    /// Its git commit, in hexadecimal: 40 digits, or 64 in a SHA-256 repository.
    pub commit: String,
    /// When it was created, by the clock of the container.
    pub created_at: Timestamp,
    /// Its description.
    pub description: String,
    /// When it expires, by the clock of the container; absent if it does not. An expired checkpoint counts as deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The result of `checkpoints/create`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("Checkpoint")))]
pub struct CreatedCheckpoint {
    /// The checkpoint.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(flatten)]
    pub checkpoint: Checkpoint,
    /// The commit that had this name before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
}

/// A page of a list of checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckpointPage {
    /// The checkpoints, newest first. A description that another tool wrote is cut to its first 10,000 characters.
    pub checkpoints: Vec<Checkpoint>,
    /// The cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A position in a list of checkpoints, newest first: the page starts after the checkpoint with this time and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointCursor {
    /// When the checkpoint was created, in microseconds since 1970.
    pub micros: i64,
    /// The name of the checkpoint.
    pub name: CheckpointName,
}

impl CheckpointCursor {
    /// Parses a cursor that a list returned. Fails with [`Code::InvalidArgument`].
    pub fn parse(text: &str) -> Result<Self> {
        let read = || {
            let text = String::from_utf8(Base64UrlUnpadded::decode_vec(text).ok()?).ok()?;
            let (micros, name) = text.split_once(' ')?;
            Some(Self { micros: micros.parse().ok()?, name: CheckpointName::parse(name).ok()? })
        };
        read().ok_or_else(|| Error::invalid_cursor("checkpoints/list"))
    }
}

impl Serialize for CheckpointCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for CheckpointCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{} {}", self.micros, self.name);
        f.write_str(&Base64UrlUnpadded::encode_string(text.as_bytes()))
    }
}

/// The result of `checkpoints/restore`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoredCheckpoint {
    /// The name of the checkpoint.
    pub name: CheckpointName,
    /// Its commit.
    pub commit: String,
    /// The paths that the restore added, edited or removed, sorted, relative to the directory; at most 5,000. A path
    /// with control characters, quotes, backslashes or bytes that are not UTF-8 is quoted as git quotes it.
    pub changed: Vec<String>,
    /// The number of all changed paths.
    pub changed_count: u64,
    /// The commit of the files before the restore, if they differed. It is stored under `refs/sandbox/before-restore`
    /// until the next restore that changes something; in a linked work tree, under
    /// `refs/worktree/sandbox/before-restore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The number of empty directories that were removed, if the call asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned_directories: Option<u64>,
}

/// The result of `checkpoints/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeletedCheckpoint {
    /// The name of the checkpoint.
    pub name: CheckpointName,
    /// Whether this call deleted the checkpoint; false if there is none with this name.
    pub removed: bool,
    /// The commit of the checkpoint, which git keeps for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl RestoredCheckpoint {
    /// The maximum number of paths in `changed`.
    pub const MAX_CHANGED: usize = 5_000;
}

/// The result of `checkpoints/diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckpointDiff {
    /// The name of the checkpoint.
    pub name: CheckpointName,
    /// Its commit.
    pub commit: String,
    /// A unified diff from the checkpoint to the present files; empty if nothing differs.
    pub diff: String,
    /// The size of the complete diff, in bytes.
    pub size_bytes: u64,
    /// Whether the end of the diff was cut off because it is larger than the requested maximum.
    pub truncated: bool,
}

impl fmt::Display for CheckpointDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
