//! Stops a workspace, with a snapshot if it is persistent. If the capture fails, the sandbox keeps running.

use super::NamedWorkspace;
use super::relocate::relocate;
use crate::model::Result;
use crate::model::named::answer::{StoppedWorkspace, WorkspaceDescription};
use crate::model::named::messages::{LastSnapshot, SandboxStopped, StopSandboxRequest};
use crate::model::named::record::Task;
use crate::model::named::settings::Hook;
use crate::model::named::{NamedRecord, State};
use crate::ports::{Ports, SandboxLedgerClient};
use crate::service::CancellationToken;

/// Acquires the operation lock and stops the workspace. Succeeds if the workspace is stopped already.
pub(super) async fn stop<P: Ports>(this: &NamedWorkspace<P>, abort: &CancellationToken) -> Result<StoppedWorkspace> {
    this.existing()?;
    let _lock = this.lock_operation(abort).await?;
    stop_now(this, "it was stopped by a caller", false).await
}

/// Stops the workspace. `timed` is `true` if a time limit has passed.
pub(super) async fn stop_now<P: Ports>(this: &NamedWorkspace<P>, cause: &str, timed: bool) -> Result<StoppedWorkspace> {
    this.in_process.next_sequence();
    let record = this.existing()?;
    match record.state {
        State::Active => {
            this.transition(State::Stopping, cause, |_| ())?;
        }
        // The sandbox may run nevertheless, with files that were written since.
        State::Failed | State::Stopped if record.started_at.is_some() => {}
        _ => return Ok(stopped(&record, SandboxStopped::default())),
    }
    let request = StopSandboxRequest {
        address: (*this.address).clone(),
        snapshot: record.settings.persistent,
        hooks: hooks_to_run(&record, timed),
        env: record.settings.env.clone(),
        version: this.existing()?.version,
        superseded: false,
    };
    match this.ports.sandbox_ledgers()?.stop_sandbox(&record.sandbox_id, &request).await {
        // The workspace was stopped before, and the sandbox has no new files.
        Ok(outcome)
            if record.state == State::Stopped
                && outcome.rescue_snapshot_id.is_none()
                && !outcome.destroy_unconfirmed =>
        {
            Ok(stopped(&record, SandboxStopped::default()))
        }
        Ok(outcome) => {
            let last = match &outcome.snapshot {
                Some(snapshot) => Some(snapshot.clone()),
                None => newest_own_snapshot(this, &record).await,
            };
            let cause = match (&outcome.snapshot, &outcome.rescue_snapshot_id) {
                (Some(snapshot), _) => format!("{cause}; the snapshot {} was taken", snapshot.id),
                (None, Some(rescue)) => {
                    format!("{cause}; its sandbox had ended before, and the rescue snapshot {rescue} was taken")
                }
                (None, None) if outcome.had_ended => format!("{cause}; its sandbox had ended before"),
                (None, None) => format!("{cause}; no snapshot was taken"),
            };
            let record = this.transition(State::Stopped, &cause, |record| {
                record.last_snapshot = last.or_else(|| record.last_snapshot.take());
                record.problem = None;
                record.next_check_at = None;
            })?;
            let record = if outcome.destroy_unconfirmed { relocate_or_retry(this).await? } else { record };
            Ok(stopped(&record, outcome))
        }
        Err(error) => {
            let problem = this.problem(&error);
            let cause = format!("it could not be stopped: {}", error.code());
            match record.state {
                State::Active => {
                    this.transition(State::Active, &cause, |record| record.problem = Some(problem))?;
                }
                // A task ends the sandbox as soon as possible.
                _ => {
                    this.update_record(|record| record.add_task(Task::StopUnused(record.sandbox_id.clone())))?;
                }
            }
            Err(error)
        }
    }
}

/// Moves the workspace to another sandbox, because the destroy of the container timed out and may take effect late.
async fn relocate_or_retry<P: Ports>(this: &NamedWorkspace<P>) -> Result<NamedRecord> {
    match relocate(this, None).await {
        Ok(record) => Ok(record),
        // The next start moves the workspace. Until then, a task repeats the stop.
        Err(_) => this.update_record(|record| record.add_task(Task::StopUnused(record.sandbox_id.clone()))),
    }
}

/// Returns the hooks that run before a stop, in order.
fn hooks_to_run(record: &NamedRecord, timed: bool) -> Vec<(String, Hook)> {
    let runs = |name: &str| name == "beforeStop" || (timed && name == "onTimeout");
    let mut hooks: Vec<_> = record
        .settings
        .hooks
        .all()
        .filter(|(name, _)| runs(name))
        .map(|(name, hook)| (name.to_owned(), hook.clone()))
        .collect();
    // `onTimeout` runs before `beforeStop`.
    hooks.sort_by_key(|(name, _)| name != "onTimeout");
    hooks
}

/// Returns the newest snapshot if it was taken of the workspace's own sandbox. Ignores errors, because the stop itself
/// succeeded.
async fn newest_own_snapshot<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord) -> Option<LastSnapshot> {
    let newest = this.ports.sandbox_ledgers().ok()?.newest_snapshot(&record.sandbox_id).await.ok()?;
    newest.filter(|snapshot| snapshot.origin_id == record.sandbox_id)
}

/// Returns the response to a stop.
fn stopped(record: &NamedRecord, outcome: SandboxStopped) -> StoppedWorkspace {
    StoppedWorkspace {
        description: WorkspaceDescription::from(record),
        rescue_snapshot_id: outcome.rescue_snapshot_id,
        had_ended: outcome.had_ended,
        changed_during_capture: outcome.changed_during_capture,
        hook_runs: outcome.hooks,
    }
}
