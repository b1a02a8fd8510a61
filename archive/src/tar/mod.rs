//! Archives of tar in the formats ustar, GNU and pax, as they are or with gzip or zstd.
//!
//! An operation reads the archive from its begin, because tar has no index. Where it is not compressed, the content of
//! other files is skipped without reading it.

mod content;
mod gzip;
mod header;
mod member;
mod pages;
mod pax;
mod sorted;
mod stream;
pub(crate) mod write;

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use self::member::{Member, Members};
use self::pages::Candidates;
use self::stream::{Compression, Stream};
use crate::entry::MAX_PAGE;
use crate::read_ahead::ReadAhead;
use crate::{Entry, Error, Kind, Page, Path, Result, Source};

pub(crate) use self::member::parse as member_path;
pub(crate) use self::sorted::SortedWalk;

/// A tar archive.
pub(crate) struct Tar<S> {
    source: ReadAhead<S>,
    compression: Compression,
    /// The maximum size of a window of Zstandard in bytes.
    window: u64,
}

/// A range of a file that is being read.
pub(crate) struct Content {
    stream: Stream,
    content: content::Content,
}

impl Content {
    /// Returns the number of bytes that are not read yet.
    pub fn remaining(&self) -> u64 {
        self.content.remaining()
    }
}

/// A visit of all members below a directory, in the order of the archive.
pub(crate) struct Walk {
    members: Members,
    path: Path,
    /// Whether the directory was found.
    is_found: bool,
    /// What is not read yet of the last member.
    content: content::Content,
}

impl<S: Source> Tar<S> {
    /// Opens an archive. A window of Zstandard has at most `window` bytes.
    pub async fn open(mut source: ReadAhead<S>, window: u64) -> Result<Self> {
        let length = source.size().min(4);
        let begin = source.read(0, usize::try_from(length).unwrap_or_default()).await?;
        let compression = match begin[..] {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Compression::Zstd,
            _ => Compression::None,
        };
        Ok(Self { source: source.with_one_window(), compression, window })
    }

    /// Returns the attributes of an entry.
    pub async fn stat(&mut self, path: &Path) -> Result<Entry> {
        let (member, _) = self.find(path).await?;
        Ok(member.entry)
    }

    /// Whether a range can't be read without what precedes it.
    pub fn is_compressed(&self) -> bool {
        self.compression != Compression::None
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
        let mut candidates = Candidates::new(after, limit.clamp(1, MAX_PAGE), keep);
        let mut is_found = false;
        let mut members = self.members();
        while let Some(mut member) = members.next(&mut self.source).await? {
            is_found |= is_in_directory(path, &member)?;
            if let Some(names) = path.below(&member.path) {
                candidates.add(names, member.entry)?;
            }
            member.content.finish(&mut members.stream, &mut self.source).await?;
        }
        if !is_found {
            return Err(Error::NotFound);
        }
        let mut page = candidates.page();
        self.resolve_hard_links(page.children.iter_mut().map(|child| &mut child.entry)).await?;
        Ok(page)
    }

    /// Begins to read a range of a file, which is cut at the end of the file.
    pub async fn read(&mut self, path: &Path, range: Range<u64>) -> Result<(Entry, Content)> {
        let (member, mut stream) = self.find(path).await?;
        if member.entry.kind != Kind::File {
            return Err(Error::NotAFile);
        }
        let mut content = member.content;
        content.limit(&mut stream, &mut self.source, range).await?;
        Ok((member.entry, Content { stream, content }))
    }

    /// Begins to read a range of the file at a location of an archive without compression.
    pub async fn read_at(&mut self, location: u64, range: Range<u64>) -> Result<Content> {
        let mut members = Members::new(Stream::at(location));
        let member = members.next(&mut self.source).await?.filter(|member| member.entry.kind == Kind::File);
        let Member { mut content, .. } = member.ok_or(Error::NotAFile)?;
        content.limit(&mut members.stream, &mut self.source, range).await?;
        Ok(Content { stream: members.stream, content })
    }

    /// Returns the next bytes of a file.
    pub async fn next_bytes(&mut self, content: &mut Content) -> Result<Option<Bytes>> {
        content.content.next(&mut content.stream, &mut self.source).await
    }

    /// Begins to visit all members below a directory.
    pub fn walk(&self, path: &Path) -> Walk {
        Walk { members: self.members(), path: path.clone(), is_found: false, content: content::Content::whole(0) }
    }

