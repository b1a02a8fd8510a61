//! A sandbox is not needed any more: it is ended, and its snapshots go as soon as nobody else needs them.

use super::look_after;
use crate::model::named::Address;
use crate::model::named::messages::{Kept, Retired};
use crate::model::named::standing::Standing;
use crate::model::{Result, SnapshotId};
use crate::ports::{Clock, Ledger, Ports};
use crate::service::planted::{Bug, planted};
use crate::service::undo::destroy;
use crate::service::{CloudflareSandboxSnapshotter, delete, hold, retain, workspace};

/// Retires the workspace, if it stands for that name. One that is retired already is fine.
///
/// # Errors
/// When the sandbox could not be ended; everything else is done then.
pub(in crate::service) async fn retire<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    address: Address,
) -> Result<Retired> {
    let _turn = this.memory.lifecycle.lock().await;
    if this.ports.ledger()?.workspace()?.is_none() && !planted(Bug::RetiredStillClaimed) {
        // It is being claimed by somebody who died since, and must never come to be.
        let standing = Standing::of(address.clone(), this.config.default_dir.clone());
        workspace::claim(&this, &this.id, None, Some(&standing), None)?;
    }
    if this.workspace()?.standing.is_none_or(|standing| standing.address != address) {
        return Ok(Retired::default());
    }
    let now = this.ports.clock().now();
    look_after(&this)?;
    let mut workspace = this.workspace()?;
    workspace.retired_at.get_or_insert(now);
    this.ports.ledger()?.put_workspace(&workspace)?;
    hold::give_up(&this, &mut workspace)?;
    let (gone, kept) = let_go(&this)?;
    for id in &gone {
        // What R2 fails to delete is left to the alarm.
        drop(delete::finish(&this, id).await);
    }
    destroy(&this, &this.id).await?;
    Ok(Retired { removed: gone.len(), kept })
}

/// Lets go, in the ledger, of what nobody else needs; answers the rest beside.
pub(in crate::service) fn let_go<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
) -> Result<(Vec<SnapshotId>, Vec<Kept>)> {
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for snapshot in retain::ready(this)? {
        let snapshot_id = snapshot.snapshot_id.clone();
        let holders = this.holders(&snapshot_id)?;
        if (holders.is_empty() || planted(Bug::RetiredIgnoresHolders)) && !snapshot.pinned {
            delete::let_go(this, snapshot, "its workspace was deleted")?;
            gone.push(snapshot_id);
        } else {
            kept.push(Kept { snapshot_id, origin_id: (*this.id).clone(), holders, pinned: snapshot.pinned });
        }
    }
    Ok((gone, kept))
}
