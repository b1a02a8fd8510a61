//! Whether a container is still the one that it was.
//!
//! On a stopped sandbox `createBackup` starts a new, empty container and stores an empty backup with success.
//! A look at the state before the call is not enough: the SDK takes a container for running that ended while nobody
//! looked, and one that runs may end right after. It has no lasting identity of a container that could be compared.
//! But a container that took the place of another is younger than the look at the other one, and that can be measured.
//!
//! Where that happened once, a note is left in the new container, outside of all directories that are captured, so
//! that the next call does not take its emptiness for somebody's work.

use super::Abort;
use super::failures::{During, from_sandbox};
use super::planted::{Bug, planted};
use super::retry::retry;
use crate::model::named::Stamp;
use crate::model::record::{Marker, Sighting};
use crate::model::{Code, Directory, Error, Place, Probe, Result, SandboxId, SandboxState, Status, Timestamp};
use crate::ports::{Clock, Ports, Sandboxes, Visit, VisitOf};

/// How often the age is measured while it is too close to tell.
pub(super) const MEASUREMENTS: u32 = 3;

/// How much older than it is a container may seem, in milliseconds: the system counts in hundredths of a second.
pub(super) const RESOLUTION_MILLIS: i64 = 10;

/// How old a container is, compared to a point in time.
pub(super) enum Age {
    /// It was there before; what was seen inside of it.
    Older(Probe),
    /// It was started after.
    Younger,
    /// It was started at about that time.
    Unclear,
}

/// Makes sure that the sandbox is up. Starts nothing.
///
/// # Errors
/// [`Code::SandboxNotRunning`], [`Code::SandboxStarting`] while it is not up yet.
pub(super) async fn sight<P: Ports>(ports: &P, id: &SandboxId) -> Result<Sighting> {
    let since = ports.clock().now();
    Ok(Sighting::of(up(id, state(ports, id).await?)?, since))
}

/// What makes the files of a container those that are meant.
pub(super) enum Check {
    /// It is the one that was seen.
    Same(Sighting),
    /// It was there before this, and carries no note.
    Older(Timestamp),
    /// It was there before this, and carries the stamp of those that were handed out: it stands for a name.
    Stamped(Timestamp),
    /// It carries this.
    Carries(Marker),
}

/// Makes sure that the container which runs is the one that is meant, and that the directory in it can be captured. Where
/// none is running, one is started, which is not it. The first look is part of the `visit`, if there is one.
///
/// # Errors
/// [`Code::SandboxReplaced`] when it is another one, or when that can't be told; [`Code::InvalidDirectory`] when there is no
/// such directory.
pub(super) async fn is_meant<P: Ports>(
    ports: &P,
    visit: Option<&VisitOf<'_, P>>,
    id: &SandboxId,
    dir: &Directory,
    check: &Check,
) -> Result<()> {
    let since = match check {
        Check::Same(sighting) => return is_the_same(ports, id, dir, sighting).await,
        Check::Older(since) | Check::Stamped(since) => *since,
        Check::Carries(marker) => return carries(ports, visit, id, dir, marker).await,
    };
    let probe = match age(ports, visit, id, dir, since).await? {
        Age::Older(probe) => probe,
        Age::Younger => return Err(took_its_place(ports, id).await),
        Age::Unclear => return Err(replaced(id, "may have been replaced")),
    };
    let is_handed_out = || probe.stamp.as_ref().is_some_and(Stamp::is_ready);
    match check {
        Check::Stamped(_) if !is_handed_out() => Err(replaced(id, "slept, and woke without the workspace's files")),
        Check::Older(_) if probe.took_place && !planted(Bug::NoteNotRead) => Err(replaced(id, "was replaced")),
        _ => can_be_captured(dir, probe.place),
    }
}

/// Makes sure that the container carries the marker, which no other one does.
async fn carries<P: Ports>(
    ports: &P,
    mut visit: Option<&VisitOf<'_, P>>,
    id: &SandboxId,
    dir: &Directory,
    marker: &Marker,
) -> Result<()> {
    let probe = retry(ports, &Abort::never(), async || {
        let probe = match visit.take() {
            Some(visit) => visit.probe(dir).await,
            None => ports.sandboxes()?.probe(id, dir).await,
        };
        probe.map_err(|failure| from_sandbox(failure, id, During::Look))
    })
    .await?;
    if !marker.is_on(probe.stamp.as_ref()) {
        return Err(replaced(id, "is not the one that was captured or restored"));
    }
    can_be_captured(dir, probe.place)
}

/// Starts the sandbox where it is not running, and takes it as it is; answers the marker that its container carries as well.
pub(super) async fn wake<P: Ports>(
    ports: &P,
    id: &SandboxId,
    dir: &Directory,
    abort: &Abort,
) -> Result<(Sighting, Option<Stamp>)> {
    retry(ports, abort, async || {
        let looked = |failure| from_sandbox(failure, id, During::Look);
        let probe = ports.sandboxes()?.probe(id, dir).await.map_err(looked)?;
        can_be_captured(dir, probe.place)?;
        if probe.took_place {
            ports.sandboxes()?.note_took_place(id, false).await.map_err(looked)?;
        }
        Ok((sight(ports, id).await?, probe.stamp))
    })
    .await
}

