//! The owner mark of a backup in R2. The Worker deletes only backups that carry the mark of their snapshot, and nothing else in
//! the bucket.

use crate::model::record::StoredBackup;
use crate::model::{BackupLocation, BackupOwner, Result};
use crate::ports::{BackupStore, Ports};
use crate::service::calls::call_context;
use crate::service::calls::failures::from_storage;
use crate::service::calls::retry::retry;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// What R2 has about the owner of a backup.
#[derive(PartialEq, Eq)]
pub(in crate::service) enum FoundMark {
    /// No object that could carry a mark.
    NoObject,
    /// An object without a readable mark of its own.
    Unmarked,
    /// The mark of this owner.
    Of(BackupOwner),
}

/// Reads the owner mark of a backup.
pub(in crate::service) async fn read_mark<P: Ports>(ports: &P, backup: &BackupLocation) -> Result<FoundMark> {
    retry(ports, &CancellationToken::never(), async || {
        let backups = ports.backups()?;
        let found = match backup {
            BackupLocation::Pair(id) => backups.get_metadata(id).await.map(|found| {
                // A copy under another id does not belong to the owner that its metadata names.
                found.map(|metadata| {
                    metadata.name.filter(|_| metadata.id == *id).and_then(|name| BackupOwner::parse(&name))
                })
            }),
            BackupLocation::DirectoryBackup { .. } => {
                backups.head_archive(backup).await.map(|found| found.map(|archive| archive.mark))
            }
        };
        match found {
            Ok(None) => Ok(FoundMark::NoObject),
            Ok(Some(Some(owner))) => Ok(FoundMark::Of(owner)),
            Ok(Some(None)) => Ok(FoundMark::Unmarked),
            Err(failure) if failure.is_protocol() => Ok(FoundMark::Unmarked),
            Err(failure) => Err(from_storage(failure, &format!("reading the owner mark of the backup {backup}"))),
        }
    })
    .await
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Deletes a backup that no snapshot uses, if it carries the mark of `owner`. Returns whether it was deleted.
    pub(in crate::service) async fn delete_marked(&self, backup: &BackupLocation, owner: &BackupOwner) -> Result<bool> {
        let is_deleted =
            self.delete_if(backup, |found| matches!(found, FoundMark::Of(found) if found == owner)).await?;
        if is_deleted {
            call_context::record_discarded(backup.id());
        }
        Ok(is_deleted)
    }

    /// Deletes the objects of a snapshot. Imported backups and backups that carry another mark stay. Without an object that could
    /// carry the mark, the ledger proves whose archive it is.
    pub(in crate::service) async fn delete_stored(&self, stored: &StoredBackup, owner: &BackupOwner) -> Result<()> {
        if stored.imported {
            return Ok(());
        }
        let is_own = |found: &FoundMark| match found {
            FoundMark::NoObject => true,
            FoundMark::Unmarked => false,
            FoundMark::Of(found) => found == owner,
        };
        self.delete_if(stored.backup.location(), is_own).await.map(drop)
    }

    async fn delete_if(&self, backup: &BackupLocation, is_own: impl Fn(&FoundMark) -> bool) -> Result<bool> {
        if !is_own(&read_mark(&*self.ports, backup).await?) {
            return Ok(false);
        }
        let failed = |failure| from_storage(failure, &format!("deleting the backup {backup}"));
        self.retry(async || self.backups()?.delete(backup).await.map_err(failed)).await?;
        Ok(true)
    }
}
