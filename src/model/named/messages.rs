//! The messages between a named workspace and the `Workspace` object of its sandbox: requests and answers.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::answer::{HookRun, KeptSnapshot, LastSnapshot, StartOutcome};
use super::binding::{LastRestore, SavedIn, WorkspaceBinding, is_zero};
use super::settings::{Hook, Settings, StartSettings};
use super::{Address, PlatformSnapshot, StoragePolicy};
use crate::model::exec::StartedForExec;
use crate::model::record::ParentLink;
use crate::model::request::StopSnapshot;
use crate::model::{DerivationKind, Runtime, SandboxId, SecretsReport, SnapshotCause, SnapshotId, Timestamp};

/// The request to create a sandbox, or to restore its files if it has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnsureRunningRequest {
    /// The workspace that the sandbox belongs to. Absent for a sandbox that is revived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// The settings of the workspace.
    pub settings: Settings,
    /// The start options of the caller.
    pub start: StartSettings,
    /// The version of the workspace's record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
    /// Whether files of the workspace may be lost that were never in this sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_have_lost: bool,
    /// Since when these changes may be lost, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_since: Option<Timestamp>,
    /// Whether the workspace was never persistent, so that it has no files to keep.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_persistent: bool,
}

/// The condition of a sandbox, as a probe found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// The container is running, with the workspace's files in place.
    #[serde(alias = "alive")]
    Running,
    /// The container has ended.
    #[serde(alias = "asleep")]
    Ended,
    /// The container is running without the workspace's files.
    #[serde(alias = "woken")]
    ColdStarted,
    /// The container was cold-started, and other files were written since.
    Diverged,
    /// The container is running, and the workspace's files were put into it, but its directory was deleted or moved.
    DirectoryMissing,
}

impl Condition {
    /// Returns whether the container runs that the workspace's files were put into.
    pub const fn is_running(self) -> bool {
        matches!(self, Self::Running | Self::DirectoryMissing)
    }
}

/// The answer to an [`EnsureRunningRequest`]: how the sandbox got its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnsuredRunning {
    /// How the sandbox got its files.
    pub how: StartOutcome,
    /// Whether the directory of the running sandbox was deleted or moved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_missing: bool,
    /// Whether the sandbox started empty or adopted files, although the workspace had others that may be lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_lost_files: bool,
    /// The restore that put the files into the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<LastRestore>,
    /// Why the files were not restored from the platform snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_fallback: Option<String>,
    /// The platform snapshot of the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_snapshot: Option<PlatformSnapshot>,
    /// The rescue snapshot that contains the files that the sandbox had before the restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "saved")]
    pub rescue_snapshot_id: Option<SnapshotId>,
    /// The first sandbox of the sandbox's lineage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_id: Option<SandboxId>,
    /// The runtime of the sandbox. Absent as in [`SandboxRecord::runtime`](crate::model::record::SandboxRecord::runtime).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// The reasons why the snapshot is stale; empty if it is not.
    #[serde(default)]
    pub stale: Vec<String>,
    /// The results of the hooks that ran.
    #[serde(default)]
    pub hooks: Vec<HookRun>,
}

/// The request to capture and destroy a sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StopSandboxRequest {
    /// The workspace that the sandbox belongs to. A sandbox that belongs to another workspace, or to none, is left
    /// unchanged.
    pub address: Address,
    /// Whether to take a snapshot before the sandbox is destroyed.
    pub snapshot: bool,
    /// The options of the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<StopSnapshot>,
    /// Where the files are stored.
    #[serde(default, skip_serializing_if = "StoragePolicy::is_default")]
    pub storage: StoragePolicy,
    /// The name of the image from which the next start makes a container; the default of the class if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The hooks that run in the sandbox before the snapshot, in this order, each with its name.
    #[serde(default)]
    pub hooks: Vec<(String, Hook)>,
    /// The environment variables of the hooks.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The version of the workspace's record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
    /// Whether the workspace continues in another sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(alias = "former")]
    pub superseded: bool,
    /// Why the workspace continues in another sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SnapshotCause>,
    /// The nonce of the restore that an answer reports besides the one to its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_restore: Option<String>,
}

impl StopSandboxRequest {
    /// Returns a request to capture and destroy whatever is running, without hooks.
    pub const fn with_snapshot(address: Address) -> Self {
        Self {
            address,
            snapshot: true,
            options: None,
            storage: StoragePolicy::Archive,
            image: None,
            hooks: Vec::new(),
            env: BTreeMap::new(),
            version: 0,
            superseded: false,
            cause: None,
            reported_restore: None,
        }
    }

    /// Returns why its snapshot is taken.
    pub fn cause(&self) -> SnapshotCause {
        self.cause.unwrap_or(SnapshotCause::Stop)
    }
}

