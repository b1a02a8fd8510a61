//! The entries of a directory.

use bytes::Bytes;

use super::blocks::{Blocks, Position};
use super::inode::{self, Directory, Inode};
use crate::fields::Fields;
use crate::path::is_name;
use crate::{Error, Result, Source};

/// An entry of a directory.
pub(crate) struct DirectoryEntry {
    pub name: Bytes,
    /// The reference of its inode.
    reference: u64,
    inode_type: u16,
}

impl DirectoryEntry {
    /// Reads the inode.
    pub async fn inode<S: Source>(&self, blocks: &mut Blocks<S>) -> Result<Inode> {
        let inode = inode::read(blocks, self.reference).await?;
        if inode.entry.kind.inode_type() != self.inode_type {
            return Err(Error::Damaged("a directory has another type for an entry than its inode"));
        }
        Ok(inode)
    }
}

/// Entries that share a header.
#[derive(Clone)]
struct Run {
    left: u32,
    inode_block: u32,
}

/// Reads the entries of a directory in the order of their names.
#[derive(Clone)]
pub(crate) struct Listing {
    position: Position,
    /// The size of the entries that are not read yet, in bytes.
    remaining: u32,
    run: Run,
    previous: Option<Bytes>,
    /// The name that the index of the directory has for the next entry.
    indexed: Option<Bytes>,
}

impl Listing {
    /// Begins with the first entry.
    pub fn new<S: Source>(blocks: &Blocks<S>, directory: &Directory) -> Result<Self> {
        let table = blocks.superblock().directory_table;
        Ok(Self {
            position: Position::new(table, directory.block.into(), directory.offset)?,
            remaining: directory.size,
            run: Run { left: 0, inode_block: 0 },
            previous: None,
            indexed: None,
        })
    }

    /// Begins with the last indexed entry that is at or before `name`.
    pub async fn seek<S: Source>(blocks: &mut Blocks<S>, directory: &Directory, name: &[u8]) -> Result<Self> {
        /// The decompressed size of a block of directories, in bytes: only the last one can be smaller.
        const BLOCK: u32 = 8192;
        let mut listing = Self::new(blocks, directory)?;
        let Some((mut at, count)) = directory.index else { return Ok(listing) };
        let table = blocks.superblock().directory_table;
        for _ in 0..count {
            let bytes = blocks.read(&mut at, 12).await?;
            let mut fields = Fields(&bytes);
            let (skipped, block, length) = (fields.u32()?, fields.u32()?, fields.u32()?);
            let indexed = read_name(blocks, &mut at, length).await?;
            if indexed.as_ref() > name {
                break;
            }
            let remaining = directory.size.checked_sub(skipped).filter(|remaining| *remaining <= listing.remaining);
            listing.remaining = remaining.ok_or(Error::Damaged("the index of a directory is out of order"))?;
            let offset = (skipped % BLOCK + u32::from(directory.offset)) % BLOCK;
            listing.position = Position::new(table, block.into(), u16::try_from(offset).unwrap_or_default())?;
            listing.indexed = Some(indexed);
        }
        Ok(listing)
    }

    /// Returns the next entry.
    pub async fn next<S: Source>(&mut self, blocks: &mut Blocks<S>) -> Result<Option<DirectoryEntry>> {
        if self.run.left == 0 {
            if self.remaining == 0 {
                return Ok(None);
            }
            self.run = self.read_header(blocks).await?;
        }
        self.run.left -= 1;
        self.take(8)?;
        let bytes = blocks.read(&mut self.position, 8).await?;
        let mut fields = Fields(&bytes);
        let (offset, _number, inode_type) = (fields.u16()?, fields.u16()?, fields.u16()?);
        let length = u32::from(fields.u16()?);
        self.take(length + 1)?;
        let name = read_name(blocks, &mut self.position, length).await?;
        if self.previous.as_ref().is_some_and(|previous| *previous >= name) {
            return Err(Error::Damaged("the entries of a directory are out of order"));
        }
        if self.indexed.take().is_some_and(|indexed| indexed != name) {
            return Err(Error::Damaged("the index of a directory has another name than its entry"));
        }
        self.previous = Some(name.clone());
        let reference = u64::from(self.run.inode_block) << 16 | u64::from(offset);
        Ok(Some(DirectoryEntry { name, reference, inode_type }))
    }

    async fn read_header<S: Source>(&mut self, blocks: &mut Blocks<S>) -> Result<Run> {
        const MAX_ENTRIES: u32 = 256;
        self.take(12)?;
        let bytes = blocks.read(&mut self.position, 12).await?;
        let mut fields = Fields(&bytes);
        let (last, inode_block) = (fields.u32()?, fields.u32()?);
        if last >= MAX_ENTRIES {
            return Err(Error::Damaged("a directory has too many entries after a header"));
        }
        Ok(Run { left: last + 1, inode_block })
    }

    /// Counts bytes that are read.
    fn take(&mut self, bytes: u32) -> Result<()> {
        let remaining = self.remaining.checked_sub(bytes);
        self.remaining = remaining.ok_or(Error::Damaged("an entry exceeds its directory"))?;
        Ok(())
    }
}

/// Finds an entry by its name.
pub(crate) async fn find<S: Source>(blocks: &mut Blocks<S>, directory: &Directory, name: &[u8]) -> Result<Inode> {
    let mut listing = Listing::seek(blocks, directory, name).await?;
    while let Some(entry) = listing.next(blocks).await? {
        if entry.name == name {
            return entry.inode(blocks).await;
        }
        if entry.name.as_ref() > name {
            break;
        }
    }
    Err(Error::NotFound)
}

/// Returns the entries of a directory that follow `name`, and the entry with this name.
pub(crate) async fn seek_behind<S: Source>(
    blocks: &mut Blocks<S>,
    directory: &Directory,
    name: &[u8],
) -> Result<(Listing, Option<DirectoryEntry>)> {
    let mut listing = Listing::seek(blocks, directory, name).await?;
    loop {
        let here = listing.clone();
        match listing.next(blocks).await? {
            Some(entry) if entry.name.as_ref() < name => {}
            Some(entry) if entry.name == name => return Ok((listing, Some(entry))),
            _ => return Ok((here, None)),
        }
    }
}

/// Reads a name, whose length is stored less one.
async fn read_name<S: Source>(blocks: &mut Blocks<S>, at: &mut Position, length: u32) -> Result<Bytes> {
    const MAX_LENGTH: u32 = 255;
    if length >= MAX_LENGTH {
        return Err(Error::Damaged("a name is too long"));
    }
    let name = blocks.read(at, length as usize + 1).await?;
    if is_name(&name) { Ok(name.into()) } else { Err(Error::Damaged("a name is not valid")) }
}
