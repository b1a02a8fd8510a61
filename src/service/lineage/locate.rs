//! Finds the sandbox that a snapshot was taken of, in the lineage of another sandbox.

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};

use super::{CONCURRENCY, MAX_SANDBOXES};
use crate::model::answer::WorkspaceLineage;
use crate::model::named::Tenant;
use crate::model::{Error, Failure, Result, SandboxId, SnapshotId};
use crate::ports::{Ports, SandboxLedgerClient};

/// The sandbox that a snapshot was taken of.
pub struct SnapshotOrigin {
    /// The id of the sandbox.
    pub sandbox_id: SandboxId,
    /// The tenant of its named workspace, if it belongs to one.
    pub tenant: Option<Tenant>,
}

/// Returns the sandbox of the lineage of `id` whose ledger lists the snapshot. Asks `id` first, and then the lineage from
/// its root.
///
/// # Errors
/// Those of a sandbox that did not answer, if no other one has the snapshot.
pub async fn find_origin<P: Ports>(
    ports: &P,
    id: &SandboxId,
    snapshot_id: &SnapshotId,
) -> Result<Option<SnapshotOrigin>> {
    let own = ports.sandbox_ledgers()?.describe(id).await.map_err(|failure| Error::other_ledger_failed(id, failure))?;
    let mut level = vec![own.root_id.clone()];
    if let Ok(origin) = origin_in(id, own, snapshot_id) {
        return Ok(Some(origin));
    }
    let mut asked = BTreeSet::new();
    let mut failed = None;
    while !level.is_empty() {
        asked.extend(level.iter().cloned());
        if asked.len() > MAX_SANDBOXES {
            return Err(Error::lineage_too_large(snapshot_id, MAX_SANDBOXES));
        }
        let answers: Vec<_> = stream::iter(level).map(|id| describe(ports, id)).buffered(CONCURRENCY).collect().await;
        level = Vec::new();
        for (id, answer) in answers {
            let derived = match answer {
                Ok(lineage) => match origin_in(&id, lineage, snapshot_id) {
                    Ok(origin) => return Ok(Some(origin)),
                    Err(derived) => derived,
                },
                Err(failure) => {
                    failed.get_or_insert(Error::other_ledger_failed(&id, failure));
                    continue;
                }
            };
            level.extend(derived.into_iter().filter(|id| !asked.contains(id)));
        }
    }
    // "Not found" requires an answer of every sandbox.
    failed.map_or(Ok(None), Err)
}

/// Returns the sandbox as the origin if it lists the snapshot, and otherwise the sandboxes that were made from it.
fn origin_in(
    id: &SandboxId,
    lineage: WorkspaceLineage,
    snapshot_id: &SnapshotId,
) -> Result<SnapshotOrigin, Vec<SandboxId>> {
    if lineage.snapshots.iter().any(|snapshot| snapshot.snapshot_id == *snapshot_id) {
        return Ok(SnapshotOrigin { sandbox_id: id.clone(), tenant: lineage.workspace.map(|address| address.tenant) });
    }
    Err(lineage.derived.into_iter().map(|(_, derived)| derived.sandbox_id).collect())
}

async fn describe<P: Ports>(ports: &P, id: SandboxId) -> (SandboxId, Result<WorkspaceLineage, Failure>) {
    let answer = match ports.sandbox_ledgers() {
        Ok(ledgers) => ledgers.describe(&id).await,
        Err(error) => Err(Failure::new(error.code().as_str(), error.message())),
    };
    (id, answer)
}
