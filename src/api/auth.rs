//! The bearer token of the HTTP API.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::model::{Error, Result};

/// Verifies the `Authorization` header against the configured token, with a comparison in constant time.
pub(super) fn check_token(configured: Option<&str>, header: Option<&str>) -> Result<()> {
    // A token that the user pipes into `wrangler secret put` may end in a line break.
    let Some(token) = configured.map(str::trim).filter(|token| !token.is_empty()) else {
        return Err(Error::http_api_closed());
    };
    let Some(given) = bearer_token(header) else {
        return Err(Error::bearer_token_missing());
    };
    if Sha256::digest(given).ct_eq(&Sha256::digest(token)).into() { Ok(()) } else { Err(Error::bearer_token_wrong()) }
}

/// Returns the bearer token of an `Authorization` header.
pub(super) fn bearer_token(header: Option<&str>) -> Option<&str> {
    let (scheme, token) = header?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Code;

    fn code(configured: Option<&str>, header: Option<&str>) -> Option<Code> {
        check_token(configured, header).err().map(|error| error.code())
    }

    #[test]
    fn api_is_closed_when_no_token_is_configured() {
        assert_eq!(code(None, Some("Bearer ")), Some(Code::ApiTokenMissing));
        assert_eq!(code(None, None), Some(Code::ApiTokenMissing));
        assert_eq!(code(Some(" "), Some("Bearer  ")), Some(Code::ApiTokenMissing));
    }

    #[test]
    fn api_accepts_only_the_configured_token() {
        assert_eq!(code(Some("s3cret"), Some("Bearer s3cret")), None);
        assert_eq!(code(Some("s3cret"), Some("bearer s3cret")), None);
        assert_eq!(code(Some("s3cret\n"), Some("Bearer s3cret")), None);
        for header in
            [None, Some(""), Some("s3cret"), Some("Basic s3cret"), Some("Bearer s3cre"), Some("Bearer S3CRET")]
        {
            assert_eq!(code(Some("s3cret"), header), Some(Code::Unauthorized), "{header:?}");
        }
    }
}
