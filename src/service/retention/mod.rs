//! Retention: removes snapshots that the policy of the workspace does not keep.
//!
//! A policy with time limits only uses the ledger's index of expirations, so that the cost of a pass depends on the
//! snapshots that it removes. A policy that counts snapshots reads all of them.
//!
//! - [`delete`]: deletes one snapshot
//! - [`references`]: the dependents of a snapshot
//! - [`sweep`]: deletes backups in the bucket that no ledger owns

pub(super) mod delete;
pub(super) mod references;
pub(super) mod sweep;

use futures_util::{StreamExt, stream};

use self::delete::{begin_deletion, finish_deletion};
use super::CloudflareSandboxSnapshotter;
use super::snapshot::suspect;
use super::workspace::sandbox::decommission;
use crate::model::Result;
use crate::model::answer::Retention;
use crate::model::policy::{Decision, Policy, RetentionCandidate};
use crate::model::record::{SnapshotRecord, SnapshotState, WorkspaceRecord};
use crate::model::request::{SetRetentionRequest, SnapshotCursor};
use crate::ports::{Clock, Ledger, Ports};

/// How many rows of the ledger one query reads.
const PAGE_ROWS: u32 = 500;

/// How many snapshots are deleted from R2 at the same time.
const CONCURRENCY: usize = 4;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Schedules the alarm for retention, after the number of snapshots that stay has changed. A policy with time
    /// limits only needs that only when a snapshot has expired.
    pub(super) fn schedule_retention(&self, workspace: &WorkspaceRecord) -> Result<()> {
        let now = self.ports.clock().now();
        // The newest snapshot stays even when it has expired, until there is a newer one.
        let needs_full_pass = workspace.decommissioned_at.is_some() || !workspace.policy.is_time_only();
        if needs_full_pass || !self.ports.ledger()?.expiring_snapshots(now, 1)?.is_empty() {
            self.schedule_alarm(now)?;
        }
        Ok(())
    }
}

/// Returns what the policy decides for each snapshot now. Changes nothing.
pub(super) fn plan<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Retention> {
    build_report(this.workspace()?.policy, |policy| decide(this, policy, &ready_snapshots(this)?), true)
}

/// Sets the policy of the workspace and applies it. With `dry_run`, returns the decisions and changes nothing.
pub(super) async fn set_policy<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: SetRetentionRequest,
) -> Result<Retention> {
    let SetRetentionRequest { policy, dry_run, .. } = request;
    if dry_run {
        return build_report(policy, |policy| decide(this, policy, &ready_snapshots(this)?), true);
    }
    let mut workspace = this.workspace()?;
    workspace.policy = policy;
    this.ports.ledger()?.put_workspace(&workspace)?;
    for snapshot in ready_snapshots(this)? {
        this.save_snapshot(&workspace, snapshot)?;
    }
    apply(this, false).await
}

/// Applies the policy, and deletes the removed snapshots from R2. With `dry_run`, returns the decisions only.
pub(super) async fn apply<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, dry_run: bool) -> Result<Retention> {
    let policy = this.workspace()?.policy;
    let snapshots = ready_snapshots(this)?;
    let report = build_report(policy, |policy| decide(this, policy, &snapshots), dry_run)?;
    if !dry_run {
        // A snapshot that no count retains may expire at another time than was calculated when it was taken.
        if let Some(expires_at) = report.decisions.iter().filter_map(|decision| decision.expires_at).min() {
            this.schedule_alarm(expires_at)?;
        }
        apply_decisions(this, &report.policy, snapshots, &report.decisions).await?;
    }
    Ok(report)
}

