//! The token that opens the API.

use std::fmt;
use std::path::Path;

use ureq::http::HeaderValue;

use crate::failure::{Failure, Result};
use crate::input;

/// A token that can be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

impl Token {
    /// Checks a token. A line break at its end is not part of it.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| {
            let remediation = "Give the API_TOKEN of the deployment, and nothing else.";
            Failure::invalid("TOKEN_INVALID", format!("The token {why}."), remediation)
        };
        let token = text.trim();
        if token.is_empty() {
            return Err(refuse("is empty"));
        }
        // HTTP has no rule for what is not ASCII.
        let header = token.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let header = header.then(|| HeaderValue::from_str(&format!("Bearer {token}")).ok()).flatten();
        let mut header = header.ok_or_else(|| {
            refuse("has characters that can't be sent in a header, such as a line break or an umlaut")
        })?;
        header.set_sensitive(true);
        Ok(Self(header))
    }

    /// The text of a file; `-` is the standard input. A failure does not tell the name: it may be the token itself.
    pub fn read(path: &Path) -> Result<String> {
        input::read_text(path, |error| {
            let message = format!("What --token-file names can't be read: {error}.");
            let remediation = "Give a file that holds the token, or - for the standard input.";
            Failure::invalid("TOKEN_UNREADABLE", message, remediation)
        })
    }

    /// The value of the header `Authorization`.
    pub const fn authorization(&self) -> &HeaderValue {
        &self.0
    }
}

/// Without the token.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_no_header_can_have_is_refused() {
        for text in ["", " ", "two\nlines", "größer", "\u{7f}"] {
            let refused = Token::parse(text).err();
            assert_eq!(refused.as_ref().and_then(Failure::code), Some("TOKEN_INVALID"), "{text:?}");
        }
    }

    #[test]
    fn a_line_break_at_its_end_is_not_part_of_it() {
        assert_eq!(Token::parse("piped\n").unwrap().authorization(), "Bearer piped");
    }

    #[test]
    fn one_that_is_given_in_the_place_of_its_file_is_not_told() {
        let Err(Failure::Reported(told)) = Token::read(Path::new("s3cret")) else { panic!("there is no such file") };
        assert!(!told.message.contains("s3cret"), "{}", told.message);
    }

    #[test]
    fn it_is_never_printed() {
        assert_eq!(format!("{:?}", Token::parse("secret").unwrap()), "Token");
    }
}
