//! An operation that is under way.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;

use super::World;

/// An operation that is under way, and goes on only when it is asked for its answer: then as far as it can
/// without anything else happening, so that a test is never left waiting.
pub struct Running<T> {
    pool: LocalPool,
    answer: Rc<RefCell<Option<T>>>,
    /// Whose background it waits for.
    world: Option<Rc<World>>,
    /// Whose time limits pass where it waits for nothing else.
    clock: Option<Rc<World>>,
}

impl<T: 'static> Running<T> {
    /// Starts `work`, and lets it go on as far as it can.
    pub fn start(work: impl Future<Output = T> + 'static) -> Self {
        Self::start_beside(None, None, work)
    }

    /// As [`start`](Self::start), for one whose calls have time limits.
    pub fn start_by(world: &Rc<World>, work: impl Future<Output = T> + 'static) -> Self {
        Self::start_beside(None, Some(Rc::clone(world)), work)
    }

    /// As [`start`](Self::start), for one that waits for what it leaves to the background.
    pub fn start_in(world: &Rc<World>, work: impl Future<Output = T> + 'static) -> Self {
        Self::start_beside(Some(Rc::clone(world)), Some(Rc::clone(world)), work)
    }

    fn start_beside(
        world: Option<Rc<World>>,
        clock: Option<Rc<World>>,
        work: impl Future<Output = T> + 'static,
    ) -> Self {
        let pool = LocalPool::new();
        let answer = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&answer);
        pool.spawner().spawn_local(async move { *slot.borrow_mut() = Some(work.await) }).unwrap();
        let mut running = Self { pool, answer, world, clock };
        running.go_on();
        running
    }

    /// Lets it go on, and says whether it is done.
    pub fn is_done(&mut self) -> bool {
        self.go_on();
        self.answer.borrow().is_some()
    }

    /// Its answer, which must be there now, or when the time limits of what it waits for have passed.
    pub fn answer(mut self) -> T {
        self.go_on();
        while self.answer.borrow().is_none() && self.clock.as_ref().is_some_and(|world| world.next_limit_passes()) {
            self.go_on();
        }
        self.answer.take().expect("the work waits for something that does not come")
    }

    fn go_on(&mut self) {
        self.pool.run_until_stalled();
        while self.world.as_ref().is_some_and(|world| world.go_on_in_background()) {
            self.pool.run_until_stalled();
        }
    }
}
