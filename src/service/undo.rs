//! Takes back what a failed operation left.

use super::failures::{During, from_sandbox, from_storage};
use super::retry::retry;
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::{BackupId, Error, SandboxId};
use crate::ports::{BackupStore, Ports, Sandboxes};

/// Deletes a backup that must not be used. The error says so, or that it is still there.
pub(super) async fn discard_backup<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &BackupId,
    error: Error,
) -> Error {
    let never = Abort::never();
    let deleted = retry(&*this.ports, &never, async || {
        this.ports
            .backups()?
            .delete(id)
            .await
            .map_err(|failure| from_storage(failure, &format!("deleting the backup {id}")))
    });
    match deleted.await {
        Ok(()) => error.and(&format!("The backup {id} was deleted.")),
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
