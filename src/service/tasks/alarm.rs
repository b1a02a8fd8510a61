//! The alarm of a sandbox's ledger: runs what is due, and sets the alarm to the next time at which anything is due.

use super::backoff::RETRY_DELAY_MILLIS;
use crate::model::{Result, Timestamp};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::idempotency::ANSWER_RETENTION_MILLIS;
use crate::service::retention::delete::SNAPSHOT_TOMBSTONE_MILLIS;

/// The interval at which expired answers and tombstones are deleted, in milliseconds: one day.
const CLEANUP_INTERVAL_MILLIS: i64 = 24 * 3600 * 1000;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Runs the tasks that are due, applies retention, deletes expired records, and sets the next alarm.
    ///
    /// # Errors
    /// The first error of these; the next alarm retries what failed.
    pub async fn alarm(&self) -> Result<()> {
        let now = self.now();
        // The next alarm is set first, in case that this one is interrupted.
        let fallback = now.plus_millis(RETRY_DELAY_MILLIS);
        self.ledger.set_alarm(Some(fallback))?;
        self.ensure_recovered().await;
        let outcome = self.run_tasks(now).await;
        let outcome = outcome.and(self.run_retention().await);
        self.clean_up(now, fallback)?;
        outcome
    }

    /// Deletes expired answers and tombstones, and sets the alarm to what is due next. An alarm other than `fallback`
    /// was requested while this one ran, and stays. `checked_until` is the time up to which expired snapshots were
    /// handled.
    fn clean_up(&self, checked_until: Timestamp, fallback: Timestamp) -> Result<()> {
        let now = self.now();
        let answers_left = self.ledger.delete_answered_calls(now.plus_millis(-ANSWER_RETENTION_MILLIS))?;
        let tombstones_left = self.ledger.delete_tombstones(now.plus_millis(-SNAPSHOT_TOMBSTONE_MILLIS))?;
        let next_cleanup = (answers_left || tombstones_left).then(|| now.plus_millis(CLEANUP_INTERVAL_MILLIS));
        let requested = self.ledger.alarm()?.filter(|at| *at != fallback);
        let times = [self.next_due(now)?, self.next_expiration(checked_until)?, next_cleanup, requested];
        self.ledger.set_alarm(times.into_iter().flatten().min())
    }

    /// Returns the earliest time at which a task is due.
    fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        let next = self.tasks()?.into_iter().map(|(due_at, _)| due_at).min();
        // A task that is overdue now has failed, or is in progress.
        Ok(next.map(|due_at| due_at.max(now.plus_millis(RETRY_DELAY_MILLIS))))
    }

    /// Returns the next time after `checked_until` at which a snapshot expires. Skips snapshots that stay although they
    /// have expired.
    fn next_expiration(&self, checked_until: Timestamp) -> Result<Option<Timestamp>> {
        let mut limit = 2;
        loop {
            let expiring = self.ledger.expiring_snapshots(Timestamp::MAX, limit)?;
            let next = expiring.iter().filter_map(|snapshot| snapshot.expires_at).find(|time| *time > checked_until);
            if next.is_some() || expiring.len() < limit as usize {
                return Ok(next);
            }
            limit *= 2;
        }
    }
}
