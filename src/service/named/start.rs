//! A workspace is started: looked at first, and given its files where they are not in place.

use super::create::provision;
use super::relocate::relocate;
use super::{LastStart, NamedWorkspace};
use crate::model::named::answer::{Described, Started};
use crate::model::named::messages::{Condition, How, ResumeRequest, Resumed, Start};
use crate::model::named::record::Chore;
use crate::model::named::{NamedRecord, State};
use crate::model::request::StartRequest;
use crate::model::{Code, Error, Result, WorkspaceRef, root_of};
use crate::ports::{Ports, Workspaces};
use crate::service::Abort;

/// Starts the workspace, when it is this call's turn.
pub(super) async fn start<P: Ports>(this: &NamedWorkspace<P>, request: StartRequest, abort: &Abort) -> Result<Started> {
    let arrived = this.memory.done.get();
    this.existing()?;
    let _turn = this.turn(abort).await?;
    start_now(this, request, arrived).await
}

/// Starts the workspace, or shares what came of a start that did so since this call arrived: also its failure, which would
/// only be there again, for each who waits one after the other. That nothing had to be done is shared only where that was
/// looked at since.
pub(super) async fn start_now<P: Ports>(
    this: &NamedWorkspace<P>,
    request: StartRequest,
    arrived: u64,
) -> Result<Started> {
    let shared = this.memory.last_start.borrow().clone();
    if let Some(LastStart { began, done, asked, outcome }) = shared
        && (began > arrived || (done > arrived && !outcome.as_ref().is_ok_and(Started::was_alive)))
        && done == this.memory.done.get()
        && asked == request
    {
        return outcome;
    }
    let began = this.memory.next();
    if let Some(fingerprint) = request.fingerprint.clone() {
        this.change(|record| record.settings.depends_on.fingerprint = Some(fingerprint))?;
    }
    let started = begin(this, &request).await;
    let done = this.memory.next();
    *this.memory.last_start.borrow_mut() = Some(LastStart { began, done, asked: request, outcome: started.clone() });
    started
}

async fn begin<P: Ports>(this: &NamedWorkspace<P>, request: &StartRequest) -> Result<Started> {
    let record = this.existing()?;
    let start = &request.start;
    if record.started_at.is_none() {
        // It was never made.
        this.step(State::Provisioning, "it was started before it was made", |_| ())?;
        let made = match provision(this).await {
            Ok(()) => return bring_up(this, start, "it was made").await,
            Err(error) => error,
        };
        fail(this, State::Failed, &made)?;
        return Err(made);
    }
    let cause = match record.state {
        State::Active => match this.ports.workspaces()?.look(&record.sandbox_id).await? {
            Condition::Alive => {
                let resumed = match request.fingerprint {
                    // Its snapshots are marked with that from now on.
                    Some(_) => {
                        this.ports.workspaces()?.resume(&record.sandbox_id, &resume_request(&record, start)).await?
                    }
                    None => Resumed::alive(),
                };
                let now = this.now();
                let record = this.change(|record| {
                    record.active_at = now;
                    record.problem = None;
                })?;
                return Ok(started(&record, resumed));
            }
            Condition::Asleep => "its sandbox had fallen asleep",
            Condition::Woken | Condition::Diverged => "its sandbox had woken by itself, without its files",
        },
        _ => "it was started by a caller",
    };
    this.step(State::Restoring, cause, |_| ())?;
    bring_up(this, start, "its files are in place").await
}

/// Has the sandbox get its files; or another one, where it does not answer any more.
pub(super) async fn bring_up<P: Ports>(this: &NamedWorkspace<P>, start: &Start, cause: &str) -> Result<Started> {
    let outcome = resume(this, start).await;
    match &outcome {
        Err(error) if error.code() == Code::SandboxUnresponsive => leave(this, error.clone()).await?,
        _ => return done(this, outcome, cause),
    }
    this.step(State::Restoring, "it is started in another sandbox", |_| ())?;
    match resume(this, start).await {
        Err(error) if error.code() == Code::SandboxUnresponsive => {
            // The next start finds yet another one.
            leave(this, error.clone()).await?;
            Err(error)
        }
        outcome => done(this, outcome, cause),
    }
}

