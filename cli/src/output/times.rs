//! Numbers of seconds in messages of the server, in the form that the options of this program take.

/// The units of times, largest first.
const UNITS: [(u64, char); 4] = [(86_400, 'd'), (3600, 'h'), (60, 'm'), (1, 's')];

/// Returns whether a message refuses an option of the API that is a number of seconds, and here a time.
pub fn refuses_time(message: &str) -> bool {
    message.contains("Seconds` must be ") && !message.contains("`freeze.timeoutSeconds`")
}

/// Replaces the numbers after `must be` in a message, or those before `seconds` in a remediation.
pub fn with_times(text: &str) -> String {
    match (text.split_once(" must be "), text.split_once(" seconds")) {
        (Some((option, range)), _) => format!("{option} must be {}", replace_numbers(range)),
        (None, Some((range, rest))) => format!("{}{rest}", replace_numbers(range)),
        (None, None) => text.to_owned(),
    }
}

fn replace_numbers(text: &str) -> String {
    let (mut replaced, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let (digits, after) = from.split_at(from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len()));
        replaced += before;
        replaced += &digits.parse().map_or_else(|_| digits.to_owned(), time);
        rest = after;
    }
    replaced + rest
}

/// Formats a time as an option takes it, such as `1h30m`.
fn time(seconds: u64) -> String {
    let (mut left, mut text) = (seconds, String::new());
    for (length, unit) in UNITS.into_iter().filter(|_| seconds > 0) {
        if left >= length {
            text += &(left / length).to_string();
            text.push(unit);
            left %= length;
        }
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_the_form_of_an_option() {
        for (seconds, text) in [(0, "0"), (60, "1m"), (90, "1m30s"), (5400, "1h30m"), (3_153_600_000, "36500d")] {
            assert_eq!(time(seconds), text);
            assert_eq!(text.parse(), Ok(crate::args::duration::DurationArg(seconds)));
        }
    }

    #[test]
    fn only_options_that_take_times_here_are_converted() {
        assert!(refuses_time("`expiry.idleSeconds` and `expiry.maxSeconds` must be 0–31536000"));
        assert!(!refuses_time("`freeze.timeoutSeconds` must be 2–60, got 70"));
        assert!(!refuses_time("`count` must be 1–100, got 250"));
        assert_eq!(with_times("Omit it."), "Omit it.");
    }
}
