//! An in-memory `WorkspaceStore`.

use std::cell::{OnceCell, RefCell};

use sandbox_snapshotter::model::named::{Address, NamedRecord, Transition};
use sandbox_snapshotter::model::{Result, Timestamp};
use sandbox_snapshotter::ports::WorkspaceStore;

use super::alarm::Alarm;

/// A change in a [`MemoryWorkspaceStore`].
pub enum StoreChange<'a> {
    /// The record was stored; with its former content.
    Record(Option<&'a NamedRecord>, &'a NamedRecord),
    /// A transition was logged.
    Transition(&'a Address, &'a Transition),
    /// The alarm was set to another time.
    Alarm(Timestamp),
}

type Observer = Box<dyn Fn(&StoreChange<'_>)>;

/// A [`WorkspaceStore`] in memory, without persistence. It passes the same conformance suite as the SQL implementation.
#[derive(Default)]
pub struct MemoryWorkspaceStore {
    record: RefCell<Option<NamedRecord>>,
    transitions: RefCell<Vec<(Address, Transition)>>,
    /// The alarm of the object.
    pub alarm: Alarm,
    observer: OnceCell<Observer>,
}

impl MemoryWorkspaceStore {
    /// Calls `observer` after every change.
    pub fn observe(&self, observer: impl Fn(&StoreChange<'_>) + 'static) {
        self.observer.set(Box::new(observer)).ok().expect("a store has one observer");
    }

    /// Returns the stored record.
    pub fn stored_record(&self) -> Option<NamedRecord> {
        self.record.borrow().clone()
    }

    /// Every logged transition, in order.
    pub fn transitions(&self) -> Vec<(Address, Transition)> {
        self.transitions.borrow().clone()
    }

    /// Drops the record.
    pub fn clear(&self) {
        self.record.take();
    }

    fn report(&self, change: &StoreChange<'_>) {
        if let Some(observer) = self.observer.get() {
            observer(change);
        }
    }
}

impl WorkspaceStore for MemoryWorkspaceStore {
    fn record(&self) -> Result<Option<NamedRecord>> {
        Ok(self.stored_record())
    }

    fn put_record(&self, record: &NamedRecord) -> Result<()> {
        let before = self.record.replace(Some(record.clone()));
        self.report(&StoreChange::Record(before.as_ref(), record));
        Ok(())
    }

    fn log_transition(&self, address: &Address, transition: &Transition) {
        self.transitions.borrow_mut().push((address.clone(), transition.clone()));
        self.report(&StoreChange::Transition(address, transition));
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        Ok(self.alarm.stored())
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        if self.alarm.set(at)
            && let Some(at) = at
        {
            self.report(&StoreChange::Alarm(at));
        }
        Ok(())
    }
}
