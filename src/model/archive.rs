//! Requests about the content of an archive, and their answers.

use serde::{Deserialize, Serialize};

pub use snapshot_archive::protocol::{
    Answer, Attributes, Change, ChangeKind, DiffOutcome, DiffRequest, DownloadRequest, EntryKind, Name,
    NamedAttributes, Outcome, Request,
};
pub use snapshot_archive::{Certainty, Difference, Form, Side};

use super::{BackupLocation, SandboxId, SnapshotId};

/// A snapshot whose archive can be read, and the place of the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocatedSnapshot {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// The first sandbox of its lineage.
    pub root_id: SandboxId,
    /// The backup.
    pub location: BackupLocation,
}
