//! Deadlines in memory. A deadline passes only when a test advances the clock of the world.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use sandbox_snapshotter::model::Timestamp;

use super::World;

/// The wakers of the futures that wait for a deadline, by deadline and order of creation.
#[derive(Default)]
pub struct Deadlines {
    waiting: RefCell<BTreeMap<(i64, u64), Waker>>,
    last_number: Cell<u64>,
}

impl Deadlines {
    /// Wakes the futures whose deadline has passed.
    pub(super) fn wake_expired(&self, now: i64) {
        let mut waiting = self.waiting.borrow_mut();
        let later = waiting.split_off(&(now + 1, 0));
        let expired = std::mem::replace(&mut *waiting, later);
        drop(waiting);
        expired.into_values().for_each(Waker::wake);
    }
}

impl World {
    /// Advances the clock to the next deadline that a future waits for. Returns whether there is one.
    pub fn advance_to_deadline(&self) -> bool {
        let next = self.deadlines.waiting.borrow().keys().next().map(|(at, _)| *at);
        if let Some(at) = next {
            self.advance_clock_to(Timestamp::from_millis(at));
        }
        next.is_some()
    }

    pub(super) fn deadline_after(&self, millis: i64) -> Deadline<'_> {
        let number = self.deadlines.last_number.get() + 1;
        self.deadlines.last_number.set(number);
        Deadline { world: self, key: (self.current_time().as_millis() + millis, number) }
    }
}

/// A future that completes at a deadline.
pub struct Deadline<'a> {
    world: &'a World,
    key: (i64, u64),
}

impl Future for Deadline<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.key.0 <= self.world.current_time().as_millis() {
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
