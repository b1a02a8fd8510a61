//! The entries of a delta in the order of their paths: the sorted walks of the base and of the payload, merged.

use std::cmp::Ordering;

use bytes::{Buf, Bytes};

use super::digests::Digests;
use super::phases::Phases;
use super::{Delta, IN_PAYLOAD, in_payload};
use crate::path::compare;
use crate::{Entry, Error, Kind, Path, Result, Source, single, tar};

/// An entry with its path.
type Found = (Bytes, Entry);

/// A visit of all entries that follow a path, in the order of their paths.
pub(crate) struct SortedWalk {
    base: single::SortedWalk,
    payload: tar::SortedWalk,
    next_base: Next,
    next_payload: Next,
    /// The files of the payload that have several names, if the caller needs to know.
    linked: Option<Digests>,
}

/// The next entry of a walk.
enum Next {
    /// It was not read yet.
    Unread,
    /// It was read; `None` at the end.
    Read(Option<Found>),
}

impl Next {
    fn path(&self) -> Option<&[u8]> {
        match self {
            Self::Read(Some((path, _))) => Some(path),
            Self::Read(None) | Self::Unread => None,
        }
    }

    fn take(&mut self) -> Option<Found> {
        match std::mem::replace(self, Self::Unread) {
            Self::Read(found) => found,
            Self::Unread => None,
        }
    }
}

/// A visit of all entries below a directory.
pub(crate) enum Walk {
    /// Of a base with random access.
    Sorted(Box<DirectoryWalk>),
    /// Of a base that is read from its begin to its end.
    Phases(Box<Phases>),
}

/// A visit of all entries below a directory, in the order of their paths.
pub(crate) struct DirectoryWalk {
    walk: SortedWalk,
    root: Vec<u8>,
    /// The last entry.
    last: Option<Entry>,
    /// What is not read yet of the last entry, if it is in the payload.
    content: Option<tar::Content>,
}

impl<S: Source> Delta<S> {
    pub async fn walk_sorted(&mut self, after: &Path) -> Result<SortedWalk> {
        let base = self.base.walk_sorted(after).await?;
        let payload = tar::SortedWalk::after(after);
        Ok(SortedWalk { base, payload, next_base: Next::Unread, next_payload: Next::Unread, linked: None })
    }

    pub async fn next_sorted(&mut self, walk: &mut SortedWalk) -> Result<Option<Found>> {
        if matches!(walk.next_payload, Next::Unread) {
            walk.next_payload = Next::Read(self.next_changed(walk).await?);
        }
        if matches!(walk.next_base, Next::Unread) {
            walk.next_base = Next::Read(self.next_unchanged(&mut walk.base).await?);
        }
        let order = match (walk.next_base.path(), walk.next_payload.path()) {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(base), Some(payload)) => compare(base, payload),
        };
        let base = if order == Ordering::Greater { None } else { walk.next_base.take() };
        let payload = if order == Ordering::Less { None } else { walk.next_payload.take() };
        Ok(match payload {
            Some((_, entry)) if entry.is_implied() && base.is_some() => base,
            Some(payload) => Some(payload),
            None => base,
        })
    }

    async fn next_changed(&mut self, walk: &mut SortedWalk) -> Result<Option<Found>> {
        let Some((path, entry)) = walk.payload.next(&mut self.payload).await? else { return Ok(None) };
        let mut entry = in_payload(entry);
        if walk.linked.as_ref().is_some_and(|linked| linked.contains(b'p', &path)) {
            entry.links = Entry::SEVERAL;
        }
        Ok(Some((path, entry)))
    }

    async fn next_unchanged(&mut self, walk: &mut single::SortedWalk) -> Result<Option<Found>> {
        while let Some((path, entry)) = self.base.next_sorted(walk).await? {
            if self.lists.keep(&path, &entry.kind) {
                return Ok(Some((path, entry)));
            }
        }
        Ok(None)
    }

    /// Begins to visit all entries below a directory, each directory before what is in it.
    pub async fn walk(&mut self, path: &Path) -> Result<Walk> {
        if self.stat(path).await?.kind != Kind::Directory {
            return Err(Error::NotADirectory);
        }
        if !self.base.has_random_access() {
            return self.walk_in_phases(path).await.map(Box::new).map(Walk::Phases);
        }
        let mut walk = self.walk_sorted(path).await?;
        let target = |_: &[u8], entry: &Entry| match &entry.kind {
            Kind::HardLink { target } => Some(target.clone()),
            _ => None,
        };
        walk.linked = Some(self.digest_payload(target).await?);
        Ok(Walk::Sorted(Box::new(DirectoryWalk { walk, root: path.joined(), last: None, content: None })))
    }

    pub async fn next_entry(&mut self, walk: &mut Walk) -> Result<Option<Found>> {
        let DirectoryWalk { walk, root, last, content } = match walk {
            Walk::Phases(phases) => return self.next_in_phases(phases).await,
            Walk::Sorted(walk) => &mut **walk,
        };
        (*last, *content) = (None, None);
        let Some((path, entry)) = self.next_sorted(walk).await? else { return Ok(None) };
        let mut relative = path.clone();
        if !root.is_empty() {
            // What is below the directory precedes all else that follows it.
            if !path.strip_prefix(&root[..]).is_some_and(|rest| rest.starts_with(b"/")) {
                return Ok(None);
            }
            relative.advance(root.len() + 1);
        }
        *last = Some(entry.clone());
        Ok(Some((relative, entry)))
    }

    pub async fn next_entry_bytes(&mut self, walk: &mut Walk) -> Result<Option<Bytes>> {
        let DirectoryWalk { walk, last, content, .. } = match walk {
            Walk::Phases(phases) => return self.next_bytes_in_phases(phases).await,
            Walk::Sorted(walk) => &mut **walk,
        };
        let Some(entry) = last.as_ref().filter(|entry| entry.kind == Kind::File) else { return Ok(None) };
        if entry.location & IN_PAYLOAD == 0 {
            return self.base.next_sorted_bytes(&mut walk.base).await;
        }
        let content = match content {
            Some(content) => content,
            None => content.insert(self.payload.read_at(entry.location & !IN_PAYLOAD, 0..u64::MAX).await?),
        };
        self.payload.next_bytes(content).await
    }
}
