//! Reconciles a sandbox whose start or stop did not finish, or that no longer belongs to a workspace. A restore may
//! still run in it and start it again, so the Worker probes the sandbox until it stays ended, or keeps files of the
//! application, for as long as a call can be late.

use super::SandboxCondition;
use crate::model::named::messages::StopSandboxRequest;
use crate::model::{Error, Result};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::tasks::backoff::Backoff;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Ends a sandbox whose operation did not finish.
    pub(in crate::service) async fn reconcile_start_or_stop(&self) -> Result<()> {
        let Some(task) = self.sandbox_record()?.start_state().and_then(|start| start.reconcile_task) else {
            return Ok(());
        };
        // An operation that is under way handles the sandbox itself.
        let Some(_lock) = self.in_process.lifecycle_lock.try_lock() else { return Ok(()) };
        let is_decommissioned = self.sandbox_record()?.decommissioned_at.is_some();
        let condition = if is_decommissioned { self.probe_condition().await } else { self.probe_and_protect().await };
        let is_before_due = task.due_at > self.now();
        let has_files = matches!(condition, Ok(SandboxCondition::Running { .. } | SandboxCondition::Diverged { .. }));
        let binding = self.sandbox_record()?.binding;
        let is_named = binding.is_some();
        // A late destroy may still end the container. Until then it is not the sandbox's own again.
        let awaits_destroy = !is_named && self.start_state()?.destroy_unconfirmed;
        let may_end = matches!(condition, Ok(SandboxCondition::Diverged { .. })) || (has_files && awaits_destroy);
        let superseded = binding.as_ref().is_some_and(|binding| binding.superseded);
        let keeps_running = has_files && !is_decommissioned && !superseded;
        let (is_settled, outcome) = match condition {
            // Calls of the interrupted operation may still take effect. A probe before the due time does not count,
            // however often the Worker restarts.
            Ok(SandboxCondition::Ended) if is_before_due => return self.schedule_alarm(task.due_at),
            Ok(_) if may_end && keeps_running && is_before_due => return self.schedule_alarm(task.due_at),
            Ok(SandboxCondition::Ended) => (true, self.allow_sleep().await),
            // It ends by itself. A late call may then start an empty one.
            Ok(_) if may_end && keeps_running => (true, Ok(())),
            Ok(_) if keeps_running => {
                self.note_unfinished_task()?;
                return self.update_start(|start| start.reconcile_task = None);
            }
            // This probe may have started the container.
            Ok(_) if has_files && !is_decommissioned => {
                let address = binding.ok_or_else(Error::internal)?.address;
                (false, self.stop_locked(StopSandboxRequest::with_snapshot(address)).await.map(drop))
            }
            Ok(_) => (false, self.destroy(&self.id).await),
            Err(error) => (false, Err(error)),
        };
        let attempt = if is_settled { task.attempt + 1 } else { 0 };
        let next = self.schedule_check(Backoff::ENDED_SANDBOX, attempt)?;
        self.update_start(|start| {
            start.reconcile_task = next;
            start.call_unconfirmed &= next.is_some();
            start.destroy_unconfirmed &= next.is_some();
            // A named workspace continues in another sandbox. Any other one can be revived when no call is late any more.
            if !is_named {
                start.restore_unconfirmed &= next.is_some();
            }
        })?;
        outcome
    }
}
