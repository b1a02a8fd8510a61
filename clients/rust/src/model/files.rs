//! The files of a snapshot or of a running sandbox.

use std::fmt;

use base64ct::{Base64, Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Serialize, Serializer};

use super::exec::StartedForExec;
use super::ids::checked_string;
use super::{Directory, Error, Result, SandboxId, SnapshotId, Timestamp};
#[cfg(feature = "schema")]
use crate::model::schema::extends;

checked_string! {
    /// A path in a snapshot or a sandbox, relative to its directory. Empty names and `.` are ignored, so that `/` is the
    /// directory itself.
    FilePath
}

impl FilePath {
    /// The maximum length, in bytes.
    pub const MAX: usize = 4096;

    /// Parses a path. Fails with [`Code::InvalidArgument`](super::Code::InvalidArgument).
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_option("path", text)
    }

    /// As [`parse`](Self::parse), for the option with this name.
    pub(super) fn parse_option(name: &str, text: &str) -> Result<Self> {
        let refuse = |why: &str| {
            Err(Error::invalid_argument(
                format!("`{name}` {why}"),
                "Pass a path relative to the directory of the snapshot or the workspace, such as \"src/main.rs\".",
            ))
        };
        if text.len() > Self::MAX {
            return refuse("is longer than 4096 bytes");
        }
        if text.contains('\0') {
            return refuse("contains a null byte");
        }
        if text.split('/').any(|part| part == "..") {
            return refuse("contains \"..\"");
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the path without empty names and `.`.
    #[must_use]
    pub fn normalized(&self) -> Self {
        let names = self.0.split('/').filter(|name| !matches!(*name, "" | "."));
        Self(names.collect::<Vec<_>>().join("/"))
    }

    /// Returns the normalized path relative to a directory of a container, where an absolute path is one of the container. `None`
    /// if it is not in the directory. `/` alone is the directory.
    pub fn relative_to(&self, dir: &Directory) -> Option<Self> {
        let path = self.normalized();
        if !self.0.starts_with('/') || path.0.is_empty() {
            return Some(path);
        }
        let inner = format!("/{}", path.0).strip_prefix(dir.as_str().trim_end_matches('/'))?.to_owned();
        (inner.is_empty() || inner.starts_with('/')).then(|| Self(inner.trim_start_matches('/').to_owned()))
    }

    /// Returns the path of what has this name in the directory with this path.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        let directory = self.normalized().0;
        if directory.is_empty() { Self(name.to_owned()) } else { Self(format!("{directory}/{name}")) }
    }

    /// Returns the paths of the directories above a normalized path, the outermost first.
    pub fn parents(&self) -> impl Iterator<Item = Self> {
        self.0.match_indices('/').filter_map(|(at, _)| self.0.get(..at)).map(|parent| Self(parent.to_owned()))
    }

    /// Returns the path of the directory itself.
    pub fn root() -> Self {
        Self("/".to_owned())
    }
}

/// A position in a list of files: after the file with this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCursor(pub Vec<u8>);

impl FileCursor {
    /// Parses a cursor that a list returned.
    pub fn parse(text: &str) -> Result<Self> {
        Base64UrlUnpadded::decode_vec(text).map(Self).map_err(|_| Error::invalid_cursor("files/list"))
    }
}

impl fmt::Display for FileCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Base64UrlUnpadded::encode_string(&self.0))
    }
}

impl Serialize for FileCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FileType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A device, a FIFO or a socket.
    Special,
}

/// The attributes of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileAttributes {
    /// The type of the file.
    pub r#type: FileType,
    /// The size of a regular file in bytes, and otherwise 0.
    pub size_bytes: u64,
    /// The permission bits, as an octal number of four digits.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[0-7]{4}$")))]
    pub mode: String,
    /// The user id of the owner.
    pub uid: u32,
    /// The group id of the owner.
    pub gid: u32,
    /// When the content was last changed. The time has whole seconds.
    pub modified_at: Timestamp,
    /// The target of a symbolic link. Bytes that are not UTF-8 are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Where files are: in a snapshot, or in a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileLocation {
    /// The id of the snapshot; absent for the files of a sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<SnapshotId>,
    /// The sandbox; absent for the files of a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<SandboxId>,
    /// How the workspace was started; absent if it was running. One further answer says that an earlier start may have lost
    /// files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<StartedForExec>,
}

impl From<SnapshotId> for FileLocation {
    fn from(id: SnapshotId) -> Self {
        Self { snapshot_id: Some(id), ..Self::default() }
    }
}

