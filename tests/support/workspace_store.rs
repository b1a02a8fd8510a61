//! What is kept of a named workspace, in memory.

use std::cell::{Cell, RefCell};

use sandbox_snapshotter::model::named::{Address, NamedRecord, Transition};
use sandbox_snapshotter::model::{Result, Timestamp};
use sandbox_snapshotter::ports::WorkspaceStore;

/// A home that ends with its test. It does what the one over SQL does, and both pass the same conformance suite.
#[derive(Default)]
pub struct MemoryWorkspaceStore {
    record: RefCell<Option<NamedRecord>>,
    transitions: RefCell<Vec<(Address, Transition)>>,
    alarm: Cell<Option<Timestamp>>,
}

impl MemoryWorkspaceStore {
    /// Every transition of which a line was written, in order.
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
