//! Runs tasks on one thread in an order that a seed decides, with a clock that jumps to the next timer when nothing else
//! is left to do.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::LocalBoxFuture;

use crate::random::SeededRng;

/// 2026-11-20T05:00:00Z, where every schedule begins.
const START_MILLIS: i64 = 1_795_150_800_000;

/// Tasks that live and die together: those of one object in memory. 0 is the world itself, which never dies.
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
    /// Absent while it is polled.
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
    /// Milliseconds since 1970.
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

    /// Ends every task of a group where it stands.
    pub fn kill(&self, group: Group) {
        let (dead, alive) = self.tasks.take().into_iter().partition(|task| task.group == group);
        self.tasks.replace(alive);
        drop::<Vec<Task>>(dead);
    }

    /// Ends everything.
    pub fn clear(&self) {
        drop(self.tasks.take());
        drop(self.timers.take());
    }

    /// One of the tasks that can go on, and its group.
    pub fn pick_ready(&self, chance: &SeededRng) -> Option<(u64, Group)> {
        let tasks = self.tasks.borrow();
        let can_go_on = |task: &&Task| task.wakeup.0.load(Ordering::Relaxed);
        let count = tasks.iter().filter(can_go_on).count();
        let index = chance.below(count.max(1));
        tasks.iter().filter(can_go_on).nth(index).map(|task| (task.number, task.group))
    }

    /// Lets a task go on as far as it can.
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

    /// Lets time pass to the next timer, if that is not later than `until`; says whether there was one.
    pub fn advance_to_timer(&self, until: i64) -> bool {
        let mut timers = self.timers.borrow_mut();
        let Some(entry) = timers.first_entry().filter(|entry| entry.key().0 <= until) else { return false };
        self.now.set(self.now.get().max(entry.key().0));
        let waker = entry.remove();
        drop(timers);
        waker.wake();
        true
    }

    /// Sets the clock forward, where no timer is left before that.
    pub fn advance_to(&self, now: i64) {
        self.now.set(self.now.get().max(now));
    }

    /// Waits; for nothing but the other tasks where it is no time.
    pub fn sleep(&self, millis: i64) -> Sleep<'_> {
        Sleep { executor: self, until: self.now() + millis, timer: None }
    }

    fn next_number(&self) -> u64 {
        self.last_number.set(self.last_number.get() + 1);
        self.last_number.get()
    }
}

/// A wait.
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
