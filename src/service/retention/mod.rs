//! Retention: removes snapshots that the policy of the sandbox does not keep.
//!
//! A policy with time limits only uses the ledger's index of expirations, so that the cost of a pass depends on the
//! snapshots that it removes. A policy that counts snapshots reads all of them.
//!
//! - [`delete`]: deletes one snapshot
//! - [`references`]: the dependents of a snapshot
//! - [`sweep`]: deletes backups in the bucket that no ledger owns

pub(super) mod delete;
mod references;
pub(super) mod sweep;

use futures_util::{StreamExt, stream};

use super::CloudflareSandboxSnapshotter;
use super::ledger::cursor_of;
use crate::model::answer::{Retention, SnapshotState};
use crate::model::named::answer::KeptSnapshot;
use crate::model::operation::Operation;
use crate::model::policy::{Decision, Policy};
use crate::model::record::{SandboxRecord, SnapshotRecord};
use crate::model::request::{ApplyRetentionRequest, SandboxRequest, SetRetentionRequest, SnapshotCursor};
use crate::model::retention::{RetentionCandidate, plan};
use crate::model::{Error, Result, SandboxId, SnapshotId};
use crate::ports::{Ledger, Ports};

/// How many rows of the ledger one query reads.
const PAGE_ROWS: u32 = 500;

