//! Makes a new sandbox from a snapshot.
//!
//! The minted id is kept before the sandbox is touched, in the ledger of the snapshot and in that of the new sandbox. So it
//! is nobody else's, and whenever the worker of this dies, the sandbox is found again and destroyed (`recover`).

use futures_util::future::join;

use super::arrival::{another_container, arrived};
use super::failures::{During, from_sandbox, from_workspace};
use super::memory::{Underway, Work};
use super::planted::{Bug, planted};
use super::retry::retry;
use super::select::{Selected, ready, select};
use super::stored::inspect;
use super::undo::destroy_minted;
use super::{Abort, CloudflareSandboxSnapshotter, hold, verify};
use crate::model::named::Stamp;
use crate::model::record::{Derivation, DerivationState, LooseEnd, Parent, SnapshotRecord, Stored, WorkspaceRecord};
use crate::model::{
    Code, Error, Lineage, RestoreRequest, Result, SandboxId, SnapshotId, StampOutcome, WorkspaceRef, mint,
};
use crate::ports::{Clock, Ledger, Ports, Sandboxes, Visit, Workspaces};

/// When a sandbox that nobody works on is followed up, in milliseconds.
const FOLLOWED_UP_MILLIS: i64 = 60_000;

/// Makes the sandbox, or leaves none behind.
pub(super) async fn restore<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &RestoreRequest,
    lineage: Lineage,
    abort: &Abort,
) -> Result<WorkspaceRef> {
    abort.check()?;
    let Selected { workspace, snapshot } = select(this, &request.selection).await?;
    let stored = ready(&snapshot)?;
    stored.backup.check_restorable()?;
    let looked = inspect(this, stored, &snapshot.mark(&this.id)).await;
    verify::note(this, &snapshot.snapshot_id, &looked)?;
    looked?;
    abort.check()?;

    retry(&*this.ports, abort, async || Box::pin(make(this, &workspace, &snapshot, stored, lineage, abort)).await).await
}

/// One attempt, in a new sandbox: calls of an earlier attempt, such as the end of its container, may still come to its sandbox.
async fn make<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &WorkspaceRecord,
    snapshot: &SnapshotRecord,
    stored: &Stored,
    lineage: Lineage,
    abort: &Abort,
) -> Result<WorkspaceRef> {
    let (derivation, marker, _underway) = claim(this, workspace, snapshot, lineage).await?;
    let minted = &derivation.sandbox_id;
    let applied = async {
        abort.check()?;
        apply(this, minted, stored, &marker).await?;
        if planted(Bug::AbortIgnored) { Ok(()) } else { abort.check() }
    };
    match applied.await {
        Ok(()) => {
            settle(this, &derivation)?;
            Ok(WorkspaceRef::new(minted.clone(), workspace.root_id.clone()))
        }
        Err(error) => {
            let kept = end(this, &derivation);
            if planted(Bug::RestoreNotUndone) {
                this.ports.ledger()?.forget_derivation(minted)?;
                return Err(error);
            }
            let error = destroy_minted(this, minted, error).await;
            if planted(Bug::DestroyedOnce) {
                this.ports.ledger()?.forget_derivation(minted)?;
            }
            Err(match kept {
                Ok(()) => error,
                Err(unkept) => error.and(unkept.message()),
            })
        }
    }
}

/// Mints an id that nobody has, and keeps it.
async fn claim<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &WorkspaceRecord,
    snapshot: &SnapshotRecord,
    lineage: Lineage,
) -> Result<(Derivation, String, Underway)> {
    const DRAWS: u32 = 4;
    let parent = Parent {
        origin_id: workspace.sandbox_id.clone(),
        snapshot_id: snapshot.snapshot_id.clone(),
        lineage,
        needed: true,
    };
    for _ in 0..DRAWS {
        let short_id = this.draw_short_id()?;
        let minted = mint(&this.id, lineage, &short_id)?;
        if this.ports.ledger()?.derivation(&minted)?.is_some() {
            continue;
        }
        let Some(underway) = this.memory.take(Work::Sandbox(minted.clone())) else { continue };
        // The claim comes first: what is not known to be ours must never be destroyed by recovery. One that nothing comes of
        // uses up an id, and nothing else.
        let marker = short_id.as_str().to_owned();
        let claimed =
            this.ports.workspaces()?.claim(&minted, &workspace.root_id, Some(&parent), None, Some(&marker)).await;
        if claimed.map_err(|failure| from_workspace(failure, &minted))? || planted(Bug::ClaimIgnored) {
            return Ok((intend(this, minted, &snapshot.snapshot_id, lineage)?, marker, underway));
        }
    }
    Err(Error::new(
        Code::Internal,
        format!("{DRAWS} ids for a sandbox made from {} are all somebody's already.", snapshot.snapshot_id),
        "Try again; report it if it happens again.",
    ))
}

