//! What a sandbox says about itself.

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// How long the container has been running, in milliseconds.
    pub age_millis: i64,
    /// Whether the directory has anything in it.
    pub has_entries: bool,
}