/// The answer to a [`StopSandboxRequest`].
#[allow(clippy::struct_excessive_bools)] // The flags are independent of each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxStopped {
    /// The snapshot that was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<LastSnapshot>,
    /// The rescue snapshot that contains files written after the sandbox was cold-started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "saved")]
    pub rescue_snapshot_id: Option<SnapshotId>,
    /// Whether the sandbox had ended before the stop. Files that were not in a snapshot by then are lost.
    #[serde(default)]
    #[serde(alias = "wasAsleep")]
    pub had_ended: bool,
    /// Whether the sandbox had ended before the stop, and it is not certain that a snapshot has all its files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended_unsaved: bool,
    /// Whether the sandbox did not answer the request to destroy its container in time. The request may still take
    /// effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(alias = "endUnanswered")]
    pub destroy_unconfirmed: bool,
    /// Whether files changed during the last capture. The snapshot may contain earlier versions of these files.
    #[serde(default)]
    #[serde(alias = "unsettled")]
    pub changed_during_capture: bool,
    /// The platform snapshot of the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_snapshot: Option<PlatformSnapshot>,
    /// Why no platform snapshot was taken, although the request asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_failure: Option<String>,
    /// Whether an archive has all files of the sandbox.
    #[serde(default)]
    pub files_saved: bool,
    /// The results of the hooks that ran.
    #[serde(default)]
    pub hooks: Vec<HookRun>,
}

impl SandboxStopped {
    /// Returns the snapshot that the stop took.
    pub fn saved_in(&self) -> Option<SavedIn> {
        let archive = self.snapshot.as_ref().map(|snapshot| SavedIn::Archive(snapshot.id.clone()));
        archive.or_else(|| self.platform_snapshot.as_ref().map(PlatformSnapshot::saved_in))
    }
}

/// The request to verify that a class of sandboxes can start an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckImageRequest {
    /// The name of the image.
    pub image: String,
    /// The runtime of a sandbox that is to be made; that of the present one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
}

/// The request to save the files of a running sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutosaveRequest {
    /// The workspace that the sandbox belongs to.
    pub address: Address,
    /// Whether to save only if files have changed since the last automatic save.
    pub only_if_changed: bool,
    /// The number of newest automatic snapshots that stay.
    pub keep_last: NonZeroU32,
}

/// The outcome of an [`AutosaveRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Autosaved {
    /// The snapshot was taken.
    Saved(LastSnapshot),
    /// No file has changed.
    Unchanged,
    /// The sandbox does not run with the workspace's files.
    NotRunning,
    /// Another operation handles the files now.
    Busy,
}

/// The newest snapshot from which a sandbox can be started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewestSnapshot {
    /// The snapshot.
    #[serde(flatten)]
    pub snapshot: LastSnapshot,
    /// Whether the sandbox may have held newer files.
    #[serde(default = "unproved")]
    pub may_have_lost: bool,
}

/// The key of a snapshot: its ledger and its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotKey {
    /// The sandbox that the snapshot was taken of.
    pub origin_id: SandboxId,
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
}

/// The snapshot from which other workspaces start with the present files of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkSource {
    /// The key of the snapshot.
    #[serde(flatten)]
    pub key: SnapshotKey,
    /// Whether files of the workspace may be lost that were newer than the snapshot.
    #[serde(default = "unproved")]
    pub may_have_lost: bool,
    /// The files that seem to contain secrets, if the capture searched for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<SecretsReport>,
}

impl ForkSource {
    /// Returns a snapshot that was taken before.
    pub const fn known(key: SnapshotKey, may_have_lost: bool) -> Self {
        Self { key, may_have_lost, secrets: None }
    }
}

/// The default of `may_have_lost` in messages and rows of earlier releases.
const fn unproved() -> bool {
    true
}

/// A snapshot from which a workspace can be created, and the runtime of its sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundSnapshot {
    /// The snapshot.
    #[serde(flatten)]
    pub snapshot: LastSnapshot,
    /// The runtime of the sandbox that the snapshot was taken of. Absent as in
    /// [`SandboxRecord::runtime`](crate::model::record::SandboxRecord::runtime).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
}

/// The sandbox of a workspace in which a command is to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumedWorkspace {
    /// The id of the sandbox.
    pub sandbox_id: SandboxId,
    /// The environment variables of the workspace.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How the workspace was started; absent if it was active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<StartedForExec>,
}

/// The request to claim a minted sandbox id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimRequest {
    /// The first sandbox of the lineage.
    pub root_id: SandboxId,
    /// The snapshot that the sandbox is made from.
    pub parent: Option<ParentLink>,
    /// The named workspace that the sandbox belongs to.
    #[serde(alias = "standing")]
    pub binding: Option<WorkspaceBinding>,
    /// The marker that its container will have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// The runtime of the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
}

/// The request to reserve a snapshot for a sandbox that will be created from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReserveRequest {
    /// The id of the sandbox, minted by the caller.
    pub sandbox_id: SandboxId,
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether the sandbox is restored or branched.
    #[serde(alias = "lineage")]
    pub kind: DerivationKind,
    /// The binding of the sandbox to its named workspace.
    #[serde(alias = "standing")]
    pub binding: WorkspaceBinding,
    /// The runtime of the sandbox; if absent, that of the snapshot's own sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
}

/// The request to move a stopped sandbox to another runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwitchRuntimeRequest {
    /// The workspace that the sandbox belongs to.
    pub address: Address,
    /// The runtime.
    pub runtime: Runtime,
    /// The version of the workspace's record.
    pub version: u64,
    /// Whether to verify only that the runtime can restore the newest snapshot.
    pub dry_run: bool,
}

/// The result of decommissioning a sandbox whose workspace no longer needs its snapshots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decommissioned {
    /// How many snapshots are deleted.
    pub removed: usize,
    /// The snapshots that are kept: other sandboxes need them, or they are pinned.
    pub kept: Vec<KeptSnapshot>,
    /// Until when the platform may keep snapshots of the sandbox, which cannot be deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_data_until: Option<Timestamp>,
}
