//! Tokens for who may use some tools over MCP, and nothing else.
//!
//! A token says itself what it is for, and until when, and is signed by a key that is made of the API token: there is nothing
//! to keep, and whoever changes the API token takes all of them back.

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::model::request::{GrantRequest, Toolset};
use crate::model::tool::Grant;
use crate::model::{Code, Error, Result, SigningKey, Timestamp, json};

/// What a token begins with. It can't be taken for an API token by who sees one in the wrong place.
const PREFIX: &str = "snapshotter-tools.";

/// What a token says.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Claims {
    toolset: Toolset,
    expires_at: Timestamp,
}

/// Makes a token.
///
/// # Errors
/// [`Code::ApiTokenMissing`] where no API token is configured: there is nothing to sign with.
pub fn grant(api_token: Option<&str>, request: &GrantRequest, now: Timestamp) -> Result<Grant> {
    let key = key(api_token)?;
    let millis = i64::try_from(request.expiration_seconds).unwrap_or(i64::MAX).saturating_mul(1000);
    let claims = Claims { toolset: request.toolset.clone(), expires_at: now.plus_millis(millis) };
    let text = json::print(&claims).map_err(|_| Error::defect())?;
    let body = Base64UrlUnpadded::encode_string(text.as_bytes());
    let token = format!("{PREFIX}{body}.{}", key.sign(body.as_bytes()));
    Ok(Grant { token, expires_at: claims.expires_at })
}

/// The tools that a token gives; `None` where it is no such token.
///
/// # Errors
/// [`Code::Unauthorized`] for one that was altered, is of another API token, or has expired.
pub fn granted(api_token: Option<&str>, token: &str, now: Timestamp) -> Result<Option<Toolset>> {
    let Some(signed) = token.strip_prefix(PREFIX) else { return Ok(None) };
    let refuse = |message: &str| {
        Error::new(Code::Unauthorized, message, "Have the application grant another token, by tools.grant().")
    };
    let wrong = || refuse("The token is not one that this deployment has granted");
    let (body, signature) = signed.split_once('.').ok_or_else(wrong)?;
    if !key(api_token)?.signed(body.as_bytes(), signature) {
        return Err(wrong());
    }
    let text = Base64UrlUnpadded::decode_vec(body).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let claims: Claims = json::parse(&text.ok_or_else(wrong)?).map_err(|_| wrong())?;
    if claims.expires_at <= now {
        return Err(refuse("The token has expired"));
    }
    claims.toolset.check()?;
    Ok(Some(claims.toolset))
}

/// The key that signs tokens.
fn key(api_token: Option<&str>) -> Result<SigningKey> {
    let Some(token) = api_token.map(str::trim).filter(|token| !token.is_empty()) else {
        return Err(Error::new(
            Code::ApiTokenMissing,
            "Tokens for tools can't be granted, because no API_TOKEN is configured",
            "Set one with `wrangler secret put API_TOKEN`.",
        ));
    };
    let secret = Sha256::new().chain_update("sandbox-snapshotter tools 1\0").chain_update(token).finalize();
    Ok(SigningKey::new(1, secret.into()))
}
