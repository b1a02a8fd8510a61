//! All entries below a directory.

use bytes::{BufMut, Bytes, BytesMut};

use super::blocks::Blocks;
use super::directory::{self, Listing};
use super::file::Content;
use super::inode::{Body, Directory, Inode};
use crate::path::MAX_PATH;
use crate::{Entry, Error, Path, Result, Source};

/// Visits the entries below a directory: each directory before what is in it, and entries of a directory by name.
pub(crate) struct Walk {
    levels: Vec<Level>,
    path: BytesMut,
    visited: Visited,
    /// What is not read yet of the last entry.
    content: Option<Content>,
}

struct Level {
    listing: Listing,
    /// The length of the path of the directory.
    path: usize,
}

impl Walk {
    pub fn new<S: Source>(blocks: &Blocks<S>, inode: &Inode, directory: &Directory) -> Result<Self> {
        let mut visited = Visited::new(blocks.superblock().inode_count);
        visited.insert(inode.number)?;
        let level = Level { listing: Listing::new(blocks, directory)?, path: 0 };
        Ok(Self { levels: vec![level], path: BytesMut::new(), visited, content: None })
    }

    /// Begins with the entry that follows a path, which can be missing.
    pub async fn after<S: Source>(
        blocks: &mut Blocks<S>,
        inode: &Inode,
        directory: &Directory,
        path: &Path,
    ) -> Result<Self> {
        let mut walk = Self::new(blocks, inode, directory)?;
        let mut directory = *directory;
        for name in path.names() {
            let (listing, found) = directory::seek_behind(blocks, &directory, name).await?;
            if let Some(level) = walk.levels.last_mut() {
                level.listing = listing;
            }
            let Some(found) = found else { break };
            let inode = found.inode(blocks).await?;
            let Body::Directory(below) = inode.body else { break };
            walk.enter(blocks, name, &inode, &below)?;
            directory = below;
        }
        Ok(walk)
    }

    /// Continues with the entries of a directory in the present one.
    fn enter<S: Source>(&mut self, blocks: &Blocks<S>, name: &[u8], inode: &Inode, below: &Directory) -> Result<()> {
        self.push_name(name)?;
        self.visited.insert(inode.number)?;
        self.levels.push(Level { listing: Listing::new(blocks, below)?, path: self.path.len() });
        Ok(())
    }

    /// Appends a name to the path.
    fn push_name(&mut self, name: &[u8]) -> Result<()> {
        if !self.path.is_empty() {
            self.path.put_u8(b'/');
        }
        self.path.put_slice(name);
        if self.path.len() > MAX_PATH {
            return Err(Error::Unsupported("a path is longer than 65,536 bytes"));
        }
        Ok(())
    }

    /// Returns the next entry, with its path relative to the directory.
    pub async fn next<S: Source>(&mut self, blocks: &mut Blocks<S>) -> Result<Option<(Bytes, Entry)>> {
        while let Some(level) = self.levels.last_mut() {
            self.path.truncate(level.path);
            let Some(found) = level.listing.next(blocks).await? else {
                self.levels.pop();
                continue;
            };
            let inode = found.inode(blocks).await?;
            self.content = None;
            match &inode.body {
                Body::Directory(directory) => self.enter(blocks, &found.name, &inode, directory)?,
                Body::File(file) => {
                    self.push_name(&found.name)?;
                    self.content = Some(Content::new(*file, 0..file.size));
                }
                Body::Other => self.push_name(&found.name)?,
            }
            return Ok(Some((Bytes::copy_from_slice(&self.path), inode.entry)));
        }
        Ok(None)
    }

    /// Returns the next bytes of the last entry.
    pub async fn next_bytes<S: Source>(&mut self, blocks: &mut Blocks<S>) -> Result<Option<Bytes>> {
        match &mut self.content {
            Some(content) => content.next(blocks).await,
            None => Ok(None),
        }
    }
}

/// The numbers of the directories that were visited: a directory has one name only.
struct Visited(Vec<u8>);

impl Visited {
    fn new(inode_count: u32) -> Self {
        Self(vec![0; inode_count as usize / 8 + 1])
    }

    fn insert(&mut self, number: u32) -> Result<()> {
        let bit = 1 << (number % 8);
        match self.0.get_mut(number as usize / 8) {
            Some(byte) if *byte & bit == 0 => {
                *byte |= bit;
                Ok(())
            }
            _ => Err(Error::Damaged("a directory is in the archive twice")),
        }
    }
}
