//! The snapshots of a workspace, as lists show them.

use futures_util::StreamExt;
use futures_util::stream;

use super::select::{Selected, select};
use super::session::check_workspace;
use super::stored::{inspect, is_definite};
use super::{CloudflareSandboxSnapshotter, verify};
use crate::model::answer::{Answer, Page, Restorable, Summary};
use crate::model::record::{SnapshotRecord, Stage, WorkspaceRecord};
use crate::model::request::{Cursor, ListRequest};
use crate::model::{Result, SandboxId, Selection, SnapshotId, Timestamp};
use crate::ports::{Clock, Ledger, Ports};

/// How many snapshots are looked up in R2 at the same time: a Worker has six connections.
const AT_ONCE: usize = 3;

/// A page of the workspace's snapshots, the newest first.
pub(super) async fn list<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &ListRequest) -> Result<Page> {
    check_workspace(this, &request.session).await?;
    let workspace = this.workspace()?;
    let limit = request.limit as usize;
    let prefix = request.label_prefix.as_deref();
    let mut rows = this.ports.ledger()?.page(request.cursor.as_ref(), prefix, request.limit + 1)?;
    let is_more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| is_more);
    let cursor =
        last.map(|row| Cursor { created_at: row.created_at(), snapshot_id: row.snapshot_id.clone() }.to_string());
    let ids: Vec<SnapshotId> = rows.iter().map(|row| row.snapshot_id.clone()).collect();
    let mut holders = this.holders_of(&ids)?;
    let summaries = rows.into_iter().map(|row| {
        let holders = holders.remove(&row.snapshot_id).unwrap_or_default();
        show(this, &workspace, row, holders, request.check)
    });
    let snapshots: Vec<Result<Summary>> = stream::iter(summaries).buffered(AT_ONCE).collect().await;
    Ok(Page { snapshots: snapshots.into_iter().collect::<Result<_>>()?, cursor })
}

/// One snapshot, looked up in R2.
pub(super) async fn get<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, selection: &Selection) -> Result<Summary> {
    let Selected { workspace, snapshot } = select(this, selection).await?;
    let holders = this.holders(&snapshot.snapshot_id)?;
    show(this, &workspace, snapshot, holders, true).await
}

async fn show<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &WorkspaceRecord,
    snapshot: SnapshotRecord,
    holders: Vec<SandboxId>,
    check: bool,
) -> Result<Summary> {
    let looked = match &snapshot.stage {
        Stage::Ready { stored } if check => Some(inspect(this, stored, &snapshot.mark(&this.id)).await),
        _ => None,
    };
    let mut summary = with_holders(this, workspace, &snapshot, holders);
    let Some(looked) = looked else { return Ok(summary) };
    let now = this.ports.clock().now();
    summary.restorable = match (&looked, snapshot.stored().and_then(|stored| stored.damage_within.as_deref())) {
        (Ok(_), None) => Restorable { restorable: Answer::Yes, why: None, checked_at: Some(now) },
        (Ok(_), Some(damage)) => no(damage, Some(now)),
        (Err(error), _) if is_definite(error) => no(error.message(), Some(now)),
        (Err(error), _) => {
            Restorable { restorable: Answer::Unknown, why: Some(error.message().to_owned()), checked_at: None }
        }
    };
    verify::note(this, &snapshot.snapshot_id, &looked)?;
    Ok(summary)
}

/// What the ledger knows of a snapshot.
pub(super) fn summary<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &WorkspaceRecord,
    snapshot: &SnapshotRecord,
) -> Result<Summary> {
    Ok(with_holders(this, workspace, snapshot, this.holders(&snapshot.snapshot_id)?))
}

fn with_holders<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &WorkspaceRecord,
    snapshot: &SnapshotRecord,
    holders: Vec<SandboxId>,
) -> Summary {
    let now = this.ports.clock().now();
    let created_at = snapshot.created_at();
    Summary {
        snapshot_id: snapshot.snapshot_id.clone(),
        label: snapshot.label.clone(),
        state: snapshot.state(),
        dir: snapshot.dir.clone(),
        created_at,
        age_seconds: now.millis_since(created_at).max(0) / 1000,
        size_bytes: snapshot.stored().map(|stored| stored.size_bytes),
        last_used_at: snapshot.last_used_at,
        expires_at: snapshot.expires_at,
        pinned: snapshot.pinned,
        rescue: snapshot.rescue,
        suspect: snapshot.suspect,
        holders,
        restorable: as_known(this, snapshot),
        snapshot: snapshot.to_ref(workspace),
    }
}

/// Whether it could be restored when that was last looked at.
fn as_known<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, snapshot: &SnapshotRecord) -> Restorable {
    match &snapshot.stage {
        Stage::Making(_) => no("It is still being made.", None),
        Stage::Deleting { end, .. } | Stage::Deleted { end, .. } => {
            no(&format!("It was let go: {}.", end.reason), None)
        }
        Stage::Ready { stored } => match stored.known_damage() {
            Some(damage) => no(damage, Some(stored.checked_at)),
            None if stored.usable_until < this.ports.clock().now() => no("The SDK restores it no more.", None),
            None => Restorable { restorable: Answer::Yes, why: None, checked_at: Some(stored.checked_at) },
        },
    }
}

fn no(why: &str, checked_at: Option<Timestamp>) -> Restorable {
    Restorable { restorable: Answer::No, why: Some(why.to_owned()), checked_at }
}
