//! The end of a capture that succeeded: its row becomes a snapshot.

use super::stored_backup::BackupHead;
use crate::model::delta::TracedBase;
use crate::model::named::binding::WorkspaceBinding;
use crate::model::record::{CaptureInProgress, ExpectedMarker, SandboxRecord, SnapshotRecord, Stage, StoredBackup};
use crate::model::{Error, FullReason, Label, LocatedBackup, Result, TakenSnapshot};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

/// How a capture ended in the container.
#[derive(Default)]
pub(super) struct Finished {
    /// Why the snapshot is full.
    pub reason: Option<FullReason>,
    /// The base that the container has from now on.
    pub traced: Option<TracedBase>,
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Completes a capture: records the snapshot as ready, subject to the policy, and releases the snapshot that the
    /// sandbox was made from. Stores the answer of the call.
    pub(super) fn finish_capture(
        &self,
        mut record: SnapshotRecord,
        backup: LocatedBackup,
        found: BackupHead,
        Finished { reason, traced }: Finished,
    ) -> Result<TakenSnapshot> {
        let Stage::Creating(progress) = &record.stage else { return Err(Error::internal()) };
        let (takes_label, key) = (progress.takes_label.clone(), progress.key.clone());
        let listing = traced.as_ref().map(|traced| traced.listing.clone());
        let stored = StoredBackup { listing, full_reason: reason, ..found.into_stored(backup, false, self.now()) };
        let mut sandbox = self.record_container(&record, progress, traced)?;
        self.compare_with_predecessor(&mut sandbox, &mut record, stored.estimated_full_bytes())?;
        record.last_used_at = stored.created_at;
        record.stage = Stage::Ready { stored };
        let snapshot = self.record_ready(&mut sandbox, record, takes_label)?;
        let taken = snapshot.to_taken(&sandbox).ok_or_else(Error::internal)?;
        let answered_call = key.map(|key| self.ledger.idempotency_record(&key)).transpose()?.flatten();
        if let Some(call) = answered_call {
            self.save_answer(call, &taken, taken.capture.changed_during_capture == Some(true))?;
        }
        Ok(taken)
    }

    /// Records in the row of the sandbox which container is its own, and what that container has from now on. Counts the
    /// capture.
    fn record_container(
        &self,
        record: &SnapshotRecord,
        progress: &CaptureInProgress,
        traced: Option<TracedBase>,
    ) -> Result<SandboxRecord> {
        let is_own = !record.rescue || progress.adopts;
        let container = progress.observation.identity().filter(|_| is_own);
        let marker = match &progress.expected_marker {
            Some(ExpectedMarker::Own(marker)) if is_own => Some(marker.clone()),
            _ => None,
        };
        let mut sandbox = self.sandbox_record()?;
        let has_changed =
            (marker.is_some() && sandbox.marker != marker) || (container.is_some() && sandbox.container != container);
        if has_changed && sandbox.marked_at.is_none_or(|at| at <= record.began_at) {
            // From now on the marker or the identity is compared, whatever the age of the container.
            (sandbox.marker, sandbox.container) = (marker.or(sandbox.marker), container.or(sandbox.container));
            sandbox.unverified = None;
            sandbox.marked_at = Some(record.began_at);
        }
        let saved_state = record.saved_state.clone().filter(|_| !record.rescue);
        if let (Some(state), Some(start)) = (saved_state, sandbox.start_state_mut()) {
            start.saved_state = Some(state);
        }
        if traced.is_some() {
            sandbox.traced_base = traced;
        }
        sandbox.counts.captures += 1;
        self.ledger.put_sandbox(&sandbox)?;
        Ok(sandbox)
    }

    /// Stores a snapshot that is ready, with the label that it takes from another one.
    fn record_ready(
        &self,
        sandbox: &mut SandboxRecord,
        mut record: SnapshotRecord,
        takes_label: Option<Label>,
    ) -> Result<SnapshotRecord> {
        self.refresh_label(&mut record)?;
        if let Some(label) = takes_label {
            self.assign_label(&mut record, label)?;
        }
        let snapshot = self.save_snapshot(sandbox, record)?;
        self.schedule_retention(sandbox)?;
        let is_whole = |binding: &WorkspaceBinding| snapshot.is_whole(&binding.start.dir);
        if !snapshot.rescue && sandbox.binding.as_ref().is_none_or(is_whole) {
            self.release_parent(sandbox)?;
        }
        Ok(snapshot)
    }
}
