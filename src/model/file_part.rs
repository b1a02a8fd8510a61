//! What of a snapshot one command writes to a running sandbox, and what comes of it.

use super::files::FilePath;
use super::sandbox::DirectoryContent;

/// Parts of files, and links and directories, which are written in order until one is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileParts {
    /// The name of the incomplete file, next to the file.
    pub token: String,
    /// Whether to replace existing files and links.
    pub overwrite: bool,
    /// The parts.
    pub parts: Vec<FilePart>,
}

impl FileParts {
    /// The maximum number of parts: each starts about ten programs in the container.
    pub const MAX: usize = 64;
    /// The maximum of the sum of [`FilePart::length`]. A command has at most 128 KiB.
    pub const MAX_LENGTH: usize = 100_000;
}

/// A part of a file, or a link or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePart {
    /// The path, relative to the directory, without empty names and `.`.
    pub path: FilePath,
    /// What is written.
    pub content: PartContent,
}

impl FilePart {
    /// The maximum number of bytes of a file in a part.
    pub const MAX_BYTES: u32 = 60 * 1024;

    /// Returns how long the part can be in a command: bytes are in Base64, and texts are quoted.
    pub fn length(&self) -> usize {
        let content = match &self.content {
            PartContent::Bytes { bytes, .. } => bytes.len() / 3 * 4 + 4,
            PartContent::Link { target, .. } => target.len() * 4,
            PartContent::Directory { .. } => 0,
        };
        self.path.as_str().len() * 4 + content + 100
    }
}

/// What a part writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartContent {
    /// Bytes of a regular file.
    Bytes {
        /// The offset of the bytes. At 0, the incomplete file is created.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
        /// What completes the file, in its last part.
        end: Option<FileEnd>,
    },
    /// A symbolic link.
    Link {
        /// Its target.
        target: String,
        /// Its owner.
        owner: FileOwner,
        /// The modification time, in seconds since 1970.
        mtime: i64,
    },
    /// A directory, unless there is one.
    Directory {
        /// The permission bits.
        mode: u16,
        /// Its owner.
        owner: FileOwner,
    },
}

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOwner {
    /// The user id.
    pub uid: u32,
    /// The group id.
    pub gid: u32,
}

/// What completes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEnd {
    /// The size of the file, in bytes.
    pub size: u64,
    /// The permission bits.
    pub mode: u16,
    /// Its owner.
    pub owner: FileOwner,
    /// The modification time, in seconds since 1970.
    pub mtime: i64,
}

/// The outcome of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOutcome {
    /// The part was stored.
    Stored,
    /// The file is complete and in its place, or the link or the directory is.
    Placed,
    /// Something is in the place of the file or the link, and was left unchanged; or there is the directory.
    Exists,
}

/// Why parts were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartsRefusal {
    /// The directory is missing, or is not a directory. Nothing was written.
    NotADirectory(DirectoryContent),
    /// A part was refused, and its place was left unchanged. The parts before it were written.
    Part {
        /// The outcomes of the parts before it.
        before: Vec<PartOutcome>,
        /// Why it was refused.
        why: PartRefusal,
    },
}

/// Why a part was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartRefusal {
    /// Something on the path is no directory; or what is at the path is a directory, or none, unlike the part.
    Blocked,
    /// A program failed. Has its output.
    Failed(String),
}
