//! Starts a sandbox: restores the workspace's files if they are not in place.
//!
//! The Worker probes the sandbox before it changes anything. A container whose marker is ready stays as it is. Any
//! other container is destroyed and a new one is populated, unless other files were written into it: then `onDiverged`
//! decides. Each step requires the marker that the previous step set, so no step can take effect in another container.
//! Until the last step is complete, nothing is captured.

use std::collections::BTreeMap;

use super::source::StartSource;
use super::{SandboxCondition, stale};
use crate::model::named::answer::StartOutcome;
use crate::model::named::binding::RestoreBegun;
use crate::model::named::messages::{EnsureRunningRequest, EnsuredRunning};
use crate::model::named::settings::OnDiverged;
use crate::model::named::{ContainerMarker, Settings};
use crate::model::{Error, Result, Status};
use crate::ports::{Ports, SandboxSession, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::During;

/// How much longer than its workspace a container may be idle, in seconds. The workspace is stopped first, with a
/// snapshot.
pub(super) const SLEEP_MARGIN_SECONDS: u64 = 600;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Probes the sandbox, and restores the workspace's files if they are not in place.
    pub async fn ensure_running(&self, request: EnsureRunningRequest) -> Result<EnsuredRunning> {
        self.prepare_call().await?;
        let this = self.clone();
        let ensured = self.run_to_completion(async move { this.start_sandbox(&request).await }).await?;
        Ok(EnsuredRunning { root_id: Some(self.root()?), runtime: self.runtime()?, ..ensured })
    }

    async fn start_sandbox(&self, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        let _lock = self.in_process.lifecycle_lock.lock().await;
        self.ensure_responsive()?;
        let was_restoring = self.binding()?.restore_unconfirmed;
        let outcome = self.note_late_call(self.ensure_files(request).await);
        self.classify_outcome(outcome, was_restoring)
    }

    async fn ensure_files(&self, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        self.ensure_not_decommissioned()?;
        if self.binding()?.address != request.address {
            return Err(Error::internal());
        }
        self.ensure_not_superseded(request.version)?;
        self.ensure_initialized()?;
        let depends_on = &request.settings.depends_on;
        self.update_binding(|binding| {
            binding.files.clone_from(&depends_on.files);
            binding.fingerprint.clone_from(&depends_on.fingerprint);
        })?;
        let (mut rescue_snapshot_id, mut saved) = (None, None);
        let unfinished_task = self.note_unfinished_task()?;
        let protect_files = unfinished_task.is_some() && request.start.on_diverged != OnDiverged::Discard;
        // A probe may start a container. The task makes sure that it is ended.
        self.schedule_reconcile()?;
        match self.probe_and_clear_task(protect_files).await? {
            SandboxCondition::Running(marker) => {
                self.configure_sandbox(request).await?;
                self.set_env(request).await?;
                self.record_opened()?;
                let restore = self.restore_into(&marker)?;
                return Ok(EnsuredRunning { restore, ..ensured_running(StartOutcome::Running) });
            }
            SandboxCondition::Ended => saved = self.saved_snapshot().await?,
            SandboxCondition::Unfinished | SandboxCondition::ColdStarted => self.destroy(&self.id).await?,
            SandboxCondition::Diverged { marker } => match request.start.on_diverged {
                OnDiverged::Fail => {
                    self.update_binding(|binding| binding.restore_task = unfinished_task)?;
                    return Err(Error::start_diverged(&self.id));
                }
                OnDiverged::Adopt => return self.adopt_files(request, marker.as_ref()).await,
                OnDiverged::Rescue => {
                    rescue_snapshot_id = Some(self.rescue_before_destroy(marker.as_ref()).await?);
                    self.destroy(&self.id).await?;
                }
                OnDiverged::Discard => self.destroy(&self.id).await?,
            },
        }
        // A capture of the previous container may be about to become the newest snapshot.
        self.in_process.coalescer.wait_until_idle().await;
        drop(self.in_process.completion_lock.lock().await);
        let source = self.find_start_source(&request.settings.dir, request.start.allow_empty).await?;
        let may_have_lost = request.may_have_lost || saved.as_ref() != source.snapshot_id();
        let started = self
            .retry(async || match self.populate_container(request, &source, may_have_lost).await {
                Ok(started) => Ok(started),
                Err(error) => Err(match self.destroy(&self.id).await {
                    Ok(()) => error,
                    Err(destroy_error) => error.with_note(destroy_error.message()),
                }),
            })
            .await;
        match (started, saved) {
            (Ok(started), _) => Ok(EnsuredRunning { rescue_snapshot_id, ..started }),
            (Err(error), None) => Err(error),
            // No caller got the container.
            (Err(error), Some(saved)) => self.record_saved(saved).await.and(Err(error)),
        }
    }

    /// Adopts the files that were written since the sandbox cold-started: they become the workspace's files.
    async fn adopt_files(
        &self,
        request: &EnsureRunningRequest,
        current: Option<&ContainerMarker>,
    ) -> Result<EnsuredRunning> {
        self.schedule_reconcile()?;
        // From here on, no late step of an abandoned start can restore into the container.
        let nonce = self.mark_adopted(current).await?;
        let now = self.now();
        self.update_binding(|binding| {
            binding.adopted_at = Some(now);
            binding.saved = None;
            binding.last_restore = None;
        })?;
        self.await_previous_restore().await?;
        self.configure_sandbox(request).await?;
        self.set_env(request).await?;
        let adopted = ContainerMarker::Adopted(nonce.clone());
        // The container may have ended, and the call that set the marker may have started another one.
        if self.probe_condition().await? != (SandboxCondition::Diverged { marker: Some(adopted.clone()) }) {
            return Err(Error::another_container(&self.id));
        }
        self.sandboxes()?.set_replaced_note(&self.id, false).await.map_err(self.failed(During::Probe))?;
        self.finish_start(request, &adopted, nonce, ensured_running(StartOutcome::Adopted)).await
    }

    /// Waits for an earlier restore whose end was not confirmed, because it would hide the adopted files. A sandbox
    /// runs one capture or restore at a time, so a capture completes after that restore.
    async fn await_previous_restore(&self) -> Result<()> {
        if self.binding()?.restore_unconfirmed {
            self.take_rescue_snapshot().await?;
            self.update_binding(|binding| binding.restore_unconfirmed = false)?;
        }
        Ok(())
    }

    /// Populates a new container from `source`, and marks it as ready.
    async fn populate_container(
        &self,
        request: &EnsureRunningRequest,
        source: &StartSource,
        may_have_lost: bool,
    ) -> Result<EnsuredRunning> {
        self.schedule_reconcile()?;
        self.configure_sandbox(request).await?;
        let Settings { dir, hooks, depends_on, .. } = &request.settings;
        // The files that the restore does not write.
        let files = match source {
            StartSource::Empty => Vec::new(),
            StartSource::Snapshot { .. } => stale::paths_outside(&depends_on.files, dir),
        };
        self.set_env_before_start(request).await?;
        // The SDK interrupts the call that starts a container after another one has ended. Nothing depends on the
        // result of this call.
        let started = self.sandboxes()?.probe(&self.id, dir).await;
        drop(self.note_late_call(started.map_err(self.failed(During::Start))));
        let (nonce, RestoreBegun { listing, hashes, container_id }) = self.mark_restoring(dir, &files).await?;
        let restoring = ContainerMarker::Restoring(nonce.clone());
        let populated = if hooks.after_start.is_some() {
            ContainerMarker::Restored(nonce.clone())
        } else {
            ContainerMarker::Ready(nonce.clone())
        };
        let restore = source.restore(self.now(), may_have_lost, &nonce);
        self.update_binding(|binding| {
            binding.saved = None;
            binding.last_restore.clone_from(&restore);
            binding.image = Some(listing.image.clone());
            binding.baseline = listing.content_hash;
            binding.restore_nonce = Some(nonce.clone());
            binding.restore_unconfirmed |= matches!(source, StartSource::Snapshot { .. });
        })?;
        let outcome = match source {
            StartSource::Empty => {
                self.advance_marker(&restoring, &populated).await?;
                ensured_running(StartOutcome::Empty)
            }
            StartSource::Snapshot { snapshot_id, stored, dependencies } => {
                let current = stale::current_dependencies(hashes, &request.settings, &listing.image);
                let stale = stale::check(snapshot_id, dependencies, &current, &request.settings, &request.start)?;
                let session = self.sandboxes()?.open_session(&self.id);
                session
                    .restore_backup(&stored.backup, stored.size_bytes, container_id.as_ref())
                    .await
                    .map_err(self.failed(During::Restore))?;
                self.verify_arrival(&session, &self.id, stored, &restoring, &populated).await?;
                EnsuredRunning { restore, stale, ..ensured_running(StartOutcome::Restored) }
            }
        };
        self.finish_start(request, &populated, nonce, outcome).await
    }

    /// Sets the name and the idle timeout of the sandbox before its container is started. Opens no session.
    async fn configure_sandbox(&self, request: &EnsureRunningRequest) -> Result<()> {
        let idle = request.settings.expiry.idle_seconds;
        let idle_timeout = (idle > 0).then(|| idle.saturating_add(SLEEP_MARGIN_SECONDS));
        self.retry(async || {
            self.sandboxes()?.configure(&self.id, idle_timeout).await.map_err(self.failed(During::Start))
        })
        .await
    }

    /// Sets the environment variables of the workspace, and removes those that it no longer has.
    async fn set_env(&self, request: &EnsureRunningRequest) -> Result<()> {
        let previous_names = self.binding()?.env_names;
        let env = env_changes(&request.settings, previous_names);
        if env.is_empty() {
            return Ok(());
        }
        self.update_binding(|binding| binding.env_names = env.keys().cloned().collect())?;
        self.retry(async || self.sandboxes()?.set_env(&self.id, &env).await.map_err(self.failed(During::Start)))
            .await?;
        self.update_binding(|binding| binding.env_names = request.settings.env.keys().cloned().collect())
    }

    /// Sets the environment variables that the next container inherits. If the sandbox remembers a session, the SDK
    /// starts a container for this call and opens the session in it, in the directory as it is before the restore. That
    /// container is therefore destroyed.
    async fn set_env_before_start(&self, request: &EnsureRunningRequest) -> Result<()> {
        if self.binding()?.env_names.is_empty() && request.settings.env.is_empty() {
            return Ok(());
        }
        self.set_env(request).await?;
        let status = self.sandboxes()?.status(&self.id).await;
        if status.map_err(self.failed(During::Probe))?.status == Status::Down {
            return Ok(());
        }
        self.destroy(&self.id).await
    }

    /// Completes a start whose files are in place: runs the `afterStart` hook, marks the container as ready, and
    /// records the start.
    async fn finish_start(
        &self,
        request: &EnsureRunningRequest,
        current: &ContainerMarker,
        nonce: String,
        mut outcome: EnsuredRunning,
    ) -> Result<EnsuredRunning> {
        let Settings { dir, hooks, env, .. } = &request.settings;
        if let Some(hook) = &hooks.after_start {
            outcome.hooks.push(self.run_hook(current, dir, "afterStart", hook, env).await?);
        }
        if !current.is_ready() {
            self.advance_marker(current, &ContainerMarker::Ready(nonce)).await?;
        }
        self.record_opened()?;
        Ok(outcome)
    }

    /// Records that the sandbox runs with its files in place, and clears the restore task.
    fn record_opened(&self) -> Result<()> {
        let now = self.now();
        self.update_binding(|binding| {
            binding.restore_task = None;
            binding.restore_unconfirmed = false;
            binding.first_started_at = binding.first_started_at.or(Some(now));
        })
    }
}

/// Returns the environment variables to set, and with `None` the previous ones to remove.
fn env_changes(settings: &Settings, previous_names: Vec<String>) -> BTreeMap<String, Option<String>> {
    let removed = previous_names.into_iter().map(|name| (name, None));
    let set = settings.env.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
    removed.chain(set).collect()
}

fn ensured_running(how: StartOutcome) -> EnsuredRunning {
    EnsuredRunning {
        how,
        restore: None,
        rescue_snapshot_id: None,
        root_id: None,
        runtime: None,
        stale: Vec::new(),
        hooks: Vec::new(),
    }
}
