//! Starts a sandbox: restores the workspace's files if they are not in place.
//!
//! The Worker probes the sandbox before it changes anything. A container whose marker is ready stays as it is. Any
//! other container is destroyed and a new one is populated, unless other files were written into it: then `onDiverged`
//! decides. Each step requires the marker that the previous step set, so no step can take effect in another container.
//! Until the last step is complete, nothing is captured.

use std::collections::BTreeMap;

use super::platform::PlatformFailure;
use super::source::{StartPlan, StartSource};
use super::{SandboxCondition, stale};
use crate::model::change_cursor::SAVED_AT_START;
use crate::model::named::answer::StartOutcome;
use crate::model::named::binding::{RestoreBegun, SavedIn};
use crate::model::named::messages::{CheckImageRequest, EnsureRunningRequest, EnsuredRunning};
use crate::model::named::settings::OnDiverged;
use crate::model::named::{ContainerMarker, Settings};
use crate::model::{Error, Result, Runtime, Status};
use crate::ports::{Ports, SandboxSession, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::During;
use crate::service::restore::files::RestoreTarget;

/// How much longer than its workspace a container may be idle, in seconds. The workspace is stopped first, with a
/// snapshot.
pub(super) const SLEEP_MARGIN_SECONDS: u64 = 600;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Probes the sandbox, and restores the workspace's files if they are not in place.
    pub async fn ensure_running(&self, request: EnsureRunningRequest) -> Result<EnsuredRunning> {
        self.prepare_call().await?;
        let this = self.clone();
        let ensured = self.run_to_completion(async move { this.start_sandbox(&request).await }).await?;
        let platform_snapshot = self.binding()?.platform_snapshot;
        Ok(EnsuredRunning { root_id: Some(self.root()?), runtime: self.runtime()?, platform_snapshot, ..ensured })
    }

    async fn start_sandbox(&self, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        let _lock = self.in_process.lifecycle_lock.lock().await;
        self.ensure_responsive()?;
        let was_restoring = self.start_state()?.restore_unconfirmed;
        let outcome = self.note_late_call(self.start_for_workspace(request).await);
        self.classify_outcome(outcome, was_restoring)
    }

    async fn start_for_workspace(&self, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        self.ensure_not_decommissioned()?;
        if Some(self.binding()?.address) != request.address {
            return Err(Error::internal());
        }
        self.ensure_not_superseded(request.version)?;
        self.ensure_initialized()?;
        let depends_on = &request.settings.depends_on;
        self.update_binding(|binding| {
            binding.files.clone_from(&depends_on.files);
            binding.fingerprint.clone_from(&depends_on.fingerprint);
            binding.incremental = request.settings.incremental;
        })?;
        self.ensure_storage_supported(request.settings.storage).await?;
        if let Some(image) = request.settings.image.clone() {
            self.ensure_image_exists(&CheckImageRequest { image, runtime: None }).await?;
        }
        self.ensure_files(request).await
    }

    /// Probes the sandbox, and restores its files if they are not in place. The caller has the lifecycle lock.
    pub(super) async fn ensure_files(&self, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        let (mut rescue_snapshot_id, mut saved) = (None, None);
        let unfinished_task = self.note_unfinished_task()?;
        let protect_files = unfinished_task.is_some() && request.start.on_diverged != OnDiverged::Discard;
        // A probe may start a container. The task makes sure that it is ended.
        self.schedule_reconcile()?;
        if request.address.is_none()
            && let Some(running) = self.find_captured_container().await?
        {
            self.record_opened()?;
            return Ok(running);
        }
        match self.probe_and_clear_task(protect_files).await? {
            SandboxCondition::Running { marker, is_missing } => {
                self.note_class_image().await?;
                self.configure_sandbox(request).await?;
                self.set_env(request).await?;
                self.record_opened()?;
                let restore = self.restore_into(&marker)?;
                return Ok(EnsuredRunning { is_missing, restore, ..ensured_running(StartOutcome::Running) });
            }
            SandboxCondition::Ended => saved = self.saved_snapshot().await?,
            SandboxCondition::Unfinished | SandboxCondition::ColdStarted => self.destroy(&self.id).await?,
            SandboxCondition::Diverged { marker } => match request.start.on_diverged {
                OnDiverged::Fail => {
                    self.update_start(|start| start.reconcile_task = unfinished_task)?;
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
        match (self.restore_files(request, saved.as_ref()).await, saved) {
            (Ok(started), _) => Ok(EnsuredRunning { rescue_snapshot_id, ..started }),
            (Err(error), None) => Err(error),
            // No caller got the container.
            (Err(error), Some(saved)) => self.record_saved(saved).await.and(Err(error)),
        }
    }

    /// Starts the ended sandbox with the workspace's files: from the platform snapshot if there is a current one, or from
    /// the archive.
    ///
    /// `saved` is the snapshot that has all files of the sandbox, if that is certain.
    async fn restore_files(&self, request: &EnsureRunningRequest, saved: Option<&SavedIn>) -> Result<EnsuredRunning> {
        let may_have_lost = |source: Option<&SavedIn>| request.may_have_lost || saved != source;
        let StartPlan { platform, archive } = self.plan_start(request).await?;
        let failure = match &platform {
            None => None,
            Some(snapshot) => {
                let may_have_lost = may_have_lost(Some(&snapshot.saved_in()));
                match self.start_from_platform(request, snapshot, may_have_lost).await? {
                    Ok(started) => return Ok(started),
                    Err(failure) => Some(failure),
                }
            }
        };
        let (platform_fallback, transient) = match failure {
            Some(PlatformFailure { reason, transient }) => (Some(reason), transient),
            None => (None, None),
        };
        let source = archive.map_err(|error| match (transient, &platform_fallback) {
            (Some(transient), _) => transient.with_note(&format!("The archive: {}", error.message())),
            (None, Some(reason)) => error.with_note(&format!("The platform snapshot: {reason}")),
            (None, None) => error,
        })?;
        let may_have_lost = may_have_lost(source.saved_in().as_ref());
        let started = self
            .retry(async || self.or_destroy(self.populate_container(request, &source, may_have_lost).await).await)
            .await?;
        Ok(EnsuredRunning { platform_fallback, ..started })
    }

    /// Destroys the container if its start failed.
    ///
    /// # Errors
    /// [`Code::SandboxUnresponsive`](crate::model::Code::SandboxUnresponsive) if the destroy timed out: it could end the
    /// container of the next attempt.
    pub(super) async fn or_destroy<T>(&self, started: Result<T>) -> Result<T> {
        match started {
            Ok(started) => Ok(started),
            Err(error) => {
                let destroyed = self.destroy(&self.id).await;
                self.ensure_responsive()?;
                Err(match destroyed {
                    Ok(()) => error,
                    Err(destroy_error) => error.with_note(destroy_error.message()),
                })
            }
        }
    }

    /// Returns the marker of a container whose files are in place.
    pub(super) fn populated_marker(request: &EnsureRunningRequest, nonce: &str) -> ContainerMarker {
        let has_hook = request.settings.hooks.after_start.is_some();
        if has_hook { ContainerMarker::Restored(nonce.to_owned()) } else { ContainerMarker::Ready(nonce.to_owned()) }
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
        let has_lost_files = self.start_state()?.saved.is_none() && self.had_files(request)?;
        let now = self.now();
        self.update_start(|start| {
            (start.adopted_at, start.image, start.class_image) = (Some(now), None, None);
            (start.saved, start.saved_state, start.last_restore) = (None, None, None);
        })?;
        self.record_own_marker(&nonce)?;
        self.await_previous_restore().await?;
        self.note_class_image().await?;
        self.configure_sandbox(request).await?;
        self.set_env(request).await?;
        let adopted = ContainerMarker::Adopted(nonce.clone());
        // The container may have ended, and the call that set the marker may have started another one.
        if self.probe_condition().await? != (SandboxCondition::Diverged { marker: Some(adopted.clone()) }) {
            return Err(Error::another_container(&self.id));
        }
        self.sandboxes()?.set_replaced_note(&self.id, false).await.map_err(self.failed(During::Probe))?;
        let outcome = EnsuredRunning { has_lost_files, ..ensured_running(StartOutcome::Adopted) };
        self.finish_start(request, &adopted, nonce, outcome).await
    }

    /// Returns whether the workspace had files before this start that it was to keep.
    fn had_files(&self, request: &EnsureRunningRequest) -> Result<bool> {
        let is_started = self.start_state()?.first_started_at.is_some();
        Ok(!request.never_persistent && (is_started || self.sandbox_record()?.parent.is_some()))
    }

    /// Waits for an earlier restore whose end was not confirmed, because it would hide the adopted files. A sandbox
    /// runs one capture or restore at a time, so a capture completes after that restore.
    async fn await_previous_restore(&self) -> Result<()> {
        if self.start_state()?.restore_unconfirmed {
            self.take_rescue_snapshot().await?;
            self.update_start(|start| start.restore_unconfirmed = false)?;
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
        let Settings { dir, depends_on, .. } = &request.settings;
        self.record_class_image(&request.settings).await?;
        // The files that the restore does not write.
        let files = match source {
            StartSource::Empty => Vec::new(),
            StartSource::Snapshot { .. } => stale::paths_outside(&depends_on.files, dir),
        };
        self.set_env_before_start(request).await?;
        if self.runtime()? != Some(Runtime::Container) {
            // SDK 0.12 interrupts the call that starts a container after another one has ended. Nothing depends on the
            // result of this call.
            let started = self.sandboxes()?.probe(&self.id, dir).await;
            drop(self.note_late_call(started.map_err(self.failed(During::Start))));
        }
        let marked = self.mark_restoring(dir, &files, None).await?;
        let (nonce, RestoreBegun { listing, hashes, container_id }) =
            marked.ok_or_else(|| Error::another_container(&self.id))?;
        self.check_class_image(&listing.image).await?;
        let is_empty = listing.content_hash.is_none();
        let has_lost_files = self.had_files(request)?;
        let restoring = ContainerMarker::Restoring(nonce.clone());
        let populated = Self::populated_marker(request, &nonce);
        let restore = source.restore(self.now(), may_have_lost, &nonce);
        let restore = restore.map(|restore| self.with_loss(restore, request)).transpose()?;
        self.update_start(|start| {
            (start.saved, start.saved_state) = (None, None);
            start.last_restore.clone_from(&restore);
            start.image = Some(listing.image.clone());
            start.baseline = listing.content_hash;
            start.restore_nonce = Some(nonce.clone());
            start.restore_unconfirmed |= matches!(source, StartSource::Snapshot { .. });
        })?;
        self.record_own_marker(&nonce)?;
        let outcome = match source {
            StartSource::Empty => {
                self.advance_marker(&restoring, &populated).await?;
                EnsuredRunning { has_lost_files, ..ensured_running(StartOutcome::Empty) }
            }
            StartSource::Snapshot { snapshot_id, stored, dependencies, .. } => {
                let current = stale::current_dependencies(hashes, &request.settings, &listing.image);
                let stale = stale::check(snapshot_id, dependencies, &current, &request.settings, &request.start)?;
                let session = self.sandboxes()?.open_session(&self.id);
                let is_replaced = container_id.is_some() || is_empty;
                let is_mounted = container_id.is_none() && !stored.backup.base_handle().is_extracted();
                let traced = self.base_to_trace(snapshot_id, stored, is_replaced, is_mounted)?;
                let target = RestoreTarget {
                    id: &self.id,
                    container_id: container_id.as_ref(),
                    restoring: &restoring,
                    restored: &populated,
                    traced: traced.as_ref(),
                };
                let traced = self.restore_backup_files(&session, &target, stored).await?;
                self.record_traced(traced)?;
                self.count_restore()?;
                EnsuredRunning { restore, stale, ..ensured_running(StartOutcome::Restored) }
            }
        };
        self.finish_start(request, &populated, nonce, outcome).await
    }

    /// Sets the name, the idle timeout and the image of the sandbox before its container is started. Opens no session.
    /// Without a named workspace, the timeout is the application's.
    pub(super) async fn configure_sandbox(&self, request: &EnsureRunningRequest) -> Result<()> {
        if request.address.is_none() {
            let set_name = async || {
                let session = self.sandboxes()?.open_session(&self.id);
                session.set_name().await.map_err(self.failed(During::Start))
            };
            return self.retry(set_name).await;
        }
        self.update_start(|start| start.chosen_image.clone_from(&request.settings.image))?;
        let idle = request.settings.expiry.idle_seconds;
        let idle_timeout = (idle > 0).then(|| idle.saturating_add(SLEEP_MARGIN_SECONDS));
        self.retry(async || {
            let image = request.settings.image.as_deref();
            self.sandboxes()?.configure(&self.id, idle_timeout, image).await.map_err(self.failed(During::Start))
        })
        .await
    }

    /// Sets the environment variables of the workspace, and removes those that it no longer has.
    async fn set_env(&self, request: &EnsureRunningRequest) -> Result<()> {
        let previous_names = self.start_state()?.env_names;
        let env = env_changes(&request.settings, previous_names);
        if env.is_empty() {
            return Ok(());
        }
        self.update_start(|start| start.env_names = env.keys().cloned().collect())?;
        self.retry(async || self.sandboxes()?.set_env(&self.id, &env).await.map_err(self.failed(During::Start)))
            .await?;
        self.update_start(|start| start.env_names = request.settings.env.keys().cloned().collect())
    }

    /// Sets the environment variables that the next container inherits. If the sandbox remembers a session, the SDK
    /// starts a container for this call and opens the session in it, in the directory as it is before the restore. That
    /// container is therefore destroyed.
    pub(super) async fn set_env_before_start(&self, request: &EnsureRunningRequest) -> Result<()> {
        if self.start_state()?.env_names.is_empty() && request.settings.env.is_empty() {
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
    pub(super) async fn finish_start(
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
        // No snapshot has the files that the hook wrote, or that are adopted.
        let has_saved_files = hooks.after_start.is_none() && outcome.how != StartOutcome::Adopted;
        self.update_start(|start| start.saved_state = has_saved_files.then(|| SAVED_AT_START.to_owned()))?;
        self.record_opened()?;
        Ok(outcome)
    }

    /// Records that the sandbox runs with its files in place, and clears the reconcile task.
    fn record_opened(&self) -> Result<()> {
        let now = self.now();
        self.update_start(|start| {
            start.reconcile_task = None;
            start.unreported_since = None;
            start.restore_unconfirmed = false;
            start.first_started_at = start.first_started_at.or(Some(now));
        })
    }
}

/// Returns the environment variables to set, and with `None` the previous ones to remove.
fn env_changes(settings: &Settings, previous_names: Vec<String>) -> BTreeMap<String, Option<String>> {
    let removed = previous_names.into_iter().map(|name| (name, None));
    let set = settings.env.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
    removed.chain(set).collect()
}

/// Returns the outcome of a start without a restore.
pub(in crate::service::workspace) fn ensured_running(how: StartOutcome) -> EnsuredRunning {
    EnsuredRunning {
        how,
        is_missing: false,
        has_lost_files: false,
        restore: None,
        platform_fallback: None,
        platform_snapshot: None,
        rescue_snapshot_id: None,
        root_id: None,
        runtime: None,
        stale: Vec::new(),
        hooks: Vec::new(),
    }
}
