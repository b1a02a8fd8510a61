//! A sandbox is going to be made from a snapshot of this workspace, by its own workspace, when it is first started.

use crate::model::named::messages::ReserveRequest;
use crate::model::record::{Derivation, DerivationState, Parent, SnapshotRecord};
use crate::model::{Code, Error, Result};
use crate::ports::{Clock, Ledger, Ports, Workspaces};
use crate::service::failures::from_workspace;
use crate::service::planted::{Bug, planted};
use crate::service::retry::retry;
use crate::service::select::ready;
use crate::service::{Abort, CloudflareSandboxSnapshotter};

use super::source::used;

/// Claims the id, and notes that it needs the snapshot; `false` when it is somebody else's. Asked again, it is the same answer.
pub(in crate::service) async fn reserve<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &ReserveRequest,
) -> Result<bool> {
    let ledger = this.ports.ledger()?;
    let ReserveRequest { sandbox_id, snapshot_id, lineage, standing } = request;
    let known_before = known(this, request)?;
    if known_before == Some(false) || (known_before.is_some() && planted(Bug::ReservedOnce)) {
        return Ok(false);
    }
    let workspace = this.workspace()?;
    ready(&present(this, request)?)?;
    let parent = Parent {
        origin_id: workspace.sandbox_id.clone(),
        snapshot_id: snapshot_id.clone(),
        lineage: *lineage,
        needed: true,
    };
    let is_claimed = retry(&*this.ports, &Abort::never(), async || {
        let claimed =
            this.ports.workspaces()?.claim(sandbox_id, &workspace.root_id, Some(&parent), Some(standing), None).await;
        claimed.map_err(|failure| from_workspace(failure, sandbox_id))
    })
    .await?;
    if !is_claimed {
        return Ok(false);
    }
    // The same call may have been made again, and the sandbox retired meanwhile.
    if let Some(is_theirs) = known(this, request)?.filter(|_| !planted(Bug::ReservedTooLate)) {
        return Ok(is_theirs);
    }
    ready(&present(this, request)?)?;
    ledger.put_derivation(&Derivation {
        sandbox_id: sandbox_id.clone(),
        snapshot_id: snapshot_id.clone(),
        lineage: *lineage,
        began_at: this.ports.clock().now(),
        state: DerivationState::Ready { holds: true },
    })?;
    used(this, snapshot_id)?;
    Ok(true)
}

/// Whether the id is reserved for the snapshot already, and still needs it; `None` where nothing is known of it.
fn known<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &ReserveRequest) -> Result<Option<bool>> {
    let derivation = this.ports.ledger()?.derivation(&request.sandbox_id)?;
    Ok(derivation.map(|derivation| derivation.snapshot_id == request.snapshot_id && derivation.holds()))
}

fn present<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &ReserveRequest) -> Result<SnapshotRecord> {
    this.ports.ledger()?.snapshot(&request.snapshot_id)?.ok_or_else(|| {
        Error::new(
            Code::SnapshotNotFound,
            format!("The ledger of {:?} has no snapshot {} (any more).", this.id.as_str(), request.snapshot_id),
            "Use another snapshot: list() shows those that are there.",
        )
    })
}
