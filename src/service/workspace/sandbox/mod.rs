//! The lifecycle of the sandbox of a named workspace: it is started, probed, stopped and decommissioned. A sandbox without
//! a named workspace is only started, by `revive`.
//!
//! - [`condition`]: whether the sandbox runs, and whether its files are in place
//! - [`ensure_running`]: starts the sandbox, and restores its files if they are not in place
//! - [`revive`]: does the same for a sandbox that belongs to no named workspace
//! - [`source`]: what the sandbox starts from
//! - [`saved`]: whether a snapshot has all files of the sandbox
//! - [`saved_state`]: which state of the files a snapshot is known to have
//! - [`marker`]: the markers of a container that is being populated
//! - [`platform`]: the platform snapshot of the sandbox
//! - [`refresh`]: restores a platform snapshot once, so that it does not expire
//! - [`image`]: whether the class of the sandbox has the image that the workspace has chosen
//! - [`stale`]: whether the dependencies of a snapshot still match
//! - [`hooks`]: the workspace's commands in the sandbox
//! - [`stop_sandbox`]: takes a snapshot, and destroys the container
//! - [`autosave`]: the automatic save of the running sandbox
//! - [`capture`]: the captures of a stop, and rescue snapshots
//! - [`reserve`]: reserves a sandbox that starts from a snapshot of this one
//! - [`switch_runtime`]: moves the sandbox to another runtime
//! - [`decommission`]: destroys a sandbox that is no longer needed, and deletes its snapshots
//! - [`unresponsive`]: detects a sandbox that does not answer
//! - [`reconcile`]: checks a sandbox whose start or stop did not finish
//!
//! One operation at a time starts or ends the sandbox. As soon as a start begins to populate a container, the container
//! carries a [`ContainerMarker`](crate::model::named::ContainerMarker), and every later step runs only in the container
//! with that marker.

mod autosave;
mod capture;
mod condition;
mod decommission;
mod ensure_running;
mod hooks;
mod image;
mod marker;
mod platform;
mod reconcile;
mod refresh;
mod reserve;
mod revive;
mod saved;
mod saved_state;
mod source;
mod stale;
mod stop_sandbox;
mod switch_runtime;
mod unresponsive;

use self::condition::SandboxCondition;
pub(super) use self::ensure_running::ensured_running;

use crate::model::named::binding::WorkspaceBinding;
use crate::model::record::{SandboxRecord, StartState};
use crate::model::{Code, Error, PendingTask, Result};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::tasks::backoff::Backoff;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the workspace binding of the sandbox.
    ///
    /// # Errors
    /// [`Code::WorkspaceNotFound`] if the sandbox belongs to no named workspace.
    pub(in crate::service) fn binding(&self) -> Result<WorkspaceBinding> {
        self.sandbox_record()?.binding.ok_or_else(|| Error::sandbox_without_workspace(&self.id))
    }

    /// Changes the workspace binding of the sandbox, and writes it if it differs.
    pub(in crate::service) fn update_binding(&self, change: impl FnOnce(&mut WorkspaceBinding)) -> Result<()> {
        let mut sandbox = self.sandbox_record()?;
        let mut binding = self.binding()?;
        change(&mut binding);
        let binding = Some(binding);
        if sandbox.binding != binding {
            sandbox.binding = binding;
            self.ledger.put_sandbox(&sandbox)?;
        }
        Ok(())
    }

    /// Returns the state of the starts of the sandbox.
    ///
    /// # Errors
    /// [`Code::WorkspaceNotFound`] if it belongs to no named workspace and was never revived.
    pub(in crate::service) fn start_state(&self) -> Result<StartState> {
        self.sandbox_record()?.start_state().cloned().ok_or_else(|| Error::sandbox_without_workspace(&self.id))
    }

    /// Changes the state of the starts of the sandbox, and writes it if it differs.
    pub(in crate::service) fn update_start(&self, change: impl FnOnce(&mut StartState)) -> Result<()> {
        let before = self.sandbox_record()?;
        let mut after = before.clone();
        change(after.start_state_mut().ok_or_else(|| Error::sandbox_without_workspace(&self.id))?);
        if after == before { Ok(()) } else { self.ledger.put_sandbox(&after) }
    }

    /// Schedules a reconciliation of the sandbox, in case the current operation does not finish.
    fn schedule_reconcile(&self) -> Result<()> {
        let task = self.schedule_task(Backoff::ENDED_SANDBOX, 0)?;
        self.update_start(|start| start.reconcile_task = Some(task))
    }

    /// Returns the task of a start or stop that did not finish, if there is one. A call of that operation may still
    /// take effect, so the sandbox is reconciled after its workspace is stopped.
    fn note_unfinished_task(&self) -> Result<Option<PendingTask>> {
        let task = self.start_state()?.reconcile_task;
        self.update_start(|start| start.call_unconfirmed |= task.is_some())?;
        Ok(task)
    }

    /// Records whether a call timed out. If so, the sandbox is reconciled after its workspace is stopped.
    pub(in crate::service) fn note_late_call<T>(&self, outcome: Result<T>) -> Result<T> {
        let is_late = |error: &Error| matches!(error.code(), Code::SandboxTimeout | Code::BackupInterrupted);
        if outcome.as_ref().is_err_and(is_late) && self.sandbox_record()?.binding.is_some() {
            self.update_start(|start| start.call_unconfirmed = true)?;
        }
        outcome
    }

    /// Verifies that no later version of the workspace's record started or ended the sandbox. Otherwise the caller of
    /// this version has ended, and would not handle the result.
    fn ensure_not_superseded(&self, version: u64) -> Result<()> {
        let latest = self.binding()?.version;
        // Earlier releases send no version.
        if version == 0 {
            return Ok(());
        }
        if version < latest {
            return Err(Error::superseded(&self.id));
        }
        self.update_binding(|binding| binding.version = version)
    }

    /// Verifies that the sandbox is not decommissioned.
    pub(in crate::service) fn ensure_not_decommissioned(&self) -> Result<()> {
        match self.sandbox_record()?.decommissioned_at {
            None => Ok(()),
            Some(at) => Err(Error::workspace_deleted(&self.id, at)),
        }
    }

    /// Returns an error about the container of this sandbox with the remediation for its workspace, if it belongs to one.
    pub fn of_own_workspace(&self, error: Error) -> Error {
        match self.ledger.sandbox() {
            Ok(Some(SandboxRecord { binding: Some(binding), .. })) if !binding.superseded => {
                // In another container, there may be files.
                let is_lost = error.code() != Code::SandboxReplaced && self.starts_only_empty().unwrap_or_default();
                if is_lost { error.of_lost_workspace(&binding.address) } else { error.of_workspace(&binding.address) }
            }
            _ => error,
        }
    }

    /// Verifies that no start restores files into the sandbox, and that none was interrupted.
    pub(in crate::service) fn ensure_not_restoring(&self) -> Result<()> {
        let Some(row) = self.ledger.sandbox()?.filter(SandboxRecord::is_restoring) else { return Ok(()) };
        Err(match row.binding {
            Some(binding) if binding.superseded => Error::former_sandbox(&self.id, &binding.address),
            Some(_) => Error::start_unfinished(&self.id),
            None => Error::revive_unfinished(&self.id),
        })
    }
}
