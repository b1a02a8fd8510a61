//! The operations by name, from JSON to JSON.

use serde::Serialize;
use serde_json::Value;

use crate::model::{Code, Error, RestoreRequest, Result, SandboxId, SnapshotRequest};
use crate::service::{Abort, Snapshotter};

/// The largest arguments of an operation, in bytes of JSON. A ref is under 1 kB.
pub(super) const MAX_ARGUMENTS: usize = 64 * 1024;

/// Something that callers can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `{sandboxId, dir?, label?, ttl?, excludes?, gitignore?, compression?, wake?, fresh?}` → `SnapshotRef`, `capture`
    Snapshot,
    /// `{ref}` → `WorkspaceRef`
    Restore,
    /// `{ref}` → `WorkspaceRef`
    Branch,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Snapshot, Self::Restore, Self::Branch];

    /// The name: of the RPC method, and of the route under `/v1`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Restore => "restore",
            Self::Branch => "branch",
        }
    }

    /// The operation of a name, if there is one.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }
}

/// The sandbox whose workspace carries an operation out: the one that is captured, or was.
///
/// # Errors
/// Those of the arguments, which are all checked.
pub fn workspace_of(operation: Operation, arguments: &Value) -> Result<SandboxId> {
    match operation {
        Operation::Snapshot => SnapshotRequest::decode(arguments).map(|request| request.sandbox_id),
        Operation::Restore | Operation::Branch => {
            RestoreRequest::decode(arguments).map(|request| request.snapshot.origin_id().clone())
        }
    }
}

/// Carries an operation out. The deployment is checked before the arguments: on one that can't take snapshots,
/// that is the first thing to be told.
pub async fn run(
    snapshotter: &impl Snapshotter,
    operation: Operation,
    arguments: &Value,
    abort: Abort,
) -> Result<Value> {
    snapshotter.ready()?;
    match operation {
        Operation::Snapshot => to_json(&snapshotter.snapshot(SnapshotRequest::decode(arguments)?, abort).await?),
        Operation::Restore => to_json(&snapshotter.restore(RestoreRequest::decode(arguments)?, abort).await?),
        Operation::Branch => to_json(&snapshotter.branch(RestoreRequest::decode(arguments)?, abort).await?),
    }
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
    serde_json::to_value(answer).map_err(|error| {
        Error::new(Code::Internal, format!("The answer can't be written as JSON: {error}."), "Report it.")
    })
}
