//! Pages of a directory's entries, from members in any order.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{Child, Entry, Error, Kind, Page, Result};

/// The first entries of a directory that follow a name.
pub(crate) struct Candidates<'a> {
    after: Option<&'a [u8]>,
    limit: usize,
    keep: &'a dyn Fn(&[u8], &Kind) -> bool,
    /// One more than the limit, which shows that another page follows.
    entries: BTreeMap<Bytes, Candidate>,
}

struct Candidate {
    entry: Entry,
    /// The entry is no member, but members are in it.
    is_implied: bool,
}

impl<'a> Candidates<'a> {
    /// Collects the entries that `keep` accepts by their name and type.
    pub fn new(after: Option<&'a [u8]>, limit: usize, keep: &'a dyn Fn(&[u8], &Kind) -> bool) -> Self {
        Self { after, limit, keep, entries: BTreeMap::new() }
    }

    /// Adds a member with its names below the directory.
    pub fn add(&mut self, names: &[Bytes], entry: Entry) -> Result<()> {
        let Some((name, deeper)) = names.split_first() else { return Ok(()) };
        if self.after.is_some_and(|after| name.as_ref() <= after) {
            return Ok(());
        }
        let is_implied = !deeper.is_empty();
        let kind = if is_implied { &Kind::Directory } else { &entry.kind };
        if !(self.keep)(name, kind) {
            return Ok(());
        }
        match self.entries.get(name) {
            Some(known) if is_implied && known.entry.kind != Kind::Directory => {
                return Err(Error::Damaged("an entry is in another one that is no directory"));
            }
            Some(_) if is_implied => return Ok(()),
            Some(known) if !known.is_implied => return Err(Error::Damaged("a path is in the archive twice")),
            _ => {}
        }
        let entry = if is_implied { implied_directory() } else { entry };
        self.entries.insert(name.clone(), Candidate { entry, is_implied });
        if self.entries.len() > self.limit + 1 {
            self.entries.pop_last();
        }
        Ok(())
    }

    /// Returns the page.
    pub fn page(mut self) -> Page {
        let has_more = self.entries.len() > self.limit;
        if has_more {
            self.entries.pop_last();
        }
        let children = self.entries.into_iter().map(|(name, found)| Child { name, entry: found.entry });
        let children: Vec<_> = children.collect();
        let next = children.last().filter(|_| has_more).map(|child| child.name.clone());
        Page { children, next }
    }
}

/// Returns a directory that is no member, but has members in it.
pub(crate) fn implied_directory() -> Entry {
    let location = Entry::IMPLIED;
    Entry { kind: Kind::Directory, mode: 0o755, uid: 0, gid: 0, mtime: 0, size: 0, links: 1, location }
}
