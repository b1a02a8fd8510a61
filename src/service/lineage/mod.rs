//! The tree of sandboxes and snapshots that grows from one sandbox. Each ledger stores its own part of the tree.
//!
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

use futures_util::future::join_all;

use super::CloudflareSandboxSnapshotter;
use super::snapshot::manifest::{to_ancestor, to_derived};
use crate::model::answer::{
    SandboxParent, SnapshotNode, SnapshotState, Tree, TreeSandbox, TreeSnapshot, WorkspaceLineage,
};
use crate::model::record::{Derivation, SnapshotRecord, StoredBackup};
use crate::model::request::LineageRequest;
use crate::model::{DerivationKind, Result, Runtime, SandboxId, SnapshotForm, SnapshotId, Status, Timestamp};
use crate::ports::{Ledger, Ports, SandboxLedgerClient, Sandboxes};

/// The maximum number of sandboxes in a tree. The `Workspace` object of each one is called for its part.
const MAX_SANDBOXES: usize = 500;

/// The maximum number of generations of sandboxes in a tree. Each one is nested four levels deeper in the JSON, and
/// parsers accept 128 levels.
const MAX_GENERATIONS: usize = 28;

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

    /// Returns the whole tree that the sandbox belongs to.
    pub async fn lineage(&self, request: LineageRequest) -> Result<Tree> {
        self.prepare_call().await?;
        self.check_lineage_scope(&request.lineage_scope).await?;
        let root = self.sandbox_record()?.root_id;
        let mut reports: Vec<SandboxReport> = Vec::new();
        let mut pending = vec![(root.clone(), 1)];
        let mut truncated = false;
        while !pending.is_empty() {
            let batch: Vec<_> = pending.drain(..pending.len().min(CONCURRENCY)).collect();
            let (ids, generations): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            let answers = join_all(ids.into_iter().map(|id| self.fetch_report(id, request.check))).await;
            for (report, generation) in answers.into_iter().zip(generations) {
                truncated |= report.description.as_ref().is_ok_and(|lineage| lineage.truncated);
                let derived = report
                    .description
                    .iter()
                    .flat_map(|lineage| &lineage.derived)
                    .map(|(_, derived)| &derived.sandbox_id);
                if generation < MAX_GENERATIONS {
                    pending.extend(derived.map(|id| (id.clone(), generation + 1)));
                } else {
                    truncated |= derived.count() > 0;
                }
                reports.push(report);
            }
            pending.retain(|(id, _)| reports.iter().all(|report| report.sandbox_id != *id));
            let remaining = MAX_SANDBOXES.saturating_sub(reports.len());
            truncated |= pending.len() > remaining;
            pending.truncate(remaining);
        }
        let sandboxes = reports.len();
        Ok(Tree { root: build_branch(root, None, &mut reports), sandboxes, truncated })
    }

    async fn fetch_report(&self, id: SandboxId, check: bool) -> SandboxReport {
        let description = self.fetch_description(&id).await;
        let running = match &description {
            Ok(lineage) if check => self.fetch_running(&id, lineage.runtime).await,
            _ => None,
        };
        SandboxReport { sandbox_id: id, running, description }
    }

    async fn fetch_description(&self, id: &SandboxId) -> std::result::Result<WorkspaceLineage, String> {
        if *id == *self.id {
            return self.describe().map_err(|error| error.message().to_owned());
        }
        let ledgers = self.sandbox_ledgers().map_err(|error| error.message().to_owned())?;
        ledgers.describe(id).await.map_err(|failure| format!("Its ledger did not answer: {}", failure.message))
    }

    async fn fetch_running(&self, id: &SandboxId, runtime: Option<Runtime>) -> Option<bool> {
        let runtime = self.ports.sandbox_bindings().of_row(runtime);
        let status = self.ports.sandboxes(runtime).ok()?.status(id).await.ok()?;
        Some(status.status != Status::Down)
    }

    /// Returns the part of the lineage that the ledger of this sandbox contains.
    pub fn describe(&self) -> Result<WorkspaceLineage> {
        let sandbox = self.sandbox_record()?;
        let mut rows = self.ledger.snapshot_page(None, None, MAX_SNAPSHOTS + 1)?;
        let truncated = rows.len() > MAX_SNAPSHOTS as usize;
        rows.truncate(MAX_SNAPSHOTS as usize);
        let derivations = self.ledger.derived_sandboxes()?;
        let derived = derivations.iter().filter(|row| row.task().is_none());
        let now = self.now();
        Ok(WorkspaceLineage {
            root_id: sandbox.root_id,
            parent: sandbox.parent.as_ref().map(to_ancestor),
            workspace: sandbox.binding.map(|binding| binding.address),
            runtime: self.runtime()?,
            snapshots: rows.iter().map(|row| snapshot_node(row, &derivations, now)).collect(),
            derived: derived.map(|row| (row.snapshot_id.clone(), to_derived(row))).collect(),
            truncated,
        })
    }
}

/// The data of one sandbox of the tree.
struct SandboxReport {
    sandbox_id: SandboxId,
    /// Whether it is running; `None` if that was not checked, or if the sandbox did not answer.
    running: Option<bool>,
    /// The answer of its `Workspace` object, or the reason why there is none.
    description: std::result::Result<WorkspaceLineage, String>,
}

/// Builds the subtree of a sandbox from the reports, each of which is used once.
fn build_branch(
    sandbox_id: SandboxId,
    lineage: Option<DerivationKind>,
    reports: &mut Vec<SandboxReport>,
) -> TreeSandbox {
    let index = reports.iter().position(|report| report.sandbox_id == sandbox_id);
    let report = index.map(|index| reports.swap_remove(index));
    let running = report.as_ref().and_then(|report| report.running);
    let mut known = match report.map(|report| report.description) {
        Some(Ok(known)) => known,
        other => {
            let problem =
                other.and_then(std::result::Result::err).or_else(|| Some("Its workspace was not queried.".to_owned()));
            return TreeSandbox { sandbox_id, lineage, workspace: None, running, snapshots: Vec::new(), problem };
        }
    };
    for (snapshot_id, _) in &known.derived {
        if known.snapshots.iter().all(|node| node.snapshot_id != *snapshot_id) {
            known.snapshots.push(deleted_node(snapshot_id.clone()));
        }
    }
    let mut snapshots: Vec<TreeSnapshot> =
        known.snapshots.into_iter().map(|snapshot| TreeSnapshot { snapshot, derived: Vec::new() }).collect();
    for (snapshot_id, child) in known.derived {
        if let Some(node) = snapshots.iter_mut().find(|node| node.snapshot.snapshot_id == snapshot_id) {
            node.derived.push(build_branch(child.sandbox_id, Some(child.lineage), reports));
        }
    }
    TreeSandbox { sandbox_id, lineage, workspace: known.workspace, running, snapshots, problem: None }
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
        cause: row.known_cause(),
        autosave: row.autosave,
        expires_at: row.expires_after(now),
        provenance: row.provenance.clone(),
        dependents: dependents.map(|derivation| derivation.sandbox_id.clone()).collect(),
    }
}

fn deleted_node(snapshot_id: SnapshotId) -> SnapshotNode {
    SnapshotNode {
        snapshot_id,
        label: None,
        state: SnapshotState::Deleted,
        created_at: None,
        size_bytes: None,
        format: None,
        form: SnapshotForm::Full,
        base: None,
        total_bytes: None,
        pinned: false,
        cause: None,
        autosave: false,
        expires_at: None,
        provenance: None,
        dependents: Vec::new(),
    }
}
