//! The differences between two snapshots: two sorted walks, merged.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use bytes::Bytes;

use crate::archive::SortedWalk;
use crate::path::compare;
use crate::{Archive, Archives, Entry, Error, Kind, Path, Result, Source};

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
}

/// One of the archives that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "protocol", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "camelCase"))]
pub enum Side {
    /// The first one.
    From,
    /// The second one.
    To,
}

/// An error of one of the archives, or about the path after which the page begins.
pub type DiffError = (Side, Error);

/// Returns the differences between two archives at the paths that follow `after`: at most `limit`, from 1 to
/// [`MAX_PAGE`](crate::MAX_PAGE).
///
/// The times of the archives have whole seconds. Files with the same size and time count as the same. Where only the
/// times differ, the content is compared, up to 1 MiB and with random access only.
pub async fn diff<S: Source>(
    from: Archives<S>,
    to: Archives<S>,
    after: &[u8],
    limit: usize,
) -> Result<DiffPage, DiffError> {
    let after = Path::parse(after).map_err(of(Side::From))?;
    let mut from = Sorted::open(from, &after, Side::From).await?;
    let mut to = Sorted::open(to, &after, Side::To).await?;
    let limit = limit.clamp(1, crate::MAX_PAGE);
    let mut page = Collected::default();
    while !page.is_full(limit) {
        let Some(order) = compare_heads(from.head.as_ref(), to.head.as_ref()) else { break };
        let before = if order == Ordering::Greater { None } else { from.take().await? };
        let after = if order == Ordering::Less { None } else { to.take().await? };
        page.visited += 1;
        match (before, after) {
            (Some((path, before)), Some((_, after))) => {
                if let Some((kind, certainty)) = page.compare(&mut from, &mut to, &path, &before, &after).await? {
                    page.push(path, kind, certainty, Some(before), Some(after));
                } else {
                    page.last = Some(path);
                }
            }
            (Some((path, before)), None) => {
                page.push(path, ChangeKind::Removed, Certainty::Content, Some(before), None);
            }
            (None, Some((path, after))) => {
                page.push(path, ChangeKind::Added, Certainty::Content, None, Some(after));
            }
            (None, None) => break,
        }
    }
    let has_more = from.head.is_some() || to.head.is_some();
    let next = page.last.clone().filter(|_| has_more);
    page.find_renamed(&mut from, &mut to).await?;
    Ok(DiffPage { changes: page.changes, next })
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

fn of(side: Side) -> impl Fn(Error) -> DiffError {
    move |error| (side, error)
}

/// The sorted entries of one archive.
struct Sorted<S> {
    archive: Archive<S>,
    walk: SortedWalk,
    head: Option<(Bytes, Entry)>,
    side: Side,
}

impl<S: Source> Sorted<S> {
    async fn open(archives: Archives<S>, after: &Path, side: Side) -> Result<Self, DiffError> {
        let open = async {
            let mut archive = archives.open().await?;
            let mut walk = archive.walk_sorted(after).await?;
            let head = archive.next_sorted(&mut walk).await?;
            Ok(Self { archive, walk, head, side })
        };
        open.await.map_err(of(side))
    }

    /// Returns the next entry, and reads the one that follows.
    async fn take(&mut self) -> Result<Option<(Bytes, Entry)>, DiffError> {
        let next = self.archive.next_sorted(&mut self.walk).await.map_err(of(self.side))?;
        Ok(std::mem::replace(&mut self.head, next))
    }

    async fn read(&mut self, path: &[u8], entry: &Entry) -> Result<Vec<u8>, DiffError> {
        let read = async {
            let mut content = self.archive.read_found(&Path::parse(path)?, entry, 0..MAX_COMPARED).await?;
            let mut bytes = Vec::with_capacity(usize::try_from(content.remaining()).unwrap_or_default());
            while let Some(next) = self.archive.next_bytes(&mut content).await? {
                bytes.extend_from_slice(&next);
            }
            Ok(bytes)
        };
        read.await.map_err(of(self.side))
    }
}

/// The page that is being made, and its costs.
#[derive(Default)]
struct Collected {
    changes: Vec<Change>,
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

    fn push(
        &mut self,
        path: Bytes,
        kind: ChangeKind,
        certainty: Certainty,
        before: Option<Entry>,
        after: Option<Entry>,
    ) {
        let target = |entry: &Entry| if let Kind::Symlink { target } = &entry.kind { target.len() } else { 0 };
        self.text += path.len() + before.iter().chain(&after).map(target).sum::<usize>();
        self.last = Some(path.clone());
        self.changes.push(Change { path, kind, certainty, before, after });
    }

    /// Compares the entries of a path.
    async fn compare<S: Source>(
        &mut self,
        from: &mut Sorted<S>,
        to: &mut Sorted<S>,
        path: &[u8],
        before: &Entry,
        after: &Entry,
    ) -> Result<Option<(ChangeKind, Certainty)>, DiffError> {
        let mut certainty = Certainty::Content;
        let mut differences = attribute_differences(before, after);
        if before.kind == Kind::File && after.kind == Kind::File {
            let is_same = if before.size != after.size {
                Some(false)
            } else if before.mtime == after.mtime || before.size == 0 {
                Some(true)
            } else {
                self.has_same_content((&mut *from, path, before), (&mut *to, path, after)).await?
            };
            if is_same != Some(true) {
                differences.insert(0, Difference::Content);
            }
            if is_same.is_none() {
                certainty = Certainty::Metadata;
            }
        }
        Ok((!differences.is_empty()).then_some((ChangeKind::Changed(differences), certainty)))
    }

    /// Compares the content of two files of the same size; `None` if that costs too much.
    async fn has_same_content<S: Source>(
        &mut self,
        (from, from_path, before): (&mut Sorted<S>, &[u8], &Entry),
        (to, to_path, after): (&mut Sorted<S>, &[u8], &Entry),
    ) -> Result<Option<bool>, DiffError> {
        let has_random_access = from.archive.has_random_access() && to.archive.has_random_access();
        let size = before.size;
        if size > MAX_COMPARED || !has_random_access {
            return Ok(None);
        }
        self.comparisons += 1;
        self.compared_bytes += size;
        Ok(Some(from.read(from_path, before).await? == to.read(to_path, after).await?))
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
            if self.has_same_content(old, new).await? == Some(true) {
                joined.insert(*removed, *added);
            }
        }
        for (removed, added) in &joined {
            let Some(Change { path, before, .. }) = self.changes.get(*removed).cloned() else { continue };
            if let Some(change) = self.changes.get_mut(*added) {
                change.kind = ChangeKind::Renamed { from: path };
                change.before = before;
            }
        }
        let mut indices = 0..;
        self.changes.retain(|_| indices.next().is_none_or(|at| !joined.contains_key(&at)));
        Ok(())
    }
}

/// Returns the differences of two entries, except those of the content of files.
fn attribute_differences(before: &Entry, after: &Entry) -> Vec<Difference> {
    if before.is_implied() || after.is_implied() {
        let is_same = std::mem::discriminant(&before.kind) == std::mem::discriminant(&after.kind);
        return if is_same { Vec::new() } else { vec![Difference::Type] };
    }
    if std::mem::discriminant(&before.kind) != std::mem::discriminant(&after.kind) {
        return vec![Difference::Type];
    }
    let differences = [
        (Difference::Target, before.kind != after.kind),
        // The mode of a symbolic link has no effect, and differs between formats.
        (Difference::Mode, before.mode != after.mode && !matches!(after.kind, Kind::Symlink { .. })),
        (Difference::Owner, (before.uid, before.gid) != (after.uid, after.gid)),
    ];
    differences.into_iter().filter(|(_, differs)| *differs).map(|(difference, _)| difference).collect()
}
