//! The answers of operations on named workspaces.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::messages::{HookRun, KeptSnapshot, LastSnapshot, StartOutcome};
use super::record::{NamedRecord, Transition, WorkspaceProblem};
use super::settings::{DependsOn, Expiry, Hooks};
use super::{State, Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::extends;
use crate::model::{Directory, Policy, SandboxId, SnapshotId, Timestamp, WorkspaceRef};

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
    /// The id of the workspace's sandbox. While the workspace is active, the application passes it to `getSandbox()`.
    pub sandbox_id: SandboxId,
    /// The sandboxes that the workspace had before, newest first. Their snapshots belong to the workspace.
    pub former_sandbox_ids: Vec<SandboxId>,
    /// The directory that persists.
    pub dir: Directory,
    /// Whether a stop takes a snapshot.
    pub persistent: bool,
    /// The retention policy of the workspace's snapshots.
    pub retention: Policy,
    /// The commands that run in the sandbox when the workspace starts and stops.
    pub hooks: Hooks,
    /// The time limits after which the workspace stops automatically.
    pub expiry: Expiry,
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
    /// The snapshot of the last stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_snapshot: Option<LastSnapshot>,
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
    /// The snapshot that was restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<SnapshotId>,
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
    /// The result of each fork, in the order of their numbers.
    pub forks: Vec<Fork<Workspace>>,
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
    /// How many of the workspace's snapshots are deleted.
    pub removed_snapshots: usize,
    /// The snapshots that are kept because other sandboxes need them, or because they are pinned. A snapshot that is
    /// not pinned is deleted when its last dependent no longer needs it.
    pub kept: Vec<KeptSnapshot>,
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
    /// The size of the last stop's snapshot, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// When the workspace was created.
    pub created_at: Timestamp,
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

impl From<&NamedRecord> for WorkspaceDescription {
    fn from(record: &NamedRecord) -> Self {
        let settings = record.settings.clone();
        let (idle_at, old_at) = record.deadlines();
        let is_active = record.state == State::Active;
        Self {
            name: record.address.name.clone(),
            tenant: record.address.tenant.clone(),
            state: record.state,
            sandbox_id: record.sandbox_id.clone(),
            former_sandbox_ids: record.former_sandbox_ids.clone(),
            dir: settings.dir,
            persistent: settings.persistent,
            retention: settings.retention,
            hooks: settings.hooks,
            expiry: settings.expiry,
            depends_on: settings.depends_on,
            env_names: settings.env.into_keys().collect(),
            created_at: record.created_at,
            started_at: record.started_at,
            active_at: record.active_at,
            ends_at: [idle_at, old_at].into_iter().flatten().min().filter(|_| is_active),
            last_snapshot: record.last_snapshot.clone(),
            problem: record.problem.clone(),
            history: record.history.clone(),
        }
    }
}

impl From<&NamedRecord> for WorkspaceEntry {
    fn from(record: &NamedRecord) -> Self {
        Self {
            name: record.address.name.clone(),
            state: record.state,
            sandbox_id: record.sandbox_id.clone(),
            size_bytes: record.last_snapshot.as_ref().map(|snapshot| snapshot.size_bytes),
            created_at: record.created_at,
            updated_at: record.history.first().map_or(record.created_at, |transition| transition.at),
            version: record.version,
        }
    }
}
