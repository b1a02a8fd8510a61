//! The differences between two snapshots, or a snapshot and the files of a container: two sorted walks, merged.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use bytes::Bytes;

use crate::hash::sha256;
use crate::path::compare;
use crate::sorted::{Compared, DiffError, Side, Sorted, of};
use crate::{Entry, Error, Kind, Path, Source};

/// The maximum number of entries that a page visits in each archive.
const MAX_VISITED: usize = 50_000;

/// The maximum size of a file whose content is compared, in bytes.
const MAX_COMPARED: u64 = 1 << 20;

/// The number of files whose content a page compares, after which it ends.
const MAX_COMPARISONS: usize = 128;

/// The number of bytes that a page compares, after which it ends.
const MAX_COMPARED_BYTES: u64 = 16 << 20;

/// The number of bytes of paths and targets, after which a page ends.
const MAX_TEXT: usize = 256 << 10;

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path: in the second archive, or in the first one if the path was removed.
    pub path: Bytes,
    /// How it differs.
    pub kind: ChangeKind,
    /// How the difference was found.
    pub certainty: Certainty,
    /// The entry in the first archive.
    pub before: Option<Entry>,
    /// The entry in the second archive.
    pub after: Option<Entry>,
    /// The SHA-256 of the file in the archive, in hexadecimal, if the caller must compare it with the file in the container.
    /// It has the same content if the hash is the same.
    pub hash: Option<String>,
}

/// How a path differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Only the second archive has the path.
    Added,
    /// Only the first archive has the path.
    Removed,
    /// Both archives have the path, with these differences.
    Changed(Vec<Difference>),
    /// The second archive has a file with the same content, attributes and time at another path.
    Renamed {
        /// The path in the first archive.
        from: Bytes,
    },
}

/// What differs at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "protocol", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "camelCase"))]
pub enum Difference {
    /// The type, and therefore all else.
    Type,
    /// The content of a file.
    Content,
    /// The permission bits.
    Mode,
    /// The user id or the group id.
    Owner,
    /// The target of a symbolic link, or the number of a device.
    Target,
}

/// How a difference was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "protocol", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "camelCase"))]
pub enum Certainty {
    /// The files differ: in their size, their attributes, or the content, which was compared.
    Content,
    /// The times of a file differ, and its content was not compared.
    Metadata,
}

/// A part of the differences, sorted by path, name by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffPage {
    /// The differences. There can be none before the last page.
    pub changes: Vec<Change>,
    /// The path after which the next page begins, unless this is the last one.
    pub next: Option<Bytes>,
    /// The number of bytes of the listing that precede what the next page needs.
    pub consumed: usize,
}

/// Returns the differences between two archives at the paths that follow `after`: at most `limit`, from 1 to
/// [`MAX_PAGE`](crate::MAX_PAGE).
///
/// The times of the archives have whole seconds. Files with the same size and time count as the same, unless that time is `racy_from`
/// or later, in seconds since 1970: the file may have been changed in the second in which the earlier of the two was captured.
/// Where the times differ, and for such files, the content is compared, up to 1 MiB and with random access only. That of a
/// file in a container is not here: then the difference has the hash of the other one.
pub async fn diff<S: Source>(
    from: Compared<S>,
    to: Compared<S>,
    after: &[u8],
    limit: usize,
    racy_from: Option<i64>,
) -> Result<DiffPage, DiffError> {
    let after = Path::parse(after).map_err(of(Side::From))?;
    let mut from = Sorted::open(from, &after, Side::From).await?;
    let mut to = Sorted::open(to, &after, Side::To).await?;
    let limit = limit.clamp(1, crate::MAX_PAGE);
    let mut page = Collected { racy_from, ..Collected::default() };
    while !page.is_full(limit) {
        if from.is_cut() || to.is_cut() {
            break;
        }
        let Some(order) = compare_heads(from.head.as_ref(), to.head.as_ref()) else { break };
        let before = if order == Ordering::Greater { None } else { from.take().await? };
        let after = if order == Ordering::Less { None } else { to.take().await? };
        page.visited += 1;
        match (before, after) {
            (Some((path, before)), Some((_, after))) => {
                match page.compare(&mut from, &mut to, &path, &before, &after).await? {
                    Some(found) => page.push(path, found, Some(before), Some(after)),
                    None => page.last = Some(path),
                }
            }
            (Some((path, before)), None) => {
                page.push(path, Found::certain(ChangeKind::Removed), Some(before), None);
            }
            (None, Some((path, after))) => {
                page.push(path, Found::certain(ChangeKind::Added), None, Some(after));
            }
            (None, None) => break,
        }
    }
    let has_more = from.head.is_some() || to.head.is_some() || from.is_cut() || to.is_cut();
    if has_more && page.last.is_none() {
        return Err((Side::To, Error::Damaged("the list of the files of the sandbox has a record without an end")));
    }
    let next = page.last.clone().filter(|_| has_more);
    let consumed = from.consumed() + to.consumed();
    page.find_renamed(&mut from, &mut to).await?;
    Ok(DiffPage { changes: page.changes, next, consumed })
}

