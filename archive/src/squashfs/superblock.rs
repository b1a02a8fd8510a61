//! The first bytes of a squashfs archive.

use crate::compression::Decompressor;
use crate::fields::Fields;
use crate::{Error, Result};

/// The size of a superblock in bytes.
pub(crate) const SIZE: usize = 96;

/// The first bytes of an archive.
pub(crate) const MAGIC: &[u8] = b"hsqs";

/// The maximum number of inodes that the reader supports: for each it needs a bit of memory.
const MAX_INODES: u32 = 1 << 24;

/// The position of something that an archive does not have.
const ABSENT: u64 = u64::MAX;

/// What the superblock says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Superblock {
    pub inode_count: u32,
    /// The size of a data block in bytes, decompressed.
    pub block_size: u32,
    pub fragment_count: u32,
    pub id_count: u16,
    compressor: u16,
    /// The position of the root's inode: see [`Superblock::inode`].
    pub root: u64,
    /// The size of the archive without the padding at its end.
    pub size: u64,
    pub id_table: u64,
    pub inode_table: u64,
    pub directory_table: u64,
    pub fragment_table: u64,
}

impl Superblock {
    /// Parses the superblock of an archive of `available` bytes.
    pub fn parse(bytes: &[u8], available: u64) -> Result<Self> {
        let begin = Error::Damaged("it does not begin as a squashfs");
        let mut fields = Fields(bytes.strip_prefix(MAGIC).ok_or(begin)?);
        let inode_count = fields.u32()?;
        let _created_at = fields.u32()?;
        let block_size = fields.u32()?;
        let fragment_count = fields.u32()?;
        let compressor = fields.u16()?;
        let block_log = fields.u16()?;
        let _flags = fields.u16()?;
        let id_count = fields.u16()?;
        let version = (fields.u16()?, fields.u16()?);
        let root = fields.u64()?;
        let size = fields.u64()?;
        let id_table = fields.u64()?;
        let _xattr_table = fields.u64()?;
        let inode_table = fields.u64()?;
        let directory_table = fields.u64()?;
        let fragment_table = fields.u64()?;
        if version != (4, 0) {
            return Err(Error::Unsupported("its version is not 4.0"));
        }
        if !(12..=20).contains(&block_log) || block_size != 1 << block_log {
            return Err(Error::Damaged("its block size is not a power of 2 from 4 KiB to 1 MiB"));
        }
        if inode_count > MAX_INODES {
            return Err(Error::Unsupported("it has more than 16,777,216 inodes"));
        }
        if size > available {
            return Err(Error::Damaged("it ends early"));
        }
        let is_within = |table: u64| (SIZE as u64..size).contains(&table);
        let has_tables = is_within(id_table)
            && is_within(inode_table)
            && is_within(directory_table)
            && inode_table <= directory_table
            && (is_within(fragment_table) || fragment_table == ABSENT && fragment_count == 0);
        if !has_tables {
            return Err(Error::Damaged("a table is outside of it"));
        }
        Ok(Self {
            inode_count,
            block_size,
            fragment_count,
            id_count,
            compressor,
            root,
            size,
            id_table,
            inode_table,
            directory_table,
            fragment_table,
        })
    }

    /// Returns the decompressor of the blocks.
    pub fn decompressor(&self) -> Result<Decompressor> {
        match self.compressor {
            1 => Ok(Decompressor::Zlib),
            5 => Ok(Decompressor::Lz4),
            6 => Ok(Decompressor::zstd()),
            2..=4 => Err(Error::Unsupported("it is compressed with lzma, lzo or xz")),
            _ => Err(Error::Damaged("its compressor is unknown")),
        }
    }
}
