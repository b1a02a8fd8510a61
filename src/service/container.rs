//! Whether a container is still the one that it was.
//!
//! On a stopped sandbox `createBackup` starts a new, empty container and stores an empty backup with success.
//! A look at the state before the call is not enough: the container may die, and be replaced, right after.
//! The SDK has no lasting identity of a container that could be compared. But a container that replaced
//! another one is younger than the look at the other one, and that can be measured.

use super::Abort;
use super::failures::{During, from_sandbox};
use super::retry::retry;
use crate::model::{Code, Directory, Error, Result, SandboxId, SandboxState, Status, Timestamp};
use crate::ports::{Clock, Ports, Sandboxes};

/// How often the age is measured while it is too close to tell.
const MEASUREMENTS: u32 = 3;

/// A container that was up.
pub(super) struct Sighting {
    since: Timestamp,
    state: SandboxState,
}

/// Makes sure that the sandbox is running, so that its files are there.
///
/// # Errors
/// [`Code::SandboxNotRunning`], or [`Code::SandboxStarting`] while it is not up yet.
pub(super) async fn sight<P: Ports>(ports: &P, id: &SandboxId) -> Result<Sighting> {
    let since = ports.clock().now();
    let state = ports.sandboxes()?.state(id).await.map_err(|failure| from_sandbox(failure, id, During::Look))?;
    match state.status {
        Status::Healthy => Ok(Sighting { since, state }),
        Status::Starting => Err(Error::new(
            Code::SandboxStarting,
            format!(
                "The sandbox {:?} is still starting, and has no files of its own yet. Nothing was touched.",
                id.as_str()
            ),
            "Try again when it is up. `wake: true` captures it as it starts.",
        )),
        Status::Down => Err(Error::new(
            Code::SandboxNotRunning,
            format!(
                "The sandbox {:?} is not running, so its files are gone and a snapshot would be empty. Nothing was touched.",
                id.as_str()
            ),
            "Take snapshots while the sandbox is in use; restore an earlier one to go on. `wake: true` starts the sandbox and captures it as it starts.",
        )),
    }
}

/// Starts the sandbox where it isn't running.
pub(super) async fn wake<P: Ports>(ports: &P, id: &SandboxId, dir: &Directory, abort: &Abort) -> Result<Sighting> {
    retry(ports, abort, async || {
        ports.sandboxes()?.probe(id, dir).await.map_err(|failure| from_sandbox(failure, id, During::Look))?;
        sight(ports, id).await
    })
    .await
}

/// Makes sure that the container seen at `sighting` is the one that runs now.
///
/// # Errors
/// [`Code::SandboxReplaced`] when it is not, or when that can't be told.
pub(super) async fn is_the_same<P: Ports>(
    ports: &P,
    id: &SandboxId,
    dir: &Directory,
    sighting: &Sighting,
) -> Result<()> {
    let look = |failure| from_sandbox(failure, id, During::Look);
    let now = ports.sandboxes()?.state(id).await.map_err(look)?;
    if now.status != Status::Healthy {
        return Err(replaced(id, "stopped"));
    }
    #[allow(clippy::float_cmp)] // It is compared to itself, never calculated with.
    if now.last_change == sighting.state.last_change {
        return Ok(());
    }
    for _ in 0..MEASUREMENTS {
        let asked = ports.clock().now().millis_since(sighting.since);
        let age = ports.sandboxes()?.probe(id, dir).await.map_err(look)?.age_millis;
        let answered = ports.clock().now().millis_since(sighting.since);
        if age >= answered {
            return Ok(());
        }
        if age < asked {
            return Err(replaced(id, "was replaced by a new one"));
        }
    }
    Err(replaced(id, "may have been replaced by a new one"))
}

fn replaced(id: &SandboxId, how: &str) -> Error {
    Error::new(
        Code::SandboxReplaced,
        format!(
            "The container of the sandbox {:?} {how} while it was being captured, so what was stored may be empty.",
            id.as_str()
        ),
        "The files that were in it are gone: restore the newest snapshot, and take the next one after that.",
    )
}