/// Returns which of two paths is first; `None` if there is none.
fn compare_heads(from: Option<&(Bytes, Entry)>, to: Option<&(Bytes, Entry)>) -> Option<Ordering> {
    match (from, to) {
        (Some((from, _)), Some((to, _))) => Some(compare(from, to)),
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (None, None) => None,
    }
}

/// How a path differs, and how that was found.
struct Found {
    kind: ChangeKind,
    certainty: Certainty,
    hash: Option<String>,
}

impl Found {
    const fn certain(kind: ChangeKind) -> Self {
        Self { kind, certainty: Certainty::Content, hash: None }
    }
}

/// Whether two files of the same size have the same content.
#[derive(PartialEq, Eq)]
enum Content {
    Same,
    Different,
    Unknown,
    /// As known to the caller, who can hash the file in the container. Has the hash of the other one.
    Hashed(String),
}

/// The page that is being made, and its costs.
#[derive(Default)]
struct Collected {
    changes: Vec<Change>,
    /// The time from which on files with the same time may differ.
    racy_from: Option<i64>,
    /// The last path that was visited.
    last: Option<Bytes>,
    visited: usize,
    text: usize,
    comparisons: usize,
    compared_bytes: u64,
}

impl Collected {
    fn is_full(&self, limit: usize) -> bool {
        self.changes.len() >= limit
            || self.visited >= MAX_VISITED
            || self.text >= MAX_TEXT
            || self.comparisons >= MAX_COMPARISONS
            || self.compared_bytes >= MAX_COMPARED_BYTES
    }

    fn push(&mut self, path: Bytes, found: Found, before: Option<Entry>, after: Option<Entry>) {
        let target = |entry: &Entry| if let Kind::Symlink { target } = &entry.kind { target.len() } else { 0 };
        self.text += path.len() + before.iter().chain(&after).map(target).sum::<usize>();
        self.last = Some(path.clone());
        let Found { kind, certainty, hash } = found;
        self.changes.push(Change { path, kind, certainty, before, after, hash });
    }

    /// Compares the entries of a path.
    async fn compare<S: Source>(
        &mut self,
        from: &mut Sorted<S>,
        to: &mut Sorted<S>,
        path: &[u8],
        before: &Entry,
        after: &Entry,
    ) -> Result<Option<Found>, DiffError> {
        let mut found = Found::certain(ChangeKind::Added);
        let mut differences = attribute_differences(before, after, from.is_listing() || to.is_listing());
        if before.kind == Kind::File && after.kind == Kind::File {
            let content = if before.size != after.size {
                Content::Different
            } else if before.size == 0 {
                Content::Same
            } else if before.mtime != after.mtime {
                self.compare_content((&mut *from, path, before), (&mut *to, path, after)).await?
            } else if self.racy_from.is_some_and(|from| before.mtime >= from) {
                match self.compare_content((&mut *from, path, before), (&mut *to, path, after)).await? {
                    // Most such files are the same.
                    Content::Unknown => Content::Same,
                    content => content,
                }
            } else {
                Content::Same
            };
            if content != Content::Same {
                differences.insert(0, Difference::Content);
            }
            match content {
                Content::Same | Content::Different => {}
                Content::Unknown => found.certainty = Certainty::Metadata,
                Content::Hashed(hash) => (found.certainty, found.hash) = (Certainty::Metadata, Some(hash)),
            }
        }
        found.kind = ChangeKind::Changed(differences.clone());
        Ok((!differences.is_empty()).then_some(found))
    }

