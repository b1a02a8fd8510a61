//! Provides a workspace with a sandbox: draws a random id, and claims it for the workspace before it is used.

use super::NamedWorkspace;
use crate::model::named::Task;
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::messages::{ClaimRequest, ReserveRequest, SnapshotKey};
use crate::model::named::{NamedRecord, PlatformSnapshot};
use crate::model::{DerivationKind, Error, Policy, Result, Runtime, SandboxId, ShortId, mint_sandbox_id};
use crate::ports::{Ports, SandboxLedgerClient};
use crate::service::draw_random;

/// The number of random ids that are tried before an operation fails because all of them are taken.
const MAX_ID_ATTEMPTS: u32 = 4;

impl<P: Ports> NamedWorkspace<P> {
    /// Claims the sandbox id, so that no other workspace can use it, and binds the sandbox to this workspace and its
    /// source snapshot.
    pub(super) async fn provision(&self) -> Result<()> {
        for _ in 0..MAX_ID_ATTEMPTS {
            let record = self.existing()?;
            if record.claimed || self.claim_id(&record).await? {
                self.update_record(|record| record.claimed = true)?;
                return self.set_policy(&record.sandbox_id, &record.settings.retention).await;
            }
            let id = self.draw_id(record.source.as_ref())?;
            self.update_record(|record| record.sandbox_id = id)?;
        }
        Err(Error::workspace_ids_taken(MAX_ID_ATTEMPTS, &self.address.name))
    }

    async fn claim_id(&self, record: &NamedRecord) -> Result<bool> {
        let binding = WorkspaceBinding::new((*self.address).clone(), record.settings.dir.clone());
        let id = &record.sandbox_id;
        if let Some(source) = &record.source {
            return self.reserve(id, source, DerivationKind::Branch, binding, record.runtime).await;
        }
        self.claim_empty(id, binding, record.runtime).await
    }

    /// Claims an id for a sandbox without a source.
    async fn claim_empty(&self, id: &SandboxId, binding: WorkspaceBinding, runtime: Option<Runtime>) -> Result<bool> {
        let request = ClaimRequest { root_id: id.clone(), parent: None, binding: Some(binding), marker: None, runtime };
        let claimed = self.ports.sandbox_ledgers()?.claim(id, &request).await;
        claimed.map_err(|failure| Error::other_ledger_failed(id, failure))
    }

    /// Claims an id for a sandbox that will be made from a snapshot, or from a platform snapshot that is not older. Until
    /// the name points to the sandbox, a task decommissions it.
    pub(super) async fn claim_id_for_snapshot(
        &self,
        record: &NamedRecord,
        source: &SnapshotKey,
        platform: Option<&PlatformSnapshot>,
    ) -> Result<SandboxId> {
        for _ in 0..MAX_ID_ATTEMPTS {
            let id = mint_sandbox_id(
                &source.origin_id,
                DerivationKind::Restored,
                &draw_random(&*self.ports, ShortId::from_random)?,
            )?;
            if record.sandboxes().any(|own| *own == id) {
                continue;
            }
            self.update_record(|record| record.add_task(Task::Decommission(id.clone())))?;
            let binding = WorkspaceBinding {
                platform_snapshot: platform.cloned(),
                ..WorkspaceBinding::new((*self.address).clone(), record.settings.dir.clone())
            };
            match self.reserve(&id, source, DerivationKind::Restored, binding, record.runtime).await {
                Ok(true) => return Ok(id),
                Ok(false) => drop(self.update_record(|record| record.tasks.retain(|task| *task.sandbox_id() != id))?),
                Err(error) => {
                    self.run_tasks().await?;
                    return Err(error);
                }
            }
        }
        Err(Error::workspace_ids_taken(MAX_ID_ATTEMPTS, &self.address.name))
    }

    /// Claims an id for a workspace that has no snapshot, or only a platform snapshot. If the workspace was started before,
    /// it starts empty only if the caller allows it.
    pub(super) async fn claim_id_without_snapshot(
        &self,
        record: &NamedRecord,
        platform: Option<&PlatformSnapshot>,
    ) -> Result<SandboxId> {
        for _ in 0..MAX_ID_ATTEMPTS {
            let id = self.draw_id(None)?;
            self.update_record(|record| record.add_task(Task::Decommission(id.clone())))?;
            let mut binding = WorkspaceBinding {
                platform_snapshot: platform.cloned(),
                ..WorkspaceBinding::new((*self.address).clone(), record.settings.dir.clone())
            };
            binding.start.first_started_at = record.started_at;
            if self.claim_empty(&id, binding, record.runtime).await? {
                return Ok(id);
            }
            self.update_record(|record| record.tasks.retain(|task| *task.sandbox_id() != id))?;
        }
        Err(Error::workspace_ids_taken(MAX_ID_ATTEMPTS, &self.address.name))
    }

    /// Claims the id of a sandbox that will be made from a snapshot. Returns `false` if the id is taken.
    pub(super) async fn reserve(
        &self,
        id: &SandboxId,
        source: &SnapshotKey,
        kind: DerivationKind,
        binding: WorkspaceBinding,
        runtime: Option<Runtime>,
    ) -> Result<bool> {
        let snapshot_id = source.snapshot_id.clone();
        let request = ReserveRequest { sandbox_id: id.clone(), snapshot_id, kind, binding, runtime };
        self.ports.sandbox_ledgers()?.reserve(&source.origin_id, &request).await
    }

    /// Sets the retention policy for the snapshots of a sandbox, unless it is the default.
    pub(super) async fn set_policy(&self, id: &SandboxId, policy: &Policy) -> Result<()> {
        if *policy == Policy::default() {
            return Ok(());
        }
        self.ports.sandbox_ledgers()?.set_policy(id, policy).await
    }

    /// Returns a random id for a sandbox of this workspace.
    pub(super) fn draw_id(&self, source: Option<&SnapshotKey>) -> Result<SandboxId> {
        match source {
            None => draw_random(&*self.ports, |random| self.address.name.random_sandbox_id(random)),
            Some(origin) => mint_sandbox_id(
                &origin.origin_id,
                DerivationKind::Branch,
                &draw_random(&*self.ports, ShortId::from_random)?,
            ),
        }
    }
}
