//! The tree of sandboxes and snapshots that grows from one sandbox. Each ledger stores its own part of the tree.
//!
//! - [`tree`]: the tree around a sandbox, of the parts of its ledgers
//! - [`scope`]: which lineage a caller may use
//! - [`locate`]: finds the sandbox that a snapshot was taken of
//! - [`list`]: the snapshots of all sandboxes of a workspace
//! - [`labels`]: finds a label in a sandbox, and in the other sandboxes of its workspace
//! - [`selection`]: sandboxes and snapshots that are selected by a workspace, and snapshots by their id alone

mod labels;
pub mod list;
pub mod locate;
mod scope;
pub mod selection;
mod tree;

use std::cmp::Reverse;

use super::CloudflareSandboxSnapshotter;
use super::snapshot::manifest::{to_ancestor, to_derived};
use crate::model::answer::{SandboxParent, SnapshotNode, WorkspaceLineage};
use crate::model::record::{Derivation, SnapshotRecord, StoredBackup};
use crate::model::{Result, SandboxId, Timestamp};
use crate::ports::{Ledger, Ports, SandboxLedgerClient};

/// The maximum number of sandboxes of a lineage that a call asks. Each one is a call of its `Workspace` object.
const MAX_SANDBOXES: usize = 500;

/// The maximum number of snapshots of one sandbox in a tree.
const MAX_SNAPSHOTS: u32 = 1000;

/// The number of `Workspace` objects that are called concurrently.
const CONCURRENCY: usize = 6;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the first sandbox of the lineage.
    pub fn root(&self) -> Result<SandboxId> {
        Ok(self.sandbox_record()?.root_id)
    }

    /// Returns the sandbox that this one was made from, and the named workspace that this one belongs to.
    pub fn descent(&self) -> Result<SandboxParent> {
        let sandbox = self.sandbox_record()?;
        let parent = sandbox.parent.map(|parent| parent.origin_id);
        let workspace = sandbox.binding.map(|binding| binding.address);
        Ok(SandboxParent { parent, has_binding: workspace.is_some(), workspace })
    }

    /// Returns the part of the lineage that the ledger of this sandbox contains.
    pub fn describe(&self) -> Result<WorkspaceLineage> {
        let sandbox = self.sandbox_record()?;
        let mut rows = self.ledger.snapshot_page(None, None, MAX_SNAPSHOTS + 1)?;
        let truncated = rows.len() > MAX_SNAPSHOTS as usize;
        rows.truncate(MAX_SNAPSHOTS as usize);
        let derivations = self.ledger.derived_sandboxes()?;
        let mut derived: Vec<_> = derivations.iter().filter(|row| row.task().is_none()).collect();
        derived.sort_by_key(|row| Reverse(row.began_at));
        let now = self.now();
        Ok(WorkspaceLineage {
            root_id: sandbox.root_id,
            parent: sandbox.parent.as_ref().map(to_ancestor),
            workspace: sandbox.binding.map(|binding| binding.address),
            runtime: self.runtime()?,
            snapshots: rows.iter().map(|row| snapshot_node(row, &derivations, now)).collect(),
            derived: derived.into_iter().map(|row| (row.snapshot_id.clone(), to_derived(row))).collect(),
            truncated,
        })
    }

    /// Returns the part of the lineage that the ledger of another sandbox, or of this one, contains.
    async fn fetch_description(&self, id: &SandboxId) -> std::result::Result<WorkspaceLineage, String> {
        if *id == *self.id {
            return self.describe().map_err(|error| error.message().to_owned());
        }
        let ledgers = self.sandbox_ledgers().map_err(|error| error.message().to_owned())?;
        ledgers.describe(id).await.map_err(|failure| format!("Its ledger did not answer: {}", failure.message))
    }
}

fn snapshot_node(row: &SnapshotRecord, derivations: &[Derivation], now: Timestamp) -> SnapshotNode {
    let dependents = derivations
        .iter()
        .filter(|derivation| derivation.snapshot_id == row.snapshot_id && derivation.needs_snapshot());
    SnapshotNode {
        snapshot_id: row.snapshot_id.clone(),
        label: Some(row.label.clone()),
        state: row.state(),
        created_at: Some(row.created_at()),
        size_bytes: row.stored().map(|stored| stored.size_bytes),
        format: row.stored().and_then(|stored| stored.format),
        form: row.stored().map(StoredBackup::form).unwrap_or_default(),
        base: row.base_id().cloned(),
        total_bytes: row.stored().and_then(StoredBackup::restored_bytes),
        pinned: row.pinned,
        partial: row.is_partial(),
        cause: row.known_cause(),
        autosave: row.autosave,
        expires_at: row.expires_after(now),
        provenance: row.provenance.clone(),
        dependents: dependents.map(|derivation| derivation.sandbox_id.clone()).collect(),
    }
}
