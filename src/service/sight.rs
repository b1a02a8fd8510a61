//! The container of a capture: before, and after.
//!
//! Before, its state has to say that it is up. Whether its files are the workspace's is looked at afterwards, once for the time
//! before, the time after, and all between: a look would start a container as well as a capture does.

use super::container::{self, Check};
use super::{Abort, CloudflareSandboxSnapshotter, doubt};
use crate::model::record::{Look, Making, Sighting};
use crate::model::{Code, Directory, Error, Result, SnapshotRequest, Timestamp};
use crate::ports::Ports;

/// A container that can be captured.
pub(super) struct Seen {
    /// When it was seen.
    pub sighting: Sighting,
    /// Whether it was looked into.
    pub look: Look,
    /// Whether its files are the workspace's, as far as that can be told.
    pub is_own: bool,
}

/// Sees to it that the sandbox is up. Whether its files are the workspace's is looked at when they are captured: a look starts
/// a container too, and is not needed twice. Only who would go on with any container has to know it before.
pub(super) async fn sight<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &SnapshotRequest,
    dir: &Directory,
    abort: &Abort,
) -> Result<Seen> {
    let (ports, id) = (&*this.ports, &request.sandbox_id);
    let stands = this.workspace()?.standing.is_some();
    let look = match (request.wake, stands) {
        (true, _) => Look::Done,
        (false, true) => Look::Due,
        (false, false) => Look::DueInDoubt,
    };
    let seen = match container::sight(ports, id).await {
        Ok(sighting) if request.wake => {
            if !stands {
                doubt::begin(this)?;
            }
            let check = meant(this, sighting.since)?;
            container::is_meant(ports, None, id, dir, &check).await.map(|()| sighting)
        }
        seen => seen,
    };
    match seen {
        // Nobody would end it again.
        Err(error) if stands && error.code() == Code::SandboxNotRunning => Err(Error::new(
            error.code(),
            error.message(),
            "Start the workspace that it stands for, and take the snapshot then.",
        )),
        Err(error) if request.wake && is_about_the_container(&error) => {
            let sighting = container::wake(ports, id, dir, abort).await?;
            // What stands for a name is known by its stamp.
            if !stands {
                doubt::trust_from_now(this)?;
            }
            Ok(Seen { sighting, look, is_own: !stands })
        }
        seen => seen.map(|sighting| Seen { sighting, look, is_own: true }),
    }
}

/// What the container of a capture has to be.
pub(super) fn check<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, making: &Making) -> Result<Check> {
    match making.look {
        Look::Done => Ok(Check::Same(making.sighting)),
        Look::Due | Look::DueInDoubt => meant(this, making.sighting.since),
    }
}

/// What a container that was seen then has to be.
fn meant<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, seen: Timestamp) -> Result<Check> {
    if this.workspace()?.standing.is_some() {
        return Ok(Check::Stamped(seen));
    }
    Ok(Check::Older(doubt::since(this)?.map_or(seen, |since| since.min(seen))))
}

fn is_about_the_container(error: &Error) -> bool {
    matches!(error.code(), Code::SandboxNotRunning | Code::SandboxStarting | Code::SandboxReplaced)
}
