//! Deletes a snapshot: first in the ledger, which reports it as deleted from then on, then in R2.

use std::slice;

use crate::model::answer::{Deletion, KeptArchive, Removal};
use crate::model::record::{DerivedState, SnapshotRecord, Stage, StoredBackup};
use crate::model::request::DeleteRequest;
use crate::model::{Code, DeltasOnDelete, Error, Result, Selector, SnapshotId};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::call_context;
use crate::service::in_process::WorkKey;
use crate::service::snapshot::select::Selected;
use crate::service::tasks::backoff::Backoff;

/// How long the ledger keeps the row of a deleted snapshot, in milliseconds: 30 days.
pub(in crate::service) const SNAPSHOT_TOMBSTONE_MILLIS: i64 = 30 * 24 * 3600 * 1000;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Deletes a snapshot. Succeeds if it is already deleted.
    ///
    /// # Errors
    /// [`Code::SnapshotHasDependents`] unless forced, also for the last snapshot of a workspace; [`Code::SnapshotBusy`] while
    /// the snapshot is being created or restored, or is the newest one of a workspace that is being started or stopped. If R2
    /// fails, the snapshot is deleted for callers, and the alarm deletes its objects later.
    pub async fn delete(&self, request: DeleteRequest) -> Result<Deletion> {
        self.prepare_call().await?;
        let is_guarded = !request.force && self.has_named_workspace()?;
        // Until the snapshot is removed, no start or stop may make it the only copy.
        let lock = if is_guarded { self.in_process.lifecycle_lock.try_lock() } else { None };
        let other_copy = match &lock {
            None if is_guarded => OtherCopy::Changing,
            None => OtherCopy::Exists,
            Some(_) => self.other_copy().await,
        };
        let selected = self.select(&request.selection).await;
        let snapshot = match selected {
            Ok(Selected { snapshot, .. }) => snapshot,
            // A signed ref proves that the snapshot existed.
            Err(error) if error.code() == Code::SnapshotNotFound => return already_deleted(&request, error),
            Err(error) => return Err(error),
        };
        let snapshot_id = snapshot.snapshot_id.clone();
        if let Stage::Creating(progress) = &snapshot.stage {
            return Err(self.being_created(&snapshot, progress));
        }
        let mut doomed = self.deltas_to_delete(&snapshot, request.deltas)?;
        let deltas: Vec<SnapshotId> = doomed.iter().map(|delta| delta.snapshot_id.clone()).collect();
        let removed = matches!(snapshot.stage, Stage::Ready { .. });
        if removed {
            doomed.push(snapshot);
        }
        for snapshot in &doomed {
            self.check_not_only_copy(snapshot, &other_copy)?;
            self.check_deletable(snapshot, request.force)?;
        }
        if is_guarded && matches!(other_copy, OtherCopy::Exists) {
            self.check_not_last(&doomed)?;
        }
        let deletes_any = !doomed.is_empty();
        for snapshot in doomed {
            self.begin_deletion(snapshot, "deleted by a caller")?;
        }
        if deletes_any && self.sandbox_record()?.binding.is_some() {
            // No other snapshot may have the present files, so the next automatic save stores them.
            self.update_binding(|binding| binding.start.saved_state = None)?;
        }
        let mut finished = Ok(());
        for id in deltas.iter().chain([&snapshot_id]) {
            finished = finished.and(self.finish_deletion(id).await);
        }
        finished?;
        self.report_deletion(snapshot_id, removed, deltas)
    }

    /// Returns the deltas that are deleted together with their base.
    ///
    /// # Errors
    /// [`Code::SnapshotBusy`] while one of them is being created.
    fn deltas_to_delete(&self, base: &SnapshotRecord, choice: DeltasOnDelete) -> Result<Vec<SnapshotRecord>> {
        let mut deltas = Vec::new();
        let ids = base.stored().filter(|_| choice == DeltasOnDelete::Delete).map(|stored| stored.backup.deltas());
        for id in ids.unwrap_or_default() {
            match self.ledger.snapshot(id)? {
                Some(delta) if matches!(delta.stage, Stage::Ready { .. }) => deltas.push(delta),
                Some(delta) => {
                    if let Stage::Creating(progress) = &delta.stage {
                        return Err(self.being_created(&delta, progress));
                    }
                }
                None => {}
            }
        }
        Ok(deltas)
    }

    /// Returns the result of a deletion. It names the archive of a base that stays until its deltas are deleted.
    fn report_deletion(&self, snapshot_id: SnapshotId, removed: bool, deltas: Vec<SnapshotId>) -> Result<Deletion> {
        let row = self.ledger.snapshot(&snapshot_id)?;
        let kept = match row.as_ref().map(|row| &row.stage) {
            Some(Stage::Deleted { stored, .. }) if !stored.backup.deltas().is_empty() => {
                Some(self.kept_archive(stored)?)
            }
            _ => None,
        };
        Ok(Deletion { snapshot_id, removed, deltas, kept })
    }

    fn kept_archive(&self, stored: &StoredBackup) -> Result<KeptArchive> {
        let deltas = stored.backup.deltas().to_vec();
        let mut until = Some(self.now());
        for id in &deltas {
            let expires_at = self.ledger.snapshot(id)?.and_then(|delta| delta.expires_at);
            until = until.zip(expires_at).map(|(until, at)| until.max(at));
        }
        Ok(KeptArchive { bytes: stored.size_bytes, deltas, until })
    }

    fn check_deletable(&self, snapshot: &SnapshotRecord, force: bool) -> Result<()> {
        let derived = self.ledger.derived_from(slice::from_ref(&snapshot.snapshot_id))?;
        let is_being_restored = derived.iter().any(|derivation| matches!(derivation.state, DerivedState::Pending(_)));
        if is_being_restored {
            return Err(Error::snapshot_in_use(&snapshot.snapshot_id, "a sandbox is being made from it"));
        }
        let dependents = self.dependents(&snapshot.snapshot_id)?;
        if force || (dependents.is_empty() && !snapshot.pinned) {
            return Ok(());
        }
        Err(Error::snapshot_has_dependents(&snapshot.snapshot_id, snapshot.pinned, &dependents))
    }

    /// Returns whether a named workspace continues in the sandbox. Then its newest snapshot may be the only copy of its files.
    fn has_named_workspace(&self) -> Result<bool> {
        let is_bound = self.sandbox_record()?.binding.is_some_and(|binding| !binding.superseded);
        Ok(is_bound && self.ensure_not_decommissioned().is_ok())
    }

    /// Returns whether the container of the sandbox has its files.
    async fn other_copy(&self) -> OtherCopy {
        match self.has_files_in_place().await {
            Ok(true) => OtherCopy::Exists,
            Ok(false) => OtherCopy::Missing,
            Err(error) => OtherCopy::Unknown(error),
        }
    }

    /// Verifies that the snapshot is not the one from which a workspace starts whose files are nowhere else.
    fn check_not_only_copy(&self, snapshot: &SnapshotRecord, other: &OtherCopy) -> Result<()> {
        if matches!(other, OtherCopy::Exists) {
            return Ok(());
        }
        let binding = self.binding()?;
        let newest = self.newest_restorable(&binding.start.dir)?;
        if newest.is_none_or(|newest| newest.snapshot_id != snapshot.snapshot_id) {
            return Ok(());
        }
        let id = &snapshot.snapshot_id;
        Err(match other {
            OtherCopy::Unknown(error) => error.clone().with_note("So the snapshot may be the only copy of the files."),
            OtherCopy::Changing => Error::snapshot_in_use(id, "its workspace is being started or stopped"),
            OtherCopy::Exists | OtherCopy::Missing => Error::snapshot_is_only_copy(id, &binding.address),
        })
    }

    /// Verifies that a workspace whose files are in its container can start from another snapshot when the container ends. The
    /// snapshot that the sandbox was made from may be deleted since the sandbox has its own.
    fn check_not_last(&self, doomed: &[SnapshotRecord]) -> Result<()> {
        let binding = self.binding()?;
        let dir = &binding.start.dir;
        let Some(last) = doomed.iter().find(|snapshot| snapshot.is_whole(dir)) else { return Ok(()) };
        if self.can_start_without(doomed, dir)? {
            return Ok(());
        }
        Err(Error::snapshot_is_last(&last.snapshot_id, &binding.address))
    }

    /// Marks a snapshot as being deleted in the ledger. From then on it can't be restored, and its objects will be
    /// deleted. A base of deltas is deleted at once, and its objects with the last delta.
    pub(super) fn begin_deletion(&self, mut snapshot: SnapshotRecord, reason: &str) -> Result<()> {
        let Stage::Ready { stored } = snapshot.stage else { return Ok(()) };
        let removal = Removal { at: self.now(), reason: reason.to_owned() };
        snapshot.stage = if stored.backup.deltas().is_empty() {
            Stage::Deleting { stored, removal, task: self.schedule_task(Backoff::DELETION, 0)? }
        } else {
            Stage::Deleted { stored, removal }
        };
        self.ledger.put_snapshot(&snapshot)?;
        call_context::record_deleted(&snapshot.snapshot_id);
        Ok(())
    }

    /// Deletes the objects of a removed snapshot from R2. If R2 fails, the alarm retries.
    pub(in crate::service) async fn finish_deletion(&self, id: &SnapshotId) -> Result<()> {
        let Some(_lease) = self.in_process.try_acquire(WorkKey::Snapshot(id.clone())) else { return Ok(()) };
        let Some(mut snapshot) = self.ledger.snapshot(id)? else { return Ok(()) };
        let mark = snapshot.backup_owner(&self.id);
        let Stage::Deleting { stored, removal, task } = snapshot.stage else { return Ok(()) };
        let deleted = self.delete_stored(&stored, &mark).await;
        snapshot.stage = if deleted.is_ok() {
            self.schedule_alarm(self.now().plus_millis(SNAPSHOT_TOMBSTONE_MILLIS))?;
            Stage::Deleted { stored, removal }
        } else {
            let task = self.schedule_task(Backoff::DELETION, task.attempt + 1)?;
            Stage::Deleting { stored, removal, task }
        };
        self.refresh_label(&mut snapshot)?;
        self.ledger.put_snapshot(&snapshot)?;
        let freed = if deleted.is_ok() { self.release_base(&snapshot)? } else { None };
        if let Some(base) = freed {
            // The alarm retries what fails.
            drop(Box::pin(self.finish_deletion(&base)).await);
        }
        deleted.map_err(|error| {
            error.with_note("The snapshot itself is deleted. The alarm deletes its objects in R2 later.")
        })
    }
}

/// Whether the files of a workspace are in its container, and not only in its newest snapshot.
enum OtherCopy {
    /// They are; or the caller does not ask for it.
    Exists,
    /// They are not.
    Missing,
    /// The workspace is being started or stopped.
    Changing,
    /// The sandbox did not answer.
    Unknown(Error),
}

fn already_deleted(request: &DeleteRequest, error: Error) -> Result<Deletion> {
    let snapshot_id = match &request.selection.selector {
        Selector::Short { r#ref } => r#ref.snapshot_id(),
        Selector::Ref { r#ref } => r#ref.snapshot_id(),
        Selector::Id { .. } | Selector::Label { .. } => return Err(error),
    };
    Ok(Deletion { snapshot_id: snapshot_id.clone(), removed: false, deltas: Vec::new(), kept: None })
}
