//! What a container carries that was made somebody's place of work.
//!
//! It is outside of everything that is captured: it says whose files are in the container, and goes with it. So a container that
//! started by itself, empty, can never be taken for somebody's place of work.

use std::fmt;

/// How far a container is that is being made somebody's place of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Files are being put into it.
    Filling(String),
    /// They are in place, and the hook has still to run.
    Filled(String),
    /// It woke by itself, and the files that somebody wrote since are not to be lost: nobody may fill it any more. Where they
    /// are to be the workspace's, the hook has still to run.
    Kept(String),
    /// It was handed out.
    Ready(String),
}

impl Stamp {
    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, nonce) = text.trim().split_once(' ')?;
        let nonce = nonce.to_owned();
        match word {
            "filling" => Some(Self::Filling(nonce)),
            "filled" => Some(Self::Filled(nonce)),
            "kept" => Some(Self::Kept(nonce)),
            "ready" => Some(Self::Ready(nonce)),
            _ => None,
        }
    }

    /// Whether it is the one of an identity: each attempt to fill a container has a number of its own behind it.
    pub fn is_of(&self, identity: &str) -> bool {
        let Self::Ready(nonce) = self else { return false };
        nonce == identity || nonce.strip_prefix(identity).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Whether somebody's files are in place.
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_))
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, nonce) = match self {
            Self::Filling(nonce) => ("filling", nonce),
            Self::Filled(nonce) => ("filled", nonce),
            Self::Kept(nonce) => ("kept", nonce),
            Self::Ready(nonce) => ("ready", nonce),
        };
        write!(f, "{word} {nonce}")
    }
}
