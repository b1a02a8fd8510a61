//! What is in R2 of a backup.

use futures_util::future::join;

use super::failures::from_storage;
use super::planted::{Bug, planted};
use super::retry::retry;
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::record::Stored;
use crate::model::{Archive, BackupHandle, BackupId, BackupMetadata, Code, Error, Mark, Result, Timestamp};
use crate::ports::{BackupStore, Clock, Ports};

/// A backup whose two objects are in R2, with the size that was recorded.
pub(super) struct Found {
    /// What the SDK recorded.
    pub metadata: BackupMetadata,
    /// What R2 says of the archive.
    pub archive: Archive,
    /// Whose it is, where it carries the product's mark.
    pub mark: Option<Mark>,
}

impl Found {
    /// What the ledger keeps of it.
    pub fn keep(self, backup: BackupHandle, imported: bool, now: Timestamp) -> Stored {
        Stored {
            backup,
            created_at: self.metadata.created_at,
            size_bytes: self.metadata.size_bytes,
            checksum: self.archive.checksum,
            usable_until: self.metadata.usable_until(),
            imported,
            checked_at: now,
            damage: None,
            damage_within: None,
        }
    }
}

/// Looks a backup up in R2.
///
/// # Errors
/// [`Code::BackupNotFound`] when neither object is there, [`Code::BackupIncomplete`] when one is missing or the archive is
/// of another size, [`Code::StorageUnavailable`] when R2 does not answer.
pub(super) async fn look_up<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &BackupId) -> Result<Found> {
    let backups = this.ports.backups()?;
    let (metadata, archive) = retry(&*this.ports, &Abort::never(), async || {
        let (metadata, archive) = join(backups.metadata(id), backups.archive(id)).await;
        let failed = |failure| from_storage(failure, &format!("looking up the backup {id}"));
        Ok((metadata.map_err(failed)?, archive.map_err(failed)?))
    })
    .await?;
    let (metadata, archive) = match (metadata, archive) {
        (Some(metadata), Some(archive)) => (metadata, archive),
        (None, None) => {
            return Err(Error::new(
                Code::BackupNotFound,
                format!("The backup {id} is not in the bucket that is bound to this Worker."),
                "It was deleted, or this Worker is bound to another bucket than the sandbox's. If it was deleted, use another snapshot.",
            ));
        }
        (found, _) => {
            let missing = if found.is_some() { "archive" } else { "metadata" };
            return Err(incomplete(id, &format!("its {missing} is missing")));
        }
    };
    if metadata.size_bytes != archive.size_bytes {
        return Err(incomplete(
            id,
            &format!("its archive has {} bytes, and {} were recorded", archive.size_bytes, metadata.size_bytes),
        ));
    }
    if metadata.id != *id {
        return Err(incomplete(id, "its metadata is another backup's"));
    }
    let mark = metadata.name.as_deref().and_then(Mark::parse);
    Ok(Found { metadata, archive, mark })
}

/// Whether the archive of a backup holds an empty directory, by its header: that of a squashfs (version 4.0) has the number
/// of its inodes, of which the directory itself is one.
///
/// # Errors
/// [`Code::StorageUnavailable`] when R2 does not answer.
pub(super) async fn is_empty<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &BackupId) -> Result<bool> {
    const INODES: std::ops::Range<usize> = 4..8;
    let head = retry(&*this.ports, &Abort::never(), async || {
        let head = this.ports.backups()?.archive_head(id, 8).await;
        head.map_err(|failure| from_storage(failure, &format!("reading the archive of the backup {id}")))
    })
    .await?;
    let head = head.unwrap_or_default();
    let inodes = head.get(INODES).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    Ok(head.starts_with(b"hsqs") && inodes == Some(1))
}

/// Whose a backup is; `None` where it carries no mark that can be read, or is not there.
pub(super) async fn mark_of<P: Ports>(ports: &P, id: &BackupId) -> Result<Option<Mark>> {
    let metadata = retry(ports, &Abort::never(), async || match ports.backups()?.metadata(id).await {
        Err(failure) if failure.is_unexpected() => Ok(None),
        answered => answered.map_err(|failure| from_storage(failure, &format!("looking at the backup {id}"))),
    })
    .await?;
    // A copy under another id is somebody else's.
    Ok(metadata.filter(|metadata| metadata.id == *id).and_then(|metadata| Mark::parse(metadata.name.as_deref()?)))
}

/// Makes sure that what the ledger knows of a backup is what R2 has, and that it can be restored now. `mark` is what it has
/// to carry.
///
/// # Errors
/// Those of [`look_up`]; [`Code::BackupIncomplete`] when it is another one, [`Code::BackupExpired`].
pub(super) async fn inspect<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    stored: &Stored,
    mark: &Mark,
) -> Result<Found> {
    let id = stored.backup.id();
    let found = look_up(this, id).await?;
    let known = [
        ("mark", stored.imported || found.mark.as_ref() == Some(mark)),
        ("time", found.metadata.created_at == stored.created_at),
        ("size", found.archive.size_bytes == stored.size_bytes),
        ("checksum", agree(found.archive.checksum.as_ref(), stored.checksum.as_ref())),
    ];
    if let Some((what, _)) = known.iter().find(|(_, agrees)| !agrees) {
        return Err(incomplete(id, &format!("its {what} is not what it was when the snapshot was taken")));
    }
    if found.metadata.is_expired(this.ports.clock().now()) {
        return Err(Error::new(
            Code::BackupExpired,
            format!(
                "The backup {id} was stored at {} to be restored within {} seconds, which are over.",
                found.metadata.created_at, found.metadata.ttl
            ),
            "Use another snapshot.",
        ));
    }
    Ok(found)
}

/// Whether two checksums are the same, as far as both are there.
fn agree(now: Option<&String>, then: Option<&String>) -> bool {
    now.zip(then).is_none_or(|(now, then)| now == then)
}

/// Whether an error of [`inspect`] is a definite answer of R2, and not a failure to give one.
pub(super) fn is_definite(error: &Error) -> bool {
    matches!(error.code(), Code::BackupNotFound | Code::BackupIncomplete | Code::BackupExpired)
        || planted(Bug::FailureIsDamage)
}

fn incomplete(id: &BackupId, why: &str) -> Error {
    Error::new(
        Code::BackupIncomplete,
        format!("The backup {id} in R2 is not whole: {why}."),
        "Use another snapshot. If it was just taken, the sandbox's Worker may be bound to another bucket than this one.",
    )
}
