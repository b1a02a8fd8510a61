//! What a sandbox starts from: its newest snapshot, or the snapshot that it was made from.

use crate::model::answer::SnapshotState;
use crate::model::named::answer::LastSnapshot;
use crate::model::named::binding::{Dependencies, LastRestore, SavedIn, WorkspaceBinding};
use crate::model::named::messages::{EnsureRunningRequest, FoundSnapshot, NewestSnapshot};
use crate::model::named::{PlatformSnapshot, Settings, Storage, Tenant};
use crate::model::record::{SnapshotRecord, Stage, StoredBackup};
use crate::model::{Code, Directory, Error, Result, SandboxId, Selection, SnapshotId, Timestamp};
use crate::ports::{Ledger, Ports, RestoreSource, SandboxLedgerClient};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::runtime::ensure_restorable_in;

/// The number of ledger rows that are read at a time.
const PAGE_SIZE: u32 = 20;

/// What a sandbox starts from.
pub(super) struct StartPlan {
    /// The platform snapshot, which is restored if possible.
    pub platform: Option<PlatformSnapshot>,
    /// What the sandbox starts from otherwise, or why it cannot start.
    pub archive: Result<StartSource>,
}

/// What a sandbox starts from without a platform snapshot.
pub(super) enum StartSource {
    /// A snapshot.
    Snapshot {
        /// The id of the snapshot.
        snapshot_id: SnapshotId,
        /// The backup in R2.
        stored: Box<StoredBackup>,
        /// The dependencies of the snapshot.
        dependencies: Dependencies,
        /// The platform snapshot of the other sandbox that took the snapshot, with the same files.
        platform: Option<Box<PlatformSnapshot>>,
    },
    /// No snapshot: the workspace is new, or the caller allows an empty start.
    Empty,
}

impl StartSource {
    /// Returns the snapshot that has the files.
    pub(super) fn saved_in(&self) -> Option<SavedIn> {
        match self {
            Self::Snapshot { snapshot_id, .. } => Some(SavedIn::Archive(snapshot_id.clone())),
            Self::Empty => None,
        }
    }

    /// Returns the directory that the snapshot was taken of.
    pub(super) fn dir(&self) -> Option<&Directory> {
        match self {
            Self::Snapshot { stored, .. } => Some(stored.backup.dir()),
            Self::Empty => None,
        }
    }

