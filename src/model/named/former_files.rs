//! Where the files are that a workspace had before it continued in another sandbox.

use serde::{Deserialize, Serialize};

use crate::model::{SandboxId, SnapshotCause, SnapshotId};

/// The files that a workspace had before it continued in another sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormerFiles {
    /// The sandbox that had them.
    pub sandbox_id: SandboxId,
    /// Why the workspace continues in another one.
    pub cause: SnapshotCause,
    /// The snapshot of the sandbox that has them; absent until it is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<SnapshotId>,
    /// The nonce of the last restore into the sandbox, if its possible loss was reported: it is not reported again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_restore: Option<String>,
}
