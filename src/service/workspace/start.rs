//! Starts a workspace: probes its sandbox, and restores the files if they are not in place.

use super::create::keyed_call;
use super::promote::is_repeated;
use super::sandbox::ensured_running;
use super::switch::NextSandbox;
use super::{CoalesceKey, LastStart, NamedWorkspace};
use crate::model::named::Task;
use crate::model::named::answer::{StartOutcome, StartedWorkspace, WorkspaceDescription, WorkspaceProblem};
use crate::model::named::binding::LastRestore;
use crate::model::named::messages::{Condition, EnsureRunningRequest, EnsuredRunning};
use crate::model::named::record::KeyedCall;
use crate::model::named::settings::StartSettings;
use crate::model::named::{NamedRecord, State};
use crate::model::request::{SnapshotText, StartRequest};
use crate::model::{Code, Error, Result, SnapshotCause, WorkspaceRef, root_of};
use crate::ports::{Ports, SandboxLedgerClient, WorkspaceStore};
use crate::service::CancellationToken;

impl<P: Ports> NamedWorkspace<P> {
    /// Starts the workspace: afterwards its sandbox runs with the files in place.
    pub async fn start(&self, request: StartRequest, abort: CancellationToken) -> Result<StartedWorkspace> {
        let permit = self.acquire_permit(Some(CoalesceKey::Start(request.clone())))?;
        let operation = |this: Self, abort| async move {
            let arrived_seq = this.in_process.sequence.get();
            this.existing()?;
            let _lock = this.lock_operation(&abort).await?;
            this.start_now(request, arrived_seq).await
        };
        self.report(self.run_to_completion(permit, abort, operation).await?)
    }

    /// Returns the answer to a caller that still waits for it, and records that it reports the restore. A caller that finds the
    /// sandbox running gets the report again, in case the first answer was lost.
    pub(super) fn report(&self, started: StartedWorkspace) -> Result<StartedWorkspace> {
        if let Some(mut record) = self.store.record()?
            && record.started_at == started.description.started_at
            && record.note_report(was_running(&started))
        {
            self.update_record(|current| *current = record)?;
        }
        Ok(started)
    }

    /// Starts the workspace, or returns the outcome of an equal start that completed since this call arrived, if no
    /// operation ran since. A failure is shared as well, because each waiting call would repeat it. If that start found
    /// the sandbox running, its outcome is shared only if it also began since this call arrived: an earlier probe would
    /// be too old.
    pub(super) async fn start_now(&self, request: StartRequest, arrived_seq: u64) -> Result<StartedWorkspace> {
        let shared = self.in_process.last_start.borrow().clone();
        if let Some(LastStart { began_seq, done_seq, request: last_request, outcome }) = shared
            && (began_seq > arrived_seq || (done_seq > arrived_seq && !outcome.as_ref().is_ok_and(was_running)))
            && done_seq == self.in_process.sequence.get()
            && last_request == request
        {
            return outcome;
        }
        let began_seq = self.in_process.next_sequence();
        if let Some(fingerprint) = request.fingerprint.clone() {
            self.update_record(|record| record.settings.depends_on.fingerprint = Some(fingerprint))?;
        }
        let started = self.run_start(&request).await;
        let done_seq = self.in_process.next_sequence();
        *self.in_process.last_start.borrow_mut() =
            Some(LastStart { began_seq, done_seq, request, outcome: started.clone() });
        started
    }

