//! The alarm of a named workspace: stops the workspace if it is idle or too old, saves its files, and runs its tasks. No
//! files are lost by a stop: the next start restores them.

use super::NamedWorkspace;
use super::stop::StopReason;
use crate::model::named::{NamedRecord, State};
use crate::model::{Result, Timestamp, counted};
use crate::ports::{Ports, SandboxLedgerClient, WorkspaceStore};
use crate::service::CancellationToken;
use crate::service::tasks::backoff::RETRY_DELAY_MILLIS;

impl<P: Ports> NamedWorkspace<P> {
    /// Stops the workspace if a time limit has passed, saves its files if that is due, runs its tasks, and updates the
    /// Directory.
    ///
    /// # Errors
    /// The first failure. The next alarm tries again.
    pub async fn alarm(&self) -> Result<()> {
        // If this alarm is interrupted, the next one still fires.
        self.store.set_alarm(Some(self.now().plus_millis(RETRY_DELAY_MILLIS)))?;
        let outcome = {
            let _lock = self.lock_operation(&CancellationToken::never()).await?;
            let expired = self.stop_if_expired().await;
            expired.and(self.run_current_tasks().await)
        };
        let outcome = outcome.and(self.save_if_due().await);
        let outcome = outcome.and(self.run_former_tasks().await);
        let outcome = outcome.and(self.sync_directory().await);
        match self.record()? {
            Some(record) => self.schedule_alarm(&record)?,
            None => self.store.set_alarm(None)?,
        }
        outcome
    }

    /// Stops the workspace if one of its time limits has passed.
    async fn stop_if_expired(&self) -> Result<()> {
        let Some(record) = self.record()?.filter(|record| record.state == State::Active) else {
            return Ok(());
        };
        let now = self.now();
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        let (idle_at, old_at) = record.deadlines();
        if !is_due(idle_at) && !is_due(old_at) {
            return Ok(());
        }
        let outcome = self.stop_unless_changed(&record, is_due(old_at)).await;
        if let Err(error) = &outcome {
            // The workspace stays active, and the next alarm tries again.
            let problem = self.problem(error);
            let known = self.existing()?.problem;
            let is_news = known.is_none_or(|known| known.code != problem.code);
            self.update_record(|record| {
                record.next_check_at = Some(now.plus_millis(RETRY_DELAY_MILLIS));
                record.version += u64::from(is_news);
                record.problem = Some(problem);
            })?;
        }
        outcome
    }

    /// Stops the workspace. If it is only idle and files changed since the previous check, records the activity
    /// instead.
    async fn stop_unless_changed(&self, record: &NamedRecord, is_old: bool) -> Result<()> {
        let ledgers = self.ports.sandbox_ledgers()?;
        if ledgers.probe_condition(&record.sandbox_id).await?.is_running()
            && !is_old
            && ledgers.changed_since_watch(&record.sandbox_id).await?
        {
            let now = self.now();
            self.update_record(|record| record.active_at = now)?;
            return Ok(());
        }
        let expiry = record.settings.expiry;
        let cause = if is_old {
            format!("its time limit of {} has passed", counted(expiry.max_seconds, "second"))
        } else {
            format!("it was idle for {}", counted(expiry.idle_seconds, "second"))
        };
        self.stop_now(&cause, StopReason::TimeLimit).await.map(drop)
    }
}
