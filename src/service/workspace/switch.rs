//! Continues a workspace in a new sandbox that is made from a snapshot. The old sandbox is stopped, with a snapshot.
//!
//! No existing files change. Until the name points to the new sandbox, a task decommissions it; from then on, a task
//! stops the old one. An interrupted call therefore either changed nothing or took effect.

use super::NamedWorkspace;
use crate::model::named::Task;
use crate::model::named::answer::{LastSnapshot, WorkspaceDescription};
use crate::model::named::messages::{EnsureRunningRequest, EnsuredRunning, SnapshotKey};
use crate::model::named::record::{KeyedCall, RestoreReport};
use crate::model::named::settings::StartSettings;
use crate::model::named::{FormerFiles, NamedRecord, Settings, State};
use crate::model::request::CapturePurpose;
use crate::model::{Code, Error, Result, SandboxId, Selection, SnapshotCause, SnapshotId, SnapshotRequest};
use crate::ports::{Ports, SandboxLedgerClient};

/// The number of calls with an idempotency key that the record keeps.
const MAX_STORED_PROMOTIONS: usize = 16;

/// The sandbox in which a workspace continues.
pub(super) struct NextSandbox {
    /// The snapshot that it is made from.
    pub source: SnapshotKey,
    /// Whether files of another workspace may be lost that were newer than the snapshot.
    pub may_have_lost: bool,
    /// The settings of the workspace.
    pub settings: Settings,
    /// The request to start it; absent if it is started later.
    pub start: Option<EnsureRunningRequest>,
    /// The reason, for people.
    pub cause: String,
    /// What saves the present files.
    pub saved: SavedBefore,
    /// The call with an idempotency key, if there is one.
    pub promotion: Option<KeyedCall>,
}

/// The snapshot that saves the present files of a workspace before it leaves their sandbox.
pub(super) struct SavedBefore {
    /// Why it was taken. The stop of the sandbox takes another one for the same cause if files changed since.
    pub cause: SnapshotCause,
    /// Its id; absent if none was taken.
    pub snapshot_id: Option<SnapshotId>,
}

impl<P: Ports> NamedWorkspace<P> {
    /// Returns whether the workspace's sandbox runs with its files in place.
    pub(super) async fn is_running(&self, record: &NamedRecord) -> Result<bool> {
        Ok(record.state == State::Active
            && self.ports.sandbox_ledgers()?.probe_condition(&record.sandbox_id).await?.is_running())
    }

    /// As [`is_running`](Self::is_running), for a workspace that continues in another sandbox. The present one may be
    /// broken: it does not answer, or its container can't run commands any more. It is stopped, with a snapshot, as soon as
    /// that is possible.
    pub(super) async fn is_running_to_leave(&self, record: &NamedRecord) -> Result<bool> {
        match self.is_running(record).await {
            Err(error) if is_of_broken_sandbox(&error) => Ok(false),
            is_running => is_running,
        }
    }

    /// Returns the request to start a sandbox with changed settings.
    pub(super) fn restart_request(
        &self,
        record: &NamedRecord,
        settings: &Settings,
        accept_stale: bool,
    ) -> EnsureRunningRequest {
        EnsureRunningRequest {
            address: Some((*self.address).clone()),
            settings: settings.clone(),
            start: StartSettings { accept_stale, ..StartSettings::default() },
            version: record.version,
            may_have_lost: record.may_have_lost_elsewhere(),
            lost_since: record.lost_since_elsewhere(),
            never_persistent: record.never_persistent && !settings.persistent,
        }
    }

    /// Captures the present files if the sandbox runs: a new sandbox replaces it only when they are in a snapshot, or when it has
    /// no directory to capture. Returns whether it runs.
    pub(super) async fn save_before_switch(
        &self,
        record: &NamedRecord,
        cause: SnapshotCause,
    ) -> Result<(bool, SavedBefore)> {
        let is_running = self.is_running_to_leave(record).await?;
        let snapshot_id = match self.save_files(record, is_running, cause).await {
            Err(error) if is_running && error.code() == Code::InvalidDirectory => None,
            saved => saved?,
        };
        Ok((is_running, SavedBefore { cause, snapshot_id }))
    }

    /// Captures the present files if the sandbox runs, or verifies that an archive has them. Returns the snapshot that was taken.
    pub(super) async fn save_files(
        &self,
        record: &NamedRecord,
        is_running: bool,
        cause: SnapshotCause,
    ) -> Result<Option<SnapshotId>> {
        if !is_running {
            return self.ensure_in_archive(record).await.map(|()| None);
        }
        let dir = Some(record.settings.dir.clone());
        let purpose = CapturePurpose::Workspace(cause);
        let request = SnapshotRequest { dir, fresh: true, purpose, ..SnapshotRequest::of(record.sandbox_id.clone()) };
        let taken = self.ports.sandbox_ledgers()?.take_snapshot(&request).await?;
        Ok(Some(taken.snapshot.snapshot_id().clone()))
    }

