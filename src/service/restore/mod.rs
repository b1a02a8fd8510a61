//! `restore` and `branch`: create a new sandbox from a snapshot.
//!
//! The Worker records the minted id before it touches the sandbox, in the ledger of the snapshot and in that of the new
//! sandbox. So no other call uses the id, and recovery (`recover`) finds and destroys the sandbox when this object ends
//! at any point.
//!
//! - [`arrival`]: verifies that a backup has arrived in the container that it was applied to
//! - [`rollback`]: removes what a failed operation left

pub(super) mod arrival;
pub(super) mod rollback;

use futures_util::future::join;

use self::arrival::{another_container, verify_arrival};
use self::rollback::destroy_minted;
use super::calls::failures::{During, from_sandbox, from_workspace};
use super::calls::retry::retry;
use super::in_process::{WorkKey, WorkLease};
use super::planted::{Bug, planted};
use super::retention::references;
use super::snapshot::select::{Selected, require_ready, select};
use super::snapshot::stored_backup::inspect;
use super::snapshot::verify;
use super::{CancellationToken, CloudflareSandboxSnapshotter};
use crate::model::named::ContainerMarker;
use crate::model::record::{
    Derivation, DerivedState, ParentLink, PendingTask, SnapshotRecord, StoredBackup, WorkspaceRecord,
};
use crate::model::{
    Code, DerivationKind, Error, MarkerOutcome, RestoreRequest, Result, SandboxId, SnapshotId, WorkspaceRef,
    mint_sandbox_id,
};
use crate::ports::{Clock, Ledger, Ports, SandboxLedgerClient, SandboxSession, Sandboxes};

/// The delay after which recovery reconciles a sandbox of an interrupted restore, in milliseconds.
const RECONCILE_AFTER_MILLIS: i64 = 60_000;

/// Creates a sandbox from a snapshot, and retries transient failures. On an error, no sandbox remains.
pub(super) async fn restore<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &RestoreRequest,
    kind: DerivationKind,
    abort: &CancellationToken,
) -> Result<WorkspaceRef> {
    abort.check()?;
    let Selected { workspace, snapshot } = select(this, &request.selection).await?;
    let stored = require_ready(&snapshot)?;
    stored.backup.check_restorable()?;
    let inspected = inspect(this, stored, &snapshot.backup_owner(&this.id)).await;
    verify::record_check(this, &snapshot.snapshot_id, &inspected)?;
    inspected?;
    abort.check()?;

    retry(&*this.ports, abort, async || Box::pin(try_restore(this, &workspace, &snapshot, stored, kind, abort)).await)
        .await
}

/// Makes one attempt, in a new sandbox: late calls of an earlier attempt, such as a destroy, may still arrive in that
/// one's sandbox.
async fn try_restore<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &WorkspaceRecord,
    snapshot: &SnapshotRecord,
    stored: &StoredBackup,
    kind: DerivationKind,
    abort: &CancellationToken,
) -> Result<WorkspaceRef> {
    let (derivation, marker, _lease) = claim_minted_id(this, workspace, snapshot, kind).await?;
    let minted = &derivation.sandbox_id;
    let restored = async {
        abort.check()?;
        apply_backup(this, minted, stored, &marker).await?;
        if planted(Bug::CancellationIgnored) { Ok(()) } else { abort.check() }
    };
    match restored.await {
        Ok(()) => {
            mark_ready(this, &derivation)?;
            Ok(WorkspaceRef::new(minted.clone(), workspace.root_id.clone()))
        }
        Err(error) => {
            let recorded = mark_ending(this, &derivation);
            if planted(Bug::RestoreNotRolledBack) {
                this.ports.ledger()?.delete_derived_sandbox(minted)?;
                return Err(error);
            }
            let error = destroy_minted(this, minted, error).await;
            if planted(Bug::DestroyNotRechecked) {
                this.ports.ledger()?.delete_derived_sandbox(minted)?;
            }
            Err(match recorded {
                Ok(()) => error,
                Err(not_recorded) => error.with_note(not_recorded.message()),
            })
        }
    }
}

