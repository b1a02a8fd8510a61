//! Runs tasks: those that are due, and after a restart of the object all of them.

use futures_util::FutureExt;

use super::{Kind, Task};
use crate::model::{Result, Timestamp};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::in_process::Recovery;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Recovers what an earlier object left, once: runs all its tasks. Calls that arrive during recovery wait for it, because recovery may
    /// complete their answer. If all waiting calls are dropped, the next call starts recovery again.
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
    pub(super) async fn run_tasks(&self, due_by: Timestamp) -> Result<()> {
        let mut outcome = Ok(());
        for task in self.tasks()?.into_iter().filter(|task| task.due_at <= due_by) {
            outcome = outcome.and(self.attempt(&task).await);
        }
        outcome
    }

    async fn attempt(&self, task: &Task) -> Result<()> {
        match &task.kind {
            Kind::Capture(id) => self.reconcile_capture(id).await,
            Kind::Deletion(id) => self.finish_deletion(id).await,
            Kind::Sandbox(id) => self.reconcile_sandbox(id).await,
            Kind::Release(id) => self.deliver_release(id).await,
            Kind::UnansweredCall(key) => self.delete_unanswered_call(key),
            Kind::StartOrStop => self.reconcile_start_or_stop().await,
            Kind::UnverifiedContainer => self.reconcile_unverified().await,
            Kind::Protection => self.end_expired_protection(),
        }
    }
}
