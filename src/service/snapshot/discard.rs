//! Rolls back captures that failed, or that no caller waits for.

use super::backup::FailedBackup;
use super::label;
use crate::model::record::{SnapshotRecord, Stage};
use crate::model::{Error, Result, SnapshotId};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::container::unverified;
use crate::service::restore::rollback::discard_backup;

/// Marks a capture as discarded, so that recovery after a crash deletes its backup. Its label is free from now on.
pub(in crate::service) fn mark_discarded<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SnapshotId,
) -> Result<()> {
    let ledger = this.ports.ledger()?;
    let Some(mut capture) = ledger.snapshot(id)? else { return Ok(()) };
    let Stage::Creating(progress) = &mut capture.stage else { return Ok(()) };
    progress.discarded = true;
    ledger.put_snapshot(&capture)
}

/// Marks the captures that an earlier object began for the idempotency key `key` as discarded, because the same call
/// begins again.
pub(super) fn supersede<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, key: &str) -> Result<()> {
    for capture in this.ports.ledger()?.unfinished_snapshots()? {
        if let Stage::Creating(progress) = &capture.stage
            && progress.key.as_deref() == Some(key)
        {
            mark_discarded(this, &capture.snapshot_id)?;
        }
    }
    Ok(())
}

/// Deletes a backup that must not be used, and the row of its capture. Returns the error with a note on the result.
/// Where something cannot be deleted, recovery tries again.
pub(super) async fn discard_capture<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut record: SnapshotRecord,
    error: Error,
) -> Error {
    let mark = record.backup_owner(&this.id);
    let Stage::Creating(progress) = &mut record.stage else { return error };
    progress.discarded = true;
    let Some(backup) = progress.backup.clone() else { return error };
    let saved = unverified::inherit_from_capture(this, &mut record)
        .and_then(|()| label::refresh(this, &mut record))
        .and_then(|()| this.ports.ledger())
        .and_then(|ledger| ledger.put_snapshot(&record));
    let (error, is_gone) = discard_backup(this, backup.id(), &mark, error).await;
    let result = match this.ports.ledger() {
        Ok(ledger) if is_gone => ledger.delete_snapshot(&record.snapshot_id),
        _ => saved,
    };
    match result {
        Ok(()) => error,
        Err(ledger_error) => error.with_note(ledger_error.message()),
    }
}

/// Deletes the row of a capture that certainly failed. Keeps the row where a backup may still be stored: recovery
/// reconciles it.
pub(super) fn abandon_capture<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut record: SnapshotRecord,
    failure: FailedBackup,
) -> Error {
    let saved = unverified::inherit_from_capture(this, &mut record).and_then(|()| {
        let ledger = this.ports.ledger()?;
        if failure.is_definite {
            return ledger.delete_snapshot(&record.snapshot_id);
        }
        label::refresh(this, &mut record)?;
        ledger.put_snapshot(&record)
    });
    match saved {
        Ok(()) => failure.error,
        Err(ledger_error) => failure.error.with_note(ledger_error.message()),
    }
}
