//! The objects of a backup in R2: reads and verifies them.

use futures_util::future::join;

use crate::model::record::StoredBackup;
use crate::model::{
    ArchiveFormat, ArchiveInfo, BackupHandle, BackupId, BackupMetadata, BackupOwner, Code, Error, Result, Timestamp,
};
use crate::ports::{BackupStore, Ports};
use crate::service::calls::failures::from_storage;
use crate::service::calls::retry::retry;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// A backup whose two objects are in R2, with the archive size that its metadata records.
pub(in crate::service) struct BackupHead {
    /// The metadata that the SDK stored.
    pub metadata: BackupMetadata,
    /// What R2 reports about the archive.
    pub archive: ArchiveInfo,
    /// The owner, where the backup carries an owner mark.
    pub mark: Option<BackupOwner>,
}

impl BackupHead {
    /// Returns the record that the ledger keeps of the backup.
    pub fn into_stored(self, backup: BackupHandle, imported: bool, now: Timestamp) -> StoredBackup {
        StoredBackup {
            backup,
            created_at: self.metadata.created_at,
            size_bytes: self.metadata.size_bytes,
            checksum: self.archive.checksum,
            usable_until: self.metadata.usable_until(),
            imported,
            checked_at: now,
            damage: None,
            archive_damage: None,
        }
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Heads the objects of a backup in R2.
    ///
    /// # Errors
    /// [`Code::BackupNotFound`] when neither object exists, [`Code::BackupIncomplete`] when one is missing, the archive
    /// has another size or the metadata is another backup's, [`Code::StorageUnavailable`] when R2 does not answer.
    pub(in crate::service) async fn head_backup(&self, id: &BackupId) -> Result<BackupHead> {
        let backups = self.backups()?;
        let (metadata, archive) = self
            .retry(async || {
                let (metadata, archive) = join(backups.get_metadata(id), backups.head_archive(id)).await;
                let failed = |failure| from_storage(failure, &format!("reading the backup {id}"));
                Ok((metadata.map_err(failed)?, archive.map_err(failed)?))
            })
            .await?;
        let (metadata, archive) = match (metadata, archive) {
            (Some(metadata), Some(archive)) => (metadata, archive),
            (None, None) => {
                return Err(Error::backup_not_found(id));
            }
            (found, _) => {
                let missing = if found.is_some() { "archive" } else { "metadata" };
                return Err(Error::backup_damaged(id, &format!("its {missing} is missing")));
            }
        };
        if metadata.size_bytes != archive.size_bytes {
            return Err(Error::backup_damaged(
                id,
                &format!("its archive has {} bytes instead of {}", archive.size_bytes, metadata.size_bytes),
            ));
        }
        if metadata.id != *id {
            return Err(Error::backup_damaged(id, "its metadata belongs to another backup"));
        }
        let mark = metadata.name.as_deref().and_then(BackupOwner::parse);
        Ok(BackupHead { metadata, archive, mark })
    }

    /// Returns whether the archive of a backup contains an empty directory only. The header of a squashfs (version 4.0)
    /// records the number of inodes, which includes the directory itself; for other formats, the metadata records the
    /// number of entries.
    ///
    /// # Errors
    /// [`Code::StorageUnavailable`] when R2 does not answer.
    pub(in crate::service) async fn is_empty_archive(&self, id: &BackupId) -> Result<bool> {
        const INODES: std::ops::Range<usize> = 4..8;
        let head = self.read_archive_prefix(id, 8).await?;
        if head.starts_with(b"hsqs") {
            let inodes = head.get(INODES).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
            return Ok(inodes == Some(1));
        }
        let metadata = self.head_backup(id).await?.metadata;
        Ok(metadata.format != ArchiveFormat::Squashfs && metadata.entries == Some(0))
    }

    /// Returns the first bytes of an archive, or all of a shorter one; none when there is no archive.
    pub(super) async fn read_archive_prefix(&self, id: &BackupId, length: u32) -> Result<Vec<u8>> {
        let head = self
            .retry(async || {
                let head = self.backups()?.read_archive_prefix(id, length).await;
                head.map_err(|failure| from_storage(failure, &format!("reading the archive of the backup {id}")))
            })
            .await?;
        Ok(head.unwrap_or_default())
    }

    /// Verifies that the objects in R2 match the ledger's record of the backup, and that the backup can be restored
    /// now. `mark` is the owner mark that it must carry, unless it was imported.
    ///
    /// # Errors
    /// Those of [`head_backup`](Self::head_backup); [`Code::BackupIncomplete`] when the objects are another backup's,
    /// [`Code::BackupExpired`].
    pub(in crate::service) async fn inspect_backup(
        &self,
        stored: &StoredBackup,
        mark: &BackupOwner,
    ) -> Result<BackupHead> {
        let id = stored.backup.id();
        let found = self.head_backup(id).await?;
        let comparisons = [
            ("mark", stored.imported || found.mark.as_ref() == Some(mark)),
            ("time", found.metadata.created_at == stored.created_at),
            ("size", found.archive.size_bytes == stored.size_bytes),
            ("checksum", checksums_agree(found.archive.checksum.as_ref(), stored.checksum.as_ref())),
        ];
        if let Some((what, _)) = comparisons.iter().find(|(_, agrees)| !agrees) {
            return Err(Error::backup_damaged(id, &format!("its {what} has changed since the snapshot was taken")));
        }
        if found.metadata.is_expired(self.now()) {
            return Err(Error::backup_expired(id, found.metadata.created_at, found.metadata.ttl));
        }
        Ok(found)
    }
}

/// Returns the owner of a backup; `None` when it carries no readable owner mark, or does not exist.
pub(in crate::service) async fn read_mark<P: Ports>(ports: &P, id: &BackupId) -> Result<Option<BackupOwner>> {
    let metadata = retry(ports, &CancellationToken::never(), async || match ports.backups()?.get_metadata(id).await {
        Err(failure) if failure.is_protocol() => Ok(None),
        answer => answer.map_err(|failure| from_storage(failure, &format!("reading the metadata of the backup {id}"))),
    })
    .await?;
    // A copy under another id does not belong to the owner that its metadata names.
    Ok(metadata
        .filter(|metadata| metadata.id == *id)
        .and_then(|metadata| BackupOwner::parse(metadata.name.as_deref()?)))
}

/// Returns whether two checksums are equal, or one is absent.
fn checksums_agree(now: Option<&String>, then: Option<&String>) -> bool {
    now.zip(then).is_none_or(|(now, then)| now == then)
}

/// Returns whether an error of `inspect_backup` is a definite answer from R2, and not a failure to answer.
pub(in crate::service) fn is_definite(error: &Error) -> bool {
    matches!(error.code(), Code::BackupNotFound | Code::BackupIncomplete | Code::BackupExpired)
}
