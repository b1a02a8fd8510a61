//! Tokens that permit some tools over MCP, and nothing else.
//!
//! A token contains its toolset and its expiry time, signed with a key that is derived from the API token. The Worker
//! therefore stores no tokens, and a change of the API token revokes all of them.

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::model::request::{GrantRequest, Toolset};
use crate::model::tool::ToolGrant;
use crate::model::{Error, Result, SigningKey, Timestamp, json};

/// The prefix of a token. It distinguishes a token from an API token, wherever it occurs.
const TOKEN_PREFIX: &str = "snapshotter-tools.";

/// The signed content of a token.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Claims {
    toolset: Toolset,
    expires_at: Timestamp,
}

/// Issues a token.
///
/// # Errors
/// [`Code::ApiTokenMissing`] when no API token is configured, because there is nothing to sign with.
pub fn issue_token(api_token: Option<&str>, request: &GrantRequest, now: Timestamp) -> Result<ToolGrant> {
    let key = signing_key(api_token)?;
    let millis = i64::try_from(request.expiration_seconds).unwrap_or(i64::MAX).saturating_mul(1000);
    let claims = Claims { toolset: request.toolset.clone(), expires_at: now.plus_millis(millis) };
    let text = json::to_string(&claims).map_err(|_| Error::internal())?;
    let body = Base64UrlUnpadded::encode_string(text.as_bytes());
    let token = format!("{TOKEN_PREFIX}{body}.{}", key.sign(body.as_bytes()));
    Ok(ToolGrant { token, expires_at: claims.expires_at })
}

/// Verifies a token, and returns its toolset; `None` if it is not a token of this kind.
///
/// # Errors
/// [`Code::Unauthorized`] for a token that was altered, that belongs to another API token, or that has expired.
pub fn verify_token(api_token: Option<&str>, token: &str, now: Timestamp) -> Result<Option<Toolset>> {
    let Some(signed) = token.strip_prefix(TOKEN_PREFIX) else { return Ok(None) };
    let (body, signature) = signed.split_once('.').ok_or_else(Error::tool_token_forged)?;
    if !signing_key(api_token)?.verify(body.as_bytes(), signature) {
        return Err(Error::tool_token_forged());
    }
    let text = Base64UrlUnpadded::decode_vec(body).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let claims: Claims =
        json::from_str(&text.ok_or_else(Error::tool_token_forged)?).map_err(|_| Error::tool_token_forged())?;
    if claims.expires_at <= now {
        return Err(Error::tool_token_expired());
    }
    claims.toolset.check()?;
    Ok(Some(claims.toolset))
}

/// Returns the key that signs tokens.
fn signing_key(api_token: Option<&str>) -> Result<SigningKey> {
    let Some(token) = api_token.map(str::trim).filter(|token| !token.is_empty()) else {
        return Err(Error::grants_closed());
    };
    let secret = Sha256::new().chain_update("sandbox-snapshotter tools 1\0").chain_update(token).finalize();
    Ok(SigningKey::new(1, secret.into()))
}
