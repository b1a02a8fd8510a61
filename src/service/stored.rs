//! What is in R2 of a backup.

use futures_util::future::join;

use super::failures::from_storage;
use super::retry::retry;
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::{BackupId, BackupMetadata, Code, Error, Mark, Result};
use crate::ports::{BackupStore, Ports};

/// A backup whose two objects are in R2, with the size that was recorded, and marked as ours.
pub(super) struct Stored {
    /// What the SDK recorded.
    pub metadata: BackupMetadata,
    /// Whose it is.
    pub mark: Mark,
}

/// Looks a backup up in R2.
///
/// # Errors
/// [`Code::BackupNotFound`] when neither object or no metadata is there, [`Code::BackupIncomplete`] when the archive
/// is missing or of another size, [`Code::RefMismatch`] when the mark is missing, [`Code::StorageUnavailable`] when R2
/// does not answer.
pub(super) async fn look_up<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &BackupId) -> Result<Stored> {
    let backups = this.ports.backups()?;
    let (metadata, size) = retry(&*this.ports, &Abort::never(), async || {
        let (metadata, size) = join(backups.metadata(id), backups.archive_size(id)).await;
        let failed = |failure| from_storage(failure, &format!("looking up the backup {id}"));
        Ok((metadata.map_err(failed)?, size.map_err(failed)?))
    })
    .await?;
    let (metadata, size) = match (metadata, size) {
        (Some(metadata), Some(size)) => (metadata, size),
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
    if metadata.size_bytes != size {
        return Err(incomplete(
            id,
            &format!("its archive has {size} bytes, and {} were recorded", metadata.size_bytes),
        ));
    }
    if metadata.id != *id {
        return Err(incomplete(id, "its metadata is another backup's"));
    }
    let mark = metadata.name.as_deref().and_then(Mark::parse).ok_or_else(|| {
        Error::new(
            Code::RefMismatch,
            format!("The backup {id} was not made by this snapshotter."),
            "Restore it with the SDK's own restoreBackup(), or use a snapshot's ref.",
        )
    })?;
    Ok(Stored { metadata, mark })
}

fn incomplete(id: &BackupId, why: &str) -> Error {
    Error::new(
        Code::BackupIncomplete,
        format!("The backup {id} in R2 is not whole: {why}."),
        "Use another snapshot. If it was just taken, the sandbox's Worker may be bound to another bucket than this one.",
    )
}
