//! The members of an archive, with their long names and sparse maps.

use super::content::Content;
use super::header::{BLOCK, Header, SparseMap};
use super::pax;
use super::stream::Stream;
use crate::entry::MAX_TARGET;
use crate::path::MAX_PATH;
use crate::read_ahead::ReadAhead;
use crate::{Entry, Error, Kind, Path, Result, Source};

/// The maximum size of a header with attributes in bytes.
const MAX_ATTRIBUTES: u64 = 1 << 20;

/// The maximum number of pieces of a sparse file.
const MAX_PIECES: usize = 65_536;

/// A member of an archive.
pub(crate) struct Member {
    pub path: Path,
    pub entry: Entry,
    /// Where the content of a file is, relative to the position of the stream.
    pub content: Content,
}

/// Reads the members of an archive one after the other.
pub(crate) struct Members {
    pub stream: Stream,
}

impl Members {
    pub fn new(stream: Stream) -> Self {
        Self { stream }
    }

    /// Returns the next member. The content of the former one must be read or skipped before.
    pub async fn next<S: Source>(&mut self, source: &mut ReadAhead<S>) -> Result<Option<Member>> {
        let mut attributes = pax::Attributes::default();
        let location = self.stream.offset();
        loop {
            let block = self.stream.take(source, BLOCK).await?;
            let Some(header) = Header::parse(&block)? else {
                self.stream.finish(source).await?;
                return Ok(None);
            };
            match header.member_type {
                b'L' => attributes.path = Some(self.long_name(source, header.size).await?),
                b'K' => attributes.link = Some(self.long_name(source, header.size).await?),
                b'x' => attributes.extend(&self.attributes(source, header.size, MAX_ATTRIBUTES).await?)?,
                b'g' => drop(self.attributes(source, header.size, MAX_ATTRIBUTES).await?),
                _ => {
                    let sparse_size = attributes.sparse_size()?;
                    let header = attributes.apply(header);
                    let mut member = self.member(source, header, &block, sparse_size).await?;
                    member.entry.location = location;
                    return Ok(Some(member));
                }
            }
        }
    }

    /// Reads what precedes the content of a member. `sparse_size` is the size of a sparse file in the format pax.
    async fn member<S: Source>(
        &mut self,
        source: &mut ReadAhead<S>,
        header: Header,
        block: &[u8],
        sparse_size: Option<u64>,
    ) -> Result<Member> {
        let path = parse(&header.path)?;
        let mut content = Content::whole(0);
        let kind = match header.member_type {
            b'5' => Kind::Directory,
            0 | b'0' | b'7' if header.path.ends_with(b"/") => Kind::Directory,
            0 | b'0' | b'7' => {
                content = match sparse_size {
                    Some(size) => self.sparse_pax(source, header.size, size).await?,
                    None => Content::whole(header.size),
                };
                Kind::File
            }
            b'S' => {
                content = self.sparse(source, header.size, block).await?;
                Kind::File
            }
            b'1' => Kind::HardLink { target: header.link.into() },
            b'2' if header.link.len() <= MAX_TARGET => Kind::Symlink { target: header.link.into() },
            b'2' => return Err(Error::Damaged("the target of a symbolic link is too long")),
            b'3' => Kind::CharacterDevice(header.device),
            b'4' => Kind::BlockDevice(header.device),
            b'6' => Kind::Fifo,
            _ => return Err(Error::Unsupported("a member of the tar has an unknown type")),
        };
        let entry = Entry {
            kind,
            mode: header.mode,
            uid: header.uid,
            gid: header.gid,
            mtime: header.mtime,
            size: content.size(),
            links: 1,
            location: 0,
        };
        Ok(Member { path, entry, content })
    }

    /// Reads the map of a sparse file of `size` bytes in the format pax 1.0: it precedes the pieces, and both have `stored`
    /// bytes. The map has lines: the number of pieces, and the offset and the length of each.
    async fn sparse_pax<S: Source>(&mut self, source: &mut ReadAhead<S>, stored: u64, size: u64) -> Result<Content> {
        const DAMAGED: Error = Error::Damaged("the map of a sparse file is not valid");
        let (mut numbers, mut digits, mut length) = (Vec::new(), Vec::new(), 0);
        while numbers.first().is_none_or(|count| numbers.len() as u64 <= 2 * count) {
            for byte in self.stream.take(source, BLOCK).await? {
                if byte == b'\n' {
                    numbers.push(pax::number::<u64>(&std::mem::take(&mut digits))?);
                } else if byte != 0 {
                    digits.push(byte);
                }
            }
            length += BLOCK as u64;
            if numbers.first().is_some_and(|count| *count > MAX_PIECES as u64) {
                return Err(Error::Unsupported("a sparse file has more than 65,536 pieces"));
            }
            if digits.len() > BLOCK {
                return Err(DAMAGED);
            }
        }
        let Some((count, numbers)) = numbers.split_first().filter(|_| digits.is_empty()) else { return Err(DAMAGED) };
        let pieces: Vec<_> = numbers.as_chunks().0.iter().map(|[offset, length]| (*offset, *length)).collect();
        let stored = stored.checked_sub(length).filter(|_| pieces.len() as u64 == *count && numbers.len() % 2 == 0);
        Content::sparse(size, stored.ok_or(DAMAGED)?, pieces)
    }

    /// Reads the map of a sparse file with `stored` bytes in the archive.
    async fn sparse<S: Source>(&mut self, source: &mut ReadAhead<S>, stored: u64, block: &[u8]) -> Result<Content> {
        let first = SparseMap::of_header(block)?;
        let mut pieces = first.pieces;
        let mut has_more = first.has_more;
        while has_more {
            let next = SparseMap::continued(&self.stream.take(source, BLOCK).await?)?;
            pieces.extend(next.pieces);
            has_more = next.has_more;
            if pieces.len() > MAX_PIECES {
                return Err(Error::Unsupported("a sparse file has more than 65,536 pieces"));
            }
        }
        Content::sparse(first.size, stored, pieces)
    }

    async fn long_name<S: Source>(&mut self, source: &mut ReadAhead<S>, size: u64) -> Result<Vec<u8>> {
        let mut name = self.attributes(source, size, MAX_PATH as u64 + 1).await?;
        while name.last() == Some(&0) {
            name.pop();
        }
        Ok(name)
    }

    /// Reads the content of a member that describes the next one.
    async fn attributes<S: Source>(&mut self, source: &mut ReadAhead<S>, size: u64, limit: u64) -> Result<Vec<u8>> {
        let length = usize::try_from(size).ok().filter(|_| size <= limit);
        let length = length.ok_or(Error::Damaged("the attributes of a member are too long"))?;
        let bytes = self.stream.take(source, length).await?;
        self.stream.skip(source, (length.next_multiple_of(BLOCK) - length) as u64).await?;
        Ok(bytes)
    }
}

/// Parses the path of a member.
pub(crate) fn parse(path: &[u8]) -> Result<Path> {
    Path::parse(path).map_err(|_| Error::Damaged("a name is not valid"))
}
