//! Rollback: destroys the sandbox that a failed operation left.

use crate::model::record::{Derivation, DerivedState};
use crate::model::{Code, Error, Result, SandboxId, Status};
use crate::ports::{Ledger, Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::call_context;
use crate::service::calls::failures::{During, from_sandbox, is_reported_by_sandbox};
use crate::service::in_process::WorkKey;
use crate::service::tasks::backoff::Backoff;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Destroys the minted sandbox of a failed operation. Returns the error with a note that it was destroyed, or that
    /// it may still be running.
    pub(super) async fn destroy_minted(&self, id: &SandboxId, error: Error) -> Error {
        match self.destroy(id).await {
            Ok(()) => error.with_note(&format!("The new sandbox {:?} was destroyed.", id.as_str())),
            Err(rollback_error) => error.with_note(&format!(
                "The new sandbox {:?} could not be destroyed and may still be running: {}",
                id.as_str(),
                rollback_error.message()
            )),
        }
    }

    /// Destroys the container of a sandbox. Records a request that may still take effect on a later container of the sandbox:
    /// one that timed out, and without a named workspace also one whose connection was lost, or that is on its way in case
    /// this object ends. The answer to its repetition confirms it, because the sandbox runs both as one. That to a later
    /// request does not.
    pub(in crate::service) async fn destroy(&self, id: &SandboxId) -> Result<()> {
        let sandbox = self.sandbox_record()?;
        let start = sandbox.start_state().filter(|start| *id == *self.id && !start.destroy_unconfirmed);
        // A named workspace whose object ends recovers by its own record.
        let is_named = sandbox.binding.is_some();
        if start.is_some() && !is_named {
            self.update_start(|start| start.destroy_unconfirmed = true)?;
        }
        let ended = self
            .retry(async || {
                self.sandboxes_of(id)?
                    .destroy(id)
                    .await
                    .map_err(|failure| from_sandbox(failure, id, During::Destroy))?;
                call_context::record_ended(id);
                Ok(())
            })
            .await;
        if start.is_some() {
            let is_unanswered = ended.as_ref().is_err_and(|error| {
                error.code() == Code::SandboxTimeout
                    || (!is_named && !error.cause().is_some_and(is_reported_by_sandbox))
            });
            self.update_start(|start| start.destroy_unconfirmed = is_unanswered)?;
        }
        ended
    }

    /// Destroys the sandbox of a restore that failed or was interrupted, and checks it again until it stays down.
    pub(in crate::service) async fn reconcile_sandbox(&self, id: &SandboxId) -> Result<()> {
        let Some(_lease) = self.in_process.try_acquire(WorkKey::Sandbox(id.clone())) else { return Ok(()) };
        let Some(derivation) = self.ledger.derived_sandbox(id)? else { return Ok(()) };
        let task = match derivation.state {
            DerivedState::Ready { .. } => return Ok(()),
            DerivedState::Pending(_) => {
                self.mark_ending(&derivation)?;
                return self.destroy(id).await;
            }
            // A restore in progress may still start the sandbox.
            DerivedState::Ending(task) if task.due_at > self.now() => {
                return self.schedule_alarm(task.due_at);
            }
            DerivedState::Ending(task) => task,
        };
        let status =
            self.sandboxes_of(id)?.status(id).await.map_err(|failure| from_sandbox(failure, id, During::Probe));
        let is_down = status.is_ok_and(|status| status.status == Status::Down);
        let destroyed = if is_down { Ok(()) } else { self.destroy(id).await };
        let backoff = if destroyed.is_ok() { Backoff::ENDED_SANDBOX } else { Backoff::FAILED_DESTROY };
        // Only a sandbox that stays down is gone: each check that finds it running starts over.
        let attempt = if is_down { task.attempt + 1 } else { 0 };
        let Some(task) = self.schedule_check(backoff, attempt)? else { return self.ledger.delete_derived_sandbox(id) };
        self.ledger.put_derived_sandbox(&Derivation { state: DerivedState::Ending(task), ..derivation })?;
        destroyed
    }
}