/// Mints an unused sandbox id, claims it and records it.
async fn claim_minted_id<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &WorkspaceRecord,
    snapshot: &SnapshotRecord,
    kind: DerivationKind,
) -> Result<(Derivation, String, WorkLease)> {
    const DRAWS: u32 = 4;
    let parent = ParentLink {
        origin_id: workspace.sandbox_id.clone(),
        snapshot_id: snapshot.snapshot_id.clone(),
        kind,
        needs_snapshot: true,
    };
    for _ in 0..DRAWS {
        let short_id = this.random_short_id()?;
        let minted = mint_sandbox_id(&this.id, kind, &short_id)?;
        if this.ports.ledger()?.derived_sandbox(&minted)?.is_some() {
            continue;
        }
        let Some(lease) = this.in_process.try_acquire(WorkKey::Sandbox(minted.clone())) else { continue };
        // The claim comes first, because recovery must never destroy a sandbox that this call does not own. An unused
        // claim only costs an id.
        let marker = short_id.as_str().to_owned();
        let claimed =
            this.ports.sandbox_ledgers()?.claim(&minted, &workspace.root_id, Some(&parent), None, Some(&marker)).await;
        if claimed.map_err(|failure| from_workspace(failure, &minted))? || planted(Bug::ClaimIgnored) {
            return Ok((record_intent(this, minted, &snapshot.snapshot_id, kind)?, marker, lease));
        }
    }
    Err(Error::new(
        Code::Internal,
        format!("All {DRAWS} random sandbox ids for a restore of {} are already taken.", snapshot.snapshot_id),
        "Try again. If the error persists, report it.",
    ))
}

/// Records the restore in the ledger, if the snapshot still exists.
fn record_intent<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    minted: SandboxId,
    snapshot_id: &SnapshotId,
    kind: DerivationKind,
) -> Result<Derivation> {
    let ledger = this.ports.ledger()?;
    let snapshot = ledger.snapshot(snapshot_id)?.ok_or_else(|| {
        Error::new(
            Code::SnapshotNotFound,
            format!("The snapshot {snapshot_id} was deleted during the call."),
            "Use another snapshot: list() returns the existing ones.",
        )
    })?;
    require_ready(&snapshot)?;
    let began_at = this.ports.clock().now();
    let task = PendingTask { due_at: began_at.plus_millis(RECONCILE_AFTER_MILLIS), attempt: 0 };
    let derivation = Derivation {
        sandbox_id: minted,
        snapshot_id: snapshot_id.clone(),
        kind,
        began_at,
        state: DerivedState::Pending(task),
    };
    ledger.put_derived_sandbox(&derivation)?;
    this.schedule_alarm(task.due_at)?;
    Ok(derivation)
}

/// Records that the sandbox is ready: it depends on the snapshot, and the snapshot was used now.
fn mark_ready<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, derivation: &Derivation) -> Result<()> {
    let ledger = this.ports.ledger()?;
    ledger.put_derived_sandbox(&Derivation {
        state: DerivedState::Ready { needs_snapshot: true },
        ..derivation.clone()
    })?;
    if let Some(mut snapshot) = ledger.snapshot(&derivation.snapshot_id)? {
        snapshot.last_used_at = this.ports.clock().now();
        this.save_snapshot(&this.workspace()?, snapshot)?;
    }
    Ok(())
}

/// Records that the sandbox is to be destroyed. Recovery checks it until it stays down, because a restore may still run
/// in it.
pub(super) fn mark_ending<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, derivation: &Derivation) -> Result<()> {
    let due_at = this.ports.clock().now().plus_millis(RECONCILE_AFTER_MILLIS);
    let state = DerivedState::Ending(PendingTask { due_at, attempt: 0 });
    this.ports.ledger()?.put_derived_sandbox(&Derivation { state, ..derivation.clone() })?;
    this.schedule_alarm(due_at)?;
    if planted(Bug::ExpirationNotUpdated) {
        return Ok(());
    }
    references::update_expiration(this, &derivation.snapshot_id)
}

/// Restores the backup into the minted sandbox before anything else uses it, and verifies that the files arrived in the
/// container that runs now. That container then carries the marker that the ledger of the new sandbox records.
async fn apply_backup<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    minted: &SandboxId,
    stored: &StoredBackup,
    marker: &str,
) -> Result<()> {
    let (restoring, ready) = (ContainerMarker::Restoring(marker.to_owned()), ContainerMarker::Ready(marker.to_owned()));
    let failed = |failure| from_sandbox(failure, minted, During::Restore);
    let session = this.ports.sandboxes()?.open_session(minted);
    let (name_set, marker_set) = join(session.set_name(), session.update_marker(None, &restoring)).await;
    name_set.map_err(failed)?;
    if marker_set.map_err(failed)?.outcome != MarkerOutcome::Updated {
        return Err(another_container(minted));
    }
    if let Some(parent) = stored.backup.required_parent() {
        session.make_directory(&parent).await.map_err(failed)?;
    }
    session.restore_backup(&stored.backup, stored.size_bytes).await.map_err(failed)?;
    verify_arrival(this, &session, minted, stored, &restoring, &ready).await
}
