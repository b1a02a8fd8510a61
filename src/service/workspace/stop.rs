//! Stops a workspace, with a snapshot if it is persistent. If the capture fails, the sandbox keeps running.

use super::{CoalesceKey, NamedWorkspace};
use crate::model::Result;
use crate::model::named::Task;
use crate::model::named::answer::{LastSnapshot, StoppedWorkspace, WorkspaceDescription};
use crate::model::named::messages::{SandboxStopped, StopSandboxRequest};
use crate::model::named::record::RestoreReport;
use crate::model::named::settings::Hook;
use crate::model::named::{NamedRecord, State, StoragePolicy};
use crate::model::request::{StopRequest, StopSnapshot};
use crate::ports::{Ports, SandboxLedgerClient, WorkspaceStore};
use crate::service::CancellationToken;

/// Why a workspace is stopped.
#[derive(PartialEq)]
pub(super) enum StopReason {
    /// A caller stops it, with these options of the snapshot.
    Caller(Option<StopSnapshot>),
    /// A time limit has passed.
    TimeLimit,
    /// It moves to another runtime, for which its files are captured even if it is not persistent.
    Migration,
}

impl<P: Ports> NamedWorkspace<P> {
    /// Stops the workspace: takes a snapshot, and ends the sandbox. Succeeds if the workspace is stopped already.
    pub async fn stop(&self, request: StopRequest, abort: CancellationToken) -> Result<StoppedWorkspace> {
        let permit = self.acquire_permit(Some(CoalesceKey::Stop(request.clone())))?;
        let operation = |this: Self, abort| async move {
            this.existing()?;
            let _lock = this.lock_operation(&abort).await?;
            this.stop_now("it was stopped by a caller", StopReason::Caller(request.snapshot)).await
        };
        self.report_stop(self.run_to_completion(permit, abort, operation).await?)
    }

    /// Returns the answer to a caller that still waits for it: it reports a possible loss.
    pub(super) fn report_stop(&self, stopped: StoppedWorkspace) -> Result<StoppedWorkspace> {
        // After a start that failed, the answer to a stop has no restore to report.
        let is_reported = stopped.description.may_have_lost == Some(true);
        let is_due = |record: &NamedRecord| {
            is_reported
                && record.may_have_lost() == Some(true)
                && record.restore_report == RestoreReport::DueByStop
                && record.state == State::Stopped
        };
        if self.store.record()?.is_some_and(|record| is_due(&record)) {
            self.update_record(|record| record.restore_report = RestoreReport::Again)?;
        }
        Ok(stopped)
    }

