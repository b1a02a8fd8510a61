//! Labels: the names that people give to snapshots.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::checked_string;
use super::{Error, Result, Timestamp};

checked_string! {
    /// A label: 1–128 characters, with no control characters and no whitespace at either end.
    Label
}

impl Label {
    /// Returns the label of a snapshot that was taken without one: `snap-YYYYMMDD-HHMMSS` in UTC, with `-2`, `-3`… for
    /// further snapshots in the same second.
    pub fn default_at(time: Timestamp, number: u32) -> Self {
        let label = format!("snap-{}", time.compact());
        Self(if number > 1 { format!("{label}-{number}") } else { label })
    }

    /// The maximum length, in characters.
    pub const MAX: usize = 128;

    /// Parses a label. Fails with [`Code::InvalidLabel`].
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| Err(Error::invalid_label(text, why, Self::MAX));
        if text.is_empty() {
            return refuse("is empty");
        }
        if text.chars().count() > Self::MAX {
            return refuse(&format!("is longer than {} characters", Self::MAX));
        }
        if text.chars().any(char::is_control) {
            return refuse("contains a control character");
        }
        if text.trim() != text {
            return refuse("begins or ends with whitespace");
        }
        Ok(Self(text.to_owned()))
    }
}
