//! Starts a sandbox: restores the workspace's files if they are not in place.
//!
//! The Worker probes the sandbox before it changes anything. A container whose marker is ready stays as it is. Any
//! other container is destroyed and a new one is populated, unless other files were written into it: then `onDiverged`
//! decides. Each step requires the marker that the previous step set, so no step can take effect in another container.
//! Until the last step is complete, nothing is captured.

use std::collections::BTreeMap;

use super::capture::{rescue_before_destroy, take_rescue_snapshot};
use super::hooks::{self, container_replaced};
use super::source::{StartSource, find_start_source};
use super::{
    SandboxCondition, ensure_not_decommissioned, ensure_not_superseded, marker, note_late_call, note_unfinished_task,
    probe_and_clear_task, probe_condition, schedule_reconcile, stale, unresponsive,
};
use crate::model::named::binding::RestoreBegun;
use crate::model::named::messages::{EnsureRunningRequest, EnsuredRunning, OnDiverged, StartOutcome};
use crate::model::named::{ContainerMarker, Settings};
use crate::model::{Code, Error, Result, Status};
use crate::ports::{Clock, Ports, SandboxSession, Sandboxes};
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::calls::retry::retry;
use crate::service::planted::{Bug, planted};
use crate::service::restore::arrival;
use crate::service::restore::rollback::destroy;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// How much longer than its workspace a container may be idle, in seconds. The workspace is stopped first, with a
/// snapshot.
pub(super) const SLEEP_MARGIN_SECONDS: u64 = 600;

/// Probes the sandbox, and restores the workspace's files if they are not in place.
pub(in crate::service) async fn ensure_running<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: EnsureRunningRequest,
) -> Result<EnsuredRunning> {
    let _lock = this.in_process.lifecycle_lock.lock().await;
    unresponsive::ensure_responsive(&this)?;
    let was_restoring = this.binding()?.restore_unconfirmed;
    let outcome = note_late_call(&this, ensure_files(&this, &request).await);
    unresponsive::classify_outcome(&this, outcome, was_restoring)
}

async fn ensure_files<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &EnsureRunningRequest,
) -> Result<EnsuredRunning> {
    ensure_not_decommissioned(this)?;
    if this.binding()?.address != request.address {
        return Err(Error::internal());
    }
    ensure_not_superseded(this, request.version)?;
    this.ensure_initialized()?;
    let depends_on = &request.settings.depends_on;
    this.update_binding(|binding| {
        binding.files.clone_from(&depends_on.files);
        binding.fingerprint.clone_from(&depends_on.fingerprint);
    })?;
    let mut rescue_snapshot_id = None;
    let unfinished_task = note_unfinished_task(this)?;
    let protect_files = unfinished_task.is_some() && request.start.on_diverged != OnDiverged::Discard;
    // A probe may start a container. The task makes sure that it is ended.
    schedule_reconcile(this)?;
    match if planted(Bug::RestoredWithoutProbe) {
        SandboxCondition::Ended
    } else {
        probe_and_clear_task(this, protect_files).await?
    } {
        SandboxCondition::Running(_) => {
            configure(this, request).await?;
            set_env(this, request).await?;
            record_opened(this)?;
            return Ok(ensured_running(StartOutcome::Running));
        }
        SandboxCondition::Ended => {}
        SandboxCondition::Diverged { .. } if planted(Bug::DivergedOverwritten) => destroy(this, &this.id).await?,
        SandboxCondition::Unfinished | SandboxCondition::ColdStarted => destroy(this, &this.id).await?,
        SandboxCondition::Diverged { marker } => match request.start.on_diverged {
            OnDiverged::Fail => {
                this.update_binding(|binding| binding.restore_task = unfinished_task)?;
                return Err(workspace_diverged(this));
            }
            OnDiverged::Adopt => return adopt_files(this, request, marker.as_ref()).await,
            OnDiverged::Rescue => {
                rescue_snapshot_id = Some(rescue_before_destroy(this, marker.as_ref()).await?);
                destroy(this, &this.id).await?;
            }
            OnDiverged::Discard => destroy(this, &this.id).await?,
        },
    }
    // A capture of the previous container may be about to become the newest snapshot.
    this.in_process.coalescer.wait_until_idle().await;
    drop(this.in_process.completion_lock.lock().await);
    let source = find_start_source(this, &request.settings.dir, request.start.allow_empty).await?;
    let started = retry(&*this.ports, &CancellationToken::never(), async || {
        match populate_container(this, request, &source).await {
            Ok(started) => Ok(started),
            Err(error) => Err(match destroy(this, &this.id).await {
                Ok(()) => error,
                Err(destroy_error) => error.with_note(destroy_error.message()),
            }),
        }
    })
    .await?;
    Ok(EnsuredRunning { rescue_snapshot_id, ..started })
}

