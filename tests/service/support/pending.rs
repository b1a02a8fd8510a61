//! An operation in progress.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;

use super::World;

/// An operation in progress. It runs only during calls of its methods, until it waits for an event, so that a test
/// never blocks.
pub struct PendingOperation<T> {
    pool: LocalPool,
    answer: Rc<RefCell<Option<T>>>,
    /// The world whose background work it waits for.
    background: Option<Rc<World>>,
    /// The world whose clock advances to the next deadline when the operation waits for nothing else.
    clock: Option<Rc<World>>,
}

impl<T: 'static> PendingOperation<T> {
    /// Starts `work`, and runs it until it waits.
    pub fn start(work: impl Future<Output = T> + 'static) -> Self {
        Self::spawn(None, None, work)
    }

    /// As [`start`](Self::start), for work whose calls have timeouts.
    pub fn start_with_clock(world: &Rc<World>, work: impl Future<Output = T> + 'static) -> Self {
        Self::spawn(None, Some(Rc::clone(world)), work)
    }

    /// As [`start`](Self::start), for work that waits for its background work.
    pub fn start_with_background(world: &Rc<World>, work: impl Future<Output = T> + 'static) -> Self {
        Self::spawn(Some(Rc::clone(world)), Some(Rc::clone(world)), work)
    }

    fn spawn(world: Option<Rc<World>>, clock: Option<Rc<World>>, work: impl Future<Output = T> + 'static) -> Self {
        let pool = LocalPool::new();
        let answer = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&answer);
        pool.spawner().spawn_local(async move { *slot.borrow_mut() = Some(work.await) }).unwrap();
        let mut running = Self { pool, answer, background: world, clock };
        running.run_until_stalled();
        running
    }

    /// Runs the operation until it waits. Returns whether it is done.
    pub fn is_done(&mut self) -> bool {
        self.run_until_stalled();
        self.answer.borrow().is_some()
    }

    /// Returns the answer. Advances the clock past deadlines if necessary, and panics if the operation still waits.
    pub fn answer(mut self) -> T {
        self.run_until_stalled();
        while self.answer.borrow().is_none() && self.clock.as_ref().is_some_and(|world| world.advance_to_deadline()) {
            self.run_until_stalled();
        }
        self.answer.take().expect("the operation waits for an event that does not occur")
    }

    fn run_until_stalled(&mut self) {
        self.pool.run_until_stalled();
        while self.background.as_ref().is_some_and(|world| world.run_background()) {
            self.pool.run_until_stalled();
        }
    }
}
