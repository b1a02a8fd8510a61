//! The operations that tools call.

use serde_json::Value;

use crate::api::operations::Operation;
use crate::model::answer::SandboxParent;
use crate::model::{Result, SandboxId, SnapshotId};

/// The executor of the operations of a tool.
#[allow(async_fn_in_trait)]
pub trait OperationExecutor {
    /// Runs an operation, and returns its answer.
    async fn execute(&self, operation: Operation, arguments: Value) -> Result<Value>;

    /// Returns the parent of a sandbox.
    async fn parent_of(&self, id: &SandboxId) -> Result<SandboxParent>;

    /// Returns the sandbox of the lineage of `id` that has a snapshot.
    async fn origin_of(&self, id: &SandboxId, snapshot_id: &SnapshotId) -> Result<Option<SandboxId>>;
}
