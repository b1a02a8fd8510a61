//! The answers of operations on named workspaces.

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::problem::WorkspaceProblem;
use super::settings::{DependsOn, Expiry, Hooks};
use super::{
    Address, Autosave, PlatformSnapshotDescription, State, Storage, StoragePolicy, Tenant, Transition, WorkspaceName,
};
#[cfg(feature = "schema")]
use crate::model::schema::extends;
use crate::model::{Code, Directory, Policy, Runtime, SandboxId, SecretsReport, SnapshotId, Timestamp, WorkspaceRef};

/// A named workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Workspace"))]
pub struct WorkspaceDescription {
    /// The name of the workspace.
    pub name: WorkspaceName,
    /// The tenant that owns the workspace.
    pub tenant: Tenant,
    /// The last known state. If the sandbox has ended since, the next start detects it.
    pub state: State,
    /// Whether the container ended without a stop. The next start restores the newest snapshot. Of an active workspace, only
    /// `workspaces/getByName` reports it, as the status of its sandbox says. Of a stopped one, each answer reports it until the
    /// next start, unless a snapshot has all its files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub container_ended: bool,
    /// The id of the workspace's sandbox. While the workspace is active, the application passes it to `getSandbox()`.
    pub sandbox_id: SandboxId,
    /// The runtime of the sandbox; absent if the deployment does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// The sandboxes that the workspace had before, newest first. Their snapshots belong to the workspace.
    pub former_sandbox_ids: Vec<SandboxId>,
    /// The directory that persists.
    pub dir: Directory,
    /// Whether a stop takes a snapshot.
    pub persistent: bool,
    /// Where a stop stores the files.
    #[serde(default)]
    pub storage: StoragePolicy,
    /// Whether snapshots may contain only what changed since a full one; the deployment's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incremental: Option<bool>,
    /// The name of the image from which the next container starts; the default of its class if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The retention policy of the workspace's snapshots.
    pub retention: Policy,
    /// The commands that run in the sandbox when the workspace starts and stops.
    pub hooks: Hooks,
    /// The time limits after which the workspace stops automatically.
    pub expiry: Expiry,
    /// When the files of the running workspace are saved automatically.
    #[serde(default)]
    pub autosave: Autosave,
    /// What the workspace's snapshots depend on.
    pub depends_on: DependsOn,
    /// The names of the environment variables that are set in the sandbox.
    pub env_names: Vec<String>,
    /// When the workspace was created.
    pub created_at: Timestamp,
    /// When the workspace was last started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When activity in the workspace was last observed.
    pub active_at: Timestamp,
    /// When the workspace stops automatically if there is no further activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// When the newest snapshot of the workspace's files was taken, by whatever means. Absent if there is none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_saved_at: Option<Timestamp>,
    /// Since when changes may be unsaved, because an automatic save failed; absent once a save succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaved_since: Option<Timestamp>,
    /// The snapshot of the last stop. Absent if it was deleted since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_snapshot: Option<LastSnapshot>,
    /// The snapshot with the files that the workspace had before its last rollback, promotion or start from a snapshot. Absent if
    /// there was none, or if the former sandbox has no snapshot of these files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_snapshot_id: Option<SnapshotId>,
    /// The platform snapshot of the last stop, as of the last start or stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_snapshot: Option<PlatformSnapshotDescription>,
    /// The snapshot from which the last start restored the files; absent if it restored none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<RestoredFrom>,
    /// Whether files may be lost that were newer than `restoredFrom`, or where `containerEnded`, newer than the last snapshot.
    /// `false` only if it is certain that a snapshot has every file that the workspace had before. Without `restoredFrom`, `true`
    /// if files of an earlier container may be lost, and absent if none may be lost that were to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_have_lost: Option<bool>,
    /// Since when changes may be lost. It is earlier than the time of `restoredFrom` if an earlier restore lost them, and no answer
    /// has certainly reported that. Absent if no changes are lost, or if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_since: Option<Timestamp>,
    /// The last problem; absent once the operation succeeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<WorkspaceProblem>,
    /// The latest state transitions, newest first.
    pub history: Vec<Transition>,
}

