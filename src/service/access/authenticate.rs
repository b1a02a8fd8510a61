//! Finds the token of a request: in the cache of this entrypoint, or in the object of its tenant.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::model::token::{Token, TokenText};
use crate::model::token_record::{TokenHash, TokenMessage};
use crate::model::{Error, Result, Timestamp};
use crate::ports::{Clock, NamedWorkspaceClient, Ports};

/// How long an entrypoint accepts a token without another look-up, in milliseconds. A revoked token is refused after this
/// time at the latest.
pub const CACHE_MILLIS: i64 = 30_000;

/// The maximum number of tokens in a cache.
const MAX_CACHED: usize = 1000;

/// The tokens that an entrypoint verified in the last 30 seconds.
#[derive(Default)]
pub struct TokenCache(RefCell<HashMap<TokenHash, (Rc<Token>, Timestamp)>>);

impl TokenCache {
    fn get(&self, hash: &TokenHash, now: Timestamp) -> Option<Rc<Token>> {
        let cached = self.0.borrow();
        cached.get(hash).filter(|(_, until)| *until > now).map(|(token, _)| Rc::clone(token))
    }

    /// Caches a token that was looked up at `now` or later.
    fn put(&self, hash: TokenHash, token: Rc<Token>, now: Timestamp) {
        let mut cached = self.0.borrow_mut();
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(hash, (token, now.plus_millis(CACHE_MILLIS)));
    }
}

/// Returns the token with the text `text`.
///
/// # Errors
/// [`Code::Unauthorized`] for a token that is wrong, was revoked or has expired. [`Code::TokensUnavailable`] when the
/// object of its tenant does not answer: then nothing is permitted.
pub async fn authenticate<P: Ports>(ports: &P, cache: &TokenCache, text: &str) -> Result<Rc<Token>> {
    let now = ports.clock().now();
    let hash = TokenHash::of(text);
    let cached = cache.get(&hash, now);
    let token = if let Some(token) = cached { token } else { look_up(ports, cache, text, hash, now).await? };
    if token.expires_at <= now { Err(Error::token_expired()) } else { Ok(token) }
}

/// Looks a token up in the object of its tenant.
async fn look_up<P: Ports>(
    ports: &P,
    cache: &TokenCache,
    text: &str,
    hash: TokenHash,
    now: Timestamp,
) -> Result<Rc<Token>> {
    let TokenText { tenant, id, .. } = TokenText::parse(text).ok_or_else(Error::token_unknown)?;
    // The hash covers the tenant and the id.
    let message = TokenMessage::Find(id, hash.clone());
    let found: Option<Token> = ports.named_workspaces()?.call_tokens(&tenant, &message).await?;
    let token = Rc::new(found.ok_or_else(Error::token_unknown)?);
    cache.put(hash, Rc::clone(&token), now);
    Ok(token)
}
