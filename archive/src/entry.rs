//! What an archive says about a file or a directory.

use bytes::Bytes;

/// The attributes of a file or a directory in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// The permission bits, with those of setuid, setgid and sticky.
    pub mode: u16,
    /// The user id of its owner.
    pub uid: u32,
    /// The group id of its owner.
    pub gid: u32,
    /// The modification time, in seconds since 1970.
    pub mtime: i64,
    /// The size of a regular file in bytes, and otherwise 0.
    pub size: u64,
    /// The number of names that a file has, or [`Entry::SEVERAL`]. 1 for directories, and for all members of a tar archive
    /// except hard links, because the archive does not say it.
    pub links: u32,
    /// Where the reader finds the content. All names of one file have the same location.
    pub(crate) location: u64,
}

impl Entry {
    /// The location of a directory that is no member of a tar archive, but has members in it.
    pub(crate) const IMPLIED: u64 = u64::MAX;

    /// The number of names of a file that has at least two.
    pub(crate) const SEVERAL: u32 = u32::MAX;

    /// Whether the archive has no attributes of the directory. Then they are those of a new one.
    pub(crate) fn is_implied(&self) -> bool {
        self.location == Self::IMPLIED
    }

    /// Returns a number that all names of one file have in common, and no other file of the archive.
    pub fn file_id(&self) -> u64 {
        self.location
    }
}

/// The type of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link. Readers don't follow it.
    Symlink {
        /// The target, as it is stored.
        target: Bytes,
    },
    /// Another name of a file, in the walk through a tar archive.
    HardLink {
        /// The path of the file, which precedes it in the archive.
        target: Bytes,
    },
    /// A block device, with its number.
    BlockDevice(u32),
    /// A character device, with its number.
    CharacterDevice(u32),
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The name, which can be any bytes except `/` and NUL.
    pub name: Bytes,
    /// Its attributes.
    pub entry: Entry,
}

/// A part of the entries of a directory, sorted by the bytes of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The entries.
    pub children: Vec<Child>,
    /// The name after which the next page begins, unless this is the last one.
    pub next: Option<Bytes>,
}

/// The maximum number of entries in a page.
pub const MAX_PAGE: usize = 1000;

/// The maximum length of the target of a symbolic link in bytes, as in Linux.
pub(crate) const MAX_TARGET: usize = 4095;
