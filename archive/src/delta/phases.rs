//! The entries of a delta whose base is a tar, which is read once, from its begin to its end: the directories of the
//! payload, what remains of the base, and the other members of the payload. A directory precedes what is in it.

use bytes::Bytes;

use super::digests::Digests;
use super::{Delta, in_payload};
use crate::path::join;
use crate::{Entry, Error, Kind, Path, Result, Source, single, tar};

/// A visit of all entries below a directory.
pub(crate) struct Phases {
    root: Path,
    phase: Phase,
    /// The paths of all members of the payload.
    changed: Digests,
}

enum Phase {
    Directories(tar::Walk),
    Base(single::Walk),
    Others(tar::Walk),
}

impl<S: Source> Delta<S> {
    pub(super) async fn walk_in_phases(&mut self, root: &Path) -> Result<Phases> {
        let changed = self.digest_payload(|path, _| Some(Bytes::copy_from_slice(path))).await?;
        Ok(Phases { root: root.clone(), phase: Phase::Directories(self.payload.walk(root)), changed })
    }

    pub(super) async fn next_in_phases(&mut self, phases: &mut Phases) -> Result<Option<(Bytes, Entry)>> {
        loop {
            let found = match &mut phases.phase {
                Phase::Directories(walk) | Phase::Others(walk) => self.payload.next_entry(walk).await,
                Phase::Base(walk) => self.base.next_entry(walk).await,
            };
            let found = match found {
                // This archive has no such directory.
                Err(Error::NotFound | Error::NotADirectory) => None,
                found => found?,
            };
            let Some((path, entry)) = found else {
                phases.phase = match phases.phase {
                    Phase::Directories(_) => Phase::Base(self.base.walk(&phases.root).await?),
                    Phase::Base(_) => Phase::Others(self.payload.walk(&phases.root)),
                    Phase::Others(_) => return Ok(None),
                };
                continue;
            };
            let is_directory = entry.kind == Kind::Directory;
            match &phases.phase {
                Phase::Directories(_) if is_directory => return Ok(Some((path, in_payload(entry)))),
                Phase::Others(_) if !is_directory => return Ok(Some((path, in_payload(entry)))),
                Phase::Base(_) if self.is_unchanged(phases, &path, &entry)? => return Ok(Some((path, entry))),
                _ => {}
            }
        }
    }

    /// Whether a member of the base remains, and the payload does not replace it.
    fn is_unchanged(&mut self, phases: &Phases, path: &[u8], entry: &Entry) -> Result<bool> {
        let mut is_unchanged =
            |path: &[u8], kind: &Kind| !phases.changed.contains(b'p', path) && self.lists.keep(path, kind);
        if !is_unchanged(&join(&phases.root.joined(), path), &entry.kind) {
            return Ok(false);
        }
        if let Kind::HardLink { target } = &entry.kind
            && !is_unchanged(&tar::member_path(target)?.joined(), &entry.kind)
        {
            return Err(Error::Damaged("a hard link has no file"));
        }
        Ok(true)
    }

    pub(super) async fn next_bytes_in_phases(&mut self, phases: &mut Phases) -> Result<Option<Bytes>> {
        match &mut phases.phase {
            Phase::Directories(walk) | Phase::Others(walk) => self.payload.next_entry_bytes(walk).await,
            Phase::Base(walk) => self.base.next_entry_bytes(walk).await,
        }
    }
}
