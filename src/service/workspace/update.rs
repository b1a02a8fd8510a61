//! Updates a workspace: changes its settings, or the snapshot from which it continues.
//!
//! A change of the snapshot modifies no existing files: the name gets a new sandbox that is made from the snapshot, and
//! the old sandbox is stopped.

use super::NamedWorkspace;
use crate::model::named::answer::WorkspaceDescription;
use crate::model::named::messages::{Condition, EnsureRunningRequest, FoundSnapshot};
use crate::model::named::record::{SnapshotKey, Task};
use crate::model::named::settings::StartSettings;
use crate::model::named::{NamedRecord, Settings, State};
use crate::model::request::UpdateRequest;
use crate::model::{Code, Error, Result, SandboxId, Selection, SnapshotId};
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
        let is_running = record.state == State::Active
            && match self.ports.sandbox_ledgers()?.probe_condition(&record.sandbox_id).await {
                Ok(condition) => condition == Condition::Running,
                // This allows a caller to leave a sandbox that does not answer. It is stopped, with a snapshot, as soon
                // as it answers.
                Err(error) if error.code() == Code::SandboxTimeout && request.current_snapshot_id.is_some() => false,
                Err(error) => return Err(error),
            };
        let start_request = EnsureRunningRequest {
            address: (*self.address).clone(),
            settings: changed.clone(),
            start: StartSettings { accept_stale: request.accept_stale, ..StartSettings::default() },
            version: record.version,
        };
        let start_request = Some(start_request).filter(|_| is_running);
        let Some(snapshot_id) = &request.current_snapshot_id else {
            self.propagate_retention(&record, &changed).await?;
            if let Some(start_request) = &start_request {
                // Applies the idle timeout, the dependencies of snapshots, and the environment.
                self.ports.sandbox_ledgers()?.ensure_running(&record.sandbox_id, start_request).await?;
            }
            return self.save_settings(changed).map(|record| WorkspaceDescription::from(&record));
        };
        let source = self.find_snapshot(&record, snapshot_id).await?;
        let id = self.claim_id_for_snapshot(&record, &source).await?;
        // Until the name points to the new sandbox, a task decommissions it, even if this call is interrupted.
        let prepared = match self.prepare_sandbox(&id, &changed, start_request.as_ref()).await {
            Ok(root_id) => self.propagate_retention(&record, &changed).await.map(|()| root_id),
            Err(error) => Err(error),
        };
        let root_id = match prepared {
            Ok(root_id) => root_id,
            Err(error) => {
                self.run_tasks().await?;
                return Err(error);
            }
        };
        self.save_settings(changed)?;
        self.switch_sandbox(id, root_id, snapshot_id, is_running)?;
        // Stops the old sandbox. The alarm retries a failure.
        self.run_tasks().await?;
        Ok(WorkspaceDescription::from(&self.existing()?))
    }

    /// Sets the retention policy of all claimed sandboxes of the workspace, if it changed.
    async fn propagate_retention(&self, record: &NamedRecord, changed: &Settings) -> Result<()> {
        if changed.retention != record.settings.retention {
            let claimed = record.sandboxes().filter(|id| record.claimed || **id != record.sandbox_id);
            for id in claimed {
                self.ports.sandbox_ledgers()?.set_policy(id, &changed.retention).await?;
            }
        }
        Ok(())
    }

    fn save_settings(&self, settings: Settings) -> Result<NamedRecord> {
        let now = self.now();
        self.update_record(|record| {
            if record.settings.env != settings.env {
                // A repeated fork call would copy environment variables that this update may have removed.
                record.fork_calls.retain(|fork_call| fork_call.settings.env.is_empty());
            }
            record.settings = settings;
            record.active_at = now;
        })
    }

    /// Prepares the claimed sandbox: sets its retention policy, and starts it if there is a request to. Returns the
    /// first sandbox of its lineage, if it is known.
    async fn prepare_sandbox(
        &self,
        id: &SandboxId,
        settings: &Settings,
        start_request: Option<&EnsureRunningRequest>,
    ) -> Result<Option<SandboxId>> {
        self.set_policy(id, &settings.retention).await?;
        match start_request {
            Some(start_request) => {
                self.ports.sandbox_ledgers()?.ensure_running(id, start_request).await.map(|ensured| ensured.root_id)
            }
            None => Ok(None),
        }
    }

    /// Returns the key of a snapshot of this workspace: the id of the snapshot, and the sandbox whose ledger contains
    /// it.
    async fn find_snapshot(&self, record: &NamedRecord, snapshot_id: &SnapshotId) -> Result<SnapshotKey> {
        let source = record.source.as_ref().filter(|source| source.snapshot_id == *snapshot_id);
        let own = record.sandboxes().chain(source.map(|source| &source.origin_id));
        for origin_id in own {
            let selection = Selection::by_id(origin_id.clone(), snapshot_id.clone());
            match self.ports.sandbox_ledgers()?.find_snapshot(&selection, &self.address.tenant).await {
                Ok(found) if found.snapshot.dir != record.settings.dir => {
                    return Err(Error::snapshot_of_other_directory(snapshot_id, &record.settings.dir));
                }
                Ok(FoundSnapshot { snapshot, .. }) => {
                    return Ok(SnapshotKey { origin_id: snapshot.origin_id, snapshot_id: snapshot.id });
                }
                Err(error) if error.code() == Code::SnapshotNotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::snapshot_not_of_workspace(&self.address.name, snapshot_id))
    }

    /// Points the name to the new sandbox.
    fn switch_sandbox(
        &self,
        id: SandboxId,
        root_id: Option<SandboxId>,
        snapshot_id: &SnapshotId,
        is_running: bool,
    ) -> Result<()> {
        let now = self.now();
        let cause = format!("it was reverted to the snapshot {snapshot_id}");
        let point_to_new = |record: &mut NamedRecord| {
            let former = std::mem::replace(&mut record.sandbox_id, id.clone());
            let decommission = Task::Decommission(id);
            record.tasks.retain(|task| *task != decommission);
            record.add_task(Task::StopUnused(former.clone()));
            record.former_sandbox_ids.insert(0, former);
            record.root_id = root_id;
            record.claimed = true;
            record.last_snapshot = None;
            record.problem = None;
            record.started_at.get_or_insert(now);
            record.active_at = now;
        };
        let record = self.existing()?;
        match (record.state, is_running) {
            (State::Active, true) => {
                self.transition(State::Restoring, &cause, |_| ())?;
                self.transition(State::Active, &cause, |record| {
                    point_to_new(record);
                    record.started_at = Some(now);
                })?;
            }
            _ => {
                self.transition(State::Stopped, &cause, point_to_new)?;
            }
        }
        Ok(())
    }
}
