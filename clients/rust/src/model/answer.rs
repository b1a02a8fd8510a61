//! The results of the operations, apart from refs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::policy::{Decision, Policy};
use super::{
    ArchiveFormat, Compression, Directory, FullReason, Label, Provenance, SandboxId, SecretsReport, ShortRef, SizeDrop,
    SnapshotCause, SnapshotForm, SnapshotId, SnapshotRef, Timestamp,
};
#[cfg(feature = "schema")]
use crate::model::schema::extends;

pub use super::lineage::{
    DerivedSandbox, ParentSnapshot, SandboxParent, SnapshotNode, Tree, TreeSandbox, TreeSnapshot, WorkspaceLineage,
};

/// A snapshot, as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(clippy::struct_excessive_bools)] // They are independent.
pub struct Summary {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// Its label.
    pub label: Label,
    /// Its state.
    pub state: SnapshotState,
    /// The directory that it contains.
    pub dir: Directory,
    /// When it was taken; while it is being taken, when the capture began.
    pub created_at: Timestamp,
    /// Its age, in seconds.
    pub age_seconds: i64,
    /// The size of its archive, in bytes; absent while it is being taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// The format of its archive; absent while it is being taken, and for snapshots of earlier releases.
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
    /// Why it is full although incremental snapshots were on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_reason: Option<FullReason>,
    /// The bytes in R2 that only it uses: its deletion frees them. Absent while it is being taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<u64>,
    /// The bytes in R2 that it shares with other snapshots: those of the base of a delta, and those of a full snapshot that
    /// deltas are based on. Absent while it is being taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_bytes: Option<u64>,
    /// The deltas that are based on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<SnapshotId>,
    /// When it was taken or last restored.
    pub last_used_at: Timestamp,
    /// When it expires; absent if it has no expiration time, or stays beyond it, as the newest restorable one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether it is pinned: the retention policy never removes it.
    pub pinned: bool,
    /// Whether it leaves out files, by `excludes`, `gitignore` or `secrets`. A named workspace starts from such a
    /// snapshot only if its sandbox began with it, as after a rollback to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Whether it is a rescue snapshot: one of a container that was not the sandbox's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rescue: bool,
    /// Why it was taken. Absent if that is not known, as for most snapshots of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SnapshotCause>,
    /// Whether an automatic save took it. Retention counts such snapshots only among themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub autosave: bool,
    /// The size of the previous snapshot and of this one; present if this one is so much smaller that files may be
    /// missing by mistake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<SizeDrop>,
    /// What its container ran on. Absent if that is not known, as for snapshots of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The workspaces that depend on it.
    pub dependents: Vec<SandboxId>,
    /// Whether it can be restored.
    #[serde(flatten)]
    pub restorable: Restorable,
    /// Its ref; absent while it is being taken.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotRef>,
    /// Its ref as one text; absent while it is being taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_ref: Option<ShortRef>,
}

/// The state of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SnapshotState {
    /// The snapshot is being created.
    #[serde(alias = "making")]
    Creating,
    /// The snapshot was created and has not been removed.
    Ready,
    /// The snapshot is being deleted.
    Deleting,
    /// The snapshot is deleted.
    Deleted,
}

impl SnapshotState {
    /// Returns the state as it appears in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Ready => "ready",
            Self::Deleting => "deleting",
            Self::Deleted => "deleted",
        }
    }
}

/// Whether a snapshot can be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restorable {
    /// Whether it can be restored.
    pub restorable: Restorability,
    /// Why it cannot be restored, or why that is unknown; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When R2 was last checked for it; absent if it was not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
}

/// Whether a snapshot can be restored, if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Restorability {
    /// It can be restored, according to all checks so far.
    Yes,
    /// It cannot be restored.
    No,
    /// R2 did not respond.
    Unknown,
}

/// A page of a list of snapshots, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Page {
    /// The snapshots.
    pub snapshots: Vec<Summary>,
    /// The cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Why the page is empty; present only if there is no record of the sandbox. Its id may be misspelled, or the name of a
    /// workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// All details of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("Summary")))]
