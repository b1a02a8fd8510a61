//! Short refs: a snapshot as one text, for shells, logs and language models.
//!
//! The form is `snap_<origin>.<id>.<signature>`: the sandbox that the snapshot was taken of in base64url, the random part of
//! the snapshot's id, and the signature, which reveals an altered text. All characters can be part of a URL.

use std::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Error, Result, SandboxId, SnapshotId};

/// A reference to a snapshot as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortRef {
    origin_id: SandboxId,
    snapshot_id: SnapshotId,
    signature: String,
}

impl ShortRef {
    /// The begin of every short ref.
    pub const PREFIX: &str = "snap_";

    /// The maximum length, in bytes.
    pub const MAX: usize = 512;

    /// Creates the short ref of a snapshot of `origin_id`. `sign` returns the signature of the bytes that it gets.
    pub fn new(origin_id: SandboxId, snapshot_id: SnapshotId, sign: impl FnOnce(&[u8]) -> String) -> Self {
        let mut short = Self { origin_id, snapshot_id, signature: String::new() };
        short.signature = sign(&short.signed_bytes());
        short
    }

    /// Parses a short ref from outside.
    ///
    /// # Errors
    /// [`Code::InvalidRef`](super::Code::InvalidRef)
    pub fn parse(text: &str) -> Result<Self> {
        let parsed = (text.len() <= Self::MAX).then(|| Self::read(text)).flatten();
        // A short ref has exactly one valid spelling.
        parsed.filter(|short| short.to_string() == text).ok_or_else(Error::invalid_short_ref)
    }

    fn read(text: &str) -> Option<Self> {
        let (origin, rest) = text.strip_prefix(Self::PREFIX)?.split_once('.')?;
        let (random, signature) = rest.split_once('.')?;
        let origin = String::from_utf8(Base64UrlUnpadded::decode_vec(origin).ok()?).ok()?;
        let snapshot_id = SnapshotId::parse(&format!("{}{random}", SnapshotId::PREFIX)).ok()?;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let signature = Some(signature.to_owned()).filter(|text| !text.is_empty() && text.chars().all(is_allowed))?;
        Some(Self { origin_id: SandboxId::parse(&origin).ok()?, snapshot_id, signature })
    }

    /// Returns the bytes that the signature is about.
    pub fn signed_bytes(&self) -> Vec<u8> {
        format!("short ref\0{}\0{}", self.origin_id, self.snapshot_id).into_bytes()
    }

    /// The signature, which only the Worker can verify.
    pub fn signature(&self) -> &str {
        &self.signature
    }

    /// The sandbox that the snapshot was taken of.
    pub const fn origin_id(&self) -> &SandboxId {
        &self.origin_id
    }

    /// The id of the snapshot.
    pub const fn snapshot_id(&self) -> &SnapshotId {
        &self.snapshot_id
    }
}

impl fmt::Display for ShortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = Base64UrlUnpadded::encode_string(self.origin_id.as_str().as_bytes());
        let random = self.snapshot_id.as_str().strip_prefix(SnapshotId::PREFIX).unwrap_or_default();
        write!(f, "{}{origin}.{random}.{}", Self::PREFIX, self.signature)
    }
}

impl Serialize for ShortRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ShortRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ShortRef {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ShortRef".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "maxLength": Self::MAX,
            "pattern": "^snap_[A-Za-z0-9_-]+\\.[a-z0-9]{16}\\.[A-Za-z0-9._-]+$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(origin: &str) -> ShortRef {
        let snapshot_id = SnapshotId::parse("snap-9rbk8d2dduhnwf6u").unwrap();
        ShortRef::new(SandboxId::parse(origin).unwrap(), snapshot_id, |_| "1.a_-Z".into())
    }

    #[test]
    fn short_ref_contains_the_origin_and_the_id() {
        for origin in ["agent-42", "Ünïcode sandbox", "a.b_c~d/e?f"] {
            let text = short(origin).to_string();
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)), "{text}");
            let parsed = ShortRef::parse(&text).unwrap();
            assert_eq!((parsed.origin_id().as_str(), parsed.snapshot_id().as_str()), (origin, "snap-9rbk8d2dduhnwf6u"));
            assert_eq!(parsed, short(origin));
        }
    }

    #[test]
    fn malformed_short_ref_is_refused() {
        let valid = short("agent-42").to_string();
        for text in [
            "",
            "snap_",
            "snap-9rbk8d2dduhnwf6u",
            &valid.replace("snap_", "snap-"),
            &valid.replace("YWdlbnQtNDI", "YWdlbnQtNDI="),
            &valid.replace("9rbk", "9RBK"),
            &valid.replace("1.a_-Z", ""),
            &valid.replace("1.a_-Z", "1.a b"),
            &format!("{valid}{}", "x".repeat(500)),
        ] {
            ShortRef::parse(text).unwrap_err();
        }
    }
}
