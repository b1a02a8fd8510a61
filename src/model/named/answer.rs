//! What callers are told about named workspaces.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::messages::{How, Kept, LastSnapshot};
use super::record::{NamedRecord, Transition};
use super::settings::{DependsOn, Expiry, Hooks};
use super::{State, Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::extends;
use crate::model::{Code, Directory, Error, Policy, SandboxId, SnapshotId, Timestamp, WorkspaceRef};

/// A named workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Workspace"))]
pub struct Described {
    /// What it is called.
    pub name: WorkspaceName,
    /// Whose it is.
    pub tenant: Tenant,
    /// What it is doing, as far as is known: a sandbox that fell asleep since is noticed by the next start.
    pub state: State,
    /// Its sandbox: what the application gives to `getSandbox()` while it is active.
    pub sandbox_id: SandboxId,
    /// The sandboxes that it had before, the newest first: snapshots of them are its own.
    pub former_sandbox_ids: Vec<SandboxId>,
    /// The directory that persists.
    pub dir: Directory,
    /// Whether a stop takes a snapshot.
    pub persistent: bool,
    /// How long its snapshots are kept.
    pub retention: Policy,
    /// Commands that run in its sandbox.
    pub hooks: Hooks,
    /// When it is stopped by itself.
    pub expiry: Expiry,
    /// What its snapshots depend on.
    pub depends_on: DependsOn,
    /// The names of the environment variables that are set in its sandbox.
    pub env_names: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When something was last seen to happen with it.
    pub active_at: Timestamp,
    /// When it is stopped by itself if nothing happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// The snapshot of its last stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_snapshot: Option<LastSnapshot>,
    /// What went wrong last, until it goes well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// How it got to its state, the newest transition first.
    pub history: Vec<Transition>,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceProblem"))]
pub struct Problem {
    /// The stable code.
    pub code: Code,
    /// What happened, to what.
    pub message: String,
    /// What to do about it.
    pub remediation: String,
    /// When.
    pub at: Timestamp,
}

/// A workspace that can be worked in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "StartedWorkspace"),
    schemars(transform = extends("Workspace"))
)]
pub struct Started {
    /// The workspace.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(flatten)]
    pub described: Described,
    /// Its sandbox, as every workspace is passed on.
    pub workspace: WorkspaceRef,
    /// How it got its files.
    pub how: How,
    /// The snapshot that was restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<SnapshotId>,
    /// The snapshot that the files were saved in which were there instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<SnapshotId>,
    /// In what the snapshot is stale.
    pub stale: Vec<String>,
    /// What hooks came to.
    pub hook_runs: Vec<HookRun>,
}

/// What a stop answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "StoppedWorkspace"),
    schemars(transform = extends("Workspace"))
)]
pub struct Stopped {
    /// The workspace, with its `lastSnapshot`.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(flatten)]
    pub described: Described,
    /// The snapshot that files were saved in which were written after the sandbox had slept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<SnapshotId>,
    /// Whether the sandbox had ended before: what was not in a snapshot then is lost.
    pub was_asleep: bool,
    /// Whether files were still being changed while the snapshot was taken: they may be in it as they were before.
    pub unsettled: bool,
    /// What hooks came to.
    pub hook_runs: Vec<HookRun>,
}

/// What a hook came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookRun {
    /// Which hook.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["beforeStop", "afterStart", "onTimeout"])))]
    pub hook: String,
    /// Whether it succeeded.
    pub ok: bool,
    /// Its exit code; absent where it was killed, or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether it was killed because its time was over.
    pub timed_out: bool,
    /// What it printed, on both streams: the beginning and the end of it.
    pub output: String,
}

// The Worker passes on what the workspaces answered, as it is. To callers they are `Started`.
/// What a fork answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ForkedWorkspaces"))]
pub struct Forked<Workspace = Value> {
    /// The snapshot that all of them are made from.
    pub snapshot_id: SnapshotId,
    /// The sandbox that it was taken of.
    pub origin_id: SandboxId,
    /// What became of each, in their order.
    pub forks: Vec<Fork<Workspace>>,
}

/// One fork: a value or an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Fork"))]
pub struct Fork<Workspace = Value> {
    /// What it is called.
    pub name: WorkspaceName,
    /// The workspace, as a start answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Workspace>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

/// What the deletion of a workspace answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeletedWorkspace {
    /// What it was called.
    pub name: WorkspaceName,
    /// Whether it was there until now. One that is gone already is fine.
    pub removed: bool,
    /// How many of its snapshots go.
    pub removed_snapshots: usize,
    /// Its snapshots that others need: they go when they are released.
    pub kept: Vec<Kept>,
    /// Its sandboxes whose snapshots could not be looked at yet: that follows.
    pub pending: Vec<SandboxId>,
}

/// A workspace, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceEntry"))]
pub struct Entry {
    /// What it is called.
    pub name: WorkspaceName,
    /// What it was doing when it was last heard of.
    pub state: State,
    /// Its sandbox.
    pub sandbox_id: SandboxId,
    /// The size of the snapshot of its last stop, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When that was last heard.
    pub updated_at: Timestamp,
    /// How often it has changed, over all workspaces that ever had the name.
    pub version: u64,
}

/// A page of a tenant's workspaces, in the order of their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspacePage"))]
pub struct Entries {
    /// The workspaces.
    pub workspaces: Vec<Entry>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Problem {
    /// That something failed.
    pub fn of(error: &Error, at: Timestamp) -> Self {
        Self {
            code: error.code(),
            message: error.message().to_owned(),
            remediation: error.remediation().to_owned(),
            at,
        }
    }
}

impl From<&NamedRecord> for Described {
    fn from(record: &NamedRecord) -> Self {
        let settings = record.settings.clone();
        let (idle_at, old_at) = record.ends();
        let is_active = record.state == State::Active;
        Self {
            name: record.address.name.clone(),
            tenant: record.address.tenant.clone(),
            state: record.state,
            sandbox_id: record.sandbox_id.clone(),
            former_sandbox_ids: record.former.clone(),
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

impl From<&NamedRecord> for Entry {
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
