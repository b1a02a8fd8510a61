//! The files of a snapshot: in one archive of any format, or in those of a delta.

use std::ops::Range;

use bytes::Bytes;

use crate::delta::{self, Delta};
use crate::read_ahead::ReadAhead;
use crate::single::{self, CACHE, Single};
use crate::{Entry, Error, Page, Path, Result, Source};

/// Where the files of a snapshot are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Archives<S> {
    /// In one archive.
    Full(S),
    /// In those of a delta.
    Delta {
        /// The archive of the base.
        base: S,
        /// The carrier of the changes.
        carrier: S,
        /// The SHA-256 of the file `head` of the carrier, in hexadecimal.
        head: String,
    },
}

impl<S: Source> Archives<S> {
    /// Opens the archives.
    pub async fn open(self) -> Result<Archive<S>> {
        match self {
            Self::Full(source) => Archive::open(source).await,
            Self::Delta { base, carrier, head } => {
                Ok(Archive(Form::Delta(Box::new(Delta::open(base, carrier, &head).await?))))
            }
        }
    }
}

/// The files of a snapshot. The reader uses at most 32 MiB of memory in addition to what it returns.
pub struct Archive<S>(Form<S>);

enum Form<S> {
    Full(Single<S>),
    Delta(Box<Delta<S>>),
}

/// A range of a file that is being read.
pub struct Content(ContentOf);

enum ContentOf {
    Full(single::Content),
    Delta(delta::Content),
}

/// A visit of all entries below a directory.
pub struct Walk(WalkOf);

enum WalkOf {
    Full(single::Walk),
    Delta(Box<delta::Walk>),
}

/// A visit of all entries that follow a path, in the order of their paths.
pub struct SortedWalk(SortedWalkOf);

enum SortedWalkOf {
    Full(single::SortedWalk),
    Delta(Box<delta::SortedWalk>),
}

impl<S: Source> Archive<S> {
    /// Opens an archive: squashfs 4.0 with gzip, lz4 or zstd, or tar, as it is or with gzip or zstd.
    pub async fn open(source: S) -> Result<Self> {
        Single::open(ReadAhead::new(source), CACHE).await.map(Form::Full).map(Self)
    }

    /// Whether an operation reads only what it needs. Otherwise it reads an archive from its begin.
    pub fn has_random_access(&self) -> bool {
        match &self.0 {
            Form::Full(archive) => archive.has_random_access(),
            Form::Delta(archive) => archive.has_random_access(),
        }
    }

    /// Returns the attributes of an entry.
    pub async fn stat(&mut self, path: &Path) -> Result<Entry> {
        match &mut self.0 {
            Form::Full(archive) => archive.stat(path).await,
            Form::Delta(archive) => archive.stat(path).await,
        }
    }

    /// Returns the entries of a directory whose names follow `after`: at most `limit`, from 1 to
    /// [`MAX_PAGE`](crate::MAX_PAGE).
    pub async fn list(&mut self, path: &Path, after: Option<&[u8]>, limit: usize) -> Result<Page> {
        match &mut self.0 {
            Form::Full(archive) => archive.list(path, after, limit, &|_, _| true).await,
            Form::Delta(archive) => archive.list(path, after, limit).await,
        }
    }

    /// Begins to read a range of a file, which is cut at the end of the file.
    pub async fn read(&mut self, path: &Path, range: Range<u64>) -> Result<Content> {
        Ok(Content(match &mut self.0 {
            Form::Full(archive) => ContentOf::Full(archive.read(path, range).await?),
            Form::Delta(archive) => ContentOf::Delta(archive.read(path, range).await?),
        }))
    }

    /// Begins to read a range of the file that a walk found at a path. Costs less than a search by the path alone.
    pub async fn read_found(&mut self, path: &Path, entry: &Entry, range: Range<u64>) -> Result<Content> {
        Ok(Content(match &mut self.0 {
            Form::Full(archive) => ContentOf::Full(archive.read(path, range).await?),
            Form::Delta(archive) => ContentOf::Delta(archive.read_found(path, entry.clone(), range).await?),
        }))
    }

