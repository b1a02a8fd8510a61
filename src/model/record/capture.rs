//! A capture in progress, as the row of its snapshot has it: the container that was observed, and what it must be.

use serde::{Deserialize, Serialize};

use crate::model::named::ContainerMarker;
use crate::model::{ContainerIdentity, Label, LocatedBackup, PendingTask, SandboxStatus, SnapshotId, Timestamp};

/// A capture in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CaptureInProgress {
    /// The container that was observed before the capture.
    #[serde(alias = "sighting")]
    pub observation: ContainerObservation,
    /// Whether a probe has verified the container.
    #[serde(default)]
    #[serde(alias = "look")]
    pub verification: Verification,
    /// The marker that the container must carry. Absent in rows of earlier versions, and for a sandbox that belongs to
    /// a named workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "marker")]
    pub expected_marker: Option<ExpectedMarker>,
    /// Whether the capture adopts the container as the sandbox's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopts: bool,
    /// The label that the snapshot takes from another snapshot when it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_label: Option<Label>,
    /// The full snapshot that the capture is based on, if it is a delta. The row of the base names the capture, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<SnapshotId>,
    /// The handle that the sandbox returned; absent until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<LocatedBackup>,
    /// Whether the capture was discarded, so that its backup must be deleted.
    #[serde(default)]
    pub discarded: bool,
    /// The idempotency key of the call that requested the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The task that reconciles the capture when no call is working on it.
    #[serde(alias = "loose")]
    pub task: PendingTask,
}

/// The marker that a captured container must carry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExpectedMarker {
    /// The marker of the sandbox's own container: see [`super::SandboxRecord::marker`].
    Own(String),
    /// The marker text of a container that is not the sandbox's own.
    Foreign(String),
}

impl ExpectedMarker {
    /// Returns whether a container with the marker `actual` is the expected one.
    pub fn matches(&self, actual: Option<&ContainerMarker>) -> bool {
        match (self, actual) {
            (Self::Own(expected), Some(actual)) => actual.is_ready_for(expected),
            (Self::Foreign(expected), Some(actual)) => actual.to_string() == *expected,
            (_, None) => false,
        }
    }
}

/// Whether a probe has verified that the files of a captured container are the sandbox's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verification {
    /// The container was verified before the capture began. After the capture, it only has to be the same one.
    #[default]
    Done,
    /// A probe verifies the container after the capture.
    Due,
    /// Like `Due`, and the container is unverified until then. Only this row records it: see
    /// [`super::UnverifiedContainer`].
    #[serde(alias = "dueInDoubt")]
    DueUnverified,
}

/// The observation of a running container. It distinguishes the container from a later one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerObservation {
    /// When the container was observed.
    #[serde(alias = "since")]
    pub observed_at: Timestamp,
    /// See [`SandboxStatus::last_change`].
    pub last_change: f64,
    /// See [`SandboxStatus::identifies_container`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identifies_container: bool,
}

impl ContainerObservation {
    /// Returns the observation of a container that was running at `observed_at`.
    pub const fn new(status: SandboxStatus, observed_at: Timestamp) -> Self {
        let SandboxStatus { last_change, identifies_container, .. } = status;
        Self { observed_at, last_change, identifies_container }
    }

    /// Returns the identity of the container, if its runtime proves one.
    pub fn identity(&self) -> Option<ContainerIdentity> {
        self.identifies_container.then_some(ContainerIdentity::new(self.last_change))
    }
}
