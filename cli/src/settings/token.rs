//! The token for the API.

use std::fmt;
use std::path::Path;

use ureq::http::HeaderValue;

use crate::failure::{Failure, Result};
use crate::input;

/// A token that can be sent in a header.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

impl Token {
    /// Parses a token. Whitespace around it is not part of the token.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| {
            let remediation = "Pass the API_TOKEN of the deployment.";
            Failure::invalid("TOKEN_INVALID", format!("The token {why}."), remediation)
        };
        let token = text.trim();
        if token.is_empty() {
            return Err(refuse("is empty"));
        }
        // HTTP does not define the encoding of other characters.
        let header = token.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let header = header.then(|| HeaderValue::from_str(&format!("Bearer {token}")).ok()).flatten();
        let mut header = header
            .ok_or_else(|| refuse("contains characters other than printable ASCII, which can't be sent in a header"))?;
        header.set_sensitive(true);
        Ok(Self(header))
    }

    /// Reads the text of a file; `-` is the standard input. The error does not contain the path, which may be the token
    /// itself by mistake.
    pub fn read(path: &Path) -> Result<String> {
        input::read_text(path, |error| {
            let message = format!("The file of `--token-file` can't be read: {error}.");
            let remediation = "Pass the path of a file that contains the token, or `-` for the standard input.";
            Failure::invalid("TOKEN_UNREADABLE", message, remediation)
        })
    }

    /// Returns the value of the header `Authorization`.
    pub const fn authorization(&self) -> &HeaderValue {
        &self.0
    }
}

/// Omits the token.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_a_header_can_not_contain_is_refused() {
        for text in ["", " ", "two\nlines", "größer", "\u{7f}"] {
            let refused = Token::parse(text).err();
            assert_eq!(refused.as_ref().and_then(Failure::code), Some("TOKEN_INVALID"), "{text:?}");
        }
    }

    #[test]
    fn a_line_break_at_the_end_is_not_part_of_the_token() {
        assert_eq!(Token::parse("piped\n").unwrap().authorization(), "Bearer piped");
    }

    #[test]
    fn a_token_passed_instead_of_its_file_is_not_reported() {
        let Err(Failure::Reported(report)) = Token::read(Path::new("s3cret")) else {
            panic!("the file must not exist")
        };
        assert!(!report.message.contains("s3cret"), "{}", report.message);
    }

    #[test]
    fn the_token_is_never_printed() {
        assert_eq!(format!("{:?}", Token::parse("secret").unwrap()), "Token");
    }
}
