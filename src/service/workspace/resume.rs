//! Returns the sandbox of a workspace for a command, and starts the workspace if it is not running.

use super::NamedWorkspace;
use super::sandbox::ensured_running;
use super::start::started;
use crate::model::exec::StartedForExec;
use crate::model::named::State;
use crate::model::named::answer::{StartOutcome, StartedWorkspace};
use crate::model::named::messages::ResumedWorkspace;
use crate::model::request::StartRequest;
use crate::model::{Error, Result, SandboxId};
use crate::ports::Ports;
use crate::service::CancellationToken;

/// The precision of the recorded time of the last use, in milliseconds: each command would otherwise write a row.
const USE_MILLIS: i64 = 10_000;

impl<P: Ports> NamedWorkspace<P> {
    /// Returns the sandbox of the workspace, and counts as a use of it. Starts the workspace if it is not active; with
    /// `verify`, also if its sandbox is not running with the files in place. Concurrent calls share one start. The answer
    /// says how the workspace was started for the call, or that an earlier start may have lost files, because the first
    /// answer that said so may have been lost.
    pub async fn resume(&self, verify: bool) -> Result<ResumedWorkspace> {
        self.ensure_configured()?;
        let record = self.existing()?;
        if !verify && record.state == State::Active && !record.restore_unconfirmed {
            let now = self.now();
            if now.millis_since(record.active_at) >= USE_MILLIS {
                self.update_record(|record| record.active_at = now)?;
            }
            let started = if record.has_loss_to_report() {
                let started = started(&record, ensured_running(StartOutcome::Running));
                Some(started_for_exec(self.report(started)?))
            } else {
                None
            };
            return Ok(ResumedWorkspace { sandbox_id: record.sandbox_id, env: record.settings.env, started });
        }
        let is_due = record.has_loss_to_report();
        let request = StartRequest::of((*self.address).clone());
        let started = self.start(request, CancellationToken::never()).await?;
        let sandbox_id = started.description.sandbox_id.clone();
        let started = (started.how != StartOutcome::Running || is_due).then(|| started_for_exec(started));
        Ok(ResumedWorkspace { sandbox_id, env: self.existing()?.settings.env, started })
    }

    /// Returns the sandbox of the workspace if it is active. Starts nothing, and does not count as a use of the workspace.
    ///
    /// # Errors
    /// [`Code::SandboxNotRunning`](crate::model::Code::SandboxNotRunning)
    pub fn active_sandbox(&self) -> Result<SandboxId> {
        self.ensure_configured()?;
        let record = self.existing()?;
        if record.state == State::Active && !record.restore_unconfirmed {
            Ok(record.sandbox_id)
        } else {
            Err(Error::workspace_not_running(&self.address))
        }
    }

    /// Returns the sandboxes of the workspace, the present one first.
    pub fn sandbox_ids(&self) -> Result<Vec<SandboxId>> {
        self.ensure_configured()?;
        Ok(self.existing()?.sandboxes().cloned().collect())
    }

    /// Returns whether the workspace is stopped, or about to be.
    pub fn is_stopped(&self) -> Result<bool> {
        Ok(matches!(self.existing()?.state, State::Stopping | State::Stopped))
    }
}

/// Returns a start as the answer to a command says it.
fn started_for_exec(started: StartedWorkspace) -> StartedForExec {
    let StartedWorkspace { how, description, .. } = started;
    StartedForExec {
        how,
        restored_from: description.restored_from,
        may_have_lost: description.may_have_lost,
        lost_since: description.lost_since,
    }
}
