//! The records of named workspaces. Every write is checked.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use sandbox_snapshotter::model::named::{Address, NamedRecord, State, Transition};
use sandbox_snapshotter::model::{Result, Timestamp};
use sandbox_snapshotter::ports::WorkspaceStore;

use super::World;
use super::objects::ObjectKey;
use crate::rules::lifecycle;

/// The record of a named workspace, which checks every change.
pub struct CheckedWorkspaceStore {
    record: RefCell<Option<NamedRecord>>,
    world: Weak<World>,
    address: Address,
    /// The last alarm that was set.
    last_alarm: Cell<Option<Timestamp>>,
    /// The alarm of the platform. It is cleared when it fires.
    alarm: Cell<Option<Timestamp>>,
    was_alarm_cleared: Cell<bool>,
}

impl CheckedWorkspaceStore {
    /// Returns the empty store of the workspace `address`.
    pub fn new(world: &Rc<World>, address: Address) -> Self {
        let (record, world) = (RefCell::default(), Rc::downgrade(world));
        Self {
            record,
            world,
            address,
            last_alarm: Cell::default(),
            alarm: Cell::default(),
            was_alarm_cleared: Cell::default(),
        }
    }

    /// Clears the alarm because it fires.
    pub fn clear_fired_alarm(&self) {
        self.alarm.set(None);
        self.was_alarm_cleared.set(false);
    }

    /// Returns the time of the alarm.
    pub fn alarm_at(&self) -> Option<Timestamp> {
        self.alarm.get()
    }

    /// Returns whether the alarm was removed since it last fired.
    pub fn was_alarm_cleared(&self) -> bool {
        self.was_alarm_cleared.get()
    }

    /// Drops the record.
    pub fn clear(&self) {
        self.record.take();
    }

    /// Returns the stored record.
    pub fn stored_record(&self) -> Option<NamedRecord> {
        self.record.borrow().clone()
    }
}

impl WorkspaceStore for CheckedWorkspaceStore {
    fn record(&self) -> Result<Option<NamedRecord>> {
        Ok(self.stored_record())
    }

    fn put_record(&self, record: &NamedRecord) -> Result<()> {
        if let Some(world) = self.world.upgrade() {
            lifecycle::check_named_record(&world, self.record.borrow().as_ref(), record);
        }
        // The product stores the record as JSON.
        let text = serde_json::to_string(record).unwrap();
        self.record.replace(Some(serde_json::from_str(&text).unwrap()));
        Ok(())
    }

    fn log_transition(&self, address: &Address, transition: &Transition) {
        if let Some(world) = self.world.upgrade() {
            world.count("transitions");
            let from = transition.from.map_or("nothing", |from| from.as_str());
            world.trace(&format_args!("{address}: from {from} to {}: {}", transition.to, transition.cause));
            let now = world.now();
            // A deletion takes effect between the call and its answer.
            if transition.to == State::Deleted
                && let Some(at) = world.history.borrow_mut().workspace_deletes_at.get_mut(address)
            {
                *at = now;
            }
        }
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        Ok(self.last_alarm.get())
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        self.last_alarm.set(at);
        let before = self.alarm.replace(at);
        match (self.world.upgrade(), at) {
            (Some(world), Some(at)) if before != Some(at) => {
                world.set_alarm(ObjectKey::Workspace(self.address.clone()), at);
            }
            (_, None) => self.was_alarm_cleared.set(true),
            _ => {}
        }
        Ok(())
    }
}
