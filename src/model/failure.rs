//! What the platform or the SDK threw, before it is given a code of ours.

use serde::Serialize;

/// The longest message that is kept, in characters.
const MAX_MESSAGE: usize = 500;

/// A failure of the world outside, kept as the cause of an [`Error`](super::Error).
///
/// Its message is made safe when it is taken in: query strings of URLs are cut out, since the SDK signs
/// its URLs in them, and it is shortened to 500 characters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, thiserror::Error)]
#[error("{name}: {message}")]
pub struct Failure {
    /// The SDK's error code (`errorResponse.code`), where it survived the way here.
    #[serde(skip_serializing_if = "Option::is_none")]
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
        Self { name: name.into(), message: safe(message), ..Self::default() }
    }

    /// Adds the SDK's code for it.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
}

fn safe(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some(start) = rest.find("://") {
        let (before, url) = rest.split_at(start);
        out.push_str(before);
        let end = url.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '>')).unwrap_or(url.len());
        let (url, after) = url.split_at(end);
        match url.split_once('?') {
            Some((address, _)) => {
                out.push_str(address);
                out.push_str("?…");
            }
            None => out.push_str(url),
        }
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
