//! The product's own mark on its backups.
//!
//! `createBackup` stores a name in R2 beside the archive; ours is `snapshotter/1 <snapshotId> <originId>`. By it
//! a backup is traced to its snapshot, a forged ref is told from a true one, and nothing without it is ever
//! deleted: applications keep backups of their own in the same bucket.

use std::fmt;

use super::{SandboxId, SnapshotId};

const PREFIX: &str = "snapshotter/1";

/// Which snapshot a backup belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// The sandbox that it was taken of.
    pub origin_id: SandboxId,
}

impl Mark {
    /// Reads the name of a backup; `None` when it is not a mark of ours.
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

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX} {} {}", self.snapshot_id, self.origin_id)
    }
}
