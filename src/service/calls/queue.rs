//! Queues of limited length: a call that arrives when the queue is full is refused at once, and has no effect.
//!
//! A call for the same work as the last one in the queue shares its permit, because one answer serves both.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use crate::model::{Error, Result};

/// How many calls may be queued for serial work, including the one that runs.
pub(in crate::service) const MAX_QUEUE_LENGTH: usize = 32;

/// A queue that admits at most `capacity` permits.
pub(in crate::service) struct Queue<T = ()> {
    capacity: usize,
    permits: RefCell<Vec<Weak<Option<T>>>>,
}

/// A place in a queue, released when the last clone is dropped.
pub(in crate::service) type Permit<T = ()> = Rc<Option<T>>;

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self::with_capacity(MAX_QUEUE_LENGTH)
    }
}

impl<T> Queue<T> {
    /// Creates a queue of `capacity` places.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { capacity, permits: RefCell::default() }
    }
}

impl<T: PartialEq> Queue<T> {
    /// Acquires a permit, or shares the newest one where its key is the same; without a key, nothing is shared. `what`
    /// names the queued calls in the error, in the plural.
    ///
    /// # Errors
    /// [`Code::SandboxBusy`] when the queue is full.
    pub fn acquire(&self, key: Option<T>, what: &str) -> Result<Permit<T>> {
        let mut permits = self.permits.borrow_mut();
        permits.retain(|permit| permit.strong_count() > 0);
        let last = permits.last().and_then(Weak::upgrade);
        if let Some(last) = last.filter(|last| last.is_some() && **last == key) {
            return Ok(last);
        }
        if permits.len() >= self.capacity {
            return Err(Error::busy(&format!("{} {what} are already running or queued.", self.capacity)));
        }
        let permit = Rc::new(key);
        permits.push(Rc::downgrade(&permit));
        Ok(permit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Code;

    fn acquire(queue: &Queue<u8>, key: Option<u8>) -> Result<Permit<u8>> {
        queue.acquire(key, "calls")
    }

    #[test]
    fn full_queue_returns_retryable_error() {
        let queue = Queue::with_capacity(2);
        let _permits = [acquire(&queue, None).unwrap(), acquire(&queue, None).unwrap()];
        let error = acquire(&queue, None).unwrap_err();
        assert_eq!((error.code(), error.is_retryable()), (Code::SandboxBusy, true));
    }

    #[test]
    fn dropped_permit_frees_its_place() {
        let queue = Queue::with_capacity(1);
        drop(acquire(&queue, None).unwrap());
        acquire(&queue, None).unwrap();
    }

    #[test]
    fn same_key_as_newest_permit_shares_it() {
        let queue = Queue::with_capacity(1);
        let _first = acquire(&queue, Some(1)).unwrap();
        acquire(&queue, Some(1)).unwrap();
        acquire(&queue, Some(2)).unwrap_err();
    }

    #[test]
    fn shared_permit_is_released_by_its_last_owner() {
        let queue = Queue::with_capacity(1);
        let (first, second) = (acquire(&queue, Some(1)).unwrap(), acquire(&queue, Some(1)).unwrap());
        drop(first);
        acquire(&queue, Some(2)).unwrap_err();
        drop(second);
        acquire(&queue, Some(2)).unwrap();
    }

    #[test]
    fn same_key_as_older_permit_does_not_share_it() {
        let queue = Queue::with_capacity(2);
        let _others = [acquire(&queue, Some(1)).unwrap(), acquire(&queue, Some(2)).unwrap()];
        acquire(&queue, Some(1)).unwrap_err();
    }

    #[test]
    fn permit_without_key_is_not_shared() {
        let queue = Queue::with_capacity(1);
        let _first = acquire(&queue, None).unwrap();
        acquire(&queue, None).unwrap_err();
    }
}
