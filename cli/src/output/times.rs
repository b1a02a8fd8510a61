//! Numbers of seconds in messages of the server, in the form that the options of this program take.

use crate::args::duration::DurationArg;

/// The units of times, largest first.
const UNITS: [(u64, char); 4] = [(86_400, 'd'), (3600, 'h'), (60, 'm'), (1, 's')];

/// Returns whether a message refuses an option of the API that is a number of seconds, and here a time.
pub fn refuses_time(message: &str) -> bool {
    message.contains("Seconds` must be ") && !message.contains("`freeze.timeoutSeconds`")
}

/// Replaces the numbers after `must be` in a message, or those before `seconds` in a remediation. `typed` returns what the user typed
/// for a number of seconds.
pub fn with_times(text: &str, typed: &dyn Fn(u64) -> Option<String>) -> String {
    let as_typed = |seconds| typed(seconds).unwrap_or_else(|| time(seconds));
    match (text.split_once(" must be "), text.split_once(" seconds")) {
        (Some((option, rest)), _) => {
            let (range, got) = rest.split_at(rest.find(", got ").unwrap_or(rest.len()));
            format!("{option} must be {}{}", replace_numbers(range, time), replace_numbers(got, as_typed))
        }
        (None, Some((range, rest))) => format!("{}{rest}", replace_numbers(range, time)),
        (None, None) => text.to_owned(),
    }
}

/// Returns the argument, or the value of one such as `--timeout=99h`, that is this number of seconds.
pub fn as_typed(seconds: u64, arguments: impl Iterator<Item = String>) -> Option<String> {
    let mut values = arguments.map(|argument| match argument.split_once('=') {
        Some((_, value)) => value.to_owned(),
        None => argument,
    });
    values.find(|value| value.parse() == Ok(DurationArg(seconds)))
}

fn replace_numbers(text: &str, time: impl Fn(u64) -> String) -> String {
    let (mut replaced, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let (digits, after) = from.split_at(from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len()));
        replaced += before;
        replaced += &digits.parse().map_or_else(|_| digits.to_owned(), &time);
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
            assert_eq!(text.parse(), Ok(DurationArg(seconds)));
        }
    }

    #[test]
    fn only_options_that_take_times_here_are_converted() {
        assert!(refuses_time("`expiry.idleSeconds` and `expiry.maxSeconds` must be 0–31536000"));
        assert!(!refuses_time("`freeze.timeoutSeconds` must be 2–60, got 70"));
        assert!(!refuses_time("`count` must be 1–100, got 250"));
        assert_eq!(with_times("Omit it.", &|_| None), "Omit it.");
    }

    #[test]
    fn a_refused_time_is_what_the_user_typed() {
        let message = "`timeoutSeconds` must be 1–3600, got 356400.";
        for arguments in [&["exec", "@lab", "--timeout", "99h"][..], &["exec", "--timeout=99h", "@lab"]] {
            let typed = |seconds| as_typed(seconds, arguments.iter().map(|argument| (*argument).to_owned()));
            assert_eq!(with_times(message, &typed), "`timeoutSeconds` must be 1s–1h, got 99h.");
        }
        assert_eq!(with_times(message, &|_| None), "`timeoutSeconds` must be 1s–1h, got 4d3h.");
    }
}
