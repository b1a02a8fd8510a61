//! Reserves a sandbox that its own workspace makes from a snapshot of this sandbox when it is first started.

use crate::model::named::binding::{SavedIn, WorkspaceBinding};
use crate::model::named::messages::{ClaimRequest, ReserveRequest};
use crate::model::record::{Derivation, DerivedState, ParentLink, SnapshotRecord, StartState};
use crate::model::{Error, Result, Runtime};
use crate::ports::{Ledger, Ports, SandboxLedgerClient};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::runtime::ensure_restorable_in;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Claims the sandbox id, and records that the sandbox depends on the snapshot. Returns `false` if the id is taken.
    /// A repeated call returns the same result.
    pub async fn reserve(&self, request: &ReserveRequest) -> Result<bool> {
        self.prepare_call().await?;
        let ReserveRequest { sandbox_id, snapshot_id, kind, binding, runtime } = request;
        let reserved_before = self.is_reserved(request)?;
        if reserved_before == Some(false) {
            return Ok(false);
        }
        let sandbox = self.sandbox_record()?;
        let stored = self.require_ready(&self.require_snapshot(request)?)?.clone();
        let runtime = self.derived_runtime(*runtime)?;
        if runtime == Some(Runtime::Sdk012) {
            ensure_restorable_in(runtime, self.head_backup(&stored.backup).await?.metadata.format, &stored)?;
        }
        let parent = ParentLink {
            origin_id: sandbox.sandbox_id.clone(),
            snapshot_id: snapshot_id.clone(),
            kind: *kind,
            needs_snapshot: true,
        };
        // The sandbox has never run: its files are those of the snapshot.
        let saved = self.prove_saved(sandbox_id, runtime, SavedIn::Archive(snapshot_id.clone())).await?;
        let claim = ClaimRequest {
            root_id: sandbox.root_id.clone(),
            parent: Some(parent),
            binding: Some(WorkspaceBinding { start: StartState { saved, ..binding.start.clone() }, ..binding.clone() }),
            marker: None,
            runtime,
        };
        let is_claimed = self
            .retry(async || {
                let claimed = self.sandbox_ledgers()?.claim(sandbox_id, &claim).await;
                claimed.map_err(|failure| Error::other_ledger_failed(sandbox_id, failure))
            })
            .await?;
        if !is_claimed {
            return Ok(false);
        }
        // The same call may have been repeated, and the sandbox decommissioned in the meantime.
        if let Some(is_same) = self.is_reserved(request)? {
            return Ok(is_same);
        }
        self.require_ready(&self.require_snapshot(request)?)?;
        self.ledger.put_derived_sandbox(&Derivation {
            sandbox_id: sandbox_id.clone(),
            snapshot_id: snapshot_id.clone(),
            kind: *kind,
            runtime: None,
            began_at: self.now(),
            state: DerivedState::Ready { needs_snapshot: true },
        })?;
        self.mark_used(snapshot_id)?;
        Ok(true)
    }

    /// Returns whether the id is reserved for the snapshot and its sandbox still depends on it, or `None` if the ledger
    /// does not have the id.
    fn is_reserved(&self, request: &ReserveRequest) -> Result<Option<bool>> {
        let derivation = self.ledger.derived_sandbox(&request.sandbox_id)?;
        Ok(derivation.map(|derivation| derivation.snapshot_id == request.snapshot_id && derivation.needs_snapshot()))
    }

    fn require_snapshot(&self, request: &ReserveRequest) -> Result<SnapshotRecord> {
        self.ledger
            .snapshot(&request.snapshot_id)?
            .ok_or_else(|| Error::snapshot_not_listed(&self.id, &request.snapshot_id))
    }
}
