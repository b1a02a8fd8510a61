//! What the tools of a workspace reach: what is its own, and what was made from it.
//!
//! A lineage is more than that. Two workspaces that began with the same snapshot are of one lineage, and may be different
//! people's: a model that works for one of them has nothing to do with the other, nor with where both came from.

use serde_json::Value;

use super::call::Operations;
use crate::model::{Code, Error, Result, SandboxId, SnapshotRef, WorkspaceRef};

/// How far sandboxes are followed to where they came from.
const DEPTH: usize = 64;

/// The sandboxes of a workspace that tools are for.
pub(super) struct Reach {
    /// The one that it is now, and those that it was before.
    pub own: Vec<SandboxId>,
    /// Whether there are no bounds.
    pub everything: bool,
}

impl Reach {
    /// Makes sure that a workspace is one that was made from these.
    ///
    /// # Errors
    /// [`Code::CrossSession`].
    pub async fn workspace(&self, operations: &impl Operations, workspace: &WorkspaceRef) -> Result<SandboxId> {
        let id = workspace.sandbox_id();
        if self.everything || self.is_made_from_these(operations, id).await? {
            Ok(id.clone())
        } else {
            Err(beyond("workspace"))
        }
    }

    /// Makes sure that a snapshot is one of these, or of what was made from them; or else, where it is only read, of what
    /// they were made from.
    ///
    /// # Errors
    /// [`Code::CrossSession`], and those of [`SnapshotRef::decode`].
    pub async fn snapshot(&self, operations: &impl Operations, snapshot: &Value, only_reads: bool) -> Result<()> {
        let snapshot = SnapshotRef::decode(snapshot)?;
        let origin = snapshot.origin_id();
        if self.everything
            || self.is_made_from_these(operations, origin).await?
            || (only_reads && self.are_made_from(operations, origin).await?)
        {
            return Ok(());
        }
        Err(beyond("snapshot"))
    }

    /// Whether a sandbox is one of these, or was made from one of them. One that stands for a name is that workspace's alone,
    /// wherever it came from.
    async fn is_made_from_these(&self, operations: &impl Operations, id: &SandboxId) -> Result<bool> {
        let mut id = id.clone();
        for _ in 0..DEPTH {
            if self.own.contains(&id) {
                return Ok(true);
            }
            let descent = operations.descent(&id).await?;
            match descent.parent.filter(|_| !descent.has_name) {
                Some(parent) => id = parent,
                None => break,
            }
        }
        Ok(false)
    }

    /// Whether these were made from a sandbox.
    async fn are_made_from(&self, operations: &impl Operations, id: &SandboxId) -> Result<bool> {
        let mut next = self.own.first().cloned();
        for _ in 0..DEPTH {
            let Some(own) = next else { break };
            if own == *id {
                return Ok(true);
            }
            next = operations.descent(&own).await?.parent;
        }
        Ok(false)
    }
}

fn beyond(what: &str) -> Error {
    Error::new(
        Code::CrossSession,
        format!("That {what} belongs to another workspace than the one that the tool is for"),
        "Use what belongs to this workspace, or was made from it.",
    )
}
