//! An in-memory `WorkspaceStore`.

use std::cell::{Cell, RefCell};

use sandbox_snapshotter::model::named::{Address, NamedRecord, Transition};
use sandbox_snapshotter::model::{Result, Timestamp};
use sandbox_snapshotter::ports::WorkspaceStore;

/// A [`WorkspaceStore`] in memory, without persistence. It passes the same conformance suite as the SQL implementation.
#[derive(Default)]
pub struct MemoryWorkspaceStore {
    record: RefCell<Option<NamedRecord>>,
    transitions: RefCell<Vec<(Address, Transition)>>,
    alarm: Cell<Option<Timestamp>>,
}

impl MemoryWorkspaceStore {
    /// Every logged transition, in order.
    pub fn transitions(&self) -> Vec<(Address, Transition)> {
        self.transitions.borrow().clone()
    }
}

impl WorkspaceStore for MemoryWorkspaceStore {
    fn record(&self) -> Result<Option<NamedRecord>> {
        Ok(self.record.borrow().clone())
    }

    fn put_record(&self, record: &NamedRecord) -> Result<()> {
        self.record.replace(Some(record.clone()));
        Ok(())
    }

    fn log_transition(&self, address: &Address, transition: &Transition) {
        self.transitions.borrow_mut().push((address.clone(), transition.clone()));
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        Ok(self.alarm.get())
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        self.alarm.set(at);
        Ok(())
    }
}
