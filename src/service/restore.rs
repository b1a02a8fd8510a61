//! Makes a new sandbox from a snapshot.
//!
//! The minted id is kept before the sandbox is touched, in the ledger of the snapshot and in that of the new sandbox. So it
//! is nobody else's, and whenever the worker of this dies, the sandbox is found again and destroyed (`recover`).

use futures_util::future::join;

use super::container::{self, Age};
use super::failures::{During, from_sandbox, from_workspace};
use super::memory::{Underway, Work};
use super::planted::{Bug, planted};
use super::retry::retry;
use super::select::{Selected, ready, select};
use super::stored::{inspect, is_empty};
use super::undo::destroy_minted;
use super::{Abort, CloudflareSandboxSnapshotter, hold, verify};
use crate::model::record::{Derivation, DerivationState, LooseEnd, Parent, SnapshotRecord, Stored, WorkspaceRecord};
use crate::model::{
    Code, Error, Lineage, Place, Probe, RestoreRequest, Result, SandboxId, SnapshotId, WorkspaceRef, mint,
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

    let (derivation, _underway) = claim(this, &workspace, &snapshot, lineage).await?;
    let minted = &derivation.sandbox_id;
    let applied = match apply(this, minted, stored, abort).await {
        Ok(()) if planted(Bug::AbortIgnored) => Ok(()),
        Ok(()) => abort.check(),
        Err(error) => Err(error),
    };
    match applied {
        Ok(()) => {
            settle(this, &derivation)?;
            Ok(WorkspaceRef::new(minted.clone(), workspace.root_id))
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
) -> Result<(Derivation, Underway)> {
    const DRAWS: u32 = 4;
    let parent = Parent {
        origin_id: workspace.sandbox_id.clone(),
        snapshot_id: snapshot.snapshot_id.clone(),
        lineage,
        needed: true,
    };
    for _ in 0..DRAWS {
        let minted = mint(&this.id, lineage, &this.draw_short_id()?)?;
        if this.ports.ledger()?.derivation(&minted)?.is_some() {
            continue;
        }
        let Some(underway) = this.memory.take(Work::Sandbox(minted.clone())) else { continue };
        // The claim comes first: what is not known to be ours must never be destroyed by recovery. One that nothing comes of
        // uses up an id, and nothing else.
        let claimed = retry(&*this.ports, &Abort::never(), async || {
            let claimed = this.ports.workspaces()?.claim(&minted, &workspace.root_id, Some(&parent), None).await;
            claimed.map_err(|failure| from_workspace(failure, &minted))
        })
        .await?;
        if claimed || planted(Bug::ClaimIgnored) {
            return Ok((intend(this, minted, &snapshot.snapshot_id, lineage)?, underway));
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

/// Applies the backup to the minted sandbox before anything else touches it, and looks that it arrived: in the container
/// that runs now, which must be the one that it was applied to.
async fn apply<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    minted: &SandboxId,
    stored: &Stored,
    abort: &Abort,
) -> Result<()> {
    let sandboxes = this.ports.sandboxes()?;
    let dir = stored.backup.dir();
    let failed = |failure| from_sandbox(failure, minted, During::Restore);
    retry(&*this.ports, abort, async || {
        let visit = sandboxes.visit(minted);
        let (named, restored) = join(visit.name(), visit.restore_backup(&stored.backup, stored.size_bytes)).await;
        named.and(restored).map_err(failed)?;
        let restored_at = this.ports.clock().now();
        let arrived = match container::age(&*this.ports, Some(&visit), minted, dir, restored_at).await? {
            Age::Older(Probe { place: Place::Full, .. }) => true,
            Age::Older(Probe { place: Place::Empty, .. }) => is_empty(this, stored.backup.id()).await?,
            _ => false,
        };
        if arrived { Ok(()) } else { Err(lost(minted)) }
    })
    .await
}

pub(super) fn lost(minted: &SandboxId) -> Error {
    Error::new(
        Code::RestoreFailed,
        format!("The sandbox {:?} reported the restore as done, but the files are not there.", minted.as_str()),
        "Try again. If it stays, look at the logs of the sandbox's Worker.",
    )
}
