//! Decommissions a sandbox that its workspace no longer needs: destroys it, and deletes its snapshots as soon as no
//! other sandbox depends on them.

use super::schedule_reconcile;
use crate::model::named::Address;
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::messages::{Decommissioned, KeptSnapshot};
use crate::model::{Result, SnapshotId};
use crate::ports::{Clock, Ledger, Ports};
use crate::service::planted::{Bug, planted};
use crate::service::restore::rollback::destroy;
use crate::service::retention::{self, delete, references};
use crate::service::{CloudflareSandboxSnapshotter, ledger};

/// Decommissions the sandbox if it belongs to the workspace at `address`. Succeeds if the sandbox is decommissioned
/// already.
///
/// # Errors
/// If the sandbox cannot be destroyed. All other steps are complete then.
pub(in crate::service) async fn decommission<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    address: Address,
) -> Result<Decommissioned> {
    let _lock = this.in_process.lifecycle_lock.lock().await;
    if this.ports.ledger()?.workspace()?.is_none() && !planted(Bug::DecommissionedStillClaimed) {
        // A caller that ended early may still claim this sandbox. The row makes that claim fail once it is
        // decommissioned.
        let binding = WorkspaceBinding::new(address.clone(), this.config.default_dir.clone());
        ledger::claim(&this, &this.id, None, Some(&binding), None)?;
    }
    if this.workspace()?.binding.is_none_or(|binding| binding.address != address) {
        return Ok(Decommissioned::default());
    }
    let now = this.ports.clock().now();
    schedule_reconcile(&this)?;
    let mut workspace = this.workspace()?;
    workspace.decommissioned_at.get_or_insert(now);
    this.ports.ledger()?.put_workspace(&workspace)?;
    references::release(&this, &mut workspace)?;
    let (deleted, kept) = delete_unreferenced(&this)?;
    for id in &deleted {
        // The alarm retries the deletions that R2 fails.
        drop(delete::finish_deletion(&this, id).await);
    }
    destroy(&this, &this.id).await?;
    Ok(Decommissioned { removed: deleted.len(), kept })
}

/// Begins the deletion of all ready snapshots that have no dependents and are not pinned. Returns their ids, and the
/// snapshots that remain.
pub(in crate::service) fn delete_unreferenced<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
) -> Result<(Vec<SnapshotId>, Vec<KeptSnapshot>)> {
    let (mut deleted, mut kept) = (Vec::new(), Vec::new());
    for snapshot in retention::ready_snapshots(this)? {
        let snapshot_id = snapshot.snapshot_id.clone();
        let dependents = this.dependents(&snapshot_id)?;
        if (dependents.is_empty() || planted(Bug::DecommissionIgnoresDependents)) && !snapshot.pinned {
            delete::begin_deletion(this, snapshot, "its workspace was deleted")?;
            deleted.push(snapshot_id);
        } else {
            kept.push(KeptSnapshot { snapshot_id, origin_id: (*this.id).clone(), dependents, pinned: snapshot.pinned });
        }
    }
    Ok((deleted, kept))
}
