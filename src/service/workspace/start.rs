//! Starts a workspace: probes its sandbox, and restores the files if they are not in place.

use super::create::provision;
use super::relocate::relocate;
use super::{LastStart, NamedWorkspace};
use crate::model::named::answer::{StartedWorkspace, WorkspaceDescription};
use crate::model::named::messages::{Condition, EnsureRunningRequest, EnsuredRunning, StartOutcome, StartSettings};
use crate::model::named::record::Task;
use crate::model::named::{NamedRecord, State};
use crate::model::request::StartRequest;
use crate::model::{Code, Error, Result, WorkspaceRef, root_of};
use crate::ports::{Ports, SandboxLedgerClient};
use crate::service::CancellationToken;

/// Acquires the operation lock and starts the workspace.
pub(super) async fn start<P: Ports>(
    this: &NamedWorkspace<P>,
    request: StartRequest,
    abort: &CancellationToken,
) -> Result<StartedWorkspace> {
    let arrived_seq = this.in_process.sequence.get();
    this.existing()?;
    let _lock = this.lock_operation(abort).await?;
    start_now(this, request, arrived_seq).await
}

/// Starts the workspace, or returns the outcome of an equal start that completed since this call arrived, if no
/// operation ran since. A failure is shared as well, because each waiting call would repeat it. If that start found the
/// sandbox running, its outcome is shared only if it also began since this call arrived: an earlier probe would be too
/// old.
pub(super) async fn start_now<P: Ports>(
    this: &NamedWorkspace<P>,
    request: StartRequest,
    arrived_seq: u64,
) -> Result<StartedWorkspace> {
    let shared = this.in_process.last_start.borrow().clone();
    if let Some(LastStart { began_seq, done_seq, request: last_request, outcome }) = shared
        && (began_seq > arrived_seq
            || (done_seq > arrived_seq && !outcome.as_ref().is_ok_and(StartedWorkspace::was_running)))
        && done_seq == this.in_process.sequence.get()
        && last_request == request
    {
        return outcome;
    }
    let began_seq = this.in_process.next_sequence();
    if let Some(fingerprint) = request.fingerprint.clone() {
        this.update_record(|record| record.settings.depends_on.fingerprint = Some(fingerprint))?;
    }
    let started = run_start(this, &request).await;
    let done_seq = this.in_process.next_sequence();
    *this.in_process.last_start.borrow_mut() =
        Some(LastStart { began_seq, done_seq, request, outcome: started.clone() });
    started
}

async fn run_start<P: Ports>(this: &NamedWorkspace<P>, request: &StartRequest) -> Result<StartedWorkspace> {
    let record = this.existing()?;
    let start = &request.start;
    if record.started_at.is_none() {
        // The sandbox was never provisioned.
        this.transition(State::Provisioning, "it was started before its creation finished", |_| ())?;
        let error = match provision(this).await {
            Ok(()) => return bring_up(this, start, "it was created").await,
            Err(error) => error,
        };
        record_failure(this, State::Failed, &error)?;
        return Err(error);
    }
    let cause = match record.state {
        State::Active => match this.ports.sandbox_ledgers()?.probe_condition(&record.sandbox_id).await? {
            Condition::Running => {
                let ensured = match request.fingerprint {
                    // The snapshots of the sandbox get this fingerprint from now on.
                    Some(_) => {
                        this.ports
                            .sandbox_ledgers()?
                            .ensure_running(&record.sandbox_id, &ensure_running_request(&record, start))
                            .await?
                    }
                    None => EnsuredRunning::already_running(),
                };
                let now = this.now();
                let record = this.update_record(|record| {
                    record.active_at = now;
                    record.problem = None;
                })?;
                return Ok(started(&record, ensured));
            }
            Condition::Ended => "its sandbox had ended",
            Condition::ColdStarted | Condition::Diverged => "its sandbox had cold-started without its files",
        },
        _ => "it was started by a caller",
    };
    this.transition(State::Restoring, cause, |_| ())?;
    bring_up(this, start, "its files are in place").await
}

/// Starts the sandbox with the workspace's files, or another sandbox if this one does not answer.
pub(super) async fn bring_up<P: Ports>(
    this: &NamedWorkspace<P>,
    start: &StartSettings,
    cause: &str,
) -> Result<StartedWorkspace> {
    let outcome = ensure_running(this, start).await;
    match &outcome {
        Err(error) if error.code() == Code::SandboxUnresponsive => relocate_unresponsive(this, error.clone()).await?,
        _ => return record_outcome(this, outcome, cause),
    }
    this.transition(State::Restoring, "it is started in another sandbox", |_| ())?;
    match ensure_running(this, start).await {
        Err(error) if error.code() == Code::SandboxUnresponsive => {
            // The next start uses a third sandbox.
            relocate_unresponsive(this, error.clone()).await?;
            Err(error)
        }
        outcome => record_outcome(this, outcome, cause),
    }
}

