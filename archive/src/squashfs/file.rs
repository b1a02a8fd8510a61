//! The content of a file.

use std::ops::Range;

use bytes::Bytes;

use super::blocks::{Blocks, DataBlock, Position};
use super::inode::File;
use crate::fields::Fields;
use crate::{Error, Result, Source};

/// Reads a range of a file block by block.
pub(crate) struct Content {
    range: Range<u64>,
    /// The offset in the file of the next block.
    offset: u64,
    /// The position in the archive of the next block.
    start: u64,
    /// The position of the size of the next block.
    sizes: Position,
    file: File,
}

impl Content {
    /// Begins with the first byte of a range, which is cut at the end of the file.
    pub fn new(file: File, range: Range<u64>) -> Self {
        let end = range.end.min(file.size);
        let range = range.start.min(end)..end;
        Self { range, offset: 0, start: file.start, sizes: file.blocks, file }
    }

    /// Returns the number of bytes that are not read yet.
    pub fn remaining(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Returns the next bytes of the range, at most as many as a block has.
    pub async fn next<S: Source>(&mut self, blocks: &mut Blocks<S>) -> Result<Option<Bytes>> {
        let block_size = u64::from(blocks.superblock().block_size);
        while self.range.start < self.range.end {
            let size = block_size.min(self.file.size - self.offset);
            let begin = self.range.start - self.offset;
            let is_fragment = size < block_size && self.file.fragment.is_some();
            let bytes = if is_fragment {
                self.read_fragment(blocks, size).await?
            } else {
                let block = self.next_block(blocks).await?;
                if begin >= size {
                    self.offset += size;
                    continue;
                }
                blocks.data(block, usize::try_from(size).unwrap_or_default()).await?
            };
            let end = size.min(self.range.end - self.offset);
            self.offset += size;
            self.range.start = self.offset.min(self.range.end);
            let [begin, end] = [begin, end].map(|at| usize::try_from(at).unwrap_or_default());
            return Ok(Some(bytes.slice(begin..end)));
        }
        Ok(None)
    }

    async fn next_block<S: Source>(&mut self, blocks: &mut Blocks<S>) -> Result<DataBlock> {
        let size = Fields(&blocks.read(&mut self.sizes, 4).await?).u32()?;
        let block = DataBlock::new(self.start, size);
        let end = self.start.checked_add(block.stored.into());
        self.start = end.ok_or(Error::Damaged("a position is outside of it"))?;
        Ok(block)
    }

    /// Reads the last `size` bytes of the file from the fragment block that has them.
    async fn read_fragment<S: Source>(&self, blocks: &mut Blocks<S>, size: u64) -> Result<Bytes> {
        let missing = Error::Damaged("a fragment is not in the table of fragments");
        let Some((index, offset)) = self.file.fragment else { return Err(missing) };
        let superblock = *blocks.superblock();
        if index >= superblock.fragment_count {
            return Err(missing);
        }
        let mut position = blocks.find_in_table(superblock.fragment_table, index, 16).await?;
        let bytes = blocks.read(&mut position, 16).await?;
        let mut fields = Fields(&bytes);
        let block = DataBlock::new(fields.u64()?, fields.u32()?);
        let fragments = blocks.fragment(block).await?;
        let begin = offset as usize;
        let end = begin.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        if end > fragments.len() {
            return Err(Error::Damaged("a fragment exceeds its block"));
        }
        Ok(fragments.slice(begin..end))
    }
}
