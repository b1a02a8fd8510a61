//! The ids of sandboxes, snapshots and backups.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Error, Result};

/// The characters of the random part of every id that the Worker creates.
pub const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Names that the SDK refuses as sandbox ids, in any case.
const RESERVED_NAMES: [&str; 7] = ["www", "api", "admin", "root", "system", "cloudflare", "workers"];

/// Declares a string type that only its `parse` can create.
macro_rules! checked_string {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns the text, exactly as it was passed.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(text: String) -> Result<Self> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }
    };
}
pub(crate) use checked_string;

checked_string! {
    /// The id of a sandbox, exactly as the application spells it.
    ///
    /// The SDK's rules (`getSandbox`): 1–63 UTF-16 code units, no leading or trailing `-`, no reserved name. Control
    /// characters are refused too, because R2 does not accept the mark of such a sandbox's backups.
    SandboxId
}

impl SandboxId {
    /// The maximum length, in UTF-16 code units.
    pub const MAX: usize = 63;

    /// Parses an id. Fails with [`Code::InvalidSandboxId`].
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| Err(Error::invalid_sandbox_id(text, why));
        let length = text.encode_utf16().count();
        if length == 0 {
            return refuse("is empty");
        }
        if length > Self::MAX {
            return refuse(&format!("has {length} characters; the maximum is {}", Self::MAX));
        }
        if text.starts_with('-') || text.ends_with('-') {
            return refuse("begins or ends with \"-\"");
        }
        if RESERVED_NAMES.iter().any(|name| text.eq_ignore_ascii_case(name)) {
            return refuse("is a reserved name");
        }
        if text.chars().any(char::is_control) {
            return refuse("contains a control character");
        }
        Ok(Self(text.to_owned()))
    }
}

checked_string! {
    /// The id of a snapshot: `snap-` and 16 characters of a–z 0–9.
    SnapshotId
}

impl SnapshotId {
    /// The characters before the random ones.
    pub const PREFIX: &str = "snap-";
    /// The number of random characters.
    pub const RANDOM_LENGTH: usize = 16;

    /// Parses an id. Fails with [`Code::InvalidRef`], because snapshot ids arrive in refs.
    pub fn parse(text: &str) -> Result<Self> {
        match text.strip_prefix(Self::PREFIX) {
            Some(random) if random.len() == Self::RANDOM_LENGTH && is_in_alphabet(random) => Ok(Self(text.to_owned())),
            _ => Err(Error::invalid_id("snapshot", text)),
        }
    }

    /// Creates an id from random bytes; `None` if too few of them are usable. See [`random_text`].
    pub fn draw(random: &[u8]) -> Option<Self> {
        random_text(random, Self::RANDOM_LENGTH).map(|text| Self(format!("{}{text}", Self::PREFIX)))
    }
}

checked_string! {
    /// The id that the SDK gave a backup: a UUID in 0.12.
    ///
    /// It becomes part of R2 keys, so it may contain only letters, digits, `-` and `_`.
    BackupId
}

impl BackupId {
    /// Parses an id. Fails with [`Code::InvalidRef`].
    pub fn parse(text: &str) -> Result<Self> {
        let is_valid = (1..=128).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if is_valid {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::invalid_id("backup", text))
    }
}

/// Whether `text` has only characters of [`ALPHABET`].
pub fn is_in_alphabet(text: &str) -> bool {
    text.bytes().all(|b| ALPHABET.contains(&b))
}

/// Returns `length` characters of [`ALPHABET`]. It skips bytes from 252 up: 252 is the largest multiple of 36 in a
/// byte, and the remaining values would make the first letters more frequent.
pub fn random_text(random: &[u8], length: usize) -> Option<String> {
    let text: String = random
        .iter()
        .filter(|byte| **byte < 252)
        .filter_map(|byte| ALPHABET.get(usize::from(byte % 36)))
        .take(length)
        .map(|byte| char::from(*byte))
        .collect();
    (text.len() == length).then_some(text)
}

/// Quotes a caller's text for a message, with control characters escaped, cut to 80 characters.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((cut, _)) => format!("{:?}…", text.get(..cut).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
