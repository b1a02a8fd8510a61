//! Which container is captured, and by what it is known after the capture.
//!
//! | the sandbox | counts as its own | otherwise |
//! | --- | --- | --- |
//! | belongs to a named workspace | a container that was handed out, by its stamp | refused |
//! | was captured or restored before | the container that carries the ledger's marker | refused; a rescue snapshot with `wake`, taken on with `adopt` |
//! | is new to the ledger | a container that was there before this Worker could have started it; it is marked then | refused; taken as it is with `wake` or `adopt` |
//!
//! Before the capture, the state has to say that the container is up. Whether it is the one is looked at afterwards, once for the
//! time before, the time after, and all between: a look would start a container as well as a capture does.

use super::container::{self, Age, Check, MEASUREMENTS, RESOLUTION_MILLIS};
use super::failures::{During, from_sandbox};
use super::planted::{Bug, planted};
use super::retry::retry;
use super::{Abort, CloudflareSandboxSnapshotter, doubt, lifecycle};
use crate::model::named::Stamp;
use crate::model::record::{Look, Making, Marker, Sighting, SnapshotState, WorkspaceRecord};
use crate::model::{Code, Directory, Error, Place, Result, SnapshotRequest, StampOutcome, Stamping, Timestamp};
use crate::ports::{Clock, Ledger, Ports, Sandboxes};

/// A container that can be captured.
pub(super) struct Seen {
    /// When it was seen.
    pub sighting: Sighting,
    /// Whether it was looked into.
    pub look: Look,
    /// What it has to carry, as far as that is known.
    pub marker: Option<Marker>,
    /// Whether its files are the workspace's, as far as that can be told.
    pub is_own: bool,
    /// Whether they are from now on.
    pub adopts: bool,
}

impl Seen {
    fn own(sighting: Sighting, look: Look, marker: Option<Marker>) -> Self {
        Self { sighting, look, marker, is_own: true, adopts: false }
    }
}

/// Sees to it that the sandbox is up. Only where any container will do, it is started.
pub(super) async fn sight<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &SnapshotRequest,
    dir: &Directory,
    abort: &Abort,
) -> Result<Seen> {
    let workspace = this.workspace()?;
    if workspace.standing.is_some() {
        return of_named(this, request, dir, abort).await;
    }
    if is_known(this, &workspace)? {
        return of_known(this, &workspace, request, dir, abort).await;
    }
    of_unknown(this, request, dir, abort).await
}

/// Puts a marker on the container of a sandbox that is captured for the first time, if it was there before this Worker could have
/// started it; answers the marker. This comes before the capture: the command that puts it there may itself start a container.
///
/// # Errors
/// [`Code::SandboxReplaced`] where it is a later one, or where that can't be told.
pub(super) async fn mark<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, making: &Making) -> Result<String> {
    let since = doubt::since(this)?.map_or(making.sighting.since, |since| since.min(making.sighting.since));
    // Of a sandbox that an earlier version captured, the container was there then.
    let since = first_capture(this)?.map_or(since, |first| first.min(since));
    let is_any = || planted(Bug::AgeNotCompared) || planted(Bug::MarkedAfterCapture);
    for _ in 0..MEASUREMENTS {
        let (asked, nonce, Stamping { age_millis, took_millis, outcome }) = stamp_anew(
            this,
            |asked| match making.look {
                Look::Done => None,
                _ if is_any() => None,
                Look::Due | Look::DueInDoubt => Some(asked.max(0)),
            },
            since,
        )
        .await?;
        let passed = this.ports.clock().now().millis_since(since) - took_millis;
        let marker = match outcome {
            StampOutcome::Done => nonce,
            // An attempt before this one left it, or another deployment.
            StampOutcome::Other(Some(Stamp::Ready(nonce))) => nonce,
            StampOutcome::TooYoung => return Err(container::took_its_place(&*this.ports, &this.id).await),
            StampOutcome::Other(_) => return Err(unmarked(this)),
        };
        if making.look == Look::Done || age_millis >= passed + RESOLUTION_MILLIS || is_any() {
            return Ok(marker);
        }
        if age_millis < asked {
            return Err(container::took_its_place(&*this.ports, &this.id).await);
        }
    }
    Err(container::replaced(&this.id, "may have been replaced"))
}

/// Each attempt has a nonce of its own: what comes too late, in another container, is not what was answered.
async fn stamp_anew<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    older_than: impl Fn(i64) -> Option<i64>,
    since: Timestamp,
) -> Result<(i64, String, Stamping)> {
    retry(&*this.ports, &Abort::never(), async || {
        let nonce = this.draw_short_id()?.as_str().to_owned();
        let asked = this.ports.clock().now().millis_since(since);
        let to = Stamp::Ready(nonce.clone());
        let stamping = this.ports.sandboxes()?.stamp(&this.id, None, &to, older_than(asked)).await;
        Ok((asked, nonce, stamping.map_err(|failure| from_sandbox(failure, &this.id, During::Look))?))
    })
    .await
}

