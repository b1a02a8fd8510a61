//! Stops a sandbox: takes a snapshot of its files, and destroys its container.
//!
//! If the capture fails, the container keeps running.

use super::capture::{capture, rescue_before_destroy};
use super::ensure_running::SLEEP_MARGIN_SECONDS;
use super::{
    SandboxCondition, ensure_not_superseded, hooks, note_late_call, note_unfinished_task, probe_and_clear_task,
    probe_condition, schedule_reconcile,
};
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::messages::{SandboxStopped, StopSandboxRequest};
use crate::model::{Code, Result};
use crate::ports::{Ports, Sandboxes};
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::calls::retry::retry;
use crate::service::planted::{Bug, planted};
use crate::service::restore::rollback::destroy;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// Probes the sandbox, and stops it if it runs.
pub(in crate::service) async fn stop_sandbox<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: StopSandboxRequest,
) -> Result<SandboxStopped> {
    let _lock = this.in_process.lifecycle_lock.lock().await;
    stop_locked(&this, request).await
}

/// As [`stop_sandbox`], for a caller that has the lifecycle lock.
pub(super) async fn stop_locked<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: StopSandboxRequest,
) -> Result<SandboxStopped> {
    if this.workspace()?.binding.is_none_or(|binding| binding.address != request.address) {
        return Ok(SandboxStopped { had_ended: true, ..SandboxStopped::default() });
    }
    ensure_not_superseded(this, request.version)?;
    this.update_binding(|binding| binding.superseded |= request.superseded)?;
    let stopped = note_late_call(this, capture_and_destroy(this, request).await)?;
    let WorkspaceBinding { superseded, call_unconfirmed, .. } = this.binding()?;
    if superseded || call_unconfirmed {
        schedule_reconcile(this)?;
    }
    Ok(stopped)
}

async fn capture_and_destroy<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: StopSandboxRequest,
) -> Result<SandboxStopped> {
    let mut stopped = SandboxStopped { had_ended: true, ..SandboxStopped::default() };
    let unfinished_task = note_unfinished_task(this)?;
    match probe_and_clear_task(this, unfinished_task.is_some() && request.snapshot).await? {
        SandboxCondition::Ended => return allow_sleep(this).await.map(|()| stopped),
        SandboxCondition::Unfinished | SandboxCondition::ColdStarted => {}
        SandboxCondition::Diverged { .. } if !request.snapshot => {}
        SandboxCondition::Diverged { marker } => {
            stopped.rescue_snapshot_id = Some(rescue_before_destroy(this, marker.as_ref()).await?);
        }
        SandboxCondition::Running(marker) => {
            stopped.had_ended = false;
            let dir = this.binding()?.dir;
            for (name, hook) in &request.hooks {
                stopped.hooks.push(hooks::run_hook(this, &marker, &dir, name, hook, &request.env).await?);
            }
            if request.snapshot {
                match capture(this).await {
                    Ok((snapshot, changed_during_capture)) => {
                        (stopped.snapshot, stopped.changed_during_capture) = (Some(snapshot), changed_during_capture);
                    }
                    Err(_) if planted(Bug::EndedAfterFailedCapture) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    match destroy(this, &this.id).await {
        Ok(()) => allow_sleep(this).await?,
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
        this.update_binding(|binding| binding.restore_task = unfinished_task)?;
    }
    Ok(stopped)
}

/// Sets the idle timeout of a container that a capture or its probe started without the workspace's files, so that it
/// ends by itself. Does nothing while an operation starts or ends the sandbox, because that operation handles the
/// container.
pub(in crate::service) async fn allow_sleep_if_cold<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let Some(_lock) = this.in_process.lifecycle_lock.try_lock() else { return Ok(()) };
    if probe_condition(this).await? == SandboxCondition::ColdStarted { allow_sleep(this).await } else { Ok(()) }
}

/// Sets the idle timeout of the sandbox, so that a container that starts from now on ends by itself.
pub(super) async fn allow_sleep<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    retry(&*this.ports, &CancellationToken::never(), async || {
        let response = this.ports.sandboxes()?.set_idle_timeout(&this.id, Some(SLEEP_MARGIN_SECONDS)).await;
        response.map_err(|failure| from_sandbox(failure, &this.id, During::Destroy))
    })
    .await
}
