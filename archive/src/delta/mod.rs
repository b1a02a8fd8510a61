//! The files of a delta: those of its base, with the changes in its carrier.
//!
//! What the reader returns is what a restore makes: an entry of the payload replaces the one of the base, and an entry of the
//! base remains where the lists do not contradict. `docs/incremental.md` describes the parts of a carrier.

mod carrier;
mod digests;
mod lists;
mod phases;
mod walk;

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use self::carrier::Payload;
use self::digests::Digests;
use self::lists::Lists;
use crate::entry::MAX_PAGE;
use crate::path::join;
use crate::read_ahead::ReadAhead;
use crate::single::{self, CACHE, Single};
use crate::tar::{self, Tar};
use crate::{Child, Entry, Error, Kind, Page, Path, Result, Source};

pub(crate) use self::walk::{SortedWalk, Walk};

/// The windows in which the archives and the payload are read, in bytes. With half of the caches, the two archives need no
/// more memory than one.
const BASE_WINDOW: usize = 2 << 20;
const CARRIER_WINDOW: usize = 1 << 20;
const PAYLOAD_WINDOW: usize = 512 << 10;

/// The bit of the location of an entry that is in the payload, and not in the base.
const IN_PAYLOAD: u64 = 1 << 63;

/// A base with the changes of a carrier.
pub(crate) struct Delta<S> {
    base: Single<S>,
    lists: Lists,
    payload: Tar<Payload<S>>,
    has_random_access: bool,
}

/// A range of a file that is being read.
pub(crate) struct Content {
    entry: Entry,
    content: ContentOf,
}

enum ContentOf {
    Base(single::Content),
    Payload(tar::Content),
}

impl Content {
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns the number of bytes that are not read yet.
    pub fn remaining(&self) -> u64 {
        match &self.content {
            ContentOf::Base(content) => content.remaining(),
            ContentOf::Payload(content) => content.remaining(),
        }
    }
}

impl<S: Source> Delta<S> {
    /// Opens the archive of the base, and that of the carrier whose head has a SHA-256, in hexadecimal.
    pub async fn open(base: S, carrier: S, head: &str) -> Result<Self> {
        let base = Single::open(ReadAhead::with_windows_of(base, BASE_WINDOW), CACHE / 2).await?;
        let carrier = ReadAhead::with_windows_of(carrier, CARRIER_WINDOW);
        let mut carrier = Single::open(carrier, CACHE / 4).await?;
        let lists = carrier::read_lists(&mut carrier, head).await?;
        let has_random_access = base.has_random_access() && !carrier.is_sequential();
        let payload = Payload::open(carrier).await?;
        let payload = Tar::open(ReadAhead::with_windows_of(payload, PAYLOAD_WINDOW), 0).await?;
        if payload.is_compressed() {
            return Err(Error::Damaged("its payload is no tar"));
        }
        Ok(Self { base, lists, payload, has_random_access })
    }

    /// Whether the files are read without what precedes them. The headers of the payload are read in any case.
    pub fn has_random_access(&self) -> bool {
        self.has_random_access
    }

    pub async fn stat(&mut self, path: &Path) -> Result<Entry> {
        match self.find(path).await? {
            Some(entry) => Ok(entry),
            None => Err(self.missing(path).await),
        }
    }

    /// Returns an entry, if there is one.
    async fn find(&mut self, path: &Path) -> Result<Option<Entry>> {
        let implied = match self.payload.stat(path).await {
            Ok(entry) if !entry.is_implied() => return Ok(Some(in_payload(entry))),
            Ok(entry) => Some(entry),
            Err(Error::NotFound) => None,
            Err(Error::NotADirectory) => return Ok(None),
            Err(error) => return Err(error),
        };
        let found = if_found(self.base.stat(path).await)?;
        let found = found.filter(|entry| self.lists.keep(&path.joined(), &entry.kind));
        Ok(found.filter(|entry| implied.is_none() || entry.kind == Kind::Directory).or(implied))
    }

