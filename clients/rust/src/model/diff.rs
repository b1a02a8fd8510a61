//! The differences between two snapshots.

use std::fmt;

use base64ct::{Base64, Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Serialize, Serializer};

use super::files::FileAttributes;
use super::{Error, Result, SnapshotId};

/// A position in a list of differences: after this path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffCursor(pub Vec<u8>);

impl DiffCursor {
    /// Parses a cursor that a page returned.
    pub fn parse(text: &str) -> Result<Self> {
        Base64UrlUnpadded::decode_vec(text).map(Self).map_err(|_| Error::invalid_cursor("diff()"))
    }
}

impl fmt::Display for DiffCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Base64UrlUnpadded::encode_string(&self.0))
    }
}

impl Serialize for DiffCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A page of the differences between two snapshots, sorted by path: name by name, by the bytes of the names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotDiff {
    /// The id of the first snapshot.
    pub from: SnapshotId,
    /// The id of the second snapshot.
    pub to: SnapshotId,
    /// The files and directories that differ. There can be none before the last page.
    pub changes: Vec<FileChange>,
    /// The cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A path that differs between two snapshots.
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