/// Adopts the files that were written since the sandbox cold-started: they become the workspace's files.
async fn adopt_files<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &EnsureRunningRequest,
    current: Option<&ContainerMarker>,
) -> Result<EnsuredRunning> {
    schedule_reconcile(this)?;
    // From here on, no late step of an abandoned start can restore into the container.
    let nonce = marker::mark_adopted(this, current).await?;
    let now = this.ports.clock().now();
    this.update_binding(|binding| binding.adopted_at = Some(now))?;
    await_previous_restore(this).await?;
    configure(this, request).await?;
    set_env(this, request).await?;
    let adopted = ContainerMarker::Adopted(nonce.clone());
    // The container may have ended, and the call that set the marker may have started another one.
    if probe_condition(this).await? != (SandboxCondition::Diverged { marker: Some(adopted.clone()) })
        && !planted(Bug::AdoptedWithoutProbe)
    {
        return Err(container_replaced(this));
    }
    let note = this.ports.sandboxes()?.set_replaced_note(&this.id, false).await;
    note.map_err(|failure| from_sandbox(failure, &this.id, During::Probe))?;
    finish_start(this, request, &adopted, nonce, ensured_running(StartOutcome::Adopted)).await
}

/// Waits for an earlier restore whose end was not confirmed, because it would hide the adopted files. A sandbox runs
/// one capture or restore at a time, so a capture completes after that restore.
async fn await_previous_restore<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    if this.binding()?.restore_unconfirmed {
        take_rescue_snapshot(this).await?;
        this.update_binding(|binding| binding.restore_unconfirmed = false)?;
    }
    Ok(())
}

/// Populates a new container from `source`, and marks it as ready.
async fn populate_container<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &EnsureRunningRequest,
    source: &StartSource,
) -> Result<EnsuredRunning> {
    schedule_reconcile(this)?;
    configure(this, request).await?;
    let Settings { dir, hooks, depends_on, .. } = &request.settings;
    // The files that the restore does not write.
    let files = match source {
        StartSource::Empty => Vec::new(),
        StartSource::Snapshot { .. } => stale::paths_outside(&depends_on.files, dir),
    };
    set_env_before_start(this, request).await?;
    // The SDK interrupts the call that starts a container after another one has ended. Nothing depends on the result of
    // this call.
    let started = this.ports.sandboxes()?.probe(&this.id, dir).await;
    drop(note_late_call(this, started.map_err(|failure| from_sandbox(failure, &this.id, During::Start))));
    let (nonce, RestoreBegun { listing, hashes }) = marker::mark_restoring(this, dir, &files).await?;
    let restoring = ContainerMarker::Restoring(nonce.clone());
    let populated = if hooks.after_start.is_some() {
        ContainerMarker::Restored(nonce.clone())
    } else {
        ContainerMarker::Ready(nonce.clone())
    };
    this.update_binding(|binding| {
        binding.image = Some(listing.image.clone());
        binding.baseline = listing.content_hash;
        binding.restore_nonce = Some(nonce.clone());
        binding.restore_unconfirmed |= matches!(source, StartSource::Snapshot { .. });
    })?;
    let outcome = match source {
        StartSource::Empty => {
            marker::advance(this, &restoring, &populated).await?;
            ensured_running(StartOutcome::Empty)
        }
        StartSource::Snapshot { snapshot_id, stored, dependencies } => {
            let current = stale::current_dependencies(hashes, &request.settings, &listing.image);
            let stale = stale::check(snapshot_id, dependencies, &current, &request.settings, &request.start)?;
            let session = this.ports.sandboxes()?.open_session(&this.id);
            let restored = session.restore_backup(&stored.backup, stored.size_bytes).await;
            restored.map_err(|failure| from_sandbox(failure, &this.id, During::Restore))?;
            arrival::verify_arrival(this, &session, &this.id, stored, &restoring, &populated).await?;
            EnsuredRunning { snapshot_id: Some(snapshot_id.clone()), stale, ..ensured_running(StartOutcome::Restored) }
        }
    };
    finish_start(this, request, &populated, nonce, outcome).await
}