    /// Returns the error for a path without an entry.
    async fn missing(&mut self, path: &Path) -> Error {
        for length in (1..path.names().len()).rev() {
            match self.find(&path.prefix(length)).await {
                Ok(None) => {}
                Ok(Some(Entry { kind: Kind::Directory, .. })) => break,
                Ok(Some(_)) => return Error::NotADirectory,
                Err(error) => return error,
            }
        }
        Error::NotFound
    }

    pub async fn list(&mut self, path: &Path, after: Option<&[u8]>, limit: usize) -> Result<Page> {
        let limit = limit.clamp(1, MAX_PAGE);
        let changed = match self.payload.list(path, after, limit, &|_, _| true).await {
            Ok(Page { children, next }) => {
                let mark = |child: Child| Child { entry: in_payload(child.entry), ..child };
                Some(Page { children: children.into_iter().map(mark).collect(), next })
            }
            Err(Error::NotFound) => None,
            Err(error) => return Err(error),
        };
        let directory = path.joined();
        let (is_kept, is_listed) = self.lists.directory(&directory);
        let mut unchanged = None;
        if is_kept {
            let lists = &self.lists;
            let keep = |name: &[u8], kind: &Kind| !is_listed || lists.contains(&join(&directory, name), kind);
            unchanged = if_found(self.base.list(path, after, limit, &keep).await)?;
        }
        if changed.is_none() && unchanged.is_none() {
            let is_other = self.find(path).await?.is_some();
            return Err(if is_other { Error::NotADirectory } else { self.missing(path).await });
        }
        Ok(merge(changed, unchanged, limit))
    }

    pub async fn read(&mut self, path: &Path, range: Range<u64>) -> Result<Content> {
        let entry = self.stat(path).await?;
        self.read_found(path, entry, range).await
    }

    /// Begins to read a range of the file with an entry.
    pub async fn read_found(&mut self, path: &Path, entry: Entry, range: Range<u64>) -> Result<Content> {
        if entry.kind != Kind::File {
            return Err(Error::NotAFile);
        }
        let content = if entry.location & IN_PAYLOAD == 0 {
            ContentOf::Base(self.base.read(path, range).await?)
        } else {
            ContentOf::Payload(self.payload.read_at(entry.location & !IN_PAYLOAD, range).await?)
        };
        Ok(Content { entry, content })
    }

    pub async fn next_bytes(&mut self, content: &mut Content) -> Result<Option<Bytes>> {
        match &mut content.content {
            ContentOf::Base(content) => self.base.next_bytes(content).await,
            ContentOf::Payload(content) => self.payload.next_bytes(content).await,
        }
    }

    /// Returns the digests of the paths that `pick` returns for the members of the payload.
    async fn digest_payload(&mut self, pick: impl Fn(&[u8], &Entry) -> Option<Bytes>) -> Result<Digests> {
        let mut digests = Digests::default();
        let mut walk = self.payload.walk(&Path::default());
        while let Some((path, entry)) = self.payload.next_entry(&mut walk).await? {
            if let Some(picked) = pick(&path, &entry) {
                digests.push(b'p', &tar::member_path(&picked)?.joined())?;
            }
        }
        digests.sort();
        Ok(digests)
    }
}

/// Marks the entry of a member of the payload.
fn in_payload(mut entry: Entry) -> Entry {
    if !entry.is_implied() {
        entry.location |= IN_PAYLOAD;
    }
    entry
}

/// Returns `None` where there is no entry.
fn if_found<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound | Error::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the first entries of two pages of a directory. Each of them has `limit` entries, or all that follow.
fn merge(changed: Option<Page>, unchanged: Option<Page>, limit: usize) -> Page {
    let mut has_more = false;
    let mut entries = BTreeMap::new();
    for page in [unchanged, changed].into_iter().flatten() {
        has_more |= page.next.is_some();
        for Child { name, entry } in page.children {
            if entry.is_implied() {
                entries.entry(name).or_insert(entry);
            } else {
                entries.insert(name, entry);
            }
        }
    }
    has_more |= entries.len() > limit;
    let children: Vec<_> = entries.into_iter().take(limit).map(|(name, entry)| Child { name, entry }).collect();
    let next = children.last().filter(|_| has_more).map(|child| child.name.clone());
    Page { children, next }
}
