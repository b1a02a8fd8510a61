//! Durations on the command line.

use std::str::FromStr;

use serde_json::Value;

/// A duration in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationArg(pub u64);

impl FromStr for DurationArg {
    type Err = String;

    /// Parses `90s`, `30m`, `1h30m`, `7d`, `2w`, `never` and `0`, which both mean never. Other numbers need a
    /// unit: readers differ in the one that they expect.
    fn from_str(text: &str) -> Result<Self, String> {
        if matches!(text, "never" | "0") {
            return Ok(Self(0));
        }
        parse_seconds(text).map(Self).ok_or_else(|| {
            "pass a number with a unit, such as 90s, 30m, 12h, 7d or 2w, or a combination, such as 1h30m".to_owned()
        })
    }
}

/// Converts the duration to the number of seconds that the API takes.
impl From<DurationArg> for Value {
    fn from(duration: DurationArg) -> Self {
        duration.0.into()
    }
}

fn parse_seconds(text: &str) -> Option<u64> {
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
        // Each unit may occur once, largest first, so that a typo such as `30m1m` is refused.
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
    fn a_duration_is_a_number_with_a_unit_or_a_combination() {
        let cases = [
            ("0", 0),
            ("never", 0),
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
    fn an_invalid_duration_is_refused_with_an_example() {
        for text in [
            "",
            "m",
            "5",
            "90",
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
            assert!(refused.is_err_and(|message| message.contains("30m")), "{text}");
        }
    }
}
