//! What a sandbox reports about its container.

use serde::{Deserialize, Serialize};

use super::Provenance;
use super::named::ContainerMarker;

/// The status of a sandbox's container (`getState` of the SDK).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SandboxStatus {
    /// Whether the container is running.
    pub status: Status,
    /// When the status was last set, in milliseconds of the sandbox's own clock. Every start of a container sets it,
    /// and so does a reconnection. If two reads return the same value, no container was started between them.
    pub last_change: f64,
    /// Whether nothing but the start or the end of a container changes `last_change`, so that it identifies the
    /// container. That of the SDK (0.12) also changes with a reconnection.
    pub identifies_container: bool,
}

impl SandboxStatus {
    /// Returns the identity of the container, if its runtime proves one.
    pub fn identity(&self) -> Option<ContainerIdentity> {
        self.identifies_container.then_some(ContainerIdentity(self.last_change))
    }
}

/// The identity of a container, which no other container of its sandbox has: the
/// [`last_change`](SandboxStatus::last_change) of a status that identifies the container.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContainerIdentity(f64);

impl ContainerIdentity {
    /// Returns the identity of the container whose status has this `last_change`.
    pub const fn new(last_change: f64) -> Self {
        Self(last_change)
    }
}

/// Whether a container is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Running and responding.
    Healthy,
    /// Started, not responding yet.
    Starting,
    /// Ending or ended: its files are gone.
    Down,
}

/// What a probe found in a running container.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// How long the container had been running when the probe began, in milliseconds.
    pub age_millis: i64,
    /// How long the probe ran in the container, in milliseconds.
    pub elapsed_millis: i64,
    /// What is at the path of the directory.
    pub directory_content: DirectoryContent,
    /// Whether the container carries the note that it replaced another one without a request to do so.
    pub is_replacement: bool,
    /// The marker that the container carries, if any.
    pub marker: Option<ContainerMarker>,
}

/// What is at the path of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryContent {
    /// A directory that is not empty.
    NonEmpty,
    /// An empty directory.
    Empty,
    /// Nothing.
    Missing,
    /// A path through a symbolic link.
    Symlink,
    /// Something other than a directory.
    NotDirectory,
    /// A directory whose restored files were mounted, and are no more.
    Unmounted,
}

/// The result of an update of a container marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerUpdate {
    /// How long the container had been running when the update began, in milliseconds.
    pub age_millis: i64,
    /// How long the update ran in the container, in milliseconds.
    pub elapsed_millis: i64,
    /// The outcome of the update.
    pub outcome: MarkerOutcome,
    /// The id of the container.
    pub container_id: Option<ContainerId>,
    /// What the container runs on; absent where the caller does not need it.
    pub provenance: Option<Provenance>,
}

/// The id that a container carries in a file: a command in the container proves it, while a [`ContainerIdentity`] is what
/// the object reports. A container of the SDK (0.12) has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContainerId(String);

impl ContainerId {
    /// Parses the line that a script prints; `None` where the container has no id.
    pub fn parse(line: &str) -> Option<Self> {
        let id = line.trim();
        (!id.is_empty()).then(|| Self(id.to_owned()))
    }
}

/// Whether a container got a new marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerOutcome {
    /// It carries the new marker.
    Updated,
    /// It carries another marker than the expected one, or none.
    OtherMarker(Option<ContainerMarker>),
    /// It is younger than required, or replaced another container.
    TooYoung,
}

/// Whether a backup has arrived in the container that it was applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Its files are in place, every process uses them, and the container carries the next marker.
    Complete,
    /// Another container is running.
    OtherContainer,
    /// The files are missing; contains what the directory is instead.
    FilesMissing(DirectoryContent),
    /// A process still uses the directory below the mounted files; contains its id and name.
    ProcessBelowMount(String),
}
