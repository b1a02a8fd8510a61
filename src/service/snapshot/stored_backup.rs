//! The objects of a backup in R2: reads and verifies them.

use futures_util::future::join;

use crate::model::archive::{Answer, ArchiveLocation, MissingArchive, Outcome, Request};
use crate::model::delta::Delta;
use crate::model::files::FilePath;
use crate::model::record::StoredBackup;
use crate::model::stored_backup::MAX_TTL_SECONDS;
use crate::model::{
    ArchiveFormat, ArchiveInfo, BackupLocation, BackupMetadata, BackupOwner, Code, DirectoryBackup, Error,
    LocatedBackup, Result, Timestamp,
};
use crate::ports::{BackupStore, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::from_storage;
use crate::service::calls::limits::{CallKind, with_timeout};

/// A backup whose objects are in R2, with the archive size that its metadata or its handle records.
pub(in crate::service) struct BackupHead {
    /// The metadata that the SDK stored. That of a `DirectoryBackup` follows from its handle.
    pub metadata: BackupMetadata,
    /// What R2 reports about the archive.
    pub archive: ArchiveInfo,
    /// The owner, where the backup carries an owner mark.
    pub mark: Option<BackupOwner>,
}

impl BackupHead {
    /// Returns the record that the ledger keeps of the backup.
    pub fn into_stored(self, backup: LocatedBackup, imported: bool, now: Timestamp) -> StoredBackup {
        StoredBackup {
            backup,
            created_at: self.metadata.created_at,
            size_bytes: self.metadata.size_bytes,
            checksum: self.archive.checksum,
            format: Some(self.metadata.format),
            listing: None,
            full_reason: None,
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
    /// [`Code::BackupNotFound`] when no object exists, [`Code::BackupIncomplete`] when one is missing, the archive has
    /// another size or the metadata is another backup's, [`Code::StorageUnavailable`] when R2 does not answer.
    pub(in crate::service) async fn head_backup(&self, backup: &LocatedBackup) -> Result<BackupHead> {
        let id = backup.id();
        let (metadata, archive) = match backup.directory_backup() {
            Some(directory_backup) => self.head_directory_backup(backup, directory_backup).await?,
            None => self.head_pair(backup).await?,
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

    async fn head_pair(&self, backup: &LocatedBackup) -> Result<(BackupMetadata, ArchiveInfo)> {
        let id = backup.id();
        let backups = self.backups()?;
        let (metadata, archive) = self
            .retry(async || {
                let (metadata, archive) = join(backups.get_metadata(id), backups.head_archive(backup.location())).await;
                let failed = |failure| from_storage(failure, &format!("reading the backup {id}"));
                Ok((metadata.map_err(failed)?, archive.map_err(failed)?))
            })
            .await?;
        match (metadata, archive) {
            (Some(metadata), Some(archive)) => Ok((metadata, archive)),
            (None, None) => Err(Error::backup_not_found(id)),
            (found, _) => {
                let missing = if found.is_some() { "archive" } else { "metadata" };
                Err(Error::backup_damaged(id, &format!("its {missing} is missing")))
            }
        }
    }

    /// Heads the object of a `DirectoryBackup`. Its metadata follow from its handle, and it never expires.
    async fn head_directory_backup(
        &self,
        backup: &LocatedBackup,
        directory_backup: &DirectoryBackup,
    ) -> Result<(BackupMetadata, ArchiveInfo)> {
        let failed = |failure| from_storage(failure, &format!("reading the backup {}", backup.location()));
        let head = self.retry(async || self.backups()?.head_archive(backup.location()).await.map_err(failed)).await?;
        let Some(archive) = head else {
            let key = self.backups()?.object_keys(backup.location()).concat();
            return Err(Error::directory_backup_not_found(backup.id(), &key));
        };
        let metadata = BackupMetadata {
            id: backup.id().clone(),
            dir: backup.dir().to_string(),
            name: archive.mark.as_ref().map(BackupOwner::to_string),
            size_bytes: directory_backup.size_bytes,
            #[allow(clippy::cast_precision_loss)] // Far below 2^53.
            ttl: MAX_TTL_SECONDS as f64,
            created_at: archive.uploaded_at,
            format: ArchiveFormat::DirectoryBackup,
            entries: None,
        };
        Ok((metadata, archive))
    }

    /// Reads the whole archive of a `DirectoryBackup`, and compares its SHA-256 with that of the handle. Returns the damage
    /// if they differ.
    ///
    /// # Errors
    /// [`Code::StorageUnavailable`] when R2 does not answer.
    pub(super) async fn check_sha256(
        &self,
        backup: &LocatedBackup,
        directory_backup: &DirectoryBackup,
    ) -> Result<Result<(), String>> {
        let (id, location) = (backup.id(), backup.location());
        let kind = CallKind::HashArchive(directory_backup.size_bytes);
        let found = self
            .retry(async || {
                let hash = with_timeout(self.ports.clock(), kind, self.backups()?.hash_archive(location)).await;
                hash.map_err(|failure| from_storage(failure, &format!("reading the archive of the backup {id}")))
            })
            .await?;
        Ok(match found {
            Some(found) if found == directory_backup.sha256 => Ok(()),
            Some(found) => Err(format!("its SHA-256 is {found} instead of {}", directory_backup.sha256)),
            None => Err("its archive is missing".to_owned()),
        })
    }

    /// Returns whether the archive of a backup contains an empty directory only. The header of a squashfs (version 4.0)
    /// records the number of inodes, which includes the directory itself; for other formats, the metadata records the
    /// number of entries.
    ///
    /// # Errors
    /// [`Code::StorageUnavailable`] when R2 does not answer.
    pub(in crate::service) async fn is_empty_archive(&self, backup: &LocatedBackup) -> Result<bool> {
        const INODES: std::ops::Range<usize> = 4..8;
        if backup.directory_backup().is_some() {
            return self.is_empty_directory_backup(backup).await;
        }
        let head = self.read_archive_prefix(backup.location(), 8).await?;
        if head.starts_with(b"hsqs") {
            let inodes = head.get(INODES).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
            return Ok(inodes == Some(1));
        }
        let metadata = self.head_backup(backup).await?.metadata;
        Ok(metadata.format != ArchiveFormat::Squashfs && metadata.entries == Some(0))
    }

    async fn is_empty_directory_backup(&self, backup: &LocatedBackup) -> Result<bool> {
        let request = Request::List { path: FilePath::root().as_str().to_owned(), after: None, limit: 1 };
        let outcome = self.ask_archive(&ArchiveLocation::of(backup), &request).await?.map(|(outcome, _)| outcome);
        Ok(match outcome {
            Ok(Outcome::Answer(Answer::Page { entries, .. })) => entries.is_empty(),
            // It has no entry for the directory itself either.
            Ok(Outcome::NotFound) => true,
            _ => false,
        })
    }

    /// Answers a request about the content of a snapshot, with the bytes of a file.
    pub(in crate::service) async fn ask_archive(
        &self,
        archive: &ArchiveLocation,
        request: &Request,
    ) -> Result<Result<(Outcome, Vec<u8>), MissingArchive>> {
        let id = archive.id();
        let failed = |failure| from_storage(failure, &format!("reading the archive of the backup {id}"));
        self.retry(async || match self.backups()?.read_archive(archive, request).await.map_err(failed)? {
            Ok((Outcome::SourceFailed(message), _)) => Err(Error::archive_source_failed(id, &message)),
            read => Ok(read),
        })
        .await
    }

    /// Returns the first bytes of an archive, or all of a shorter one; none when there is no archive.
    pub(super) async fn read_archive_prefix(&self, backup: &BackupLocation, length: u32) -> Result<Vec<u8>> {
        let head = self
            .retry(async || {
                let head = self.backups()?.read_archive_prefix(backup, length).await;
                head.map_err(|failure| from_storage(failure, &format!("reading the archive of the backup {backup}")))
            })
            .await?;
        Ok(head.unwrap_or_default())
    }

    /// Verifies that the objects of the base of a delta match what the delta records of them, and records what it finds,
    /// because it concerns the other deltas, too. `mark` is that of the delta.
    pub(super) async fn inspect_base(&self, delta: &Delta, mark: &BackupOwner) -> Result<BackupHead> {
        let mark = BackupOwner { snapshot_id: delta.base_id.clone(), origin_id: mark.origin_id.clone() };
        let inspected = Box::pin(self.inspect_backup(&delta.base, &mark)).await;
        self.record_check(&delta.base_id, &inspected)?;
        inspected.map_err(|error| error.with_note(&format!("The snapshot is based on {}.", delta.base_id)))
    }

    /// Verifies that the objects in R2 match the ledger's record of the backup, and that the backup can be restored
    /// now. `mark` is the owner mark that it must carry, unless it was imported. Also inspects the base of a delta.
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
        let found = self.head_backup(&stored.backup).await?;
        // A copy of the object from elsewhere has another time, and the same archive.
        let has_own_time = stored.backup.directory_backup().is_none();
        let comparisons = [
            ("mark", stored.imported || found.mark.as_ref() == Some(mark)),
            ("time", !has_own_time || found.metadata.created_at == stored.created_at),
            ("size", found.archive.size_bytes == stored.size_bytes),
            ("checksum", checksums_agree(found.archive.checksum.as_ref(), stored.checksum.as_ref())),
        ];
        if let Some((what, _)) = comparisons.iter().find(|(_, agrees)| !agrees) {
            return Err(Error::backup_damaged(id, &format!("its {what} has changed since the snapshot was taken")));
        }
        if found.metadata.is_expired(self.now()) {
            return Err(Error::backup_expired(id, found.metadata.created_at, found.metadata.ttl));
        }
        if let Some(delta) = stored.backup.delta() {
            self.inspect_base(delta, mark).await?;
        }
        Ok(found)
    }
}

/// Returns whether two checksums are equal, or one is absent.
fn checksums_agree(now: Option<&String>, then: Option<&String>) -> bool {
    now.zip(then).is_none_or(|(now, then)| now == then)
}

/// Returns whether an error of `inspect_backup` is a definite answer from R2, and not a failure to answer.
pub(in crate::service) fn is_answer_of_storage(error: &Error) -> bool {
    matches!(error.code(), Code::BackupNotFound | Code::BackupIncomplete | Code::BackupExpired)
}
