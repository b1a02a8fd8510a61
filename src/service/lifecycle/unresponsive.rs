//! A sandbox that does not answer since its container was to be ended, or its files restored.
//!
//! A call whose time limit has passed may still have its effect. The late end of a container could come to the next one, in which
//! somebody works by then. A late restore keeps the next one waiting: the SDK does one after the other. So no container of such a
//! sandbox is handed out any more. Its workspace goes on in another one (`named::relocate`), and whatever comes late comes to a
//! sandbox that belongs to no name any more.

use crate::model::named::messages::Resumed;
use crate::model::{Code, Error, Result};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

/// Refuses a sandbox of which the end of a container was not answered in time.
pub(super) fn check<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    if this.standing()?.end_unanswered {
        Err(give_up(this, "The end of its container was not answered in time."))
    } else {
        Ok(())
    }
}

/// What came of a start, or that the sandbox is given up: because of [`check`], or since a call was not answered in time where
/// it `was_restoring` before: a restore was begun in an earlier call, and its end not seen.
pub(super) fn judge<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    resumed: Result<Resumed>,
    was_restoring: bool,
) -> Result<Resumed> {
    check(this)?;
    resumed.map_err(|error| match error.code() {
        Code::SandboxTimeout if was_restoring => give_up(this, error.message()),
        _ => error,
    })
}

fn give_up<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, why: &str) -> Error {
    Error::new(
        Code::SandboxUnresponsive,
        format!("The sandbox {:?} does not answer, and is given up. {why}", this.id.as_str()),
        "Start the workspace again: it goes on in another sandbox, from its newest snapshot.",
    )
}
