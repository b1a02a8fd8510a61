//! Takes back what a failed operation left.

use super::failures::{During, from_sandbox, from_storage};
use super::planted::{Bug, planted};
use super::retry::retry;
use super::stored::mark_of;
use super::{Abort, CloudflareSandboxSnapshotter, trace};
use crate::model::{BackupId, Code, Error, Mark, Result, SandboxId};
use crate::ports::{BackupStore, Ports, Sandboxes};

/// Deletes a backup that must not be used, if it carries `mark`: anything else in the bucket is not ours to delete. The
/// error says so, or that it is still there; and whether nothing of it is left is answered beside.
pub(super) async fn discard_backup<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &BackupId,
    mark: &Mark,
    error: Error,
) -> (Error, bool) {
    match delete_marked(this, id, mark).await {
        Ok(true) => (error.and(&format!("The backup {id} was deleted.")), true),
        Ok(false) => {
            (error.and(&format!("The backup {id} was left alone: none with this snapshot's mark is there.")), true)
        }
        Err(undo) => {
            let sentence = format!("The backup {id} could not be deleted and is still in R2: {}", undo.message());
            (error.and(&sentence), false)
        }
    }
}

/// Deletes a backup if it carries `mark`; says whether it did.
pub(super) async fn delete_marked<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &BackupId,
    mark: &Mark,
) -> Result<bool> {
    if mark_of(&*this.ports, id).await?.as_ref() != Some(mark) && !planted(Bug::MarkNotChecked) {
        return Ok(false);
    }
    retry(&*this.ports, &Abort::never(), async || {
        let failed = |failure| from_storage(failure, &format!("deleting the backup {id}"));
        this.ports.backups()?.delete(id).await.map_err(failed)?;
        trace::discarded(id);
        Ok(true)
    })
    .await
}

/// Ends a minted sandbox that nobody gets. The error says so, or that it may still be running.
pub(super) async fn destroy_minted<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SandboxId,
    error: Error,
) -> Error {
    match destroy(this, id).await {
        Ok(()) => error.and(&format!("The new sandbox {:?} was destroyed.", id.as_str())),
        Err(undo) => error.and(&format!(
            "The new sandbox {:?} could not be destroyed and may still be running: {}",
            id.as_str(),
            undo.message()
        )),
    }
}

/// Ends a sandbox's container. That of a workspace of which the end is not answered in time is noted: it may come late.
pub(super) async fn destroy<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &SandboxId) -> Result<()> {
    let ended = retry(&*this.ports, &Abort::never(), async || {
        this.ports.sandboxes()?.destroy(id).await.map_err(|failure| from_sandbox(failure, id, During::Destroy))?;
        trace::ended(id);
        Ok(())
    })
    .await;
    let is_unanswered = ended.as_ref().is_err_and(|error| error.code() == Code::SandboxTimeout);
    if *id == *this.id && (is_unanswered || ended.is_ok()) && this.workspace()?.standing.is_some() {
        this.stand(|standing| standing.end_unanswered = is_unanswered)?;
    }
    ended
}
