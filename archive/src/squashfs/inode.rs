//! Inodes: the attributes of files and directories.

use bytes::Bytes;

use super::blocks::{Blocks, Position};
use crate::entry::MAX_TARGET;
use crate::fields::Fields;
use crate::{Entry, Error, Kind, Result, Source};

/// The maximum number of blocks of a file: 512 GiB with blocks of 128 KiB.
const MAX_BLOCKS: u64 = 1 << 22;

/// The number of a fragment that a file doesn't have.
const NO_FRAGMENT: u32 = u32::MAX;

/// An inode.
#[derive(Clone, Debug)]
pub(crate) struct Inode {
    /// From 1 to the number of inodes.
    pub number: u32,
    pub entry: Entry,
    pub body: Body,
}

/// Where the content of an inode is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Directory(Directory),
    File(File),
    Other,
}

/// Where the entries of a directory are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directory {
    /// The block of the first entry, from the begin of the directory table.
    pub block: u32,
    pub offset: u16,
    /// The size of the entries in bytes.
    pub size: u32,
    /// The position of the index, and the number of its entries.
    pub index: Option<(Position, u16)>,
}

/// Where the content of a file is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    pub size: u64,
    /// The position of the first block in the archive.
    pub start: u64,
    /// The position of the list of the blocks' sizes.
    pub blocks: Position,
    /// The fragment block with the last bytes, and their offset in it.
    pub fragment: Option<(u32, u32)>,
}

/// The type of an inode. Each has an extended form, with a number that is 7 larger.
mod inode_type {
    pub const DIRECTORY: u16 = 1;
    pub const FILE: u16 = 2;
    pub const SYMLINK: u16 = 3;
    pub const BLOCK_DEVICE: u16 = 4;
    pub const CHARACTER_DEVICE: u16 = 5;
    pub const FIFO: u16 = 6;
    pub const SOCKET: u16 = 7;
    pub const EXTENDED: u16 = 7;
}

impl Kind {
    /// Returns the type of an inode in directories, where no type is extended.
    pub(crate) fn inode_type(&self) -> u16 {
        match self {
            Self::Directory => inode_type::DIRECTORY,
            Self::File | Self::HardLink { .. } => inode_type::FILE,
            Self::Symlink { .. } => inode_type::SYMLINK,
            Self::BlockDevice(_) => inode_type::BLOCK_DEVICE,
            Self::CharacterDevice(_) => inode_type::CHARACTER_DEVICE,
            Self::Fifo => inode_type::FIFO,
            Self::Socket => inode_type::SOCKET,
        }
    }
}

/// Reads the inode with a reference.
pub(crate) async fn read<S: Source>(blocks: &mut Blocks<S>, reference: u64) -> Result<Inode> {
    let superblock = *blocks.superblock();
    let mut position = Position::of_inode(superblock.inode_table, reference)?;
    let header = blocks.read(&mut position, 16).await?;
    let mut header = Fields(&header);
    let (stored_type, mode) = (header.u16()?, header.u16()?);
    let (uid, gid) = (header.u16()?, header.u16()?);
    let (mtime, number) = (header.u32()?, header.u32()?);
    if number == 0 || number > superblock.inode_count {
        return Err(Error::Damaged("the number of an inode is too large"));
    }
    let is_extended = stored_type > inode_type::EXTENDED;
    let basic_type = if is_extended { stored_type - inode_type::EXTENDED } else { stored_type };
    let mut entry = Entry {
        kind: Kind::Directory,
        mode: mode & 0o7777,
        uid: id(blocks, uid).await?,
        gid: id(blocks, gid).await?,
        mtime: i64::from(mtime),
        size: 0,
        links: 1,
        location: reference,
    };
    let body = match basic_type {
        inode_type::DIRECTORY => Body::Directory(directory(blocks, position, is_extended).await?),
        inode_type::FILE => {
            let (file, links) = file(blocks, position, is_extended).await?;
            (entry.kind, entry.size, entry.links) = (Kind::File, file.size, links);
            Body::File(file)
        }
        _ => {
            (entry.kind, entry.links) = other(blocks, position, basic_type).await?;
            Body::Other
        }
    };
    Ok(Inode { number, entry, body })
}

