//! Moves a stopped sandbox that belongs to a named workspace to another runtime: the next start restores its files
//! there.
//!
//! All calls go to the runtime in the row, so the row changes in one write, and only when nothing of the former runtime
//! is left: no container, no capture, and no call that may still take effect.

use crate::model::named::messages::SwitchRuntimeRequest;
use crate::model::{Code, Error, Result, Runtime, Status};
use crate::ports::{Ledger, Ports, SandboxLedgerClient};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::runtime::ensure_restorable_in;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Moves the sandbox to the requested runtime. Succeeds if it is there already. With `dry_run`, only verifies that
    /// the runtime can restore its newest snapshot. Returns the runtime that the sandbox then has.
    ///
    /// # Errors
    /// [`Code::SandboxTimeout`] if a call to its former container may still take effect; [`Code::Unsupported`] if the
    /// runtime cannot restore the newest snapshot; [`Code::OperationInterrupted`] if a container runs.
    pub async fn switch_runtime(&self, request: SwitchRuntimeRequest) -> Result<Option<Runtime>> {
        self.prepare_call().await?;
        let this = self.clone();
        self.run_to_completion(async move {
            let _lock = this.in_process.lifecycle_lock.lock().await;
            this.switch_locked(&request).await
        })
        .await
    }

    async fn switch_locked(&self, request: &SwitchRuntimeRequest) -> Result<Option<Runtime>> {
        self.ensure_not_decommissioned()?;
        if self.binding()?.address != request.address {
            return Err(Error::internal());
        }
        let current = self.runtime()?;
        if current == Some(request.runtime) {
            return Ok(current);
        }
        self.ports.sandboxes(Some(request.runtime))?;
        self.ensure_newest_restorable_in(request.runtime).await?;
        if request.dry_run {
            return Ok(current);
        }
        self.ensure_no_platform_only_files()?;
        self.ensure_not_superseded(request.version)?;
        self.ensure_no_call_pending()?;
        self.ensure_no_container().await?;
        // From here on, no capture begins. The task checks the container again if this object ends.
        self.schedule_reconcile()?;
        self.in_process.coalescer.wait_until_idle().await;
        drop(self.in_process.completion_lock.lock().await);
        self.ensure_no_container().await?;
        // The sandbox has another object in the other runtime, with a status of its own.
        let saved = match self.saved_snapshot().await? {
            Some(saved) => self.prove_saved(&self.id, Some(request.runtime), saved).await?,
            None => None,
        };
        let mut sandbox = self.sandbox_record()?;
        sandbox.runtime = Some(request.runtime);
        (sandbox.unverified, sandbox.container) = (None, None);
        if let Some(binding) = &mut sandbox.binding {
            binding.platform_snapshot = None;
            let start = &mut binding.start;
            start.reconcile_task = None;
            start.restore_unconfirmed = false;
            start.restore_nonce = None;
            start.saved = saved;
            (start.image, start.baseline) = (None, None);
            (start.class_image, start.class_image_uncertain) = (None, false);
            (start.chosen_image, start.platform_content) = (None, None);
        }
        self.ledger.put_sandbox(&sandbox)?;
        Ok(sandbox.runtime)
    }

    /// Verifies that every call to the container was answered, or that the container stayed ended since.
    fn ensure_no_call_pending(&self) -> Result<()> {
        let start = self.start_state()?;
        if start.reconcile_task.is_some() || start.call_unconfirmed || start.destroy_unconfirmed {
            return Err(Error::former_container_unconfirmed(&self.id));
        }
        Ok(())
    }

    /// Verifies that the files are not only in a platform snapshot, which the other runtime cannot restore.
    fn ensure_no_platform_only_files(&self) -> Result<()> {
        match self.current_platform_snapshot(&self.start_state()?.dir)? {
            Some(platform) if platform.same_archive().is_none() => {
                Err(Error::platform_snapshot_is_only_copy(&self.id, &platform.id))
            }
            _ => Ok(()),
        }
    }

    async fn ensure_no_container(&self) -> Result<()> {
        match self.sandbox_status().await?.status {
            Status::Down => Ok(()),
            Status::Starting | Status::Healthy => Err(Error::another_container(&self.id)),
        }
    }

    /// Verifies that a runtime can restore the snapshot that the workspace starts from next.
    async fn ensure_newest_restorable_in(&self, runtime: Runtime) -> Result<()> {
        if runtime != Runtime::Sdk012 {
            return Ok(());
        }
        if let Some(newest) = self.newest_restorable(&self.start_state()?.dir)? {
            let stored = self.require_ready(&newest)?;
            let found = self.head_backup(&stored.backup).await?;
            return ensure_restorable_in(Some(runtime), found.metadata.format, stored);
        }
        let Some(parent) = self.sandbox_record()?.parent else { return Ok(()) };
        match self.sandbox_ledgers()?.get_for_restore(&parent.origin_id, &parent.snapshot_id, &self.id).await {
            Ok(source) => ensure_restorable_in(Some(runtime), source.format, &source.stored),
            Err(error) if error.code() == Code::SnapshotNotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}