pub struct Manifest {
    /// The version of this format: 1.
    #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
    pub schema_version: u32,
    /// The fields that lists show.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(flatten)]
    pub summary: Summary,
    /// The sandbox that the snapshot was taken of.
    pub origin_id: SandboxId,
    /// The first sandbox of the lineage.
    pub root_id: SandboxId,
    /// The snapshot that the sandbox itself was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSnapshot>,
    /// When the capture began. Files that were written later may be missing.
    pub capture_began_at: Timestamp,
    /// The patterns of paths that were left out.
    pub excludes: Vec<String>,
    /// Whether files that git ignores were left out.
    pub gitignore: bool,
    /// The files that seemed to contain secrets, if the capture searched for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<SecretsReport>,
    /// How the archive is compressed, if the request set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// The snapshot's own expiration, in seconds after its last use; 0 is never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration_seconds: Option<u64>,
    /// The time until which the SDK restores the backup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_until: Option<Timestamp>,
    /// R2's checksum of the archive at the time of the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// The keys of the snapshot's objects in R2.
    pub objects: Vec<String>,
    /// Whether the snapshot was added by `import`.
    pub imported: bool,
    /// The sandboxes that were made from the snapshot.
    pub derived: Vec<DerivedSandbox>,
    /// When and why the snapshot was removed, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removal: Option<Removal>,
}

/// When and why a snapshot was removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Removal {
    /// When it was removed.
    pub at: Timestamp,
    /// Why it was removed.
    pub reason: String,
}

/// The result of a deletion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deletion {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether this call removed the snapshot; `false` if it had been removed before.
    pub removed: bool,
    /// The deltas that the call deleted with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<SnapshotId>,
    /// The bytes that stay in R2, because deltas are based on the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptArchive>,
}

/// The archive of a deleted snapshot that stays in R2 until the last delta based on it is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptArchive {
    /// The size of the archive, in bytes.
    pub bytes: u64,
    /// The deltas that need it. Delete them to delete the archive.
    pub deltas: Vec<SnapshotId>,
    /// When the last of them expires; absent if one of them does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// The result of checks of a backup in R2, which start no container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verification {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether no check failed.
    pub ok: bool,
    /// The checks, in the order in which they ran.
    pub checks: Vec<Check>,
    /// When the checks ran.
    pub verified_at: Timestamp,
}

/// One check of a backup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// What was checked.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["objects", "header", "checksum", "sha256", "base"])))]
    pub name: Cow<'static, str>,
    /// Whether the check passed; absent if there is nothing to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// What was found.
    pub detail: String,
}

/// A workspace's retention policy, and its effect on each snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Retention {
    /// The policy.
    pub policy: Policy,
    /// The decision about each snapshot, newest first.
    pub decisions: Vec<Decision>,
    /// The number of snapshots that the policy removed; in a dry run, the number that it would remove.
    pub evicted: usize,
    /// Whether this was a dry run, which removes nothing.
    pub dry_run: bool,
}

/// The result of a sweep of the bucket. Every backup is counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    /// Backups in the bucket.
    pub scanned: usize,
    /// Backups younger than the grace period: skipped until a later sweep.
    pub too_recent: usize,
    /// Backups without the product's mark, or unreadable ones: they belong to an application.
    pub unmarked: usize,
    /// Backups that a ledger of this deployment owns, or that no ledger of this deployment created: those of another
    /// deployment or of an earlier version.
    pub owned: usize,
    /// Backups that no ledger owns: deleted, or in a dry run only counted.
    pub deleted: usize,
    /// Backups that could not be checked or deleted: skipped until a later sweep.
    pub failed: usize,
    /// Archives without metadata that are older than the grace period. They carry no mark, so a sweep never deletes
    /// them and does not count them in `scanned`. Each is either an application's own upload, or left by a sandbox that
    /// failed while it stored a backup.
    #[serde(default)]
    pub unowned: usize,
    /// The first of these archives, in the order of their keys.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = MAX_UNOWNED)))]
    pub unowned_objects: Vec<UnownedObject>,
    /// Whether this was a dry run, which deletes nothing.
    pub dry_run: bool,
}

/// The maximum number of unowned objects that a sweep lists.
pub const MAX_UNOWNED: usize = 100;

/// An object in the bucket that no ledger can own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnownedObject {
    /// The object's key in the bucket.
    pub key: String,
    /// The object's size, in bytes.
    pub size_bytes: u64,
    /// The time since the object was written, in seconds.
    pub age_seconds: u64,
}

/// The key that signs a sandbox's refs from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyRotation {
    /// The number of the key.
    pub key: u32,
    /// The number of the previous key, whose signatures stay valid; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<u32>,
}
