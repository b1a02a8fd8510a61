//! Signatures of refs.
//!
//! A ref passes through applications, logs and language models. A returned ref is trusted because it carries an
//! HMAC-SHA-256 tag. The ledger of its origin stores the key. Each key has a number. The newest key signs, and the
//! signatures of the previous one stay valid.

use std::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::SnapshotRef;

/// The length of the tag in a short signature, in bytes.
const SHORT_TAG_BYTES: usize = 16;

/// A key that signs refs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct SigningKey {
    number: u32,
    secret: [u8; 32],
}

/// The stored form of a key: the secret is base64url.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    number: u32,
    secret: String,
}

impl SigningKey {
    /// Creates the key with this number.
    pub const fn new(number: u32, secret: [u8; 32]) -> Self {
        Self { number, secret }
    }

    /// Returns the number of the key.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Signs `message`. The form of a signature is `<number of the key>.<base64url>`.
    pub fn sign(&self, message: &[u8]) -> String {
        format!("{}.{}", self.number, Base64UrlUnpadded::encode_string(&self.tag(message)))
    }

    /// Signs `message` with half of the tag, for texts that are to be short.
    pub fn sign_short(&self, message: &[u8]) -> String {
        let tag = self.tag(message);
        let half = tag.get(..SHORT_TAG_BYTES).unwrap_or(&tag);
        format!("{}.{}", self.number, Base64UrlUnpadded::encode_string(half))
    }

    /// Whether `signature` is this key's short signature of `message`. Compares in constant time.
    pub fn verify_short(&self, message: &[u8], signature: &str) -> bool {
        let Some((number, tag)) = signature.split_once('.') else { return false };
        let tag = Base64UrlUnpadded::decode_vec(tag).ok().filter(|tag| tag.len() == SHORT_TAG_BYTES);
        let is_valid = |tag: Vec<u8>| self.mac(message).is_some_and(|mac| mac.verify_truncated_left(&tag).is_ok());
        number == self.number.to_string() && tag.is_some_and(is_valid)
    }

    /// Whether `signature` is this key's signature of `message`. Compares in constant time.
    pub fn verify(&self, message: &[u8], signature: &str) -> bool {
        let Some((number, tag)) = signature.split_once('.') else { return false };
        let Ok(tag) = Base64UrlUnpadded::decode_vec(tag) else { return false };
        number == self.number.to_string() && self.mac(message).is_some_and(|mac| mac.verify_slice(&tag).is_ok())
    }

    /// Returns the tag of `message`, which cannot be computed without the key.
    pub fn tag(&self, message: &[u8]) -> [u8; 32] {
        self.mac(message).map(|mac| mac.finalize().into_bytes().into()).unwrap_or_default()
    }

    /// Never returns `None`: HMAC accepts a key of any length.
    fn mac(&self, message: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).ok()?;
        mac.update(message);
        Some(mac)
    }
}

/// Whether one of `keys` signed a ref.
pub fn is_signed_by(snapshot: &SnapshotRef, keys: &[SigningKey]) -> bool {
    let message = snapshot.signed_bytes();
    keys.iter().any(|key| key.verify(&message, snapshot.signature()))
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, …)", self.number)
    }
}

impl TryFrom<Wire> for SigningKey {
    type Error = &'static str;

    fn try_from(wire: Wire) -> Result<Self, Self::Error> {
        let secret = Base64UrlUnpadded::decode_vec(&wire.secret).ok().and_then(|bytes| bytes.try_into().ok());
        Ok(Self { number: wire.number, secret: secret.ok_or("the secret is not 32 bytes of base64url")? })
    }
}

impl From<SigningKey> for Wire {
    fn from(key: SigningKey) -> Self {
        Self { number: key.number, secret: Base64UrlUnpadded::encode_string(&key.secret) }
    }
}