/// A started workspace, ready for use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "StartedWorkspace"),
    schemars(transform = extends("Workspace"))
)]
pub struct StartedWorkspace {
    /// The workspace.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(flatten)]
    pub description: WorkspaceDescription,
    /// The reference to the workspace's sandbox, in the form that all operations take.
    pub workspace: WorkspaceRef,
    /// How the sandbox got its files.
    pub how: StartOutcome,
    /// Why the files were not restored from the platform snapshot of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_fallback: Option<String>,
    /// The rescue snapshot that contains the files that the sandbox had before the restore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescue_snapshot_id: Option<SnapshotId>,
    /// The reasons why the snapshot is stale; empty if it is not.
    pub stale: Vec<String>,
    /// The results of the hooks that ran.
    pub hook_runs: Vec<HookRun>,
}

/// A stopped workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "StoppedWorkspace"),
    schemars(transform = extends("Workspace"))
)]
pub struct StoppedWorkspace {
    /// The workspace, with its `lastSnapshot`.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(flatten)]
    pub description: WorkspaceDescription,
    /// The rescue snapshot that contains files written after the sandbox was cold-started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescue_snapshot_id: Option<SnapshotId>,
    /// Whether the sandbox had ended before the stop. Files that were not in a snapshot by then are lost.
    pub had_ended: bool,
    /// Whether files changed during the capture. The snapshot may contain earlier versions of these files.
    pub changed_during_capture: bool,
    /// Why no platform snapshot was taken, although the settings request one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_failure: Option<String>,
    /// The results of the hooks that ran.
    pub hook_runs: Vec<HookRun>,
}

// The Worker forwards the answers of the workspaces unchanged. For callers they are `StartedWorkspace`.
/// The forks of a workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ForkedWorkspaces"))]
pub struct ForkedWorkspaces<Workspace = Value> {
    /// The snapshot that all forks are created from.
    pub snapshot_id: SnapshotId,
    /// The sandbox that the snapshot was taken of.
    pub origin_id: SandboxId,
    /// Whether files of the workspace may be lost that were newer than the snapshot: its container had ended without a
    /// stop.
    #[serde(default)]
    pub may_have_lost: bool,
    /// The files that seem to contain secrets, if the call searched for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<SecretsReport>,
    /// The result of each fork, in the order of their numbers.
    pub forks: Vec<Fork<Workspace>>,
}

impl From<&WorkspaceDescription> for Address {
    fn from(description: &WorkspaceDescription) -> Self {
        Self { tenant: description.tenant.clone(), name: description.name.clone() }
    }
}

impl From<&StartedWorkspace> for Address {
    fn from(started: &StartedWorkspace) -> Self {
        Self::from(&started.description)
    }
}

impl From<&StoppedWorkspace> for Address {
    fn from(stopped: &StoppedWorkspace) -> Self {
        Self::from(&stopped.description)
    }
}

/// The result of one fork: a value or an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Fork"))]
pub struct Fork<Workspace = Value> {
    /// The name of the fork.
    pub name: WorkspaceName,
    /// The started workspace; absent if the fork failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Workspace>,
    /// The reason why the fork failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<WorkspaceProblem>,
}

/// The result of deleting a workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeletedWorkspace {
    /// The name of the workspace.
    pub name: WorkspaceName,
    /// Whether this call deleted the workspace. It is false, without an error, if the workspace did not exist.
    pub removed: bool,
    /// When the workspace was deleted, by this call or by an earlier one; absent if there was none of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
    /// How many of the workspace's snapshots are deleted.
    pub removed_snapshots: usize,
    /// The snapshots that are kept because other sandboxes need them, or because they are pinned. A snapshot that is
    /// not pinned is deleted when its last dependent no longer needs it.
    pub kept: Vec<KeptSnapshot>,
    /// Until when the platform may keep snapshots of the workspace's disk, which cannot be deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_data_until: Option<Timestamp>,
    /// The sandboxes whose snapshots could not be processed yet. The Worker processes them later.
    pub pending: Vec<SandboxId>,
}

