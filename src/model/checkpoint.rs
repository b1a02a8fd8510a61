//! Checkpoints: named states that are kept inside of a sandbox, as detached git commits.
//!
//! They are cheap, local, and gone with the container; a durable snapshot of their directory carries them along.

use std::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Serialize};

use super::ids::{checked_string, quoted};
use super::{Code, Error, Result, Timestamp};
#[cfg(feature = "schema")]
use crate::model::schema::extends;

checked_string! {
    /// The name of a checkpoint: 1–100 characters of `A–Z a–z 0–9 _ . -`, the first of them none of `.` and `-`, without
    /// `..`, and ending in neither `.` nor `.lock`, which git refuses in refs.
    CheckpointName
}

impl CheckpointName {
    /// The longest name, in characters.
    pub const MAX: usize = 100;

    /// Checks a name, or says what is wrong with it ([`Code::InvalidCheckpointName`]).
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |message: String| {
            Err(Error::new(
                Code::InvalidCheckpointName,
                message,
                format!(
                    "Give a name that matches ^[A-Za-z0-9_][A-Za-z0-9_.-]*$, without \"..\", that ends in neither \".\" nor \
                     \".lock\", of at most {} characters.",
                    Self::MAX
                ),
            ))
        };
        if text.is_empty() {
            return refuse("name is required".to_owned());
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
            refuse(format!("{} is not a name of a checkpoint", quoted(text)))
        }
    }
}

/// What a checkpoint is described by: any text without a null byte, of at most [`MAX`](Self::MAX) characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckpointDescription(String);

impl CheckpointDescription {
    /// The longest description, in characters.
    pub const MAX: usize = 10_000;

    /// Checks a description ([`Code::InvalidArgument`]).
    pub fn parse(text: &str) -> Result<Self> {
        if text.chars().count() > Self::MAX || text.contains('\0') {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("`description` is longer than {} characters, or contains a null byte", Self::MAX),
                "Say shortly what the checkpoint is of.",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The one of a checkpoint of which nobody said anything.
    pub fn of(name: &CheckpointName) -> Self {
        Self(format!("snapshot: {name}"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checkpoint {
    /// What it is called.
    pub name: CheckpointName,
    /// The git commit that it is, in hexadecimal: 40 digits, or 64 in a repository of SHA-256.
    pub commit: String,
    /// When it was made, by the clock of the container.
    pub created_at: Timestamp,
    /// What it is of.
    pub description: String,
}

/// What `checkpoints/create` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("Checkpoint")))]
pub struct CreatedCheckpoint {
    /// The checkpoint.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(flatten)]
    pub checkpoint: Checkpoint,
    /// The commit that had the name until now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
}

/// A page of a list of checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checkpoints {
    /// The checkpoints, the newest first. Of a description that another tool wrote, these are the first 10,000 characters.
    pub checkpoints: Vec<Checkpoint>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A place in a list of checkpoints, the newest first: after the one of that time and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointCursor {
    /// When the checkpoint was made, in microseconds since 1970.
    pub micros: i64,
    /// The checkpoint.
    pub name: CheckpointName,
}

impl CheckpointCursor {
    /// Reads a cursor that a list answered ([`Code::InvalidArgument`]).
    pub fn parse(text: &str) -> Result<Self> {
        let read = || {
            let text = String::from_utf8(Base64UrlUnpadded::decode_vec(text).ok()?).ok()?;
            let (micros, name) = text.split_once(' ')?;
            Some(Self { micros: micros.parse().ok()?, name: CheckpointName::parse(name).ok()? })
        };
        let refused = || {
            let message = "`cursor` is not one that checkpoints/list answered";
            Error::new(Code::InvalidArgument, message, "Begin again without a cursor.")
        };
        read().ok_or_else(refused)
    }
}

impl fmt::Display for CheckpointCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{} {}", self.micros, self.name);
        f.write_str(&Base64UrlUnpadded::encode_string(text.as_bytes()))
    }
}

/// What `checkpoints/restore` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoredCheckpoint {
    /// The checkpoint.
    pub name: CheckpointName,
    /// Its commit.
    pub commit: String,
    /// The paths that were written, edited or removed by it, in their order, relative to the directory; at most
    /// 5,000. One with control characters, quotes, backslashes or bytes that are not UTF-8 is quoted as git quotes it.
    pub changed: Vec<String>,
    /// How many there are of them.
    pub changed_count: u64,
    /// The commit of what was there before, if that was anything else. It is kept under
    /// `refs/sandbox/before-restore` until the next restore that changes something; in a linked work tree, under
    /// `refs/worktree/sandbox/before-restore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl RestoredCheckpoint {
    /// The most paths that are told.
    pub const MAX_CHANGED: usize = 5_000;
}

/// What `checkpoints/diff` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckpointDiff {
    /// The checkpoint.
    pub name: CheckpointName,
    /// Its commit.
    pub commit: String,
    /// A unified diff from the checkpoint to the files as they are now; empty where nothing differs.
    pub diff: String,
    /// The size of the whole diff, in bytes.
    pub size_bytes: u64,
    /// Whether the end of the diff was cut off, because it is longer than was asked for.
    pub truncated: bool,
}

impl fmt::Display for CheckpointDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
