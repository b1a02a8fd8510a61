//! Archives of squashfs 4.0, as mksquashfs makes them with gzip, lz4 or zstd. Extended attributes are ignored.

mod blocks;
mod directory;
mod file;
mod inode;
mod superblock;
mod walk;

use std::ops::Range;

use bytes::Bytes;

use self::blocks::Blocks;
use self::directory::Listing;
use self::inode::{Body, Directory, Inode};
use self::superblock::Superblock;
use crate::entry::MAX_PAGE;
use crate::read_ahead::ReadAhead;
use crate::{Child, Entry, Error, Kind, Page, Path, Result, Source};

pub(crate) use self::file::Content;
pub(crate) use self::superblock::MAGIC;
pub(crate) use self::walk::Walk;

/// A squashfs archive with random access.
pub(crate) struct Squashfs<S> {
    blocks: Blocks<S>,
}

impl<S: Source> Squashfs<S> {
    /// Opens an archive with caches of at most `cache` bytes each.
    pub async fn open(mut source: ReadAhead<S>, cache: usize) -> Result<Self> {
        let superblock = Superblock::parse(&source.read(0, superblock::SIZE).await?, source.size())?;
        Ok(Self { blocks: Blocks::new(source, superblock, cache)? })
    }

    /// Returns the attributes of an entry.
    pub async fn stat(&mut self, path: &Path) -> Result<Entry> {
        Ok(self.find(path).await?.entry)
    }

    /// Returns the entries of a directory that follow the name `after`, and which `keep` accepts: at most `limit`, which is
    /// at least 1.
    pub async fn list(
        &mut self,
        path: &Path,
        after: Option<&[u8]>,
        limit: usize,
        keep: &dyn Fn(&[u8], &Kind) -> bool,
    ) -> Result<Page> {
        let (_, directory) = self.directory(path).await?;
        let limit = limit.clamp(1, MAX_PAGE);
        let mut listing = match after {
            Some(after) => Listing::seek(&mut self.blocks, &directory, after).await?,
            None => Listing::new(&self.blocks, &directory)?,
        };
        let mut children: Vec<Child> = Vec::new();
        while let Some(found) = listing.next(&mut self.blocks).await? {
            if after.is_some_and(|after| found.name.as_ref() <= after) {
                continue;
            }
            let entry = found.inode(&mut self.blocks).await?.entry;
            if !keep(&found.name, &entry.kind) {
                continue;
            }
            if children.len() == limit {
                let next = children.last().map(|child| child.name.clone());
                return Ok(Page { children, next });
            }
            children.push(Child { name: found.name, entry });
        }
        Ok(Page { children, next: None })
    }

    /// Begins to read a range of a file, which is cut at the end of the file.
    pub async fn read(&mut self, path: &Path, range: Range<u64>) -> Result<(Entry, Content)> {
        let inode = self.find(path).await?;
        match inode.body {
            Body::File(file) => Ok((inode.entry, Content::new(file, range))),
            _ => Err(Error::NotAFile),
        }
    }

    /// Returns the next bytes of a file.
    pub async fn next_bytes(&mut self, content: &mut Content) -> Result<Option<Bytes>> {
        content.next(&mut self.blocks).await
    }

    /// Begins to visit all entries below a directory.
    pub async fn walk(&mut self, path: &Path) -> Result<Walk> {
        let (inode, directory) = self.directory(path).await?;
        Walk::new(&self.blocks, &inode, &directory)
    }

    /// Begins to visit all entries that follow a path, which can be missing.
    pub async fn walk_after(&mut self, path: &Path) -> Result<Walk> {
        let (inode, directory) = self.directory(&Path::default()).await?;
        Walk::after(&mut self.blocks, &inode, &directory, path).await
    }

    /// Returns the next entry of a walk, with its path relative to the directory.
    pub async fn next_entry(&mut self, walk: &mut Walk) -> Result<Option<(Bytes, Entry)>> {
        walk.next(&mut self.blocks).await
    }

    /// Returns the next bytes of the last entry of a walk.
    pub async fn next_entry_bytes(&mut self, walk: &mut Walk) -> Result<Option<Bytes>> {
        walk.next_bytes(&mut self.blocks).await
    }

    async fn directory(&mut self, path: &Path) -> Result<(Inode, Directory)> {
        let inode = self.find(path).await?;
        match inode.body {
            Body::Directory(directory) => Ok((inode, directory)),
            _ => Err(Error::NotADirectory),
        }
    }

    async fn find(&mut self, path: &Path) -> Result<Inode> {
        let root = self.blocks.superblock().root;
        let mut inode = inode::read(&mut self.blocks, root).await?;
        if !matches!(inode.body, Body::Directory(_)) {
            return Err(Error::Damaged("its root is no directory"));
        }
        for name in path.names() {
            let Body::Directory(directory) = inode.body else { return Err(Error::NotADirectory) };
            inode = directory::find(&mut self.blocks, &directory, name).await?;
        }
        Ok(inode)
    }
}
