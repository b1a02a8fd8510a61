//! Takes back what a failed operation left.

use super::failures::{During, from_sandbox, from_storage};
use super::retry::retry;
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::{BackupId, Error, Mark, SandboxId};
use crate::ports::{BackupStore, Ports, Sandboxes};

/// Deletes a backup that must not be used, if it carries `mark`: anything else in the bucket is not ours to delete. The
/// error says so, or that it is still there.
pub(super) async fn discard_backup<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &BackupId,
    mark: &Mark,
    error: Error,
) -> Error {
    let never = Abort::never();
    let deleted = retry(&*this.ports, &never, async || {
        let failed = |failure| from_storage(failure, &format!("deleting the backup {id}"));
        let backups = this.ports.backups()?;
        let name = backups.metadata(id).await.map_err(failed)?.and_then(|metadata| metadata.name);
        if name.as_deref().and_then(Mark::parse).as_ref() != Some(mark) {
            return Ok(false);
        }
        backups.delete(id).await.map_err(failed)?;
        Ok(true)
    });
    match deleted.await {
        Ok(true) => error.and(&format!("The backup {id} was deleted.")),
        Ok(false) => error.and(&format!("The backup {id} was left alone: none with this snapshot's mark is there.")),
        Err(undo) => error.and(&format!("The backup {id} could not be deleted and is still in R2: {}", undo.message())),
    }
}

/// Ends a minted sandbox that nobody gets. The error says so, or that it may still be running.
pub(super) async fn destroy_minted<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SandboxId,
    error: Error,
) -> Error {
    let never = Abort::never();
    let destroyed = retry(&*this.ports, &never, async || {
        this.ports.sandboxes()?.destroy(id).await.map_err(|failure| from_sandbox(failure, id, During::Destroy))
    });
    match destroyed.await {
        Ok(()) => error.and(&format!("The new sandbox {:?} was destroyed.", id.as_str())),
        Err(undo) => error.and(&format!(
            "The new sandbox {:?} could not be destroyed and may still be running: {}",
            id.as_str(),
            undo.message()
        )),
    }
}
