//! Rolls back captures that failed, or that no caller waits for.

use super::backup::FailedBackup;
use crate::model::record::{SnapshotRecord, Stage};
use crate::model::{Error, Result, SnapshotId};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Marks a capture as discarded, so that recovery after a crash deletes its backup. Its label is free from now on.
    pub(super) fn mark_discarded(&self, id: &SnapshotId) -> Result<()> {
        let Some(mut capture) = self.ledger.snapshot(id)? else { return Ok(()) };
        let Stage::Creating(progress) = &mut capture.stage else { return Ok(()) };
        progress.discarded = true;
        self.ledger.put_snapshot(&capture)
    }

    /// Marks the captures that an earlier object began for the idempotency key `key` as discarded, because the same
    /// call begins again.
    pub(super) fn supersede(&self, key: &str) -> Result<()> {
        for capture in self.ledger.unfinished_snapshots()? {
            if let Stage::Creating(progress) = &capture.stage
                && progress.key.as_deref() == Some(key)
            {
                self.mark_discarded(&capture.snapshot_id)?;
            }
        }
        Ok(())
    }

    /// Deletes a backup that must not be used, and the row of its capture. Returns the error with a note on the result.
    /// Where something cannot be deleted, recovery tries again.
    pub(super) async fn discard_capture(&self, mut record: SnapshotRecord, error: Error) -> Error {
        let mark = record.backup_owner(&self.id);
        let Stage::Creating(progress) = &mut record.stage else { return error };
        progress.discarded = true;
        let Some(backup) = progress.backup.clone() else { return error };
        let saved = self
            .inherit_from_capture(&mut record)
            .and_then(|()| self.refresh_label(&mut record))
            .and_then(|()| self.ledger.put_snapshot(&record));
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
            self.refresh_label(&mut record)?;
            self.ledger.put_snapshot(&record)
        });
        match saved {
            Ok(()) => failure.error,
            Err(ledger_error) => failure.error.with_note(ledger_error.message()),
        }
    }
}
