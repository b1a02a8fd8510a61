//! Durations, as people type them.

use std::str::FromStr;

use serde_json::Value;

/// A duration in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationArg(pub u64);

impl FromStr for DurationArg {
    type Err = String;

    /// Reads `90`, `90s`, `30m`, `1h30m`, `7d`, `2w`, and `never`, which is 0.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" {
            return Ok(Self(0));
        }
        parse_seconds(text).map(Self).ok_or_else(|| {
            "give a number with a unit: 90s, 30m, 12h, 7d, 2w, or several of them: 1h30m; 0 is never".to_owned()
        })
    }
}

/// As the API takes it.
impl From<DurationArg> for Value {
    fn from(span: DurationArg) -> Self {
        span.0.into()
    }
}

fn parse_seconds(text: &str) -> Option<u64> {
    // A number alone is one of seconds.
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let (mut rest, mut seconds, mut largest) = (text, 0_u64, u64::MAX);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = rest.split_at_checked(digits)?;
        let length = match unit.chars().next()? {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 7 * 86_400,
            _ => return None,
        };
        // Each unit once, the largest first: `30m1m` is a slip.
        if length >= largest {
            return None;
        }
        largest = length;
        seconds = seconds.checked_add(number.parse::<u64>().ok()?.checked_mul(length)?)?;
        rest = unit.get(1..)?;
    }
    (largest != u64::MAX).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_a_unit_or_is_of_seconds() {
        let cases = [
            ("0", 0),
            ("never", 0),
            ("90", 90),
            ("90s", 90),
            ("30m", 1800),
            ("12h", 43_200),
            ("7d", 604_800),
            ("2w", 1_209_600),
            ("1h30m", 5400),
            ("1w2d3h4m5s", 788_645),
        ];
        for (text, seconds) in cases {
            assert_eq!(text.parse(), Ok(DurationArg(seconds)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_to_type() {
        for text in [
            "",
            "m",
            "-1",
            "1.5h",
            "30 m",
            "30min",
            "30m1m",
            "1m1h",
            "1y",
            "Never",
            "99999999999999999999s",
            "9999999999999999w",
        ] {
            let refused: Result<DurationArg, _> = text.parse();
            assert!(refused.is_err_and(|why| why.contains("30m")), "{text}");
        }
    }
}