/// A file in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("FileAttributes")))]
pub struct FileEntry {
    /// Its name. Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// The bytes of its name in Base64; present if they are not UTF-8. No path selects such a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_bytes: Option<String>,
    /// Its attributes.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub attributes: FileAttributes,
}

impl FileEntry {
    /// Returns the entry of a file with a name.
    pub fn of(name: &[u8], attributes: FileAttributes) -> Self {
        let text = String::from_utf8_lossy(name).into_owned();
        let name_bytes = (text.as_bytes() != name).then(|| Base64::encode_string(name));
        Self { name: text, name_bytes, attributes }
    }
}

/// A page of the files in a directory, sorted by the bytes of their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("FileLocation")))]
pub struct FilePage {
    /// Where the directory is.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub location: FileLocation,
    /// The path of the directory.
    pub path: String,
    /// The files.
    pub files: Vec<FileEntry>,
    /// The cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(transform = extends("FileLocation"), transform = extends("FileAttributes"))
)]
pub struct FileDescription {
    /// Where the file is.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub location: FileLocation,
    /// The path of the file.
    pub path: String,
    /// The SHA-256 of the whole content, in hexadecimal, for `ifMatch`. Present after a read or a write in a sandbox, if
    /// the file has at most 16 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Its attributes.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub attributes: FileAttributes,
}

/// The content of a file, or a range of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("FileDescription")))]
pub struct FileContent {
    /// The file.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub file: FileDescription,
    /// The offset of the first byte of the content.
    pub offset: u64,
    /// The number of bytes of the content. The file continues if `offset + length` is less than `sizeBytes`.
    pub length: u64,
    /// How the content is written.
    pub encoding: ContentEncoding,
    /// The content.
    pub content: String,
}

/// What a directory of a snapshot contains, with everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("FileTotals")))]
pub struct FilesSummary {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// The path of the directory.
    pub path: String,
    /// Everything below the directory.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub totals: FileTotals,
    /// The largest entries of the directory: at most 100, by size and then by name. Absent if it has more than 20,000 entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<EntrySummary>>,
    /// The largest files below the directory: at most 20, by size and then by path.
    pub largest: Vec<LargeFile>,
}

/// Numbers of files, and their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileTotals {
    /// The number of names of regular files.
    pub files: u64,
    /// The number of directories below the directory.
    pub directories: u64,
    /// The number of symbolic links, devices, FIFOs and sockets.
    pub others: u64,
    /// The size of the regular files, in bytes. A file with several names counts once, at one of them.
    pub size_bytes: u64,
}

/// An entry of a directory with everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("FileTotals")))]
pub struct EntrySummary {
    /// Its name. Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// The type of the entry.
    pub r#type: FileType,
    /// The entry itself, or what is below it if it is a directory.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub totals: FileTotals,
}

/// A file and its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LargeFile {
    /// Its path in the snapshot. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The size of the file, in bytes.
    pub size_bytes: u64,
}

/// The answer of `files/remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("FileLocation")))]
pub struct RemovedFile {
    /// Where the file was.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub location: FileLocation,
    /// The path of the file.
    pub path: String,
    /// Whether this call removed it; false if there was nothing.
    pub removed: bool,
}

/// The answer of `files/restore`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoredFiles {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// The sandbox that the files were written to.
    pub sandbox_id: SandboxId,
    /// The directory that the files were written to.
    pub dir: Directory,
    /// The paths of the files, symbolic links and empty directories that were written, relative to the directory.
    pub restored: Vec<String>,
    /// The paths of files and links at which something existed, which was left unchanged.
    pub skipped: Vec<String>,
    /// The paths in the selected directories that are not written: devices, pipes, and names and targets of links that are not UTF-8.
    /// Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// How the content of a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ContentEncoding {
    /// As text: the content is UTF-8.
    Utf8,
    /// In Base64.
    Base64,
}

impl ContentEncoding {
    /// Returns the bytes of a content; `None` if it is not valid in this encoding.
    pub fn decode(self, content: &str) -> Option<Vec<u8>> {
        match self {
            Self::Utf8 => Some(content.as_bytes().to_vec()),
            Self::Base64 => Base64::decode_vec(content).ok(),
        }
    }
}

impl FileContent {
    /// Returns the content of a file from `offset`.
    pub fn of(file: FileDescription, offset: u64, bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        let (encoding, content) = match String::from_utf8(bytes) {
            Ok(text) => (ContentEncoding::Utf8, text),
            Err(error) => (ContentEncoding::Base64, Base64::encode_string(error.as_bytes())),
        };
        Self { file, offset, length, encoding, content }
    }

    /// Returns the bytes of the content; `None` if the content is not valid in its encoding.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        self.encoding.decode(&self.content)
    }
}
