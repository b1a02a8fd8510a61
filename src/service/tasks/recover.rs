//! Recovery: reconciles work that an earlier object left unfinished, or that failed.
//!
//! Every operation writes a row to the ledger before it touches a sandbox, R2 or another object. When nothing in this
//! process works on a row in a transient state, the row is a pending task:
//!
//! | the row says                             | recovery                                                           |
//! | ---------------------------------------- | ------------------------------------------------------------------ |
//! | a snapshot is being created, with answer | completes it if backup and container are verified, or deletes it   |
//! | a snapshot is being created, without it  | finds its backup in R2 by the owner mark, deletes it; checks again |
//! | a snapshot is being deleted              | deletes its objects in R2                                          |
//! | a sandbox is being created               | destroys it                                                        |
//! | a sandbox is being destroyed             | checks it again, because a restore may still run in it             |
//! | a call has no answer                     | deletes the record, so that the call can be repeated               |
//! | a container is unverified                | measures whether the container is older than that state            |
//! | a named workspace is being restored      | ends its container, unless the restore finished                    |
//! | a release for another workspace is due   | delivers it                                                        |

use futures_util::FutureExt;

use super::backoff::{Backoff, failed_search_delay_millis};
use crate::model::record::{ContainerObservation, Derivation, DerivedState, SnapshotRecord, Stage, Verification};
use crate::model::{
    BackupHandle, BackupId, BackupObjectKind, BackupOwner, Code, Error, PendingTask, Result, SandboxId, SnapshotId,
    Status, Timestamp,
};
use crate::ports::{BackupStore, Ledger, Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::call_context;
use crate::service::calls::failures::{During, from_sandbox, from_storage};
use crate::service::container::identity::ContainerExpectation;
use crate::service::container::unverified::ActiveProbe;
use crate::service::in_process::{Recovery, WorkKey};
use crate::service::planted::{Bug, planted};

/// How far the clocks of R2 and the Worker may differ, in milliseconds.
const CLOCK_SKEW_MILLIS: i64 = 60_000;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Reconciles what an earlier object left, once. Calls that arrive during recovery wait for it, because recovery
    /// may complete their answer. If all waiting calls are dropped, the next call starts recovery again.
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
                drop(snapshotter.reconcile_tasks(None).await);
                *snapshotter.in_process.recovery.borrow_mut() = Recovery::Done;
            };
            let recovery = recovery.boxed_local().shared();
            *self.in_process.recovery.borrow_mut() = recovery.downgrade().map_or(Recovery::Due, Recovery::Running);
            recovery
        });
        recovery.await;
    }

    /// Reconciles every pending task that is due at `by`; all of them without a time.
    pub(super) async fn reconcile_tasks(&self, by: Option<Timestamp>) -> Result<()> {
        let is_due = |task: PendingTask| by.is_none_or(|by| task.due_at <= by);
        let ledger = self.ledger()?;
        let mut outcome = Ok(());
        for snapshot in
            ledger.unfinished_snapshots()?.into_iter().filter(|snapshot| snapshot.task().is_some_and(is_due))
        {
            outcome = outcome.and(self.reconcile_snapshot(snapshot).await);
        }
        for derivation in
            ledger.unfinished_sandboxes()?.into_iter().filter(|derivation| derivation.task().is_some_and(is_due))
        {
            outcome = outcome.and(self.reconcile_sandbox(&derivation.sandbox_id).await);
        }
        for release in ledger.releases()?.into_iter().filter(|release| is_due(release.task)) {
            outcome = outcome.and(self.deliver_release(release).await);
        }
        for request in
            ledger.unanswered_calls()?.into_iter().filter(|request| !self.in_process.is_key_leased(&request.key))
        {
            ledger.delete_idempotency_record(&request.key)?;
        }
        outcome = outcome.and(self.reconcile_start_or_stop(by).await);
        outcome.and(self.reconcile_unverified().await)
    }

    async fn reconcile_snapshot(&self, snapshot: SnapshotRecord) -> Result<()> {
        match &snapshot.stage {
            Stage::Deleting { .. } => self.finish_deletion(&snapshot.snapshot_id).await,
            Stage::Creating(_) => self.reconcile_capture(&snapshot.snapshot_id).await,
            Stage::Ready { .. } | Stage::Deleted { .. } => Ok(()),
        }
    }

    async fn reconcile_capture(&self, id: &SnapshotId) -> Result<()> {
        let Some(_lease) = self.in_process.try_acquire(WorkKey::Snapshot(id.clone())) else { return Ok(()) };
        let ledger = self.ledger()?;
        // The capture may have finished since this task was found to be due.
        let Some(mut capture) = ledger.snapshot(id)? else { return Ok(()) };
        let mark = capture.backup_owner(&self.id);
        if matches!(&capture.stage, Stage::Creating(progress) if progress.verification == Verification::DueUnverified)
            && !planted(Bug::UnverifiedCaptureLost)
        {
            self.inherit_from_capture(&mut capture)?;
            ledger.put_snapshot(&capture)?;
        }
        let Stage::Creating(progress) = &mut capture.stage else { return Ok(()) };
        let found = match progress.backup.clone() {
            Some(backup) if !progress.discarded => match self.complete_capture(&capture, backup, &mark).await {
                Ok(CaptureRecovery::Completed) => return Ok(()),
                Ok(CaptureRecovery::Rejected(id)) => self.delete_marked(&id, &mark).await,
                Err(error) => Err(error),
            },
            Some(backup) => self.delete_marked(backup.id(), &mark).await,
            None => self.delete_by_mark(&mark, capture.began_at).await,
        };
        let Stage::Creating(progress) = &mut capture.stage else { return Ok(()) };
        let now = self.now();
        let PendingTask { due_at, attempt } = progress.task;
        progress.task = match &found {
            Ok(deleted) if *deleted || progress.backup.is_some() => {
                return ledger.delete_snapshot(&capture.snapshot_id);
            }
            // A search before the task is due does not count as an attempt, however often the object restarts.
            _ if due_at > now => return self.schedule_alarm(due_at).and(found.map(drop)),
            Ok(_) if !Backoff::BACKUP_SEARCH.has_attempt(attempt + 1) => {
                return ledger.delete_snapshot(&capture.snapshot_id);
            }
            Ok(_) => self.schedule_task(Backoff::BACKUP_SEARCH, attempt + 1)?,
            // A failed search does not count either: the backup of the capture may still arrive.
            Err(_) => {
                self.schedule_task_after(failed_search_delay_millis(now.millis_since(capture.began_at)), attempt)?
            }
        };
        self.refresh_label(&mut capture)?;
        ledger.put_snapshot(&capture)?;
        found.map(drop)
    }

    /// Completes a capture, if its backup is whole and of the container that was observed before.
    async fn complete_capture(
        &self,
        capture: &SnapshotRecord,
        backup: BackupHandle,
        mark: &BackupOwner,
    ) -> Result<CaptureRecovery> {
        let Stage::Creating(progress) = &capture.stage else { return Err(Error::internal()) };
        let _completion = self.in_process.completion_lock.lock().await;
        let probe = ActiveProbe::begin(self)?;
        // The container may have been verified since the capture, and the probe below may itself start another one.
        let workspace = self.workspace()?;
        if workspace.binding.is_none() && workspace.marker.is_none() {
            self.mark_unverified()?;
        }
        let after = ContainerObservation { observed_at: self.now(), ..progress.observation };
        let expectation = if planted(Bug::RecoveredWithoutComparison) {
            ContainerExpectation::Unchanged(after)
        } else {
            self.container_expectation(progress)?
        };
        let verified = match self.verify_running().await {
            Ok(()) => self.verify_backup(None, &backup, mark, &capture.dir, &expectation).await,
            Err(error) => Err(error),
        };
        let known = self.ledger()?.snapshot(&capture.snapshot_id)?;
        let is_discarded = known.is_some_and(|known| known.is_discarded());
        match verified {
            Ok(_) if is_discarded => Ok(CaptureRecovery::Rejected(backup.id().clone())),
            Ok(found) => {
                self.finish_capture(capture.clone(), backup, found)?;
                // The alarm retries what fails.
                drop(probe.finish_verified(self));
                call_context::record_recovered(&capture.snapshot_id);
                Ok(CaptureRecovery::Completed)
            }
            // A ledger that cannot be read proves nothing about the backup, so it is not deleted.
            Err(error) if error.is_retryable() || error.code() == Code::LedgerCorrupt => Err(error),
            Err(_) => Ok(CaptureRecovery::Rejected(backup.id().clone())),
        }
    }

    /// Finds backups with the owner mark in the whole bucket and deletes them. Returns whether there were any.
    async fn delete_by_mark(&self, mark: &BackupOwner, began_at: Timestamp) -> Result<bool> {
        let failed = |failure| from_storage(failure, "searching for the backup of an unfinished snapshot");
        let backups = self.backups()?;
        let mut removed = false;
        let mut cursor: Option<String> = None;
        loop {
            let listing = self.retry(async || backups.list(cursor.as_deref()).await.map_err(failed)).await?;
            for listed in listing.objects {
                if listed.kind == BackupObjectKind::Metadata
                    && listed.uploaded_at >= began_at.plus_millis(-CLOCK_SKEW_MILLIS)
                {
                    removed |= self.delete_marked(&listed.id, mark).await?;
                }
            }
            cursor = listing.cursor;
            if cursor.is_none() {
                return Ok(removed);
            }
        }
    }

    async fn reconcile_sandbox(&self, id: &SandboxId) -> Result<()> {
        let Some(_lease) = self.in_process.try_acquire(WorkKey::Sandbox(id.clone())) else { return Ok(()) };
        let ledger = self.ledger()?;
        let Some(derivation) = ledger.derived_sandbox(id)? else { return Ok(()) };
        let task = match derivation.state {
            DerivedState::Ready { .. } => return Ok(()),
            DerivedState::Pending(_) if planted(Bug::PendingNotReconciled) => return Ok(()),
            DerivedState::Pending(_) => {
                self.mark_ending(&derivation)?;
                return self.destroy(id).await;
            }
            // A restore in progress may still start the sandbox.
            DerivedState::Ending(task) if task.due_at > self.now() && !planted(Bug::RecheckedTooEarly) => {
                return self.schedule_alarm(task.due_at);
            }
            DerivedState::Ending(task) => task,
        };
        let status = self.sandboxes()?.status(id).await.map_err(|failure| from_sandbox(failure, id, During::Probe));
        let is_down = status.is_ok_and(|status| status.status == Status::Down);
        let destroyed = if is_down { Ok(()) } else { self.destroy(id).await };
        let backoff = if destroyed.is_ok() { Backoff::ENDED_SANDBOX } else { Backoff::FAILED_DESTROY };
        // Only a sandbox that stays down is gone: each check that finds it running starts over.
        let attempt = if is_down { task.attempt + 1 } else { 0 };
        if !backoff.has_attempt(attempt) {
            return ledger.delete_derived_sandbox(id);
        }
        let task = self.schedule_task(backoff, attempt)?;
        ledger.put_derived_sandbox(&Derivation { state: DerivedState::Ending(task), ..derivation })?;
        destroyed
    }
}

/// The result of the recovery of a capture.
enum CaptureRecovery {
    /// The snapshot is ready.
    Completed,
    /// The backup must not be used.
    Rejected(BackupId),
}
