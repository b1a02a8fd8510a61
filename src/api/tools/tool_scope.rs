//! The scope of the tools of a workspace: its own sandboxes and snapshots, and those that were made from them.
//!
//! The scope is narrower than the lineage. Two workspaces that were made from the same snapshot have one lineage, but
//! may belong to different people: a model that works for one of them must not access the other, nor the common origin.

use serde_json::Value;

use super::executor::OperationExecutor;
use crate::model::{Error, Result, SandboxId, Selector, SnapshotId, WorkspaceRef};

/// The maximum number of parents that the Worker follows from a sandbox.
const MAX_DEPTH: usize = 64;

/// The sandboxes of the workspace that a tool is called for.
pub(super) struct ToolScope {
    /// The current sandbox, and then the former ones.
    pub sandbox_ids: Vec<SandboxId>,
    /// Whether the tool may use every workspace and snapshot.
    pub is_unrestricted: bool,
}

impl ToolScope {
    /// Verifies that a workspace is one of these sandboxes or was made from one of them, and returns its sandbox.
    ///
    /// # Errors
    /// [`Code::CrossLineage`] when it is not.
    pub async fn check_workspace(
        &self,
        operations: &impl OperationExecutor,
        workspace: &WorkspaceRef,
    ) -> Result<SandboxId> {
        let id = workspace.sandbox_id();
        if self.is_unrestricted || self.is_descendant(operations, id).await? {
            Ok(id.clone())
        } else {
            Err(Error::outside_tool_scope("workspace"))
        }
    }

    /// Verifies that a snapshot is of one of these sandboxes or of a sandbox that was made from one of them. With
    /// `only_reads`, also permits a snapshot of a sandbox that they were made from.
    ///
    /// `snapshot` is its ref, its short ref, or its id. Returns the selector.
    ///
    /// # Errors
    /// [`Code::CrossLineage`] when it is not, [`Code::SnapshotNotFound`], and those of [`Selector::of_ref`].
    pub async fn check_snapshot(
        &self,
        operations: &impl OperationExecutor,
        snapshot: &Value,
        only_reads: bool,
    ) -> Result<Selector> {
        let selector = match snapshot.as_str().map(SnapshotId::parse) {
            Some(Ok(snapshot_id)) => self.find_snapshot(operations, snapshot_id).await?,
            _ => Selector::of_ref(snapshot)?,
        };
        let origin = selector.origin_id();
        if self.is_unrestricted
            || self.is_descendant(operations, origin).await?
            || (only_reads && self.is_ancestor(operations, origin).await?)
        {
            return Ok(selector);
        }
        Err(Error::outside_tool_scope("snapshot"))
    }

    /// Finds a snapshot by its id, in the lineage of the workspace.
    async fn find_snapshot(&self, operations: &impl OperationExecutor, snapshot_id: SnapshotId) -> Result<Selector> {
        let own = self.sandbox_ids.first().ok_or_else(Error::internal)?;
        let origin = operations.origin_of(own, &snapshot_id).await?;
        let is_found = origin.is_some();
        let sandbox_id = origin.unwrap_or_else(|| own.clone());
        let selector = Selector::Id { sandbox_id, snapshot_id };
        if is_found { Ok(selector) } else { Err(Error::snapshot_not_found(&selector)) }
    }

    /// Returns whether a sandbox is one of these, or was made from one of them. A sandbox that belongs to a named
    /// workspace belongs to that workspace only, whatever it was made from.
    async fn is_descendant(&self, operations: &impl OperationExecutor, id: &SandboxId) -> Result<bool> {
        let mut id = id.clone();
        for _ in 0..MAX_DEPTH {
            if self.sandbox_ids.contains(&id) {
                return Ok(true);
            }
            let lineage = operations.parent_of(&id).await?;
            match lineage.parent.filter(|_| !lineage.has_binding) {
                Some(parent) => id = parent,
                None => break,
            }
        }
        Ok(false)
    }

    /// Returns whether these sandboxes were made from the sandbox `id`.
    async fn is_ancestor(&self, operations: &impl OperationExecutor, id: &SandboxId) -> Result<bool> {
        let mut next = self.sandbox_ids.first().cloned();
        for _ in 0..MAX_DEPTH {
            let Some(own) = next else { break };
            if own == *id {
                return Ok(true);
            }
            next = operations.parent_of(&own).await?.parent;
        }
        Ok(false)
    }
}
