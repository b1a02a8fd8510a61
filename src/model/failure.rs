//! What the platform or the SDK threw, before it is given a code of ours.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The longest message that is kept, in characters.
const MAX_MESSAGE: usize = 500;

const UNEXPECTED: &str = "UnexpectedAnswer";

const TIMED_OUT: &str = "CallTimedOut";

/// A failure of the world outside: what the platform or the SDK threw.
///
/// What is text in it is made safe when it is taken in: query strings of URLs are cut out, since the SDK signs its URLs in
/// them, and it is shortened to 500 characters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{name}: {message}")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The SDK's error code (`errorResponse.code`), where it survived the way here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The name of the thrown error's class.
    pub name: String,
    /// What it said.
    pub message: String,
    /// The SDK's HTTP status for it, where it survived.
    #[serde(skip)]
    pub http_status: Option<u16>,
    /// Whether the platform says that the call may be repeated.
    #[serde(skip)]
    pub retryable: bool,
}

impl Failure {
    /// A failure by the name of its class and its message.
    pub fn new(name: impl Into<String>, message: &str) -> Self {
        Self { name: safe(&name.into()), message: safe(message), ..Self::default() }
    }

    /// An answer that can't be understood: of `what`, because of `why`.
    pub fn unexpected(what: &str, why: impl std::fmt::Display) -> Self {
        Self::new(UNEXPECTED, &format!("{what} answered something else than expected: {why}"))
    }

    /// Whether there was an answer, and it could not be understood: trying again will not help.
    pub fn is_unexpected(&self) -> bool {
        self.name == UNEXPECTED
    }

    /// A call that was not answered within its time limit: of `what`. It may still have its effect.
    pub fn timed_out(what: &str, limit: Duration) -> Self {
        Self::new(TIMED_OUT, &format!("{what} was not done within {} seconds", limit.as_secs()))
    }

    /// Whether a time limit passed without an answer: what became of the call is not known, and it may go on.
    pub fn is_timed_out(&self) -> bool {
        self.name == TIMED_OUT
    }

    /// Adds the SDK's code for it.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(safe(&code.into()));
        self
    }
}

/// Cuts what is secret out of the URLs in a message: user names, passwords and queries.
fn safe(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some(start) = rest.find("://") {
        let (before, url) = rest.split_at(start);
        let end =
            url.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')).unwrap_or(url.len());
        let (url, after) = url.split_at(end);
        out.push_str(before);
        out.push_str(&safe_url(url));
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

/// `://user:password@host/path?query` without the user and the query.
fn safe_url(url: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, ""), |(address, _)| (address, "?…"));
    let parts: Vec<String> = address.split("://").map(without_user).collect();
    parts.join("://") + query
}

/// `user:password@host/path` without the user.
fn without_user(address: &str) -> String {
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
    fn a_signed_url_loses_its_query() {
        let failure = Failure::new(
            "Error",
            "PUT https://x.example/a?X-Amz-Signature=secret failed, see 'https://y/?t=s' or z://",
        );
        assert_eq!(failure.message, "PUT https://x.example/a?… failed, see 'https://y/?…' or z://");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let failure = Failure::new("Error", &"ä".repeat(600));
        assert_eq!(failure.message.chars().count(), MAX_MESSAGE + 1);
    }
}
