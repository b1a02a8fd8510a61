//! The tree of sandboxes and snapshots that grows from one sandbox. Each workspace knows its own part of it.

use futures_util::future::{join, join_all};

use super::CloudflareSandboxSnapshotter;
use super::manifest::{ancestor, shown};
use super::session::check_workspace;
use crate::model::answer::{Branch, Descent, Description, Knot, Node, Tree};
use crate::model::record::{Derivation, SnapshotRecord, SnapshotState};
use crate::model::request::LineageRequest;
use crate::model::{Lineage, Result, SandboxId, SnapshotId, Status};
use crate::ports::{Ledger, Ports, Sandboxes, Workspaces};

/// How many sandboxes a tree shows at most: each is asked for its part.
const MOST: usize = 500;

/// How many generations of sandboxes a tree shows at most: each lies four levels deeper in its JSON, of which readers take 128.
const MOST_GENERATIONS: usize = 28;

/// How many snapshots of one sandbox a tree shows at most.
const MOST_SNAPSHOTS: u32 = 1000;

/// How many workspaces are asked at the same time.
const AT_ONCE: usize = 6;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// The first sandbox of the lineage.
    pub fn root(&self) -> Result<SandboxId> {
        Ok(self.workspace()?.root_id)
    }

    /// What this workspace knows of its lineage.
    pub fn describe(&self) -> Result<Description> {
        describe(self)
    }

    /// Where the sandbox came from.
    pub fn descent(&self) -> Result<Descent> {
        let workspace = self.workspace()?;
        let parent = workspace.parent.map(|parent| parent.origin_id);
        Ok(Descent { parent, has_name: workspace.standing.is_some() })
    }
}

/// The whole tree that the sandbox belongs to.
pub(super) async fn lineage<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &LineageRequest,
) -> Result<Tree> {
    check_workspace(this, &request.session).await?;
    let root = this.workspace()?.root_id;
    let mut parts: Vec<Part> = Vec::new();
    let mut asked = vec![(root.clone(), 1)];
    let mut truncated = false;
    while !asked.is_empty() {
        let batch: Vec<_> = asked.drain(..asked.len().min(AT_ONCE)).collect();
        let (ids, generations): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let told = join_all(ids.into_iter().map(|id| part(this, id, request.check))).await;
        for (part, generation) in told.into_iter().zip(generations) {
            truncated |= part.told.as_ref().is_ok_and(|told| told.truncated);
            let derived = part.told.iter().flat_map(|told| &told.derived).map(|(_, derived)| &derived.sandbox_id);
            if generation < MOST_GENERATIONS {
                asked.extend(derived.map(|id| (id.clone(), generation + 1)));
            } else {
                truncated |= derived.count() > 0;
            }
            parts.push(part);
        }
        asked.retain(|(id, _)| parts.iter().all(|part| part.sandbox_id != *id));
        let left = MOST.saturating_sub(parts.len());
        truncated |= asked.len() > left;
        asked.truncate(left);
    }
    let sandboxes = parts.len();
    Ok(Tree { root: branch(root, None, &mut parts), sandboxes, truncated })
}

/// What is known of one sandbox.
struct Part {
    sandbox_id: SandboxId,
    /// Whether it is running, as far as it was asked and said.
    running: Option<bool>,
    /// What its workspace said, or why it did not.
    told: std::result::Result<Description, String>,
}

async fn part<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: SandboxId, check: bool) -> Part {
    let running = async { if check { running(this, &id).await } else { None } };
    let (told, running) = join(told(this, &id), running).await;
    Part { sandbox_id: id, running, told }
}

async fn told<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SandboxId,
) -> std::result::Result<Description, String> {
    if *id == *this.id {
        return describe(this).map_err(|error| error.message().to_owned());
    }
    let workspaces = this.ports.workspaces().map_err(|error| error.message().to_owned())?;
    workspaces.describe(id).await.map_err(|failure| format!("Its workspace did not answer: {}", failure.message))
}

async fn running<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &SandboxId) -> Option<bool> {
    let state = this.ports.sandboxes().ok()?.state(id).await.ok()?;
    Some(state.status != Status::Down)
}

/// Grows a sandbox's branch from the parts, each of which is used once.
fn branch(sandbox_id: SandboxId, lineage: Option<Lineage>, parts: &mut Vec<Part>) -> Branch {
    let place = parts.iter().position(|part| part.sandbox_id == sandbox_id);
    let part = place.map(|place| parts.swap_remove(place));
    let running = part.as_ref().and_then(|part| part.running);
    let mut part = match part.map(|part| part.told) {
        Some(Ok(told)) => told,
        other => {
            let problem = other.and_then(std::result::Result::err).or_else(|| Some("It was not looked at.".to_owned()));
            return Branch { sandbox_id, lineage, workspace: None, running, snapshots: Vec::new(), problem };
        }
    };
    for (snapshot_id, _) in &part.derived {
        if part.snapshots.iter().all(|knot| knot.snapshot_id != *snapshot_id) {
            part.snapshots.push(gone(snapshot_id.clone()));
        }
    }
    let mut snapshots: Vec<Node> = part.snapshots.into_iter().map(|knot| Node { knot, derived: Vec::new() }).collect();
    for (snapshot_id, child) in part.derived {
        if let Some(node) = snapshots.iter_mut().find(|node| node.knot.snapshot_id == snapshot_id) {
            node.derived.push(branch(child.sandbox_id, Some(child.lineage), parts));
        }
    }
    Branch { sandbox_id, lineage, workspace: part.workspace, running, snapshots, problem: None }
}

/// What this workspace knows of its lineage.
pub(super) fn describe<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Description> {
    let workspace = this.workspace()?;
    let ledger = this.ports.ledger()?;
    let mut rows = ledger.page(None, None, MOST_SNAPSHOTS + 1)?;
    let truncated = rows.len() > MOST_SNAPSHOTS as usize;
    rows.truncate(MOST_SNAPSHOTS as usize);
    let derivations = ledger.derivations()?;
    let made = derivations.iter().filter(|row| row.loose().is_none());
    Ok(Description {
        root_id: workspace.root_id,
        parent: workspace.parent.as_ref().map(ancestor),
        workspace: workspace.standing.map(|standing| standing.address),
        snapshots: rows.iter().map(|row| knot(row, &derivations)).collect(),
        derived: made.map(|row| (row.snapshot_id.clone(), shown(row))).collect(),
        truncated,
    })
}

fn knot(row: &SnapshotRecord, derivations: &[Derivation]) -> Knot {
    let held = derivations.iter().filter(|derivation| derivation.snapshot_id == row.snapshot_id && derivation.holds());
    Knot {
        snapshot_id: row.snapshot_id.clone(),
        label: Some(row.label.clone()),
        state: row.state(),
        created_at: Some(row.created_at()),
        size_bytes: row.stored().map(|stored| stored.size_bytes),
        pinned: row.pinned,
        expires_at: row.expires_at,
        holders: held.map(|derivation| derivation.sandbox_id.clone()).collect(),
    }
}

fn gone(snapshot_id: SnapshotId) -> Knot {
    Knot {
        snapshot_id,
        label: None,
        state: SnapshotState::Deleted,
        created_at: None,
        size_bytes: None,
        pinned: false,
        expires_at: None,
        holders: Vec::new(),
    }
}
