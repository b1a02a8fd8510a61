//! The parts in which a file of a snapshot is written to a running sandbox, and what comes of them.

use super::files::FilePath;
use super::sandbox::DirectoryContent;

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePart {
    /// The path of the file, relative to the directory, without empty names and `.`.
    pub path: FilePath,
    /// The name of the incomplete file, next to the file.
    pub token: String,
    /// The offset of the part. At 0, the incomplete file is created.
    pub offset: u64,
    /// The content of the part.
    pub bytes: Vec<u8>,
    /// What completes the file, in its last part.
    pub end: Option<FileEnd>,
}

impl FilePart {
    /// The maximum size of a part, in bytes. A command has at most 128 KiB, and contains the part in Base64.
    pub const MAX_BYTES: u32 = 60 * 1024;
}

/// What completes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEnd {
    /// The size of the file, in bytes.
    pub size: u64,
    /// The permission bits.
    pub mode: u16,
    /// The user id of the owner.
    pub uid: u32,
    /// The group id of the owner.
    pub gid: u32,
    /// The modification time, in seconds since 1970.
    pub mtime: i64,
    /// Whether to replace an existing file.
    pub overwrite: bool,
}

/// The outcome of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOutcome {
    /// The part was stored.
    Stored,
    /// The file is complete and in its place.
    Placed,
    /// Something is in the place of the file, and was left unchanged.
    Exists,
}

/// Why a part was refused. The place of the file was left unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartRefusal {
    /// The directory is missing, or is not a directory.
    NotADirectory(DirectoryContent),
    /// Something on the path is no directory; or the path is a directory.
    Blocked,
    /// A program failed. Has its output.
    Failed(String),
}
