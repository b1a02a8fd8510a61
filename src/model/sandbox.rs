//! What a sandbox says about itself.

use super::named::Stamp;

/// The state of a sandbox's container (`getState` of the SDK).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SandboxState {
    /// Whether it is up.
    pub status: Status,
    /// When the status was last set, in the sandbox's own milliseconds. Every start of a container sets it; so
    /// does a reconnection. The same value twice means that no container was started between.
    pub last_change: f64,
}

/// Whether a container is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Up and answering.
    Healthy,
    /// Started, not answering yet.
    Starting,
    /// Stopping or stopped: its files are gone.
    Down,
}

/// What is seen inside of a running container.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// How long the container has been running, in milliseconds.
    pub age_millis: i64,
    /// What the directory is.
    pub place: Place,
    /// Whether the note is there that this container took the place of another one unasked.
    pub took_place: bool,
    /// Whose files are in the container, where it was made somebody's place of work.
    pub stamp: Option<Stamp>,
}

/// What is found at the path of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory with something in it.
    Full,
    /// A directory with nothing in it.
    Empty,
    /// Nothing.
    Missing,
    /// Something that is reached through a symbolic link.
    Link,
    /// Something else than a directory.
    NotDirectory,
}