    /// Continues the workspace in the next sandbox, and describes it.
    pub(super) async fn continue_from(&self, record: &NamedRecord, next: NextSandbox) -> Result<WorkspaceDescription> {
        self.switch_to(record, next).await?;
        Ok(WorkspaceDescription::from(&self.existing()?))
    }

    /// Continues the workspace in the next sandbox. Returns how it was started, if there is a request to start it.
    pub(super) async fn switch_to(&self, record: &NamedRecord, next: NextSandbox) -> Result<Option<EnsuredRunning>> {
        let id = self.claim_id_for_snapshot(record, &next.source, None).await?;
        let prepared = match self.prepare_sandbox(&id, &next).await {
            Ok(ensured) => self.propagate_retention(record, &next.settings).await.map(|()| ensured),
            Err(error) => Err(error),
        };
        let ensured = match prepared {
            Ok(ensured) => ensured,
            Err(error) => {
                self.run_tasks().await?;
                return Err(error);
            }
        };
        // Only for the list of workspaces, so its failure is ignored.
        let selection = Selection::by_id(next.source.origin_id.clone(), next.source.snapshot_id.clone());
        let source = self.ports.sandbox_ledgers()?.find_snapshot(&selection, &self.address.tenant).await;
        self.save_settings(next.settings.clone())?;
        self.switch_sandbox(id, ensured.as_ref(), next, source.ok().map(|found| found.snapshot))?;
        // Stops the old sandbox. The alarm retries a failure.
        self.run_tasks().await?;
        Ok(ensured)
    }

    /// Prepares the claimed sandbox: sets its retention policy, and starts it if there is a request to.
    async fn prepare_sandbox(&self, id: &SandboxId, next: &NextSandbox) -> Result<Option<EnsuredRunning>> {
        self.set_policy(id, &next.settings.retention).await?;
        match &next.start {
            Some(start) => self.ports.sandbox_ledgers()?.ensure_running(id, start).await.map(Some),
            None => Ok(None),
        }
    }

    /// Points the name to the new sandbox, which runs if `ensured` is present.
    fn switch_sandbox(
        &self,
        id: SandboxId,
        ensured: Option<&EnsuredRunning>,
        next: NextSandbox,
        source: Option<LastSnapshot>,
    ) -> Result<()> {
        let now = self.now();
        let NamedRecord { state, last_restore, restore_report, .. } = self.existing()?;
        let is_stopped = state == State::Stopped;
        let is_reported = restore_report == RestoreReport::Again;
        let reported_restore = last_restore.filter(|_| is_reported).map(|restore| restore.nonce);
        let NextSandbox { cause, saved, may_have_lost, promotion, .. } = next;
        let point_to_new = |record: &mut NamedRecord| {
            record.last_restore = None;
            record.container_ended = false;
            let former = std::mem::replace(&mut record.sandbox_id, id.clone());
            let decommission = Task::Decommission(id);
            record.tasks.retain(|task| *task != decommission);
            record.add_task(Task::StopUnused(former.clone()));
            let stopped_with = record.last_snapshot.take().filter(|_| is_stopped);
            record.former_files = Some(FormerFiles {
                sandbox_id: former.clone(),
                cause: saved.cause,
                snapshot_id: saved.snapshot_id.or(stopped_with.map(|snapshot| snapshot.id)),
                reported_restore,
            });
            record.former_sandbox_ids.insert(0, former);
            record.root_id = ensured.and_then(|ensured| ensured.root_id.clone());
            record.claimed = true;
            (record.last_snapshot, record.platform_snapshot) = (None, None);
            record.last_saved_at = source.as_ref().map(|source| source.created_at);
            record.saved_bytes = source.map(|source| source.size_bytes);
            record.problem = None;
            record.started_at.get_or_insert(now);
            record.active_at = now;
            if may_have_lost {
                record.note_loss(None);
            }
            record.promotions.splice(0..0, promotion);
            record.promotions.truncate(MAX_STORED_PROMOTIONS);
        };
        match ensured {
            Some(ensured) => {
                self.transition(State::Restoring, &cause, |_| ())?;
                self.transition(State::Active, &cause, |record| {
                    point_to_new(record);
                    record.started_at = Some(now);
                    record.record_start(ensured);
                })?;
            }
            None => {
                self.transition(State::Stopped, &cause, point_to_new)?;
            }
        }
        Ok(())
    }
}

fn is_of_broken_sandbox(error: &Error) -> bool {
    matches!(
        error.code(),
        Code::SandboxTimeout | Code::SandboxFailed | Code::SandboxUnsupported | Code::OperationInterrupted
    )
}
