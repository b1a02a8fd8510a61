//! When tasks run: the delays before their attempts.

use crate::model::{PendingTask, Result, Timestamp};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

/// One minute, in milliseconds.
const MINUTE_MILLIS: i64 = 60_000;

/// The delay before the first attempt of a task, in milliseconds: by then, the operation that created the task has
/// usually completed it. Also the delay after which an alarm repeats what failed.
pub(in crate::service) const RETRY_DELAY_MILLIS: i64 = MINUTE_MILLIS;

/// The delays before the attempts of a task, in minutes.
#[derive(Clone, Copy)]
pub(in crate::service) struct Backoff(&'static [i64]);

impl Backoff {
    /// The search for the backup of an unfinished capture, which may still arrive. The sweep deletes a backup that
    /// arrives after the last search.
    pub const BACKUP_SEARCH: Self = Self(&[1, 1, 10, 60]);

    /// The checks of a sandbox that was ended: an abandoned restore may start it again.
    pub const ENDED_SANDBOX: Self = Self(&[1, 10, 60]);

    /// The destruction of a sandbox that failed to end.
    pub const FAILED_DESTROY: Self = Self(&[10]);

    /// The deletion of objects in R2.
    pub const DELETION: Self = Self(&[1, 2, 4, 8, 16, 32]);

    /// The automatic save of a workspace after one that failed.
    pub const FAILED_SAVE: Self = Self(&[1, 2, 4, 8, 16, 32]);

    /// The delivery of a release to another ledger.
    pub const RELEASE: Self = Self(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);

    /// Returns the delay before an attempt, in milliseconds; the first one is 0. Attempts after the last delay repeat it.
    fn delay(self, attempt: usize) -> i64 {
        self.0.get(attempt).or(self.0.last()).copied().unwrap_or(1) * MINUTE_MILLIS
    }

    /// Returns when the last attempt of a task is due, if no attempt fails.
    pub fn last_attempt_at(self, task: PendingTask) -> Timestamp {
        let later = self.0.iter().skip(task.attempt as usize + 1).sum::<i64>();
        task.due_at.plus_millis(later * MINUTE_MILLIS)
    }

    /// Returns the time of the first attempt after `after`, for work that failed first at `since`.
    pub fn next_after(self, since: Timestamp, after: Timestamp) -> Timestamp {
        let (mut at, mut attempt) = (since, 0);
        while at <= after {
            at = at.plus_millis(self.delay(attempt));
            attempt += 1;
        }
        at
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Schedules an attempt of a task; the first one is 0. Attempts after the last delay repeat it. Returns what the
    /// row stores.
    pub(in crate::service) fn schedule_task(&self, backoff: Backoff, attempt: u32) -> Result<PendingTask> {
        self.schedule_after(backoff.delay(attempt as usize), attempt)
    }

    /// As [`schedule_task`](Self::schedule_task), but returns `None` after the last delay.
    pub(in crate::service) fn schedule_check(&self, backoff: Backoff, attempt: u32) -> Result<Option<PendingTask>> {
        if attempt as usize >= backoff.0.len() { Ok(None) } else { self.schedule_task(backoff, attempt).map(Some) }
    }

    /// Schedules another search for the backup of a capture after a failed one. The delay is the age of the capture, in
    /// milliseconds; at least 1 minute, and at most 64.
    pub(in crate::service) fn schedule_failed_search(&self, age_millis: i64, attempt: u32) -> Result<PendingTask> {
        self.schedule_after(age_millis.clamp(MINUTE_MILLIS, 64 * MINUTE_MILLIS), attempt)
    }

    fn schedule_after(&self, millis: i64, attempt: u32) -> Result<PendingTask> {
        let due_at = self.now().plus_millis(millis);
        self.schedule_alarm(due_at)?;
        Ok(PendingTask { due_at, attempt })
    }
}
