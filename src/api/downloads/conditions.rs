//! The conditions of a request for a download: `If-None-Match`, `If-Range` and `Range` (RFC 9110).

use std::ops::Range;

/// The headers with conditions.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// `If-None-Match`
    pub if_none_match: Option<String>,
    /// `If-Range`
    pub if_range: Option<String>,
    /// `Range`
    pub range: Option<String>,
}

/// What to respond with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// Nothing, because the client has this version.
    NotModified,
    /// All bytes.
    Whole,
    /// A range of the bytes.
    Part(Range<u64>),
    /// Nothing, because the range begins behind the end.
    NotSatisfiable,
}

impl Conditions {
    /// Evaluates the conditions for a version with the strong `etag`. `size` is the number of bytes; `None` if there are no
    /// ranges.
    pub fn select(&self, etag: &str, size: Option<u64>) -> Selected {
        let is_same = |tag: &str| matches!(tag.trim(), "*") || tag.trim().trim_start_matches("W/") == etag;
        if self.if_none_match.as_deref().is_some_and(|tags| tags.split(',').any(is_same)) {
            return Selected::NotModified;
        }
        // A date in `If-Range` never matches: the responses have no `Last-Modified`.
        let is_same_version = self.if_range.as_deref().is_none_or(|tag| tag.trim() == etag);
        match (&self.range, size) {
            (Some(range), Some(size)) if is_same_version => select_range(range, size),
            _ => Selected::Whole,
        }
    }
}

/// Selects one range. A header that is not valid, of another unit or with several ranges is ignored.
fn select_range(header: &str, size: u64) -> Selected {
    match parse_range(header) {
        None => Selected::Whole,
        Some(Requested::Last(0)) => Selected::NotSatisfiable,
        Some(Requested::Last(length)) if size > 0 => Selected::Part(size.saturating_sub(length)..size),
        Some(Requested::From(start, end)) if start < size => Selected::Part(start..end.saturating_add(1).min(size)),
        Some(_) => Selected::NotSatisfiable,
    }
}

/// A requested range.
enum Requested {
    /// From an offset to another one, including it.
    From(u64, u64),
    /// The last bytes.
    Last(u64),
}

fn parse_range(header: &str) -> Option<Requested> {
    let (unit, ranges) = header.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = ranges.trim().split_once('-')?;
    match (first, last) {
        ("", last) => number(last).map(Requested::Last),
        (first, "") => Some(Requested::From(number(first)?, u64::MAX)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(Requested::From(first, last))
        }
    }
}

/// Parses digits. A number that is too large is the largest one.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETAG: &str = "\"version\"";

    fn select(range: &str, size: u64) -> Selected {
        Conditions { range: Some(range.to_owned()), ..Conditions::default() }.select(ETAG, Some(size))
    }

    #[test]
    fn one_range_is_selected() {
        for (header, expected) in [
            ("bytes=0-0", 0..1),
            ("bytes=2-5", 2..6),
            ("Bytes = 2-5", 2..6),
            ("bytes=9-", 9..10),
            ("bytes=0-99", 0..10),
            ("bytes=-3", 7..10),
            ("bytes=-99", 0..10),
            ("bytes=0-99999999999999999999999", 0..10),
        ] {
            assert_eq!(select(header, 10), Selected::Part(expected), "{header}");
        }
    }

    #[test]
    fn range_behind_the_end_is_not_satisfiable() {
        for (header, size) in
            [("bytes=10-", 10), ("bytes=10-20", 10), ("bytes=-0", 10), ("bytes=0-", 0), ("bytes=-1", 0)]
        {
            assert_eq!(select(header, size), Selected::NotSatisfiable, "{header}");
        }
    }

    #[test]
    fn other_ranges_are_ignored() {
        for header in
            ["", "bytes", "bytes=", "bytes=-", "bytes=5-2", "lines=0-1", "bytes=0-1,4-5", "bytes=a-b", "bytes=+1-2"]
        {
            assert_eq!(select(header, 10), Selected::Whole, "{header}");
        }
    }

    #[test]
    fn known_version_is_not_modified() {
        for (tags, expected) in [
            (ETAG, Selected::NotModified),
            ("W/\"version\"", Selected::NotModified),
            ("\"other\", \"version\"", Selected::NotModified),
            ("*", Selected::NotModified),
            ("\"other\"", Selected::Whole),
            ("version", Selected::Whole),
        ] {
            let conditions = Conditions { if_none_match: Some(tags.to_owned()), ..Conditions::default() };
            assert_eq!(conditions.select(ETAG, Some(10)), expected, "{tags}");
        }
    }

    #[test]
    fn range_applies_only_to_the_same_version() {
        for (tag, expected) in [
            (ETAG, Selected::Part(1..10)),
            ("W/\"version\"", Selected::Whole),
            ("\"other\"", Selected::Whole),
            ("Fri, 20 Nov 2026 05:00:00 GMT", Selected::Whole),
        ] {
            let conditions = Conditions {
                if_range: Some(tag.to_owned()),
                range: Some("bytes=1-".to_owned()),
                ..Conditions::default()
            };
            assert_eq!(conditions.select(ETAG, Some(10)), expected, "{tag}");
        }
    }

    #[test]
    fn content_without_a_size_has_no_ranges() {
        let conditions = Conditions { range: Some("bytes=1-".to_owned()), ..Conditions::default() };
        assert_eq!(conditions.select(ETAG, None), Selected::Whole);
    }
}
