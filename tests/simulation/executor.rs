//! Runs tasks on one thread in an order that a seed decides. The clock jumps to the next timer when no task is ready.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::LocalBoxFuture;

use crate::memory::SeededRng;

/// 2026-11-20T05:00:00Z, the time at which every schedule begins.
pub const START_MILLIS: i64 = 1_795_150_800_000;

/// The tasks of one object in memory, which end together. Group 0 is the world itself, which never ends.
pub type Group = u32;

/// The tasks, and the clock.
pub struct Executor {
    now: Cell<i64>,
    last_number: Cell<u64>,
    tasks: RefCell<Vec<Task>>,
    timers: RefCell<BTreeMap<(i64, u64), Waker>>,
}

struct Task {
    number: u64,
    group: Group,
    wakeup: Arc<Wakeup>,
    /// Absent while the task is polled.
    work: Option<LocalBoxFuture<'static, ()>>,
}

struct Wakeup(AtomicBool);

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Default for Executor {
    fn default() -> Self {
        Self {
            now: Cell::new(START_MILLIS),
            last_number: Cell::default(),
            tasks: RefCell::default(),
            timers: RefCell::default(),
        }
    }
}

impl Executor {
    /// Returns the current time, in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.now.get()
    }

    /// Starts a task.
    pub fn spawn(&self, group: Group, work: impl Future<Output = ()> + 'static) {
        let ready = Arc::new(Wakeup(AtomicBool::new(true)));
        self.tasks.borrow_mut().push(Task {
            number: self.next_number(),
            group,
            wakeup: ready,
            work: Some(Box::pin(work)),
        });
    }

    /// Drops every task of a group at its present suspension point.
    pub fn kill(&self, group: Group) {
        let (ended, remaining) = self.tasks.take().into_iter().partition(|task| task.group == group);
        self.tasks.replace(remaining);
        drop::<Vec<Task>>(ended);
    }

    /// Drops all tasks and timers.
    pub fn clear(&self) {
        drop(self.tasks.take());
        drop(self.timers.take());
    }

    /// Picks one of the tasks that are ready to be polled, and returns it with its group.
    pub fn pick_ready(&self, rng: &SeededRng) -> Option<(u64, Group)> {
        let tasks = self.tasks.borrow();
        let is_ready = |task: &&Task| task.wakeup.0.load(Ordering::Relaxed);
        let count = tasks.iter().filter(is_ready).count();
        let index = rng.below(count.max(1));
        tasks.iter().filter(is_ready).nth(index).map(|task| (task.number, task.group))
    }

    /// Polls a task once.
    pub fn poll(&self, number: u64) {
        let of = |task: &Task| task.number == number;
        let taken = self.tasks.borrow_mut().iter_mut().find(|task| of(task)).and_then(|task| {
            task.wakeup.0.store(false, Ordering::Relaxed);
            Some((task.work.take()?, Waker::from(Arc::clone(&task.wakeup))))
        });
        let Some((mut work, waker)) = taken else { return };
        let is_done = work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        let mut tasks = self.tasks.borrow_mut();
        let index = tasks.iter().position(of);
        match index {
            Some(index) if is_done => drop(tasks.swap_remove(index)),
            Some(index) => tasks[index].work = Some(work),
            None => drop((tasks, work)),
        }
    }

    /// Advances the clock to the next timer, if that is not later than `until`. Returns whether there was one.
    pub fn advance_to_timer(&self, until: i64) -> bool {
        let mut timers = self.timers.borrow_mut();
        let Some(entry) = timers.first_entry().filter(|entry| entry.key().0 <= until) else { return false };
        self.now.set(self.now.get().max(entry.key().0));
        let waker = entry.remove();
        drop(timers);
        waker.wake();
        true
    }

    /// Advances the clock. No timer may be due before `now`.
    pub fn advance_to(&self, now: i64) {
        self.now.set(self.now.get().max(now));
    }

    /// Waits for `millis`. With 0, yields once to the other tasks.
    pub fn sleep(&self, millis: i64) -> Sleep<'_> {
        Sleep { executor: self, until: self.now() + millis, timer: None }
    }

    fn next_number(&self) -> u64 {
        self.last_number.set(self.last_number.get() + 1);
        self.last_number.get()
    }
}

/// The future of [`Executor::sleep`].
pub struct Sleep<'a> {
    executor: &'a Executor,
    until: i64,
    timer: Option<(i64, u64)>,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let is_first = self.timer.is_none();
        if !is_first && self.until <= self.executor.now() {
            return Poll::Ready(());
        }
        if is_first && self.until <= self.executor.now() {
            self.timer = Some((0, 0));
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let key = self.timer.unwrap_or_else(|| (self.until, self.executor.next_number()));
        self.timer = Some(key);
        self.executor.timers.borrow_mut().insert(key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.timer {
            self.executor.timers.borrow_mut().remove(&key);
        }
    }
}
