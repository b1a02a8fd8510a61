//! The calls about files that a sandbox receives, and their outcomes.

use super::Directory;
use super::archive::{Attributes, Name, NamedAttributes};
use super::exec_call::CommandRefusal;
use super::files::FilePath;

/// A call about the files in a directory of a container. Symbolic links are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCall {
    /// An id that no other call has.
    pub id: String,
    /// The directory that the paths are relative to.
    pub dir: Directory,
    /// Whether the call is refused, rather than creates the directory, if that is missing.
    pub has_dir: bool,
    /// The path, without empty names and `.`: empty for the directory itself.
    pub path: FilePath,
    /// What to do there.
    pub action: FileAction,
}

impl FileCall {
    /// The size up to which a file has an etag without a request, in bytes.
    pub const MAX_HASHED: u64 = 16 * 1024 * 1024;
}

/// The position in a list of all files, which a file in the container contains.
pub use super::diff::ListingPosition;

/// What a list of all files omits: what the capture of a snapshot omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// The patterns, as the capture got them.
    pub excludes: Vec<String>,
    /// Whether the files that git ignores are omitted.
    pub ignored: bool,
}

/// A part of a list of all files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingBytes {
    /// Where the part begins.
    pub position: ListingPosition,
    /// The size of the whole list, in bytes.
    pub size: u64,
    /// The bytes of the part, as [`Listing`](snapshot_archive::Listing) reads them.
    pub bytes: Vec<u8>,
}

impl ListingBytes {
    /// The maximum number of bytes of a part.
    pub const MAX_BYTES: usize = 4 * 1024 * 1024;
    /// The maximum number of bytes of a list.
    pub const MAX_LIST_BYTES: usize = 256 * 1024 * 1024;

    /// Returns whether the part is the end of the list.
    pub const fn is_last(&self) -> bool {
        self.position.offset.saturating_add(self.bytes.len() as u64) >= self.size
    }
}

/// What to do at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// Returns a page of the files in the directory: [`FileOutcome::Page`].
    List {
        /// The name after which the page begins.
        after: Option<Vec<u8>>,
        /// The maximum number of files.
        limit: u32,
    },
    /// Returns the attributes: [`FileOutcome::Entry`].
    Stat,
    /// Returns a range of the content: [`FileOutcome::Content`].
    Read {
        /// The offset of the first byte.
        offset: u64,
        /// The maximum number of bytes.
        length: u32,
    },
    /// Writes a file, which appears when it is complete: [`FileOutcome::Entry`].
    Write {
        /// The content.
        content: FileInput,
        /// The permission bits; those of the file that is replaced, or the default, if absent.
        mode: Option<String>,
        /// The etag that the file must have.
        if_match: Option<String>,
    },
    /// Creates a directory, with those above it: [`FileOutcome::Entry`].
    MakeDirectory,
    /// Moves a file or a directory: [`FileOutcome::Entry`].
    Move {
        /// The new path.
        to: FilePath,
        /// Whether to replace a file.
        overwrite: bool,
    },
    /// Lists all files in the directory, or continues a list: [`FileOutcome::Listing`].
    Walk {
        /// Where an existing list continues.
        position: Option<ListingPosition>,
        /// What a new list omits.
        omitted: Omitted,
    },
    /// Hashes files up to a limit in bytes: [`FileOutcome::Hashes`].
    Hash {
        /// The paths.
        paths: Vec<Vec<u8>>,
        /// The number of bytes from which on a file has another hash.
        limit: u64,
    },
    /// Removes a file or a directory: [`FileOutcome::Removed`].
    Remove {
        /// Whether to remove what a directory contains.
        recursive: bool,
    },
}

/// The content of a file that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileInput {
    /// These bytes.
    Bytes(Vec<u8>),
    /// That of a file in the container, which is removed.
    File(String),
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOutcome {
    /// A page of the files in a directory.
    Page {
        /// The files, sorted by the bytes of their names.
        entries: Vec<NamedAttributes>,
        /// The name after which the next page begins, unless this is the last one.
        next: Option<Name>,
    },
    /// The attributes of a file, and its etag after a write.
    Entry(Attributes, Option<String>),
    /// The attributes of a file, its etag unless it is large, and a range of its content.
    Content(Attributes, Option<String>, Vec<u8>),
    /// Whether something was removed.
    Removed(bool),
    /// A part of a list of all files.
    Listing(ListingBytes),
    /// The SHA-256 of each file, in hexadecimal; `None` where there is no regular file.
    Hashes(Vec<Option<String>>),
}

/// Why a call was refused. It changed nothing, except that directories may have been created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRefusal {
    /// The command that carries out the call was refused.
    Command(CommandRefusal),
    /// The directory that the paths are relative to does not show its files: another file system is mounted over it.
    Hidden,
    /// The directory that the paths are relative to is missing, and must not be created.
    NoDirectory,
    /// Nothing is at the path.
    NotFound,
    /// The path is not that of a directory, or leads through something other than a directory.
    NotADirectory,
    /// The path is not that of a regular file.
    NotAFile,
    /// Something is at the new path.
    Exists,
    /// The new path leads through something other than a directory.
    NewPathBlocked,
    /// The file has another etag.
    Changed,
    /// The list to continue does not exist.
    ListEnded,
    /// The list of all files is too large.
    TooMany,
    /// The directory is not empty.
    NotEmpty,
    /// Another call writes files.
    Busy,
    /// A program failed. Has its output.
    Failed(String),
}
