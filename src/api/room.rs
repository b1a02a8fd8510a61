//! How much may be under way in one object of this Worker.
//!
//! An object shares 128 MB with others, and the WebAssembly never gives memory back. A call that waits was measured to take
//! 34 kB there, and four times its arguments. So what is under way is weighed, and who comes when there is no room left is
//! refused before anything is done. What objects tell each other is always let in: others wait for it.

use std::cell::Cell;
use std::rc::Rc;

use crate::model::Result;
use crate::service::busy;

/// How much may be under way, in bytes: some 900 calls with small arguments, or 110 with the largest.
const MOST: usize = 32 * 1024 * 1024;

/// What a call takes, in bytes; and how often its arguments.
const CALL: usize = 36 * 1024;
const TIMES: usize = 4;

/// The room of one object.
#[derive(Default)]
pub(super) struct Room {
    taken: Rc<Cell<usize>>,
}

/// A call's part of it, until this is dropped.
pub(super) struct Part {
    of: Rc<Cell<usize>>,
    bytes: usize,
}

impl Room {
    /// Lets a call in whose arguments are so many bytes of JSON. `whose` says which object this is.
    ///
    /// # Errors
    /// [`Code::SandboxBusy`](crate::model::Code::SandboxBusy) when there is no room.
    pub fn enter(&self, arguments: usize, whose: &str) -> Result<Part> {
        let bytes = CALL + TIMES * arguments;
        let taken = self.taken.get() + bytes;
        if taken > MOST {
            return Err(busy(&format!("More calls for {whose} are under way than there is memory for.")));
        }
        self.taken.set(taken);
        Ok(Part { of: Rc::clone(&self.taken), bytes })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.of.set(self.of.get() - self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::operations::MAX_ARGUMENTS;
    use crate::model::Code;

    /// Those that are let in, until there is no room for one more.
    fn fill(room: &Room, arguments: usize) -> Vec<Part> {
        std::iter::from_fn(|| room.enter(arguments, "the sandbox").ok()).collect()
    }

    #[test]
    fn hundreds_of_small_calls_are_let_in() {
        assert!(fill(&Room::default(), 1_000).len() > 500);
    }

    #[test]
    fn large_arguments_take_more_room() {
        assert!((100..200).contains(&fill(&Room::default(), MAX_ARGUMENTS).len()));
    }

    #[test]
    fn who_finds_no_room_is_to_try_again() {
        let room = Room::default();
        let _full = fill(&room, 0);
        let error = room.enter(0, "the sandbox").err().unwrap();
        assert_eq!((error.code(), error.retryable()), (Code::SandboxBusy, true));
    }

    #[test]
    fn who_leaves_makes_room() {
        let room = Room::default();
        drop(fill(&room, MAX_ARGUMENTS));
        assert!(room.enter(MAX_ARGUMENTS, "the sandbox").is_ok());
    }
}
