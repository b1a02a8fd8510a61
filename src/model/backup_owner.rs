//! The product's mark on its backups.
//!
//! `createBackup` stores a name in R2 beside the archive. The product sets it to `snapshotter/1 <snapshotId>
//! <originId>`. The mark identifies the snapshot of a backup, reveals a forged ref, and protects the backups that
//! applications store in the same bucket: the product never deletes a backup without the mark.

use std::fmt;

use super::{SandboxId, SnapshotId};

const PREFIX: &str = "snapshotter/1";

/// The snapshot that a backup belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupOwner {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// The sandbox that it was taken of.
    pub origin_id: SandboxId,
}

impl BackupOwner {
    /// Parses the name of a backup; `None` if it is not the product's mark.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.splitn(3, ' ');
        if parts.next()? != PREFIX {
            return None;
        }
        let snapshot_id = SnapshotId::parse(parts.next()?).ok()?;
        let origin_id = SandboxId::parse(parts.next()?).ok()?;
        Some(Self { snapshot_id, origin_id })
    }
}

impl fmt::Display for BackupOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX} {} {}", self.snapshot_id, self.origin_id)
    }
}
