//! What a sandbox gets its files from: its newest snapshot, or the one that it was made from.

use crate::model::named::Tenant;
use crate::model::named::messages::LastSnapshot;
use crate::model::named::standing::{Dependencies, Standing};
use crate::model::record::{SnapshotRecord, SnapshotState, Stage, Stored};
use crate::model::request::Cursor;
use crate::model::{Code, Directory, Error, Result, SandboxId, SnapshotId};
use crate::ports::{Clock, Ledger, Loan, Ports, Workspaces};
use crate::service::hold;
use crate::service::planted::{Bug, planted};
use crate::service::select::ready;
use crate::service::stored::inspect;
use crate::service::{CloudflareSandboxSnapshotter, verify};

/// How many rows of the ledger are read at a time.
const FEW: u32 = 20;

/// What the files come from.
pub(in crate::service) enum Source {
    /// A snapshot.
    Snapshot {
        /// Which.
        snapshot_id: SnapshotId,
        /// What is in R2.
        stored: Box<Stored>,
        /// What it depends on.
        dependencies: Dependencies,
    },
    /// There is nothing to come from, which is as it should be.
    Nothing,
}

/// Finds what the files come from. What can't be restored is never passed over for something older.
///
/// # Errors
/// [`Code::NothingRestorable`] when there should be something, unless `allow_empty`; those of [`inspect`].
pub(in crate::service) async fn source<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    allow_empty: bool,
) -> Result<Source> {
    let workspace = this.workspace()?;
    if let Some(snapshot) = newest_whole(this, dir)? {
        let stored = ready(&snapshot)?.clone();
        stored.backup.check_restorable()?;
        let looked = inspect(this, &stored, &snapshot.mark(&this.id)).await;
        verify::note(this, &snapshot.snapshot_id, &looked)?;
        looked.map_err(|error| {
            error.and("It is the newest one of the workspace; `currentSnapshotId` goes back to an older one.")
        })?;
        used(this, &snapshot.snapshot_id)?;
        let dependencies = snapshot.dependencies.unwrap_or_default();
        return Ok(Source::Snapshot { snapshot_id: snapshot.snapshot_id, stored: Box::new(stored), dependencies });
    }
    let Some(parent) = workspace.parent else {
        let is_new = this.standing()?.opened_at.is_none();
        return if is_new || allow_empty { Ok(Source::Nothing) } else { Err(nothing(this, None)) };
    };
    match this.ports.workspaces()?.lend(&parent.origin_id, &parent.snapshot_id, &this.id).await {
        Ok(Loan { stored, dependencies }) => Ok(Source::Snapshot {
            snapshot_id: parent.snapshot_id,
            stored: Box::new(stored),
            dependencies: dependencies.unwrap_or_default(),
        }),
        Err(error) if error.code() != Code::SnapshotNotFound => Err(error),
        Err(_) if allow_empty => Ok(Source::Nothing),
        Err(gone) => Err(nothing(this, Some(&gone))),
    }
}

/// The newest snapshot that the sandbox could be started from, here or in the workspace that it came from.
pub(in crate::service) fn newest<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<LastSnapshot>> {
    let dir = this.standing()?.dir;
    if let Some(snapshot) = newest_whole(this, &dir)? {
        return Ok(remembered(&snapshot, &this.id));
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

/// A snapshot as a named workspace remembers it; `None` while it is being made.
pub(in crate::service) fn remembered(snapshot: &SnapshotRecord, origin_id: &SandboxId) -> Option<LastSnapshot> {
    let stored = snapshot.stored()?;
    Some(LastSnapshot {
        id: snapshot.snapshot_id.clone(),
        origin_id: origin_id.clone(),
        dir: snapshot.dir.clone(),
        size_bytes: stored.size_bytes,
        created_at: stored.created_at,
    })
}

/// Lends a snapshot to a sandbox that was made from it, which is a use of it.
pub(in crate::service) async fn lend<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    snapshot_id: &SnapshotId,
    holder: &SandboxId,
) -> Result<Loan> {
    let ledger = this.ports.ledger()?;
    let gone = || {
        Error::new(
            Code::SnapshotNotFound,
            format!("The snapshot {snapshot_id}, from which {:?} was made, is gone.", holder.as_str()),
            "Use another snapshot.",
        )
    };
    let snapshot = ledger.snapshot(snapshot_id)?.ok_or_else(gone)?;
    let is_theirs = ledger.derivation(holder)?.is_some_and(|derivation| derivation.snapshot_id == *snapshot_id);
    if !is_theirs {
        return Err(gone());
    }
    let stored = ready(&snapshot)?.clone();
    stored.backup.check_restorable()?;
    let looked = inspect(this, &stored, &snapshot.mark(&this.id)).await;
    verify::note(this, snapshot_id, &looked)?;
    looked?;
    used(this, snapshot_id)?;
    Ok(Loan { stored, dependencies: snapshot.dependencies })
}

/// Makes sure that the snapshots of this workspace are not another tenant's. Those of a sandbox that stands for no name are
/// nobody's.
pub(in crate::service) fn is_of<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, tenant: &Tenant) -> Result<()> {
    let is_theirs = |standing: Standing| standing.address.tenant == *tenant || planted(Bug::TenantNotChecked);
    if this.workspace()?.standing.is_none_or(is_theirs) {
        return Ok(());
    }
    Err(Error::new(
        Code::CrossSession,
        format!("The sandbox {:?} belongs to another tenant.", this.id.as_str()),
        "Use a snapshot of the tenant's own.",
    ))
}

/// A snapshot was used: its time begins again.
pub(in crate::service) fn used<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &SnapshotId) -> Result<()> {
    if let Some(mut snapshot) = this.ports.ledger()?.snapshot(id)?
        && snapshot.state() == SnapshotState::Ready
    {
        snapshot.last_used_at = this.ports.clock().now();
        this.ports.ledger()?.put_snapshot(&snapshot)?;
        hold::reconsider(this, id)?;
    }
    Ok(())
}

pub(in crate::service) fn newest_whole<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
) -> Result<Option<SnapshotRecord>> {
    let mut cursor: Option<Cursor> = None;
    loop {
        let page = this.ports.ledger()?.page(cursor.as_ref(), None, FEW)?;
        let is_last = page.len() < FEW as usize;
        cursor = page.last().map(|row| Cursor { created_at: row.created_at(), snapshot_id: row.snapshot_id.clone() });
        let whole = page.into_iter().find(|row| {
            let is_kept = row.is_whole(dir) || (row.aside && planted(Bug::AsideStartedFrom));
            let is_passed_over =
                planted(Bug::DamagedPassedOver) && row.stored().is_some_and(|stored| stored.damage.is_some());
            matches!(row.stage, Stage::Ready { .. }) && is_kept && !is_passed_over
        });
        if whole.is_some() || is_last {
            return Ok(whole);
        }
    }
}

fn nothing<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, gone: Option<&Error>) -> Error {
    let error = Error::new(
        Code::NothingRestorable,
        format!(
            "The sandbox {:?} has lost its files, and there is no snapshot to restore them from.",
            this.id.as_str()
        ),
        "`allowEmpty: true` starts it with nothing in it. Stop workspaces, or take snapshots, before they sleep.",
    );
    match gone {
        Some(gone) => error.and(gone.message()),
        None => error,
    }
}
