//! What archives contain and how they fail, as answers have it.

use super::{Answer, Attributes, Change, ChangeKind, EntryKind, Name, NamedAttributes, NamedTotals, Outcome};
use crate::diff;
use crate::summary::{EntryTotals, Summary};
use crate::{Child, Entry, Error, Kind};

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::NotFound,
            Error::NotADirectory => Self::NotADirectory,
            Error::NotAFile => Self::NotAFile,
            Error::InvalidPath(why) => Self::InvalidPath(why.to_owned()),
            Error::Damaged(how) => Self::Damaged(how.to_owned()),
            Error::Unsupported(why) => Self::Unsupported(why.to_owned()),
            Error::Source(message) => Self::SourceFailed(message),
        }
    }
}

impl From<&diff::Change> for Change {
    fn from(change: &diff::Change) -> Self {
        let kind = match &change.kind {
            diff::ChangeKind::Added => ChangeKind::Added,
            diff::ChangeKind::Removed => ChangeKind::Removed,
            diff::ChangeKind::Changed(differences) => ChangeKind::Changed(differences.clone()),
            diff::ChangeKind::Renamed { from } => ChangeKind::Renamed(from[..].into()),
        };
        Self {
            path: change.path[..].into(),
            kind,
            certainty: change.certainty,
            before: change.before.as_ref().map(Attributes::from),
            after: change.after.as_ref().map(Attributes::from),
            hash: change.hash.clone(),
        }
    }
}

impl From<&Child> for NamedAttributes {
    fn from(child: &Child) -> Self {
        Self { name: child.name[..].into(), attributes: (&child.entry).into() }
    }
}

impl From<Summary> for Answer {
    fn from(summary: Summary) -> Self {
        let entries = summary.entries.map(|entries| entries.iter().map(NamedTotals::from).collect());
        let largest = summary.largest.iter().map(|(path, bytes)| (Name::from(&path[..]), *bytes)).collect();
        Self::Summary { totals: summary.totals, entries, largest }
    }
}

impl From<&EntryTotals> for NamedTotals {
    fn from(entry: &EntryTotals) -> Self {
        Self { name: entry.name[..].into(), kind: (&entry.kind).into(), totals: entry.totals }
    }
}

impl From<&Entry> for Attributes {
    fn from(entry: &Entry) -> Self {
        let target = match &entry.kind {
            Kind::Symlink { target } => Some(target[..].into()),
            _ => None,
        };
        let Entry { mode, uid, gid, mtime, size, .. } = *entry;
        Self { kind: (&entry.kind).into(), mode, uid, gid, mtime, size, target }
    }
}

impl From<&Kind> for EntryKind {
    fn from(kind: &Kind) -> Self {
        match kind {
            Kind::Directory => Self::Directory,
            Kind::File | Kind::HardLink { .. } => Self::File,
            Kind::Symlink { .. } => Self::Symlink,
            Kind::BlockDevice(_) | Kind::CharacterDevice(_) | Kind::Fifo | Kind::Socket => Self::Special,
        }
    }
}
