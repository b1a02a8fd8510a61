//! Snapshot selection: finds the snapshot that a request names by ref, id or label.

use crate::model::record::{CaptureInProgress, SandboxRecord, SnapshotRecord, Stage, StoredBackup};
use crate::model::{Error, Result, Selection, Selector, ShortRef, SnapshotRef, is_signed_by};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::in_process::WorkKey;
use crate::service::tasks::backoff::Backoff;

/// A snapshot, and the sandbox that it belongs to.
pub(in crate::service) struct Selected {
    /// The record of the sandbox that the snapshot belongs to.
    pub sandbox: SandboxRecord,
    /// The snapshot. A deleted one is found too, as long as the ledger keeps its row.
    pub snapshot: SnapshotRecord,
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the snapshot that `selection` names, and verifies that the caller may use it.
    ///
    /// # Errors
    /// [`Code::CrossLineage`], [`Code::RefMismatch`] for a ref that this sandbox did not sign or that does not match
    /// the ledger, [`Code::SnapshotNotFound`].
    pub(in crate::service) async fn select(&self, selection: &Selection) -> Result<Selected> {
        self.check_lineage(&selection.lineage_scope, &self.sandbox_record()?.root_id).await?;
        // Not before: the policy and the keys may have changed while another sandbox answered.
        let sandbox = self.sandbox_record()?;
        match &selection.selector {
            Selector::Ref { r#ref } => check_signature(r#ref, &sandbox)?,
            Selector::Short { r#ref } => check_short_signature(r#ref, &sandbox)?,
            Selector::Id { .. } | Selector::Label { .. } => {}
        }
        let found = match &selection.selector {
            Selector::Ref { r#ref } => self.ledger.snapshot(r#ref.snapshot_id())?,
            Selector::Short { r#ref } => self.ledger.snapshot(r#ref.snapshot_id())?,
            Selector::Id { snapshot_id, .. } => self.ledger.snapshot(snapshot_id)?,
            Selector::Label { label, .. } => self.ledger.snapshot_by_label(label)?,
        };
        let Some(snapshot) = found else { return Err(self.snapshot_not_found(&selection.selector)?) };
        if let Selector::Ref { r#ref } = &selection.selector {
            check_row(r#ref, &snapshot)?;
        }
        Ok(Selected { sandbox, snapshot })
    }

    /// Returns the stored backup of a ready snapshot.
    ///
    /// # Errors
    /// [`Code::SnapshotBusy`](crate::model::Code::SnapshotBusy) while it is being created,
    /// [`Code::SnapshotNotFound`](crate::model::Code::SnapshotNotFound) with the reason when it was removed.
    pub(in crate::service) fn require_ready<'a>(&self, snapshot: &'a SnapshotRecord) -> Result<&'a StoredBackup> {
        match &snapshot.stage {
            Stage::Ready { stored } => Ok(stored),
            Stage::Creating(progress) => Err(self.being_created(snapshot, progress)),
            Stage::Deleting { removal, .. } | Stage::Deleted { removal, .. } => {
                Err(Error::snapshot_removed(&snapshot.snapshot_id, removal))
            }
        }
    }

    /// Returns the error for a use of a snapshot that is being created, or whose capture was interrupted.
    pub(in crate::service) fn being_created(&self, snapshot: &SnapshotRecord, progress: &CaptureInProgress) -> Error {
        let id = &snapshot.snapshot_id;
        // One that has its archive is completed soon.
        if progress.backup.is_some() || self.in_process.is_leased(&WorkKey::Snapshot(id.clone())) {
            return Error::snapshot_being_created(id);
        }
        Error::capture_interrupted(id, Backoff::BACKUP_SEARCH.last_attempt_at(progress.task))
    }

    /// Returns the error for a selector that no snapshot matches. It says when and why the last snapshot with a label was
    /// removed.
    fn snapshot_not_found(&self, selector: &Selector) -> Result<Error> {
        let Selector::Label { label, .. } = selector else { return Ok(Error::snapshot_not_found(selector)) };
        let removed = self.ledger.deleted_snapshot_by_label(label)?;
        let error = removed.as_ref().and_then(|row| match &row.stage {
            Stage::Deleted { removal, .. } => Some(Error::labelled_snapshot_removed(label, &row.snapshot_id, removal)),
            _ => None,
        });
        Ok(error.unwrap_or_else(|| Error::snapshot_not_found(selector)))
    }
}

/// Verifies that this sandbox signed the ref.
fn check_signature(r#ref: &SnapshotRef, sandbox: &SandboxRecord) -> Result<()> {
    if is_signed_by(r#ref, &sandbox.keys) {
        return Ok(());
    }
    Err(Error::ref_forged(r#ref))
}

/// Verifies that this sandbox signed the short ref.
fn check_short_signature(short: &ShortRef, sandbox: &SandboxRecord) -> Result<()> {
    let message = short.signed_bytes();
    let is_signed = sandbox.keys.iter().any(|key| key.verify_short(&message, short.signature()));
    if is_signed { Ok(()) } else { Err(Error::short_ref_forged(short)) }
}

/// Verifies that the ref agrees with the ledger. A signed ref that does not was signed over an earlier state of the
/// ledger.
fn check_row(r#ref: &SnapshotRef, snapshot: &SnapshotRecord) -> Result<()> {
    let agrees = |stored: &StoredBackup| {
        stored.backup.public_handle().is_ok_and(|handle| handle == *r#ref.backup())
            && stored.created_at == r#ref.created_at()
    };
    if snapshot.stored().is_some_and(agrees) {
        return Ok(());
    }
    Err(Error::ref_outdated(r#ref))
}
