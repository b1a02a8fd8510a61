//! Codes as text, those of later releases among them.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::{Code, Kind};

/// A code of a later release, kept as it was read. It is `Copy`, as the codes that are known, so its text has a limit.
#[derive(Clone, Copy, Debug, Eq)]
pub struct LaterCode {
    text: [u8; Self::MAX],
    length: usize,
    kind: Kind,
}

impl LaterCode {
    /// The longest code, in characters.
    pub const MAX: usize = 48;

    /// The code of that text, if it has the form of one: 1–48 characters of `A–Z 0–9 _`, the first of them a letter.
    pub fn parse(text: &str) -> Option<Self> {
        let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let is_code = text.bytes().all(is_part) && text.starts_with(|first: char| first.is_ascii_uppercase());
        let mut kept = [0; Self::MAX];
        kept.get_mut(..text.len()).filter(|_| is_code)?.copy_from_slice(text.as_bytes());
        Some(Self { text: kept, length: text.len(), kind: Kind::Permanent })
    }

    /// The same code with the kind that its error told. Without one it is permanent: the call is not made again for nothing.
    #[must_use]
    pub const fn of_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        self.text.get(..self.length).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
    }

    /// The class of failure that it belongs to.
    pub const fn kind(&self) -> Kind {
        self.kind
    }
}

/// The same code has the same text, whether or not its kind was told.
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

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = Self::ALL.iter().find(|code| code.as_str() == text).copied();
        let code = known.or_else(|| LaterCode::parse(&text).map(Self::Later));
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
