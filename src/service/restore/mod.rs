//! `restore` and `branch`: create a new sandbox from a snapshot.
//!
//! The Worker records the minted id before it touches the sandbox, in the ledger of the snapshot and in that of the new
//! sandbox. So no other call uses the id, and recovery (`rollback.rs`) finds and destroys the sandbox when this object ends
//! at any point.
//!
//! - [`arrival`]: verifies that a backup has arrived in the container that it was applied to
//! - [`files`]: restores the files of a backup, or of a base and a delta
//! - [`rollback`]: removes what a failed operation left

pub(super) mod arrival;
pub(in crate::service) mod files;
mod rollback;

use futures_util::future::join;

use self::files::RestoreTarget;
use super::calls::failures::{During, from_sandbox};
use super::calls::retry::retry;
use super::in_process::{WorkKey, WorkLease};
use super::runtime::ensure_restorable_in;
use super::snapshot::select::Selected;
use super::tasks::backoff::Backoff;
use super::{CancellationToken, CloudflareSandboxSnapshotter};
use crate::model::named::ContainerMarker;
use crate::model::named::messages::ClaimRequest;
use crate::model::named::settings::OnImageChange;
use crate::model::record::{Derivation, DerivedState, ParentLink, SandboxRecord, SnapshotRecord, StoredBackup};
use crate::model::{
    DerivationKind, Error, MarkerOutcome, Provenance, RestoreRequest, Result, Runtime, SandboxId, SnapshotId,
    WorkspaceRef, mint_sandbox_id,
};
use crate::ports::{Ledger, Ports, SandboxLedgerClient, SandboxSession, Sandboxes};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Makes a new sandbox from a snapshot, to recover its state. The existing sandbox does not change.
    pub async fn restore(&self, request: RestoreRequest, abort: CancellationToken) -> Result<WorkspaceRef> {
        Box::pin(self.derive_sandbox(request, DerivationKind::Restored, abort)).await
    }

    /// Makes a new sandbox from a snapshot, to continue from its state independently.
    pub async fn branch(&self, request: RestoreRequest, abort: CancellationToken) -> Result<WorkspaceRef> {
        Box::pin(self.derive_sandbox(request, DerivationKind::Branch, abort)).await
    }

    async fn derive_sandbox(
        &self,
        request: RestoreRequest,
        kind: DerivationKind,
        abort: CancellationToken,
    ) -> Result<WorkspaceRef> {
        self.prepare_call().await?;
        // This check precedes the idempotency key, so that a caller of another lineage does not learn that it was used.
        if request.selection.lineage_scope.sandbox_id.is_some() {
            self.check_lineage_scope(&request.selection.lineage_scope).await?;
        }
        let (this, token) = (self.clone(), abort.clone());
        let work = async move {
            let restore = async {
                let what = format!("restores and branches of the sandbox {:?}", this.id.as_str());
                let _permit = this.in_process.restore_queue.acquire(None, &what)?;
                this.restore_snapshot(&request, kind, &token).await
            };
            let key = request.idempotency_key.as_deref();
            let without_key = RestoreRequest { idempotency_key: None, ..request.clone() };
            this.run_once(key, kind.as_str(), &without_key, &token, restore).await
        };
        abort.run_until_cancelled(work, self.ports.background()).await
    }

    /// Creates a sandbox from a snapshot, and retries transient failures. On an error, no sandbox remains.
    async fn restore_snapshot(
        &self,
        request: &RestoreRequest,
        kind: DerivationKind,
        abort: &CancellationToken,
    ) -> Result<WorkspaceRef> {
        abort.check()?;
        let Selected { sandbox, snapshot } = self.select(&request.selection).await?;
        let runtime = self.derived_runtime(request.runtime)?;
        let stored = self.require_ready(&snapshot)?;
        stored.backup.check_restorable()?;
        let inspected = self.inspect_backup(stored, &snapshot.backup_owner(&self.id)).await;
        self.record_check(&snapshot.snapshot_id, &inspected)?;
        ensure_restorable_in(runtime, inspected?.metadata.format, stored)?;
        abort.check()?;

        retry(&*self.ports, abort, async || {
            let made = (kind, runtime, request.on_image_change);
            Box::pin(self.try_restore(&sandbox, &snapshot, stored, made, abort)).await
        })
        .await
    }

    /// Makes one attempt, in a new sandbox: late calls of an earlier attempt, such as a destroy, may still arrive in
    /// that one's sandbox.
    async fn try_restore(
        &self,
        sandbox: &SandboxRecord,
        snapshot: &SnapshotRecord,
        stored: &StoredBackup,
        (kind, runtime, on_image_change): (DerivationKind, Option<Runtime>, OnImageChange),
        abort: &CancellationToken,
    ) -> Result<WorkspaceRef> {
        let (derivation, marker, _lease) = self.claim_minted_id(sandbox, snapshot, (kind, runtime)).await?;
        let minted = &derivation.sandbox_id;
        let restored = async {
            abort.check()?;
            let stale = self.apply_backup(minted, snapshot, stored, &marker, on_image_change).await?;
            abort.check().map(|()| stale)
        };
        match restored.await {
            Ok(stale) => {
                self.mark_ready(&derivation)?;
                let made = WorkspaceRef::new(minted.clone(), sandbox.root_id.clone());
                Ok(made.with_stale(stale).with_missing(snapshot.missing_secrets()))
            }
            Err(error) => {
                let recorded = self.mark_ending(&derivation);
                let error = self.destroy_minted(minted, error).await;
                Err(match recorded {
                    Ok(()) => error,
                    Err(not_recorded) => error.with_note(not_recorded.message()),
                })
            }
        }
    }

    /// Mints an unused sandbox id, claims it and records it.
    async fn claim_minted_id(
        &self,
        sandbox: &SandboxRecord,
        snapshot: &SnapshotRecord,
        (kind, runtime): (DerivationKind, Option<Runtime>),
    ) -> Result<(Derivation, String, WorkLease)> {
        const DRAWS: u32 = 4;
        let parent = ParentLink {
            origin_id: sandbox.sandbox_id.clone(),
            snapshot_id: snapshot.snapshot_id.clone(),
            kind,
            needs_snapshot: true,
        };
        for _ in 0..DRAWS {
            let short_id = self.random_short_id()?;
            let minted = mint_sandbox_id(&self.id, kind, &short_id)?;
            if self.ledger.derived_sandbox(&minted)?.is_some() {
                continue;
            }
            let Some(lease) = self.in_process.try_acquire(WorkKey::Sandbox(minted.clone())) else { continue };
            // The claim comes first, because recovery must never destroy a sandbox that this call does not own. An
            // unused claim only costs an id.
            let marker = short_id.as_str().to_owned();
            let claim = ClaimRequest {
                root_id: sandbox.root_id.clone(),
                parent: Some(parent.clone()),
                binding: None,
                marker: Some(marker.clone()),
                runtime,
            };
            let claimed = self.sandbox_ledgers()?.claim(&minted, &claim).await;
            if claimed.map_err(|failure| Error::other_ledger_failed(&minted, failure))? {
                return Ok((self.record_restore(minted, &snapshot.snapshot_id, (kind, runtime))?, marker, lease));
            }
        }
        Err(Error::restore_ids_taken(DRAWS, &snapshot.snapshot_id))
    }

    /// Records the restore in the ledger, if the snapshot still exists.
    fn record_restore(
        &self,
        minted: SandboxId,
        snapshot_id: &SnapshotId,
        (kind, runtime): (DerivationKind, Option<Runtime>),
    ) -> Result<Derivation> {
        let snapshot =
            self.ledger.snapshot(snapshot_id)?.ok_or_else(|| Error::snapshot_deleted_during_call(snapshot_id))?;
        self.require_ready(&snapshot)?;
        let began_at = self.now();
        let derivation = Derivation {
            sandbox_id: minted,
            snapshot_id: snapshot_id.clone(),
            kind,
            runtime,
            began_at,
            state: DerivedState::Pending(self.schedule_task(Backoff::ENDED_SANDBOX, 0)?),
        };
        self.ledger.put_derived_sandbox(&derivation)?;
        Ok(derivation)
    }

    /// Records that the sandbox is ready: it depends on the snapshot, and the snapshot was used now.
    fn mark_ready(&self, derivation: &Derivation) -> Result<()> {
        self.ledger.put_derived_sandbox(&Derivation {
            state: DerivedState::Ready { needs_snapshot: true },
            ..derivation.clone()
        })?;
        if let Some(mut snapshot) = self.ledger.snapshot(&derivation.snapshot_id)? {
            snapshot.last_used_at = self.now();
            self.save_snapshot(&self.sandbox_record()?, snapshot)?;
        }
        self.count_restore()
    }

    /// Records that the sandbox is to be destroyed. Recovery checks it until it stays down, because a restore may still
    /// run in it.
    pub(super) fn mark_ending(&self, derivation: &Derivation) -> Result<()> {
        let state = DerivedState::Ending(self.schedule_task(Backoff::ENDED_SANDBOX, 0)?);
        self.ledger.put_derived_sandbox(&Derivation { state, ..derivation.clone() })?;
        self.update_expiration(&derivation.snapshot_id)
    }

    /// Restores the backup into the minted sandbox before anything else uses it, and verifies that the files arrived in
    /// the container that runs now. That container then carries the marker that the ledger of the new sandbox records. Returns
    /// how its image differs from that of the snapshot.
    async fn apply_backup(
        &self,
        minted: &SandboxId,
        snapshot: &SnapshotRecord,
        stored: &StoredBackup,
        marker: &str,
        on_image_change: OnImageChange,
    ) -> Result<Vec<String>> {
        let (restoring, ready) =
            (ContainerMarker::Restoring(marker.to_owned()), ContainerMarker::Ready(marker.to_owned()));
        let failed = |failure| from_sandbox(failure, minted, During::Restore);
        let session = self.sandboxes_of(minted)?.open_session(minted);
        let (name_set, marker_set) = join(session.set_name(), session.update_marker(None, &restoring)).await;
        name_set.map_err(failed)?;
        let update = marker_set.map_err(failed)?;
        if update.outcome != MarkerOutcome::Updated {
            return Err(Error::another_container(minted));
        }
        let stale = image_changes(snapshot, update.provenance.as_ref(), on_image_change)?;
        if let Some(parent) =
            stored.backup.delta().map_or(&*stored.backup, |delta| &delta.base.backup).required_parent()
        {
            session.make_directory(&parent).await.map_err(failed)?;
        }
        let target = RestoreTarget {
            id: minted,
            container_id: update.container_id.as_ref(),
            restoring: &restoring,
            restored: &ready,
            // The base is in the ledger of this sandbox: the first snapshot of the new one is full.
            traced: None,
        };
        self.restore_backup_files(&session, &target, stored).await?;
        Ok(stale)
    }
}

/// Compares what a container runs on with that of a snapshot, and returns the differences that the answer reports.
///
/// # Errors
/// [`Code::SnapshotStale`](crate::model::Code::SnapshotStale) if they differ, and the caller does not want that.
fn image_changes(
    snapshot: &SnapshotRecord,
    now: Option<&Provenance>,
    on_image_change: OnImageChange,
) -> Result<Vec<String>> {
    let changes = snapshot.provenance.as_ref().zip(now).map(|(then, now)| then.changes(now)).unwrap_or_default();
    match on_image_change {
        OnImageChange::Fail if !changes.is_empty() => Err(Error::image_changed(&snapshot.snapshot_id, &changes)),
        OnImageChange::Fail | OnImageChange::Report => Ok(changes),
        OnImageChange::Allow => Ok(Vec::new()),
    }
}
