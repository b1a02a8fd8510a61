//! The memory budget of one object of this Worker: the limit of the calls that run at the same time.
//!
//! An object shares 128 MB with other objects, and WebAssembly memory never shrinks. By measurement, a waiting call
//! takes 34 kB plus four times the size of its arguments. Each call reserves that amount, and a call that exceeds the
//! budget is refused before it does anything. Messages between objects are exempt, because other calls wait for them.

use std::cell::Cell;
use std::rc::Rc;

use crate::model::{Error, Result};

/// The budget in bytes: about 900 calls with small arguments, or 110 with the largest.
const BUDGET_BYTES: usize = 32 * 1024 * 1024;

/// The memory of a call without its arguments, in bytes.
const CALL_BYTES: usize = 36 * 1024;

/// The memory of a call for each byte of its arguments, in bytes.
const ARGUMENTS_FACTOR: usize = 4;

/// The memory budget of one object.
#[derive(Default)]
pub(super) struct MemoryBudget {
    reserved: Rc<Cell<usize>>,
}

/// The reservation of a call. Dropping it returns its bytes to the budget.
pub(super) struct Reservation {
    budget: Rc<Cell<usize>>,
    bytes: usize,
}

impl MemoryBudget {
    /// Reserves memory for a call with `arguments` bytes of JSON. `owner` names the object in the error.
    ///
    /// # Errors
    /// [`Code::SandboxBusy`](crate::model::Code::SandboxBusy) when the budget does not suffice.
    pub fn reserve(&self, arguments: usize, owner: &str) -> Result<Reservation> {
        let bytes = CALL_BYTES + ARGUMENTS_FACTOR * arguments;
        let reserved = self.reserved.get() + bytes;
        if reserved > BUDGET_BYTES {
            return Err(Error::busy(&format!("The memory budget of {owner} is exhausted by the calls in progress.")));
        }
        self.reserved.set(reserved);
        Ok(Reservation { budget: Rc::clone(&self.reserved), bytes })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.set(self.budget.get() - self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::operations::MAX_ARGUMENTS;
    use crate::model::Code;

    /// Reserves memory for calls until the budget is exhausted.
    fn fill(budget: &MemoryBudget, arguments: usize) -> Vec<Reservation> {
        std::iter::from_fn(|| budget.reserve(arguments, "the sandbox").ok()).collect()
    }

    #[test]
    fn budget_admits_hundreds_of_small_calls() {
        assert!(fill(&MemoryBudget::default(), 1_000).len() > 500);
    }

    #[test]
    fn budget_admits_fewer_calls_with_large_arguments() {
        assert!((100..200).contains(&fill(&MemoryBudget::default(), MAX_ARGUMENTS).len()));
    }

    #[test]
    fn call_over_the_budget_fails_with_a_retryable_error() {
        let budget = MemoryBudget::default();
        let _full = fill(&budget, 0);
        let error = budget.reserve(0, "the sandbox").err().unwrap();
        assert_eq!((error.code(), error.is_retryable()), (Code::SandboxBusy, true));
    }

    #[test]
    fn dropped_reservation_returns_its_memory() {
        let budget = MemoryBudget::default();
        drop(fill(&budget, MAX_ARGUMENTS));
        assert!(budget.reserve(MAX_ARGUMENTS, "the sandbox").is_ok());
    }
}
