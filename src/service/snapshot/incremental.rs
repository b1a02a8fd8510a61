//! Incremental snapshots: decides whether a capture stores all files or a delta, and records which base the container has.
//!
//! A delta is always against a full snapshot, its base, and never against another delta. What is not certain makes a full
//! snapshot, with the reason. See `docs/incremental.md`.

use futures_util::future::join;

use crate::model::delta::{CaptureBegin, CaptureBegun, Carrier, Delta, MAX_BASE_MILLIS, MAX_DELTAS, TracedBase};
use crate::model::record::{SnapshotRecord, Stage, StoredBackup};
use crate::model::{
    BackupOptions, Directory, Error, FullReason, LocatedBackup, Result, SnapshotId, SnapshotRequest, Timestamp,
};
use crate::ports::{Ledger, Ports, SandboxSession, SandboxSessionOf};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::tasks::backoff::Backoff;

/// How long the SDK must at least restore a base, in milliseconds: 30 days.
const MIN_USABLE_MILLIS: i64 = 30 * 24 * 3600 * 1000;

/// What a capture archives.
pub(super) enum Form {
    /// All files.
    Full {
        /// Why there is no delta; `None` if none was requested.
        reason: Option<FullReason>,
        /// Whether the container has an inventory of the files, which the capture must complete.
        traced: bool,
    },
    /// The changes.
    Delta {
        /// Where they are in the container.
        carrier: Carrier,
        /// What the row records.
        delta: Delta,
    },
}

/// The base that a start traces, so that later snapshots can be deltas.
pub(in crate::service) struct BaseToTrace {
    /// Its id.
    pub snapshot_id: SnapshotId,
    /// The hash of the listing that it must have; `None` if it is mounted.
    pub listing: Option<String>,
}

impl Form {
    /// A full snapshot of which the container has no inventory.
    const fn untraced(reason: Option<FullReason>) -> Self {
        Self::Full { reason, traced: false }
    }

    /// Returns why there is no delta.
    pub(super) const fn reason(&self) -> Option<FullReason> {
        match self {
            Self::Full { reason, .. } => *reason,
            Self::Delta { .. } => None,
        }
    }

    /// Returns the options of the backup.
    pub(super) fn adapt(&self, options: BackupOptions) -> BackupOptions {
        match self {
            Self::Full { .. } => options,
            Self::Delta { carrier, .. } => {
                BackupOptions { dir: carrier.dir.clone(), gitignore: None, excludes: Vec::new(), ..options }
            }
        }
    }

    /// Returns the expected size of the backup in bytes, if it is known.
    pub(super) const fn expected_bytes(&self) -> Option<u64> {
        match self {
            Self::Full { .. } => None,
            Self::Delta { carrier, .. } => Some(carrier.bytes),
        }
    }

