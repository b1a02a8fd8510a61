//! The store of a named workspace: records that are not stored, or stored without some of their changes.

use sandbox_snapshotter::model::named::Task;
use sandbox_snapshotter::model::named::{Address, NamedRecord, State, Transition};
use sandbox_snapshotter::model::{Result, SandboxId, Timestamp};
use sandbox_snapshotter::ports::{Clock, Ports, WorkspaceStore};

use super::{Bug, PlantedPorts};

impl PlantedPorts {
    /// Returns the sandbox that a named workspace has.
    pub(super) fn current_sandbox(&self) -> Option<SandboxId> {
        self.memory_store().stored_record().map(|record| record.sandbox_id)
    }
}

impl WorkspaceStore for PlantedPorts {
    fn record(&self) -> Result<Option<NamedRecord>> {
        self.memory_store().record()
    }

    fn put_record(&self, record: &NamedRecord) -> Result<()> {
        let Some(before) = self.memory_store().record()? else { return self.memory_store().put_record(record) };
        let mut record = record.clone();
        let is_recovery = record.state != before.state && record.history.first().is_some_and(is_by_recovery);
        if is_recovery && self.is_planted(Bug::TransitionNotReconciled) {
            return Ok(());
        }
        let mut drop_new_tasks = |is_dropped: &dyn Fn(&Task) -> bool| {
            record.tasks.retain(|task| before.tasks.contains(task) || !is_dropped(task));
        };
        if is_recovery && self.is_planted(Bug::InterruptedCreationNotEnded) {
            drop_new_tasks(&|task| matches!(task, Task::StopUnused(_)));
        }
        if self.is_planted(Bug::FormerSandboxNotEnded) {
            drop_new_tasks(&|task| *task == Task::StopUnused(before.sandbox_id.clone()));
        }
        if self.is_planted(Bug::FormerSandboxNotDecommissioned) {
            drop_new_tasks(&|task| matches!(task, Task::Decommission(id) if before.former_sandbox_ids.contains(id)));
        }
        if self.is_planted(Bug::SaveCountedAsUse)
            && (&record.history, &record.last_restore) == (&before.history, &before.last_restore)
            && record.last_saved_at > before.last_saved_at
        {
            record.active_at = self.ports.clock().now();
        }
        if self.is_planted(Bug::TurnDuringSaveForgotten) && before.turn_ended_at.is_some() {
            record.turn_ended_at = record.turn_ended_at.and(before.turn_ended_at);
        }
        if self.is_planted(Bug::TurnForgottenByStop) && record.state == State::Stopping {
            record.turn_ended_at = None;
        }
        if self.is_planted(Bug::ForkNotStored) {
            record.fork_calls.clear();
        }
        self.memory_store().put_record(&record)
    }

    fn log_transition(&self, address: &Address, transition: &Transition) {
        if !is_by_recovery(transition) || !self.is_planted(Bug::TransitionNotReconciled) {
            self.memory_store().log_transition(address, transition);
        }
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        self.memory_store().alarm()
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        self.memory_store().set_alarm(at)
    }
}

/// Returns whether a transition is one by which recovery ends an interrupted operation.
fn is_by_recovery(transition: &Transition) -> bool {
    let from = [State::Provisioning, State::Restoring, State::Stopping];
    transition.from.is_some_and(|state| from.contains(&state))
        && transition.cause.starts_with("an operation was interrupted")
}
