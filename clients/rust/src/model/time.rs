//! Points in time.

use std::fmt;

use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970-01-01 UTC. Outside of Rust it is RFC 3339 in UTC with milliseconds:
/// `2026-11-20T05:00:00.000Z`, the form that JavaScript's `toISOString` writes.
///
/// The year always has four digits, so that every written timestamp can be read again: a time outside of that range
/// becomes [`MIN`](Self::MIN) or [`MAX`](Self::MAX).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest time with a year of four digits: the beginning of 0000.
    pub const MIN: Self = Self(-62_167_219_200_000);

    /// The latest time with a year of four digits: the end of 9999.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// Creates a point in time from its milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        if millis < Self::MIN.0 {
            Self::MIN
        } else if millis > Self::MAX.0 {
            Self::MAX
        } else {
            Self(millis)
        }
    }

    /// Returns the milliseconds since 1970-01-01 UTC.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the point in time `millis` later.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Formats the time as `YYYYMMDD-HHMMSS`, in UTC.
    pub fn compact(self) -> String {
        let text = self.to_string();
        let (date, time) = text.split_once('T').unwrap_or((&text, ""));
        let digits = |text: &str, count| text.chars().filter(char::is_ascii_digit).take(count).collect::<String>();
        format!("{}-{}", digits(date, 8), digits(time, 6))
    }

    /// Returns the milliseconds from `earlier` to this time; negative if this time is before `earlier`.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = DateTime::from_timestamp_millis(self.0).unwrap_or_default();
        f.write_str(&time.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = chrono::ParseError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        DateTime::parse_from_rfc3339(&text).map(|time| Self::from_millis(time.timestamp_millis()))
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}