/// Applies the policy from the alarm, like [`apply`]. Reads only expired snapshots where the policy has time limits
/// only.
pub(super) async fn run_retention<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    suspect::reconcile(this)?;
    if this.workspace()?.decommissioned_at.is_some() {
        let (removed, _) = decommission::delete_unreferenced(this)?;
        stream::iter(removed).for_each_concurrent(CONCURRENCY, async |id| drop(finish_deletion(this, &id).await)).await;
        return Ok(());
    }
    let policy = this.workspace()?.policy;
    if !policy.is_time_only() {
        return apply(this, false).await.map(drop);
    }
    let now = this.ports.clock().now();
    loop {
        let due = this.ports.ledger()?.expiring_snapshots(now, PAGE_ROWS)?;
        let is_last = due.len() < PAGE_ROWS as usize;
        if !due.is_empty() {
            remove_due(this, &policy, due).await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Removes expired snapshots.
async fn remove_due<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    policy: &Policy,
    mut due: Vec<SnapshotRecord>,
) -> Result<()> {
    // The decision needs the newest restorable snapshot among its candidates, wherever it is in the list.
    if let Some(newest) = newest_restorable(this)?
        && due.iter().all(|snapshot| snapshot.snapshot_id != newest.snapshot_id)
    {
        due.push(newest);
    }
    due.sort_by_key(|snapshot| std::cmp::Reverse((snapshot.created_at(), snapshot.snapshot_id.clone())));
    let decisions = decide(this, policy, &due)?;
    apply_decisions(this, policy, due, &decisions).await
}

fn build_report(
    policy: Policy,
    decide: impl FnOnce(&Policy) -> Result<Vec<Decision>>,
    dry_run: bool,
) -> Result<Retention> {
    let decisions = decide(&policy)?;
    let evicted = decisions.iter().filter(|decision| !decision.keep).count();
    Ok(Retention { policy, decisions, evicted, dry_run })
}

/// Returns every ready snapshot, the newest first.
pub(super) fn ready_snapshots<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Vec<SnapshotRecord>> {
    let mut all = Vec::new();
    let mut cursor: Option<SnapshotCursor> = None;
    loop {
        let page = this.ports.ledger()?.snapshot_page(cursor.as_ref(), None, PAGE_ROWS)?;
        let is_last = page.len() < PAGE_ROWS as usize;
        cursor = page
            .last()
            .map(|row| SnapshotCursor { created_at: row.created_at(), snapshot_id: row.snapshot_id.clone() });
        all.extend(page.into_iter().filter(|row| row.state() == SnapshotState::Ready));
        if is_last {
            return Ok(all);
        }
    }
}

fn newest_restorable<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<SnapshotRecord>> {
    const SEARCH_ROWS: u32 = 10;
    let now = this.ports.clock().now();
    let workspace = this.workspace()?;
    let mut cursor: Option<SnapshotCursor> = None;
    loop {
        let page = this.ports.ledger()?.snapshot_page(cursor.as_ref(), None, SEARCH_ROWS)?;
        let is_last = page.len() < SEARCH_ROWS as usize;
        cursor = page
            .last()
            .map(|row| SnapshotCursor { created_at: row.created_at(), snapshot_id: row.snapshot_id.clone() });
        let restorable = page.into_iter().find(|row| workspace.candidate(row, Vec::new(), now).restorable);
        if restorable.is_some() || is_last {
            return Ok(restorable);
        }
    }
}

fn decide<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    policy: &Policy,
    snapshots: &[SnapshotRecord],
) -> Result<Vec<Decision>> {
    let now = this.ports.clock().now();
    let workspace = this.workspace()?;
    let candidate =
        |snapshot: &SnapshotRecord| Ok(workspace.candidate(snapshot, this.dependents(&snapshot.snapshot_id)?, now));
    let candidates = snapshots.iter().map(candidate).collect::<Result<Vec<RetentionCandidate>>>()?;
    #[cfg(feature = "planted")]
    let (policy, candidates) = super::planted::with_planted_bugs(policy, candidates);
    Ok(policy.plan(&candidates, now))
}

/// Removes the snapshots that the policy does not retain, first in the ledger and then in R2. The alarm retries what R2
/// fails to delete.
async fn apply_decisions<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    policy: &Policy,
    snapshots: Vec<SnapshotRecord>,
    decisions: &[Decision],
) -> Result<()> {
    let mut removed = Vec::new();
    for (mut snapshot, decision) in snapshots.into_iter().zip(decisions) {
        if !decision.keep {
            removed.push(snapshot.snapshot_id.clone());
            begin_deletion(this, snapshot, &decision.reasons.join(", "))?;
        } else if !policy.is_time_only() && snapshot.expires_at != decision.expires_at {
            // With a policy that counts, the expiration of a snapshot depends on the others.
            snapshot.expires_at = decision.expires_at;
            this.ports.ledger()?.put_snapshot(&snapshot)?;
        }
    }
    if !removed.is_empty() && !policy.is_time_only() {
        // The other snapshots have moved up in the count, which may change their expiration.
        this.schedule_alarm(this.ports.clock().now())?;
    }
    stream::iter(removed).for_each_concurrent(CONCURRENCY, async |id| drop(finish_deletion(this, &id).await)).await;
    Ok(())
}
