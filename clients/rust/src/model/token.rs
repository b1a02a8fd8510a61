//! Access tokens: bearer tokens of a tenant with permissions.

use std::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Serialize};

use super::ids::{checked_string, is_in_alphabet, random_text};
use super::named::{Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use super::schema::{extends, string_schemas};
use super::{Error, Label, Result, Timestamp};

/// What a caller may do. The operations declare the permission that they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Permission {
    /// Read snapshots, their files, and the descriptions of workspaces. Every other permission includes it.
    Read,
    /// Create, change and delete snapshots, checkpoints and workspaces, and start and stop workspaces.
    Snapshot,
    /// Run commands and write files in sandboxes. This includes reading the environment variables of workspaces.
    Work,
    /// Manage tokens and keys. Includes all other permissions.
    Admin,
}

impl Permission {
    /// All permissions.
    pub const ALL: [Self; 4] = [Self::Read, Self::Snapshot, Self::Work, Self::Admin];

    /// Returns the permission as it appears in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Snapshot => "snapshot",
            Self::Work => "work",
            Self::Admin => "admin",
        }
    }

    /// Parses a permission.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](super::Code::InvalidArgument)
    pub fn parse(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|permission| permission.as_str() == text);
        found.ok_or_else(|| Error::permission_unknown(text))
    }

    /// Returns whether a caller with this permission may do what needs `needed`.
    pub const fn includes(self, needed: Self) -> bool {
        matches!(
            (self, needed),
            (_, Self::Read) | (Self::Admin, _) | (Self::Snapshot, Self::Snapshot) | (Self::Work, Self::Work)
        )
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

checked_string! {
    /// The id of a token: 12 characters of a–z 0–9. It is not a secret.
    TokenId
}

#[cfg(feature = "schema")]
string_schemas! {
    TokenId { "pattern": "^[a-z0-9]{12}$" }
}

impl TokenId {
    /// The number of characters.
    const LENGTH: usize = 12;

    /// Parses an id.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](super::Code::InvalidArgument)
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() == Self::LENGTH && is_in_alphabet(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::token_id_invalid(text))
        }
    }

    /// Creates an id from random bytes; `None` if too few of them are usable.
    pub fn from_random(random: &[u8]) -> Option<Self> {
        random_text(random, Self::LENGTH).map(Self)
    }
}

/// The text of a token: `snapshotter-token.<tenant>.<id>.<secret>`. The secret is 32 random bytes in base64url.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenText {
    /// The tenant of the token.
    pub tenant: Tenant,
    /// The id of the token in its tenant.
    pub id: TokenId,
    secret: String,
}

impl TokenText {
    /// The prefix of a token. It distinguishes a token from other secrets, wherever it occurs.
    pub const PREFIX: &str = "snapshotter-token.";

    /// Returns the token with this secret.
    pub fn new(tenant: Tenant, id: TokenId, secret: &[u8; 32]) -> Self {
        Self { tenant, id, secret: Base64UrlUnpadded::encode_string(secret) }
    }

    /// Parses a token; `None` if it does not have the form.
    pub fn parse(text: &str) -> Option<Self> {
        // A tenant can contain dots, and the other parts cannot.
        let (rest, secret) = text.strip_prefix(Self::PREFIX)?.rsplit_once('.')?;
        let (tenant, id) = rest.rsplit_once('.')?;
        let is_secret = Base64UrlUnpadded::decode_vec(secret).is_ok_and(|bytes| bytes.len() == 32);
        let token =
            Self { tenant: Tenant::parse(tenant).ok()?, id: TokenId::parse(id).ok()?, secret: secret.to_owned() };
        is_secret.then_some(token)
    }
}

/// Writes the whole token, which is a secret.
impl fmt::Display for TokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}.{}.{}", Self::PREFIX, self.tenant, self.id, self.secret)
    }
}

/// Omits the secret.
impl fmt::Debug for TokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}.{}.…", Self::PREFIX, self.tenant, self.id)
    }
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Token"))]
pub struct Token {
    /// The id of the token.
    pub id: TokenId,
    /// The tenant whose workspaces the token permits.
    pub tenant: Tenant,
    /// Its label, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// What its bearer may do.
    pub permissions: Vec<Permission>,
    /// The workspaces that the token permits, with those that were made from them; all of the tenant if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspaces: Option<Vec<WorkspaceName>>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// The result of `tokens/create`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "CreatedToken", transform = extends("Token"))
)]
pub struct CreatedToken {
    /// The description of the token.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub description: Token,
    /// The token itself. Only this answer contains it: the Worker stores a hash.
    pub token: String,
}

/// The result of `tokens/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TokenList"))]
pub struct TokenList {
    /// The tokens that have not expired, newest first.
    pub tokens: Vec<Token>,
}

/// The result of `tokens/revoke`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RevokedToken"))]
pub struct RevokedToken {
    /// The id of the token.
    pub id: TokenId,
    /// Whether this call revoked the token. It is false, without an error, if there is no token with this id.
    pub revoked: bool,
}

/// The result of `tokens/current`: what the caller may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CurrentToken"))]
pub struct CurrentToken {
    /// What the caller may do, with the permissions that others include.
    pub permissions: Vec<Permission>,
    /// The token of the caller; absent for the API token and over a service binding, which permit everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

impl Token {
    /// Returns whether the bearer may do what needs `needed`.
    pub fn permits(&self, needed: Permission) -> bool {
        self.permissions.iter().any(|permission| permission.includes(needed))
    }
}
