//! The keys of the objects of backups in the R2 bucket.

use crate::model::{BackupId, BackupLocation, BackupObjectKind};

/// The prefix of the keys of backups.
pub(super) const KEY_PREFIX: &str = "backups/";

/// The suffix of the key of an archive, after the id of the backup.
const ARCHIVE_SUFFIX: &str = "/data.sqsh";

/// The suffix of the key of the metadata, after the id of the backup.
const METADATA_SUFFIX: &str = "/meta.json";

/// Returns the pair that an object belongs to, and the kind of the object.
pub(crate) fn parse_key(key: &str) -> Option<(BackupLocation, BackupObjectKind)> {
    let key = key.strip_prefix(KEY_PREFIX)?;
    let metadata = key.strip_suffix(METADATA_SUFFIX).map(|id| (id, BackupObjectKind::Metadata));
    let (id, kind) = metadata.or_else(|| key.strip_suffix(ARCHIVE_SUFFIX).map(|id| (id, BackupObjectKind::Archive)))?;
    Some((BackupLocation::Pair(BackupId::parse(id).ok()?), kind))
}

/// Returns the key of an archive.
pub(crate) fn archive_key(backup: &BackupLocation) -> String {
    match backup {
        BackupLocation::Pair(id) => format!("{KEY_PREFIX}{id}{ARCHIVE_SUFFIX}"),
        BackupLocation::DirectoryBackup { key, .. } => key.clone(),
    }
}

/// Returns the key of the metadata of a pair.
pub(crate) fn metadata_key(id: &BackupId) -> String {
    format!("{KEY_PREFIX}{id}{METADATA_SUFFIX}")
}