/// Moves the workspace from a sandbox that does not answer to another one.
async fn relocate_unresponsive<P: Ports>(this: &NamedWorkspace<P>, error: Error) -> Result<()> {
    let is_new = this.existing()?.state == State::Provisioning;
    record_failure(this, if is_new { State::Failed } else { State::Stopped }, &error)?;
    // If the Worker is interrupted before the workspace has another sandbox, this task still ends the present one.
    this.update_record(|record| record.add_task(Task::StopUnused(record.sandbox_id.clone())))?;
    relocate(this, Some(&error)).await.map(drop).map_err(|relocate_error| error.with_note(relocate_error.message()))
}

async fn ensure_running<P: Ports>(this: &NamedWorkspace<P>, start: &StartSettings) -> Result<EnsuredRunning> {
    let record = this.existing()?;
    this.ports.sandbox_ledgers()?.ensure_running(&record.sandbox_id, &ensure_running_request(&record, start)).await
}

/// Records the outcome of a start.
fn record_outcome<P: Ports>(
    this: &NamedWorkspace<P>,
    outcome: Result<EnsuredRunning>,
    cause: &str,
) -> Result<StartedWorkspace> {
    match outcome {
        Ok(ensured) => {
            let now = this.now();
            let on_started = |record: &mut NamedRecord| {
                record.started_at = Some(now);
                record.active_at = now;
                record.problem = None;
                record.next_check_at = None;
                record.root_id.clone_from(&ensured.root_id);
                let stop_task = Task::StopUnused(record.sandbox_id.clone());
                record.tasks.retain(|task| *task != stop_task);
            };
            let record = this.transition(State::Active, cause, on_started)?;
            Ok(started(&record, ensured))
        }
        Err(error) => {
            let is_new = this.existing()?.state == State::Provisioning;
            let is_unknown = matches!(error.code(), Code::WorkspaceUnavailable | Code::SandboxTimeout);
            let can_be_repaired = matches!(error.code(), Code::SnapshotStale | Code::LedgerCorrupt);
            let can_be_retried = error.is_retryable() || can_be_repaired || is_unknown;
            record_failure(this, if can_be_retried && !is_new { State::Stopped } else { State::Failed }, &error)?;
            if is_unknown {
                // The sandbox may have started despite the error.
                this.update_record(|record| record.add_task(Task::StopUnused(record.sandbox_id.clone())))?;
            }
            Err(error)
        }
    }
}

fn ensure_running_request(record: &NamedRecord, start: &StartSettings) -> EnsureRunningRequest {
    let (address, settings) = (record.address.clone(), record.settings.clone());
    EnsureRunningRequest { address, settings, start: start.clone(), version: record.version }
}

fn record_failure<P: Ports>(this: &NamedWorkspace<P>, to: State, error: &Error) -> Result<()> {
    let problem = this.problem(error);
    this.transition(to, &format!("it could not be started: {}", error.code()), |record| {
        record.problem = Some(problem);
    })?;
    Ok(())
}

/// Returns the response to a start.
pub(super) fn started(record: &NamedRecord, ensured: EnsuredRunning) -> StartedWorkspace {
    let root_id = record.root_id.clone().unwrap_or_else(|| root_of(&record.sandbox_id));
    StartedWorkspace {
        description: WorkspaceDescription::from(record),
        workspace: WorkspaceRef::new(record.sandbox_id.clone(), root_id),
        how: ensured.how,
        restored_from: ensured.snapshot_id,
        rescue_snapshot_id: ensured.rescue_snapshot_id,
        stale: ensured.stale,
        hook_runs: ensured.hooks,
    }
}

impl StartedWorkspace {
    /// Returns whether the sandbox ran already, with its files in place.
    fn was_running(&self) -> bool {
        self.how == StartOutcome::Running
    }
}

impl EnsuredRunning {
    /// Returns the outcome for a sandbox that runs already, with its files in place.
    pub(super) fn already_running() -> Self {
        Self {
            how: StartOutcome::Running,
            snapshot_id: None,
            rescue_snapshot_id: None,
            root_id: None,
            stale: Vec::new(),
            hooks: Vec::new(),
        }
    }
}
