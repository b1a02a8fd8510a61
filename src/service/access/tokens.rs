//! Creates, lists and revokes tokens. The entrypoint draws the secret; the object of the tenant stores a hash.

use serde_json::Value;

use crate::model::request::{CreateTokenRequest, ListTokensRequest, RevokeTokenRequest};
use crate::model::token::{CreatedToken, RevokedToken, Token, TokenId, TokenList, TokenText};
use crate::model::token_record::{TokenHash, TokenMessage, TokenRecord};
use crate::model::{Error, Result, json};
use crate::ports::{Clock, Entropy, NamedWorkspaceClient, Ports, TokenStore};
use crate::service::draw_random;

/// The maximum number of tokens of a tenant that have not expired.
pub const MAX_TOKENS: usize = 100;

/// Creates a token.
///
/// # Errors
/// [`Code::TooManyTokens`], [`Code::TokensUnavailable`].
pub async fn create<P: Ports>(ports: &P, request: CreateTokenRequest) -> Result<CreatedToken> {
    let CreateTokenRequest { tenant, permissions, workspaces, label, expiration_seconds } = request;
    let id = draw_random(ports, TokenId::from_random)?;
    let text = TokenText::new(tenant.clone(), id.clone(), &ports.entropy().random_bytes()?).to_string();
    let created_at = ports.clock().now();
    let millis = i64::try_from(expiration_seconds).unwrap_or(i64::MAX).saturating_mul(1000);
    let expires_at = created_at.plus_millis(millis);
    let token = Token { id, tenant, label, permissions, workspaces, created_at, expires_at };
    let record = TokenRecord { token: token.clone(), hash: TokenHash::of(&text) };
    let message = TokenMessage::Create(Box::new(record));
    let () = ports.named_workspaces()?.call_tokens(&token.tenant, &message).await?;
    Ok(CreatedToken { description: token, token: text })
}

/// Lists the tokens of a tenant that have not expired, newest first.
///
/// # Errors
/// [`Code::TokensUnavailable`]
pub async fn list<P: Ports>(ports: &P, request: &ListTokensRequest) -> Result<TokenList> {
    let now = ports.clock().now();
    let mut tokens: Vec<Token> = ports.named_workspaces()?.call_tokens(&request.tenant, &TokenMessage::List).await?;
    tokens.retain(|token| token.expires_at > now);
    tokens.sort_by(|one, other| (other.created_at, &other.id).cmp(&(one.created_at, &one.id)));
    Ok(TokenList { tokens })
}

/// Revokes a token. Entrypoints that verified it before accept it for at most
/// [`CACHE_MILLIS`](super::authenticate::CACHE_MILLIS) more.
///
/// # Errors
/// [`Code::TokensUnavailable`]
pub async fn revoke<P: Ports>(ports: &P, request: RevokeTokenRequest) -> Result<RevokedToken> {
    let RevokeTokenRequest { tenant, id } = request;
    let revoked = ports.named_workspaces()?.call_tokens(&tenant, &TokenMessage::Revoke(id.clone())).await?;
    Ok(RevokedToken { id, revoked })
}

/// Handles a message in the object of a tenant, and returns JSON.
///
/// # Errors
/// [`Code::TooManyTokens`], and those of the storage.
pub fn handle(store: &impl TokenStore, message: TokenMessage) -> Result<Value> {
    let answer = match message {
        TokenMessage::Create(record) => json::to_value(&store_new(store, &record)?),
        TokenMessage::List => {
            json::to_value(&store.tokens()?.into_iter().map(|record| record.token).collect::<Vec<_>>())
        }
        TokenMessage::Revoke(id) => json::to_value(&store.delete_token(&id)?),
        TokenMessage::Find(id, hash) => {
            let found = store.token(&id)?.filter(|record| record.hash.matches(&hash));
            json::to_value(&found.map(|record| record.token))
        }
    };
    answer.map_err(Error::message_unreadable)
}

/// Stores a new token, and deletes those that have expired.
fn store_new(store: &impl TokenStore, record: &TokenRecord) -> Result<()> {
    let mut valid = 0;
    for known in store.tokens()? {
        if known.token.expires_at <= record.token.created_at {
            store.delete_token(&known.token.id)?;
        } else if known.token.id == record.token.id {
            return Err(Error::no_usable_id());
        } else {
            valid += 1;
        }
    }
    if valid >= MAX_TOKENS {
        return Err(Error::too_many_tokens(MAX_TOKENS));
    }
    store.put_token(record)
}
