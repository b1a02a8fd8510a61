//! Whether a snapshot has all files of the sandbox, so that a start from it loses none.
//!
//! A stop that captured the last change and destroyed the container proves it. The proof holds until a container
//! starts, which changes the status of the sandbox. Without the proof, files count as possibly lost.

use crate::model::named::ContainerMarker;
use crate::model::named::binding::{LastRestore, SavedFiles, SavedIn};
use crate::model::named::messages::EnsureRunningRequest;
use crate::model::{Result, Runtime, SandboxId, Status};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;

/// How long after the end of a container the SDK (0.12) may still change the status, in milliseconds: its alarm, which
/// runs every 3 minutes, records the end again. A container that starts in the meantime without the workspace's files
/// ends later than that, unless it fails: its [idle timeout](super::ensure_running::SLEEP_MARGIN_SECONDS) is longer.
const STATUS_SETTLES_MILLIS: f64 = 4.0 * 60.0 * 1000.0;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the snapshot that has all files of the sandbox; `None` if that is not certain. Starts nothing.
    pub(super) async fn saved_snapshot(&self) -> Result<Option<SavedIn>> {
        let Some(saved) = self.start_state()?.saved else { return Ok(None) };
        let now = self.prove_saved(&self.id, self.runtime()?, saved.snapshot.clone()).await?;
        let is_unchanged =
            |now: &SavedFiles| (0.0..=STATUS_SETTLES_MILLIS).contains(&(now.last_change - saved.last_change));
        Ok(now.filter(is_unchanged).map(|now| now.snapshot))
    }

    /// Records that the snapshot has all files of the sandbox, whose container was just destroyed. Returns whether that
    /// is certain.
    pub(super) async fn record_saved(&self, snapshot: SavedIn) -> Result<bool> {
        let saved = self.prove_saved(&self.id, self.runtime()?, snapshot).await?;
        let is_saved = saved.is_some();
        self.update_start(|start| start.saved = saved)?;
        Ok(is_saved)
    }

    /// Returns the proof that the snapshot has all files of the sandbox `id`, which has no container and held no newer
    /// files until now; `None` if a container runs, or if the sandbox does not answer.
    pub(super) async fn prove_saved(
        &self,
        id: &SandboxId,
        runtime: Option<Runtime>,
        snapshot: SavedIn,
    ) -> Result<Option<SavedFiles>> {
        let status = self.ports.sandboxes(runtime)?.status(id).await.ok().filter(|now| now.status == Status::Down);
        Ok(status.map(|status| SavedFiles { snapshot, last_change: status.last_change }))
    }

    /// Adds to a restore since when changes may be lost: since its snapshot was taken, or since an earlier time if an earlier
    /// restore lost files and no answer has certainly reported that. And the partial snapshot that may have some of them.
    pub(super) fn with_loss(&self, restore: LastRestore, request: &EnsureRunningRequest) -> Result<LastRestore> {
        let is_known = restore.may_have_lost && (!request.may_have_lost || request.lost_since.is_some());
        let earlier = self.start_state()?.unreported_since.into_iter().chain(request.lost_since);
        let lost_since = earlier.chain([restore.created_at]).min().filter(|_| is_known);
        let partial = if restore.may_have_lost {
            self.newest_partial(&request.settings.dir, Some(restore.created_at))?
        } else {
            None
        };
        Ok(LastRestore { lost_since, newer_partial_id: partial.map(|partial| partial.snapshot_id), ..restore })
    }

    /// Returns the restore into the container that carries `marker`, if there was one.
    pub(super) fn restore_into(&self, marker: &ContainerMarker) -> Result<Option<LastRestore>> {
        let restore = self.start_state()?.last_restore;
        Ok(restore.filter(|restore| *marker == ContainerMarker::Ready(restore.nonce.clone())))
    }
}
