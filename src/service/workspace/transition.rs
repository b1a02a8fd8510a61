//! Moves a workspace from one state to another: writes its record, sets its alarm, and updates the Directory.

use futures_util::FutureExt;

use super::NamedWorkspace;
use super::save_schedule::next_save_alarm;
use crate::model::named::Task;
use crate::model::named::answer::{WorkspaceEntry, WorkspaceProblem};
use crate::model::named::{NamedRecord, State};
use crate::model::{Error, Result, Timestamp};
use crate::ports::{Background, Clock, NamedWorkspaceClient, Ports, WorkspaceStore};
use crate::service::tasks::backoff::RETRY_DELAY_MILLIS;

impl<P: Ports> NamedWorkspace<P> {
    /// Returns the current time.
    pub(in crate::service) fn now(&self) -> Timestamp {
        self.ports.clock().now()
    }

    /// Changes the current record. No other change can occur between the read and the write.
    pub(super) fn update_record(&self, change: impl FnOnce(&mut NamedRecord)) -> Result<NamedRecord> {
        let mut record = self.record()?.ok_or_else(Error::internal)?;
        change(&mut record);
        self.store.put_record(&record)?;
        self.schedule_alarm(&record)?;
        Ok(record)
    }

    /// Moves the record to another state, and applies `change` in the same write.
    pub(super) fn transition(
        &self,
        to: State,
        cause: &str,
        change: impl FnOnce(&mut NamedRecord),
    ) -> Result<NamedRecord> {
        let mut record = self.record()?.ok_or_else(Error::internal)?;
        let transition = record.transition(to, self.now(), cause).ok_or_else(Error::internal)?;
        change(&mut record);
        self.store.put_record(&record)?;
        self.store.log_transition(&self.address, &transition);
        self.schedule_alarm(&record)?;
        self.notify_directory();
        Ok(record)
    }

    /// Converts an error to the problem that the record contains.
    pub(in crate::service) fn problem(&self, error: &Error) -> WorkspaceProblem {
        WorkspaceProblem::from_error(error, self.now())
    }

    /// Updates the Directory in the background. No call waits for it.
    pub(super) fn notify_directory(&self) {
        let this = self.clone();
        // The alarm retries a failed update.
        self.ports.background().run(async move { drop(this.sync_directory().await) }.boxed_local());
    }

    /// Sets the alarm to the next due time.
    pub(in crate::service) fn schedule_alarm(&self, record: &NamedRecord) -> Result<()> {
        let now = self.now();
        let save_at = next_save_alarm(record, self.in_process.checked_at.get(), now);
        let other_at = next_alarm(record, self.store.alarm()?, now);
        self.store.set_alarm(save_at.into_iter().chain(other_at).min())
    }

    /// Writes the entry of the workspace to the Directory, if the Directory has an older version.
    pub(super) async fn sync_directory(&self) -> Result<()> {
        let Some(record) = self.record()?.filter(|record| record.directory_version < record.version) else {
            return Ok(());
        };
        let updated =
            self.ports.named_workspaces()?.update_directory(&self.address.tenant, &WorkspaceEntry::from(&record)).await;
        if updated.is_ok() {
            self.update_record(|current| current.directory_version = current.directory_version.max(record.version))?;
        }
        Ok(())
    }

    /// Recovers a record that an interrupted operation left in a transitional state. The caller has the operation lock,
    /// so no other operation runs. The interrupted operation is not complete, and the caller can repeat it; a task ends
    /// the sandbox that it may have started.
    pub(in crate::service) fn recover(&self) -> Result<()> {
        let Some(record) = self.record()? else { return Ok(()) };
        let state = match record.state {
            State::Provisioning => State::Failed,
            State::Restoring => State::Stopped,
            State::Stopping => State::Active,
            State::Active | State::Stopped | State::Failed | State::Deleted => return Ok(()),
        };
        let cause = format!("an operation was interrupted while it was {}", record.state);
        self.transition(state, &cause, |record| {
            if state != State::Active {
                record.add_task(Task::StopUnused(record.sandbox_id.clone()));
            }
        })?;
        Ok(())
    }
}

/// Returns the next due time, if there is one. Calls that arrive before it do not delay pending work: an alarm that is
/// already `set` is not moved to a later time.
fn next_alarm(record: &NamedRecord, set: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    let soon = now.plus_millis(RETRY_DELAY_MILLIS);
    let soon = set.filter(|at| *at > now).map_or(soon, |at| at.min(soon));
    let is_pending =
        record.state.is_in_transition() || !record.tasks.is_empty() || record.directory_version < record.version;
    let pending_at = is_pending.then_some(soon);
    let (idle_at, old_at) = if record.state == State::Active { record.deadlines() } else { (None, None) };
    // A failed stop is not retried at once.
    let deadline = idle_at
        .into_iter()
        .chain(old_at)
        .min()
        .map(|at| record.next_check_at.map_or(at, |next_check_at| at.max(next_check_at)));
    pending_at.into_iter().chain(deadline).min()
}
