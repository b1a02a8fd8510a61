//! Ids: of sandboxes, snapshots and backups.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Code, Error, Result, SigningKey};

/// The characters of every id that is minted here.
pub(crate) const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Names that the SDK refuses as sandbox ids, in any case.
const RESERVED: [&str; 7] = ["www", "api", "admin", "root", "system", "cloudflare", "workers"];

/// Declares a string that only its `parse` can make.
macro_rules! checked_string {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text, exactly as it was given.
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
    /// A sandbox's id, exactly as the application spells it.
    ///
    /// The SDK's rules (`getSandbox`): 1–63 UTF-16 code units, no leading or trailing `-`, no reserved name.
    /// Control characters are refused too: R2 would not take the mark of such a sandbox's backups.
    SandboxId
}

impl SandboxId {
    /// The longest id, in UTF-16 code units.
    pub const MAX: usize = 63;

    /// Checks an id, or says what is wrong with it ([`Code::InvalidSandboxId`]).
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: String| {
            Err(Error::new(
                Code::InvalidSandboxId,
                format!("The sandbox id {} {why}.", quoted(text)),
                "Give the id that the application passes to getSandbox(): 1 to 63 characters, no leading or trailing \"-\", \
                 no reserved name, no control characters.",
            ))
        };
        let length = text.encode_utf16().count();
        if length == 0 {
            return refuse("is empty".into());
        }
        if length > Self::MAX {
            return refuse(format!("has {length} characters, more than {}", Self::MAX));
        }
        if text.starts_with('-') || text.ends_with('-') {
            return refuse("begins or ends with \"-\"".into());
        }
        if RESERVED.iter().any(|name| text.eq_ignore_ascii_case(name)) {
            return refuse("is a reserved name".into());
        }
        if text.chars().any(char::is_control) {
            return refuse("contains a control character".into());
        }
        Ok(Self(text.to_owned()))
    }
}

checked_string! {
    /// A snapshot's id: `snap-` and 16 characters of a–z 0–9.
    SnapshotId
}

impl SnapshotId {
    const PREFIX: &str = "snap-";
    const RANDOM: usize = 16;

    /// Checks an id ([`Code::InvalidRef`] otherwise: snapshot ids arrive in refs).
    pub fn parse(text: &str) -> Result<Self> {
        match text.strip_prefix(Self::PREFIX) {
            Some(random) if random.len() == Self::RANDOM && is_minted(random) => Ok(Self(text.to_owned())),
            _ => Err(Error::new(
                Code::InvalidRef,
                format!("{} is not a snapshot id.", quoted(text)),
                "Pass the ref on exactly as snapshot() answered it.",
            )),
        }
    }

    /// A new id from random bytes; `None` when too few of them are usable. See [`ShortId::draw`].
    pub fn draw(random: &[u8]) -> Option<Self> {
        draw(random, Self::RANDOM).map(|text| Self(format!("{}{text}", Self::PREFIX)))
    }

    /// A new id, whose second half follows from the first by `seal`: so a ledger knows the ids of its own making from those
    /// of another deployment, also when it has forgotten them. `None` as for [`draw`](Self::draw).
    pub fn mint(random: &[u8], seal: &SigningKey) -> Option<Self> {
        let first = draw(random, Self::RANDOM / 2)?;
        let second = draw(&seal.tag(first.as_bytes()), Self::RANDOM / 2)?;
        Some(Self(format!("{}{first}{second}", Self::PREFIX)))
    }

    /// Whether it was minted with `seal`. By accident that is so once in 36^8 times.
    pub fn is_minted_with(&self, seal: &SigningKey) -> bool {
        let random = self.0.strip_prefix(Self::PREFIX).and_then(|random| random.split_at_checked(Self::RANDOM / 2));
        random.is_some_and(|(first, second)| {
            draw(&seal.tag(first.as_bytes()), Self::RANDOM / 2).is_some_and(|minted| minted == second)
        })
    }
}

checked_string! {
    /// The id that the SDK gave a backup: a UUID for 0.12.
    ///
    /// It becomes part of R2 keys, so it may hold letters, digits, `-` and `_` only.
    BackupId
}

impl BackupId {
    /// Checks an id ([`Code::InvalidRef`] otherwise).
    pub fn parse(text: &str) -> Result<Self> {
        let fits = (1..=128).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if fits {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::new(
            Code::InvalidRef,
            format!("{} is not the id of a backup.", quoted(text)),
            "Pass the ref on exactly as snapshot() answered it.",
        ))
    }
}

/// The random end of a minted sandbox id: 8 characters of a–z 0–9.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShortId(String);

impl ShortId {
    /// How many characters it has.
    pub const LENGTH: usize = 8;

    /// Draws one from random bytes, uniformly; `None` when too few of them are usable, which of 32 bytes
    /// happens once in 10^35 times.
    pub fn draw(random: &[u8]) -> Option<Self> {
        draw(random, Self::LENGTH).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether `text` has only characters that minted ids have.
pub(crate) fn is_minted(text: &str) -> bool {
    text.bytes().all(|b| ALPHABET.contains(&b))
}

/// `length` characters of the alphabet. Bytes from 252 up are passed over: 252 is the largest multiple of 36
/// in a byte, and using the rest would favour the first letters.
pub(crate) fn draw(random: &[u8], length: usize) -> Option<String> {
    let text: String = random
        .iter()
        .filter(|byte| **byte < 252)
        .filter_map(|byte| ALPHABET.get(usize::from(byte % 36)))
        .take(length)
        .map(|byte| char::from(*byte))
        .collect();
    (text.len() == length).then_some(text)
}

/// A caller's text in a message: in quotes, control characters escaped, cut to 80 characters.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((cut, _)) => format!("{:?}…", text.get(..cut).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