    /// Returns the restore of the snapshot into the container whose marker has the nonce.
    pub(super) fn restore(&self, at: Timestamp, may_have_lost: bool, nonce: &str) -> Option<LastRestore> {
        let Self::Snapshot { snapshot_id, stored, .. } = self else { return None };
        let (storage, snapshot_id, nonce) = (Storage::Archive, Some(snapshot_id.clone()), nonce.to_owned());
        let created_at = stored.created_at;
        let (lost_since, newer_partial_id) = (None, None);
        Some(LastRestore { storage, snapshot_id, created_at, at, may_have_lost, lost_since, newer_partial_id, nonce })
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the selected snapshot, if it can be restored.
    pub async fn find_snapshot(&self, selection: Selection, tenant: &Tenant) -> Result<FoundSnapshot> {
        self.prepare_call().await?;
        self.ensure_same_tenant(tenant)?;
        let found = self.select(&selection).await?.snapshot;
        self.require_ready(&found)?;
        let snapshot = self.to_last_snapshot(&found).ok_or_else(Error::internal)?;
        Ok(FoundSnapshot { snapshot, runtime: self.runtime()? })
    }

    /// Returns what the sandbox starts from: whichever of its platform snapshot and its archives is newer, and the archive
    /// with the same files if the platform snapshot cannot be restored. An older archive is no replacement.
    pub(super) async fn plan_start(&self, request: &EnsureRunningRequest) -> Result<StartPlan> {
        let Settings { dir, storage, .. } = &request.settings;
        let allow_empty = request.start.allow_empty;
        let Some(platform) = self.current_platform_snapshot(dir)? else {
            let archive = self.find_start_source(dir, allow_empty || self.keeps_no_files(request)?).await;
            let of_parent = match &archive {
                Ok(StartSource::Snapshot { platform, .. }) => platform.as_deref().cloned(),
                _ => None,
            };
            return Ok(StartPlan { platform: of_parent.filter(|_| storage.has_platform()), archive });
        };
        let without_archive = || {
            let older = platform.archive.as_ref().map(|archive| &archive.snapshot_id);
            let lost = || Error::platform_snapshot_lost(&self.id, &platform.id, older);
            if allow_empty { Ok(StartSource::Empty) } else { Err(lost()) }
        };
        let archive = match platform.same_archive() {
            None => without_archive(),
            Some(same) => match self.find_start_source(dir, allow_empty).await {
                // The archive with the same files was deleted.
                Ok(StartSource::Snapshot { snapshot_id, .. }) if snapshot_id != *same => without_archive(),
                found => found,
            },
        };
        let is_needed = storage.has_platform() || !matches!(archive, Ok(StartSource::Snapshot { .. }));
        Ok(StartPlan { platform: Some(platform).filter(|_| is_needed), archive })
    }

    /// Returns what the sandbox starts from: a snapshot of `dir`, or of any directory without a named workspace. Fails if
    /// the newest snapshot cannot be restored, instead of using an older one.
    ///
    /// # Errors
    /// [`Code::NothingRestorable`] if the workspace has lost its files and no snapshot is left, unless `allow_empty`;
    /// those of [`inspect_backup`](Self::inspect_backup).
    pub(super) async fn find_start_source(&self, dir: &Directory, allow_empty: bool) -> Result<StartSource> {
        let sandbox = self.sandbox_record()?;
        let is_named = sandbox.binding.is_some();
        let newest = if is_named { self.newest_restorable(dir)? } else { self.newest_own()? };
        if let Some(snapshot) = newest {
            let stored = self.require_ready(&snapshot)?.clone();
            stored.backup.check_restorable()?;
            let inspected = self.inspect_backup(&stored, &snapshot.backup_owner(&self.id)).await;
            self.record_check(&snapshot.snapshot_id, &inspected)?;
            let restorable =
                inspected.and_then(|found| ensure_restorable_in(self.runtime()?, found.metadata.format, &stored));
            restorable.map_err(|error| {
                let note = note_of_newest(is_named, error.code());
                error.with_note(note)
            })?;
            self.mark_used(&snapshot.snapshot_id)?;
            let dependencies = snapshot.known_dependencies();
            return Ok(StartSource::Snapshot {
                snapshot_id: snapshot.snapshot_id,
                stored: Box::new(stored),
                dependencies,
                platform: None,
            });
        }
        let nothing_restorable = || {
            let Some(binding) = &sandbox.binding else { return Ok(Error::nothing_to_revive(&self.id)) };
            let partial = self.newest_partial(dir, None)?;
            Ok(match partial {
                Some(partial) => Error::only_partial_restorable(&binding.address, &partial.snapshot_id, &partial.label),
                None => Error::nothing_restorable(&binding.address),
            })
        };
        let Some(parent) = sandbox.parent else {
            let is_new = is_named && self.start_state()?.first_started_at.is_none();
            return if is_new || allow_empty { Ok(StartSource::Empty) } else { Err(nothing_restorable()?) };
        };
        match self.sandbox_ledgers()?.get_for_restore(&parent.origin_id, &parent.snapshot_id, &self.id).await {
            Ok(RestoreSource { stored, dependencies, format, platform_snapshot }) => {
                ensure_restorable_in(self.runtime()?, format, &stored)?;
                Ok(StartSource::Snapshot {
                    snapshot_id: parent.snapshot_id,
                    stored: Box::new(stored),
                    dependencies: dependencies.unwrap_or_default(),
                    platform: platform_snapshot.map(Box::new),
                })
            }
            Err(error) if error.code() != Code::SnapshotNotFound => Err(error),
            Err(_) if allow_empty => Ok(StartSource::Empty),
            Err(error) => Err(nothing_restorable()?.with_note(error.message())),
        }
    }

    /// Returns whether the workspace is to keep no files: it was never persistent, it was made from no snapshot, and no caller has
    /// captured a part of its files.
    fn keeps_no_files(&self, request: &EnsureRunningRequest) -> Result<bool> {
        let has_source = self.sandbox_record()?.parent.is_some();
        Ok(request.never_persistent && !has_source && self.newest_partial(&request.settings.dir, None)?.is_none())
    }

    /// Returns whether the workspace has lost its files and has no snapshot, so that it starts only with `allowEmpty`.
    pub(super) fn starts_only_empty(&self) -> Result<bool> {
        let start = self.start_state()?;
        Ok(start.first_started_at.is_some()
            && self.sandbox_record()?.parent.is_none()
            && self.newest_restorable(&start.dir)?.is_none()
            && self.newest_partial(&start.dir, None)?.is_none()
            && self.current_platform_snapshot(&start.dir)?.is_none())
    }

    /// Returns the newest snapshot that the sandbox can start from: one of its own, or the snapshot that it was made
    /// from.
    pub async fn newest_snapshot(&self) -> Result<Option<NewestSnapshot>> {
        self.prepare_call().await?;
        let dir = self.start_state()?.dir;
        let newest = match self.newest_restorable(&dir)? {
            Some(snapshot) => self.to_last_snapshot(&snapshot),
            None => self.sandbox_record()?.parent.map(|parent| LastSnapshot {
                id: parent.snapshot_id,
                origin_id: parent.origin_id,
                dir,
                size_bytes: 0,
                created_at: self.now(),
            }),
        };
        let saved = self.saved_snapshot().await?;
        Ok(newest.map(|snapshot| NewestSnapshot {
            may_have_lost: saved != Some(SavedIn::Archive(snapshot.id.clone())),
            snapshot,
        }))
    }

    /// Returns a snapshot to a sandbox that was made from it and restores it now. This counts as a use of the snapshot.
    pub async fn get_for_restore(&self, snapshot_id: &SnapshotId, dependent: &SandboxId) -> Result<RestoreSource> {
        self.prepare_call().await?;
        let gone = || Error::source_snapshot_missing(snapshot_id, dependent);
        let snapshot = self.ledger.snapshot(snapshot_id)?.ok_or_else(gone)?;
        let is_derived =
            self.ledger.derived_sandbox(dependent)?.is_some_and(|derivation| derivation.snapshot_id == *snapshot_id);
        if !is_derived {
            return Err(gone());
        }
        let stored = self.require_ready(&snapshot)?.clone();
        stored.backup.check_restorable()?;
        let inspected = self.inspect_backup(&stored, &snapshot.backup_owner(&self.id)).await;
        self.record_check(snapshot_id, &inspected)?;
        let format = inspected?.metadata.format;
        self.mark_used(snapshot_id)?;
        let platform_snapshot = self.sandbox_record()?.binding.and_then(|binding| binding.platform_snapshot);
        let platform_snapshot = platform_snapshot.filter(|platform| platform.same_archive() == Some(snapshot_id));
        let dependencies = Some(snapshot.known_dependencies());
        Ok(RestoreSource { stored, dependencies, platform_snapshot, format })
    }

    /// Verifies that the snapshots of this sandbox do not belong to another tenant. The snapshots of a sandbox
    /// without a named workspace belong to no tenant.
    fn ensure_same_tenant(&self, tenant: &Tenant) -> Result<()> {
        let is_same_tenant = |binding: WorkspaceBinding| binding.address.tenant == *tenant;
        if self.sandbox_record()?.binding.is_none_or(is_same_tenant) {
            return Ok(());
        }
        Err(Error::other_tenant(&self.id))
    }

    /// Records a use of the snapshot: its time until expiration begins again.
    pub(super) fn mark_used(&self, id: &SnapshotId) -> Result<()> {
        if let Some(mut snapshot) = self.ledger.snapshot(id)?
            && snapshot.state() == SnapshotState::Ready
        {
            snapshot.last_used_at = self.now();
            self.ledger.put_snapshot(&snapshot)?;
            self.update_expiration(id)?;
        }
        Ok(())
    }

    /// Returns the newest snapshot of this sandbox from which a sandbox with its files in `dir` can start.
    pub(in crate::service) fn newest_restorable(&self, dir: &Directory) -> Result<Option<SnapshotRecord>> {
        self.newest_where(PAGE_SIZE, |row| matches!(row.stage, Stage::Ready { .. }) && row.is_whole(dir))
    }

    /// Returns the newest snapshot of `dir` that leaves out files, if it was taken after a time.
    pub(super) fn newest_partial(&self, dir: &Directory, after: Option<Timestamp>) -> Result<Option<SnapshotRecord>> {
        let is_partial =
            |row: &SnapshotRecord| matches!(row.stage, Stage::Ready { .. }) && row.dir == *dir && row.is_partial();
        let newest = self.newest_where(PAGE_SIZE, |row| is_partial(row) && !row.foreign)?;
        Ok(newest.filter(|row| after.is_none_or(|after| row.created_at() > after)))
    }

    /// Returns whether this sandbox, with its files in `dir`, can start without these snapshots: from another one of its own.
    pub(in crate::service) fn can_start_without(&self, doomed: &[SnapshotRecord], dir: &Directory) -> Result<bool> {
        let is_doomed = |row: &SnapshotRecord| doomed.iter().any(|one| one.snapshot_id == row.snapshot_id);
        let is_restorable = |row: &SnapshotRecord| matches!(row.stage, Stage::Ready { .. }) && row.is_whole(dir);
        let other = self.newest_where(PAGE_SIZE, |row| is_restorable(row) && !is_doomed(row))?;
        Ok(other.is_some() || self.current_platform_snapshot(dir)?.is_some())
    }

    /// Returns the newest snapshot of this sandbox that can be restored, whatever its directory and its exclusions.
    pub(super) fn newest_own(&self) -> Result<Option<SnapshotRecord>> {
        self.newest_where(PAGE_SIZE, |row| matches!(row.stage, Stage::Ready { .. }) && !row.foreign)
    }

    /// Converts a snapshot to the form that a named workspace stores. Returns `None` while the snapshot is being
    /// created.
    pub(super) fn to_last_snapshot(&self, snapshot: &SnapshotRecord) -> Option<LastSnapshot> {
        let stored = snapshot.stored()?;
        Some(LastSnapshot {
            id: snapshot.snapshot_id.clone(),
            origin_id: (*self.id).clone(),
            dir: snapshot.dir.clone(),
            size_bytes: stored.size_bytes,
            created_at: stored.created_at,
        })
    }
}

/// Returns how to continue where the newest snapshot cannot be restored.
fn note_of_newest(is_named: bool, code: Code) -> &'static str {
    match code {
        _ if !is_named => "It is the newest snapshot of the sandbox. Restore an older one in a new sandbox.",
        Code::BackupNotFound | Code::BackupIncomplete => {
            "It is the newest snapshot of the workspace. Update `currentSnapshotId` to revert to an older one. If the backup is lost \
             and there is no older one, delete the snapshot with `force: true`. Pass `allowEmpty: true` to `workspaces/start` to start \
             without its files."
        }
        _ => "It is the newest snapshot of the workspace. Update `currentSnapshotId` to revert to an older one.",
    }
}