/// Leaves a sandbox that does not answer for another one.
async fn leave<P: Ports>(this: &NamedWorkspace<P>, error: Error) -> Result<()> {
    let is_new = this.existing()?.state == State::Provisioning;
    fail(this, if is_new { State::Failed } else { State::Stopped }, &error)?;
    // If the Worker dies before the workspace has another sandbox, this one is ended all the same.
    this.change(|record| record.add_chore(Chore::Quiet(record.sandbox_id.clone())))?;
    relocate(this, Some(&error)).await.map(drop).map_err(|unmoved| error.and(unmoved.message()))
}

async fn resume<P: Ports>(this: &NamedWorkspace<P>, start: &Start) -> Result<Resumed> {
    let record = this.existing()?;
    this.ports.workspaces()?.resume(&record.sandbox_id, &resume_request(&record, start)).await
}

/// Keeps what a start came to.
fn done<P: Ports>(this: &NamedWorkspace<P>, outcome: Result<Resumed>, cause: &str) -> Result<Started> {
    match outcome {
        Ok(resumed) => {
            let now = this.now();
            let is_up = |record: &mut NamedRecord| {
                record.started_at = Some(now);
                record.active_at = now;
                record.problem = None;
                record.again_at = None;
                record.root_id.clone_from(&resumed.root_id);
                let quiet = Chore::Quiet(record.sandbox_id.clone());
                record.chores.retain(|chore| *chore != quiet);
            };
            let record = this.step(State::Active, cause, is_up)?;
            Ok(started(&record, resumed))
        }
        Err(error) => {
            let is_new = this.existing()?.state == State::Provisioning;
            let is_unknown = matches!(error.code(), Code::WorkspaceUnavailable | Code::SandboxTimeout);
            let can_be_mended = matches!(error.code(), Code::SnapshotStale | Code::LedgerCorrupt);
            let can_be_tried_again = error.retryable() || can_be_mended || is_unknown;
            fail(this, if can_be_tried_again && !is_new { State::Stopped } else { State::Failed }, &error)?;
            if is_unknown {
                // It may have come up all the same.
                this.change(|record| record.add_chore(Chore::Quiet(record.sandbox_id.clone())))?;
            }
            Err(error)
        }
    }
}

fn resume_request(record: &NamedRecord, start: &Start) -> ResumeRequest {
    let (address, settings) = (record.address.clone(), record.settings.clone());
    ResumeRequest { address, settings, start: start.clone(), version: record.version }
}

fn fail<P: Ports>(this: &NamedWorkspace<P>, to: State, error: &Error) -> Result<()> {
    let problem = this.problem(error);
    this.step(to, &format!("it could not be started: {}", error.code()), |record| record.problem = Some(problem))?;
    Ok(())
}

/// The answer.
pub(super) fn started(record: &NamedRecord, resumed: Resumed) -> Started {
    let root_id = record.root_id.clone().unwrap_or_else(|| root_of(&record.sandbox_id));
    Started {
        described: Described::from(record),
        workspace: WorkspaceRef::new(record.sandbox_id.clone(), root_id),
        how: resumed.how,
        restored_from: resumed.snapshot_id,
        saved: resumed.saved,
        stale: resumed.stale,
        hook_runs: resumed.hooks,
    }
}

impl Started {
    /// Whether nothing had to be done.
    fn was_alive(&self) -> bool {
        self.how == How::Alive
    }
}

impl Resumed {
    /// That everything was in place.
    pub(super) fn alive() -> Self {
        Self { how: How::Alive, snapshot_id: None, saved: None, root_id: None, stale: Vec::new(), hooks: Vec::new() }
    }
}