/// How many snapshots are deleted from R2 at the same time.
const CONCURRENCY: usize = 4;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Schedules the alarm for retention, after the number of snapshots that stay has changed. A policy with time
    /// limits only needs that only when a snapshot has expired.
    pub(super) fn schedule_retention(&self, sandbox: &SandboxRecord) -> Result<()> {
        let now = self.now();
        // The newest snapshot stays even when it has expired, until there is a newer one.
        let needs_full_pass = sandbox.decommissioned_at.is_some() || !sandbox.is_retention_time_only();
        if needs_full_pass || !self.ledger.expiring_snapshots(now, 1)?.is_empty() {
            self.schedule_alarm(now)?;
        }
        Ok(())
    }

    /// Returns the retention policy, and what it decides for each snapshot now. Changes nothing.
    pub async fn retention(&self, request: SandboxRequest) -> Result<Retention> {
        self.prepare_call().await?;
        self.check_lineage_scope(&request.lineage_scope).await?;
        build_report(
            self.sandbox_record()?.policy,
            |policy| self.decide_retention(policy, &self.ready_snapshots()?),
            true,
        )
    }

    /// Sets the policy of the sandbox and applies it. With `dry_run`, returns the decisions and changes nothing.
    pub async fn set_retention(&self, request: SetRetentionRequest) -> Result<Retention> {
        self.prepare_call().await?;
        if self.ledger.sandbox()?.is_none() && self.find_namesake().await.is_some() {
            return Err(Error::retention_of_workspace(Operation::SetRetention.name()));
        }
        let SetRetentionRequest { policy, dry_run, .. } = request;
        if dry_run {
            return build_report(policy, |policy| self.decide_retention(policy, &self.ready_snapshots()?), true);
        }
        let mut sandbox = self.sandbox_record()?;
        sandbox.policy = policy;
        self.ledger.put_sandbox(&sandbox)?;
        for snapshot in self.ready_snapshots()? {
            self.save_snapshot(&sandbox, snapshot)?;
        }
        self.apply_policy(false).await
    }

    /// Applies the policy, and deletes the removed snapshots from R2. With `dry_run`, returns the decisions only.
    pub async fn apply_retention(&self, request: ApplyRetentionRequest) -> Result<Retention> {
        self.prepare_call().await?;
        self.apply_policy(request.dry_run).await
    }

    async fn apply_policy(&self, dry_run: bool) -> Result<Retention> {
        let policy = self.sandbox_record()?.policy;
        let snapshots = self.ready_snapshots()?;
        let report = build_report(policy, |policy| self.decide_retention(policy, &snapshots), dry_run)?;
        if !dry_run {
            // A snapshot that no count retains may expire at another time than was calculated when it was taken.
            if let Some(expires_at) = report.decisions.iter().filter_map(|decision| decision.expires_at).min() {
                self.schedule_alarm(expires_at)?;
            }
            self.apply_decisions(snapshots, &report.decisions).await?;
        }
        Ok(report)
    }

    /// Applies the policy from the alarm, like [`apply_retention`](Self::apply_retention). Reads only expired snapshots
    /// where the policy has time limits only.
    pub(super) async fn run_retention(&self) -> Result<()> {
        if self.sandbox_record()?.decommissioned_at.is_some() {
            let (removed, _) = self.delete_unreferenced()?;
            stream::iter(removed)
                .for_each_concurrent(CONCURRENCY, async |id| drop(self.finish_deletion(&id).await))
                .await;
            return Ok(());
        }
        let sandbox = self.sandbox_record()?;
        let policy = sandbox.policy.clone();
        if !sandbox.is_retention_time_only() {
            return self.apply_policy(false).await.map(drop);
        }
        let now = self.now();
        loop {
            let due = self.ledger.expiring_snapshots(now, PAGE_ROWS)?;
            let is_last = due.len() < PAGE_ROWS as usize;
            if !due.is_empty() {
                self.remove_expired(&policy, due).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Removes expired snapshots.
    async fn remove_expired(&self, policy: &Policy, mut due: Vec<SnapshotRecord>) -> Result<()> {
        // The decision needs the newest restorable snapshots among its candidates, wherever they are in the list.
        for may_be_autosave in [true, false] {
            if let Some(newest) = self.newest_restorable_candidate(may_be_autosave)?
                && due.iter().all(|snapshot| snapshot.snapshot_id != newest.snapshot_id)
            {
                due.push(newest);
            }
        }
        due.sort_by_key(|snapshot| std::cmp::Reverse((snapshot.created_at(), snapshot.snapshot_id.clone())));
        let decisions = self.decide_retention(policy, &due)?;
        self.apply_decisions(due, &decisions).await
    }

    /// Returns every ready snapshot, the newest first.
    fn ready_snapshots(&self) -> Result<Vec<SnapshotRecord>> {
        let mut all = Vec::new();
        let mut cursor: Option<SnapshotCursor> = None;
        loop {
            let page = self.ledger.snapshot_page(cursor.as_ref(), None, PAGE_ROWS)?;
            let is_last = page.len() < PAGE_ROWS as usize;
            cursor = page.last().map(cursor_of);
            all.extend(page.into_iter().filter(|row| row.state() == SnapshotState::Ready));
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Begins the deletion of all ready snapshots that have no dependents and are not pinned. Returns their ids, and
    /// the snapshots that remain.
    pub(super) fn delete_unreferenced(&self) -> Result<(Vec<SnapshotId>, Vec<KeptSnapshot>)> {
        let (mut deleted, mut kept) = (Vec::new(), Vec::new());
        for snapshot in self.ready_snapshots()? {
            let snapshot_id = snapshot.snapshot_id.clone();
            let dependents = self.dependents(&snapshot_id)?;
            if dependents.is_empty() && !snapshot.pinned {
                self.begin_deletion(snapshot, "its workspace was deleted")?;
                deleted.push(snapshot_id);
            } else {
                kept.push(KeptSnapshot {
                    snapshot_id,
                    origin_id: (*self.id).clone(),
                    dependents,
                    pinned: snapshot.pinned,
                });
            }
        }
        Ok((deleted, kept))
    }

    /// Returns the newest snapshot that the policy counts as restorable; with `may_be_autosave`, of all classes.
    fn newest_restorable_candidate(&self, may_be_autosave: bool) -> Result<Option<SnapshotRecord>> {
        const SEARCH_ROWS: u32 = 10;
        let sandbox = self.sandbox_record()?;
        self.newest_where(SEARCH_ROWS, |row| {
            let is_restorable = || self.candidate(&sandbox, row, Vec::new()).is_ok_and(|it| it.restorable);
            (may_be_autosave || !row.autosave) && is_restorable()
        })
    }

    /// Returns the input of a retention decision about a snapshot. A delta cannot be restored without its base.
    fn candidate(
        &self,
        sandbox: &SandboxRecord,
        snapshot: &SnapshotRecord,
        dependents: Vec<SandboxId>,
    ) -> Result<RetentionCandidate> {
        let candidate = sandbox.candidate(snapshot, dependents, self.now());
        let restorable = candidate.restorable && self.base_damage(snapshot)?.is_none();
        Ok(RetentionCandidate { restorable, ..candidate })
    }

    fn decide_retention(&self, policy: &Policy, snapshots: &[SnapshotRecord]) -> Result<Vec<Decision>> {
        let now = self.now();
        let sandbox = self.sandbox_record()?;
        let candidate =
            |snapshot: &SnapshotRecord| self.candidate(&sandbox, snapshot, self.dependents(&snapshot.snapshot_id)?);
        let candidates = snapshots.iter().map(candidate).collect::<Result<Vec<RetentionCandidate>>>()?;
        Ok(plan(policy, sandbox.retention_scope(), &candidates, now))
    }

    /// Removes the snapshots that the policy does not retain, first in the ledger and then in R2. The alarm retries
    /// what R2 fails to delete.
    async fn apply_decisions(&self, snapshots: Vec<SnapshotRecord>, decisions: &[Decision]) -> Result<()> {
        let counts = !self.sandbox_record()?.is_retention_time_only();
        let mut removed = Vec::new();
        for (mut snapshot, decision) in snapshots.into_iter().zip(decisions) {
            if !decision.keep {
                removed.push(snapshot.snapshot_id.clone());
                let reason = format!("by the retention policy ({})", decision.reasons.join(", "));
                self.begin_deletion(snapshot, &reason)?;
            } else if counts && snapshot.expires_at != decision.expires_at {
                // With a policy that counts, the expiration of a snapshot depends on the others.
                snapshot.expires_at = decision.expires_at;
                self.ledger.put_snapshot(&snapshot)?;
            }
        }
        if !removed.is_empty() && counts {
            // The other snapshots have moved up in the count, which may change their expiration.
            self.schedule_alarm(self.now())?;
        }
        stream::iter(removed).for_each_concurrent(CONCURRENCY, async |id| drop(self.finish_deletion(&id).await)).await;
        Ok(())
    }
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