/// What the container of a capture has to be.
pub(super) fn check<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, making: &Making) -> Result<Check> {
    match (&making.marker, making.look) {
        (_, Look::Done) => Ok(Check::Same(making.sighting)),
        (Some(_), _) if planted(Bug::MarkerNotRequired) => Ok(Check::Same(making.sighting)),
        (Some(marker), _) => Ok(Check::Carries(marker.clone())),
        (None, _) => meant(this, making.sighting.since),
    }
}

/// Makes sure that the container was the workspace's own already when the capture began, where it belongs to a named workspace. What
/// its marker says after the capture holds from the moment at which a start kept its files.
///
/// # Errors
/// [`Code::SandboxReplaced`] where the files were kept after that.
pub(super) fn was_own<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, check: &Check) -> Result<()> {
    let Check::Stamped(since) = check else { return Ok(()) };
    match this.workspace()?.standing.and_then(|standing| standing.kept_at) {
        Some(kept_at) if kept_at >= *since => Err(Error::new(
            Code::SandboxReplaced,
            format!(
                "The container of the sandbox {:?} became the workspace's only after the capture began.",
                this.id.as_str()
            ),
            "Take the snapshot again.",
        )),
        _ => Ok(()),
    }
}

/// The error about a container that does not carry the marker.
pub(super) fn unmarked<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Error {
    container::replaced(&this.id, "is not the one that was captured or restored")
}

/// Whether the ledger has captured or restored the sandbox.
fn is_known<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, workspace: &WorkspaceRecord) -> Result<bool> {
    Ok(workspace.marker.is_some() || workspace.parent.is_some() || first_capture(this)?.is_some())
}

/// When the newest snapshot of the sandbox began that an earlier version took, which put no markers on containers.
fn first_capture<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Timestamp>> {
    const FEW: u32 = 10;
    let rows = this.ports.ledger()?.page(None, None, FEW)?;
    let is_capture = |stored: Option<&crate::model::record::Stored>| stored.is_some_and(|stored| !stored.imported);
    let captured =
        rows.iter().find(|row| row.state() == SnapshotState::Ready && !row.rescue && is_capture(row.stored()));
    Ok(captured.map(|row| row.began_at))
}

/// Of a sandbox that belongs to a named workspace.
async fn of_named<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &SnapshotRequest,
    dir: &Directory,
    abort: &Abort,
) -> Result<Seen> {
    let (ports, id) = (&*this.ports, &request.sandbox_id);
    if request.adopt {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("`adopt` is for sandboxes without a name, and {:?} belongs to a named workspace.", id.as_str()),
            "Start the workspace with `onDiverged: \"keep\"` to go on with the files that are there.",
        ));
    }
    let look = if request.wake { Look::Done } else { Look::Due };
    let seen = match container::sight(ports, id).await {
        Ok(sighting) if request.wake => {
            let check = meant(this, sighting.since)?;
            container::is_meant(ports, None, id, dir, &check).await.map(|()| sighting)
        }
        seen => seen,
    };
    match seen {
        // What starts here is not ended by anything.
        Err(error) if error.code() == Code::SandboxNotRunning => Err(Error::new(
            error.code(),
            error.message(),
            "Start the workspace that it stands for, and take the snapshot then.",
        )),
        Err(error) if request.wake && is_about_the_container(&error) => {
            let (sighting, stamp) = container::wake(ports, id, dir, abort).await?;
            if stamp.is_some_and(|stamp| stamp.is_being_filled()) && !planted(Bug::CapturedHalfFilled) {
                // The restore of an earlier start may still come. A start rules that out before it captures the files.
                return Err(lifecycle::being_filled(this));
            }
            Ok(Seen { sighting, look, marker: None, is_own: false, adopts: false })
        }
        seen => seen.map(|sighting| Seen::own(sighting, look, None)),
    }
}

/// Of a sandbox that was captured or restored before.
async fn of_known<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &WorkspaceRecord,
    request: &SnapshotRequest,
    dir: &Directory,
    abort: &Abort,
) -> Result<Seen> {
    let seen = container::sight(&*this.ports, &request.sandbox_id).await;
    let may_start = request.wake && seen.as_ref().is_err_and(is_about_the_container);
    let takes_any = seen.is_ok() && (request.adopt || (request.wake && workspace.marker.is_some()));
    if may_start || takes_any {
        return of_any(this, workspace, request, dir, abort).await;
    }
    let sighting = seen?;
    match &workspace.marker {
        Some(marker) => Ok(Seen::own(sighting, Look::Due, Some(Marker::Own(marker.clone())))),
        None if first_capture(this)?.is_some() => Ok(Seen::own(sighting, Look::DueInDoubt, None)),
        None => Err(unmarked(this)),
    }
}

