//! The operations by name, from JSON to JSON.

use serde::Serialize;
use serde_json::Value;

use crate::model::named::Address;
use crate::model::request::{
    AddressRequest, ApplyRetentionRequest, CallToolRequest, CreateCheckpointRequest, CreateRequest, DeleteRequest,
    DiffCheckpointRequest, ForkRequest, GetOrCreateRequest, GrantRequest, HealthRequest, ImportRequest, LabelRequest,
    LineageRequest, ListCheckpointsRequest, ListRequest, ListWorkspacesRequest, RestoreCheckpointRequest,
    SandboxRequest, SetRetentionRequest, StartRequest, StopRequest, SweepRequest, Toolset, UpdateRequest,
};
use crate::model::{Code, Error, RestoreRequest, Result, SandboxId, Selection, SnapshotRequest, json};
use crate::ports::{NamedWorkspaceClient, Ports};
use crate::service::workspace::NamedWorkspace;
use crate::service::{self, CancellationToken, CloudflareSandboxSnapshotter};

/// The largest arguments of an operation, in bytes of JSON. A ref is under 1 kB.
pub(super) const MAX_ARGUMENTS: usize = 64 * 1024;

macro_rules! operations {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal;)+) => {
        /// An operation of the service. In the options, `snapshot…` is `{ref}`, `{sandboxId, snapshotId}` or
        /// `{sandboxId, label}`, each with `lineageScope?` and `allowCrossLineage?`; `settings…` is `{persistent?,
        /// retention?, hooks?, expiry?, dependsOn?, env?}`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation { $($(#[doc = $doc])+ $name,)+ }

        impl Operation {
            /// All operations.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the name of the route under `/v1`. The name of the RPC method is the same, with dots for
            /// slashes.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

operations! {
    /// `{sandboxId, dir?, label?, replace?, expirationSeconds?, excludes?, gitignore?, compression?, wake?, fresh?,
    /// lineageScope?, allowCrossLineage?, idempotencyKey?}` → `SnapshotRef` with `capture`
    Snapshot = "snapshot";
    /// `{snapshot…, idempotencyKey?}` → `WorkspaceRef`
    Restore = "restore";
    /// `{snapshot…, idempotencyKey?}` → `WorkspaceRef`
    Branch = "branch";
    /// `{sandboxId, cursor?, limit?, labelPrefix?, check?, lineageScope?, allowCrossLineage?}` → `{snapshots, cursor?}`
    List = "list";
    /// `{snapshot…}` → a summary
    Get = "get";
    /// `{snapshot…}` → all data of the snapshot
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
    /// `{sandboxId, check?, lineageScope?, allowCrossLineage?}` → `{root, sandboxes, truncated}`
    Lineage = "lineage";
    /// `{sandboxId, lineageScope?, allowCrossLineage?}` → `{policy, decisions, evicted, dryRun}`
    Retention = "retention";
    /// `{sandboxId, policy, dryRun?}` → `{policy, decisions, evicted, dryRun}`
    SetRetention = "setRetention";
    /// `{sandboxId, dryRun?}` → `{policy, decisions, evicted, dryRun}`
    ApplyRetention = "applyRetention";
    /// `{sandboxId, lineageScope?, allowCrossLineage?}` → `{key, previous?}`
    RotateKey = "rotateKey";
    /// `{dryRun?, graceSeconds?}` → counts
    Sweep = "sweep";
    /// `{name, tenant?, sourceWorkspace? | sourceSnapshot?, dir?, settings…, idempotencyKey?}` → a workspace that is
    /// running
    CreateWorkspace = "workspaces/create";
    /// The fields of `create` and of `start` → a workspace that is running
    GetOrCreateWorkspace = "workspaces/getOrCreate";
    /// `{name, tenant?}` → a workspace
    GetWorkspaceByName = "workspaces/getByName";
    /// `{tenant?, cursor?, limit?, prefix?}` → `{workspaces, cursor?}`
    ListWorkspaces = "workspaces/list";
    /// `{name, tenant?, fingerprint?, onDiverged?, allowEmpty?, acceptStale?, expect?}` → a workspace that is running
    StartWorkspace = "workspaces/start";
    /// `{name, tenant?}` → a workspace, with its `lastSnapshot`
    StopWorkspace = "workspaces/stop";
    /// `{name, tenant?, newName?, count?, copyEnv?, idempotencyKey?}` → `{snapshotId, originId, forks}`
    ForkWorkspace = "workspaces/fork";
    /// `{name, tenant?, currentSnapshotId?, acceptStale?, settings…}` → a workspace
    UpdateWorkspace = "workspaces/update";
    /// `{name, tenant?}` → `{name, removed, removedSnapshots, kept, pending}`
    DeleteWorkspace = "workspaces/delete";
    /// `{sandboxId, name, description?, dir?, lineageScope?, allowCrossLineage?}` → a checkpoint
    CreateCheckpoint = "checkpoints/create";
    /// `{sandboxId, cursor?, limit?, dir?, lineageScope?, allowCrossLineage?}` → `{checkpoints, cursor?}`
    ListCheckpoints = "checkpoints/list";
    /// `{sandboxId, name, dir?, lineageScope?, allowCrossLineage?}` → `{name, commit, changed, changedCount, before?}`
    RestoreCheckpoint = "checkpoints/restore";
    /// `{sandboxId, name, maxBytes?, dir?, lineageScope?, allowCrossLineage?}` → `{name, commit, diff, sizeBytes,
    /// truncated}`
    DiffCheckpoint = "checkpoints/diff";
    /// `{workspaces, style?, readOnly?}` → `{tools}`
    ListTools = "tools/list";
    /// `{workspaces, style?, readOnly?, name, arguments?}` → the result of the tool
    CallTool = "tools/call";
    /// `{workspaces, style?, readOnly?, expirationSeconds?}` → `{token, expiresAt}`, for `/mcp`
    GrantTools = "tools/grant";
    /// `{}` → `{ok, version, time, checks}`
    Health = "health";
}

impl Operation {
    /// Returns whether the operation always needs the bucket. For the operations on tools, the toolset decides.
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

    /// Returns the operation with the name `name`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }
}

/// The object or service that runs an operation, with the decoded arguments that it needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The Workspace object of a sandbox: of the one to capture, or of the one that the snapshot was taken of.
    Sandbox(SandboxId),
    /// The object of a named workspace.
    Named(Address),
    /// The Directory of a tenant.
    Directory(ListWorkspacesRequest),
    /// The entrypoint, for the whole bucket.
    Bucket(SweepRequest),
    /// The entrypoint, for the list of tools.
    Tools(Toolset),
    /// The entrypoint, which calls the operations of the tool.
    Tool(CallToolRequest),
    /// The entrypoint, for a token that permits some tools.
    Grant(GrantRequest),
    /// The entrypoint, for the deployment.
    Deployment(HealthRequest),
}

impl Target {
    /// Returns the toolset of the target, if it has one.
    pub const fn toolset(&self) -> Option<&Toolset> {
        match self {
            Self::Tools(toolset)
            | Self::Tool(CallToolRequest { toolset, .. })
            | Self::Grant(GrantRequest { toolset, .. }) => Some(toolset),
            _ => None,
        }
    }
}

/// Decodes the arguments of an operation, and returns its target.
///
/// # Errors
/// The errors of the arguments, which are all validated.
pub fn decode_target(operation: Operation, arguments: &Value) -> Result<Target> {
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
        Operation::Retention | Operation::RotateKey => Target::Sandbox(SandboxRequest::decode(arguments)?.sandbox_id),
        Operation::SetRetention => Target::Sandbox(SetRetentionRequest::decode(arguments)?.sandbox_id),
        Operation::ApplyRetention => Target::Sandbox(ApplyRetentionRequest::decode(arguments)?.sandbox_id),
        Operation::Sweep => Target::Bucket(SweepRequest::decode(arguments)?),
        Operation::CreateWorkspace => Target::Named(CreateRequest::decode(arguments)?.address),
        Operation::GetOrCreateWorkspace => Target::Named(GetOrCreateRequest::decode(arguments)?.create.address),
        Operation::GetWorkspaceByName | Operation::DeleteWorkspace => {
            Target::Named(AddressRequest::decode(arguments)?.address)
        }
        Operation::ListWorkspaces => Target::Directory(ListWorkspacesRequest::decode(arguments)?),
        Operation::StartWorkspace => Target::Named(StartRequest::decode(arguments)?.address),
        Operation::StopWorkspace => Target::Named(StopRequest::decode(arguments)?.address),
        Operation::ForkWorkspace => Target::Named(ForkRequest::decode(arguments)?.address),
        Operation::UpdateWorkspace => Target::Named(UpdateRequest::decode(arguments)?.address),
        Operation::CreateCheckpoint => Target::Sandbox(CreateCheckpointRequest::decode(arguments)?.location.sandbox_id),
        Operation::ListCheckpoints => Target::Sandbox(ListCheckpointsRequest::decode(arguments)?.location.sandbox_id),
        Operation::RestoreCheckpoint => {
            Target::Sandbox(RestoreCheckpointRequest::decode(arguments)?.location.sandbox_id)
        }
        Operation::DiffCheckpoint => Target::Sandbox(DiffCheckpointRequest::decode(arguments)?.location.sandbox_id),
        Operation::ListTools => Target::Tools(Toolset::decode(arguments)?),
        Operation::CallTool => Target::Tool(CallToolRequest::decode(arguments)?),
        Operation::GrantTools => Target::Grant(GrantRequest::decode(arguments)?),
        Operation::Health => Target::Deployment(HealthRequest::decode(arguments)?),
    })
}