/// Sets the name and the idle timeout of the sandbox before its container is started. Opens no session.
async fn configure<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &EnsureRunningRequest) -> Result<()> {
    let idle = request.settings.expiry.idle_seconds;
    let idle_timeout = (idle > 0).then(|| idle.saturating_add(SLEEP_MARGIN_SECONDS));
    retry(&*this.ports, &CancellationToken::never(), async || {
        let configured = this.ports.sandboxes()?.configure(&this.id, idle_timeout).await;
        configured.map_err(|failure| from_sandbox(failure, &this.id, During::Start))
    })
    .await
}

/// Sets the environment variables of the workspace, and removes those that it no longer has.
async fn set_env<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &EnsureRunningRequest) -> Result<()> {
    let previous_names = this.binding()?.env_names;
    let env = env_changes(&request.settings, previous_names);
    if env.is_empty() {
        return Ok(());
    }
    this.update_binding(|binding| binding.env_names = env.keys().cloned().collect())?;
    retry(&*this.ports, &CancellationToken::never(), async || {
        let set = this.ports.sandboxes()?.set_env(&this.id, &env).await;
        set.map_err(|failure| from_sandbox(failure, &this.id, During::Start))
    })
    .await?;
    this.update_binding(|binding| binding.env_names = request.settings.env.keys().cloned().collect())
}

/// Sets the environment variables that the next container inherits. If the sandbox remembers a session, the SDK starts
/// a container for this call and opens the session in it, in the directory as it is before the restore. That container
/// is therefore destroyed.
async fn set_env_before_start<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &EnsureRunningRequest,
) -> Result<()> {
    if this.binding()?.env_names.is_empty() && request.settings.env.is_empty() {
        return Ok(());
    }
    set_env(this, request).await?;
    let status = this.ports.sandboxes()?.status(&this.id).await;
    if status.map_err(|failure| from_sandbox(failure, &this.id, During::Probe))?.status == Status::Down {
        return Ok(());
    }
    destroy(this, &this.id).await
}

/// Returns the environment variables to set, and with `None` the previous ones to remove.
fn env_changes(settings: &Settings, previous_names: Vec<String>) -> BTreeMap<String, Option<String>> {
    let removed = previous_names.into_iter().map(|name| (name, None));
    let set = settings.env.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
    removed.chain(set).collect()
}

/// Completes a start whose files are in place: runs the `afterStart` hook, marks the container as ready, and records
/// the start.
async fn finish_start<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &EnsureRunningRequest,
    current: &ContainerMarker,
    nonce: String,
    mut outcome: EnsuredRunning,
) -> Result<EnsuredRunning> {
    let Settings { dir, hooks, env, .. } = &request.settings;
    if let Some(hook) = &hooks.after_start {
        outcome.hooks.push(hooks::run_hook(this, current, dir, "afterStart", hook, env).await?);
    }
    if !current.is_ready() {
        marker::advance(this, current, &ContainerMarker::Ready(nonce)).await?;
    }
    record_opened(this)?;
    Ok(outcome)
}

/// Records that the sandbox runs with its files in place, and clears the restore task.
fn record_opened<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let now = this.ports.clock().now();
    this.update_binding(|binding| {
        binding.restore_task = None;
        binding.restore_unconfirmed = false;
        binding.first_started_at =
            binding.first_started_at.or(Some(now)).filter(|_| !planted(Bug::FirstStartNotStored));
    })
}

fn ensured_running(how: StartOutcome) -> EnsuredRunning {
    EnsuredRunning {
        how,
        snapshot_id: None,
        rescue_snapshot_id: None,
        root_id: None,
        stale: Vec::new(),
        hooks: Vec::new(),
    }
}

fn workspace_diverged<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Error {
    Error::new(
        Code::WorkspaceDiverged,
        format!(
            "The sandbox {:?} cold-started without its files, and other files were written since. Nothing was changed.",
            this.id.as_str()
        ),
        "Start it with `onDiverged`: \"rescue\" saves the present files as a rescue snapshot and restores the newest \
         snapshot; \"adopt\" continues with the present files; \"discard\" restores without them.",
    )
}
