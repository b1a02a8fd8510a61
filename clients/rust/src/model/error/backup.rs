//! Errors about backups in R2.

use crate::model::{BackupId, Code, Error, SandboxId, Timestamp};

impl Error {
    /// [`Code::BackupNotFound`], when the bucket contains neither object of the backup.
    pub fn backup_not_found(id: &BackupId) -> Self {
        Self::new(
            Code::BackupNotFound,
            format!("The backup {id} is not in the bucket that is bound to this Worker."),
            "Bind this Worker to the same bucket as the sandbox's Worker. If the backup was deleted, use \
             another snapshot.",
        )
    }

    /// [`Code::BackupNotFound`], when the bucket does not contain the object of a `DirectoryBackup`.
    pub fn directory_backup_not_found(id: &BackupId, key: &str) -> Self {
        Self::new(
            Code::BackupNotFound,
            format!("The backup {id} is not in the bucket that is bound to this Worker, which has no object {key:?}."),
            "Bind this Worker to the bucket of the class, and set the var DIRECTORY_BACKUP_PREFIX to the option `prefix` \
             that the class passes to DirectoryBackup. If the backup was deleted, use another snapshot.",
        )
    }

    /// [`Code::BackupIncomplete`], when an object of the backup is missing or differs from what was stored.
    pub fn backup_damaged(id: &BackupId, why: &str) -> Self {
        Self::new(
            Code::BackupIncomplete,
            format!("The backup {id} in R2 is damaged: {why}."),
            "Use another snapshot. If this one was just taken, bind this Worker and the sandbox's Worker to the same \
             bucket.",
        )
    }

    /// [`Code::BackupIncomplete`], when a backup that the sandbox reported is not in the bucket.
    pub fn backup_not_stored(id: &BackupId, sandbox: &SandboxId) -> Self {
        Self::new(
            Code::BackupIncomplete,
            format!(
                "The sandbox {:?} reported that it stored the backup {id}, but the bucket that is bound to this \
                 Worker does not contain it.",
                sandbox.as_str(),
            ),
            "Bind the same bucket to this Worker and to the one that exports the sandbox's class.",
        )
    }

    /// [`Code::BackupIncomplete`], when the sandbox reported a backup with other options than the requested ones.
    pub fn unexpected_backup(id: &BackupId) -> Self {
        Self::new(
            Code::BackupIncomplete,
            format!("The sandbox returned the backup {id}, which does not match the request."),
            "Make sure that the sandbox's class passes its options unchanged to createBackup().",
        )
    }

    /// [`Code::BackupInterrupted`], when the sandbox failed with `error` during the backup, and its container is still
    /// the expected one.
    pub fn backup_interrupted(error: &Self) -> Self {
        Self::new(
            Code::BackupInterrupted,
            error.message(),
            "The outcome is unknown; a backup that was stored is deleted later. Check that the sandbox still has its \
             files before you try again. If its container was replaced, the files are gone: restore the newest \
             snapshot.",
        )
    }

    /// [`Code::OperationInterrupted`], when it is not certain that the changes of a snapshot were archived as they were
    /// collected.
    pub fn carrier_changed(id: &SandboxId) -> Self {
        Self::new(
            Code::OperationInterrupted,
            format!(
                "The collected changes of the sandbox {:?} may have changed while they were archived.",
                id.as_str()
            ),
            "Try again.",
        )
    }

    /// [`Code::BackupExpired`], when the time to live of a snapshot's backup has ended.
    pub fn backup_expired(id: &BackupId, stored_at: Timestamp, ttl_seconds: f64) -> Self {
        Self::new(
            Code::BackupExpired,
            format!(
                "The backup {id} has expired: it was stored at {stored_at} with a time to live of {ttl_seconds} seconds."
            ),
            "Use another snapshot.",
        )
    }

    /// [`Code::BackupExpired`], for the import of a backup whose time to live has ended.
    pub fn import_expired(id: &BackupId) -> Self {
        Self::new(
            Code::BackupExpired,
            format!("The backup {id} has expired: the SDK no longer restores it."),
            "Import a backup that has not expired.",
        )
    }
}
