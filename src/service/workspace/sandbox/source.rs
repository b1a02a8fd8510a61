//! What a sandbox starts from: its newest snapshot, or the snapshot that it was made from.

use crate::model::named::Tenant;
use crate::model::named::binding::{Dependencies, WorkspaceBinding};
use crate::model::named::messages::LastSnapshot;
use crate::model::record::{SnapshotRecord, SnapshotState, Stage, StoredBackup};
use crate::model::request::SnapshotCursor;
use crate::model::{Code, Directory, Error, Result, SandboxId, SnapshotId};
use crate::ports::{Clock, Ledger, Ports, RestoreSource, SandboxLedgerClient};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::planted::{Bug, planted};
use crate::service::retention::references;
use crate::service::snapshot::select::require_ready;
use crate::service::snapshot::stored_backup::inspect;
use crate::service::snapshot::verify;

/// The number of ledger rows that are read at a time.
const PAGE_SIZE: u32 = 20;

/// What a sandbox starts from.
pub(in crate::service) enum StartSource {
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

/// Returns what the sandbox starts from. Fails if the newest snapshot cannot be restored, instead of using an older
/// one.
///
/// # Errors
/// [`Code::NothingRestorable`] if the workspace has lost its files and no snapshot is left, unless `allow_empty`; those
/// of [`inspect`].
pub(in crate::service) async fn find_start_source<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    allow_empty: bool,
) -> Result<StartSource> {
    let workspace = this.workspace()?;
    if let Some(snapshot) = newest_restorable(this, dir)? {
        let stored = require_ready(&snapshot)?.clone();
        stored.backup.check_restorable()?;
        let inspected = inspect(this, &stored, &snapshot.backup_owner(&this.id)).await;
        verify::record_check(this, &snapshot.snapshot_id, &inspected)?;
        inspected.map_err(|error| {
            error.with_note(
                "It is the newest snapshot of the workspace. Update `currentSnapshotId` to revert to an older one.",
            )
        })?;
        mark_used(this, &snapshot.snapshot_id)?;
        let dependencies = snapshot.dependencies.unwrap_or_default();
        return Ok(StartSource::Snapshot { snapshot_id: snapshot.snapshot_id, stored: Box::new(stored), dependencies });
    }
    let Some(parent) = workspace.parent else {
        let is_new = this.binding()?.first_started_at.is_none();
        return if is_new || allow_empty { Ok(StartSource::Empty) } else { Err(nothing_restorable(this, None)) };
    };
    match this.ports.sandbox_ledgers()?.get_for_restore(&parent.origin_id, &parent.snapshot_id, &this.id).await {
        Ok(RestoreSource { stored, dependencies }) => Ok(StartSource::Snapshot {
            snapshot_id: parent.snapshot_id,
            stored: Box::new(stored),
            dependencies: dependencies.unwrap_or_default(),
        }),
        Err(error) if error.code() != Code::SnapshotNotFound => Err(error),
        Err(_) if allow_empty => Ok(StartSource::Empty),
        Err(error) => Err(nothing_restorable(this, Some(&error))),
    }
}

/// Returns the newest snapshot that the sandbox can start from: one of its own, or the snapshot that it was made from.
pub(in crate::service) fn newest<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<LastSnapshot>> {
    let dir = this.binding()?.dir;
    if let Some(snapshot) = newest_restorable(this, &dir)? {
        return Ok(to_last_snapshot(&snapshot, &this.id));
    }
    let parent = this.workspace()?.parent;
    Ok(parent.map(|parent| LastSnapshot {
        id: parent.snapshot_id,
        origin_id: parent.origin_id,
        dir,
        size_bytes: 0,
        created_at: this.ports.clock().now(),
    }))
}

/// Converts a snapshot to the form that a named workspace stores. Returns `None` while the snapshot is being created.
pub(in crate::service) fn to_last_snapshot(snapshot: &SnapshotRecord, origin_id: &SandboxId) -> Option<LastSnapshot> {
    let stored = snapshot.stored()?;
    Some(LastSnapshot {
        id: snapshot.snapshot_id.clone(),
        origin_id: origin_id.clone(),
        dir: snapshot.dir.clone(),
        size_bytes: stored.size_bytes,
        created_at: stored.created_at,
    })
}