/// The container that runs, or is started: the sandbox's own, or another one, of which a rescue snapshot is taken.
async fn of_any<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    workspace: &WorkspaceRecord,
    request: &SnapshotRequest,
    dir: &Directory,
    abort: &Abort,
) -> Result<Seen> {
    let (ports, id) = (&*this.ports, &request.sandbox_id);
    let failed = |failure| from_sandbox(failure, id, During::Look);
    let look = async || retry(ports, abort, async || ports.sandboxes()?.probe(id, dir).await.map_err(failed)).await;
    let asked = ports.clock().now();
    let probe = look().await?;
    container::can_be_captured(dir, probe.place)?;
    let sighting = container::sight(ports, id).await?;
    let own = workspace.marker.clone().map(Marker::Own);
    if own.as_ref().is_some_and(|marker| marker.is_on(probe.stamp.as_ref())) {
        return Ok(Seen::own(sighting, Look::Due, own));
    }
    let nonce = this.draw_short_id()?.as_str().to_owned();
    let (to, marker) = match (request.adopt, &probe.stamp) {
        (true, _) if probe.place == Place::Empty => return Err(nothing_to_adopt(this, dir)),
        (true, _) => (Stamp::Ready(nonce.clone()), Marker::Own(nonce)),
        (false, Some(stamp)) => (stamp.clone(), Marker::Foreign(stamp.to_string())),
        (false, None) => (Stamp::Kept(nonce.clone()), Marker::Foreign(Stamp::Kept(nonce).to_string())),
    };
    if probe.stamp.as_ref() != Some(&to) {
        let stamping = ports.sandboxes()?.stamp(id, probe.stamp.as_ref(), &to, None).await.map_err(failed)?;
        if stamping.outcome != StampOutcome::Done {
            return Err(container::replaced(id, "was replaced meanwhile"));
        }
        // A container without a stamp can't be told from another one: the command may have started that, and marked it. What is
        // adopted was there before this call; what is woken may have been started by it, and is taken as it is.
        let again =
            if request.adopt { container::age(ports, None, id, dir, asked).await? } else { Age::Older(look().await?) };
        match again {
            Age::Older(again) if again.stamp == Some(to) && again.place == probe.place => {}
            _ => return Err(container::replaced(id, "was replaced meanwhile")),
        }
    }
    Ok(Seen { sighting, look: Look::Due, marker: Some(marker), is_own: false, adopts: request.adopt })
}

/// Of a sandbox that is new to the ledger.
async fn of_unknown<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &SnapshotRequest,
    dir: &Directory,
    abort: &Abort,
) -> Result<Seen> {
    let (ports, id) = (&*this.ports, &request.sandbox_id);
    let look = if request.wake || request.adopt { Look::Done } else { Look::DueInDoubt };
    let seen = match container::sight(ports, id).await {
        Ok(sighting) if look == Look::Done => {
            doubt::begin(this)?;
            let check = meant(this, sighting.since)?;
            container::is_meant(ports, None, id, dir, &check).await.map(|()| sighting)
        }
        seen => seen,
    };
    match seen {
        Err(error) if request.adopt && is_up(&error) => of_any(this, &this.workspace()?, request, dir, abort).await,
        Err(error) if request.wake && is_about_the_container(&error) => {
            let (sighting, _) = container::wake(ports, id, dir, abort).await?;
            doubt::trust_from_now(this)?;
            Ok(Seen::own(sighting, look, None))
        }
        seen => seen.map(|sighting| Seen::own(sighting, look, None)),
    }
}

/// What a container that was seen then has to be.
fn meant<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, seen: Timestamp) -> Result<Check> {
    if this.workspace()?.standing.is_some() {
        return Ok(Check::Stamped(seen));
    }
    Ok(Check::Older(doubt::since(this)?.map_or(seen, |since| since.min(seen))))
}

fn nothing_to_adopt<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, dir: &Directory) -> Error {
    Error::new(
        Code::SandboxEmpty,
        format!(
            "The directory {:?} of the sandbox {:?} is empty: there is nothing to adopt.",
            dir.as_str(),
            this.id.as_str()
        ),
        "Restore the newest snapshot, and go on in the new sandbox.",
    )
}

fn is_about_the_container(error: &Error) -> bool {
    matches!(error.code(), Code::SandboxNotRunning | Code::SandboxStarting) || is_up(error)
}

fn is_up(error: &Error) -> bool {
    error.code() == Code::SandboxReplaced
}
