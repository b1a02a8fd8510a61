//! What time asks for: workspaces are stopped that nobody uses, or that are too old. Nothing is lost by that: whoever comes
//! back starts them again.

use super::NamedWorkspace;
use super::chores::{work_off_former, work_off_present};
use super::step::{AGAIN_MILLIS, tell_now};
use super::stop::stop_now;
use crate::model::named::messages::Condition;
use crate::model::named::{NamedRecord, State};
use crate::model::{Result, Timestamp};
use crate::ports::{Home, Ports, Workspaces};
use crate::service::Abort;

/// What the alarm does.
///
/// # Errors
/// What could not be done; it is tried again by the next alarm.
pub(super) async fn alarm<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    let home = this.ports.home()?;
    // When this one dies, the next one comes all the same.
    home.set_alarm(Some(this.now().plus_millis(AGAIN_MILLIS)))?;
    let outcome = {
        let _turn = this.turn(&Abort::never()).await?;
        let expired = expire(this).await;
        expired.and(work_off_present(this).await)
    };
    let outcome = outcome.and(work_off_former(this).await);
    let outcome = outcome.and(tell_now(this).await);
    match home.named()? {
        Some(record) => this.schedule(&record)?,
        None => home.set_alarm(None)?,
    }
    outcome
}

/// Stops the workspace if its time is over.
async fn expire<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    let Some(record) = this.ports.home()?.named()?.filter(|record| record.state == State::Active) else {
        return Ok(());
    };
    let now = this.now();
    let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    let (idle_at, old_at) = record.ends();
    if !is_due(idle_at) && !is_due(old_at) {
        return Ok(());
    }
    let ended = end(this, &record, is_due(old_at)).await;
    if let Err(error) = &ended {
        // It goes on, and is asked again.
        let problem = this.problem(error);
        this.change(|record| {
            record.again_at = Some(now.plus_millis(AGAIN_MILLIS));
            record.problem = Some(problem);
        })?;
    }
    ended
}

async fn end<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord, is_old: bool) -> Result<()> {
    let workspaces = this.ports.workspaces()?;
    if workspaces.look(&record.sandbox_id).await? == Condition::Alive
        && !is_old
        && workspaces.stirred(&record.sandbox_id).await?
    {
        let now = this.now();
        this.change(|record| record.active_at = now)?;
        return Ok(());
    }
    let expiry = record.settings.expiry;
    let cause = if is_old {
        format!("{} seconds had passed since it was started", expiry.max_seconds)
    } else {
        format!("nothing happened with it for {} seconds", expiry.idle_seconds)
    };
    stop_now(this, &cause, true).await.map(drop)
}
