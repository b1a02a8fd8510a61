//! The answer of `revive`.

use serde::{Deserialize, Serialize};

use super::exec::StartedForExec;
use super::named::answer::{RestoredFrom, StartOutcome, WorkspaceProblem};
use super::{SandboxId, SnapshotId, WorkspaceRef};

/// A sandbox that runs with its files in place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RevivedSandbox {
    /// The id of the sandbox.
    pub sandbox_id: SandboxId,
    /// The reference to the sandbox, in the form that all operations take.
    pub workspace: WorkspaceRef,
    /// How the sandbox got its files: `running` if its container was running with them, and was left alone.
    pub how: StartOutcome,
    /// The snapshot from which the files in the container were restored under this id; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<RestoredFrom>,
    /// Whether files may be lost that were newer than `restoredFrom`. Absent without `restoredFrom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_have_lost: Option<bool>,
    /// The rescue snapshot that contains the files that the sandbox had before the restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rescue_snapshot_id: Option<SnapshotId>,
    /// How the image of the sandbox differs from that of the snapshot; empty if no difference is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    /// The problem of a running container that was left alone: its directory was deleted or moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<WorkspaceProblem>,
}

impl RevivedSandbox {
    /// Returns how the sandbox was started; `None` if it was running.
    pub fn started(self) -> Option<StartedForExec> {
        let Self { how, restored_from, may_have_lost, .. } = self;
        let lost_since = restored_from.as_ref().map(|from| from.created_at).filter(|_| may_have_lost == Some(true));
        (how != StartOutcome::Running).then_some(StartedForExec { how, restored_from, may_have_lost, lost_since })
    }
}
