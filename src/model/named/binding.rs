//! The binding of a sandbox to a named workspace, and the observations of its container.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{Address, PlatformSnapshot, Storage};
use crate::model::named::answer::RestoredFrom;
use crate::model::record::StartState;
use crate::model::{ContainerId, Directory, Provenance, SnapshotId, Timestamp};

/// The binding of a sandbox that belongs to a named workspace. The ledger of the sandbox stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceBinding {
    /// The workspace that the sandbox belongs to.
    pub address: Address,
    /// The starts of the sandbox.
    #[serde(flatten)]
    pub start: StartState,
    /// The workspace continues in another sandbox. Whatever runs in this one is captured and destroyed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(alias = "former")]
    pub superseded: bool,
    /// The number of newest automatic snapshots that stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autosave_keep: Option<NonZeroU32>,
    /// The files that are hashed with each snapshot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The fingerprint that is recorded with each snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Whether snapshots may be deltas; the deployment's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incremental: Option<bool>,
    /// The version of the workspace's record at the last start or stop. Requests of earlier versions are refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
    /// The platform snapshot of the last stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_snapshot: Option<PlatformSnapshot>,
    /// Until when the platform may keep snapshots of the sandbox. It has no call to delete them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_data_until: Option<Timestamp>,
}

/// A proof that a snapshot has all files of a sandbox without a container. It holds until a container starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedFiles {
    /// The snapshot.
    #[serde(flatten)]
    pub snapshot: SavedIn,
    /// See [`SandboxStatus::last_change`](crate::model::SandboxStatus::last_change). Every start of a container changes
    /// it.
    pub last_change: f64,
}

/// The snapshot that has all files of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SavedIn {
    /// An archive.
    #[serde(rename = "snapshotId")]
    Archive(SnapshotId),
    /// A platform snapshot, and no archive.
    #[serde(rename = "platformSnapshotId")]
    Platform(String),
}

/// A restore into the container of a named workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRestore {
    /// The storage that the files were restored from.
    #[serde(default, skip_serializing_if = "Storage::is_default")]
    pub storage: Storage,
    /// The id of the archive with these files; absent if they are only in a platform snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<SnapshotId>,
    /// When the snapshot was taken.
    pub created_at: Timestamp,
    /// When the restore began.
    pub at: Timestamp,
    /// Whether files may be lost that were newer than the snapshot.
    pub may_have_lost: bool,
    /// Since when changes may be lost; absent if none are, or if that is not known. It is earlier than `created_at` if an earlier
    /// restore lost them, and no answer has certainly reported that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_since: Option<Timestamp>,
    /// The newest partial snapshot that is newer than `created_at`, if files may be lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer_partial_id: Option<SnapshotId>,
    /// The nonce of the marker that the container carries.
    pub nonce: String,
}

/// What a snapshot depends on, as observed when it was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependencies {
    /// SHA-256 of each file in hexadecimal, by the path as the settings spell it; empty if there was no such file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// The fingerprint of the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// What the sandbox ran on, as the text of a [`Provenance`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// The content of a container before anything is restored into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryListing {
    /// What the container runs on, as the text of a [`Provenance`].
    pub image: String,
    /// A hash of the directory's content; `None` if the directory has none.
    pub content_hash: Option<String>,
}

/// The content hash of a directory that could not be listed in time. It matches no baseline, not even itself.
pub const UNKNOWN_CONTENT: &str = "unknown";

impl DirectoryListing {
    /// Returns the listing of a directory that was not listed.
    pub fn unknown() -> Self {
        Self { image: "unknown".to_owned(), content_hash: Some(UNKNOWN_CONTENT.to_owned()) }
    }

    /// Returns whether the directory has exactly the content that the image provides (`baseline`).
    pub fn matches(&self, baseline: Option<&String>) -> bool {
        self.content_hash.as_ref() == baseline && self.content_hash.as_deref() != Some(UNKNOWN_CONTENT)
    }
}

/// The observation of a container at the beginning of a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreBegun {
    /// The content of the container; unknown where its disk is a platform snapshot.
    pub listing: DirectoryListing,
    /// SHA-256 of the requested files, by path.
    pub hashes: BTreeMap<String, String>,
    /// The id of the container.
    pub container_id: Option<ContainerId>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
pub(super) const fn is_zero(version: &u64) -> bool {
    *version == 0
}

impl WorkspaceBinding {
    /// Returns the binding of a sandbox that has not been created yet.
    pub fn new(address: Address, dir: Directory) -> Self {
        Self {
            address,
            start: StartState::new(dir),
            superseded: false,
            autosave_keep: None,
            files: Vec::new(),
            fingerprint: None,
            incremental: None,
            version: 0,
            platform_snapshot: None,
            platform_data_until: None,
        }
    }
}

impl From<&LastRestore> for RestoredFrom {
    fn from(restore: &LastRestore) -> Self {
        let age_millis = restore.at.millis_since(restore.created_at);
        Self {
            storage: restore.storage,
            snapshot_id: restore.snapshot_id.clone(),
            created_at: restore.created_at,
            age_seconds: u64::try_from(age_millis / 1000).unwrap_or_default(),
            newer_partial_id: restore.newer_partial_id.clone(),
        }
    }
}

impl Dependencies {
    /// Returns what the container of the snapshot ran on.
    pub fn provenance(&self) -> Option<Provenance> {
        self.image.as_deref().and_then(Provenance::parse)
    }

    /// Compares the dependencies at the snapshot (`self`) with the present ones (`now`), and with the file hashes that
    /// the caller expects at the snapshot (`expect`). Returns the differences: first those of files and fingerprint,
    /// then those of the image.
    pub fn compare(&self, now: &Self, expect: &BTreeMap<String, String>) -> (Vec<String>, Vec<String>) {
        let mut stale = Vec::new();
        for (path, expected) in expect {
            let then = self.files.get(path).map_or("", String::as_str);
            if !then.eq_ignore_ascii_case(expected) {
                stale.push(format!("{path:?} did not have the expected hash at the snapshot"));
            }
        }
        for (path, hash) in &now.files {
            if self.files.get(path).is_some_and(|then| then != hash) {
                stale.push(format!("{path:?} has changed since the snapshot"));
            }
        }
        if let (Some(then), Some(now)) = (&self.fingerprint, &now.fingerprint)
            && then != now
        {
            stale.push(format!("the fingerprint is {now:?}, and was {then:?} at the snapshot"));
        }
        let image = self.provenance().zip(now.provenance()).map(|(then, now)| then.changes(&now));
        (stale, image.unwrap_or_default())
    }
}
