//! What the callers of one schedule know: what they were told, and what they asked for.

use std::collections::{BTreeMap, BTreeSet};

use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::request::{CreateRequest, ForkRequest};
use sandbox_snapshotter::model::{
    BackupHandle, BackupId, DerivationKind, Label, RestoreRequest, SandboxId, SnapshotId, SnapshotRef, SnapshotRequest,
};
use serde_json::Value;

/// What the callers know, all of them together.
#[derive(Default)]
pub struct CallHistory {
    /// The sandboxes that the application started itself.
    pub roots: Vec<SandboxId>,
    /// The sandboxes of others, which happen to have minted ids.
    pub foreign_sandboxes: BTreeSet<SandboxId>,
    /// The sandboxes that somebody got, with the first sandbox of their lineage.
    pub returned_sandboxes: BTreeMap<SandboxId, SandboxId>,
    /// The key that each of them was first given for, where it had one.
    pub returned_for_key: BTreeMap<SandboxId, Option<String>>,
    /// The snapshot that each of them was made from.
    pub parents: BTreeMap<SandboxId, SnapshotId>,
    /// The sandboxes that were ever captured.
    pub captured: BTreeSet<SandboxId>,
    /// The snapshots that were let go.
    pub evicted: BTreeSet<SnapshotId>,
    /// The snapshots that were imported again after they had been let go.
    pub reimported: BTreeSet<SnapshotId>,
    /// The snapshots that were reported as made.
    pub known_snapshots: Vec<KnownSnapshot>,
    /// The calls with a key.
    pub keyed_calls: BTreeMap<String, KeyedCall>,
    /// The snapshots that somebody asked to delete, and whether that was ever forced.
    pub delete_requests: BTreeMap<SnapshotId, bool>,
    /// The snapshots that somebody asked to pin or unpin.
    pub pin_requests: BTreeMap<SnapshotId, PinRequests>,
    /// How many answers to restores were lost for good, by the workspace.
    pub lost_restore_answers: BTreeMap<SandboxId, usize>,
    /// The sandboxes that somebody asked to wake.
    pub cold_started: BTreeSet<SandboxId>,
    /// The backups that somebody damaged.
    pub damaged_backups: BTreeSet<BackupId>,
    /// The sandboxes that were handed out as named workspaces.
    pub named_sandboxes: BTreeMap<SandboxId, Address>,
    /// The calls about named workspaces that have a key.
    pub keyed_workspace_calls: BTreeMap<String, KeyedWorkspaceCall>,
    /// When a deletion of a named workspace was last asked for, took effect, or was answered.
    pub workspace_deletes_at: BTreeMap<Address, i64>,
    /// What was asked for about the files of sandboxes that stand for names.
    pub file_requests: BTreeMap<SandboxId, FileRequests>,
    /// The backups that the application made itself, and the sandbox.
    pub app_backups: Vec<(SandboxId, BackupHandle)>,
}

/// A snapshot that was reported as made.
#[derive(Clone)]
pub struct KnownSnapshot {
    /// The snapshot.
    pub id: SnapshotId,
    /// The sandbox that it was taken of.
    pub origin: SandboxId,
    /// Its ref.
    pub r#ref: SnapshotRef,
    /// Its label, when it was made.
    pub label: Label,
}

/// What was asked about the pin of a snapshot.
#[derive(Clone, Copy, Default)]
pub struct PinRequests {
    /// Whether it was ever reported as pinned.
    pub pinned: bool,
    /// Whether anybody ever asked to unpin it.
    pub unpin_requested: bool,
}

/// What was asked for about the files of a sandbox that stands for a name.
#[derive(Clone, Copy, Default)]
pub struct FileRequests {
    /// Whether it may begin anew.
    pub allow_empty: bool,
    /// When somebody last asked to discard what was written since it woke by itself.
    pub discarded_at: Option<i64>,
    /// When somebody last asked to end it without a snapshot.
    pub ended_unsaved_at: Option<i64>,
}

/// A call about a named workspace with a key.
#[derive(Clone)]
pub struct KeyedWorkspaceCall {
    /// The call.
    pub call: WorkspaceCall,
    /// When it was first made.
    pub asked_at: i64,
    /// What was answered: when the workspace was made, or the snapshot and the names of the forks.
    pub answer: Option<String>,
    /// Whether its last answer was lost.
    pub is_answer_lost: bool,
}

/// A call about a named workspace that can have a key.
#[allow(clippy::large_enum_variant)] // They are few.
#[derive(Clone)]
pub enum WorkspaceCall {
    /// `create`
    Create(CreateRequest),
    /// `fork`
    Fork(ForkRequest),
}

/// A call with a key.
#[derive(Clone)]
pub struct KeyedCall {
    /// The call.
    pub call: Call,
    /// When it was first made.
    pub asked_at: i64,
    /// The answer, once there was one.
    pub answer: Option<Value>,
    /// When an answer to it was last lost; 0 where none was.
    pub lost_at: i64,
    /// Whether it came to an end that the caller knows.
    pub is_answered: bool,
}

/// A call that can have a key.
#[derive(Clone)]
pub enum Call {
    /// `snapshot`
    Snapshot(SnapshotRequest),
    /// `restore` or `branch`
    Derive(RestoreRequest, DerivationKind),
}

impl Call {
    /// The workspace that it is made to.
    pub fn workspace(&self) -> &SandboxId {
        match self {
            Self::Snapshot(request) => &request.sandbox_id,
            Self::Derive(request, _) => request.selection.selector.origin_id(),
        }
    }

    /// Its key.
    pub fn key(&self) -> Option<&String> {
        match self {
            Self::Snapshot(request) => request.idempotency_key.as_ref(),
            Self::Derive(request, _) => request.idempotency_key.as_ref(),
        }
    }
}

impl CallHistory {
    /// The sandboxes that callers can work with.
    pub fn sandboxes(&self) -> Vec<SandboxId> {
        let named = self.named_sandboxes.keys().filter(|id| !self.returned_sandboxes.contains_key(id));
        self.roots.iter().chain(self.returned_sandboxes.keys()).chain(named).cloned().collect()
    }

    /// The first sandbox of the lineage of one.
    pub fn root(&self, id: &SandboxId) -> SandboxId {
        self.returned_sandboxes.get(id).unwrap_or(id).clone()
    }

    /// A snapshot that was reported as made.
    pub fn find_snapshot(&self, id: &SnapshotId) -> Option<&KnownSnapshot> {
        self.known_snapshots.iter().find(|known| known.id == *id)
    }
}
