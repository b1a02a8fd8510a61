//! An archive of any format.

use std::ops::Range;

use bytes::Bytes;

use crate::read_ahead::ReadAhead;
use crate::squashfs::{self, Squashfs};
use crate::tar::{self, Tar};
use crate::{Entry, Page, Path, Result, Source};

/// An archive. It uses at most 32 MiB of memory in addition to what it returns.
pub struct Archive<S>(Format<S>);

enum Format<S> {
    Squashfs(Box<Squashfs<S>>),
    Tar(Tar<S>),
}

/// A range of a file that is being read.
pub struct Content {
    entry: Entry,
    content: ContentOf,
}

enum ContentOf {
    Squashfs(squashfs::Content),
    Tar(tar::Content),
}

/// A visit of all entries below a directory.
pub struct Walk(WalkOf);

enum WalkOf {
    Squashfs(squashfs::Walk),
    Tar(tar::Walk),
}

/// A visit of all entries that follow a path, in the order of their paths.
pub struct SortedWalk(SortedWalkOf);

enum SortedWalkOf {
    Squashfs(squashfs::Walk),
    Tar(tar::SortedWalk),
}

impl<S: Source> Archive<S> {
    /// Opens an archive: squashfs 4.0 with gzip, lz4 or zstd, or tar, as it is or with gzip or zstd.
    pub async fn open(source: S) -> Result<Self> {
        let mut source = ReadAhead::new(source);
        let length = source.size().min(squashfs::MAGIC.len() as u64);
        let is_squashfs = source.read(0, usize::try_from(length).unwrap_or_default()).await? == squashfs::MAGIC;
        Ok(Self(if is_squashfs {
            Format::Squashfs(Box::new(Squashfs::open(source).await?))
        } else {
            Format::Tar(Tar::open(source).await?)
        }))
    }

    /// Whether an operation reads only what it needs. Otherwise it reads the archive from its begin.
    pub fn has_random_access(&self) -> bool {
        matches!(self.0, Format::Squashfs(_))
    }

    /// Returns the attributes of an entry.
    pub async fn stat(&mut self, path: &Path) -> Result<Entry> {
        match &mut self.0 {
            Format::Squashfs(archive) => archive.stat(path).await,
            Format::Tar(archive) => archive.stat(path).await,
        }
    }

    /// Returns the entries of a directory whose names follow `after`: at most `limit`, from 1 to
    /// [`MAX_PAGE`](crate::MAX_PAGE).
    pub async fn list(&mut self, path: &Path, after: Option<&[u8]>, limit: usize) -> Result<Page> {
        match &mut self.0 {
            Format::Squashfs(archive) => archive.list(path, after, limit).await,
            Format::Tar(archive) => archive.list(path, after, limit).await,
        }
    }

    /// Begins to read a range of a file, which is cut at the end of the file.
    pub async fn read(&mut self, path: &Path, range: Range<u64>) -> Result<Content> {
        let (entry, content) = match &mut self.0 {
            Format::Squashfs(archive) => {
                let (entry, content) = archive.read(path, range).await?;
                (entry, ContentOf::Squashfs(content))
            }
            Format::Tar(archive) => {
                let (entry, content) = archive.read(path, range).await?;
                (entry, ContentOf::Tar(content))
            }
        };
        Ok(Content { entry, content })
    }

    /// Returns the next bytes of a file, at most 1 MiB.
    pub async fn next_bytes(&mut self, content: &mut Content) -> Result<Option<Bytes>> {
        match (&mut self.0, &mut content.content) {
            (Format::Squashfs(archive), ContentOf::Squashfs(content)) => archive.next_bytes(content).await,
            (Format::Tar(archive), ContentOf::Tar(content)) => archive.next_bytes(content).await,
            _ => Ok(None),
        }
    }

    /// Begins to visit all entries below a directory. Directories precede what is in them. The entries of a squashfs
    /// are sorted by name, and those of a tar in the order of the archive.
    pub async fn walk(&mut self, path: &Path) -> Result<Walk> {
        Ok(Walk(match &mut self.0 {
            Format::Squashfs(archive) => WalkOf::Squashfs(archive.walk(path).await?),
            Format::Tar(archive) => WalkOf::Tar(archive.walk(path)),
        }))
    }

    /// Returns the next entry of a walk, with its path relative to the directory.
    pub async fn next_entry(&mut self, walk: &mut Walk) -> Result<Option<(Bytes, Entry)>> {
        match (&mut self.0, &mut walk.0) {
            (Format::Squashfs(archive), WalkOf::Squashfs(walk)) => archive.next_entry(walk).await,
            (Format::Tar(archive), WalkOf::Tar(walk)) => archive.next_entry(walk).await,
            _ => Ok(None),
        }
    }

    /// Begins to visit the entries that follow a path, which can be missing, in the order of their paths: name by name, so
    /// that a directory precedes what is in it, and that precedes its next sibling. A tar is read once for each part of its
    /// entries that fits into the memory.
    pub async fn walk_sorted(&mut self, after: &Path) -> Result<SortedWalk> {
        Ok(SortedWalk(match &mut self.0 {
            Format::Squashfs(archive) => SortedWalkOf::Squashfs(archive.walk_after(after).await?),
            Format::Tar(_) => SortedWalkOf::Tar(tar::SortedWalk::after(after)),
        }))
    }

    /// Returns the next entry of a sorted walk, with its path. Hard links have the attributes of their file.
    pub async fn next_sorted(&mut self, walk: &mut SortedWalk) -> Result<Option<(Bytes, Entry)>> {
        match (&mut self.0, &mut walk.0) {
            (Format::Squashfs(archive), SortedWalkOf::Squashfs(walk)) => archive.next_entry(walk).await,
            (Format::Tar(archive), SortedWalkOf::Tar(walk)) => walk.next(archive).await,
            _ => Ok(None),
        }
    }

    /// Returns the next bytes of the last entry of a walk, at most 1 MiB.
    pub async fn next_entry_bytes(&mut self, walk: &mut Walk) -> Result<Option<Bytes>> {
        match (&mut self.0, &mut walk.0) {
            (Format::Squashfs(archive), WalkOf::Squashfs(walk)) => archive.next_entry_bytes(walk).await,
            (Format::Tar(archive), WalkOf::Tar(walk)) => archive.next_entry_bytes(walk).await,
            _ => Ok(None),
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
