//! The tasks of a named workspace. Its record stores them as JSON.

use serde::{Deserialize, Serialize};

use crate::model::SandboxId;

/// A durable task: the alarm runs it, and repeats it until it succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Task {
    /// Decommissions a sandbox: the workspace needs neither the sandbox nor its snapshots any more.
    #[serde(alias = "retire")]
    Decommission(SandboxId),
    /// Stops a sandbox that the workspace no longer uses. Files that a user wrote are saved in a snapshot.
    #[serde(alias = "quiet")]
    StopUnused(SandboxId),
}

impl Task {
    /// Returns the sandbox of the task.
    pub const fn sandbox_id(&self) -> &SandboxId {
        match self {
            Self::Decommission(id) | Self::StopUnused(id) => id,
        }
    }
}