    /// Stops the workspace.
    pub(super) async fn stop_now(&self, cause: &str, reason: StopReason) -> Result<StoppedWorkspace> {
        self.in_process.next_sequence();
        let record = self.existing()?;
        match record.state {
            State::Active => {
                self.transition(State::Stopping, cause, |record| {
                    if reason != StopReason::TimeLimit {
                        record.begin_reported_stop();
                    }
                })?;
            }
            // The sandbox may run nevertheless, with files that were written since.
            State::Failed | State::Stopped if record.started_at.is_some() => {}
            _ => return Ok(stopped(&record, SandboxStopped::default())),
        }
        let request = self.stop_request(&record, &reason)?;
        match self.ports.sandbox_ledgers()?.stop_sandbox(&record.sandbox_id, &request).await {
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
                    None => self.newest_own_snapshot(&record).await,
                };
                let cause = with_outcome(cause, &outcome);
                let record = self.transition(State::Stopped, &cause, |record| {
                    record.note_snapshots(last, outcome.platform_snapshot.clone());
                    record.note_container_ended(outcome.ended_unsaved);
                    record.problem = None;
                    record.next_check_at = None;
                })?;
                let record = if outcome.destroy_unconfirmed { self.relocate_or_retry().await? } else { record };
                Ok(stopped(&record, outcome))
            }
            Err(error) => {
                let problem = self.problem(&error);
                let cause = format!("it could not be stopped: {}", error.code());
                match record.state {
                    State::Active => {
                        self.transition(State::Active, &cause, |record| record.problem = Some(problem))?;
                    }
                    // A task ends the sandbox as soon as possible.
                    _ => {
                        self.update_record(|record| record.add_task(Task::StopUnused(record.sandbox_id.clone())))?;
                    }
                }
                Err(error)
            }
        }
    }

    /// Returns the request to stop the sandbox of the workspace.
    fn stop_request(&self, record: &NamedRecord, reason: &StopReason) -> Result<StopSandboxRequest> {
        let options = match reason {
            StopReason::Caller(options) => options.clone(),
            StopReason::TimeLimit | StopReason::Migration => None,
        };
        let storage = match (reason, record.settings.storage) {
            // No other runtime restores a platform snapshot.
            (StopReason::Migration, _) => StoragePolicy::Archive,
            // Only an archive has a label and an expiration.
            (_, StoragePolicy::Platform) if options.is_some() => StoragePolicy::Both,
            (_, storage) => storage,
        };
        Ok(StopSandboxRequest {
            address: (*self.address).clone(),
            snapshot: record.settings.persistent || options.is_some() || *reason == StopReason::Migration,
            options,
            storage,
            image: record.settings.image.clone(),
            hooks: hooks_to_run(record, reason),
            env: record.settings.env.clone(),
            version: self.existing()?.version,
            superseded: false,
            cause: None,
            reported_restore: reported_restore(record, reason),
        })
    }

    /// Moves the workspace to another sandbox, because the destroy of the container timed out and may take effect late.
    async fn relocate_or_retry(&self) -> Result<NamedRecord> {
        match self.relocate(None).await {
            Ok(record) => Ok(record),
            // The next start moves the workspace. Until then, a task repeats the stop.
            Err(_) => self.update_record(|record| record.add_task(Task::StopUnused(record.sandbox_id.clone()))),
        }
    }

    /// Returns the newest snapshot if it was taken of the workspace's own sandbox. Ignores errors, because the stop
    /// itself succeeded.
    async fn newest_own_snapshot(&self, record: &NamedRecord) -> Option<LastSnapshot> {
        let newest = self.ports.sandbox_ledgers().ok()?.newest_snapshot(&record.sandbox_id).await.ok()?;
        newest.map(|newest| newest.snapshot).filter(|snapshot| snapshot.origin_id == record.sandbox_id)
    }
}

/// Returns why a workspace was stopped, with what the stop of its sandbox did.
fn with_outcome(cause: &str, outcome: &SandboxStopped) -> String {
    let has_platform = outcome.platform_snapshot.is_some();
    match (&outcome.snapshot, &outcome.rescue_snapshot_id) {
        (Some(snapshot), _) if has_platform => {
            format!("{cause}; the snapshot {} and a platform snapshot were taken", snapshot.id)
        }
        (Some(snapshot), _) => format!("{cause}; the snapshot {} was taken", snapshot.id),
        (None, None) if has_platform => format!("{cause}; a platform snapshot was taken"),
        (None, Some(rescue)) => {
            format!("{cause}; its sandbox had ended before, and the rescue snapshot {rescue} was taken")
        }
        (None, None) if outcome.had_ended => format!("{cause}; its sandbox had ended before"),
        (None, None) => format!("{cause}; no snapshot was taken"),
    }
}

/// Returns the nonce of the last restore, if a caller received a further report of it, or receives one by the answer to
/// the stop.
fn reported_restore(record: &NamedRecord, reason: &StopReason) -> Option<String> {
    let is_reported = record.restore_report == RestoreReport::Again || *reason != StopReason::TimeLimit;
    record.last_restore.as_ref().filter(|_| is_reported).map(|restore| restore.nonce.clone())
}

/// Returns the hooks that run before a stop, in order.
fn hooks_to_run(record: &NamedRecord, reason: &StopReason) -> Vec<(String, Hook)> {
    let runs = |name: &str| name == "beforeStop" || (*reason == StopReason::TimeLimit && name == "onTimeout");
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

/// Returns the response to a stop.
pub(super) fn stopped(record: &NamedRecord, outcome: SandboxStopped) -> StoppedWorkspace {
    StoppedWorkspace {
        description: WorkspaceDescription::from(record),
        rescue_snapshot_id: outcome.rescue_snapshot_id,
        had_ended: outcome.had_ended,
        changed_during_capture: outcome.changed_during_capture,
        platform_failure: outcome.platform_failure,
        hook_runs: outcome.hooks,
    }
}
