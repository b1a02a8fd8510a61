//! When tasks run: the delays before their attempts.

use crate::model::{PendingTask, Result};
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

    /// The delivery of a release to another workspace.
    pub const RELEASE: Self = Self(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);

    /// Returns whether the schedule has an attempt with this number; the first one is 0.
    pub fn has_attempt(self, attempt: u32) -> bool {
        (attempt as usize) < self.0.len()
    }

    /// Returns the delay before an attempt, in milliseconds. Each attempt after the last one has the delay of that one.
    fn delay_millis(self, attempt: u32) -> i64 {
        let minutes = self.0.get(attempt as usize).or(self.0.last()).copied();
        minutes.unwrap_or(1) * MINUTE_MILLIS
    }
}

/// Returns the delay after a failed search for the backup of a capture, in milliseconds: the age of the capture, at
/// least 1 minute and at most 64.
pub(in crate::service) fn failed_search_delay_millis(age_millis: i64) -> i64 {
    age_millis.clamp(MINUTE_MILLIS, 64 * MINUTE_MILLIS)
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Schedules an attempt of a task. Returns what its row stores; the caller writes the row before it awaits.
    pub(in crate::service) fn schedule_task(&self, backoff: Backoff, attempt: u32) -> Result<PendingTask> {
        self.schedule_task_after(backoff.delay_millis(attempt), attempt)
    }

    /// As [`schedule_task`](Self::schedule_task), with a delay in milliseconds.
    pub(in crate::service) fn schedule_task_after(&self, millis: i64, attempt: u32) -> Result<PendingTask> {
        let due_at = self.now().plus_millis(millis);
        self.schedule_alarm(due_at)?;
        Ok(PendingTask { due_at, attempt })
    }
}
