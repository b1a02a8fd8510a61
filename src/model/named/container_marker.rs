//! The marker that the container of a named workspace carries.
//!
//! The marker is outside of all captured directories, identifies the files in the container, and disappears with the
//! container. An empty container that a command of the application started has no marker, so it is never mistaken for
//! the workspace's own.

use std::fmt;

/// The marker of a container: the progress of its start, and a nonce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerMarker {
    /// A start is restoring files into the container.
    Restoring(String),
    /// The files are in place. The hook has not run yet.
    Restored(String),
    /// The container was cold-started, and the application has written files since. A start adopts these files, and no
    /// restore goes into this container. When they become the workspace's files, the hook has still to run.
    Adopted(String),
    /// A start returned the container to its caller.
    Ready(String),
}

impl ContainerMarker {
    /// Parses the text that [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, nonce) = text.trim().split_once(' ')?;
        let nonce = nonce.to_owned();
        match word {
            "filling" => Some(Self::Restoring(nonce)),
            "filled" => Some(Self::Restored(nonce)),
            "kept" => Some(Self::Adopted(nonce)),
            "ready" => Some(Self::Ready(nonce)),
            _ => None,
        }
    }

    /// Returns whether the marker is `Ready` with the nonce `identity`. Each restore attempt appends `.` and its number
    /// to the nonce, which is ignored here.
    pub fn is_ready_for(&self, identity: &str) -> bool {
        let Self::Ready(nonce) = self else { return false };
        nonce == identity || nonce.strip_prefix(identity).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Returns whether the marker is `Ready`: the workspace's files are in place.
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_))
    }

    /// Returns the nonce.
    pub fn nonce(&self) -> &str {
        let (Self::Restoring(nonce) | Self::Restored(nonce) | Self::Adopted(nonce) | Self::Ready(nonce)) = self;
        nonce
    }

    /// Returns whether a start is restoring files into the container, or was interrupted before it completed.
    pub const fn is_restoring(&self) -> bool {
        matches!(self, Self::Restoring(_) | Self::Restored(_))
    }
}

impl fmt::Display for ContainerMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, nonce) = match self {
            Self::Restoring(nonce) => ("filling", nonce),
            Self::Restored(nonce) => ("filled", nonce),
            Self::Adopted(nonce) => ("kept", nonce),
            Self::Ready(nonce) => ("ready", nonce),
        };
        write!(f, "{word} {nonce}")
    }
}
