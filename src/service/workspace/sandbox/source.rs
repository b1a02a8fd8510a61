//! What a sandbox starts from: its newest snapshot, or the snapshot that it was made from.

use crate::model::answer::SnapshotState;
use crate::model::named::Tenant;
use crate::model::named::answer::LastSnapshot;
use crate::model::named::binding::{Dependencies, LastRestore, WorkspaceBinding};
use crate::model::named::messages::{FoundSnapshot, NewestSnapshot};
use crate::model::record::{SnapshotRecord, Stage, StoredBackup};
use crate::model::{Code, Directory, Error, Result, SandboxId, Selection, SnapshotId, Timestamp};
use crate::ports::{Ledger, Ports, RestoreSource, SandboxLedgerClient};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::runtime::ensure_restorable_in;
use crate::service::snapshot::select::require_ready;

/// The number of ledger rows that are read at a time.
const PAGE_SIZE: u32 = 20;

/// What a sandbox starts from.
pub(super) enum StartSource {
    /// A snapshot.
    Snapshot {
        /// The id of the snapshot.
        snapshot_id: SnapshotId,
        /// The backup in R2.
        stored: Box<StoredBackup>,
        /// The dependencies of the snapshot.
        dependencies: Dependencies,
    },
    /// No snapshot: the workspace is new, or the caller allows an empty start.
    Empty,
}

impl StartSource {
    /// Returns the id of the snapshot.
    pub(super) const fn snapshot_id(&self) -> Option<&SnapshotId> {
        match self {
            Self::Snapshot { snapshot_id, .. } => Some(snapshot_id),
            Self::Empty => None,
        }
    }

    /// Returns the restore of the snapshot into the container whose marker has the nonce.
    pub(super) fn restore(&self, at: Timestamp, may_have_lost: bool, nonce: &str) -> Option<LastRestore> {
        let Self::Snapshot { snapshot_id, stored, .. } = self else { return None };
        let (snapshot_id, created_at, nonce) = (snapshot_id.clone(), stored.created_at, nonce.to_owned());
        Some(LastRestore { snapshot_id, created_at, at, may_have_lost, nonce })
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the selected snapshot, if it can be restored.
    pub async fn find_snapshot(&self, selection: Selection, tenant: &Tenant) -> Result<FoundSnapshot> {
        self.prepare_call().await?;
        self.ensure_same_tenant(tenant)?;
        let found = self.select(&selection).await?.snapshot;
        require_ready(&found)?;
        let snapshot = self.to_last_snapshot(&found).ok_or_else(Error::internal)?;
        Ok(FoundSnapshot { snapshot, runtime: self.runtime()? })
    }

    /// Returns what the sandbox starts from. Fails if the newest snapshot cannot be restored, instead of using an older
    /// one.
    ///
    /// # Errors
    /// [`Code::NothingRestorable`] if the workspace has lost its files and no snapshot is left, unless `allow_empty`;
    /// those of [`inspect_backup`](Self::inspect_backup).
    pub(super) async fn find_start_source(&self, dir: &Directory, allow_empty: bool) -> Result<StartSource> {
        let workspace = self.workspace()?;
        if let Some(snapshot) = self.newest_restorable(dir)? {
            let stored = require_ready(&snapshot)?.clone();
            stored.backup.check_restorable()?;
            let inspected = self.inspect_backup(&stored, &snapshot.backup_owner(&self.id)).await;
            self.record_check(&snapshot.snapshot_id, &inspected)?;
            let restorable = inspected.and_then(|found| ensure_restorable_in(self.runtime()?, found.metadata.format));
            restorable.map_err(|error| {
                error.with_note(
                    "It is the newest snapshot of the workspace. Update `currentSnapshotId` to revert to an older one.",
                )
            })?;
            self.mark_used(&snapshot.snapshot_id)?;
            let dependencies = snapshot.dependencies.unwrap_or_default();
            return Ok(StartSource::Snapshot {
                snapshot_id: snapshot.snapshot_id,
                stored: Box::new(stored),
                dependencies,
            });
        }
        let Some(parent) = workspace.parent else {
            let is_new = self.binding()?.first_started_at.is_none();
            return if is_new || allow_empty {
                Ok(StartSource::Empty)
            } else {
                Err(Error::nothing_restorable(&self.id))
            };
        };
        match self.sandbox_ledgers()?.get_for_restore(&parent.origin_id, &parent.snapshot_id, &self.id).await {
            Ok(RestoreSource { stored, dependencies, format }) => {
                ensure_restorable_in(self.runtime()?, format)?;
                Ok(StartSource::Snapshot {
                    snapshot_id: parent.snapshot_id,
                    stored: Box::new(stored),
                    dependencies: dependencies.unwrap_or_default(),
                })
            }
            Err(error) if error.code() != Code::SnapshotNotFound => Err(error),
            Err(_) if allow_empty => Ok(StartSource::Empty),
            Err(error) => Err(Error::nothing_restorable(&self.id).with_note(error.message())),
        }
    }

    /// Returns the newest snapshot that the sandbox can start from: one of its own, or the snapshot that it was made
    /// from.
    pub async fn newest_snapshot(&self) -> Result<Option<NewestSnapshot>> {
        self.prepare_call().await?;
        let dir = self.binding()?.dir;
        let newest = match self.newest_restorable(&dir)? {
            Some(snapshot) => self.to_last_snapshot(&snapshot),
            None => self.workspace()?.parent.map(|parent| LastSnapshot {
                id: parent.snapshot_id,
                origin_id: parent.origin_id,
                dir,
                size_bytes: 0,
                created_at: self.now(),
            }),
        };
        let saved = self.saved_snapshot().await?;
        Ok(newest.map(|snapshot| NewestSnapshot { may_have_lost: saved.as_ref() != Some(&snapshot.id), snapshot }))
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
        let stored = require_ready(&snapshot)?.clone();
        stored.backup.check_restorable()?;
        let inspected = self.inspect_backup(&stored, &snapshot.backup_owner(&self.id)).await;
        self.record_check(snapshot_id, &inspected)?;
        let format = inspected?.metadata.format;
        self.mark_used(snapshot_id)?;
        Ok(RestoreSource { stored, dependencies: snapshot.dependencies, format })
    }

    /// Verifies that the snapshots of this workspace do not belong to another tenant. The snapshots of a sandbox
    /// without a named workspace belong to no tenant.
    fn ensure_same_tenant(&self, tenant: &Tenant) -> Result<()> {
        let is_same_tenant = |binding: WorkspaceBinding| binding.address.tenant == *tenant;
        if self.workspace()?.binding.is_none_or(is_same_tenant) {
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

    /// Returns the newest snapshot of this workspace from which a sandbox with its files in `dir` can start.
    pub(in crate::service) fn newest_restorable(&self, dir: &Directory) -> Result<Option<SnapshotRecord>> {
        self.newest_where(PAGE_SIZE, |row| matches!(row.stage, Stage::Ready { .. }) && row.is_whole(dir))
    }

    /// Converts a snapshot to the form that a named workspace stores. Returns `None` while the snapshot is being
    /// created.
    fn to_last_snapshot(&self, snapshot: &SnapshotRecord) -> Option<LastSnapshot> {
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
