//! The row of a capture in progress. Other calls may change it meanwhile: they take its label, discard it, or accept its
//! container.

use crate::model::record::{SnapshotRecord, Stage};
use crate::model::{Result, SnapshotId};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Stores the row of a capture in progress, with what other calls have changed in it since it was read.
    pub(super) fn save_capture(&self, capture: &mut SnapshotRecord) -> Result<()> {
        self.refresh_label(capture)?;
        self.refresh_verification(capture)?;
        let known = self.ledger.snapshot(&capture.snapshot_id)?;
        if let Stage::Creating(progress) = &mut capture.stage {
            progress.discarded |= known.is_some_and(|known| known.is_discarded());
        }
        self.ledger.put_snapshot(capture)
    }

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
}