/// Returns a snapshot to a sandbox that was made from it and restores it now. This counts as a use of the snapshot.
pub(in crate::service) async fn get_for_restore<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    snapshot_id: &SnapshotId,
    dependent: &SandboxId,
) -> Result<RestoreSource> {
    let ledger = this.ports.ledger()?;
    let gone = || {
        Error::new(
            Code::SnapshotNotFound,
            format!("The snapshot {snapshot_id}, from which {:?} was made, no longer exists.", dependent.as_str()),
            "Use another snapshot.",
        )
    };
    let snapshot = ledger.snapshot(snapshot_id)?.ok_or_else(gone)?;
    let is_derived =
        ledger.derived_sandbox(dependent)?.is_some_and(|derivation| derivation.snapshot_id == *snapshot_id);
    if !is_derived {
        return Err(gone());
    }
    let stored = require_ready(&snapshot)?.clone();
    stored.backup.check_restorable()?;
    let inspected = inspect(this, &stored, &snapshot.backup_owner(&this.id)).await;
    verify::record_check(this, snapshot_id, &inspected)?;
    inspected?;
    mark_used(this, snapshot_id)?;
    Ok(RestoreSource { stored, dependencies: snapshot.dependencies })
}

/// Verifies that the snapshots of this workspace do not belong to another tenant. The snapshots of a sandbox without a
/// named workspace belong to no tenant.
pub(in crate::service) fn ensure_same_tenant<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    tenant: &Tenant,
) -> Result<()> {
    let is_same_tenant =
        |binding: WorkspaceBinding| binding.address.tenant == *tenant || planted(Bug::TenantNotChecked);
    if this.workspace()?.binding.is_none_or(is_same_tenant) {
        return Ok(());
    }
    Err(Error::new(
        Code::CrossLineage,
        format!("The sandbox {:?} belongs to another tenant.", this.id.as_str()),
        "Use a snapshot of the same tenant.",
    ))
}

/// Records a use of the snapshot: its time until expiration begins again.
pub(in crate::service) fn mark_used<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &SnapshotId) -> Result<()> {
    if let Some(mut snapshot) = this.ports.ledger()?.snapshot(id)?
        && snapshot.state() == SnapshotState::Ready
    {
        snapshot.last_used_at = this.ports.clock().now();
        this.ports.ledger()?.put_snapshot(&snapshot)?;
        references::update_expiration(this, id)?;
    }
    Ok(())
}

/// Returns the newest snapshot of this workspace from which a sandbox with its files in `dir` can start.
pub(in crate::service) fn newest_restorable<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
) -> Result<Option<SnapshotRecord>> {
    let mut cursor: Option<SnapshotCursor> = None;
    loop {
        let page = this.ports.ledger()?.snapshot_page(cursor.as_ref(), None, PAGE_SIZE)?;
        let is_last = page.len() < PAGE_SIZE as usize;
        cursor = page
            .last()
            .map(|row| SnapshotCursor { created_at: row.created_at(), snapshot_id: row.snapshot_id.clone() });
        let restorable = page.into_iter().find(|row| {
            let is_eligible = row.is_whole(dir) || (row.foreign && planted(Bug::StartedFromRescue));
            let is_skipped =
                planted(Bug::DamagedSnapshotSkipped) && row.stored().is_some_and(|stored| stored.damage.is_some());
            matches!(row.stage, Stage::Ready { .. }) && is_eligible && !is_skipped
        });
        if restorable.is_some() || is_last {
            return Ok(restorable);
        }
    }
}

fn nothing_restorable<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, cause: Option<&Error>) -> Error {
    let error = Error::new(
        Code::NothingRestorable,
        format!(
            "The sandbox {:?} has lost its files, and there is no snapshot to restore them from.",
            this.id.as_str()
        ),
        "Pass `allowEmpty: true` to start it without files. Stop workspaces, or take snapshots, before their \
         containers end.",
    );
    match cause {
        Some(cause) => error.with_note(cause.message()),
        None => error,
    }
}