    async fn run_start(&self, request: &StartRequest) -> Result<StartedWorkspace> {
        let record = self.existing()?;
        let start = &request.start;
        if let Some(from) = &request.from {
            let call = keyed_call(request.idempotency_key.as_ref(), request)?;
            if !is_repeated(&record, call.as_ref())? {
                return self.start_from(&record, from, call, start).await;
            }
        }
        if record.started_at.is_none() {
            // The sandbox was never provisioned.
            self.transition(State::Provisioning, "it was started before its creation finished", |_| ())?;
            let error = match self.provision().await {
                Ok(()) => return self.bring_up(start, "it was created").await,
                Err(error) => error,
            };
            self.record_failure(State::Failed, &error)?;
            return Err(error);
        }
        let has_ended = record.state == State::Active;
        let cause = match record.state {
            State::Active => match self.ports.sandbox_ledgers()?.probe_condition(&record.sandbox_id).await? {
                condition @ (Condition::Running | Condition::DirectoryMissing) => {
                    // The snapshots of the sandbox get a new fingerprint from now on.
                    let ensured = if request.fingerprint.is_some() || record.restore_unconfirmed {
                        self.ensure_still_running(&ensure_running_request(&record, start)).await?
                    } else {
                        let is_missing = condition == Condition::DirectoryMissing;
                        EnsuredRunning { is_missing, ..ensured_running(StartOutcome::Running) }
                    };
                    let now = self.now();
                    let problem = self.problem_of_start(&record, &ensured);
                    let code = |problem: &Option<WorkspaceProblem>| problem.as_ref().map(|problem| problem.code);
                    let is_news = code(&problem) != code(&record.problem);
                    let record = self.update_record(|record| {
                        record.active_at = now;
                        record.problem = problem;
                        record.version += u64::from(is_news);
                        record.record_start(&ensured);
                    })?;
                    if is_news {
                        self.notify_directory();
                    }
                    return Ok(started(&record, ensured));
                }
                Condition::Ended => "its sandbox had ended",
                Condition::ColdStarted | Condition::Diverged => "its sandbox had cold-started without its files",
            },
            _ => "it was started by a caller",
        };
        // Of a persistent one, the ledger of the sandbox knows whether a snapshot has all its files.
        self.transition(State::Restoring, cause, |record| {
            record.container_ended |= has_ended && !record.settings.persistent;
        })?;
        self.bring_up(start, "its files are in place").await
    }

    /// Continues the workspace from a snapshot of its lineage, in a new sandbox, which runs. The present files are saved
    /// before.
    async fn start_from(
        &self,
        record: &NamedRecord,
        from: &SnapshotText,
        call: Option<KeyedCall>,
        start: &StartSettings,
    ) -> Result<StartedWorkspace> {
        let source = self.find_selected(record, from).await?;
        let (_, saved) = self.save_before_switch(record, SnapshotCause::BeforeStart).await?;
        let next = NextSandbox {
            cause: format!("it was started from the snapshot {}", source.snapshot_id),
            source,
            may_have_lost: false,
            settings: record.settings.clone(),
            start: Some(ensure_running_request(record, start)),
            saved,
            promotion: call,
        };
        let ensured = self.switch_to(record, next).await?.ok_or_else(Error::internal)?;
        Ok(started(&self.existing()?, ensured))
    }

    /// Starts the sandbox with the workspace's files, or another sandbox if this one does not answer.
    pub(super) async fn bring_up(&self, start: &StartSettings, cause: &str) -> Result<StartedWorkspace> {
        let outcome = self.ensure_running(start).await;
        match &outcome {
            Err(error) if error.code() == Code::SandboxUnresponsive => {
                self.relocate_unresponsive(error.clone()).await?;
            }
            _ => return self.record_outcome(outcome, cause),
        }
        self.transition(State::Restoring, "it is started in another sandbox", |_| ())?;
        match self.ensure_running(start).await {
            Err(error) if error.code() == Code::SandboxUnresponsive => {
                // The next start uses a third sandbox.
                self.relocate_unresponsive(error.clone()).await?;
                Err(error)
            }
            outcome => self.record_outcome(outcome, cause),
        }
    }

    /// Moves the workspace from a sandbox that does not answer to another one.
    async fn relocate_unresponsive(&self, error: Error) -> Result<()> {
        let is_new = self.existing()?.state == State::Provisioning;
        self.record_failure(if is_new { State::Failed } else { State::Stopped }, &error)?;
        // If the Worker is interrupted before the workspace has another sandbox, this task still ends the present one.
        self.update_record(|record| record.add_task(Task::StopUnused(record.sandbox_id.clone())))?;
        self.relocate(Some(&error)).await.map(drop).map_err(|relocate_error| error.with_note(relocate_error.message()))
    }

    async fn ensure_running(&self, start: &StartSettings) -> Result<EnsuredRunning> {
        let record = self.existing()?;
        self.ports.sandbox_ledgers()?.ensure_running(&record.sandbox_id, &ensure_running_request(&record, start)).await
    }

    /// Changes the sandbox of the active workspace, which a probe found running. Its container may have ended since, and
    /// then the call restores the files.
    pub(super) async fn ensure_still_running(&self, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        let record = self.update_record(|record| record.restore_unconfirmed = true)?;
        self.ports.sandbox_ledgers()?.ensure_running(&record.sandbox_id, request).await
    }

