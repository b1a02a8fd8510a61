//! The sandbox of a named workspace, as its own workspace sees to it: it is made, found asleep, given its files again, and
//! ended.
//!
//! - [`look`]: what has become of it
//! - [`resume`]: it gets its files, where they are not in place
//! - [`source`]: from what
//! - [`stamp`]: how far its container is
//! - [`stale`]: whether the world is still what it was then
//! - [`hooks`]: commands that run in it
//! - [`halt`]: it is ended, with a snapshot
//! - [`capture`]: that snapshot
//! - [`reserve`]: another one is going to be made from a snapshot of it
//! - [`retire`]: it is not needed any more
//! - [`unresponsive`]: it does not answer any more
//! - [`settle`]: what is left of one that was being started when somebody died
//!
//! Only one at a time starts or ends it. The container carries a [`Stamp`](crate::model::named::Stamp) from the moment on in
//! which somebody begins to fill it, and every step after that is done in the container with that stamp only.

pub(super) mod capture;
pub(super) mod halt;
mod hooks;
mod look;
pub(super) mod reserve;
pub(super) mod resume;
pub(super) mod retire;
pub(super) mod settle;
pub(super) mod source;
mod stale;
mod stamp;
mod unresponsive;

pub(super) use look::{Sight, look};
use look::{settled_look, sparing_look};

use std::panic::AssertUnwindSafe;

use futures_channel::oneshot;
use futures_util::FutureExt;

use super::CloudflareSandboxSnapshotter;
use crate::model::named::standing::Standing;
use crate::model::record::LooseEnd;
use crate::model::{Code, Error, Result};
use crate::ports::{Background, Clock, Ledger, Ports};

/// When a sandbox is looked after that nobody works on any more, in milliseconds.
const LOOKED_AFTER_MILLIS: i64 = 60_000;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// What is kept of a sandbox that stands for a name.
    ///
    /// # Errors
    /// [`Code::WorkspaceNotFound`] when it stands for none.
    pub(super) fn standing(&self) -> Result<Standing> {
        self.workspace()?.standing.ok_or_else(|| {
            Error::new(
                Code::WorkspaceNotFound,
                format!("The sandbox {:?} stands for no workspace with a name.", self.id.as_str()),
                "Make a workspace with a name.",
            )
        })
    }

    /// Changes it.
    pub(super) fn stand(&self, change: impl FnOnce(&mut Standing)) -> Result<()> {
        let mut workspace = self.workspace()?;
        let mut standing = self.standing()?;
        change(&mut standing);
        let standing = Some(standing);
        if workspace.standing != standing {
            workspace.standing = standing;
            self.ports.ledger()?.put_workspace(&workspace)?;
        }
        Ok(())
    }
}

/// The sandbox is looked after when nobody works on it any more.
pub(super) fn look_after<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let due = this.ports.clock().now().plus_millis(LOOKED_AFTER_MILLIS);
    this.stand(|standing| standing.filling = Some(LooseEnd { due, tries: 0 }))?;
    this.wake_by(due)
}

/// What a start or stop left unfinished, if one did. A call of it may still come, so the sandbox is looked after when its workspace is
/// stopped.
fn left_unfinished<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<LooseEnd>> {
    let left = this.standing()?.filling;
    this.stand(|standing| standing.late |= left.is_some())?;
    Ok(left)
}

/// Notes where a call was not answered in time. The sandbox is looked after when its workspace is stopped.
pub(super) fn note_late<P: Ports, T>(this: &CloudflareSandboxSnapshotter<P>, outcome: Result<T>) -> Result<T> {
    let is_late = |error: &Error| matches!(error.code(), Code::SandboxTimeout | Code::BackupInterrupted);
    if outcome.as_ref().is_err_and(is_late) && this.workspace()?.standing.is_some() {
        this.stand(|standing| standing.late = true)?;
    }
    outcome
}

/// Does `work` to its end, also when the caller goes away: what is half done is worth nothing.
pub(super) async fn to_the_end<P: Ports, T: 'static>(
    this: &CloudflareSandboxSnapshotter<P>,
    work: impl Future<Output = Result<T>> + 'static,
) -> Result<T> {
    let (sender, outcome) = oneshot::channel();
    let work = AssertUnwindSafe(work).catch_unwind().map(|outcome| {
        // Nobody waits any more when this fails.
        let _ = sender.send(outcome.unwrap_or_else(|_| Err(Error::defect())));
    });
    this.ports.background().run(work.boxed_local());
    outcome.await.unwrap_or_else(|_| Err(Error::defect()))
}

/// Makes sure that nothing was asked for since, by a later version of the workspace's record: the caller of this one died, and
/// nobody would see to what comes of it.
pub(super) fn is_not_superseded<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, version: u64) -> Result<()> {
    let latest = this.standing()?.version;
    // Releases before this one sent none.
    if version == 0 {
        return Ok(());
    }
    if version < latest {
        return Err(Error::new(
            Code::OperationInterrupted,
            format!(
                "The sandbox {:?} was started or ended for its workspace since that was asked for.",
                this.id.as_str()
            ),
            "Try again.",
        ));
    }
    this.stand(|standing| standing.version = version)
}

/// Makes sure that the sandbox still stands for somebody.
pub(super) fn is_not_retired<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    match this.workspace()?.retired_at {
        None => Ok(()),
        Some(at) => Err(Error::new(
            Code::WorkspaceNotFound,
            format!("The workspace of the sandbox {:?} was deleted at {at}.", this.id.as_str()),
            "Make a new one.",
        )),
    }
}

/// Makes sure that nobody is putting files into the sandbox, or was when they died.
pub(super) fn is_not_being_filled<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let is_being_filled = this.workspace()?.standing.is_some_and(|standing| standing.filling.is_some());
    if is_being_filled { Err(being_filled(this)) } else { Ok(()) }
}

/// The error about a sandbox that a start puts files into, or put files into when it was ended.
pub(super) fn being_filled<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Error {
    Error::new(
        Code::SandboxStarting,
        format!("The sandbox {:?} is being started for its workspace, or that was not finished.", this.id.as_str()),
        "Start the workspace, and try again when that is done.",
    )
}
