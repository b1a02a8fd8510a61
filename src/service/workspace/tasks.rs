//! The durable tasks of a workspace: they end sandboxes that it does not use.
//!
//! The record stores them as a list, because its other fields may not name these sandboxes. A task has no due time of
//! its own: each alarm runs all tasks until they succeed, and so do the operations that add one.

use super::NamedWorkspace;
use crate::model::named::Task;
use crate::model::named::messages::{Decommissioned, StopSandboxRequest};
use crate::model::named::{NamedRecord, StoragePolicy};
use crate::model::{Error, Result, SandboxId};
use crate::ports::{Ports, SandboxLedgerClient};

impl<P: Ports> NamedWorkspace<P> {
    /// Runs all tasks. The alarm retries the tasks that fail. Returns the number of removed snapshots, and the
    /// snapshots that remain.
    pub(super) async fn run_tasks(&self) -> Result<Decommissioned> {
        self.run_tasks_where(|_, _| true).await
    }

    /// Runs the tasks for the sandbox that the workspace has or may get.
    pub(super) async fn run_current_tasks(&self) -> Result<()> {
        self.run_tasks_where(|record, id| !record.former_sandbox_ids.contains(id)).await.map(drop)
    }

    /// Runs the tasks for the former sandboxes of the workspace, which may not answer. Calls to the workspace do not
    /// wait for these tasks.
    pub(super) async fn run_former_tasks(&self) -> Result<()> {
        self.run_tasks_where(|record, id| record.former_sandbox_ids.contains(id)).await.map(drop)
    }

    async fn run_tasks_where(&self, is_selected: impl Fn(&NamedRecord, &SandboxId) -> bool) -> Result<Decommissioned> {
        let mut all = Decommissioned::default();
        let Some(record) = self.record()? else { return Ok(all) };
        for task in record.tasks.iter().filter(|task| is_selected(&record, task.sandbox_id())) {
            let ledgers = self.ports.sandbox_ledgers()?;
            let mut is_lost = false;
            let done = match task {
                Task::Decommission(id) => ledgers.decommission(id, &self.address).await.map(|decommissioned| {
                    all.removed += decommissioned.removed;
                    all.kept.extend(decommissioned.kept);
                    all.platform_data_until = all.platform_data_until.max(decommissioned.platform_data_until);
                    None
                }),
                Task::StopUnused(id) => {
                    let request = self.request_to_stop(id)?;
                    let superseded = request.superseded;
                    match ledgers.stop_sandbox(id, &request).await {
                        Ok(stopped) if stopped.destroy_unconfirmed => Err(Error::destroy_timed_out(id)),
                        stopped => stopped.map(|stopped| {
                            is_lost = superseded && !stopped.files_saved;
                            Some(stopped)
                        }),
                    }
                }
            };
            if let Ok(stopped) = done {
                self.update_record(|record| {
                    record.tasks.retain(|other| other != task);
                    if is_lost {
                        record.note_loss(None);
                    }
                    let Some(stopped) = stopped else { return };
                    if *task.sandbox_id() == record.sandbox_id {
                        record.note_snapshots(stopped.snapshot, stopped.platform_snapshot);
                        record.note_container_ended(stopped.ended_unsaved);
                    } else {
                        record.note_former_snapshot(task.sandbox_id(), stopped.snapshot);
                    }
                })?;
            }
        }
        Ok(all)
    }

    /// Returns the request to stop a sandbox that the workspace no longer uses.
    fn request_to_stop(&self, id: &SandboxId) -> Result<StopSandboxRequest> {
        let record = self.record()?.ok_or_else(Error::internal)?;
        let superseded = record.former_sandbox_ids.contains(id);
        let former = record.former_files.as_ref().filter(|former| former.sandbox_id == *id);
        Ok(StopSandboxRequest {
            version: record.version,
            superseded,
            cause: former.map(|former| former.cause),
            reported_restore: former.and_then(|former| former.reported_restore.clone()),
            storage: match record.settings.storage {
                _ if superseded => StoragePolicy::Archive,
                // The image may have been updated since the start that failed.
                StoragePolicy::Platform => StoragePolicy::Both,
                storage => storage,
            },
            ..StopSandboxRequest::with_snapshot((*self.address).clone())
        })
    }
}
