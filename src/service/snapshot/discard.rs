//! Rolls back captures that failed.

use super::backup::FailedBackup;
use crate::model::Error;
use crate::model::record::{SnapshotRecord, Stage};
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

    /// Deletes the row of a capture that certainly failed. Keeps the row where a backup may still be stored: recovery
    /// reconciles it.
    pub(super) fn abandon_capture(&self, mut record: SnapshotRecord, failure: FailedBackup) -> Error {
        let saved = self.inherit_from_capture(&mut record).and_then(|()| {
            if failure.is_definite {
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
