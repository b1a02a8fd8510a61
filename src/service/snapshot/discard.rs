//! Rolls back captures that failed, or that no caller waits for.

use super::backup::Failed;
use crate::model::record::{SnapshotRecord, Stage};
use crate::model::{Error, Result, SnapshotId};
use crate::ports::{Ledger, Ports};
use crate::service::undo::discard_backup;
use crate::service::{CloudflareSandboxSnapshotter, doubt, label};

/// Marks a capture as unwanted, so that recovery after a crash discards it. Its label is free from now on.
pub(in crate::service) fn note_unwanted<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SnapshotId,
) -> Result<()> {
    let ledger = this.ports.ledger()?;
    let Some(mut capture) = ledger.snapshot(id)? else { return Ok(()) };
    let Stage::Making(making) = &mut capture.stage else { return Ok(()) };
    making.discarded = true;
    ledger.put_snapshot(&capture)
}

/// What a former object began for a call is not wanted any more where the same call begins anew.
pub(super) fn supersede<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, key: &str) -> Result<()> {
    for capture in this.ports.ledger()?.unfinished()? {
        if let Stage::Making(making) = &capture.stage
            && making.key.as_deref() == Some(key)
        {
            note_unwanted(this, &capture.snapshot_id)?;
        }
    }
    Ok(())
}

/// Takes back what must not be used.
pub(super) async fn discard<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut intention: SnapshotRecord,
    error: Error,
) -> Error {
    let mark = intention.mark(&this.id);
    let Stage::Making(making) = &mut intention.stage else { return error };
    making.discarded = true;
    let Some(backup) = making.backup.clone() else { return error };
    let kept = doubt::take_over(this, &mut intention)
        .and_then(|()| label::note(this, &mut intention))
        .and_then(|()| this.ports.ledger())
        .and_then(|ledger| ledger.put_snapshot(&intention));
    let (error, is_gone) = discard_backup(this, backup.id(), &mark, error).await;
    let forgotten = match this.ports.ledger() {
        Ok(ledger) if is_gone => ledger.forget_snapshot(&intention.snapshot_id),
        _ => kept,
    };
    match forgotten {
        Ok(()) => error,
        Err(failed) => error.and(failed.message()),
    }
}

/// Forgets a capture that failed for certain. Of another one, something may still come: it is followed up.
pub(super) fn give_up<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut intention: SnapshotRecord,
    failed: Failed,
) -> Error {
    let kept = doubt::take_over(this, &mut intention).and_then(|()| {
        let ledger = this.ports.ledger()?;
        if failed.is_definite {
            return ledger.forget_snapshot(&intention.snapshot_id);
        }
        label::note(this, &mut intention)?;
        ledger.put_snapshot(&intention)
    });
    match kept {
        Ok(()) => failed.error,
        Err(unkept) => failed.error.and(unkept.message()),
    }
}
