//! The history of one schedule: the requests of the callers, and the answers that they received.

use std::collections::{BTreeMap, BTreeSet};

use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::request::{CreateRequest, ForkRequest};
use sandbox_snapshotter::model::{
    BackupHandle, BackupId, DerivationKind, Label, RestoreRequest, SandboxId, SnapshotId, SnapshotRef, SnapshotRequest,
};
use serde_json::Value;

/// The requests and answers of all callers together.
#[derive(Default)]
pub struct CallHistory {
    /// The sandboxes that the application started without the service.
    pub roots: Vec<SandboxId>,
    /// The sandboxes of other applications whose ids collide with minted ids.
    pub foreign_sandboxes: BTreeSet<SandboxId>,
    /// The sandboxes that were returned to a caller, with the root of their lineage.
    pub returned_sandboxes: BTreeMap<SandboxId, SandboxId>,
    /// The idempotency key of the call that first returned each of them, if it had one.
    pub returned_for_key: BTreeMap<SandboxId, Option<String>>,
    /// The snapshot that each of them was made from.
    pub parents: BTreeMap<SandboxId, SnapshotId>,
    /// The sandboxes that were ever captured.
    pub captured: BTreeSet<SandboxId>,
    /// The snapshots that were removed by retention or by a deletion.
    pub evicted: BTreeSet<SnapshotId>,
    /// The snapshots that were imported again after their removal.
    pub reimported: BTreeSet<SnapshotId>,
    /// The snapshots that were returned to a caller.
    pub known_snapshots: Vec<KnownSnapshot>,
    /// The calls with an idempotency key.
    pub keyed_calls: BTreeMap<String, KeyedCall>,
    /// The snapshots that a caller requested to delete, and whether any of these requests was forced.
    pub delete_requests: BTreeMap<SnapshotId, bool>,
    /// The bases whose deltas a caller requested to delete with them, and whether any of these requests was forced.
    pub delta_delete_requests: BTreeMap<SnapshotId, bool>,
    /// The snapshots that a caller requested to pin or unpin.
    pub pin_requests: BTreeMap<SnapshotId, PinRequests>,
    /// The number of answers to restores that no caller can request again, by sandbox.
    pub lost_restore_answers: BTreeMap<SandboxId, usize>,
    /// The sandboxes that a caller snapshotted with `wake`.
    pub cold_started: BTreeSet<SandboxId>,
    /// The backups that were damaged on purpose, with the time.
    pub damaged_backups: BTreeMap<BackupId, i64>,
    /// The sandboxes that were returned as named workspaces.
    pub named_sandboxes: BTreeMap<SandboxId, Address>,
    /// The calls about named workspaces that have an idempotency key.
    pub keyed_workspace_calls: BTreeMap<String, KeyedWorkspaceCall>,
    /// The time at which a deletion of a named workspace was last requested, took effect, or was answered.
    pub workspace_deletes_at: BTreeMap<Address, i64>,
    /// The number of answers to starts and stops that were lost since an answer reported a possible loss.
    pub lost_answers: BTreeMap<Address, usize>,
    /// The last turn of each workspace whose files are to be saved.
    pub turns: BTreeMap<Address, Turn>,
    /// The requests that affect files of sandboxes that belong to a named workspace.
    pub file_requests: BTreeMap<SandboxId, FileRequests>,
    /// The backups that the application made without the service, with their sandboxes.
    pub app_backups: Vec<(SandboxId, BackupHandle)>,
}

/// A snapshot that was returned to a caller.
#[derive(Clone)]
pub struct KnownSnapshot {
    /// The snapshot.
    pub id: SnapshotId,
    /// The sandbox that was captured.
    pub origin: SandboxId,
    /// Its ref.
    pub r#ref: SnapshotRef,
    /// Its label at the time of the capture.
    pub label: Label,
}

