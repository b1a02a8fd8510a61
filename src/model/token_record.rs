//! The rows of access tokens, and the messages about them to the object of their tenant.

use std::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::token::{Token, TokenId};

/// The SHA-256 of a whole token, in base64url.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenHash(String);

impl TokenHash {
    /// Returns the hash of a token.
    pub fn of(token: &str) -> Self {
        Self(Base64UrlUnpadded::encode_string(&Sha256::digest(token)))
    }

    /// Compares the hashes in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

/// Omits the hash.
impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// The row of a token. It does not contain the token, whose secret therefore cannot be read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// The description of the token.
    pub token: Token,
    /// The hash of the token.
    pub hash: TokenHash,
}

/// A message about tokens to the object of their tenant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TokenMessage {
    /// Stores a new token.
    Create(Box<TokenRecord>),
    /// Returns all tokens.
    List,
    /// Deletes a token, and returns whether it existed.
    Revoke(TokenId),
    /// Returns the token with this id and this hash; null if there is none.
    Find(TokenId, TokenHash),
}
