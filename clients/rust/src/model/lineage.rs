//! The tree of a lineage: the result of the operation `lineage`, and what the objects of its workspaces return for it.

use serde::{Deserialize, Serialize};

use super::answer::SnapshotState;
use super::named::Address;
use super::{ArchiveFormat, Label, Provenance, Runtime, SandboxId, SnapshotCause, SnapshotForm, SnapshotId, Timestamp};

/// The tree of the sandboxes and snapshots of a lineage, or the part of it around one sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tree {
    /// The first sandbox of the tree. It is the first one of the lineage, unless the tree has a `parent`.
    pub root: TreeSandbox,
    /// The snapshot that the first sandbox of the tree was made from, if the tree does not begin with the root of the
    /// lineage. `lineage` of its sandbox returns the earlier part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSnapshot>,
    /// The number of sandboxes in the tree.
    pub sandboxes: usize,
    /// Whether the tree is incomplete, because a limit was reached or an earlier sandbox could not be read.
    pub truncated: bool,
}

/// A sandbox in the tree, with its snapshots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TreeSandbox"))]
pub struct TreeSandbox {
    /// The id of the sandbox.
    pub sandbox_id: SandboxId,
    /// Whether it was restored or branched; absent for the first sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lineage: Option<DerivationKind>,
    /// The named workspace that the sandbox belongs to, or belonged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Address>,
    /// Whether its container is running; absent if that was not requested or is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
    /// Its snapshots, newest first; removed ones only if sandboxes were made from them.
    pub snapshots: Vec<TreeSnapshot>,
    /// What is missing here because the sandbox's workspace could not be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A snapshot in the tree, and the sandboxes that were made from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TreeSnapshot"))]
pub struct TreeSnapshot {
    /// The snapshot; only its id if it was removed.
    #[serde(flatten)]
    pub snapshot: SnapshotNode,
    /// The sandboxes that were made from it, newest first.
    pub derived: Vec<TreeSandbox>,
}

/// The fields of a snapshot that a tree shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotNode {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// Its state.
    pub state: SnapshotState,
    /// When it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The size of its archive, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// The format of its archive; absent for snapshots of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ArchiveFormat>,
    /// Whether its archive contains all files, or the changes since another snapshot.
    #[serde(default, skip_serializing_if = "SnapshotForm::is_full")]
    pub form: SnapshotForm,
    /// The full snapshot that a delta is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<SnapshotId>,
    /// The bytes that a restore of a delta reads: those of its archive and of its base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// Whether it is pinned: the retention policy never removes it.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(!default))]
    pub pinned: bool,
    /// Why it was taken. Absent if that is not known, as for most snapshots of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SnapshotCause>,
    /// Whether it leaves out files, by `excludes`, `gitignore` or `secrets`. A named workspace starts from such a
    /// snapshot only if its sandbox began with it, as after a rollback to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Whether an automatic save took it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub autosave: bool,
    /// When it expires; absent if it has no expiration time, or stays beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// What its container ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The workspaces that depend on it.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(!default))]
    #[serde(alias = "holders")]
    pub dependents: Vec<SandboxId>,
}

/// The part of a tree that the ledger of one sandbox contains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceLineage {
    /// The first sandbox of the lineage.
    pub root_id: SandboxId,
    /// The snapshot that the sandbox was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSnapshot>,
    /// The named workspace that the sandbox belongs to, or belonged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Address>,
    /// The runtime of the sandbox. Absent from objects of earlier releases, and where the deployment does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// Its snapshots, newest first.
    pub snapshots: Vec<SnapshotNode>,
    /// The sandboxes that were made from them, newest first, each with the id of its snapshot.
    pub derived: Vec<(SnapshotId, DerivedSandbox)>,
    /// Whether there are more snapshots than these.
    pub truncated: bool,
}

/// The parent of a sandbox, as sent between objects of this Worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxParent {
    /// The sandbox that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SandboxId>,
    /// Whether the sandbox belongs to a named workspace.
    #[serde(alias = "hasName")]
    pub has_binding: bool,
    /// The named workspace that the sandbox belongs to. Absent from objects of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Address>,
}

/// The snapshot that a sandbox was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ParentSnapshot {
    /// The sandbox that the snapshot was taken of.
    pub origin_id: SandboxId,
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
}

/// A sandbox that was made from a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DerivedSandbox {
    /// The id of the sandbox.
    pub sandbox_id: SandboxId,
    /// Whether it was restored or branched.
    pub lineage: DerivationKind,
    /// When its creation began.
    pub began_at: Timestamp,
    /// Whether it depends on the snapshot.
    #[serde(alias = "holds")]
    pub needs_snapshot: bool,
}

/// How a sandbox was made from a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DerivationKind {
    /// Restored, to recover an earlier state.
    Restored,
    /// Branched, to continue separately from the same state.
    Branch,
}

impl DerivationKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Restored, Self::Branch];

    /// Returns the word between the origin id and the short id.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Branch => "branch",
        }
    }
}