/// The requests that pin or unpin a snapshot.
#[derive(Clone, Copy, Default)]
pub struct PinRequests {
    /// Whether an answer ever reported the snapshot as pinned.
    pub pinned: bool,
    /// Whether a caller ever requested to unpin it.
    pub unpin_requested: bool,
}

/// The requests that affect the files of a sandbox that belongs to a named workspace.
#[derive(Clone, Copy, Default)]
pub struct FileRequests {
    /// Whether it may start empty.
    pub allow_empty: bool,
    /// Whether it was started while it was to keep no files, because its workspace was never persistent.
    pub keeps_no_files: bool,
    /// The time of the last request to discard the files that were written after a cold start.
    pub discarded_at: Option<i64>,
    /// The time of the last request to end it without a snapshot.
    pub ended_unsaved_at: Option<i64>,
}

/// The end of a turn that a workspace accepted.
#[derive(Clone)]
pub struct Turn {
    /// The sandbox that the workspace had.
    pub sandbox_id: SandboxId,
    /// When the caller reported the end.
    pub requested_at: i64,
    /// The number of containers of the sandbox that had ended by then.
    pub ended_count: u32,
}

/// A call about a named workspace with an idempotency key.
#[derive(Clone)]
pub struct KeyedWorkspaceCall {
    /// The call.
    pub call: WorkspaceCall,
    /// The time of the first attempt.
    pub requested_at: i64,
    /// The answer: the creation time of the workspace, or the snapshot and the names of the forks.
    pub answer: Option<String>,
    /// Whether its last answer was lost.
    pub is_answer_lost: bool,
}

/// A call about a named workspace that can have an idempotency key.
#[allow(clippy::large_enum_variant)] // Only a few values exist.
#[derive(Clone)]
pub enum WorkspaceCall {
    /// `create`
    Create(CreateRequest),
    /// `fork`
    Fork(ForkRequest),
}

/// A call with an idempotency key.
#[derive(Clone)]
pub struct KeyedCall {
    /// The call.
    pub call: Call,
    /// The time of the first attempt.
    pub requested_at: i64,
    /// The first answer.
    pub answer: Option<Value>,
    /// The time at which an answer to it was last lost; 0 if none was.
    pub lost_at: i64,
    /// Whether the call is complete: it has an answer, or the caller does not repeat it.
    pub is_answered: bool,
}

/// A call that can have an idempotency key.
#[derive(Clone)]
pub enum Call {
    /// `snapshot`
    Snapshot(SnapshotRequest),
    /// `restore` or `branch`
    Derive(RestoreRequest, DerivationKind),
}

impl Call {
    /// Returns the sandbox that the call goes to.
    pub fn sandbox(&self) -> &SandboxId {
        match self {
            Self::Snapshot(request) => &request.sandbox_id,
            Self::Derive(request, _) => request.selection.selector.origin_id(),
        }
    }

    /// Returns its idempotency key.
    pub fn key(&self) -> Option<&String> {
        match self {
            Self::Snapshot(request) => request.idempotency_key.as_ref(),
            Self::Derive(request, _) => request.idempotency_key.as_ref(),
        }
    }
}

impl CallHistory {
    /// Returns the sandboxes that callers can use.
    pub fn sandboxes(&self) -> Vec<SandboxId> {
        let named = self.named_sandboxes.keys().filter(|id| !self.returned_sandboxes.contains_key(id));
        self.roots.iter().chain(self.returned_sandboxes.keys()).chain(named).cloned().collect()
    }

    /// Returns the root of the lineage of a sandbox.
    pub fn root(&self, id: &SandboxId) -> SandboxId {
        self.returned_sandboxes.get(id).unwrap_or(id).clone()
    }

    /// Finds a snapshot that was returned to a caller.
    pub fn find_snapshot(&self, id: &SnapshotId) -> Option<&KnownSnapshot> {
        self.known_snapshots.iter().find(|known| known.id == *id)
    }
}