    /// Records the outcome of a start.
    fn record_outcome(&self, outcome: Result<EnsuredRunning>, cause: &str) -> Result<StartedWorkspace> {
        match outcome {
            Ok(mut ensured) => {
                let now = self.now();
                let before = self.existing()?;
                let is_empty = ensured.how == StartOutcome::Empty;
                ensured.has_lost_files |= is_empty && before.container_ended;
                let problem = self.problem_of_start(&before, &ensured);
                let on_started = |record: &mut NamedRecord| {
                    record.started_at = Some(now);
                    record.active_at = now;
                    record.problem = problem;
                    record.next_check_at = None;
                    record.record_start(&ensured);
                    record.root_id.clone_from(&ensured.root_id);
                    record.platform_snapshot.clone_from(&ensured.platform_snapshot);
                    record.runtime = ensured.runtime.or(record.runtime);
                    let stop_task = Task::StopUnused(record.sandbox_id.clone());
                    record.tasks.retain(|task| *task != stop_task);
                };
                let cause = match &ensured.restore {
                    Some(restore) => restored(cause, restore),
                    None if ensured.has_lost_files && is_empty => {
                        "it was started empty; its earlier files may be lost".to_owned()
                    }
                    None if ensured.has_lost_files => format!("{cause}; its earlier files may be lost"),
                    None if is_empty && before.started_at.is_some() => "it was started without files".to_owned(),
                    None => cause.to_owned(),
                };
                let record = self.transition(State::Active, &cause, on_started)?;
                Ok(started(&record, ensured))
            }
            Err(error) => {
                let is_new = self.existing()?.state == State::Provisioning;
                let is_unknown = matches!(error.code(), Code::WorkspaceUnavailable | Code::SandboxTimeout);
                let can_be_repaired =
                    matches!(error.code(), Code::SnapshotStale | Code::LedgerCorrupt | Code::ImageNotFound);
                let can_be_retried = error.is_retryable() || can_be_repaired || is_unknown;
                self.record_failure(if can_be_retried && !is_new { State::Stopped } else { State::Failed }, &error)?;
                if is_unknown {
                    // The sandbox may have started despite the error.
                    self.update_record(|record| record.add_task(Task::StopUnused(record.sandbox_id.clone())))?;
                }
                Err(error)
            }
        }
    }

    /// Returns the problem of a workspace whose start succeeded: its directory was deleted or moved.
    fn problem_of_start(&self, record: &NamedRecord, ensured: &EnsuredRunning) -> Option<WorkspaceProblem> {
        ensured.is_missing.then(|| self.problem(&Error::directory_missing(&record.settings.dir)))
    }

    fn record_failure(&self, to: State, error: &Error) -> Result<()> {
        let problem = self.problem(error);
        self.transition(to, &format!("it could not be started: {}", error.code()), |record| {
            record.problem = Some(problem);
        })?;
        Ok(())
    }
}

fn ensure_running_request(record: &NamedRecord, start: &StartSettings) -> EnsureRunningRequest {
    let (address, settings) = (Some(record.address.clone()), record.settings.clone());
    let (may_have_lost, lost_since) = (record.may_have_lost_elsewhere(), record.lost_since_elsewhere());
    EnsureRunningRequest {
        address,
        settings,
        start: start.clone(),
        version: record.version,
        may_have_lost,
        lost_since,
        never_persistent: record.never_persistent,
    }
}

/// Returns the cause of a start that restored a snapshot.
pub(super) fn restored(cause: &str, restore: &LastRestore) -> String {
    let loss = match restore.lost_since.filter(|since| *since < restore.created_at) {
        Some(since) => format!("; files that were written after {since} may be lost"),
        None if restore.may_have_lost => "; newer files may be lost".to_owned(),
        None => String::new(),
    };
    match &restore.snapshot_id {
        Some(snapshot_id) => format!("{cause}, from the snapshot {snapshot_id}{loss}"),
        None => format!("{cause}, from a platform snapshot{loss}"),
    }
}

/// Returns the response to a start.
pub(in crate::service) fn started(record: &NamedRecord, ensured: EnsuredRunning) -> StartedWorkspace {
    let root_id = record.root_id.clone().unwrap_or_else(|| root_of(&record.sandbox_id));
    StartedWorkspace {
        description: WorkspaceDescription::from(record),
        workspace: WorkspaceRef::new(record.sandbox_id.clone(), root_id),
        how: ensured.how,
        platform_fallback: ensured.platform_fallback,
        rescue_snapshot_id: ensured.rescue_snapshot_id,
        stale: ensured.stale,
        hook_runs: ensured.hooks,
    }
}

/// Returns whether the sandbox ran already, with its files in place.
fn was_running(started: &StartedWorkspace) -> bool {
    started.how == StartOutcome::Running
}
