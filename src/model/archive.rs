//! Requests about the content of an archive, and their answers.

use serde::{Deserialize, Serialize};

pub use snapshot_archive::protocol::{
    Answer, Attributes, Change, ChangeKind, DiffOutcome, DiffRequest, DownloadRequest, EntryKind, ListingPart,
    MAX_READ, Name, NamedAttributes, NamedTotals, Outcome, Request,
};
pub use snapshot_archive::{Certainty, Difference, Form, Side, Totals, compare as compare_paths};

use super::{BackupId, BackupLocation, Directory, LocatedBackup, SandboxId, SnapshotId, Timestamp};

/// Where the archives of a snapshot are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ArchiveLocation {
    /// Of a delta. Earlier releases refuse messages that contain it.
    Delta {
        /// The backup of the base.
        base: BackupLocation,
        /// The backup of the carrier.
        carrier: BackupLocation,
        /// The SHA-256 of the head of the carrier, in hexadecimal.
        head: String,
    },
    /// Of a backup that has all files.
    Full(BackupLocation),
}

impl ArchiveLocation {
    /// Returns where the archives of a backup are.
    pub fn of(backup: &LocatedBackup) -> Self {
        match backup.delta() {
            None => Self::Full(backup.location().clone()),
            Some(delta) => Self::Delta {
                base: delta.base.backup.location().clone(),
                carrier: backup.location().clone(),
                head: delta.head.clone(),
            },
        }
    }

    /// Returns the id of the backup of the snapshot.
    pub const fn id(&self) -> &BackupId {
        match self {
            Self::Full(backup) | Self::Delta { carrier: backup, .. } => backup.id(),
        }
    }

    /// Returns the backups whose archives are read: that of a base precedes that of its carrier.
    pub fn backups(&self) -> Vec<&BackupLocation> {
        match self {
            Self::Full(backup) => vec![backup],
            Self::Delta { base, carrier, .. } => vec![base, carrier],
        }
    }

    /// Returns the SHA-256 of the head of the carrier of a delta.
    pub fn head(&self) -> Option<&str> {
        match self {
            Self::Full(_) => None,
            Self::Delta { head, .. } => Some(head),
        }
    }
}

/// A snapshot whose archives can be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocatedSnapshot {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// The first sandbox of its lineage.
    pub root_id: SandboxId,
    /// Its archives.
    pub location: ArchiveLocation,
    /// What was captured. Earlier releases do not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<CapturedFiles>,
}

/// The files that a capture included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapturedFiles {
    /// The directory.
    pub dir: Directory,
    /// The patterns of paths that were excluded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// Whether the files that git ignores were excluded.
    #[serde(default)]
    pub gitignore: bool,
    /// When the capture began. Earlier releases do not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_at: Option<Timestamp>,
}

impl LocatedSnapshot {
    /// Returns the time, in seconds since 1970, from which on a file of the snapshot may have been changed without another time, because
    /// it was captured within that second. A second more allows for the clock of the container.
    pub fn racy_from(&self) -> Option<i64> {
        let began_at = self.capture.as_ref()?.began_at?;
        Some(began_at.as_millis().div_euclid(1000) - 1)
    }
}

/// The archive of a backup that R2 confirms not to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingArchive(pub BackupId);
