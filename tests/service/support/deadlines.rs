//! Time limits in memory: they pass when the world's time does, and never by themselves.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::World;

/// The limits that somebody waits for, by the time at which they pass and the order of their beginnings.
#[derive(Default)]
pub struct Deadlines {
    waiting: RefCell<BTreeMap<(i64, u64), Waker>>,
    begun: Cell<u64>,
}

impl Deadlines {
    /// Wakes those who wait for a limit that has passed.
    pub(super) fn wake(&self, now: i64) {
        let mut waiting = self.waiting.borrow_mut();
        let later = waiting.split_off(&(now + 1, 0));
        let passed = std::mem::replace(&mut *waiting, later);
        drop(waiting);
        passed.into_values().for_each(Waker::wake);
    }
}

impl World {
    /// Lets the next time limit pass that somebody waits for; says whether there is one.
    pub fn next_limit_passes(&self) -> bool {
        let next = self.deadlines.waiting.borrow().keys().next().map(|(at, _)| *at);
        let millis = next.map(|at| at - self.millis());
        if let Some(millis) = millis {
            self.pass(millis.max(0));
        }
        millis.is_some()
    }

    pub(super) fn deadline_after(&self, millis: i64) -> Deadline<'_> {
        let number = self.deadlines.begun.get() + 1;
        self.deadlines.begun.set(number);
        Deadline { world: self, key: (self.millis() + millis, number) }
    }
}

/// The wait for a time limit.
pub struct Deadline<'a> {
    world: &'a World,
    key: (i64, u64),
}

impl Future for Deadline<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.key.0 <= self.world.millis() {
            return Poll::Ready(());
        }
        self.world.deadlines.waiting.borrow_mut().insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Deadline<'_> {
    fn drop(&mut self) {
        self.world.deadlines.waiting.borrow_mut().remove(&self.key);
    }
}
