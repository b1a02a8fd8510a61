//! Retention: what the policy of the workspace lets go.
//!
//! A policy of time alone is applied through the ledger's index of expirations, so that a pass costs what it lets go. One
//! that counts looks at every snapshot.

use futures_util::{StreamExt, stream};

use super::delete::{finish, let_go};
use super::lifecycle::retire;
use super::{CloudflareSandboxSnapshotter, suspect};
use crate::model::Result;
use crate::model::answer::Retention;
use crate::model::policy::{Candidate, Decision, Policy};
use crate::model::record::{SnapshotRecord, SnapshotState, WorkspaceRecord};
use crate::model::request::{Cursor, PolicyRequest};
use crate::ports::{Clock, Ledger, Ports};

/// How many rows of the ledger are read at a time.
const ROWS: u32 = 500;

/// How many snapshots are deleted from R2 at the same time.
const AT_ONCE: usize = 4;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Sees to it that a policy which counts is applied soon: there is one snapshot more, or one less that stays.
    pub(super) fn wake_by_policy(&self, workspace: &WorkspaceRecord) -> Result<()> {
        let now = self.ports.clock().now();
        // The newest one stays even when it has expired, until there is a newer one.
        let counts = workspace.retired_at.is_some() || !workspace.policy.is_about_time_only();
        if counts || !self.ports.ledger()?.expiring(now, 1)?.is_empty() {
            self.wake_by(now)?;
        }
        Ok(())
    }
}

/// What the policy means for each snapshot now. Nothing is done.
pub(super) fn plan<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Retention> {
    report(this.workspace()?.policy, |policy| decide(this, policy, &ready(this)?), true)
}

/// Gives the workspace another policy, and applies it; with `dry_run` says what it would mean.
pub(super) async fn set<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: PolicyRequest) -> Result<Retention> {
    let PolicyRequest { policy, dry_run, .. } = request;
    if dry_run {
        return report(policy, |policy| decide(this, policy, &ready(this)?), true);
    }
    let mut workspace = this.workspace()?;
    workspace.policy = policy;
    this.ports.ledger()?.put_workspace(&workspace)?;
    for snapshot in ready(this)? {
        this.keep(&workspace, snapshot)?;
    }
    apply(this, false).await
}

/// Lets go what the policy says, and deletes it from R2.
pub(super) async fn apply<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, dry_run: bool) -> Result<Retention> {
    let policy = this.workspace()?.policy;
    let snapshots = ready(this)?;
    let report = report(policy, |policy| decide(this, policy, &snapshots), dry_run)?;
    if !dry_run {
        // What is not counted any more may end at another time than when it was taken.
        if let Some(expires_at) = report.decisions.iter().filter_map(|decision| decision.expires_at).min() {
            this.wake_by(expires_at)?;
        }
        carry_out(this, &report.policy, snapshots, &report.decisions).await?;
    }
    Ok(report)
}

/// What the alarm does: as [`apply`], looking only at what is due where the policy allows that.
pub(super) async fn pass<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    suspect::follow_up(this)?;
    if this.workspace()?.retired_at.is_some() {
        let (gone, _) = retire::let_go(this)?;
        stream::iter(gone).for_each_concurrent(AT_ONCE, async |id| drop(finish(this, &id).await)).await;
        return Ok(());
    }
    let policy = this.workspace()?.policy;
    if !policy.is_about_time_only() {
        return apply(this, false).await.map(drop);
    }
    let now = this.ports.clock().now();
    loop {
        let due = this.ports.ledger()?.expiring(now, ROWS)?;
        let is_last = due.len() < ROWS as usize;
        if !due.is_empty() {
            let_go_of(this, &policy, due).await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Lets go those snapshots that are due.
async fn let_go_of<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    policy: &Policy,
    mut due: Vec<SnapshotRecord>,
) -> Result<()> {
    // The newest that can be restored is among those that the decision is made of, wherever it stands.
    if let Some(newest) = newest_good(this)?
        && due.iter().all(|snapshot| snapshot.snapshot_id != newest.snapshot_id)
    {
        due.push(newest);
    }
    due.sort_by_key(|snapshot| std::cmp::Reverse((snapshot.created_at(), snapshot.snapshot_id.clone())));
    let decisions = decide(this, policy, &due)?;
    carry_out(this, policy, due, &decisions).await
}

fn report(policy: Policy, decide: impl FnOnce(&Policy) -> Result<Vec<Decision>>, dry_run: bool) -> Result<Retention> {
    let decisions = decide(&policy)?;
    let let_go = decisions.iter().filter(|decision| !decision.keep).count();
    Ok(Retention { policy, decisions, let_go, dry_run })
}

/// Every snapshot that is ready, the newest first.
pub(super) fn ready<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Vec<SnapshotRecord>> {
    let mut all = Vec::new();
    let mut cursor: Option<Cursor> = None;
    loop {
        let page = this.ports.ledger()?.page(cursor.as_ref(), None, ROWS)?;
        let is_last = page.len() < ROWS as usize;
        cursor = page.last().map(|row| Cursor { created_at: row.created_at(), snapshot_id: row.snapshot_id.clone() });
        all.extend(page.into_iter().filter(|row| row.state() == SnapshotState::Ready));
        if is_last {
            return Ok(all);
        }
    }
}

fn newest_good<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<SnapshotRecord>> {
    const FEW: u32 = 10;
    let now = this.ports.clock().now();
    let workspace = this.workspace()?;
    let mut cursor: Option<Cursor> = None;
    loop {
        let page = this.ports.ledger()?.page(cursor.as_ref(), None, FEW)?;
        let is_last = page.len() < FEW as usize;
        cursor = page.last().map(|row| Cursor { created_at: row.created_at(), snapshot_id: row.snapshot_id.clone() });
        let good = page.into_iter().find(|row| workspace.candidate(row, Vec::new(), now).good);
        if good.is_some() || is_last {
            return Ok(good);
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
        |snapshot: &SnapshotRecord| Ok(workspace.candidate(snapshot, this.holders(&snapshot.snapshot_id)?, now));
    let candidates = snapshots.iter().map(candidate).collect::<Result<Vec<Candidate>>>()?;
    #[cfg(feature = "planted")]
    let (policy, candidates) = super::planted::spoiled(policy, candidates);
    Ok(policy.plan(&candidates, now))
}

/// Lets go, in the ledger at once and then in R2, what was decided. What R2 fails to delete is left to the alarm.
async fn carry_out<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    policy: &Policy,
    snapshots: Vec<SnapshotRecord>,
    decisions: &[Decision],
) -> Result<()> {
    let mut gone = Vec::new();
    for (mut snapshot, decision) in snapshots.into_iter().zip(decisions) {
        if !decision.keep {
            gone.push(snapshot.snapshot_id.clone());
            let_go(this, snapshot, &decision.reasons.join(", "))?;
        } else if !policy.is_about_time_only() && snapshot.expires_at != decision.expires_at {
            // Where rules count, when one expires depends on the others.
            snapshot.expires_at = decision.expires_at;
            this.ports.ledger()?.put_snapshot(&snapshot)?;
        }
    }
    if !gone.is_empty() && !policy.is_about_time_only() {
        // The others have moved up, which may mean something for them.
        this.wake_by(this.ports.clock().now())?;
    }
    stream::iter(gone).for_each_concurrent(AT_ONCE, async |id| drop(finish(this, &id).await)).await;
    Ok(())
}
