//! Recovers a capture that no call works on: completes it, or deletes its backup.

use super::finish::Finished;
use crate::model::record::{SnapshotRecord, Stage, Verification};
use crate::model::{
    BackupObjectKind, BackupOwner, Code, Error, LocatedBackup, PendingTask, Result, SnapshotId, Timestamp,
};
use crate::ports::{BackupStore, Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::call_context;
use crate::service::calls::failures::from_storage;
use crate::service::container::identity::ContainerExpectation;
use crate::service::container::unverified::ActiveProbe;
use crate::service::in_process::WorkKey;
use crate::service::tasks::backoff::Backoff;

/// How far the clocks of R2 and the Worker may differ, in milliseconds.
const CLOCK_SKEW_MILLIS: i64 = 60_000;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Completes an unfinished capture if its backup and its container are verified; otherwise deletes its backup.
    /// Without a known backup, searches R2 for one with the owner mark, and searches again later.
    pub(in crate::service) async fn reconcile_capture(&self, id: &SnapshotId) -> Result<()> {
        let Some(_lease) = self.in_process.try_acquire(WorkKey::Snapshot(id.clone())) else { return Ok(()) };
        // The capture may have finished since its task was listed.
        let Some(mut capture) = self.ledger.snapshot(id)? else { return Ok(()) };
        let mark = capture.backup_owner(&self.id);
        if matches!(&capture.stage, Stage::Creating(progress) if progress.verification == Verification::DueUnverified) {
            self.inherit_from_capture(&mut capture)?;
        }
        let Stage::Creating(progress) = &mut capture.stage else { return Ok(()) };
        let found = match progress.backup.clone() {
            Some(backup) if !progress.discarded => match self.complete_capture(&capture, &backup, &mark).await {
                Ok(true) => return Ok(()),
                Ok(false) => self.delete_marked(backup.location(), &mark).await,
                Err(error) => Err(error),
            },
            Some(backup) => self.delete_marked(backup.location(), &mark).await,
            None => self.delete_by_mark(&mark, capture.began_at).await,
        };
        let Stage::Creating(progress) = &mut capture.stage else { return Ok(()) };
        let now = self.now();
        let PendingTask { due_at, attempt } = progress.task;
        let next = match &found {
            Ok(deleted) if *deleted || progress.backup.is_some() => None,
            // A search before the task is due does not count as an attempt, however often the object restarts.
            _ if due_at > now => return self.schedule_alarm(due_at).and(found.map(drop)),
            Ok(_) => self.schedule_check(Backoff::BACKUP_SEARCH, attempt + 1)?,
            // A failed search does not count either: the backup of the capture may still arrive.
            Err(_) => Some(self.schedule_failed_search(now.millis_since(capture.began_at), attempt)?),
        };
        let Some(task) = next else { return self.delete_capture_row(&capture) };
        progress.task = task;
        self.save_capture(&mut capture)?;
        found.map(drop)
    }

    /// Completes a capture, if its backup is whole and of the container that was observed before. Returns `false` if
    /// the backup must not be used.
    async fn complete_capture(
        &self,
        capture: &SnapshotRecord,
        backup: &LocatedBackup,
        mark: &BackupOwner,
    ) -> Result<bool> {
        let Stage::Creating(progress) = &capture.stage else { return Err(Error::internal()) };
        if progress.base.is_some() {
            // Whether its carrier changed while it was archived is not known.
            return Ok(false);
        }
        let _completion = self.in_process.completion_lock.lock().await;
        let probe = ActiveProbe::begin(self)?;
        let expectation = self.container_expectation(progress)?;
        let is_identified = matches!(expectation, ContainerExpectation::Identified(_));
        // The container may have been verified since the capture, and the probe below may itself start another one.
        let sandbox = self.sandbox_record()?;
        if !is_identified && sandbox.binding.is_none() && sandbox.marker.is_none() {
            self.mark_unverified(progress.observation.identity())?;
        }
        let running = if is_identified { Ok(()) } else { self.verify_running().await };
        let verified = match running {
            Ok(()) => self.verify_backup(None, backup, mark, &capture.dir, &expectation).await,
            Err(error) => Err(error),
        };
        let known = self.ledger.snapshot(&capture.snapshot_id)?;
        let is_discarded = known.is_some_and(|known| known.is_discarded());
        match verified {
            Ok(_) if is_discarded => Ok(false),
            Ok(found) => {
                self.finish_capture(capture.clone(), backup.clone(), found, Finished::default())?;
                // The alarm retries what fails.
                drop(probe.finish_verified(self));
                call_context::record_recovered(&capture.snapshot_id);
                Ok(true)
            }
            // A ledger that cannot be read proves nothing about the backup, so it is not deleted.
            Err(error) if error.is_retryable() || error.code() == Code::LedgerCorrupt => Err(error),
            Err(_) => Ok(false),
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
                if listed.kind != BackupObjectKind::Archive
                    && listed.uploaded_at >= began_at.plus_millis(-CLOCK_SKEW_MILLIS)
                {
                    removed |= self.delete_marked(&listed.location, mark).await?;
                }
            }
            cursor = listing.cursor;
            if cursor.is_none() {
                return Ok(removed);
            }
        }
    }
}
