//! What the SDK's `createBackup` takes, and what it stores in R2.

use serde::{Deserialize, Serialize};

use super::{
    ArchiveFormat, BackupId, BackupLocation, BackupOwner, Compression, ContainerIdentity, Directory, Timestamp,
};

/// The longest time to live, in seconds: 100 years of 365 days. All backups are stored with it, because the retention
/// policy of the sandbox decides when a snapshot expires.
pub const MAX_TTL_SECONDS: u64 = 100 * 365 * 24 * 3600;

/// The SDK stops restoring a backup this long before the end of its time to live, in milliseconds.
const TTL_BUFFER_MILLIS: i64 = 60_000;

/// The options of `createBackup`, as the SDK spells them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupOptions {
    /// The directory to capture.
    pub dir: Directory,
    /// The name stored beside the archive: the [`BackupOwner`](super::BackupOwner).
    pub name: String,
    /// Seconds after its creation for which the SDK restores the backup.
    pub ttl: u64,
    /// Whether files that git ignores are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitignore: Option<bool>,
    /// Patterns of names that are left out, at any depth. See [`check_patterns`](super::exclude::check_patterns).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// How the archive is compressed; the SDK's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// Whether the archive goes through the R2 binding instead of signed URLs. This is for development.
    pub local_bucket: bool,
    /// The container to capture, if its runtime proves which one it captures: the sandbox refuses to capture another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_last_change: Option<ContainerIdentity>,
}

/// What the SDK stores beside an archive (`backups/<id>/meta.json` of 0.12).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupMetadata {
    /// The id of the backup.
    pub id: BackupId,
    /// The directory that was captured.
    pub dir: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The size of the archive, in bytes.
    pub size_bytes: u64,
    /// Seconds after its creation for which the SDK restores it.
    pub ttl: f64,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The format of the archive.
    #[serde(default, skip_serializing_if = "ArchiveFormat::is_default")]
    pub format: ArchiveFormat,
    /// The number of files and directories in the archive, without the captured directory itself. Absent for a
    /// squashfs, whose header contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
}

impl BackupMetadata {
    /// Whether the SDK refuses to restore the backup at `now` because its time to live is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now > self.usable_until()
    }

    /// Returns the time until which the SDK restores the backup.
    pub fn usable_until(&self) -> Timestamp {
        // A time to live beyond the range of an i64 never ends: the conversion and the sums saturate.
        #[allow(clippy::cast_possible_truncation)]
        let ttl_millis = (self.ttl * 1000.0) as i64;
        self.created_at.plus_millis(ttl_millis.saturating_sub(TTL_BUFFER_MILLIS))
    }
}

/// What R2 reports about an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveInfo {
    /// Its size, in bytes.
    pub size_bytes: u64,
    /// R2's checksum of the archive, if it has one: `md5:<hexadecimal>`.
    pub checksum: Option<String>,
    /// When it was written.
    pub uploaded_at: Timestamp,
    /// The owner mark that is stored with the archive: that of a `DirectoryBackup`. A pair has it in its metadata.
    pub mark: Option<BackupOwner>,
}

/// An object of a backup, as a listing of the bucket shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupObject {
    /// The backup.
    pub location: BackupLocation,
    /// Which of its objects it is.
    pub kind: BackupObjectKind,
    /// The size of the object, in bytes.
    pub size_bytes: u64,
    /// When the object was written.
    pub uploaded_at: Timestamp,
}

/// The kind of an object of a backup. The SDK writes the archive first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupObjectKind {
    /// `data.sqsh`
    Archive,
    /// `meta.json`
    Metadata,
    /// The one object of a `DirectoryBackup`.
    DirectoryBackup,
}

/// A page of a listing of the bucket. The archive of a pair comes directly before its metadata, which may be on the next
/// page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupObjectPage {
    /// The backup objects on the page.
    pub objects: Vec<BackupObject>,
    /// The cursor of the next page; absent on the last page.
    pub cursor: Option<String>,
}
