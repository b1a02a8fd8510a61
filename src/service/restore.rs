//! Makes a new sandbox from a snapshot.

use super::container::{self, Age};
use super::failures::{During, from_sandbox};
use super::retry::retry;
use super::stored::{Stored, look_up};
use super::undo::destroy_minted;
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::{
    Code, Error, Lineage, Place, Probe, RestoreRequest, Result, SandboxId, SnapshotRef, WorkspaceRef, mint, root_of,
};
use crate::ports::{Clock, Ports, Sandboxes};

/// The size in bytes of the archive of an empty directory, or of a little more. A larger one has something in it.
const EMPTY_ARCHIVE: u64 = 4096;

/// Makes the sandbox, or leaves none behind.
pub(super) async fn restore<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: RestoreRequest,
    lineage: Lineage,
    abort: Abort,
) -> Result<WorkspaceRef> {
    let snapshot = request.snapshot;
    abort.check()?;
    let stored = check(&this, &snapshot).await?;
    abort.check()?;

    let minted = mint(snapshot.origin_id(), lineage, &this.draw_short_id()?)?;
    let applied = match apply(&this, &minted, &snapshot, &stored, &abort).await {
        Ok(()) => abort.check(),
        Err(error) => Err(error),
    };
    match applied {
        Ok(()) => Ok(WorkspaceRef::new(minted, snapshot.root_id().clone())),
        Err(error) => Err(destroy_minted(&this, &minted, error).await),
    }
}

/// Makes sure that the backup is there, can be restored now, and is the one that the ref claims.
async fn check<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, snapshot: &SnapshotRef) -> Result<Stored> {
    let backup = snapshot.backup();
    let stored = look_up(this, backup.id()).await?;
    let told = [
        ("snapshotId", stored.mark.snapshot_id == *snapshot.snapshot_id()),
        ("originId", stored.mark.origin_id == *snapshot.origin_id()),
        ("rootId", root_of(&stored.mark.origin_id) == *snapshot.root_id()),
        ("backup.dir", stored.metadata.dir == backup.dir().as_str()),
        ("createdAt", stored.metadata.created_at == snapshot.created_at()),
    ];
    if let Some((field, _)) = told.iter().find(|(_, agrees)| !agrees) {
        return Err(Error::new(
            Code::RefMismatch,
            format!(
                "The snapshot ref does not agree with its backup {} in `{field}`: it was forged or altered.",
                backup.id()
            ),
            "Pass the ref on exactly as snapshot() answered it.",
        ));
    }
    if stored.metadata.is_expired(this.ports.clock().now()) {
        return Err(Error::new(
            Code::BackupExpired,
            format!(
                "The backup {} was stored at {} to be restored within {} seconds, which are over.",
                backup.id(),
                stored.metadata.created_at,
                stored.metadata.ttl
            ),
            "Use another snapshot; take snapshots with a longer ttl, or without one.",
        ));
    }
    Ok(stored)
}

/// Applies the backup to the minted sandbox before anything else touches it, and looks that it arrived: in the container
/// that runs now, which must be the one that it was applied to.
async fn apply<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    minted: &SandboxId,
    snapshot: &SnapshotRef,
    stored: &Stored,
    abort: &Abort,
) -> Result<()> {
    let sandboxes = this.ports.sandboxes()?;
    let dir = snapshot.backup().dir();
    let failed = |failure| from_sandbox(failure, minted, During::Restore);
    retry(&*this.ports, abort, async || {
        sandboxes.name(minted).await.map_err(failed)?;
        sandboxes.restore_backup(minted, snapshot.backup()).await.map_err(failed)?;
        let restored_at = this.ports.clock().now();
        let arrived = match container::age(&*this.ports, minted, dir, restored_at).await? {
            Age::Older(Probe { place: Place::Full, .. }) => true,
            Age::Older(Probe { place: Place::Empty, .. }) => stored.metadata.size_bytes <= EMPTY_ARCHIVE,
            _ => false,
        };
        if arrived { Ok(()) } else { Err(lost(minted)) }
    })
    .await
}

fn lost(minted: &SandboxId) -> Error {
    Error::new(
        Code::RestoreFailed,
        format!("The sandbox {:?} reported the restore as done, but the files are not there.", minted.as_str()),
        "Try again. If it stays, look at the logs of the sandbox's Worker.",
    )
}
