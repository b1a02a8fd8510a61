//! The tree around a sandbox: its ancestors, and all that was made from them, as far as the limits permit.
//!
//! A tree that would be too deep begins later than the lineage, so that the sandbox and what was made from it are in it.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use futures_util::future::join_all;

use super::{CONCURRENCY, MAX_SANDBOXES};
use crate::model::answer::{SnapshotNode, SnapshotState, Tree, TreeSandbox, TreeSnapshot, WorkspaceLineage};
use crate::model::request::LineageRequest;
use crate::model::{DerivationKind, Result, Runtime, SandboxId, SnapshotForm, SnapshotId, Status};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;

/// The maximum number of generations of sandboxes in a tree. Each one is nested four levels deeper in the JSON, and
/// parsers accept 128 levels.
const MAX_GENERATIONS: usize = 28;

/// The maximum number of generations that a tree with later ones than the sandbox keeps for these.
const MAX_LATER_GENERATIONS: usize = 8;

/// What a tree says of a sandbox that it does not contain.
const BEYOND_LIMITS: &str = "It is beyond the limits of this tree. Its own lineage contains its snapshots.";

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the tree around the sandbox.
    ///
    /// # Errors
    /// Those of the lineage scope. A sandbox that does not answer is in the tree with its problem; an ancestor that does not
    /// answer is the tree's `parent`.
    pub async fn lineage(&self, request: LineageRequest) -> Result<Tree> {
        self.prepare_call().await?;
        self.check_lineage_scope(&request.lineage_scope).await?;
        let id = SandboxId::clone(&self.id);
        let mut reports = Reports { service: self, check: request.check, known: BTreeMap::new() };
        let mut ancestors = reports.ancestors(&id).await;
        let later = reports.explore(&id, MAX_LATER_GENERATIONS).await.generations;
        ancestors.truncate(MAX_GENERATIONS - later);
        let top = ancestors.pop().unwrap_or(id);
        let is_complete = reports.explore(&top, MAX_GENERATIONS).await.is_complete;
        let parent = reports.answer(&top).and_then(|answer| answer.parent.clone());
        let mut unused = reports.known;
        let known = unused.len();
        let root = build_branch(top, None, &mut unused);
        Ok(Tree { root, sandboxes: known - unused.len(), truncated: !is_complete || parent.is_some(), parent })
    }

    async fn fetch_report(&self, id: &SandboxId, check: bool) -> SandboxReport {
        let description = self.fetch_description(id).await;
        let running = match &description {
            Ok(lineage) if check => self.fetch_running(id, lineage.runtime).await,
            _ => None,
        };
        SandboxReport { running, description }
    }

    async fn fetch_running(&self, id: &SandboxId, runtime: Option<Runtime>) -> Option<bool> {
        let runtime = self.ports.sandbox_bindings().of_row(runtime);
        let status = self.ports.sandboxes(runtime).ok()?.status(id).await.ok()?;
        Some(status.status != Status::Down)
    }
}

/// What is known of one sandbox.
struct SandboxReport {
    /// Whether it is running; `None` if that was not checked, or if the sandbox did not answer.
    running: Option<bool>,
    /// The answer of its `Workspace` object, or the reason why there is none.
    description: std::result::Result<WorkspaceLineage, String>,
}

/// What was found below a sandbox.
struct Explored {
    /// The number of generations, with that of the sandbox.
    generations: usize,
    /// Whether no limit was reached.
    is_complete: bool,
}

/// The reports of sandboxes, each of which is fetched once.
struct Reports<'a, P: Ports> {
    service: &'a CloudflareSandboxSnapshotter<P>,
    check: bool,
    known: BTreeMap<SandboxId, SandboxReport>,
}

impl<P: Ports> Reports<'_, P> {
    /// Returns the ancestors of a sandbox, its parent first, as far as each answers that the next one was made from it.
    async fn ancestors(&mut self, id: &SandboxId) -> Vec<SandboxId> {
        self.fetch(slice::from_ref(id)).await;
        let mut ancestors: Vec<SandboxId> = Vec::new();
        while ancestors.len() < MAX_GENERATIONS {
            let child = ancestors.last().unwrap_or(id).clone();
            let Some(parent) = self.answer(&child).and_then(|answer| answer.parent.clone()) else { break };
            self.fetch(slice::from_ref(&parent.origin_id)).await;
            let derived = self.answer(&parent.origin_id).into_iter().flat_map(|answer| &answer.derived);
            if derived.map(|(_, derived)| &derived.sandbox_id).all(|id| *id != child) {
                break;
            }
            ancestors.push(parent.origin_id);
        }
        ancestors
    }

    /// Fetches the reports of a sandbox and of those that were made from it, up to a number of generations.
    async fn explore(&mut self, top: &SandboxId, most: usize) -> Explored {
        let mut seen = BTreeSet::from([top.clone()]);
        let mut level = vec![top.clone()];
        let mut explored = Explored { generations: 0, is_complete: true };
        while !level.is_empty() && explored.generations < most {
            explored.generations += 1;
            explored.is_complete &= self.fetch(&level).await;
            let answers: Vec<_> = level.iter().filter_map(|id| self.answer(id)).collect();
            explored.is_complete &= answers.iter().all(|answer| !answer.truncated);
            let derived =
                answers.into_iter().flat_map(|answer| &answer.derived).map(|(_, derived)| &derived.sandbox_id);
            level = derived.filter(|id| seen.insert(SandboxId::clone(id))).cloned().collect();
        }
        explored.is_complete &= level.is_empty();
        explored
    }

    /// Fetches the reports that are not known. Returns whether the limit permitted all of them.
    async fn fetch(&mut self, ids: &[SandboxId]) -> bool {
        let mut missing: Vec<_> = ids.iter().filter(|id| !self.known.contains_key(*id)).collect();
        let room = MAX_SANDBOXES.saturating_sub(self.known.len());
        let is_complete = missing.len() <= room;
        missing.truncate(room);
        for batch in missing.chunks(CONCURRENCY) {
            let reports = join_all(batch.iter().map(|id| self.service.fetch_report(id, self.check))).await;
            self.known.extend(batch.iter().copied().cloned().zip(reports));
        }
        is_complete
    }

    /// Returns what a sandbox answered; `None` if it did not, or was not asked.
    fn answer(&self, id: &SandboxId) -> Option<&WorkspaceLineage> {
        self.known.get(id)?.description.as_ref().ok()
    }
}

/// Builds the subtree of a sandbox from the reports, each of which is used once.
fn build_branch(
    sandbox_id: SandboxId,
    lineage: Option<DerivationKind>,
    reports: &mut BTreeMap<SandboxId, SandboxReport>,
) -> TreeSandbox {
    let report = reports.remove(&sandbox_id);
    let running = report.as_ref().and_then(|report| report.running);
    let mut known = match report.map_or_else(|| Err(BEYOND_LIMITS.to_owned()), |report| report.description) {
        Ok(known) => known,
        Err(problem) => {
            let problem = Some(problem);
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
        partial: false,
        cause: None,
        autosave: false,
        expires_at: None,
        provenance: None,
        dependents: Vec::new(),
    }
}
