//! The members of an archive in the order of their paths. An archive has them in any order, so each part of them costs a
//! read of the archive.

use std::collections::{BTreeMap, btree_map};

use bytes::Bytes;

use super::Tar;
use super::pages::implied_directory;
use crate::path::{MAX_PATH, sort_key};
use crate::{Entry, Error, Kind, Path, Result, Source};

/// The memory of the members that one read collects, in bytes.
const MEMORY: usize = 6 << 20;

/// The memory of a member in addition to its path, in bytes.
const OVERHEAD: usize = 256;

/// Visits the members that follow a path, in the order of their paths.
pub(crate) struct SortedWalk {
    /// The path after which the next part begins; all members precede it if absent.
    after: Option<Vec<u8>>,
    part: btree_map::IntoIter<Vec<u8>, Entry>,
}

impl SortedWalk {
    /// Begins with the member that follows a path.
    pub fn after(path: &Path) -> Self {
        let key = path.names().join(&b'/');
        Self { after: Some(sort_key(&key).collect()), part: BTreeMap::new().into_iter() }
    }

    /// Returns the next member, with its path.
    pub async fn next<S: Source>(&mut self, tar: &mut Tar<S>) -> Result<Option<(Bytes, Entry)>> {
        loop {
            if let Some((key, entry)) = self.part.next() {
                let path: Vec<u8> = key.iter().map(|byte| if *byte == 0 { b'/' } else { *byte }).collect();
                return Ok(Some((path.into(), entry)));
            }
            let Some(after) = self.after.take() else { return Ok(None) };
            let mut part = Part::new(after);
            let mut members = tar.members();
            while let Some(mut member) = members.next(&mut tar.source).await? {
                part.add(&member.path, member.entry)?;
                member.content.finish(&mut members.stream, &mut tar.source).await?;
            }
            tar.resolve_hard_links(part.entries.values_mut()).await?;
            self.after = part.last().filter(|_| part.is_cut);
            self.part = part.entries.into_iter();
        }
    }
}

/// The first members that follow a path.
struct Part {
    after: Vec<u8>,
    entries: BTreeMap<Vec<u8>, Entry>,
    bytes: usize,
    /// Whether members were left out because of their memory.
    is_cut: bool,
}

impl Part {
    fn new(after: Vec<u8>) -> Self {
        Self { after, entries: BTreeMap::new(), bytes: 0, is_cut: false }
    }

    fn last(&self) -> Option<Vec<u8>> {
        self.entries.last_key_value().map(|(key, _)| key.clone())
    }

    /// Adds a member, and the directories that it is in.
    fn add(&mut self, path: &Path, entry: Entry) -> Result<()> {
        let mut key = Vec::new();
        for (at, name) in path.names().iter().enumerate() {
            if at > 0 {
                let implied = self.insert(&key, implied_directory())?;
                if implied.is_some_and(|kind| kind != Kind::Directory) {
                    return Err(Error::Damaged("an entry is in another one that is no directory"));
                }
                key.push(0);
            }
            key.extend_from_slice(name);
            if key.len() > MAX_PATH {
                return Err(Error::Unsupported("a path is longer than 65,536 bytes"));
            }
        }
        if !key.is_empty() && self.insert(&key, entry)?.is_some() {
            return Err(Error::Damaged("a path is in the archive twice"));
        }
        Ok(())
    }

    /// Inserts an entry, unless it is implied and its path has one already. Returns the type of an entry that is no
    /// implied directory and had the path before.
    fn insert(&mut self, key: &[u8], entry: Entry) -> Result<Option<Kind>> {
        if key <= &self.after[..] {
            return Ok(None);
        }
        if let Some(known) = self.entries.get_mut(key) {
            if !known.is_implied() {
                return Ok(Some(known.kind.clone()));
            }
            if !entry.is_implied() && entry.kind != Kind::Directory {
                return Err(Error::Damaged("an entry is in another one that is no directory"));
            }
            *known = entry;
            return Ok(None);
        }
        let is_behind = || self.entries.last_key_value().is_none_or(|(last, _)| key > &last[..]);
        if self.is_cut && is_behind() {
            return Ok(None);
        }
        self.bytes += memory(key, &entry);
        self.entries.insert(key.to_vec(), entry);
        // One entry stays, however large it is, so that each part has a member.
        while self.bytes > MEMORY
            && self.entries.len() > 1
            && let Some((key, entry)) = self.entries.pop_last()
        {
            self.bytes -= memory(&key, &entry);
            self.is_cut = true;
        }
        Ok(None)
    }
}

/// Returns the memory of an entry, in bytes. The target of a hard link is stored twice while it is resolved.
fn memory(key: &[u8], entry: &Entry) -> usize {
    let target = match &entry.kind {
        Kind::Symlink { target } => target.len(),
        Kind::HardLink { target } => 2 * target.len() + OVERHEAD,
        _ => 0,
    };
    key.len() + target + OVERHEAD
}
