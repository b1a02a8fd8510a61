//! A workspace is stopped: with a snapshot, if it persists. What can't be captured goes on running.

use super::NamedWorkspace;
use super::relocate::relocate;
use crate::model::Result;
use crate::model::named::answer::{Described, Stopped};
use crate::model::named::messages::{HaltRequest, Halted, LastSnapshot};
use crate::model::named::record::Chore;
use crate::model::named::settings::Hook;
use crate::model::named::{NamedRecord, State};
use crate::ports::{Ports, Workspaces};
use crate::service::Abort;

/// Stops the workspace, when it is this call's turn. One that is stopped already is fine.
pub(super) async fn stop<P: Ports>(this: &NamedWorkspace<P>, abort: &Abort) -> Result<Stopped> {
    this.existing()?;
    let _turn = this.turn(abort).await?;
    stop_now(this, "it was stopped by a caller", false).await
}

/// Stops the workspace; `timed` because a time limit is reached.
pub(super) async fn stop_now<P: Ports>(this: &NamedWorkspace<P>, cause: &str, timed: bool) -> Result<Stopped> {
    this.memory.next();
    let record = this.existing()?;
    match record.state {
        State::Active => {
            this.step(State::Stopping, cause, |_| ())?;
        }
        // A sandbox may run in which something was written.
        State::Failed | State::Stopped if record.started_at.is_some() => {}
        _ => return Ok(stopped(&record, Halted::default())),
    }
    let request = HaltRequest {
        address: (*this.address).clone(),
        snapshot: record.settings.persistent,
        hooks: hooks(&record, timed),
        env: record.settings.env.clone(),
        version: this.existing()?.version,
        former: false,
    };
    match this.ports.workspaces()?.halt(&record.sandbox_id, &request).await {
        // It was stopped, and is.
        Ok(halted) if record.state == State::Stopped && halted.saved.is_none() && !halted.end_unanswered => {
            Ok(stopped(&record, Halted::default()))
        }
        Ok(halted) => {
            let last = match &halted.snapshot {
                Some(snapshot) => Some(snapshot.clone()),
                None => newest(this, &record).await,
            };
            let cause = match (&halted.snapshot, &halted.saved) {
                (Some(snapshot), _) => format!("{cause}; the snapshot {} was taken", snapshot.id),
                (None, Some(saved)) => {
                    format!("{cause}; its sandbox had ended before, and what was written since is the snapshot {saved}")
                }
                (None, None) if halted.was_asleep => format!("{cause}; its sandbox had ended before"),
                (None, None) => format!("{cause}; no snapshot was taken"),
            };
            let record = this.step(State::Stopped, &cause, |record| {
                record.last_snapshot = last.or_else(|| record.last_snapshot.take());
                record.problem = None;
                record.again_at = None;
            })?;
            let record = if halted.end_unanswered { leave(this).await? } else { record };
            Ok(stopped(&record, halted))
        }
        Err(error) => {
            let problem = this.problem(&error);
            let goes_on = format!("it could not be stopped: {}", error.code());
            match record.state {
                State::Active => {
                    this.step(State::Active, &goes_on, |record| record.problem = Some(problem))?;
                }
                // It is ended all the same, as soon as that can be done.
                _ => {
                    this.change(|record| record.add_chore(Chore::Quiet(record.sandbox_id.clone())))?;
                }
            }
            Err(error)
        }
    }
}

/// Leaves a sandbox of which the end of the container was not answered, for another one: it may come late.
async fn leave<P: Ports>(this: &NamedWorkspace<P>) -> Result<NamedRecord> {
    match relocate(this, None).await {
        Ok(record) => Ok(record),
        // The next start does that, and until then its end is asked for again.
        Err(_) => this.change(|record| record.add_chore(Chore::Quiet(record.sandbox_id.clone()))),
    }
}

fn hooks(record: &NamedRecord, timed: bool) -> Vec<(String, Hook)> {
    let is_run = |name: &str| name == "beforeStop" || (timed && name == "onTimeout");
    let mut hooks: Vec<_> = record
        .settings
        .hooks
        .all()
        .filter(|(name, _)| is_run(name))
        .map(|(name, hook)| (name.to_owned(), hook.clone()))
        .collect();
    // The time limit comes before the stop.
    hooks.sort_by_key(|(name, _)| name != "onTimeout");
    hooks
}

/// The newest snapshot, where it is the workspace's own. What fails is not worth a failure.
async fn newest<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord) -> Option<LastSnapshot> {
    let newest = this.ports.workspaces().ok()?.newest(&record.sandbox_id).await.ok()?;
    newest.filter(|snapshot| snapshot.origin_id == record.sandbox_id)
}

fn stopped(record: &NamedRecord, halted: Halted) -> Stopped {
    Stopped {
        described: Described::from(record),
        saved: halted.saved,
        was_asleep: halted.was_asleep,
        unsettled: halted.unsettled,
        hook_runs: halted.hooks,
    }
}
