//! Returns the sandbox of a workspace for a command, and starts the workspace if it is not running.

use super::NamedWorkspace;
use crate::model::exec::StartedForExec;
use crate::model::named::State;
use crate::model::named::answer::StartOutcome;
use crate::model::named::messages::ResumedWorkspace;
use crate::model::request::StartRequest;
use crate::model::{Error, Result, SandboxId};
use crate::ports::Ports;
use crate::service::CancellationToken;

/// The precision of the recorded time of the last use, in milliseconds: each command would otherwise write a row.
const USE_MILLIS: i64 = 10_000;

impl<P: Ports> NamedWorkspace<P> {
    /// Returns the sandbox of the workspace, and counts as a use of it. Starts the workspace if it is not active; with
    /// `verify`, also if its sandbox is not running with the files in place. Concurrent calls share one start.
    pub async fn resume(&self, verify: bool) -> Result<ResumedWorkspace> {
        self.ensure_configured()?;
        let record = self.existing()?;
        if !verify && record.state == State::Active && !record.restore_unconfirmed {
            let now = self.now();
            if now.millis_since(record.active_at) >= USE_MILLIS {
                self.update_record(|record| record.active_at = now)?;
            }
            return Ok(ResumedWorkspace { sandbox_id: record.sandbox_id, env: record.settings.env, started: None });
        }
        let request = StartRequest::of((*self.address).clone());
        let started = self.start(request, CancellationToken::never()).await?;
        let description = started.description;
        let start = StartedForExec {
            how: started.how,
            restored_from: description.restored_from,
            may_have_lost: description.may_have_lost,
            lost_since: description.lost_since,
        };
        Ok(ResumedWorkspace {
            sandbox_id: description.sandbox_id,
            env: self.existing()?.settings.env,
            started: (start.how != StartOutcome::Running).then_some(start),
        })
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

    /// Returns whether the workspace is stopped, or about to be.
    pub fn is_stopped(&self) -> Result<bool> {
        Ok(matches!(self.existing()?.state, State::Stopping | State::Stopped))
    }
}
