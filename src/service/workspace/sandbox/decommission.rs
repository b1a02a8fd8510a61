//! Decommissions a sandbox that its workspace no longer needs: destroys it, and deletes its snapshots as soon as no
//! other sandbox depends on them.

use crate::model::Result;
use crate::model::named::Address;
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::messages::{ClaimRequest, Decommissioned};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Decommissions the sandbox if it belongs to the workspace at `address`. Succeeds if the sandbox is decommissioned
    /// already.
    ///
    /// # Errors
    /// If the sandbox cannot be destroyed. All other steps are complete then.
    pub async fn decommission(&self, address: Address) -> Result<Decommissioned> {
        self.prepare_call().await?;
        let this = self.clone();
        self.run_to_completion(async move { this.decommission_from(address).await }).await
    }

    async fn decommission_from(&self, address: Address) -> Result<Decommissioned> {
        let _lock = self.in_process.lifecycle_lock.lock().await;
        if self.ledger.sandbox()?.is_none() {
            // A caller that ended early may still claim this sandbox. The row makes that claim fail once it is
            // decommissioned.
            let binding = WorkspaceBinding::new(address.clone(), self.config.default_dir.clone());
            let root_id = (*self.id).clone();
            let (parent, marker, runtime) = (None, None, self.runtime()?);
            self.claim(&ClaimRequest { root_id, parent, binding: Some(binding), marker, runtime })?;
        }
        if self.sandbox_record()?.binding.is_none_or(|binding| binding.address != address) {
            return Ok(Decommissioned::default());
        }
        let now = self.now();
        self.schedule_reconcile()?;
        let mut sandbox = self.sandbox_record()?;
        sandbox.decommissioned_at.get_or_insert(now);
        self.ledger.put_sandbox(&sandbox)?;
        self.release_parent(&mut sandbox)?;
        let (deleted, kept) = self.delete_unreferenced()?;
        for id in &deleted {
            // The alarm retries the deletions that R2 fails.
            drop(self.finish_deletion(id).await);
        }
        self.destroy(&self.id).await?;
        let platform_data_until = self.binding()?.platform_data_until.filter(|until| *until > now);
        Ok(Decommissioned { removed: deleted.len(), kept, platform_data_until })
    }
}
