//! What the operations answer, apart from refs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::named::Address;
use super::policy::{Decision, Policy};
use super::record::SnapshotState;
use super::{Compression, Directory, Label, Lineage, SandboxId, SnapshotId, SnapshotRef, Suspect, Timestamp};
#[cfg(feature = "schema")]
use crate::model::schema::extends;

/// A snapshot, as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Its label.
    pub label: Label,
    /// How far it is.
    pub state: SnapshotState,
    /// The directory that it holds.
    pub dir: Directory,
    /// When it was taken; while it is being made, when that began.
    pub created_at: Timestamp,
    /// How long ago that is, in seconds.
    pub age_seconds: i64,
    /// The size of its archive, in bytes; absent while it is being made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// When it was taken or last restored.
    pub last_used_at: Timestamp,
    /// When it goes; absent where that is not a matter of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether it stays whatever the policy says.
    pub pinned: bool,
    /// Whether it is a rescue snapshot: of a container that was not the sandbox's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rescue: bool,
    /// How much smaller it is than the one before, where files may be missing by mistake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<Suspect>,
    /// The workspaces that need it.
    pub holders: Vec<SandboxId>,
    /// Whether it can be restored.
    #[serde(flatten)]
    pub restorable: Restorable,
    /// Its ref; absent while it is being made.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotRef>,
}

/// Whether a snapshot can be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restorable {
    /// Whether it can be restored.
    pub restorable: Answer,
    /// Why it isn't yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When R2 was looked into for it; absent where it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
}

/// An answer that may not be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Answer {
    /// It can be, as far as was looked.
    Yes,
    /// It can not be.
    No,
    /// R2 did not say.
    Unknown,
}

/// A page of a list, the newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Page {
    /// The snapshots.
    pub snapshots: Vec<Summary>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Everything that is known about a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("Summary")))]
pub struct Manifest {
    /// The version of this form: 1.
    #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
    pub schema_version: u32,
    /// What lists show of it.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(flatten)]
    pub summary: Summary,
    /// The sandbox that it was taken of.
    pub origin_id: SandboxId,
    /// The first sandbox of the lineage.
    pub root_id: SandboxId,
    /// The snapshot that the sandbox itself was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Ancestor>,
    /// When the capture began: what was written later may not be in it.
    pub capture_began_at: Timestamp,
    /// Patterns of paths that were left out.
    pub excludes: Vec<String>,
    /// Whether what git ignores was left out.
    pub gitignore: bool,
    /// How the archive is compressed, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// Its own expiration, in seconds after its last use; 0 is never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration_seconds: Option<u64>,
    /// Until when the SDK restores the backup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_until: Option<Timestamp>,
    /// R2's checksum of the archive, as it was when it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// The keys of its objects in R2.
    pub objects: Vec<String>,
    /// Whether it came in by `import`.
    pub imported: bool,
    /// The sandboxes that were made from it.
    pub derived: Vec<Derived>,
    /// When and why it was let go, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// Where a sandbox came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ancestor {
    /// The sandbox that the snapshot was taken of.
    pub origin_id: SandboxId,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
}

/// A sandbox that was made from a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Derived {
    /// The sandbox.
    pub sandbox_id: SandboxId,
    /// Whether it was restored or branched.
    pub lineage: Lineage,
    /// When that began.
    pub began_at: Timestamp,
    /// Whether it needs the snapshot.
    pub holds: bool,
}

/// Why a snapshot is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ended {
    /// When it was let go.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
}

/// What a deletion came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deletion {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether it was there until now. One that is gone already is fine.
    pub removed: bool,
}

/// What was found in R2, without starting a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verification {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether everything that could be checked is right.
    pub ok: bool,
    /// The checks, in their order.
    pub checks: Vec<Check>,
    /// When that was.
    pub verified_at: Timestamp,
}

/// One check of a backup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// What was checked.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["objects", "header", "checksum"])))]
    pub name: Cow<'static, str>,
    /// Whether it is right; absent where there is nothing to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// What was found.
    pub detail: String,
}

