//! Stops a sandbox: takes a snapshot of its files, and destroys its container.
//!
//! If the capture fails, the container keeps running.

use super::SandboxCondition;
use super::ensure_running::SLEEP_MARGIN_SECONDS;
use crate::model::named::binding::{SavedIn, WorkspaceBinding};
use crate::model::named::messages::{SandboxStopped, StopSandboxRequest};
use crate::model::request::StopSnapshot;
use crate::model::{Code, DirectoryContent, Error, Result};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::During;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Probes the sandbox, and stops it if it runs.
    pub async fn stop_sandbox(&self, request: StopSandboxRequest) -> Result<SandboxStopped> {
        self.prepare_call().await?;
        let this = self.clone();
        self.run_to_completion(async move {
            let _lock = this.in_process.lifecycle_lock.lock().await;
            this.stop_locked(request).await.map_err(|error| this.of_own_workspace(error))
        })
        .await
    }

    /// As [`stop_sandbox`](Self::stop_sandbox), for a caller that has the lifecycle lock.
    pub(super) async fn stop_locked(&self, request: StopSandboxRequest) -> Result<SandboxStopped> {
        if self.sandbox_record()?.binding.is_none_or(|binding| binding.address != request.address) {
            return Ok(SandboxStopped { had_ended: true, ..SandboxStopped::default() });
        }
        self.ensure_not_superseded(request.version)?;
        if request.superseded && !self.binding()?.superseded {
            self.update_binding(|binding| binding.superseded = true)?;
            self.schedule_retention(&self.sandbox_record()?)?;
        }
        let stopped = self.note_late_call(self.capture_and_destroy(request).await)?;
        let WorkspaceBinding { superseded, start, .. } = self.binding()?;
        if superseded || start.call_unconfirmed || start.destroy_unconfirmed {
            self.schedule_reconcile()?;
        }
        Ok(stopped)
    }

    async fn capture_and_destroy(&self, request: StopSandboxRequest) -> Result<SandboxStopped> {
        let mut stopped = SandboxStopped { had_ended: true, ..SandboxStopped::default() };
        let unfinished_task = self.note_unfinished_task()?;
        // The next start reports a loss that no answer has reported.
        let (mut is_reported, mut unreported_since) = (false, None);
        match self.probe_and_clear_task(unfinished_task.is_some() && request.snapshot).await? {
            SandboxCondition::Ended => {
                let saved = self.saved_snapshot().await?;
                stopped.ended_unsaved = saved.is_none();
                stopped.files_saved = matches!(saved, Some(SavedIn::Archive(_)));
                return self.allow_sleep().await.map(|()| stopped);
            }
            SandboxCondition::Unfinished | SandboxCondition::ColdStarted => stopped.ended_unsaved = true,
            SandboxCondition::Diverged { .. } if !request.snapshot => {}
            SandboxCondition::Diverged { marker } => {
                if marker.as_ref().map(|marker| self.is_own_marker(marker)).transpose()?.unwrap_or_default() {
                    // A capture would not contain the files, and they end with the container.
                    return Err(Error::unmounted_directory(&self.start_state()?.dir));
                }
                stopped.rescue_snapshot_id = Some(self.rescue_before_destroy(marker.as_ref()).await?);
            }
            SandboxCondition::Running { marker, .. } => {
                stopped.had_ended = false;
                if let Some(StopSnapshot { label: Some(label), replace, .. }) = &request.options {
                    // Before the hooks, so that a stop that is refused has no effect.
                    self.check_label(label, *replace).await?;
                }
                let restore = self.restore_into(&marker)?;
                is_reported = restore.as_ref().is_none_or(|restore| {
                    !restore.may_have_lost || request.reported_restore.as_ref() == Some(&restore.nonce)
                });
                unreported_since = restore.filter(|_| !is_reported).and_then(|restore| restore.lost_since);
                let dir = self.start_state()?.dir;
                for (name, hook) in &request.hooks {
                    stopped.hooks.push(self.run_hook(&marker, &dir, name, hook, &request.env).await?);
                }
                if request.snapshot {
                    match self.capture_for_stop(&marker, &request, &mut stopped).await {
                        // The workspace continues elsewhere, and nothing is left to capture.
                        Err(error) if request.superseded && self.has_no_directory(&error).await? => {}
                        captured => captured?,
                    }
                }
            }
        }
        match self.destroy(&self.id).await {
            Ok(()) => {
                self.update_start(|start| start.unreported_since = unreported_since)?;
                let is_complete = is_reported && !stopped.changed_during_capture;
                if let Some(saved) = stopped.saved_in().filter(|_| is_complete) {
                    stopped.files_saved = self.record_saved(saved).await? && stopped.snapshot.is_some();
                }
                self.allow_sleep().await?;
            }
            // The destroy may take effect later. The files are saved, so the workspace moves to another sandbox.
            Err(error) if error.code() == Code::SandboxTimeout => stopped.destroy_unconfirmed = true,
            Err(error) => {
                return Err(match &stopped.snapshot {
                    Some(snapshot) => error.with_note(&format!("The snapshot {} was taken.", snapshot.id)),
                    None => error,
                });
            }
        }
        if stopped.rescue_snapshot_id.is_some() {
            // The rescue capture is complete, so only the task of the earlier operation remains.
            self.update_start(|start| start.reconcile_task = unfinished_task)?;
        }
        Ok(stopped)
    }

    /// Returns whether a capture failed because the directory of the sandbox does not exist.
    async fn has_no_directory(&self, error: &Error) -> Result<bool> {
        if error.code() != Code::InvalidDirectory {
            return Ok(false);
        }
        let dir = self.start_state()?.dir;
        let probe = self.sandboxes()?.probe(&self.id, &dir).await.map_err(self.failed(During::Probe))?;
        Ok(probe.directory_content == DirectoryContent::Missing)
    }

    /// Sets the idle timeout of a container that a capture or its probe started without the workspace's files, so that
    /// it ends by itself. Does nothing while an operation starts or ends the sandbox, because that operation handles
    /// the container.
    pub(in crate::service) async fn allow_sleep_if_cold(&self) -> Result<()> {
        let Some(_lock) = self.in_process.lifecycle_lock.try_lock() else { return Ok(()) };
        if self.probe_condition().await? == SandboxCondition::ColdStarted { self.allow_sleep().await } else { Ok(()) }
    }

    /// Sets the idle timeout of the sandbox, so that a container that starts from now on ends by itself. Without a named
    /// workspace, the timeout is the application's.
    pub(super) async fn allow_sleep(&self) -> Result<()> {
        if self.sandbox_record()?.binding.is_none() {
            return Ok(());
        }
        self.retry(async || {
            self.sandboxes()?
                .set_idle_timeout(&self.id, Some(SLEEP_MARGIN_SECONDS))
                .await
                .map_err(self.failed(During::Destroy))
        })
        .await
    }
}
