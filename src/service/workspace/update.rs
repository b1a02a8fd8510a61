//! Updates a workspace: changes its settings, or the snapshot from which it continues.
//!
//! A change of the snapshot continues the workspace in another sandbox: see [`switch`](super::switch).

use super::NamedWorkspace;
use super::switch::{NextSandbox, SavedBefore};
use crate::model::named::answer::WorkspaceDescription;
use crate::model::named::messages::CheckImageRequest;
use crate::model::named::{NamedRecord, Settings};
use crate::model::request::UpdateRequest;
use crate::model::{Code, Result, Runtime, SandboxId, SnapshotCause};
use crate::ports::{Ports, SandboxLedgerClient};
use crate::service::CancellationToken;

impl<P: Ports> NamedWorkspace<P> {
    /// Changes the settings of the workspace, or reverts it to an earlier snapshot.
    pub async fn update(&self, request: UpdateRequest, abort: CancellationToken) -> Result<WorkspaceDescription> {
        let permit = self.acquire_permit(None)?;
        let operation = |this: Self, abort| async move { this.run_update(request, &abort).await };
        self.run_to_completion(permit, abort, operation).await
    }

    async fn run_update(&self, request: UpdateRequest, abort: &CancellationToken) -> Result<WorkspaceDescription> {
        self.existing()?;
        let _lock = self.lock_operation(abort).await?;
        self.in_process.next_sequence();
        let record = self.existing()?;
        let changed = request.settings.clone().apply(record.settings.clone());
        changed.check()?;
        if changed.storage != record.settings.storage && changed.storage.has_platform() {
            self.ports.sandbox_ledgers()?.check_storage(&record.sandbox_id, changed.storage).await?;
        }
        if changed.image != record.settings.image {
            self.prepare_image(&record, changed.image.clone()).await?;
        }
        let is_running = match request.current_snapshot_id {
            Some(_) => self.is_running_to_leave(&record).await?,
            None => self.is_running(&record).await?,
        };
        let start_request = is_running.then(|| self.restart_request(&record, &changed, request.accept_stale));
        let Some(snapshot) = &request.current_snapshot_id else {
            self.propagate_retention(&record, &changed).await?;
            if let Some(start_request) = &start_request {
                // Applies the idle timeout, the dependencies of snapshots, and the environment.
                let ensured = self.ensure_still_running(start_request).await?;
                self.update_record(|record| record.record_start(&ensured))?;
            }
            return self.save_settings(changed).map(|record| WorkspaceDescription::from(&record));
        };
        let source = self.find_selected(&record, snapshot).await?;
        let cause = SnapshotCause::BeforeRollback;
        let snapshot_id = if is_running {
            // A rollback may be the way out of a sandbox that can't be captured now. Its stop tries again until it can.
            self.save_files(&record, true, cause).await.unwrap_or_default()
        } else {
            None
        };
        let next = NextSandbox {
            cause: format!("it was rolled back to the snapshot {}", source.snapshot_id),
            source,
            may_have_lost: false,
            settings: changed,
            start: start_request,
            saved: SavedBefore { cause, snapshot_id },
            promotion: None,
        };
        self.continue_from(&record, next).await
    }

    /// Verifies that the sandbox can start another image, and that an archive has the files: a platform snapshot is bound to the
    /// present image.
    async fn prepare_image(&self, record: &NamedRecord, image: Option<String>) -> Result<()> {
        self.check_image(&record.sandbox_id, image, None).await?;
        if record.started_at.is_none() {
            return Ok(());
        }
        if !record.settings.storage.has_archive() || self.only_copy(record).await?.is_some() {
            let is_running = self.is_running_to_leave(record).await?;
            self.save_files(record, is_running, SnapshotCause::BeforeImage).await?;
        }
        Ok(())
    }

    /// Verifies that sandboxes that are made from the sandbox `id`, or this one, can start an image.
    pub(super) async fn check_image(
        &self,
        id: &SandboxId,
        image: Option<String>,
        runtime: Option<Runtime>,
    ) -> Result<()> {
        let Some(image) = image else { return Ok(()) };
        self.ports.sandbox_ledgers()?.check_image(id, &CheckImageRequest { image, runtime }).await
    }

    /// Sets the retention policy of all claimed sandboxes of the workspace, if it changed.
    pub(super) async fn propagate_retention(&self, record: &NamedRecord, changed: &Settings) -> Result<()> {
        if changed.retention != record.settings.retention {
            let claimed = record.sandboxes().filter(|id| record.claimed || **id != record.sandbox_id);
            for id in claimed {
                self.ports.sandbox_ledgers()?.set_policy(id, &changed.retention).await?;
            }
        }
        Ok(())
    }

    /// Changes the settings in the record. A change of the hooks ends the problem of a hook that failed.
    pub(super) fn save_settings(&self, settings: Settings) -> Result<NamedRecord> {
        let now = self.now();
        let mut is_news = false;
        let record = self.update_record(|record| {
            if record.settings.env != settings.env {
                // A repeated fork call would copy environment variables that this update may have removed.
                record.fork_calls.retain(|fork_call| fork_call.settings.env.is_empty());
            }
            if record.settings.hooks != settings.hooks {
                is_news = record.problem.take_if(|problem| problem.code == Code::HookFailed).is_some();
                record.version += u64::from(is_news);
            }
            record.never_persistent &= !settings.persistent;
            record.settings = settings;
            record.active_at = now;
        })?;
        if is_news {
            self.notify_directory();
        }
        Ok(record)
    }
}
