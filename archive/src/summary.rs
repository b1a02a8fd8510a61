//! What a directory contains with everything below it: totals, and where the bytes are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::path::join;
use crate::{Archive, Entry, Kind, Path, Result, Source};

/// What a directory contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Everything below the directory.
    pub totals: Totals,
    /// The largest entries of the directory, with everything below them: at most [`Summary::MAX_ENTRIES`], by size and then by
    /// name. `None` if the directory has more than [`Summary::MAX_COUNTED`] entries.
    pub entries: Option<Vec<EntryTotals>>,
    /// The largest regular files, with their paths and sizes in bytes: at most [`Summary::MAX_LARGEST`], by size and then by path.
    pub largest: Vec<(Vec<u8>, u64)>,
}

/// The number of files, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "protocol", derive(serde::Serialize, serde::Deserialize))]
pub struct Totals {
    /// The number of names of regular files.
    pub files: u64,
    /// The number of directories.
    pub directories: u64,
    /// The number of symbolic links, devices, FIFOs and sockets.
    pub others: u64,
    /// The size of the regular files, in bytes. A file with several names counts at the first one that is read.
    pub bytes: u64,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryTotals {
    /// Its name.
    pub name: Bytes,
    /// What it is.
    pub kind: Kind,
    /// The entry itself, or what is below it if it is a directory.
    pub totals: Totals,
}

impl Summary {
    /// The maximum number of entries that are named.
    pub const MAX_ENTRIES: usize = 100;
    /// The maximum number of entries of a directory whose sizes are added up one by one.
    pub const MAX_COUNTED: usize = 20_000;
    /// The maximum number of files that are named.
    pub const MAX_LARGEST: usize = 20;
}

impl Totals {
    fn add(&mut self, kind: &Kind, bytes: u64) {
        match kind {
            Kind::File | Kind::HardLink { .. } => self.files += 1,
            Kind::Directory => self.directories += 1,
            _ => self.others += 1,
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Adds up what is below a directory. Reads the attributes of all files there, and no content.
pub async fn summarize<S: Source>(archive: &mut Archive<S>, path: &Path) -> Result<Summary> {
    let mut walk = archive.walk(path).await?;
    let (mut totals, mut entries, mut largest) = (Totals::default(), Entries::new(), Largest::default());
    let mut linked = BTreeSet::new();
    while let Some((below, entry)) = archive.next_entry(&mut walk).await? {
        let is_known = entry.links > 1 && entry.kind != Kind::Directory && !linked.insert(entry.file_id());
        let bytes = if is_known { 0 } else { entry.size };
        totals.add(&entry.kind, bytes);
        entries.add(&below, &entry, bytes);
        if bytes > 0 {
            largest.add(bytes, || join(&path.joined(), &below));
        }
    }
    Ok(Summary { totals, entries: entries.largest(), largest: largest.into_sorted() })
}

/// The entries of the directory by name; `None` if there are too many.
struct Entries(Option<BTreeMap<Bytes, (Kind, Totals)>>);

impl Entries {
    fn new() -> Self {
        Self(Some(BTreeMap::new()))
    }

    /// Counts what is at a path relative to the directory.
    fn add(&mut self, path: &Bytes, entry: &Entry, bytes: u64) {
        let Some(found) = &mut self.0 else { return };
        let mut names = path.splitn(2, |byte| *byte == b'/');
        let name = names.next().unwrap_or_default();
        // An archive of tar need not have the directory itself.
        let is_below = names.next().is_some();
        let kind = if is_below { Kind::Directory } else { entry.kind.clone() };
        let is_counted = is_below || kind != Kind::Directory;
        if !found.contains_key(name) {
            if found.len() == Summary::MAX_COUNTED {
                self.0 = None;
                return;
            }
            found.insert(Bytes::copy_from_slice(name), (kind, Totals::default()));
        }
        if let Some((_, totals)) = found.get_mut(name)
            && is_counted
        {
            totals.add(&entry.kind, bytes);
        }
    }

    fn largest(self) -> Option<Vec<EntryTotals>> {
        let entries = self.0?.into_iter().map(|(name, (kind, totals))| EntryTotals { name, kind, totals });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|entry| Reverse(entry.totals.bytes));
        entries.truncate(Summary::MAX_ENTRIES);
        Some(entries)
    }
}

/// The largest files.
#[derive(Default)]
struct Largest(BTreeSet<(Reverse<u64>, Vec<u8>)>);

impl Largest {
    fn add(&mut self, bytes: u64, path: impl FnOnce() -> Vec<u8>) {
        let is_full = self.0.len() == Summary::MAX_LARGEST;
        if is_full && self.0.last().is_some_and(|(Reverse(least), _)| *least > bytes) {
            return;
        }
        self.0.insert((Reverse(bytes), path()));
        if is_full {
            self.0.pop_last();
        }
    }

    fn into_sorted(self) -> Vec<(Vec<u8>, u64)> {
        self.0.into_iter().map(|(Reverse(bytes), path)| (path, bytes)).collect()
    }
}
