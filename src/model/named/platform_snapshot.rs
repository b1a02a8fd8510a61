//! The platform snapshot of a sandbox: the writable disk of its container, which the platform stores.

use serde::{Deserialize, Serialize};

use super::PlatformSnapshotDescription;
use super::binding::{Dependencies, SavedIn};
use crate::model::{SnapshotId, Timestamp};

/// The lifetime of a platform snapshot after its creation or its last restore, in milliseconds: 30 days.
pub const PLATFORM_LIFETIME_MILLIS: i64 = 30 * 24 * 3600 * 1000;

/// The age at which a platform snapshot is refreshed if it is the only copy, in milliseconds: 20 days.
const REFRESH_AGE_MILLIS: i64 = 20 * 24 * 3600 * 1000;

/// The time between two attempts to refresh a platform snapshot, in milliseconds: one day.
const REFRESH_INTERVAL_MILLIS: i64 = 24 * 3600 * 1000;

/// A disk that the platform stored, as its call returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDisk {
    /// The id of the snapshot.
    pub id: String,
    /// The size of the disk, in bytes.
    pub size_bytes: u64,
}

/// The platform snapshot of a sandbox. The workspace binding stores at most one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformSnapshot {
    /// The id of the snapshot, which the platform assigned.
    pub id: String,
    /// The content of a file on the disk: the nonce of the marker of its container. It proves that a container started
    /// from a snapshot of that container.
    pub token: String,
    /// The size of the disk, in bytes.
    pub size_bytes: u64,
    /// The image of the containers that can start from the snapshot.
    pub image: String,
    /// When the snapshot was taken.
    pub created_at: Timestamp,
    /// When a container last started from the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_restored_at: Option<Timestamp>,
    /// When the newest attempt to start from the snapshot began that got no definite answer. It may have extended the lifetime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted_at: Option<Timestamp>,
    /// The newest archive of the sandbox at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<ArchiveLink>,
    /// A hash of the content of the workspace's directory; absent if it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    /// A hash of what the image itself has in the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// What the files depend on.
    #[serde(default)]
    pub dependencies: Dependencies,
    /// The last attempt to refresh the snapshot, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_failure: Option<RefreshFailure>,
    /// Why the snapshot cannot be restored any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
}

/// A failed attempt to refresh a platform snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefreshFailure {
    /// When the attempt was made.
    pub at: Timestamp,
    /// Why it failed.
    pub reason: String,
}

/// The newest archive of a sandbox when a platform snapshot was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveLink {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// When the archive was made. A later archive is newer than the platform snapshot.
    pub created_at: Timestamp,
    /// Whether the same stop made both, so that the archive has the same files.
    pub is_same: bool,
}

impl PlatformSnapshot {
    /// Returns when the platform deletes the snapshot.
    pub fn expires_at(&self) -> Timestamp {
        self.used_at().plus_millis(PLATFORM_LIFETIME_MILLIS)
    }

    /// Returns when the snapshot is to be refreshed; `None` if an archive has the same files, or if it cannot be restored.
    pub fn refresh_due(&self) -> Option<Timestamp> {
        let due_at = self.used_at().plus_millis(REFRESH_AGE_MILLIS);
        let retry_at = self.refresh_failure.as_ref().map(|failure| failure.at.plus_millis(REFRESH_INTERVAL_MILLIS));
        let is_only_copy = self.same_archive().is_none() && self.unusable.is_none();
        is_only_copy.then(|| due_at.max(retry_at.unwrap_or(due_at)))
    }

    fn used_at(&self) -> Timestamp {
        self.last_restored_at.unwrap_or(self.created_at).max(self.created_at)
    }

    /// Returns the archive that has the same files.
    pub fn same_archive(&self) -> Option<&SnapshotId> {
        self.archive.as_ref().filter(|archive| archive.is_same).map(|archive| &archive.snapshot_id)
    }

    /// Returns the snapshot that has these files: the archive if there is one.
    pub fn saved_in(&self) -> SavedIn {
        self.same_archive().map_or_else(|| SavedIn::Platform(self.id.clone()), |id| SavedIn::Archive(id.clone()))
    }

    /// Returns whether an archive that was made at `created_at` is newer.
    pub fn is_older_than(&self, created_at: Timestamp) -> bool {
        self.archive.as_ref().is_none_or(|archive| created_at > archive.created_at)
    }

    /// Returns whether the platform has certainly deleted the snapshot.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        let used_at = self.attempted_at.map_or(self.used_at(), |at| at.max(self.used_at()));
        now >= used_at.plus_millis(PLATFORM_LIFETIME_MILLIS)
    }

    /// Returns why a container of the given image cannot start from the snapshot; `None` if it can. Without an image, the
    /// class of the sandbox has no platform snapshots.
    pub fn obstacle(&self, image: Option<&str>, now: Timestamp) -> Option<String> {
        if let Some(reason) = &self.unusable {
            return Some(reason.clone());
        }
        if self.has_expired(now) {
            return Some(format!("it expired at {}", self.expires_at()));
        }
        match image {
            None => Some("the class of the sandbox has no platform snapshots".to_owned()),
            Some(image) if image != self.image => {
                Some(format!("the image of the sandbox is {image:?}, and was {:?} at the snapshot", self.image))
            }
            Some(_) => None,
        }
    }
}

impl From<&PlatformSnapshot> for PlatformSnapshotDescription {
    fn from(snapshot: &PlatformSnapshot) -> Self {
        Self {
            id: snapshot.id.clone(),
            size_bytes: snapshot.size_bytes,
            image: snapshot.image.clone(),
            created_at: snapshot.created_at,
            last_restored_at: snapshot.last_restored_at,
            expires_at: snapshot.expires_at(),
            archive_id: snapshot.same_archive().cloned(),
            refresh_failure: snapshot.refresh_failure.as_ref().map(|failure| failure.reason.clone()),
            unusable: snapshot.unusable.clone(),
        }
    }
}
