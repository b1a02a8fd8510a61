//! The differences between two snapshots, or a snapshot and the present files of a sandbox.

use std::fmt;

use base64ct::{Base64, Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Serialize, Serializer};

use super::files::FileAttributes;
use super::{Error, Result, SandboxId, SnapshotId};

/// A position in a list of differences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffCursor {
    /// The path after which the page begins.
    pub path: Vec<u8>,
    /// The position in the list of the files of a sandbox; absent for two snapshots.
    pub listing: Option<ListingPosition>,
}

/// A position in a list of all files of a sandbox, which the first page made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingPosition {
    /// The id of the list.
    pub id: String,
    /// The number of bytes before the position.
    pub offset: u64,
}

impl DiffCursor {
    /// Parses a cursor that a page returned.
    pub fn parse(text: &str) -> Result<Self> {
        let (path, listing) = text.split_once('.').map_or((text, None), |(path, listing)| (path, Some(listing)));
        let path = Base64UrlUnpadded::decode_vec(path).ok();
        let listing = listing.map(|listing| ListingPosition::parse(listing).ok_or(()));
        match (path, listing.transpose()) {
            (Some(path), Ok(listing)) => Ok(Self { path, listing }),
            _ => Err(Error::invalid_cursor("diff")),
        }
    }
}

impl ListingPosition {
    fn parse(text: &str) -> Option<Self> {
        let (id, offset) = text.split_once('.')?;
        let is_id =
            (1..=32).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        is_id.then_some(Self { id: id.to_owned(), offset: offset.parse().ok()? })
    }
}

impl fmt::Display for DiffCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Base64UrlUnpadded::encode_string(&self.path))?;
        self.listing.iter().try_for_each(|ListingPosition { id, offset }| write!(f, ".{id}.{offset}"))
    }
}

impl Serialize for DiffCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A page of the differences between two snapshots, or a snapshot and the files of a running sandbox, sorted by path: name by name, by the bytes of the names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotDiff {
    /// The id of the first snapshot.
    pub from: SnapshotId,
    /// The id of the second snapshot; absent for the files of a sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<SnapshotId>,
    /// The running sandbox; absent for two snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<SandboxId>,
    /// The files and directories that differ. There can be none before the last page.
    pub changes: Vec<FileChange>,
    /// The cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A path that differs. The second snapshot can be the files of a running sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileChange {
    /// The path, relative to the directory that the snapshots contain. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The bytes of the path in Base64; present if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// How it differs.
    pub change: ChangeType,
    /// How the difference was found.
    pub certainty: Certainty,
    /// What differs at a changed path; absent for other changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// The path of a renamed file in the first snapshot. Bytes that are not UTF-8 are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_path: Option<String>,
    /// The attributes in the first snapshot; absent if the path was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<FileAttributes>,
    /// The attributes in the second snapshot; absent if the path was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<FileAttributes>,
}

/// How a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChangeType {
    /// Only the second snapshot contains it.
    Added,
    /// Only the first snapshot contains it.
    Removed,
    /// Both snapshots contain it, and it differs.
    Changed,
    /// The first snapshot contains the same file at another path.
    Renamed,
}

/// How a difference was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Certainty {
    /// The files differ: in type, size or attributes, or in the content, which was compared.
    Content,
    /// The times of a file differ, and the content was not compared: it may be the same.
    Metadata,
}

/// What differs at a path that both snapshots contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Difference {
    /// The type of the file, and therefore all else.
    Type,
    /// The content of the file.
    Content,
    /// The permission bits.
    Mode,
    /// The owner or its group.
    Owner,
    /// The target of a symbolic link, or the number of a device.
    Target,
}

/// Returns a path as text, and its bytes in Base64 if they are not UTF-8.
pub fn path_text(path: &[u8]) -> (String, Option<String>) {
    let text = String::from_utf8_lossy(path).into_owned();
    let bytes = (text.as_bytes() != path).then(|| Base64::encode_string(path));
    (text, bytes)
}