/// Keeps what is going to be done, if the snapshot is still there.
fn intend<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    minted: SandboxId,
    snapshot_id: &SnapshotId,
    lineage: Lineage,
) -> Result<Derivation> {
    let ledger = this.ports.ledger()?;
    let snapshot = ledger.snapshot(snapshot_id)?.ok_or_else(|| {
        Error::new(
            Code::SnapshotNotFound,
            format!("The snapshot {snapshot_id} was deleted meanwhile."),
            "Use another snapshot: list() shows those that are there.",
        )
    })?;
    ready(&snapshot)?;
    let began_at = this.ports.clock().now();
    let loose = LooseEnd { due: began_at.plus_millis(FOLLOWED_UP_MILLIS), tries: 0 };
    let derivation = Derivation {
        sandbox_id: minted,
        snapshot_id: snapshot_id.clone(),
        lineage,
        began_at,
        state: DerivationState::Pending(loose),
    };
    ledger.put_derivation(&derivation)?;
    this.wake_by(loose.due)?;
    Ok(derivation)
}

/// Somebody has the sandbox: it needs the snapshot, which was used.
fn settle<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, derivation: &Derivation) -> Result<()> {
    let ledger = this.ports.ledger()?;
    ledger.put_derivation(&Derivation { state: DerivationState::Ready { holds: true }, ..derivation.clone() })?;
    if let Some(mut snapshot) = ledger.snapshot(&derivation.snapshot_id)? {
        snapshot.last_used_at = this.ports.clock().now();
        this.keep(&this.workspace()?, snapshot)?;
    }
    Ok(())
}

/// Nobody gets the sandbox. It is followed up until it is gone for certain: a restore may still go on in it.
pub(super) fn end<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, derivation: &Derivation) -> Result<()> {
    let due = this.ports.clock().now().plus_millis(FOLLOWED_UP_MILLIS);
    let state = DerivationState::Ending(LooseEnd { due, tries: 0 });
    this.ports.ledger()?.put_derivation(&Derivation { state, ..derivation.clone() })?;
    this.wake_by(due)?;
    if planted(Bug::ExpirationNotReconsidered) {
        return Ok(());
    }
    hold::reconsider(this, &derivation.snapshot_id)
}

/// Applies the backup to the minted sandbox before anything else touches it, and makes sure that it arrived in the container that
/// runs now. That carries the marker by which the ledger of the new sandbox knows it.
async fn apply<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    minted: &SandboxId,
    stored: &Stored,
    marker: &str,
) -> Result<()> {
    let (filling, ready) = (Stamp::Filling(marker.to_owned()), Stamp::Ready(marker.to_owned()));
    let failed = |failure| from_sandbox(failure, minted, During::Restore);
    let visit = this.ports.sandboxes()?.visit(minted);
    let (named, stamped) = join(visit.name(), visit.stamp(None, &filling)).await;
    named.map_err(failed)?;
    if stamped.map_err(failed)?.outcome != StampOutcome::Done {
        return Err(another_container(minted));
    }
    if let Some(parent) = stored.backup.needed_parent() {
        visit.make_directory(&parent).await.map_err(failed)?;
    }
    visit.restore_backup(&stored.backup, stored.size_bytes).await.map_err(failed)?;
    arrived(this, &visit, minted, stored, &filling, &ready).await
}
