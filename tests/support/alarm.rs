//! The alarm of a Durable Object.

use std::cell::Cell;

use sandbox_snapshotter::model::Timestamp;

/// The alarm of a Durable Object: the time that the object stored, and the alarm of the platform, which ends when it
/// fires.
#[derive(Default)]
pub struct Alarm {
    stored: Cell<Option<Timestamp>>,
    due: Cell<Option<Timestamp>>,
    was_removed: Cell<bool>,
}

impl Alarm {
    /// Returns the time that the object stored. It stays after the alarm has fired.
    pub fn stored(&self) -> Option<Timestamp> {
        self.stored.get()
    }

    /// Returns the time at which the platform fires the alarm.
    pub fn due(&self) -> Option<Timestamp> {
        self.due.get()
    }

    /// Returns whether the object removed the alarm since it last fired.
    pub fn was_removed(&self) -> bool {
        self.was_removed.get()
    }

    /// Sets or removes the alarm. Returns whether its time changed.
    pub fn set(&self, at: Option<Timestamp>) -> bool {
        self.stored.set(at);
        if at.is_none() {
            self.was_removed.set(true);
        }
        self.due.replace(at) != at
    }

    /// Ends the alarm because it fires.
    pub fn fire(&self) {
        self.due.set(None);
        self.was_removed.set(false);
    }
}
