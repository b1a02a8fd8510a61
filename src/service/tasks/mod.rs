//! Deferred work of a Workspace object: what an operation did not finish, and what is due at a later time.
//!
//! Every operation writes a row to the ledger before it touches a sandbox, R2 or another object. A row in a transient
//! state is itself the task that completes it or rolls it back. No list of tasks is stored beside the rows, because it
//! could disagree with them.
//!
//! Each attempt is in the file of its area. It reads its row again, because a call may have changed the row since the
//! task was listed, and it does nothing while a call in progress holds the subject (`in_process.rs`).
//!
//! - [`alarm`]: runs what is due, and sets the next alarm
//! - [`backoff`]: the delays before the attempts

mod alarm;
pub(super) mod backoff;

use futures_util::FutureExt;

use self::backoff::RETRY_DELAY_MILLIS;
use super::CloudflareSandboxSnapshotter;
use super::in_process::Recovery;
use crate::model::record::Stage;
use crate::model::{Result, SandboxId, SnapshotId, Timestamp};
use crate::ports::{Ledger, Ports};

/// A task, with its subject: what the row says, and what an attempt does.
enum Task {
    /// A snapshot is being created. Completes it if its backup and its container are verified; otherwise deletes its
    /// backup, or searches R2 for one by the owner mark.
    Capture(SnapshotId),
    /// A snapshot is being deleted. Deletes its objects in R2.
    Deletion(SnapshotId),
    /// A sandbox is being created or destroyed. Destroys it, and checks it again, because a restore may still run in
    /// it.
    Sandbox(SandboxId),
    /// A release for another ledger is due. Delivers it.
    Release(SnapshotId),
    /// A call has no answer. Deletes its record, so that the call can be repeated.
    UnansweredCall(String),
    /// A named workspace is being started or stopped. Ends its container, unless the restore finished.
    StartOrStop,
    /// A container is unverified. Measures whether the container is older than that state.
    UnverifiedContainer,
    /// The platform deletes the only copy of the files in some days. Restores it once, which begins its lifetime again.
    PlatformRefresh,
    /// Retention protects a snapshot. Ends the protection when it has expired.
    Protection,
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Runs all tasks that an earlier object left, once. Calls that arrive during recovery wait for it, because
    /// recovery may complete their answer. If all waiting calls are dropped, the next call starts recovery again.
    pub(in crate::service) async fn ensure_recovered(&self) {
        let running = match &*self.in_process.recovery.borrow() {
            Recovery::Due => None,
            Recovery::Running(recovery) => recovery.upgrade(),
            Recovery::Done => return,
        };
        let recovery = running.unwrap_or_else(|| {
            let snapshotter = self.clone();
            let recovery = async move {
                // The alarm retries what fails.
                drop(snapshotter.run_tasks(Timestamp::MAX).await);
                *snapshotter.in_process.recovery.borrow_mut() = Recovery::Done;
            };
            let recovery = recovery.boxed_local().shared();
            *self.in_process.recovery.borrow_mut() = recovery.downgrade().map_or(Recovery::Due, Recovery::Running);
            recovery
        });
        recovery.await;
    }

    /// Runs every task that is due at `due_by`. A failed task does not prevent the others.
    ///
    /// # Errors
    /// The first error of the tasks.
    async fn run_tasks(&self, due_by: Timestamp) -> Result<()> {
        let mut outcome = Ok(());
        for (_, task) in self.tasks()?.into_iter().filter(|(due_at, _)| *due_at <= due_by) {
            let attempted = match &task {
                Task::Capture(id) => self.reconcile_capture(id).await,
                Task::Deletion(id) => self.finish_deletion(id).await,
                Task::Sandbox(id) => self.reconcile_sandbox(id).await,
                Task::Release(id) => self.deliver_release(id).await,
                Task::UnansweredCall(key) => self.delete_unanswered_call(key),
                Task::StartOrStop => self.reconcile_start_or_stop().await,
                Task::UnverifiedContainer => self.reconcile_unverified().await,
                Task::PlatformRefresh => self.refresh_platform_snapshot().await,
                Task::Protection => self.end_expired_protection(),
            };
            outcome = outcome.and(attempted);
        }
        outcome
    }

    /// Returns all tasks with the times at which they are due, in the order in which they run.
    fn tasks(&self) -> Result<Vec<(Timestamp, Task)>> {
        let (ledger, sandbox) = (&self.ledger, self.sandbox_record()?);
        let snapshots = ledger.unfinished_snapshots()?.into_iter().filter_map(|row| {
            let task = if matches!(row.stage, Stage::Creating(_)) { Task::Capture } else { Task::Deletion };
            Some((row.task()?.due_at, task(row.snapshot_id)))
        });
        let sandboxes = ledger.unfinished_sandboxes()?.into_iter();
        let sandboxes = sandboxes.filter_map(|row| Some((row.task()?.due_at, Task::Sandbox(row.sandbox_id))));
        let releases = ledger.releases()?.into_iter().map(|row| (row.task.due_at, Task::Release(row.snapshot_id)));
        let calls = ledger.unanswered_calls()?.into_iter();
        let calls = calls.map(|row| (row.at.plus_millis(RETRY_DELAY_MILLIS), Task::UnansweredCall(row.key)));
        let refresh_due = Self::refresh_due(&sandbox);
        let reconcile_task = sandbox.start_state().and_then(|start| start.reconcile_task);
        let of_sandbox = [
            reconcile_task.map(|task| (task.due_at, Task::StartOrStop)),
            refresh_due.map(|due_at| (due_at, Task::PlatformRefresh)),
            sandbox.unverified.map(|unverified| (unverified.due_at, Task::UnverifiedContainer)),
            sandbox.protected.map(|protected| (protected.until, Task::Protection)),
        ];
        Ok(snapshots.chain(sandboxes).chain(releases).chain(calls).chain(of_sandbox.into_iter().flatten()).collect())
    }
}
