//! The text form of error codes, including those of later releases.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::{Code, Kind};

/// A code of a later release, as it was read. It is `Copy`, like the known codes, so its length is limited.
#[derive(Clone, Copy, Debug, Eq)]
pub struct LaterCode {
    text: [u8; Self::MAX],
    length: usize,
    kind: Kind,
}

impl LaterCode {
    /// The maximum length, in characters.
    pub const MAX: usize = 48;

    /// Parses a code: 1–48 characters of `A–Z 0–9 _`, the first of them a letter.
    pub fn parse(text: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let is_valid = text.bytes().all(is_allowed) && text.starts_with(|first: char| first.is_ascii_uppercase());
        let mut padded = [0; Self::MAX];
        padded.get_mut(..text.len()).filter(|_| is_valid)?.copy_from_slice(text.as_bytes());
        Some(Self { text: padded, length: text.len(), kind: Kind::Permanent })
    }

    /// Returns the same code with the kind of its error. Without a kind the code is permanent, so that callers do not
    /// retry in vain.
    #[must_use]
    pub const fn with_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.text.get(..self.length).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
    }

    /// Returns the class of failure that the code belongs to.
    pub const fn kind(&self) -> Kind {
        self.kind
    }
}

/// Compares only the texts: one of the codes may have been read without its kind.
impl PartialEq for LaterCode {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Hash for LaterCode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

/// The former names of codes, which earlier releases stored.
const FORMER: [(&str, Code); 2] =
    [("CROSS_SESSION", Code::CrossLineage), ("SNAPSHOT_HELD", Code::SnapshotHasDependents)];

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = Self::ALL.iter().find(|code| code.as_str() == text).copied();
        let former = || FORMER.iter().find(|(name, _)| *name == text).map(|(_, code)| *code);
        let code = known.or_else(former).or_else(|| LaterCode::parse(&text).map(Self::Later));
        code.ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not an error code")))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
