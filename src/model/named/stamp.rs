//! The marker that the container of a named workspace carries.
//!
//! It is outside of all captured directories, identifies the files in the container, and disappears with it. An empty container that
//! was started by a command of the application has none, so it is never mistaken for the workspace's own.

use std::fmt;

/// The marker of a container: how far it is on the way to a workspace's own container, and a nonce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Files are being put into it.
    Filling(String),
    /// They are in place, and the hook has still to run.
    Filled(String),
    /// It started without the workspace's files, and the application wrote others since. They are kept: no restore goes into
    /// this container. If they become the workspace's files, the hook has still to run.
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

    /// Whether the workspace's files are in place.
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_))
    }

    /// Whether a start puts files into the container, or was ended before all were in place.
    pub const fn is_being_filled(&self) -> bool {
        matches!(self, Self::Filling(_) | Self::Filled(_))
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