    /// Returns the next member of a walk, with its path relative to the directory.
    pub async fn next_entry(&mut self, walk: &mut Walk) -> Result<Option<(Bytes, Entry)>> {
        loop {
            walk.content.finish(&mut walk.members.stream, &mut self.source).await?;
            let Some(member) = walk.members.next(&mut self.source).await? else {
                return if walk.is_found { Ok(None) } else { Err(Error::NotFound) };
            };
            walk.is_found |= is_in_directory(&walk.path, &member)?;
            walk.content = member.content;
            match walk.path.below(&member.path) {
                None | Some([]) => {}
                Some(names) => return Ok(Some((names.join(&b'/').into(), member.entry))),
            }
        }
    }

    /// Returns the next bytes of the last member of a walk.
    pub async fn next_entry_bytes(&mut self, walk: &mut Walk) -> Result<Option<Bytes>> {
        walk.content.next(&mut walk.members.stream, &mut self.source).await
    }

    fn members(&self) -> Members {
        Members::new(Stream::new(self.compression, self.window))
    }

    /// Replaces the attributes of hard links with those of their files.
    async fn resolve_hard_links<'a>(&mut self, entries: impl Iterator<Item = &'a mut Entry>) -> Result<()> {
        let key = |path: &Path| path.names().join(&b'/');
        let mut links: BTreeMap<Vec<u8>, Vec<&mut Entry>> = BTreeMap::new();
        for entry in entries {
            if let Kind::HardLink { target } = &entry.kind {
                links.entry(key(&member::parse(target)?)).or_default().push(entry);
            }
        }
        let mut members = self.members();
        while !links.is_empty() {
            let found = members.next(&mut self.source).await?;
            let mut member = found.ok_or(without_target(Error::NotFound))?;
            for link in links.remove(&key(&member.path)).unwrap_or_default() {
                *link = Entry { links: Entry::SEVERAL, ..file(&member)?.clone() };
            }
            member.content.finish(&mut members.stream, &mut self.source).await?;
        }
        Ok(())
    }

    /// Finds an entry. Returns it with the stream at its content. Follows a hard link.
    async fn find(&mut self, path: &Path) -> Result<(Member, Stream)> {
        let (member, stream) = self.find_member(path).await?;
        let Kind::HardLink { target } = &member.entry.kind else { return Ok((member, stream)) };
        let (member, stream) = self.find_member(&member::parse(target)?).await.map_err(without_target)?;
        file(&member)?;
        Ok((member, stream))
    }

    async fn find_member(&mut self, path: &Path) -> Result<(Member, Stream)> {
        let mut is_found = false;
        let mut members = self.members();
        while let Some(mut member) = members.next(&mut self.source).await? {
            match (path.below(&member.path), member.path.below(path)) {
                (Some([]), _) => return Ok((member, members.stream)),
                (Some(_), _) => is_found = true,
                (None, Some(_)) if member.entry.kind != Kind::Directory => return Err(Error::NotADirectory),
                (None, _) => {}
            }
            member.content.finish(&mut members.stream, &mut self.source).await?;
        }
        if !is_found {
            return Err(Error::NotFound);
        }
        let content = content::Content::whole(0);
        Ok((Member { path: path.clone(), entry: pages::implied_directory(), content }, members.stream))
    }
}

/// Whether a member shows that a path is a directory. Fails where it shows that it is none.
fn is_in_directory(path: &Path, member: &Member) -> Result<bool> {
    if path.below(&member.path).is_some_and(|names| !names.is_empty()) {
        return Ok(true);
    }
    match member.path.below(path) {
        Some(_) if member.entry.kind != Kind::Directory => Err(Error::NotADirectory),
        Some(names) => Ok(names.is_empty()),
        None => Ok(false),
    }
}

/// Returns the attributes of the file of a hard link.
fn file(member: &Member) -> Result<&Entry> {
    match member.entry.kind {
        Kind::HardLink { .. } | Kind::Directory => Err(without_target(Error::NotFound)),
        _ => Ok(&member.entry),
    }
}

/// Returns the error for a hard link without a file.
fn without_target(error: Error) -> Error {
    match error {
        Error::NotFound | Error::NotADirectory => Error::Damaged("a hard link has no file"),
        error => error,
    }
}