    /// Returns the next bytes of a file, at most 1 MiB.
    pub async fn next_bytes(&mut self, content: &mut Content) -> Result<Option<Bytes>> {
        match (&mut self.0, &mut content.0) {
            (Form::Full(archive), ContentOf::Full(content)) => archive.next_bytes(content).await,
            (Form::Delta(archive), ContentOf::Delta(content)) => archive.next_bytes(content).await,
            _ => Err(Error::OTHER_ARCHIVE),
        }
    }

    /// Begins to visit all entries below a directory. Directories precede what is in them. The entries of a squashfs
    /// are sorted by name, and those of a tar in the order of the archive.
    pub async fn walk(&mut self, path: &Path) -> Result<Walk> {
        Ok(Walk(match &mut self.0 {
            Form::Full(archive) => WalkOf::Full(archive.walk(path).await?),
            Form::Delta(archive) => WalkOf::Delta(Box::new(archive.walk(path).await?)),
        }))
    }

    /// Returns the next entry of a walk, with its path relative to the directory.
    pub async fn next_entry(&mut self, walk: &mut Walk) -> Result<Option<(Bytes, Entry)>> {
        match (&mut self.0, &mut walk.0) {
            (Form::Full(archive), WalkOf::Full(walk)) => archive.next_entry(walk).await,
            (Form::Delta(archive), WalkOf::Delta(walk)) => archive.next_entry(walk).await,
            _ => Err(Error::OTHER_ARCHIVE),
        }
    }

    /// Begins to visit the entries that follow a path, which can be missing, in the order of their paths: name by name, so
    /// that a directory precedes what is in it, and that precedes its next sibling. A tar is read once for each part of its
    /// entries that fits into the memory.
    pub async fn walk_sorted(&mut self, after: &Path) -> Result<SortedWalk> {
        Ok(SortedWalk(match &mut self.0 {
            Form::Full(archive) => SortedWalkOf::Full(archive.walk_sorted(after).await?),
            Form::Delta(archive) => SortedWalkOf::Delta(Box::new(archive.walk_sorted(after).await?)),
        }))
    }

    /// Returns the next entry of a sorted walk, with its path. Hard links have the attributes of their file.
    pub async fn next_sorted(&mut self, walk: &mut SortedWalk) -> Result<Option<(Bytes, Entry)>> {
        match (&mut self.0, &mut walk.0) {
            (Form::Full(archive), SortedWalkOf::Full(walk)) => archive.next_sorted(walk).await,
            (Form::Delta(archive), SortedWalkOf::Delta(walk)) => archive.next_sorted(walk).await,
            _ => Err(Error::OTHER_ARCHIVE),
        }
    }

    /// Returns the next bytes of the last entry of a walk, at most 1 MiB.
    pub async fn next_entry_bytes(&mut self, walk: &mut Walk) -> Result<Option<Bytes>> {
        match (&mut self.0, &mut walk.0) {
            (Form::Full(archive), WalkOf::Full(walk)) => archive.next_entry_bytes(walk).await,
            (Form::Delta(archive), WalkOf::Delta(walk)) => archive.next_entry_bytes(walk).await,
            _ => Err(Error::OTHER_ARCHIVE),
        }
    }
}

impl Content {
    /// Returns the attributes of the file.
    pub fn entry(&self) -> &Entry {
        match &self.0 {
            ContentOf::Full(content) => content.entry(),
            ContentOf::Delta(content) => content.entry(),
        }
    }

    /// Returns the number of bytes that are not read yet.
    pub fn remaining(&self) -> u64 {
        match &self.0 {
            ContentOf::Full(content) => content.remaining(),
            ContentOf::Delta(content) => content.remaining(),
        }
    }
}
