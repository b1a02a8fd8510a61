//! What the platform or the SDK threw, before it gets a [`Code`](super::Code).

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The maximum length of a stored message, in characters.
const MAX_MESSAGE: usize = 500;

const PROTOCOL: &str = "UnexpectedAnswer";

const TIMED_OUT: &str = "CallTimedOut";

const UNMOUNTED: &str = "DirectoryUnmounted";

/// A failure of the platform or the SDK, as it was thrown.
///
/// Its texts are redacted on creation: the user names, passwords and query strings of URLs are removed, because the SDK
/// signs its URLs in the query. Each text is cut to 500 characters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{name}: {message}")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The SDK's error code (`errorResponse.code`), if it was passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The name of the thrown error's class.
    pub name: String,
    /// The message of the thrown error.
    pub message: String,
    /// The SDK's HTTP status for the error, if it was passed on.
    #[serde(skip)]
    pub http_status: Option<u16>,
    /// Whether the platform marks the call as retryable.
    #[serde(skip)]
    pub retryable: bool,
}

impl Failure {
    /// Creates a failure from the name of an error class and a message.
    pub fn new(name: impl Into<String>, message: &str) -> Self {
        Self { name: redact(&name.into()), message: redact(message), ..Self::default() }
    }

    /// Creates the failure for an unexpected response of `what`; `why` is the reason.
    pub fn protocol(what: &str, why: impl std::fmt::Display) -> Self {
        Self::new(PROTOCOL, &format!("{what} returned an unexpected response: {why}"))
    }

    /// Whether there was a response that could not be read. A retry will not help.
    pub fn is_protocol(&self) -> bool {
        self.name == PROTOCOL
    }

    /// Creates the failure for a call to `what` that got no response within its time limit. The call may still take
    /// effect.
    pub fn timed_out(what: &str, limit: Duration) -> Self {
        Self::new(TIMED_OUT, &format!("{what} did not complete within {} seconds", limit.as_secs()))
    }

    /// Whether a time limit passed without a response. The outcome of the call is unknown, and it may still be running.
    pub fn is_timed_out(&self) -> bool {
        self.name == TIMED_OUT
    }

    /// Returns the failure of a check of a directory that does not show its files: a file system was mounted over it, or the
    /// mount of its files is gone.
    pub fn unmounted() -> Self {
        Self::new(UNMOUNTED, "The directory does not show its files.")
    }

    /// Whether this is [`unmounted`](Self::unmounted).
    pub fn is_unmounted(&self) -> bool {
        self.name == UNMOUNTED
    }

    /// Adds the SDK's error code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(redact(&code.into()));
        self
    }
}

/// Removes secrets from the URLs in a message: user names, passwords and query strings.
fn redact(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some(start) = rest.find("://") {
        let (before, url) = rest.split_at(start);
        let end =
            url.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')).unwrap_or(url.len());
        let (url, after) = url.split_at(end);
        out.push_str(before);
        out.push_str(&redact_url(url));
        rest = after;
    }
    out.push_str(rest);
    match out.char_indices().nth(MAX_MESSAGE) {
        Some((cut, _)) => {
            out.truncate(cut);
            out.push('…');
            out
        }
        None => out,
    }
}

/// Removes the user and the query from `://user:password@host/path?query`.
fn redact_url(url: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, ""), |(address, _)| (address, "?…"));
    let parts: Vec<String> = address.split("://").map(without_userinfo).collect();
    parts.join("://") + query
}

/// Removes the user from `user:password@host/path`.
fn without_userinfo(address: &str) -> String {
    let end = address.find('/').unwrap_or(address.len());
    match address.get(..end).and_then(|authority| authority.rfind('@')) {
        Some(at) => format!("…{}", address.get(at..).unwrap_or_default()),
        None => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_removes_the_query_of_a_signed_url() {
        let failure = Failure::new(
            "Error",
            "PUT https://x.example/a?X-Amz-Signature=secret failed, see 'https://y/?t=s' or z://",
        );
        assert_eq!(failure.message, "PUT https://x.example/a?… failed, see 'https://y/?…' or z://");
    }

    #[test]
    fn new_cuts_a_long_message_between_characters() {
        let failure = Failure::new("Error", &"ä".repeat(600));
        assert_eq!(failure.message.chars().count(), MAX_MESSAGE + 1);
    }
}
