//! The blocks of an archive: compressed pieces of metadata and of files.

use bytes::Bytes;

use super::superblock::Superblock;
use crate::cache::Cache;
use crate::compression::Decompressor;
use crate::fields::Fields;
use crate::read_ahead::ReadAhead;
use crate::{Error, Result, Source};

/// The maximum size of a block of metadata in bytes, decompressed.
const METADATA_BLOCK: usize = 8192;

/// A position in the decompressed metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The position of the compressed block in the archive.
    block: u64,
    /// The offset in the decompressed block.
    offset: usize,
}

impl Position {
    /// Returns the position of a block's begin, `block` bytes after the begin of a table, and an offset in it.
    pub fn new(table: u64, block: u64, offset: u16) -> Result<Self> {
        let block = table.checked_add(block).ok_or(Error::Damaged("a position is outside of it"))?;
        Ok(Self { block, offset: usize::from(offset) })
    }

    /// Returns the position of a reference to an inode, which combines a block and an offset.
    pub fn of_inode(table: u64, reference: u64) -> Result<Self> {
        let [.., high, low] = reference.to_be_bytes();
        Self::new(table, reference >> 16, u16::from_be_bytes([high, low]))
    }
}

/// A piece of a file in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataBlock {
    /// Its position.
    pub start: u64,
    /// Its size in the archive; 0 for a block of zeros, which the archive doesn't contain.
    pub stored: u32,
    pub is_compressed: bool,
}

impl DataBlock {
    /// Returns the block at a position, from its size as it is stored.
    pub fn new(start: u64, size: u32) -> Self {
        const UNCOMPRESSED: u32 = 1 << 24;
        Self { start, stored: size & (UNCOMPRESSED - 1), is_compressed: size & UNCOMPRESSED == 0 }
    }
}

/// A decompressed block of metadata.
#[derive(Clone)]
struct Metadata {
    bytes: Bytes,
    /// The position of the next block.
    next: u64,
}

/// The blocks of an archive, with caches.
pub(crate) struct Blocks<S> {
    source: ReadAhead<S>,
    decompressor: Decompressor,
    superblock: Superblock,
    metadata: Cache<Metadata>,
    fragments: Cache<Bytes>,
}

impl<S: Source> Blocks<S> {
    /// `cache` is the memory of the decompressed metadata, and of the decompressed fragment blocks, in bytes.
    pub fn new(source: ReadAhead<S>, superblock: Superblock, cache: usize) -> Result<Self> {
        Ok(Self {
            source,
            decompressor: superblock.decompressor()?,
            superblock,
            metadata: Cache::new(cache),
            fragments: Cache::new(cache),
        })
    }

    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Reads `length` bytes of metadata, and moves the position behind them.
    pub async fn read(&mut self, position: &mut Position, length: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let block = self.metadata(position.block).await?;
            if position.offset >= block.bytes.len() {
                // A structure can begin at the end of a block, and not behind it.
                if position.offset > block.bytes.len() {
                    return Err(Error::Damaged("a position is behind its block"));
                }
                *position = Position { block: block.next, offset: 0 };
                continue;
            }
            let available = block.bytes.get(position.offset..).unwrap_or_default();
            let (taken, _) = available.split_at(available.len().min(length - bytes.len()));
            bytes.extend_from_slice(taken);
            position.offset += taken.len();
        }
        Ok(bytes)
    }

    async fn metadata(&mut self, position: u64) -> Result<Metadata> {
        if let Some(block) = self.metadata.get(position) {
            return Ok(block.clone());
        }
        let header = Fields(&self.read_source(position, 2).await?).u16()?;
        let (stored, is_compressed) = (usize::from(header & 0x7fff), header & 0x8000 == 0);
        if stored == 0 || stored > METADATA_BLOCK {
            return Err(Error::Damaged("a block of metadata has an invalid size"));
        }
        let start = position + 2;
        let content = self.read_source(start, stored).await?;
        let bytes = if is_compressed {
            self.decompressor.decompress(&content, METADATA_BLOCK)?.into()
        } else {
            Bytes::copy_from_slice(&content)
        };
        if bytes.is_empty() {
            return Err(Error::Damaged("a block of metadata is empty"));
        }
        let block = Metadata { bytes, next: start + stored as u64 };
        self.metadata.insert(position, block.clone(), METADATA_BLOCK);
        Ok(block)
    }

    /// Returns the position of an entry of a table that is stored as a list of the positions of its blocks.
    pub async fn find_in_table(&mut self, table: u64, index: u32, entry_size: u16) -> Result<Position> {
        let offset = u64::from(index) * u64::from(entry_size);
        let list = table.checked_add(offset / METADATA_BLOCK as u64 * 8);
        let list = list.ok_or(Error::Damaged("a position is outside of it"))?;
        let block = Fields(&self.read_source(list, 8).await?).u64()?;
        let offset = u16::try_from(offset % METADATA_BLOCK as u64).unwrap_or_default();
        Position::new(0, block, offset)
    }

    /// Returns the content of a block of a file, which has `size` bytes.
    pub async fn data(&mut self, block: DataBlock, size: usize) -> Result<Bytes> {
        if block.stored == 0 {
            return Ok(vec![0; size].into());
        }
        let bytes = self.decompress(block).await?;
        if bytes.len() == size { Ok(bytes) } else { Err(Error::Damaged("a block has another size than its file")) }
    }

    /// Returns the content of a block that has the last bytes of several files.
    pub async fn fragment(&mut self, block: DataBlock) -> Result<Bytes> {
        if let Some(bytes) = self.fragments.get(block.start) {
            return Ok(bytes.clone());
        }
        let bytes = self.decompress(block).await?;
        self.fragments.insert(block.start, bytes.clone(), bytes.len());
        Ok(bytes)
    }

    async fn decompress(&mut self, block: DataBlock) -> Result<Bytes> {
        let (stored, limit) = (block.stored as usize, self.superblock.block_size as usize);
        if stored > limit {
            return Err(Error::Damaged("a block is larger than the block size"));
        }
        let content = self.read_source(block.start, stored).await?;
        if !block.is_compressed {
            return Ok(Bytes::copy_from_slice(&content));
        }
        Ok(self.decompressor.decompress(&content, limit)?.into())
    }

    /// Reads the source before the padding at its end.
    async fn read_source(&mut self, offset: u64, length: usize) -> Result<Bytes> {
        match offset.checked_add(length as u64) {
            Some(end) if end <= self.superblock.size => self.source.read(offset, length).await,
            _ => Err(Error::Damaged("a position is outside of it")),
        }
    }
}
