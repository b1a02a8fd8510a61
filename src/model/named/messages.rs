//! What a named workspace asks of the workspace of its sandbox, and what it is answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Address;
use super::answer::HookRun;
use super::settings::{Hook, Settings};
use super::standing::{Standing, is_zero};
#[cfg(feature = "schema")]
use crate::model::schema::nullable;
use crate::model::{Directory, Lineage, SandboxId, SnapshotId, Timestamp};

/// A sandbox to be made, or to be given its files again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumeRequest {
    /// The workspace that it stands for.
    pub address: Address,
    /// How it is to be kept.
    pub settings: Settings,
    /// How the caller wants it.
    pub start: Start,
    /// The version of the workspace's record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
}

/// How a caller wants a workspace to be started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StartSettings", transform = nullable))]
pub struct Start {
    /// What becomes of files that were written since the sandbox woke by itself.
    #[serde(default)]
    pub on_diverged: OnDiverged,
    /// Whether it is started empty where there is nothing to restore.
    #[serde(default)]
    pub allow_empty: bool,
    /// Whether it is started although its snapshot is stale.
    #[serde(default)]
    pub accept_stale: bool,
    /// What files must have been at the snapshot: SHA-256 in hexadecimal, by the paths of `dependsOn.files`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<String, String>,
}

/// What becomes of files that were written since the sandbox woke by itself, without those of the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum OnDiverged {
    /// The start fails, and nothing is touched.
    #[default]
    Fail,
    /// They are the workspace's from now on.
    Keep,
    /// They are kept as a snapshot of their own, and the newest one before is restored.
    Save,
    /// They go, and the newest snapshot is restored.
    Discard,
}

/// What a look at a sandbox found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// It runs, with its files in place.
    Alive,
    /// It does not run.
    Asleep,
    /// It runs without its files.
    Woken,
    /// It runs without its files, and others were written since it woke.
    Diverged,
}

/// How a sandbox got its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumed {
    /// How.
    pub how: How,
    /// The snapshot that was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<SnapshotId>,
    /// The snapshot that the files were saved in which were there instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<SnapshotId>,
    /// The first sandbox of its lineage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_id: Option<SandboxId>,
    /// In what the snapshot is stale.
    #[serde(default)]
    pub stale: Vec<String>,
    /// What hooks came to.
    #[serde(default)]
    pub hooks: Vec<HookRun>,
}

/// How a workspace got its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum How {
    /// They were in place.
    Alive,
    /// They were restored from a snapshot.
    Restored,
    /// It has none yet: it is new, or begins anew because that was asked for.
    Empty,
    /// Those are kept that were written since it woke by itself.
    Kept,
}

/// A sandbox to be ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HaltRequest {
    /// The workspace that it stands for: one that stands for another, or for none, is left as it is.
    pub address: Address,
    /// Whether a snapshot is taken before.
    pub snapshot: bool,
    /// What runs in it before that, in this order, by the names of the hooks.
    #[serde(default)]
    pub hooks: Vec<(String, Hook)>,
    /// The variables that these see.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The version of the workspace's record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
    /// Whether the workspace goes on in another sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub former: bool,
}

impl HaltRequest {
    /// A request to capture and end whatever runs, without hooks.
    pub const fn capturing(address: Address) -> Self {
        Self { address, snapshot: true, hooks: Vec::new(), env: BTreeMap::new(), version: 0, former: false }
    }
}

/// What the end of a sandbox came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Halted {
    /// The snapshot that was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<LastSnapshot>,
    /// The snapshot that files were saved in which were written since it woke by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<SnapshotId>,
    /// Whether it had ended before, with whatever was not in a snapshot.
    #[serde(default)]
    pub was_asleep: bool,
    /// Whether the end of its container was not answered in time: it may still come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_unanswered: bool,
    /// Whether files were still being changed while the last snapshot was taken: they may be in it as they were before.
    #[serde(default)]
    pub unsettled: bool,
    /// What hooks came to.
    #[serde(default)]
    pub hooks: Vec<HookRun>,
}

/// A snapshot, as a workspace remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastSnapshot {
    /// The snapshot.
    pub id: SnapshotId,
    /// The sandbox that it was taken of.
    pub origin_id: SandboxId,
    /// The directory that it holds.
    pub dir: Directory,
    /// The size of its archive, in bytes.
    pub size_bytes: u64,
    /// When it was taken.
    pub created_at: Timestamp,
}

/// A sandbox that is going to be made from a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReserveRequest {
    /// Its id, which was minted by the caller.
    pub sandbox_id: SandboxId,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether it is restored or branched.
    pub lineage: Lineage,
    /// What it stands for.
    pub standing: Standing,
}

/// What is left of a sandbox's snapshots that are not needed by their workspace any more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retired {
    /// How many snapshots go.
    pub removed: usize,
    /// The snapshots that stay while other sandboxes need them.
    pub kept: Vec<Kept>,
}

/// A snapshot that others need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "KeptSnapshot"))]
pub struct Kept {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// The sandbox that it was taken of.
    pub origin_id: SandboxId,
    /// The sandboxes that need it.
    pub holders: Vec<SandboxId>,
    /// Whether it is pinned.
    pub pinned: bool,
}
