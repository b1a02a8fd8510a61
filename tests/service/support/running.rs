//! An operation that is under way.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;

/// An operation that is under way, and goes on only when it is asked for its answer: then as far as it can
/// without anything else happening, so that a test is never left waiting.
pub struct Running<T> {
    pool: LocalPool,
    answer: Rc<RefCell<Option<T>>>,
}

impl<T: 'static> Running<T> {
    /// Starts `work`, and lets it go on as far as it can.
    pub fn start(work: impl Future<Output = T> + 'static) -> Self {
        let pool = LocalPool::new();
        let answer = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&answer);
        pool.spawner().spawn_local(async move { *slot.borrow_mut() = Some(work.await) }).unwrap();
        let mut running = Self { pool, answer };
        running.go_on();
        running
    }

    /// Lets it go on, and says whether it is done.
    pub fn is_done(&mut self) -> bool {
        self.go_on();
        self.answer.borrow().is_some()
    }

    /// Its answer, which must be there now.
    pub fn answer(mut self) -> T {
        self.go_on();
        self.answer.take().expect("the work waits for something that does not come")
    }

    fn go_on(&mut self) {
        self.pool.run_until_stalled();
    }
}
