//! Deltas: what a capture writes in place of all files, and what its restore needs.
//!
//! The sandbox archives a small directory, the carrier, which contains the changes since a full snapshot, the base. The
//! comparison is with the inventory of the base: a file in the container, outside of every captured directory, with a record
//! of each entry. See `docs/incremental.md`.

use serde::{Deserialize, Serialize};

use super::record::StoredBackup;
use super::{BackupId, Directory, FullReason, Result, SnapshotId};

/// The smallest archive that is worth a delta, in bytes.
pub const MIN_BASE_BYTES: u64 = 5_000_000;

/// The maximum number of deltas of a base.
pub const MAX_DELTAS: usize = 32;

/// The maximum age of a base, in milliseconds: 7 days.
pub const MAX_BASE_MILLIS: i64 = 7 * 24 * 3600 * 1000;

/// The maximum size of the changed files, in percent of all files of the base.
pub const MAX_CHANGED_PERCENT: u32 = 25;

/// The path of every carrier, before the id of its snapshot.
const CARRIER_PREFIX: &str = "/.sandbox-snapshotter.delta.";

/// The base that the container of the sandbox has: as an inventory, or mounted below an overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TracedBase {
    /// The id of the base.
    pub snapshot_id: SnapshotId,
    /// The SHA-256 of the inventory, in hexadecimal.
    pub inventory: String,
    /// The size of all files of the base, in bytes.
    pub tree_bytes: u64,
    /// The SHA-256 of the listing of the directory, in hexadecimal: names, types, sizes, times and owners.
    pub listing: String,
    /// The backup of the base, if it is mounted. Then there is no inventory and no listing, and the size is that of the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mounted: Option<BackupId>,
}

impl TracedBase {
    /// Returns a base that is mounted.
    pub fn mounted(snapshot_id: SnapshotId, stored: &StoredBackup) -> Self {
        let (inventory, listing) = (String::new(), String::new());
        let mounted = Some(stored.backup.id().clone());
        Self { snapshot_id, inventory, tree_bytes: stored.size_bytes, listing, mounted }
    }
}

/// What a delta changes, and how its restore is verified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delta {
    /// The directory that was captured.
    pub dir: Directory,
    /// The id of the base.
    pub base_id: SnapshotId,
    /// The backup of the base.
    pub base: Box<StoredBackup>,
    /// The SHA-256 of the head of the carrier, in hexadecimal. The head has those of the other parts, and of the listing of
    /// the restored files.
    pub head: String,
    /// The size of all files, in bytes.
    pub tree_bytes: u64,
    /// The size of all files of the base, in bytes.
    pub base_tree_bytes: u64,
}

impl Delta {
    /// Returns the size that an archive of all files probably has, in bytes.
    pub fn estimated_full_bytes(&self) -> u64 {
        let estimated =
            u128::from(self.base.size_bytes) * u128::from(self.tree_bytes) / u128::from(self.base_tree_bytes.max(1));
        u64::try_from(estimated).unwrap_or(u64::MAX)
    }
}

/// The request to begin a capture in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureBegin {
    /// The directory.
    pub dir: Directory,
    /// The id of the new snapshot.
    pub snapshot_id: SnapshotId,
    /// The base to compare with.
    pub base: Option<TracedBase>,
    /// The size of the smallest archive that deltas are based on, in bytes.
    pub min_base_bytes: u64,
}

/// What a capture archives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureBegun {
    /// The carrier, which was written.
    Delta(Carrier),
    /// The directory. An inventory of it was written, unless `untraced` says why not.
    Full {
        /// Why there is no delta; `None` if the request names no base.
        reason: Option<FullReason>,
        /// Why there is no inventory.
        untraced: Option<FullReason>,
    },
}

/// A carrier in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// Its directory.
    pub dir: Directory,
    /// The SHA-256 of its head.
    pub head: String,
    /// The size of its files, in bytes.
    pub bytes: u64,
    /// The size of all files of the captured directory, in bytes.
    pub tree_bytes: u64,
    /// The size of all files of the base, in bytes. For a mounted base, both sizes are estimates.
    pub base_tree_bytes: u64,
}

/// What is done with the restored files of a base, before another call can use the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreFinish {
    /// The directory.
    pub dir: Directory,
    /// The id of the base.
    pub base_id: SnapshotId,
    /// The SHA-256 of the listing that the base must have for an inventory of it to be written; `None` to write none.
    pub traced: Option<String>,
    /// The backup of the base that must be mounted, if the directory is an overlay.
    pub mounted: Option<BackupId>,
    /// The carrier to apply, and the SHA-256 of its head.
    pub carrier: Option<(Directory, String)>,
}

/// The outcome of [`RestoreFinish`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreFinished {
    /// The files are those of the snapshot. Contains the base if its inventory was written.
    Complete(Option<TracedBase>),
    /// Another container is running.
    OtherContainer,
    /// The files are not those of the snapshot; contains why.
    Failed(DeltaFailure),
}

/// Why a delta can't be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaFailure {
    /// The carrier is damaged, or of another base.
    Carrier,
    /// The restored files differ from those that were captured.
    Digest,
    /// The image lacks a program.
    Tools,
    /// A program failed.
    Failed,
}

/// Returns the directory of the carrier of a snapshot of `dir`, outside of it.
///
/// # Errors
/// None: the path is valid.
pub fn carrier_dir(dir: &Directory, snapshot_id: &SnapshotId) -> Result<Directory> {
    let is_below = |root: &str| format!("{}/", dir.as_str()).starts_with(&format!("{root}/"));
    let root = if is_below("/var/tmp") { "/tmp" } else { "/var/tmp" };
    Directory::parse(&format!("{root}{CARRIER_PREFIX}{snapshot_id}"))
}

/// Returns whether a backup of `dir` is one of a carrier.
pub fn is_carrier(dir: &Directory) -> bool {
    ["/tmp", "/var/tmp"].iter().any(|root| dir.as_str().starts_with(&format!("{root}{CARRIER_PREFIX}")))
}
