//! A person's name for a snapshot.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::{checked_string, quoted};
use super::{Code, Error, Result, Timestamp};

checked_string! {
    /// A label: 1–128 characters, none of them a control character, not blank at either end.
    Label
}

impl Label {
    /// The label of a snapshot that was given none: `snap-YYYYMMDD-HHMMSS` in UTC, with `-2`, `-3`… for the others of
    /// that second.
    pub fn of_time(time: Timestamp, number: u32) -> Self {
        let label = format!("snap-{}", time.compact());
        Self(if number > 1 { format!("{label}-{number}") } else { label })
    }

    /// The longest label, in characters.
    pub const MAX: usize = 128;

    /// Checks a label, or says what is wrong with it ([`Code::InvalidLabel`]).
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| {
            Err(Error::new(
                Code::InvalidLabel,
                format!("The label {} {why}.", quoted(text)),
                format!(
                    "Give 1 to {} characters, no control characters, no blanks at the ends; or no label.",
                    Self::MAX
                ),
            ))
        };
        if text.is_empty() {
            return refuse("is empty");
        }
        if text.chars().count() > Self::MAX {
            return refuse("is too long");
        }
        if text.chars().any(char::is_control) {
            return refuse("contains a control character");
        }
        if text.trim() != text {
            return refuse("begins or ends with a blank");
        }
        Ok(Self(text.to_owned()))
    }
}
