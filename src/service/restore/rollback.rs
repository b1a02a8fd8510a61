//! Rollback: deletes the backup or destroys the sandbox that a failed operation left.

use crate::model::{BackupId, BackupOwner, Code, Error, Result, SandboxId};
use crate::ports::{BackupStore, Ports, Sandboxes};
use crate::service::calls::call_context;
use crate::service::calls::failures::{During, from_sandbox, from_storage};
use crate::service::calls::retry::retry;
use crate::service::planted::{Bug, planted};
use crate::service::snapshot::stored_backup::read_mark;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// Deletes a backup that must not be used, if it carries the owner mark `mark`: the Worker deletes nothing else in the
/// bucket. Returns the error with a note on the result, and whether no object with that mark remains.
pub(in crate::service) async fn discard_backup<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &BackupId,
    mark: &BackupOwner,
    error: Error,
) -> (Error, bool) {
    match delete_marked(this, id, mark).await {
        Ok(true) => (error.with_note(&format!("The backup {id} was deleted.")), true),
        Ok(false) => (
            error.with_note(&format!(
                "The backup {id} was not deleted: it does not exist, or does not carry the mark of this snapshot."
            )),
            true,
        ),
        Err(rollback_error) => {
            let sentence =
                format!("The backup {id} could not be deleted and is still in R2: {}", rollback_error.message());
            (error.with_note(&sentence), false)
        }
    }
}

/// Deletes a backup if it carries the owner mark `mark`. Returns whether it was deleted.
pub(in crate::service) async fn delete_marked<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &BackupId,
    mark: &BackupOwner,
) -> Result<bool> {
    if read_mark(&*this.ports, id).await?.as_ref() != Some(mark) && !planted(Bug::BackupOwnerNotChecked) {
        return Ok(false);
    }
    retry(&*this.ports, &CancellationToken::never(), async || {
        let failed = |failure| from_storage(failure, &format!("deleting the backup {id}"));
        this.ports.backups()?.delete(id).await.map_err(failed)?;
        call_context::record_discarded(id);
        Ok(true)
    })
    .await
}

/// Destroys the minted sandbox of a failed operation. Returns the error with a note that it was destroyed, or that it
/// may still be running.
pub(in crate::service) async fn destroy_minted<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SandboxId,
    error: Error,
) -> Error {
    match destroy(this, id).await {
        Ok(()) => error.with_note(&format!("The new sandbox {:?} was destroyed.", id.as_str())),
        Err(rollback_error) => error.with_note(&format!(
            "The new sandbox {:?} could not be destroyed and may still be running: {}",
            id.as_str(),
            rollback_error.message()
        )),
    }
}

/// Destroys the container of a sandbox. For a named workspace, records whether the call timed out, because the
/// container may then end later.
pub(in crate::service) async fn destroy<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SandboxId,
) -> Result<()> {
    let ended = retry(&*this.ports, &CancellationToken::never(), async || {
        this.ports.sandboxes()?.destroy(id).await.map_err(|failure| from_sandbox(failure, id, During::Destroy))?;
        call_context::record_ended(id);
        Ok(())
    })
    .await;
    let is_unanswered = ended.as_ref().is_err_and(|error| error.code() == Code::SandboxTimeout);
    if *id == *this.id && (is_unanswered || ended.is_ok()) && this.workspace()?.binding.is_some() {
        this.update_binding(|binding| binding.destroy_unconfirmed = is_unanswered)?;
    }
    ended
}
