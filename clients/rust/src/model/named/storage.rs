//! The storages of a workspace's files.

use serde::{Deserialize, Serialize};

use crate::model::{Error, Result, SnapshotId, Timestamp};

/// Where a stop stores the files of a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum StoragePolicy {
    /// In an archive in R2. It is durable, it can be deleted, and every image can restore it.
    #[default]
    Archive,
    /// In an archive, and in a platform snapshot of the whole disk. A start restores the platform snapshot, or the archive if
    /// the platform snapshot cannot be restored.
    Both,
    /// Only in a platform snapshot. Requires `durable: false`.
    Platform,
}

impl StoragePolicy {
    /// Parses a policy.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(match text {
            "archive" => Self::Archive,
            "both" => Self::Both,
            "platform" => Self::Platform,
            _ => {
                let choices = "\"archive\", \"both\" or \"platform\"";
                return Err(Error::invalid_argument(
                    format!("`storage` must be {choices}"),
                    format!("Pass {choices}."),
                ));
            }
        })
    }

    /// Returns whether a stop stores an archive.
    pub fn has_archive(self) -> bool {
        self != Self::Platform
    }

    /// Returns whether a stop takes a platform snapshot.
    pub fn has_platform(self) -> bool {
        self != Self::Archive
    }

    /// Returns whether the policy is the default.
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The storage from which files were restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Storage {
    /// An archive in R2: the directory of the workspace.
    #[default]
    Archive,
    /// A platform snapshot: the whole disk.
    Platform,
}

impl Storage {
    /// Returns whether the storage is the default.
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A platform snapshot: the writable disk of a container, which the platform stores. It cannot be deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PlatformSnapshot"))]
pub struct PlatformSnapshotDescription {
    /// The id of the snapshot, which the platform assigned.
    pub id: String,
    /// The size of the disk, in bytes.
    pub size_bytes: u64,
    /// The image of the containers that can start from the snapshot.
    pub image: String,
    /// When the snapshot was taken.
    pub created_at: Timestamp,
    /// When a container last started from the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_restored_at: Option<Timestamp>,
    /// When the platform deletes the snapshot: 30 days after its creation or its last restore.
    pub expires_at: Timestamp,
    /// The archive that the same stop stored; absent if the files are only in the platform snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive_id: Option<SnapshotId>,
    /// Why the last attempt to refresh the snapshot before its expiration failed. The Worker tries again every day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_failure: Option<String>,
    /// Why the snapshot cannot be restored any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
}
