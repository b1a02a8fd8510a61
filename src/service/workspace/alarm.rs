//! The alarm of a named workspace: stops the workspace if it is idle or too old, and runs its tasks. No files are lost:
//! the next start restores them.

use super::NamedWorkspace;
use super::stop::stop_now;
use super::tasks::{run_current_tasks, run_former_tasks};
use super::transition::{RETRY_DELAY_MILLIS, sync_directory};
use crate::model::named::messages::Condition;
use crate::model::named::{NamedRecord, State};
use crate::model::{Result, Timestamp};
use crate::ports::{Ports, SandboxLedgerClient, WorkspaceStore};
use crate::service::CancellationToken;

/// Stops the workspace if a time limit has passed, runs its tasks, and updates the Directory.
///
/// # Errors
/// The first failure. The next alarm tries again.
pub(super) async fn alarm<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    let store = this.ports.workspace_store()?;
    // If this alarm is interrupted, the next one still fires.
    store.set_alarm(Some(this.now().plus_millis(RETRY_DELAY_MILLIS)))?;
    let outcome = {
        let _lock = this.lock_operation(&CancellationToken::never()).await?;
        let expired = stop_if_expired(this).await;
        expired.and(run_current_tasks(this).await)
    };
    let outcome = outcome.and(run_former_tasks(this).await);
    let outcome = outcome.and(sync_directory(this).await);
    match store.record()? {
        Some(record) => this.schedule_alarm(&record)?,
        None => store.set_alarm(None)?,
    }
    outcome
}

/// Stops the workspace if one of its time limits has passed.
async fn stop_if_expired<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    let Some(record) = this.ports.workspace_store()?.record()?.filter(|record| record.state == State::Active) else {
        return Ok(());
    };
    let now = this.now();
    let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    let (idle_at, old_at) = record.deadlines();
    if !is_due(idle_at) && !is_due(old_at) {
        return Ok(());
    }
    let outcome = stop_unless_changed(this, &record, is_due(old_at)).await;
    if let Err(error) = &outcome {
        // The workspace stays active, and the next alarm tries again.
        let problem = this.problem(error);
        this.update_record(|record| {
            record.next_check_at = Some(now.plus_millis(RETRY_DELAY_MILLIS));
            record.problem = Some(problem);
        })?;
    }
    outcome
}

/// Stops the workspace. If it is only idle and files changed since the previous check, records the activity instead.
async fn stop_unless_changed<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord, is_old: bool) -> Result<()> {
    let ledgers = this.ports.sandbox_ledgers()?;
    if ledgers.probe_condition(&record.sandbox_id).await? == Condition::Running
        && !is_old
        && ledgers.changed_since_watch(&record.sandbox_id).await?
    {
        let now = this.now();
        this.update_record(|record| record.active_at = now)?;
        return Ok(());
    }
    let expiry = record.settings.expiry;
    let cause = if is_old {
        format!("its time limit of {} seconds has passed", expiry.max_seconds)
    } else {
        format!("it was idle for {} seconds", expiry.idle_seconds)
    };
    stop_now(this, &cause, true).await.map(drop)
}
