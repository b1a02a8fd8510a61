//! The bearer token of a request: the API token, or an access token.

use std::rc::Rc;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use wasm_bindgen::JsValue;
use worker::Env;

use crate::cloudflare::deployment::{WorkerPorts, api_token};
use crate::model::token::TokenText;
use crate::model::{Code, Error, Result};
use crate::service::access::Access;
use crate::service::access::authenticate::{self, TokenCache};

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

thread_local! {
    /// The tokens that this isolate verified.
    static VERIFIED: Rc<TokenCache> = Rc::default();
}

/// Returns what the bearer of the token in the `Authorization` header may do. Without the secret `API_TOKEN`, the HTTP API
/// is closed to all tokens.
///
/// # Errors
/// [`Code::Unauthorized`], [`Code::ApiTokenMissing`], and [`Code::TokensUnavailable`] when an access token cannot be
/// verified.
pub(super) async fn authenticate(env: &Env, ctx: &JsValue, header: Option<&str>) -> Result<Access> {
    match (check_token(api_token(env)?.as_deref(), header), access_token(header)) {
        (Ok(()), _) => Ok(Access::Everything),
        (Err(error), Some(token)) if error.code() == Code::Unauthorized => {
            let ports = WorkerPorts::open(env, ctx.clone())?;
            let cache = VERIFIED.with(Rc::clone);
            authenticate::authenticate(&ports, &cache, token).await.map(Access::Token)
        }
        (Err(error), _) => Err(error),
    }
}

/// Returns the access token of an `Authorization` header.
pub(super) fn access_token(header: Option<&str>) -> Option<&str> {
    bearer_token(header).filter(|token| token.starts_with(TokenText::PREFIX))
}

/// Returns the bearer token of an `Authorization` header.
pub(super) fn bearer_token(header: Option<&str>) -> Option<&str> {
    let (scheme, token) = header?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

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