/// Reads a user or group id from the table of ids.
async fn id<S: Source>(blocks: &mut Blocks<S>, index: u16) -> Result<u32> {
    let superblock = *blocks.superblock();
    if index >= superblock.id_count {
        return Err(Error::Damaged("an owner is not in the table of ids"));
    }
    let mut position = blocks.find_in_table(superblock.id_table, index.into(), 4).await?;
    Fields(&blocks.read(&mut position, 4).await?).u32()
}

async fn directory<S: Source>(blocks: &mut Blocks<S>, mut at: Position, is_extended: bool) -> Result<Directory> {
    /// What the size of a directory counts in addition to its entries: `.` and `..`.
    const EXTRA: u32 = 3;
    let bytes = blocks.read(&mut at, if is_extended { 24 } else { 16 }).await?;
    let mut fields = Fields(&bytes);
    let (block, size, offset, index_count) = if is_extended {
        let (_links, size, block) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let (_parent, index_count, offset) = (fields.u32()?, fields.u16()?, fields.u16()?);
        (block, size, offset, index_count)
    } else {
        let (block, _links, size) = (fields.u32()?, fields.u32()?, fields.u16()?);
        (block, size.into(), fields.u16()?, 0)
    };
    let index = (index_count > 0).then_some((at, index_count));
    Ok(Directory { block, offset, size: size.saturating_sub(EXTRA), index })
}

/// Reads where the content of a file is, and the number of its names.
async fn file<S: Source>(blocks: &mut Blocks<S>, mut at: Position, is_extended: bool) -> Result<(File, u32)> {
    let bytes = blocks.read(&mut at, if is_extended { 40 } else { 16 }).await?;
    let mut fields = Fields(&bytes);
    let (start, size, links, fragment) = if is_extended {
        let (start, size, _sparse) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (links, fragment, offset) = (fields.u32()?, fields.u32()?, fields.u32()?);
        (start, size, links, (fragment, offset))
    } else {
        let (start, fragment, offset) = (fields.u32()?, fields.u32()?, fields.u32()?);
        (start.into(), fields.u32()?.into(), 1, (fragment, offset))
    };
    if size / u64::from(blocks.superblock().block_size) > MAX_BLOCKS {
        return Err(Error::Unsupported("a file has more than 4,194,304 blocks"));
    }
    let fragment = (fragment.0 != NO_FRAGMENT).then_some(fragment);
    Ok((File { size, start, blocks: at, fragment }, links))
}

/// Reads an inode without content, and the number of its names.
async fn other<S: Source>(blocks: &mut Blocks<S>, mut at: Position, basic_type: u16) -> Result<(Kind, u32)> {
    let links = Fields(&blocks.read(&mut at, 4).await?).u32()?;
    let kind = match basic_type {
        inode_type::SYMLINK => {
            let size = Fields(&blocks.read(&mut at, 4).await?).u32()? as usize;
            if size > MAX_TARGET {
                return Err(Error::Damaged("the target of a symbolic link is too long"));
            }
            Kind::Symlink { target: Bytes::from(blocks.read(&mut at, size).await?) }
        }
        inode_type::BLOCK_DEVICE => Kind::BlockDevice(Fields(&blocks.read(&mut at, 4).await?).u32()?),
        inode_type::CHARACTER_DEVICE => Kind::CharacterDevice(Fields(&blocks.read(&mut at, 4).await?).u32()?),
        inode_type::FIFO => Kind::Fifo,
        inode_type::SOCKET => Kind::Socket,
        _ => return Err(Error::Damaged("the type of an inode is unknown")),
    };
    Ok((kind, links))
}