/// The tree of sandboxes and snapshots that grows from one sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tree {
    /// The first sandbox.
    pub root: Branch,
    /// How many sandboxes are in the tree.
    pub sandboxes: usize,
    /// Whether there is more than was looked at.
    pub truncated: bool,
}

/// A sandbox in the tree, and what grows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TreeSandbox"))]
pub struct Branch {
    /// The sandbox.
    pub sandbox_id: SandboxId,
    /// Whether it was restored or branched; absent for the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lineage: Option<Lineage>,
    /// The named workspace whose sandbox it is, or was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Address>,
    /// Whether it is running; absent where that was not asked, or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
    /// Its snapshots, the newest first; those that are gone only where something was made from them.
    pub snapshots: Vec<Node>,
    /// What is missing here, if its workspace could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A snapshot in the tree, and what was made from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TreeSnapshot"))]
pub struct Node {
    /// The snapshot; only its id where it is gone.
    #[serde(flatten)]
    pub knot: Knot,
    /// The sandboxes that were made from it.
    pub derived: Vec<Branch>,
}

/// What a tree shows of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knot {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// How far it is.
    pub state: SnapshotState,
    /// When it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The size of its archive, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Whether it stays whatever the policy says.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(!default))]
    pub pinned: bool,
    /// When it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The workspaces that need it.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(!default))]
    pub holders: Vec<SandboxId>,
}

/// What one workspace knows of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The first sandbox of the lineage.
    pub root_id: SandboxId,
    /// Where the sandbox came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Ancestor>,
    /// The named workspace whose sandbox it is, or was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Address>,
    /// Its snapshots, the newest first.
    pub snapshots: Vec<Knot>,
    /// What was made from them, by the snapshot.
    pub derived: Vec<(SnapshotId, Derived)>,
    /// Whether there are more snapshots than these.
    pub truncated: bool,
}

/// Where a sandbox came from, as one object of this Worker tells another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descent {
    /// The sandbox that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SandboxId>,
    /// Whether it stands for a name, and so is that workspace's.
    pub has_name: bool,
}

/// A workspace's policy, and what it means for its snapshots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Retention {
    /// The policy.
    pub policy: Policy,
    /// What becomes of each snapshot, the newest first.
    pub decisions: Vec<Decision>,
    /// How many go, or went.
    pub let_go: usize,
    /// Whether nothing was done yet.
    pub dry_run: bool,
}

/// What a sweep of the bucket came to. Every backup is counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    /// Backups in the bucket.
    pub seen: usize,
    /// Younger than the grace period: left for the next time.
    pub young: usize,
    /// Without the product's mark, or unreadable: an application's own.
    pub unmarked: usize,
    /// Owned by a ledger here, or not made by one: of another deployment, or of an earlier version.
    pub owned: usize,
    /// Owned by no ledger, and deleted; only counted in a dry run.
    pub swept: usize,
    /// Could not be looked at or deleted: left for the next time.
    pub failed: usize,
    /// Archives without metadata, older than the grace period. They carry no mark, so they are never deleted and not among the
    /// backups seen: each may be an application's own upload, or what a sandbox left that died while it stored a backup.
    #[serde(default)]
    pub unowned: usize,
    /// The first of these, in the order of their keys.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = MAX_UNOWNED)))]
    pub unowned_objects: Vec<UnownedObject>,
    /// Whether nothing was deleted.
    pub dry_run: bool,
}

/// How many unowned objects a sweep lists.
pub const MAX_UNOWNED: usize = 100;

/// An object in the bucket that no ledger can own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnownedObject {
    /// Its key in the bucket.
    pub key: String,
    /// Its size, in bytes.
    pub size_bytes: u64,
    /// How long ago it was written, in seconds.
    pub age_seconds: u64,
}

/// The key that signs a workspace's refs from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyRotation {
    /// Its number.
    pub key: u32,
    /// The number of the one before, which is still accepted; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<u32>,
}