/// Makes sure that the sandbox did not stop meanwhile. Starts nothing.
///
/// # Errors
/// [`Code::SandboxReplaced`]: what runs next has none of the files.
pub(super) async fn is_still_up<P: Ports>(ports: &P, id: &SandboxId) -> Result<()> {
    let is_up = state(ports, id).await?.status == Status::Healthy;
    if is_up { Ok(()) } else { Err(replaced(id, "stopped meanwhile")) }
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
    let now = state(ports, id).await?;
    if now.status != Status::Healthy {
        return Err(replaced(id, "stopped meanwhile"));
    }
    #[allow(clippy::float_cmp)] // It is compared to itself, never calculated with.
    if now.last_change == sighting.last_change {
        return Ok(());
    }
    match age(ports, None, id, dir, sighting.since).await? {
        Age::Older(_) => Ok(()),
        Age::Younger => Err(took_its_place(ports, id).await),
        Age::Unclear => Err(replaced(id, "may have been replaced")),
    }
}

/// Makes sure that no container runs which was started after `since` and does not carry the note.
pub(super) async fn is_older<P: Ports>(ports: &P, id: &SandboxId, dir: &Directory, since: Timestamp) -> Result<()> {
    if state(ports, id).await?.status == Status::Down {
        return Ok(());
    }
    match age(ports, None, id, dir, since).await? {
        Age::Older(_) => Ok(()),
        // It will not get any clearer.
        Age::Younger | Age::Unclear => {
            let noted = ports.sandboxes()?.note_took_place(id, true).await;
            noted.map_err(|failure| from_sandbox(failure, id, During::Look))
        }
    }
}

/// Compares the age of the container with a point in time. Starts one where none is running; the SDK interrupts the call
/// that does so, which is why it is repeated here, before `since` is forgotten. The first look is part of the `visit`, if
/// there is one: what breaks it off does not break the next.
pub(super) async fn age<P: Ports>(
    ports: &P,
    mut visit: Option<&VisitOf<'_, P>>,
    id: &SandboxId,
    dir: &Directory,
    since: Timestamp,
) -> Result<Age> {
    for _ in 0..MEASUREMENTS {
        let (asked, probe) = retry(ports, &Abort::never(), async || {
            let asked = ports.clock().now().millis_since(since);
            let probe = match visit.take() {
                Some(visit) => visit.probe(dir).await,
                None => ports.sandboxes()?.probe(id, dir).await,
            };
            Ok((asked, probe.map_err(|failure| from_sandbox(failure, id, During::Look))?))
        })
        .await?;
        // It was measured when the look began, however long that took.
        let answered = ports.clock().now().millis_since(since) - probe.took_millis;
        if probe.age_millis >= answered + RESOLUTION_MILLIS {
            return Ok(Age::Older(probe));
        }
        if probe.age_millis < asked {
            return Ok(Age::Younger);
        }
    }
    Ok(Age::Unclear)
}

/// Whether the sandbox is up. Starts nothing.
pub(super) async fn state<P: Ports>(ports: &P, id: &SandboxId) -> Result<SandboxState> {
    ports.sandboxes()?.state(id).await.map_err(|failure| from_sandbox(failure, id, During::Look))
}

/// Makes sure that it is up.
pub(super) fn up(id: &SandboxId, state: SandboxState) -> Result<SandboxState> {
    match state.status {
        Status::Healthy => Ok(state),
        Status::Starting => Err(Error::new(
            Code::SandboxStarting,
            format!("The sandbox {:?} is still starting, and has no files of its own yet.", id.as_str()),
            "Try again when it is up. `wake: true` captures it as it starts.",
        )),
        Status::Down => Err(Error::new(
            Code::SandboxNotRunning,
            format!(
                "The sandbox {:?} is not running, so its files are gone and a snapshot would be empty.",
                id.as_str()
            ),
            "Take snapshots while the sandbox is in use; restore an earlier one to go on. `wake: true` starts the sandbox \
             and captures it as it starts.",
        )),
    }
}

/// Makes sure that the directory is one.
pub(super) fn can_be_captured(dir: &Directory, place: Place) -> Result<()> {
    let why = match place {
        Place::Full | Place::Empty => return Ok(()),
        Place::Missing => "is not there",
        Place::Link => "is reached through a symbolic link, of which a backup would hold the link alone",
        Place::NotDirectory => "is not a directory",
    };
    Err(Error::new(
        Code::InvalidDirectory,
        format!("In the sandbox, {dir:?} {why}.", dir = dir.as_str()),
        "Give the path of a directory that is there, without symbolic links in it.",
    ))
}

/// Leaves the note in the new container, and says what happened.
pub(super) async fn took_its_place<P: Ports>(ports: &P, id: &SandboxId) -> Error {
    let noted = match ports.sandboxes() {
        Ok(sandboxes) => sandboxes.note_took_place(id, true).await.is_ok(),
        Err(_) => false,
    };
    let error = replaced(id, "was replaced");
    if noted { error } else { error.and("The new container could not be marked as such.") }
}

/// The error about a container that is not the one that was meant.
pub(super) fn replaced(id: &SandboxId, how: &str) -> Error {
    Error::new(
        Code::SandboxReplaced,
        format!("The container of the sandbox {:?} {how}: the files that were in it are gone.", id.as_str()),
        "Restore the newest snapshot, and go on in the new sandbox; or pass `adopt: true` to go on with the files that are there \
         now.",
    )
}