    /// Returns the backup as the row records it.
    pub(super) fn describe(&self, backup: LocatedBackup) -> LocatedBackup {
        match self {
            Self::Full { .. } => backup,
            Self::Delta { delta, .. } => backup.with_delta(delta.clone()),
        }
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Decides what a capture archives, and prepares it in the container. Records the use of a base in the row of the capture
    /// and in the row of the base.
    pub(super) async fn begin_form(
        &self,
        session: &SandboxSessionOf<'_, P>,
        request: &SnapshotRequest,
        record: &mut SnapshotRecord,
    ) -> Result<Form> {
        if !request.incremental.map_or_else(|| self.is_incremental(), Ok)? {
            return Ok(Form::untraced(None));
        }
        if let Some(reason) = obstacle(record) {
            return Ok(Form::untraced(Some(reason)));
        }
        let base = self.usable_base(&record.dir)?;
        if base.is_err() && self.is_small(&record.dir)? {
            return Ok(Form::untraced(Some(FullReason::BaseSmall)));
        }
        let begin = CaptureBegin {
            dir: record.dir.clone(),
            snapshot_id: record.snapshot_id.clone(),
            base: base.as_ref().ok().cloned(),
            min_base_bytes: self.config.min_base_bytes,
        };
        self.expect_container(record)?;
        let (answer, is_intact) = join(session.begin_capture(&begin), self.is_base_intact(begin.base.as_ref())).await;
        let is_intact = is_intact?;
        match answer {
            // The backup fails, too, or verifies the container.
            Err(_) => Ok(Form::untraced(Some(FullReason::Failed))),
            Ok(CaptureBegun::Full { reason, untraced }) => {
                let reason = reason.or(base.err()).unwrap_or(FullReason::Failed);
                Ok(Form::Full { reason: Some(reason), traced: untraced.is_none() })
            }
            Ok(CaptureBegun::Delta(carrier)) => match base {
                Ok(base) if is_intact => self.record_base_use(record, &base, carrier),
                Ok(_) => Ok(Form::untraced(Some(FullReason::BaseUnusable))),
                Err(_) => Err(Error::internal()),
            },
        }
    }

    /// Returns whether snapshots of the sandbox may be deltas where the call does not say so.
    fn is_incremental(&self) -> Result<bool> {
        let of_workspace = self.sandbox_record()?.binding.and_then(|binding| binding.incremental);
        Ok(of_workspace.unwrap_or(self.config.incremental))
    }

    /// Records that only the observed container is the sandbox's own, before a command that may start another one.
    fn expect_container(&self, record: &SnapshotRecord) -> Result<()> {
        let sandbox = self.sandbox_record()?;
        let Stage::Creating(progress) = &record.stage else { return Err(Error::internal()) };
        let container = progress.observation.identity();
        if container.is_some() && sandbox.container.is_none() && sandbox.binding.is_none() {
            self.mark_unverified(container)?;
        }
        Ok(())
    }

    /// Returns the base whose inventory the container has, if a delta of `dir` may be based on it now.
    fn usable_base(&self, dir: &Directory) -> Result<std::result::Result<TracedBase, FullReason>> {
        let Some(traced) = self.sandbox_record()?.traced_base else { return Ok(Err(FullReason::NoBase)) };
        let Some(row) = self.ledger.snapshot(&traced.snapshot_id)? else { return Ok(Err(FullReason::BaseUnusable)) };
        if row.dir != *dir {
            return Ok(Err(FullReason::Directory));
        }
        let Stage::Ready { stored } = &row.stage else { return Ok(Err(FullReason::BaseUnusable)) };
        Ok(match base_obstacle(&row, stored, self.base_limits()) {
            Some(reason) => Err(reason),
            None => Ok(traced),
        })
    }

    /// Returns whether the archive of a base is certainly in R2 as the ledger has it. Records what it finds.
    async fn is_base_intact(&self, base: Option<&TracedBase>) -> Result<bool> {
        let row = base.map(|base| self.ledger.snapshot(&base.snapshot_id)).transpose()?.flatten();
        let Some(row) = row else { return Ok(false) };
        let Stage::Ready { stored } = &row.stage else { return Ok(false) };
        let inspected = self.inspect_backup(stored, &row.backup_owner(&self.id)).await;
        self.record_check(&row.snapshot_id, &inspected)?;
        Ok(inspected.is_ok())
    }

    /// Returns the known damage of the base of a delta.
    pub(in crate::service) fn base_damage(&self, row: &SnapshotRecord) -> Result<Option<String>> {
        let Some(delta) = row.stored().and_then(|stored| stored.backup.delta()) else { return Ok(None) };
        let base = self.ledger.snapshot(&delta.base_id)?;
        Ok(base.and_then(|base| Some(base.stored()?.known_damage()?.to_owned())))
    }

    /// Returns the size of the smallest base, in bytes, and the present time.
    fn base_limits(&self) -> (u64, Timestamp) {
        (self.config.min_base_bytes, self.now())
    }

    /// Returns whether the newest full snapshot of `dir` was so small that an inventory is of no use.
    fn is_small(&self, dir: &Directory) -> Result<bool> {
        const SEARCH_ROWS: u32 = 10;
        let rows = self.ledger.snapshot_page(None, None, SEARCH_ROWS)?;
        let sizes = rows.iter().filter(|row| row.dir == *dir && !row.foreign).filter_map(SnapshotRecord::stored);
        let newest = sizes.map(StoredBackup::estimated_full_bytes).next();
        Ok(newest.is_some_and(|bytes| bytes < self.config.min_base_bytes))
    }

    /// Records that a capture uses a base: its row names the base, and the row of the base names the delta.
    fn record_base_use(&self, record: &mut SnapshotRecord, traced: &TracedBase, carrier: Carrier) -> Result<Form> {
        let base = self.ledger.snapshot(&traced.snapshot_id)?;
        let Some(mut base) = base else { return Ok(Form::untraced(Some(FullReason::BaseUnusable))) };
        let Stage::Ready { stored } = &mut base.stage else {
            return Ok(Form::untraced(Some(FullReason::BaseUnusable)));
        };
        let copy = StoredBackup { backup: stored.backup.without_deltas(), ..stored.clone() };
        stored.backup.add_delta(record.snapshot_id.clone());
        let base_id = traced.snapshot_id.clone();
        let delta = Delta {
            dir: record.dir.clone(),
            base_id: base_id.clone(),
            base: Box::new(copy),
            head: carrier.head.clone(),
            tree_bytes: carrier.tree_bytes,
            base_tree_bytes: carrier.base_tree_bytes,
        };
        let Stage::Creating(progress) = &mut record.stage else { return Err(Error::internal()) };
        progress.base = Some(base_id);
        if let Some(reason) = base_obstacle(&base, &delta.base, self.base_limits()) {
            progress.base = None;
            return Ok(Form::untraced(Some(reason)));
        }
        self.save_capture(record)?;
        self.ledger.put_snapshot(&base)?;
        Ok(Form::Delta { carrier, delta })
    }

    /// Completes what [`begin_form`](Self::begin_form) prepared in the container, after the backup was stored. Returns the
    /// base that the container has now, if it changes.
    ///
    /// # Errors
    /// [`Code::BackupInterrupted`](crate::model::Code::BackupInterrupted) if a carrier changed while it was archived.
    pub(super) async fn finish_form(
        &self,
        session: &SandboxSessionOf<'_, P>,
        form: &Form,
        record: &SnapshotRecord,
    ) -> Result<Option<TracedBase>> {
        match form {
            Form::Full { traced: false, .. } => Ok(None),
            Form::Full { traced: true, .. } => {
                let traced = session.finish_inventory(&record.dir, &record.snapshot_id).await;
                Ok(traced.ok().and_then(std::result::Result::ok))
            }
            Form::Delta { carrier, .. } => match session.release_carrier(carrier).await {
                Ok(true) => Ok(None),
                _ => Err(Error::carrier_changed(&self.id)),
            },
        }
    }

    /// Deletes the row of a capture, or of a deleted snapshot, which no longer needs its base.
    pub(in crate::service) fn delete_capture_row(&self, record: &SnapshotRecord) -> Result<()> {
        self.ledger.delete_snapshot(&record.snapshot_id)?;
        self.release_base(record).map(drop)
    }

    /// Removes a snapshot from the row of its base. If the base is deleted, and this was the last delta, begins to delete its
    /// archive. Returns the base in that case.
    pub(in crate::service) fn release_base(&self, record: &SnapshotRecord) -> Result<Option<SnapshotId>> {
        let Some(base_id) = record.base_id() else { return Ok(None) };
        let Some(mut base) = self.ledger.snapshot(base_id)? else { return Ok(None) };
        let (Stage::Ready { stored } | Stage::Deleted { stored, .. }) = &mut base.stage else { return Ok(None) };
        stored.backup.remove_delta(&record.snapshot_id);
        let is_last = stored.backup.deltas().is_empty();
        let freed = match base.stage {
            Stage::Deleted { stored, removal } if is_last => {
                base.stage = Stage::Deleting { stored, removal, task: self.schedule_task(Backoff::DELETION, 0)? };
                Some(base.snapshot_id.clone())
            }
            stage => {
                base.stage = stage;
                None
            }
        };
        if freed.is_some() {
            // Another snapshot may have its label by now.
            base.label = self.label_from_time(base.created_at())?;
        }
        self.ledger.put_snapshot(&base)?;
        Ok(freed)
    }

    /// Returns the base that a start from a snapshot of this sandbox traces: the snapshot, or the base of a delta.
    /// `is_exact` says whether a restore leaves no other files in the directory; that of a delta never does, and neither
    /// does a mount.
    pub(in crate::service) fn base_to_trace(
        &self,
        snapshot_id: &SnapshotId,
        stored: &StoredBackup,
        is_exact: bool,
        is_mounted: bool,
    ) -> Result<Option<BaseToTrace>> {
        let delta = stored.backup.delta();
        if !self.is_incremental()? || (delta.is_none() && !is_exact && !is_mounted) {
            return Ok(None);
        }
        let base_id = delta.map_or(snapshot_id, |delta| &delta.base_id);
        // The snapshot may be one of another sandbox.
        let Some(base) = self.ledger.snapshot(base_id)? else { return Ok(None) };
        let Stage::Ready { stored } = &base.stage else { return Ok(None) };
        if obstacle(&base).is_some() || base_obstacle(&base, stored, self.base_limits()).is_some() {
            return Ok(None);
        }
        let snapshot_id = base_id.clone();
        Ok(match &stored.listing {
            _ if is_mounted => Some(BaseToTrace { snapshot_id, listing: None }),
            Some(listing) => Some(BaseToTrace { snapshot_id, listing: Some(listing.clone()) }),
            None => None,
        })
    }

    /// Records the base whose inventory a start wrote.
    pub(in crate::service) fn record_traced(&self, traced: Option<TracedBase>) -> Result<()> {
        let mut sandbox = self.sandbox_record()?;
        if sandbox.traced_base != traced {
            sandbox.traced_base = traced;
            self.ledger.put_sandbox(&sandbox)?;
        }
        Ok(())
    }
}

/// Returns why a snapshot can be neither a delta nor the base of one.
const fn obstacle(row: &SnapshotRecord) -> Option<FullReason> {
    if row.rescue {
        Some(FullReason::Rescue)
    } else if !row.excludes.is_empty() || matches!(row.gitignore, Some(true)) {
        Some(FullReason::Excludes)
    } else {
        None
    }
}

/// Returns why no further delta can be based on a full snapshot.
fn base_obstacle(
    row: &SnapshotRecord,
    stored: &StoredBackup,
    (min_bytes, now): (u64, Timestamp),
) -> Option<FullReason> {
    let is_unusable = row.foreign
        || row.rescue
        || stored.imported
        || stored.known_damage().is_some()
        || stored.backup.delta().is_some()
        || stored.backup.directory_backup().is_some()
        || stored.usable_until < now.plus_millis(MIN_USABLE_MILLIS);
    if is_unusable {
        Some(FullReason::BaseUnusable)
    } else if stored.size_bytes < min_bytes {
        Some(FullReason::BaseSmall)
    } else if now.millis_since(stored.created_at) > MAX_BASE_MILLIS {
        Some(FullReason::BaseOld)
    } else if stored.backup.deltas().len() >= MAX_DELTAS {
        Some(FullReason::BaseFull)
    } else {
        None
    }
}
