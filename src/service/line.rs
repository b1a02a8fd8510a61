//! Lines of limited length: who comes when one is full is refused at once, and nothing was done for them.
//!
//! Who asks for the same as the last one in line shares their place, since one answer serves both.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use crate::model::{Code, Error, Result};

/// How many may stand in line for what is done one after the other, the one whose turn it is among them.
pub(super) const LONGEST: usize = 32;

/// A line.
pub(super) struct Line<T = ()> {
    longest: usize,
    places: RefCell<Vec<Weak<Option<T>>>>,
}

/// A place in a line, left when it is dropped.
pub(super) type Place<T = ()> = Rc<Option<T>>;

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self::of(LONGEST)
    }
}

impl<T> Line<T> {
    /// A line of so many places.
    pub fn of(longest: usize) -> Self {
        Self { longest, places: RefCell::default() }
    }
}

impl<T: PartialEq> Line<T> {
    /// Takes a place, or shares that of the last one who wished for the same. `what` is what the line is of, in the plural.
    ///
    /// # Errors
    /// [`Code::SandboxBusy`] when the line is full.
    pub fn stand(&self, wish: Option<T>, what: &str) -> Result<Place<T>> {
        let mut places = self.places.borrow_mut();
        places.retain(|place| place.strong_count() > 0);
        let last = places.last().and_then(Weak::upgrade);
        if let Some(last) = last.filter(|last| last.is_some() && **last == wish) {
            return Ok(last);
        }
        if places.len() >= self.longest {
            return Err(busy(&format!("{} {what} are under way or in line already.", self.longest)));
        }
        let place = Rc::new(wish);
        places.push(Rc::downgrade(&place));
        Ok(place)
    }
}

/// The error of who is refused because of all that is under way.
pub(crate) fn busy(why: &str) -> Error {
    Error::new(
        Code::SandboxBusy,
        format!("{why} Nothing was done."),
        "Try again when some of them are done, after a random wait that grows.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand(line: &Line<u8>, wish: Option<u8>) -> Result<Place<u8>> {
        line.stand(wish, "calls")
    }

    #[test]
    fn who_comes_when_it_is_full_is_to_try_again() {
        let line = Line::of(2);
        let _places = [stand(&line, None).unwrap(), stand(&line, None).unwrap()];
        let error = stand(&line, None).unwrap_err();
        assert_eq!((error.code(), error.retryable()), (Code::SandboxBusy, true));
    }

    #[test]
    fn a_place_is_free_again_when_it_is_left() {
        let line = Line::of(1);
        drop(stand(&line, None).unwrap());
        stand(&line, None).unwrap();
    }

    #[test]
    fn who_wishes_for_the_same_as_the_last_shares_the_place() {
        let line = Line::of(1);
        let _first = stand(&line, Some(1)).unwrap();
        stand(&line, Some(1)).unwrap();
        stand(&line, Some(2)).unwrap_err();
    }

    #[test]
    fn a_shared_place_is_left_by_the_last_who_has_it() {
        let line = Line::of(1);
        let (first, second) = (stand(&line, Some(1)).unwrap(), stand(&line, Some(1)).unwrap());
        drop(first);
        stand(&line, Some(2)).unwrap_err();
        drop(second);
        stand(&line, Some(2)).unwrap();
    }

    #[test]
    fn nobody_shares_a_place_with_who_stands_further_in_front() {
        let line = Line::of(2);
        let _others = [stand(&line, Some(1)).unwrap(), stand(&line, Some(2)).unwrap()];
        stand(&line, Some(1)).unwrap_err();
    }

    #[test]
    fn who_needs_a_place_of_his_own_shares_none() {
        let line = Line::of(1);
        let _first = stand(&line, None).unwrap();
        stand(&line, None).unwrap_err();
    }
}
