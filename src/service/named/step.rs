//! From one state to another: the record, its alarm, and what others are told.

use futures_util::FutureExt;

use super::NamedWorkspace;
use crate::model::named::answer::{Entry, Problem};
use crate::model::named::record::Chore;
use crate::model::named::{NamedRecord, State};
use crate::model::{Error, Result, Timestamp};
use crate::ports::{Background, Clock, Home, Names, Ports};
use crate::service::planted::{Bug, planted};

/// How soon what could not be done is tried again, and what nobody works on is followed up, in milliseconds.
pub(super) const AGAIN_MILLIS: i64 = 60_000;

impl<P: Ports> NamedWorkspace<P> {
    /// Now.
    pub(super) fn now(&self) -> Timestamp {
        self.ports.clock().now()
    }

    /// Changes the record, as it is now: nothing else can come in between.
    pub(super) fn change(&self, change: impl FnOnce(&mut NamedRecord)) -> Result<NamedRecord> {
        let home = self.ports.home()?;
        let mut record = home.named()?.ok_or_else(Error::defect)?;
        change(&mut record);
        home.put_named(&record)?;
        self.schedule(&record)?;
        Ok(record)
    }

    /// Steps to another state, and changes what goes with that.
    pub(super) fn step(&self, to: State, cause: &str, change: impl FnOnce(&mut NamedRecord)) -> Result<NamedRecord> {
        let home = self.ports.home()?;
        let mut record = home.named()?.ok_or_else(Error::defect)?;
        let transition = record.step(to, self.now(), cause).ok_or_else(Error::defect)?;
        change(&mut record);
        home.put_named(&record)?;
        home.log(&self.address, &transition);
        self.schedule(&record)?;
        self.tell();
        Ok(record)
    }

    /// Notes what went wrong.
    pub(super) fn problem(&self, error: &Error) -> Problem {
        Problem::of(error, self.now())
    }

    /// Tells the Directory, in the background: nothing waits for it.
    pub(super) fn tell(&self) {
        let this = self.clone();
        // What fails is left to the alarm.
        self.ports.background().run(async move { drop(tell_now(&this).await) }.boxed_local());
    }

    /// Sets the alarm to what is due next.
    pub(super) fn schedule(&self, record: &NamedRecord) -> Result<()> {
        let home = self.ports.home()?;
        home.set_alarm(due(record, home.alarm()?, self.now()))
    }
}

/// When something is due, if anything is. What is left to be done is not put off by those who call meanwhile: where an alarm
/// is `set`, it stays.
fn due(record: &NamedRecord, set: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    let soon = now.plus_millis(AGAIN_MILLIS);
    let soon = set.filter(|at| *at > now).map_or(soon, |at| at.min(soon));
    let is_open = record.state.is_passing() || !record.chores.is_empty() || record.listed < record.version;
    let open = is_open.then_some(soon);
    let (idle_at, old_at) = if record.state == State::Active { record.ends() } else { (None, None) };
    // What failed is not tried again at once.
    let end = idle_at.into_iter().chain(old_at).min().map(|end| record.again_at.map_or(end, |again| end.max(again)));
    open.into_iter().chain(end).min()
}

/// Tells the Directory what has become of the workspace, if it does not know.
pub(super) async fn tell_now<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    let Some(record) = this.ports.home()?.named()?.filter(|record| record.listed < record.version) else {
        return Ok(());
    };
    let noted = this.ports.names()?.note(&this.address.tenant, &Entry::from(&record)).await;
    if noted.is_ok() {
        this.change(|now| now.listed = now.listed.max(record.version))?;
    }
    Ok(())
}

/// Sees to what somebody left who died: nobody else is at work now. What he was doing is not done, and can be asked for again;
/// what he began is ended later.
pub(super) fn recover<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    let Some(record) = this.ports.home()?.named()? else { return Ok(()) };
    let ended = match record.state {
        State::Provisioning => State::Failed,
        State::Restoring => State::Stopped,
        State::Stopping => State::Active,
        State::Active | State::Stopped | State::Failed | State::Deleted => return Ok(()),
    };
    if planted(Bug::PassingNotEnded) {
        return Ok(());
    }
    let cause = format!("nobody finished {}", record.state);
    this.step(ended, &cause, |record| {
        if ended != State::Active && !planted(Bug::RecoveredUnquieted) {
            record.add_chore(Chore::Quiet(record.sandbox_id.clone()));
        }
    })?;
    Ok(())
}
