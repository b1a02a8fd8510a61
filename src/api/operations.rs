//! The operations by name, from JSON to JSON.

use serde::Serialize;
use serde_json::Value;

use crate::model::request::{
    ApplyRetentionRequest, DeleteRequest, ImportRequest, LabelRequest, ListRequest, PolicyRequest, SweepRequest,
    WorkspaceRequest,
};
use crate::model::{Code, Error, RestoreRequest, Result, SandboxId, Selection, SnapshotRequest, json};
use crate::ports::Ports;
use crate::service::{self, Abort, CloudflareSandboxSnapshotter, Snapshotter};

/// The largest arguments of an operation, in bytes of JSON. A ref is under 1 kB.
pub(super) const MAX_ARGUMENTS: usize = 64 * 1024;

macro_rules! operations {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal;)+) => {
        /// Something that callers can ask for. `snapshot…` stands for `{ref}`, `{sandboxId, snapshotId}` or
        /// `{sandboxId, label}`, each with `session?` and `allowCrossSession?`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation { $($(#[doc = $doc])+ $name,)+ }

        impl Operation {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The name: of the RPC method, and of the route under `/v1`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

operations! {
    /// `{sandboxId, dir?, label?, replace?, expirationSeconds?, excludes?, gitignore?, compression?, wake?, fresh?,
    /// idempotencyKey?}` → `SnapshotRef` with `capture`
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
    /// `{sandboxId, session?, allowCrossSession?}` → `{root, sandboxes, truncated}`
    Lineage = "lineage";
    /// `{sandboxId, session?, allowCrossSession?}` → `{policy, decisions, letGo, dryRun}`
    Retention = "retention";
    /// `{sandboxId, policy, dryRun?}` → `{policy, decisions, letGo, dryRun}`
    SetRetention = "setRetention";
    /// `{sandboxId, dryRun?}` → `{policy, decisions, letGo, dryRun}`
    ApplyRetention = "applyRetention";
    /// `{sandboxId}` → `{key, previous?}`
    RotateKey = "rotateKey";
    /// `{dryRun?, graceSeconds?}` → counts
    Sweep = "sweep";
}

impl Operation {
    /// The operation of a name, if there is one.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }
}

/// The sandbox whose workspace carries an operation out: the one that is captured, or was. `None` for what is about the
/// whole bucket.
///
/// # Errors
/// Those of the arguments, which are all checked.
pub fn workspace_of(operation: Operation, arguments: &Value) -> Result<Option<SandboxId>> {
    let id = match operation {
        Operation::Snapshot => SnapshotRequest::decode(arguments)?.sandbox_id,
        Operation::Restore | Operation::Branch => {
            RestoreRequest::decode(arguments)?.selection.selector.origin_id().clone()
        }
        Operation::Get | Operation::Manifest | Operation::Verify | Operation::Pin | Operation::Unpin => {
            Selection::decode(arguments)?.selector.origin_id().clone()
        }
        Operation::Label => LabelRequest::decode(arguments)?.selection.selector.origin_id().clone(),
        Operation::Delete => DeleteRequest::decode(arguments)?.selection.selector.origin_id().clone(),
        Operation::List => ListRequest::decode(arguments)?.sandbox_id,
        Operation::Import => ImportRequest::decode(arguments)?.sandbox_id,
        Operation::Lineage | Operation::Retention | Operation::RotateKey => {
            WorkspaceRequest::decode(arguments)?.sandbox_id
        }
        Operation::SetRetention => PolicyRequest::decode(arguments)?.sandbox_id,
        Operation::ApplyRetention => ApplyRetentionRequest::decode(arguments)?.sandbox_id,
        Operation::Sweep => {
            SweepRequest::decode(arguments)?;
            return Ok(None);
        }
    };
    Ok(Some(id))
}

/// Carries an operation on one workspace out. The deployment is checked before the arguments: on one that can't take
/// snapshots, that is the first thing to be told.
pub async fn run<P: Ports>(
    snapshotter: &CloudflareSandboxSnapshotter<P>,
    operation: Operation,
    arguments: &Value,
    abort: Abort,
) -> Result<Value> {
    snapshotter.ready()?;
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
        Operation::Lineage => to_json(&snapshotter.lineage(WorkspaceRequest::decode(arguments)?).await?),
        Operation::Retention => to_json(&snapshotter.retention(WorkspaceRequest::decode(arguments)?).await?),
        Operation::SetRetention => to_json(&snapshotter.set_retention(PolicyRequest::decode(arguments)?).await?),
        Operation::ApplyRetention => {
            to_json(&snapshotter.apply_retention(ApplyRetentionRequest::decode(arguments)?).await?)
        }
        Operation::RotateKey => {
            WorkspaceRequest::decode(arguments)?;
            to_json(&snapshotter.rotate_key().await?)
        }
        Operation::Sweep => Err(Error::defect()),
    }
}

/// Sweeps the bucket.
pub async fn sweep<P: Ports>(ports: &P, arguments: &Value) -> Result<Value> {
    to_json(&service::sweep(ports, SweepRequest::decode(arguments)?).await?)
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

fn to_json(answer: &impl Serialize) -> Result<Value> {
    json::write(answer).map_err(|error| {
        Error::new(Code::Internal, format!("The answer can't be written as JSON: {error}."), "Report it.")
    })
}