/// Runs an operation on one sandbox. Checks the deployment before the arguments, so that an incomplete deployment is
/// the first error that is reported.
pub async fn run_sandbox<P: Ports>(
    snapshotter: &CloudflareSandboxSnapshotter<P>,
    operation: Operation,
    arguments: &Value,
    abort: CancellationToken,
) -> Result<Value> {
    if operation.needs_bucket() {
        snapshotter.ready()?;
    } else {
        snapshotter.require_sandboxes()?;
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
        Operation::Retention => to_json(&snapshotter.retention(SandboxRequest::decode(arguments)?).await?),
        Operation::SetRetention => to_json(&snapshotter.set_retention(SetRetentionRequest::decode(arguments)?).await?),
        Operation::ApplyRetention => {
            to_json(&snapshotter.apply_retention(ApplyRetentionRequest::decode(arguments)?).await?)
        }
        Operation::RotateKey => to_json(&snapshotter.rotate_key(SandboxRequest::decode(arguments)?).await?),
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
        _ => Err(Error::internal()),
    }
}

/// Runs an operation on one named workspace.
pub async fn run_named<P: Ports>(
    named: &NamedWorkspace<P>,
    operation: Operation,
    arguments: &Value,
    abort: CancellationToken,
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
        _ => Err(Error::internal()),
    }
}

/// Sweeps the bucket.
pub async fn sweep<P: Ports>(ports: &P, request: SweepRequest) -> Result<Value> {
    to_json(&service::sweep(ports, request).await?)
}

/// Lists named workspaces.
pub async fn list<P: Ports>(ports: &P, request: &ListWorkspacesRequest) -> Result<Value> {
    ports.named_workspaces()?.list_workspaces(request).await
}

/// Returns the operation of the cron trigger, and its arguments.
pub(super) fn cron_operation() -> (Operation, Value) {
    (Operation::Sweep, Value::Object(serde_json::Map::new()))
}

/// Returns the error for arguments larger than [`MAX_ARGUMENTS`].
pub(super) fn too_large() -> Error {
    Error::new(
        Code::PayloadTooLarge,
        format!("The arguments are larger than {MAX_ARGUMENTS} bytes."),
        "Send only the operation's options.",
    )
}

/// Converts an answer to JSON.
pub(super) fn to_json(answer: &impl Serialize) -> Result<Value> {
    json::to_value(answer).map_err(|error| {
        Error::new(Code::Internal, format!("The answer cannot be written as JSON: {error}."), "Report it.")
    })
}
