//! Numbers on the command line, whose refusals are plain sentences.

use std::num::NonZeroU32;

use sandbox_snapshotter_client::model::request::ForkRequest;

/// Parses a whole number from 0.
pub fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("pass a whole number from 0 to {}", u32::MAX))
}

/// Parses the number of forks.
pub fn forks(text: &str) -> Result<u32, String> {
    let most = ForkRequest::MAX_COUNT;
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("pass a whole number from 1 to {most}"))
}

/// Parses a whole number from 1.
pub fn positive(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| format!("pass a whole number from 1 to {}", u32::MAX))
}

#[cfg(test)]
mod tests {
    use crate::args::help;

    #[test]
    fn a_number_that_is_refused_is_answered_in_words() {
        for line in [
            "retention set a --keep-last 0",
            "retention set a --keep-last -1",
            "retention set a --keep-daily x",
            "retention set a --keep-weekly 4294967296",
            "workspace create a --autosave-keep 0",
            "workspace fork a --count 1.5",
            "workspace fork a --count 101",
            "snapshot create a --compression-threads 0",
            "snapshot create a --freeze-timeout 30s --freeze x --thaw y",
            "snapshot list a --limit x",
            "checkpoint diff a b --max-bytes 1k",
        ] {
            let words = ["snapshotter"].into_iter().chain(line.split(' '));
            let error = help::command().try_get_matches_from(words).unwrap_err().to_string();
            for jargon in ["non-zero", "digit", "..=", "target type"] {
                assert!(!error.contains(jargon), "{line}: {error}");
            }
            assert!(error.contains(": pass a whole number from ") || line.contains("-1"), "{line}: {error}");
        }
    }
}
