//! The automatic save of a running sandbox: a check of its files, and a capture if they have changed.

use crate::model::named::answer::LastSnapshot;
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::messages::{AutosaveRequest, Autosaved};
use crate::model::record::StartState;
use crate::model::request::CapturePurpose;
use crate::model::{Result, SnapshotRequest, Status, Timestamp};
use crate::ports::{Ledger, Ports};
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Saves the files of the sandbox if they have changed since the last save. Starts no container, unless the container
    /// ended after its status was read.
    pub async fn autosave(&self, request: AutosaveRequest) -> Result<Autosaved> {
        self.prepare_call().await?;
        let this = self.clone();
        self.run_to_completion(async move { this.note_late_call(this.save_if_changed(&request).await) }).await
    }

    async fn save_if_changed(&self, request: &AutosaveRequest) -> Result<Autosaved> {
        let Some(_lock) = self.in_process.save_lock.try_lock() else { return Ok(Autosaved::Busy) };
        let WorkspaceBinding { address, start, superseded, .. } = self.binding()?;
        let StartState { dir, reconcile_task, saved_state, .. } = start;
        if address != request.address || superseded || self.sandbox_record()?.decommissioned_at.is_some() {
            return Ok(Autosaved::NotRunning);
        }
        if reconcile_task.is_some() {
            return Ok(Autosaved::Busy);
        }
        let status = self.sandbox_status().await?;
        if status.status != Status::Healthy {
            return Ok(Autosaved::NotRunning);
        }
        let known = saved_state.as_deref().filter(|_| request.only_if_changed);
        let state = self.random_short_id()?.as_str().to_owned();
        match self.changed_since_state(&dir, known, &state, status.identity()).await? {
            Some(true) => {}
            Some(false) => return Ok(Autosaved::Unchanged),
            None => {
                // The check may have started a container. If this fails, the next start or stop repeats it.
                drop(self.allow_sleep_if_cold().await);
                return Ok(Autosaved::NotRunning);
            }
        }
        self.update_binding(|binding| binding.autosave_keep = Some(request.keep_last))?;
        let request = SnapshotRequest {
            dir: Some(dir.clone()),
            fresh: true,
            purpose: CapturePurpose::Save { state },
            ..SnapshotRequest::of((*self.id).clone())
        };
        let taken = self.share_capture(request, CancellationToken::never()).await?;
        Ok(Autosaved::Saved(LastSnapshot {
            id: taken.snapshot.snapshot_id().clone(),
            origin_id: (*self.id).clone(),
            dir,
            size_bytes: taken.capture.size_bytes,
            created_at: taken.snapshot.created_at(),
        }))
    }

    /// Returns when the newest snapshot of the sandbox was taken from which the workspace can start. Reads only the ledger.
    pub fn last_saved_at(&self) -> Result<Option<Timestamp>> {
        let Some(binding) = self.ledger.sandbox()?.and_then(|row| row.binding) else { return Ok(None) };
        Ok(self.newest_restorable(&binding.start.dir)?.map(|newest| newest.created_at()))
    }
}
