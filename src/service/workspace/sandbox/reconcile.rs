//! Reconciles a sandbox whose start or stop did not finish, or that no longer belongs to a workspace. A restore may
//! still run in it and start it again, so the Worker probes the sandbox until it stays ended.

use super::stop_sandbox::{allow_sleep, stop_locked};
use super::{SandboxCondition, note_unfinished_task, probe_and_protect, probe_condition};
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::messages::StopSandboxRequest;
use crate::model::record::PendingTask;
use crate::model::{Result, Timestamp};
use crate::ports::{Clock, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::planted::{Bug, planted};
use crate::service::restore::rollback::destroy;

/// The delays after which a sandbox that had ended is probed again, in milliseconds.
const RECHECK_DELAYS_MILLIS: [i64; 3] = [60_000, 10 * 60_000, 60 * 60_000];

/// Returns when the sandbox is due to be reconciled, if it is.
pub(in crate::service) fn due_at<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Timestamp>> {
    Ok(pending_task(this)?.map(|task| task.due_at))
}

/// Ends a sandbox whose operation did not finish, if its task is due at `due_by`. `None` reconciles it at any time.
pub(in crate::service) async fn reconcile<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    due_by: Option<Timestamp>,
) -> Result<()> {
    let Some(task) = pending_task(this)?.filter(|task| due_by.is_none_or(|due_by| task.due_at <= due_by)) else {
        return Ok(());
    };
    // An operation that is under way handles the sandbox itself.
    let Some(_lock) = this.in_process.lifecycle_lock.try_lock() else { return Ok(()) };
    let is_decommissioned = this.workspace()?.decommissioned_at.is_some();
    let condition = if is_decommissioned { probe_condition(this).await } else { probe_and_protect(this).await };
    let is_before_due = task.due_at > this.ports.clock().now();
    let has_files = matches!(condition, Ok(SandboxCondition::Running(_) | SandboxCondition::Diverged { .. }));
    let WorkspaceBinding { superseded, address, .. } = this.binding()?;
    let keeps_running = has_files && !is_decommissioned && !superseded;
    let (has_ended, outcome) = match condition {
        // Calls of the interrupted operation may still take effect. A probe before the due time does not count, however
        // often the Worker restarts.
        Ok(SandboxCondition::Ended) if is_before_due => return this.schedule_alarm(task.due_at),
        Ok(SandboxCondition::Diverged { .. }) if is_before_due && keeps_running => {
            return this.schedule_alarm(task.due_at);
        }
        Ok(SandboxCondition::Ended) => (true, allow_sleep(this).await),
        Ok(_) if keeps_running => {
            note_unfinished_task(this)?;
            return this.update_binding(|binding| binding.restore_task = None);
        }
        // This probe may have started the container.
        Ok(_) if has_files && !is_decommissioned => {
            (false, stop_locked(this, StopSandboxRequest::with_snapshot(address)).await.map(drop))
        }
        Ok(_) if planted(Bug::UnfinishedRestoreNotEnded) => {
            return this.update_binding(|binding| binding.restore_task = None);
        }
        Ok(_) => (false, destroy(this, &this.id).await),
        Err(error) => (false, Err(error)),
    };
    let now = this.ports.clock().now();
    let attempt = pending_task(this)?.map_or(0, |task| task.attempt);
    let attempt = if has_ended { attempt + 1 } else { 0 };
    let next_due = RECHECK_DELAYS_MILLIS.get(attempt as usize).map(|millis| now.plus_millis(*millis));
    this.update_binding(|binding| {
        binding.restore_task = next_due.map(|due_at| PendingTask { due_at, attempt });
        binding.call_unconfirmed &= next_due.is_some();
    })?;
    if let Some(due_at) = next_due {
        this.schedule_alarm(due_at)?;
    }
    outcome
}

fn pending_task<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<PendingTask>> {
    Ok(this.workspace()?.binding.and_then(|binding| binding.restore_task))
}