/// A workspace in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceEntry"))]
pub struct WorkspaceEntry {
    /// The name of the workspace.
    pub name: WorkspaceName,
    /// The last reported state.
    pub state: State,
    /// The id of the workspace's sandbox.
    pub sandbox_id: SandboxId,
    /// The runtime of the sandbox; absent if the deployment does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// Where a stop stores the files; `platform` also while the files are only in a platform snapshot.
    #[serde(default, skip_serializing_if = "StoragePolicy::is_default")]
    pub storage: StoragePolicy,
    /// The size of the newest archive up to `lastSavedAt`, in bytes; after a rollback or a promotion, that of its snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Whether the files of the running workspace are saved automatically.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub autosave: bool,
    /// When the newest snapshot of the workspace's files was taken that the list counts: by a stop or an automatic save, or the
    /// one that the workspace was last started from. The description of the workspace also counts snapshots that a caller
    /// took since. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_saved_at: Option<Timestamp>,
    /// Since when changes may be unsaved, because an automatic save failed; absent once a save succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaved_since: Option<Timestamp>,
    /// Whether the last stop found that the container had ended, so that files newer than `lastSavedAt` may be lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub container_ended: bool,
    /// The code of the last problem, as in the `problem` of the workspace; absent once the operation succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem_code: Option<Code>,
    /// When the workspace was created.
    pub created_at: Timestamp,
    /// The sandbox of the snapshot that the workspace was created from; absent if it was created empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_sandbox_id: Option<SandboxId>,
    /// When the reported state was entered.
    pub updated_at: Timestamp,
    /// The number of changes so far, counted over all workspaces that ever had this name.
    pub version: u64,
}

/// A page of a tenant's workspaces, sorted by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspacePage"))]
pub struct WorkspacePage {
    /// The workspaces.
    pub workspaces: Vec<WorkspaceEntry>,
    /// The cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// How a workspace got its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum StartOutcome {
    /// The sandbox was running with the files in place. If its directory was deleted or moved since, `problem` says so.
    #[serde(alias = "alive")]
    Running,
    /// The files were restored from a snapshot.
    Restored,
    /// The workspace has no files: it is new, it was never persistent, or the caller allowed an empty start.
    Empty,
    /// The workspace adopted the files that were written after the sandbox was cold-started.
    #[serde(alias = "kept")]
    Adopted,
}

/// The snapshot of a workspace's last stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastSnapshot {
    /// The id of the snapshot.
    pub id: SnapshotId,
    /// The sandbox that the snapshot was taken of.
    pub origin_id: SandboxId,
    /// The directory that was captured.
    pub dir: Directory,
    /// The size of the archive, in bytes.
    pub size_bytes: u64,
    /// When the snapshot was taken.
    pub created_at: Timestamp,
}

/// The snapshot from which the files of a workspace were restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoredFrom {
    /// The storage of the snapshot.
    #[serde(default)]
    pub storage: Storage,
    /// The id of the snapshot: the archive with the same files if the storage is `platform`; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<SnapshotId>,
    /// When the snapshot was taken.
    pub created_at: Timestamp,
    /// The age of the snapshot when it was restored, in seconds.
    pub age_seconds: u64,
    /// The newest partial snapshot, if files may be lost that it has: it was taken after the restored one, and leaves out files by
    /// `excludes`, `gitignore` or `secrets`. A start does not restore it, because a sandbox cannot know what it lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer_partial_id: Option<SnapshotId>,
}

/// A snapshot that is kept because other sandboxes need it, or because it is pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "KeptSnapshot"))]
pub struct KeptSnapshot {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// The sandbox that the snapshot was taken of.
    pub origin_id: SandboxId,
    /// The sandboxes that need the snapshot.
    #[serde(alias = "holders")]
    pub dependents: Vec<SandboxId>,
    /// Whether the snapshot is pinned.
    pub pinned: bool,
}

/// The result of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookRun {
    /// The name of the hook.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["beforeStop", "afterStart", "onTimeout"])))]
    pub hook: String,
    /// Whether the hook succeeded.
    pub ok: bool,
    /// The exit code of the hook; absent if the hook was killed or the code is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the hook was killed because it exceeded its time limit.
    pub timed_out: bool,
    /// The output of the hook on stdout and stderr: the beginning and the end of it.
    pub output: String,
}
