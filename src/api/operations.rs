//! The operations by name, from JSON to JSON.

use serde::Serialize;
use serde_json::Value;

use crate::model::named::Address;
use crate::model::request::{
    ApplyRetentionRequest, CallToolRequest, CreateCheckpointRequest, CreateRequest, DeleteRequest,
    DiffCheckpointRequest, ForkRequest, GetOrCreateRequest, GrantRequest, HealthRequest, ImportRequest, LabelRequest,
    LineageRequest, ListCheckpointsRequest, ListRequest, NameRequest, NamesRequest, PolicyRequest,
    RestoreCheckpointRequest, StartRequest, StopRequest, SweepRequest, Toolset, UpdateRequest, WorkspaceRequest,
};
use crate::model::{Code, Error, RestoreRequest, Result, SandboxId, Selection, SnapshotRequest, json};
use crate::ports::{Names, Ports};
use crate::service::named::NamedWorkspace;
use crate::service::{self, Abort, CloudflareSandboxSnapshotter, Snapshotter};

/// The largest arguments of an operation, in bytes of JSON. A ref is under 1 kB.
pub(super) const MAX_ARGUMENTS: usize = 64 * 1024;

macro_rules! operations {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal;)+) => {
        /// Something that callers can ask for. `snapshot…` stands for `{ref}`, `{sandboxId, snapshotId}` or
        /// `{sandboxId, label}`, each with `session?` and `allowCrossSession?`; `settings…` for `{persistent?, retention?,
        /// hooks?, expiry?, dependsOn?, env?}`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation { $($(#[doc = $doc])+ $name,)+ }

        impl Operation {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The name: of the RPC method, and of the route under `/v1`. A slash in it is a dot for RPC.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

operations! {
    /// `{sandboxId, dir?, label?, replace?, expirationSeconds?, excludes?, gitignore?, compression?, wake?, fresh?,
    /// session?, allowCrossSession?, idempotencyKey?}` → `SnapshotRef` with `capture`
    Snapshot = "snapshot";
    /// `{snapshot…, idempotencyKey?}` → `WorkspaceRef`
    Restore = "restore";
    /// `{snapshot…, idempotencyKey?}` → `WorkspaceRef`
    Branch = "branch";
    /// `{sandboxId, cursor?, limit?, labelPrefix?, check?, session?, allowCrossSession?}` → `{snapshots, cursor?}`
    List = "list";
    /// `{snapshot…}` → a summary
    Get = "get";
    /// `{snapshot…}` → everything that is known
    Manifest = "manifest";
    /// `{snapshot…}` → `{snapshotId, ok, checks, verifiedAt}`
    Verify = "verify";
    /// `{snapshot…, newLabel, replace?}` → a summary
    Label = "label";
    /// `{snapshot…}` → a summary
    Pin = "pin";
    /// `{snapshot…}` → a summary
    Unpin = "unpin";
    /// `{snapshot…, force?}` → `{snapshotId, removed}`
    Delete = "delete";
    /// `{sandboxId, backup, label?, replace?, expirationSeconds?}` → `SnapshotRef` with `capture`
    Import = "import";
    /// `{sandboxId, check?, session?, allowCrossSession?}` → `{root, sandboxes, truncated}`
    Lineage = "lineage";
    /// `{sandboxId, session?, allowCrossSession?}` → `{policy, decisions, letGo, dryRun}`
    Retention = "retention";
    /// `{sandboxId, policy, dryRun?}` → `{policy, decisions, letGo, dryRun}`
    SetRetention = "setRetention";
    /// `{sandboxId, dryRun?}` → `{policy, decisions, letGo, dryRun}`
    ApplyRetention = "applyRetention";
    /// `{sandboxId, session?, allowCrossSession?}` → `{key, previous?}`
    RotateKey = "rotateKey";
    /// `{dryRun?, graceSeconds?}` → counts
    Sweep = "sweep";
    /// `{name, tenant?, sourceWorkspace? | sourceSnapshot?, dir?, settings…, idempotencyKey?}` → a workspace that is up
    CreateWorkspace = "workspaces/create";
    /// The fields of `create` and of `start` → a workspace that is up
    GetOrCreateWorkspace = "workspaces/getOrCreate";
    /// `{name, tenant?}` → a workspace
    GetWorkspaceByName = "workspaces/getByName";
    /// `{tenant?, cursor?, limit?, prefix?}` → `{workspaces, cursor?}`
    ListWorkspaces = "workspaces/list";
    /// `{name, tenant?, fingerprint?, onDiverged?, allowEmpty?, acceptStale?, expect?}` → a workspace that is up
    StartWorkspace = "workspaces/start";
    /// `{name, tenant?}` → a workspace, with its `lastSnapshot`
    StopWorkspace = "workspaces/stop";
    /// `{name, tenant?, newName?, count?, copyEnv?, idempotencyKey?}` → `{snapshotId, originId, forks}`
    ForkWorkspace = "workspaces/fork";
    /// `{name, tenant?, currentSnapshotId?, acceptStale?, settings…}` → a workspace
    UpdateWorkspace = "workspaces/update";
    /// `{name, tenant?}` → `{name, removed, removedSnapshots, kept, pending}`
    DeleteWorkspace = "workspaces/delete";
    /// `{sandboxId, name, description?, dir?, session?, allowCrossSession?}` → a checkpoint
    CreateCheckpoint = "checkpoints/create";
    /// `{sandboxId, cursor?, limit?, dir?, session?, allowCrossSession?}` → `{checkpoints, cursor?}`
    ListCheckpoints = "checkpoints/list";
    /// `{sandboxId, name, dir?, session?, allowCrossSession?}` → `{name, commit, changed, changedCount, before?}`
    RestoreCheckpoint = "checkpoints/restore";
    /// `{sandboxId, name, maxBytes?, dir?, session?, allowCrossSession?}` → `{name, commit, diff, sizeBytes, truncated}`
    DiffCheckpoint = "checkpoints/diff";
    /// `{workspaces, style?, readOnly?}` → `{tools}`
    ListTools = "tools/list";
    /// `{workspaces, style?, readOnly?, name, arguments?}` → what the tool came to
    CallTool = "tools/call";
    /// `{workspaces, style?, readOnly?, expirationSeconds?}` → `{token, expiresAt}`, for `/mcp`
    GrantTools = "tools/grant";
    /// `{}` → `{ok, version, time, checks}`
    Health = "health";
}

impl Operation {
    /// Whether it can't be without the bucket. Of tools that depends on which they are.
    pub const fn needs_bucket(self) -> bool {
        !matches!(
            self,
            Self::CreateCheckpoint
                | Self::ListCheckpoints
                | Self::RestoreCheckpoint
                | Self::DiffCheckpoint
                | Self::ListTools
                | Self::CallTool
                | Self::GrantTools
                | Self::Health
        )
    }

    /// The operation of a name, if there is one.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }
}

/// Who carries an operation out.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The workspace of a sandbox: of the one that is captured, or was.
    Sandbox(SandboxId),
    /// A named workspace.
    Named(Address),
    /// A tenant's Directory.
    Directory(NamesRequest),
    /// The entrypoint: it is about the whole bucket.
    Bucket(SweepRequest),
    /// The entrypoint: which tools there are.
    Tools(Toolset),
    /// The entrypoint, and then whoever does what the tool is for.
    Tool(CallToolRequest),
    /// The entrypoint: a token for some tools.
    Grant(GrantRequest),
    /// The entrypoint: it is about the deployment.
    Deployment(HealthRequest),
}

impl Target {
    /// The tools that it is about.
    pub const fn toolset(&self) -> Option<&Toolset> {
        match self {
            Self::Tools(toolset)
            | Self::Tool(CallToolRequest { toolset, .. })
            | Self::Grant(GrantRequest { toolset, .. }) => Some(toolset),
            _ => None,
        }
    }
}

/// Who carries an operation out.
///
/// # Errors
/// Those of the arguments, which are all checked.
pub fn target_of(operation: Operation, arguments: &Value) -> Result<Target> {
    let origin = |selection: Selection| selection.selector.origin_id().clone();
    Ok(match operation {
        Operation::Snapshot => Target::Sandbox(SnapshotRequest::decode(arguments)?.sandbox_id),
        Operation::Restore | Operation::Branch => Target::Sandbox(origin(RestoreRequest::decode(arguments)?.selection)),
        Operation::Get | Operation::Manifest | Operation::Verify | Operation::Pin | Operation::Unpin => {
            Target::Sandbox(origin(Selection::decode(arguments)?))
        }
        Operation::Label => Target::Sandbox(origin(LabelRequest::decode(arguments)?.selection)),
        Operation::Delete => Target::Sandbox(origin(DeleteRequest::decode(arguments)?.selection)),
        Operation::List => Target::Sandbox(ListRequest::decode(arguments)?.sandbox_id),
        Operation::Import => Target::Sandbox(ImportRequest::decode(arguments)?.sandbox_id),
        Operation::Lineage => Target::Sandbox(LineageRequest::decode(arguments)?.sandbox_id),
        Operation::Retention | Operation::RotateKey => Target::Sandbox(WorkspaceRequest::decode(arguments)?.sandbox_id),
        Operation::SetRetention => Target::Sandbox(PolicyRequest::decode(arguments)?.sandbox_id),
        Operation::ApplyRetention => Target::Sandbox(ApplyRetentionRequest::decode(arguments)?.sandbox_id),
        Operation::Sweep => Target::Bucket(SweepRequest::decode(arguments)?),
        Operation::CreateWorkspace => Target::Named(CreateRequest::decode(arguments)?.address),
        Operation::GetOrCreateWorkspace => Target::Named(GetOrCreateRequest::decode(arguments)?.create.address),
        Operation::GetWorkspaceByName | Operation::DeleteWorkspace => {
            Target::Named(NameRequest::decode(arguments)?.address)
        }
        Operation::ListWorkspaces => Target::Directory(NamesRequest::decode(arguments)?),
        Operation::StartWorkspace => Target::Named(StartRequest::decode(arguments)?.address),
        Operation::StopWorkspace => Target::Named(StopRequest::decode(arguments)?.address),
        Operation::ForkWorkspace => Target::Named(ForkRequest::decode(arguments)?.address),
        Operation::UpdateWorkspace => Target::Named(UpdateRequest::decode(arguments)?.address),
        Operation::CreateCheckpoint => Target::Sandbox(CreateCheckpointRequest::decode(arguments)?.at.sandbox_id),
        Operation::ListCheckpoints => Target::Sandbox(ListCheckpointsRequest::decode(arguments)?.at.sandbox_id),
        Operation::RestoreCheckpoint => Target::Sandbox(RestoreCheckpointRequest::decode(arguments)?.at.sandbox_id),
        Operation::DiffCheckpoint => Target::Sandbox(DiffCheckpointRequest::decode(arguments)?.at.sandbox_id),
        Operation::ListTools => Target::Tools(Toolset::decode(arguments)?),
        Operation::CallTool => Target::Tool(CallToolRequest::decode(arguments)?),
        Operation::GrantTools => Target::Grant(GrantRequest::decode(arguments)?),
        Operation::Health => Target::Deployment(HealthRequest::decode(arguments)?),
    })
}

/// Carries an operation on the snapshots of one sandbox out. The deployment is checked before the arguments: on one that can't take
/// snapshots, that is the first thing to be told.
pub async fn run<P: Ports>(
    snapshotter: &CloudflareSandboxSnapshotter<P>,
    operation: Operation,
    arguments: &Value,
    abort: Abort,
) -> Result<Value> {
    if operation.needs_bucket() {
        snapshotter.ready()?;
    } else {
        snapshotter.has_sandboxes()?;
    }
    let selection = || Selection::decode(arguments);
    match operation {
        Operation::Snapshot => to_json(&snapshotter.snapshot(SnapshotRequest::decode(arguments)?, abort).await?),
        Operation::Restore => to_json(&snapshotter.restore(RestoreRequest::decode(arguments)?, abort).await?),
        Operation::Branch => to_json(&snapshotter.branch(RestoreRequest::decode(arguments)?, abort).await?),
        Operation::List => to_json(&snapshotter.list(ListRequest::decode(arguments)?).await?),
        Operation::Get => to_json(&snapshotter.get(selection()?).await?),
        Operation::Manifest => to_json(&snapshotter.manifest(selection()?).await?),
        Operation::Verify => to_json(&snapshotter.verify(selection()?).await?),
        Operation::Label => to_json(&snapshotter.label(LabelRequest::decode(arguments)?).await?),
        Operation::Pin => to_json(&snapshotter.pin(selection()?, true).await?),
        Operation::Unpin => to_json(&snapshotter.pin(selection()?, false).await?),
        Operation::Delete => to_json(&snapshotter.delete(DeleteRequest::decode(arguments)?).await?),
        Operation::Import => to_json(&snapshotter.import(ImportRequest::decode(arguments)?).await?),
        Operation::Lineage => to_json(&snapshotter.lineage(LineageRequest::decode(arguments)?).await?),
        Operation::Retention => to_json(&snapshotter.retention(WorkspaceRequest::decode(arguments)?).await?),
        Operation::SetRetention => to_json(&snapshotter.set_retention(PolicyRequest::decode(arguments)?).await?),
        Operation::ApplyRetention => {
            to_json(&snapshotter.apply_retention(ApplyRetentionRequest::decode(arguments)?).await?)
        }
        Operation::RotateKey => to_json(&snapshotter.rotate_key(WorkspaceRequest::decode(arguments)?).await?),
        Operation::CreateCheckpoint => {
            to_json(&snapshotter.create_checkpoint(CreateCheckpointRequest::decode(arguments)?, abort).await?)
        }
        Operation::ListCheckpoints => {
            to_json(&snapshotter.list_checkpoints(ListCheckpointsRequest::decode(arguments)?, abort).await?)
        }
        Operation::RestoreCheckpoint => {
            to_json(&snapshotter.restore_checkpoint(RestoreCheckpointRequest::decode(arguments)?, abort).await?)
        }
        Operation::DiffCheckpoint => {
            to_json(&snapshotter.diff_checkpoint(DiffCheckpointRequest::decode(arguments)?, abort).await?)
        }
        _ => Err(Error::defect()),
    }
}

/// Carries an operation on one named workspace out.
pub async fn run_named<P: Ports>(
    named: &NamedWorkspace<P>,
    operation: Operation,
    arguments: &Value,
    abort: Abort,
) -> Result<Value> {
    match operation {
        Operation::CreateWorkspace => to_json(&named.create(CreateRequest::decode(arguments)?, abort).await?),
        Operation::GetOrCreateWorkspace => {
            to_json(&named.get_or_create(GetOrCreateRequest::decode(arguments)?, abort).await?)
        }
        Operation::GetWorkspaceByName => to_json(&named.describe()?),
        Operation::StartWorkspace => to_json(&named.start(StartRequest::decode(arguments)?, abort).await?),
        Operation::StopWorkspace => to_json(&named.stop(abort).await?),
        Operation::ForkWorkspace => to_json(&named.fork(ForkRequest::decode(arguments)?, abort).await?),
        Operation::UpdateWorkspace => to_json(&named.update(UpdateRequest::decode(arguments)?, abort).await?),
        Operation::DeleteWorkspace => to_json(&named.delete(abort).await?),
        _ => Err(Error::defect()),
    }
}

/// Sweeps the bucket.
pub async fn sweep<P: Ports>(ports: &P, request: SweepRequest) -> Result<Value> {
    to_json(&service::sweep(ports, request).await?)
}

/// Lists named workspaces.
pub async fn list<P: Ports>(ports: &P, request: &NamesRequest) -> Result<Value> {
    ports.names()?.list(request).await
}

/// What the cron trigger asks for.
pub(super) fn cron() -> (Operation, Value) {
    (Operation::Sweep, Value::Object(serde_json::Map::new()))
}

/// The error for arguments larger than [`MAX_ARGUMENTS`].
pub(super) fn too_large() -> Error {
    Error::new(
        Code::PayloadTooLarge,
        format!("The arguments are larger than {MAX_ARGUMENTS} bytes."),
        "Send only the operation's options.",
    )
}

/// An answer as JSON.
pub(super) fn to_json(answer: &impl Serialize) -> Result<Value> {
    json::write(answer).map_err(|error| {
        Error::new(Code::Internal, format!("The answer can't be written as JSON: {error}."), "Report it.")
    })
}
