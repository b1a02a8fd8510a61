//! What is kept of a named workspace, in memory.

use std::cell::{Cell, RefCell};

use sandbox_snapshotter::model::named::{Address, NamedRecord, Transition};
use sandbox_snapshotter::model::{Result, Timestamp};
use sandbox_snapshotter::ports::Home;

/// A home that ends with its test. It does what the one over SQL does, and both pass the same conformance suite.
#[derive(Default)]
pub struct MemoryHome {
    named: RefCell<Option<NamedRecord>>,
    logged: RefCell<Vec<(Address, Transition)>>,
    alarm: Cell<Option<Timestamp>>,
}

impl MemoryHome {
    /// Every transition of which a line was written, in order.
    pub fn logged(&self) -> Vec<(Address, Transition)> {
        self.logged.borrow().clone()
    }
}

impl Home for MemoryHome {
    fn named(&self) -> Result<Option<NamedRecord>> {
        Ok(self.named.borrow().clone())
    }

    fn put_named(&self, record: &NamedRecord) -> Result<()> {
        self.named.replace(Some(record.clone()));
        Ok(())
    }

    fn log(&self, address: &Address, transition: &Transition) {
        self.logged.borrow_mut().push((address.clone(), transition.clone()));
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        Ok(self.alarm.get())
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        self.alarm.set(at);
        Ok(())
    }
}
