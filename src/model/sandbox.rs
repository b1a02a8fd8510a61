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
    /// How long the container had been running when the look began, in milliseconds.
    pub age_millis: i64,
    /// How long the look took inside of the container, in milliseconds.
    pub took_millis: i64,
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

/// What came of putting a stamp on a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamping {
    /// How long the container had been running when that began, in milliseconds.
    pub age_millis: i64,
    /// How long it took inside of the container, in milliseconds.
    pub took_millis: i64,
    /// What came of it.
    pub outcome: StampOutcome,
}

/// Whether a container got a stamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StampOutcome {
    /// It has it.
    Done,
    /// It carries another one, or none, than the one to be replaced.
    Other(Option<Stamp>),
    /// It is younger than it must be, or took the place of another one.
    TooYoung,
}

/// Whether a backup has arrived in the container that it was applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Its files are there, every process works in them, and the container has its next stamp.
    Done,
    /// Another container runs.
    OtherContainer,
    /// The files are not there: what the directory is instead.
    NotThere(Place),
    /// A process goes on in the directory below the mounted files, by its id and name.
    Below(String),
}
