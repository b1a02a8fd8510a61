//! One archive of any format.

use std::ops::Range;

use bytes::Bytes;

use crate::read_ahead::ReadAhead;
use crate::squashfs::{self, Squashfs};
use crate::tar::{self, Tar};
use crate::{Entry, Error, Kind, Page, Path, Result, Source};

/// One archive.
pub(crate) enum Single<S> {
    Squashfs(Box<Squashfs<S>>),
    Tar(Tar<S>),
}

/// The memory of each of the two caches of a squashfs, in bytes, unless another archive is read with it. A window of Zstandard in a
/// tar has twice this size: 8 MiB, which its specification recommends.
pub(crate) const CACHE: usize = 4 << 20;

/// A range of a file that is being read.
pub(crate) struct Content {
    entry: Entry,
    content: ContentOf,
}

enum ContentOf {
    Squashfs(squashfs::Content),
    Tar(tar::Content),
}

/// A visit of all entries below a directory.
pub(crate) struct Walk(WalkOf);

enum WalkOf {
    Squashfs(squashfs::Walk),
    Tar(tar::Walk),
}

/// A visit of all entries that follow a path, in the order of their paths.
pub(crate) struct SortedWalk(SortedWalkOf);

enum SortedWalkOf {
    Squashfs(squashfs::Walk),
    Tar(tar::SortedWalk),
}

impl<S: Source> Single<S> {
    /// Opens an archive with caches of at most `cache` bytes each, and a window of at most twice this size.
    pub async fn open(mut source: ReadAhead<S>, cache: usize) -> Result<Self> {
        let length = source.size().min(squashfs::MAGIC.len() as u64);
        let is_squashfs = source.read(0, usize::try_from(length).unwrap_or_default()).await? == squashfs::MAGIC;
        Ok(if is_squashfs {
            Self::Squashfs(Box::new(Squashfs::open(source, cache).await?))
        } else {
            Self::Tar(Tar::open(source, 2 * cache as u64).await?)
        })
    }

    /// Whether an operation reads only what it needs. Otherwise it reads the archive from its begin.
    pub fn has_random_access(&self) -> bool {
        matches!(self, Self::Squashfs(_))
    }

    /// Whether even a range of a file can't be read without what precedes it.
    pub fn is_sequential(&self) -> bool {
        matches!(self, Self::Tar(archive) if archive.is_compressed())
    }

    /// Returns the attributes of an entry.
    pub async fn stat(&mut self, path: &Path) -> Result<Entry> {
        match self {
            Self::Squashfs(archive) => archive.stat(path).await,
            Self::Tar(archive) => archive.stat(path).await,
        }
    }

    /// Returns the entries of a directory whose names follow `after`, and which `keep` accepts by their name and type: at
    /// most `limit`, from 1 to [`MAX_PAGE`](crate::MAX_PAGE).
    pub async fn list(
        &mut self,
        path: &Path,
        after: Option<&[u8]>,
        limit: usize,
        keep: &dyn Fn(&[u8], &Kind) -> bool,
    ) -> Result<Page> {
        match self {
            Self::Squashfs(archive) => archive.list(path, after, limit, keep).await,
            Self::Tar(archive) => archive.list(path, after, limit, keep).await,
        }
    }

    /// Begins to read a range of a file, which is cut at the end of the file.
    pub async fn read(&mut self, path: &Path, range: Range<u64>) -> Result<Content> {
        let (entry, content) = match self {
            Self::Squashfs(archive) => {
                let (entry, content) = archive.read(path, range).await?;
                (entry, ContentOf::Squashfs(content))
            }
            Self::Tar(archive) => {
                let (entry, content) = archive.read(path, range).await?;
                (entry, ContentOf::Tar(content))
            }
        };
        Ok(Content { entry, content })
    }

    /// Returns the next bytes of a file, at most 1 MiB.
    pub async fn next_bytes(&mut self, content: &mut Content) -> Result<Option<Bytes>> {
        match (self, &mut content.content) {
            (Self::Squashfs(archive), ContentOf::Squashfs(content)) => archive.next_bytes(content).await,
            (Self::Tar(archive), ContentOf::Tar(content)) => archive.next_bytes(content).await,
            _ => Err(Error::OTHER_ARCHIVE),
        }
    }

    /// Begins to visit all entries below a directory. Directories precede what is in them. The entries of a squashfs
    /// are sorted by name, and those of a tar in the order of the archive.
    pub async fn walk(&mut self, path: &Path) -> Result<Walk> {
        Ok(Walk(match self {
            Self::Squashfs(archive) => WalkOf::Squashfs(archive.walk(path).await?),
            Self::Tar(archive) => WalkOf::Tar(archive.walk(path)),
        }))
    }

    /// Returns the next entry of a walk, with its path relative to the directory.
    pub async fn next_entry(&mut self, walk: &mut Walk) -> Result<Option<(Bytes, Entry)>> {
        match (self, &mut walk.0) {
            (Self::Squashfs(archive), WalkOf::Squashfs(walk)) => archive.next_entry(walk).await,
            (Self::Tar(archive), WalkOf::Tar(walk)) => archive.next_entry(walk).await,
            _ => Err(Error::OTHER_ARCHIVE),
        }
    }

    /// Begins to visit the entries that follow a path, which can be missing, in the order of their paths: name by name, so
    /// that a directory precedes what is in it, and that precedes its next sibling. A tar is read once for each part of its
    /// entries that fits into the memory.
    pub async fn walk_sorted(&mut self, after: &Path) -> Result<SortedWalk> {
        Ok(SortedWalk(match self {
            Self::Squashfs(archive) => SortedWalkOf::Squashfs(archive.walk_after(after).await?),
            Self::Tar(_) => SortedWalkOf::Tar(tar::SortedWalk::after(after)),
        }))
    }

    /// Returns the next entry of a sorted walk, with its path. Hard links have the attributes of their file.
    pub async fn next_sorted(&mut self, walk: &mut SortedWalk) -> Result<Option<(Bytes, Entry)>> {
        match (self, &mut walk.0) {
            (Self::Squashfs(archive), SortedWalkOf::Squashfs(walk)) => archive.next_entry(walk).await,
            (Self::Tar(archive), SortedWalkOf::Tar(walk)) => walk.next(archive).await,
            _ => Err(Error::OTHER_ARCHIVE),
        }
    }

    /// Returns the next bytes of the last entry of a sorted walk, at most 1 MiB: of an archive with random access.
    pub async fn next_sorted_bytes(&mut self, walk: &mut SortedWalk) -> Result<Option<Bytes>> {
        match (self, &mut walk.0) {
            (Self::Squashfs(archive), SortedWalkOf::Squashfs(walk)) => archive.next_entry_bytes(walk).await,
            _ => Err(Error::OTHER_ARCHIVE),
        }
    }

    /// Returns the next bytes of the last entry of a walk, at most 1 MiB.
    pub async fn next_entry_bytes(&mut self, walk: &mut Walk) -> Result<Option<Bytes>> {
        match (self, &mut walk.0) {
            (Self::Squashfs(archive), WalkOf::Squashfs(walk)) => archive.next_entry_bytes(walk).await,
            (Self::Tar(archive), WalkOf::Tar(walk)) => archive.next_entry_bytes(walk).await,
            _ => Err(Error::OTHER_ARCHIVE),
        }
    }
}

impl Content {
    /// Returns the attributes of the file.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns the number of bytes that are not read yet.
    pub fn remaining(&self) -> u64 {
        match &self.content {
            ContentOf::Squashfs(content) => content.remaining(),
            ContentOf::Tar(content) => content.remaining(),
        }
    }
}