    /// Compares the content of two files of the same size, unless that costs too much.
    async fn compare_content<S: Source>(
        &mut self,
        (from, from_path, before): (&mut Sorted<S>, &[u8], &Entry),
        (to, to_path, after): (&mut Sorted<S>, &[u8], &Entry),
    ) -> Result<Content, DiffError> {
        let is_readable = |sorted: &Sorted<S>| sorted.is_listing() || sorted.has_random_access();
        let size = before.size;
        if size > MAX_COMPARED || !is_readable(from) || !is_readable(to) {
            return Ok(Content::Unknown);
        }
        self.comparisons += 1;
        self.compared_bytes += size;
        let hash = |bytes: Vec<u8>| Content::Hashed(sha256(&bytes));
        Ok(if to.is_listing() {
            hash(from.read(from_path, before, size).await?)
        } else if from.is_listing() {
            hash(to.read(to_path, after, size).await?)
        } else if from.read(from_path, before, size).await? == to.read(to_path, after, size).await? {
            Content::Same
        } else {
            Content::Different
        })
    }

    /// Joins a removed and an added file of the page where both have the same content, and where no other file of the page
    /// could be meant.
    async fn find_renamed<S: Source>(&mut self, from: &mut Sorted<S>, to: &mut Sorted<S>) -> Result<(), DiffError> {
        let mut candidates: BTreeMap<_, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (at, change) in self.changes.iter().enumerate() {
            let (entry, is_added) = match (&change.kind, &change.before, &change.after) {
                (ChangeKind::Removed, Some(entry), _) => (entry, false),
                (ChangeKind::Added, _, Some(entry)) => (entry, true),
                _ => continue,
            };
            if entry.kind == Kind::File && entry.size > 0 {
                let key = (entry.size, entry.mtime, entry.mode, entry.uid, entry.gid);
                let (removed, added) = candidates.entry(key).or_default();
                if is_added { added } else { removed }.push(at);
            }
        }
        let mut joined = BTreeMap::new();
        for (removed, added) in candidates.into_values() {
            let ([removed], [added]) = (&removed[..], &added[..]) else { continue };
            if self.comparisons >= 2 * MAX_COMPARISONS || self.compared_bytes >= 2 * MAX_COMPARED_BYTES {
                break;
            }
            let pair = (self.changes.get(*removed), self.changes.get(*added));
            let (Some(old), Some(new)) = pair else { continue };
            let (old_path, new_path) = (old.path.clone(), new.path.clone());
            let (Some(before), Some(after)) = (old.before.clone(), new.after.clone()) else { continue };
            let (old, new) = ((&mut *from, &old_path[..], &before), (&mut *to, &new_path[..], &after));
            match self.compare_content(old, new).await? {
                Content::Same => drop(joined.insert(*removed, (*added, None))),
                Content::Hashed(hash) => drop(joined.insert(*removed, (*added, Some(hash)))),
                Content::Different | Content::Unknown => {}
            }
        }
        for (removed, (added, hash)) in &joined {
            let Some(Change { path, before, .. }) = self.changes.get(*removed).cloned() else { continue };
            if let Some(change) = self.changes.get_mut(*added) {
                change.kind = ChangeKind::Renamed { from: path };
                change.before = before;
                change.hash.clone_from(hash);
            }
        }
        let mut indices = 0..;
        self.changes.retain(|_| indices.next().is_none_or(|at| !joined.contains_key(&at)));
        Ok(())
    }
}

/// Returns the differences of two entries, except those of the content of files.
/// A listing has no numbers of devices.
fn attribute_differences(before: &Entry, after: &Entry, has_listing: bool) -> Vec<Difference> {
    if before.is_implied() || after.is_implied() {
        let is_same = std::mem::discriminant(&before.kind) == std::mem::discriminant(&after.kind);
        return if is_same { Vec::new() } else { vec![Difference::Type] };
    }
    if std::mem::discriminant(&before.kind) != std::mem::discriminant(&after.kind) {
        return vec![Difference::Type];
    }
    let is_unnumbered = has_listing && matches!(before.kind, Kind::BlockDevice(_) | Kind::CharacterDevice(_));
    let differences = [
        (Difference::Target, before.kind != after.kind && !is_unnumbered),
        // The mode of a symbolic link has no effect, and differs between formats.
        (Difference::Mode, before.mode != after.mode && !matches!(after.kind, Kind::Symlink { .. })),
        (Difference::Owner, (before.uid, before.gid) != (after.uid, after.gid)),
    ];
    differences.into_iter().filter(|(_, differs)| *differs).map(|(difference, _)| difference).collect()
}
