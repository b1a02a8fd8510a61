//! Ends captures that failed: deletes their backup, or leaves it to recovery.

use super::backup::FailedBackup;
use crate::model::record::{CaptureInProgress, SnapshotRecord, Stage};
use crate::model::{BackupLocation, BackupOwner, Code, Error};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Deletes a backup that must not be used, and the row of its capture. Returns the error with a note on the result.
    /// Where something cannot be deleted, recovery tries again.
    pub(super) async fn discard_capture(&self, mut record: SnapshotRecord, error: Error) -> Error {
        let mark = record.backup_owner(&self.id);
        let Stage::Creating(progress) = &mut record.stage else { return error };
        progress.discarded = true;
        let Some(backup) = progress.backup.clone() else { return error };
        let saved = self.inherit_from_capture(&mut record).and_then(|()| self.save_capture(&mut record));
        let (error, is_gone) = self.discard_backup(backup.location(), &mark, error).await;
        let result = if is_gone { self.delete_capture_row(&record) } else { saved };
        match result {
            Ok(()) => error,
            Err(ledger_error) => error.with_note(ledger_error.message()),
        }
    }

    /// Deletes a backup that must not be used, if it carries the owner mark `mark`. Returns the error with a note on the
    /// result, and whether no object with that mark remains.
    async fn discard_backup(&self, backup: &BackupLocation, mark: &BackupOwner, error: Error) -> (Error, bool) {
        let id = backup.id();
        match self.delete_marked(backup, mark).await {
            Ok(true) => (error.with_note(&format!("The backup {id} was deleted.")), true),
            Ok(false) => (
                error.with_note(&format!(
                    "The backup {id} was not deleted: it does not exist, or does not carry the mark of this snapshot."
                )),
                true,
            ),
            Err(rollback_error) => {
                let sentence =
                    format!("The backup {id} could not be deleted and is still in R2: {}", rollback_error.message());
                (error.with_note(&sentence), false)
            }
        }
    }

    /// Ends a capture whose backup is whole, but whose container did not answer the probe in time. Keeps its backup and its
    /// row: recovery completes the capture when a probe verifies the container, and deletes the backup otherwise.
    pub(super) fn keep_unverified(&self, record: SnapshotRecord, error: Error) -> Error {
        let note = match &record.stage {
            Stage::Creating(CaptureInProgress { backup: Some(backup), .. }) => format!(
                "The backup {} is stored. It becomes a snapshot if a later probe finds the same container, and is deleted \
                 otherwise.",
                backup.id()
            ),
            _ => return error,
        };
        let error = error.with_note(&note).with_remediation(
            "The container may be under load. Try again, or wait some minutes and list the snapshots of the sandbox.",
        );
        self.abandon_capture(record, FailedBackup { error, stores_nothing: false })
    }

    /// Deletes the row of a capture that certainly failed. Keeps the row where a backup may still be stored: recovery
    /// reconciles it.
    pub(super) fn abandon_capture(&self, mut record: SnapshotRecord, failure: FailedBackup) -> Error {
        let saved = self.inherit_from_capture(&mut record).and_then(|()| {
            if failure.stores_nothing {
                return self.delete_capture_row(&record);
            }
            self.save_capture(&mut record)
        });
        match saved {
            Ok(()) => failure.error,
            Err(ledger_error) => failure.error.with_note(ledger_error.message()),
        }
    }
}

/// Returns whether recovery can complete a capture whose verification failed with `error`: the error says nothing about the
/// backup or the container, and no carrier may have changed.
pub(super) fn can_be_completed(record: &SnapshotRecord, error: &Error) -> bool {
    let is_full = matches!(&record.stage, Stage::Creating(progress) if progress.base.is_none());
    is_full && error.code() == Code::SandboxTimeout
}
