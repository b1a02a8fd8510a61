//! Captures a sandbox.
//!
//! The row of the snapshot is kept before the sandbox is touched, with what is needed to follow it up, and what the sandbox
//! answers as soon as that is known. So whenever its worker dies, the capture is found again (`recover`).
//!
//! - [`backup`]: has the SDK make the backup, and makes sure of what it stored
//! - [`discard`]: rolls back captures that failed, or that no caller waits for

mod backup;
mod discard;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use self::backup::{Failed, back_up};
use self::discard::{discard, give_up, supersede};
use super::doubt::Looking;
use super::failures::{During, from_sandbox};
use super::lifecycle::halt;
use super::memory::{Underway, Work};
use super::planted::{Bug, planted};
use super::sight::{self, Seen};
use super::stored::Found;
use super::{Abort, CloudflareSandboxSnapshotter, doubt, exclude, hold, label, lifecycle, once, suspect};
use crate::model::backup::MAX_TTL;
use crate::model::exclude::check_patterns;
use crate::model::named::standing::{Dependencies, Standing};
use crate::model::record::{LooseEnd, Making, Marker, SnapshotRecord, Stage};
use crate::model::{
    BackupHandle, BackupOptions, Capture, Directory, Error, Result, SnapshotId, SnapshotRef, SnapshotRequest, Taken,
};
use crate::ports::{Clock, Ledger, Ports, Sandboxes};

pub(super) use self::backup::confirm;
pub(super) use self::discard::note_unwanted;

/// When a capture that nobody works on is followed up, in milliseconds.
const FOLLOWED_UP_MILLIS: i64 = 60_000;

/// A snapshot that was made.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The snapshot.
    pub snapshot: SnapshotRef,
    /// What a caller is told of its capture.
    pub capture: Capture,
}

/// Takes the snapshot, or leaves nothing behind. `id` is that of its row, as soon as there is one.
pub(super) async fn snapshot<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: SnapshotRequest,
    abort: Abort,
    id: &OnceCell<SnapshotId>,
) -> Result<Made> {
    let made = lifecycle::note_late(&this, capture(this.clone(), request, abort, id).await);
    if made.is_err() && id.get().is_some() && this.workspace()?.standing.is_some() {
        // Where that fails, the next start or stop sees to it.
        drop(halt::let_sleep(&this).await);
    }
    made
}

async fn capture<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: SnapshotRequest,
    abort: Abort,
    id: &OnceCell<SnapshotId>,
) -> Result<Made> {
    let origin = request.sandbox_id.clone();
    let dir = request.dir.clone().unwrap_or_else(|| this.config.default_dir.clone());
    check_patterns(&request.excludes)?;
    dir.check_restorable()?;
    abort.check()?;
    if request.label.is_some() {
        label::choose(&this, request.label.as_ref(), request.replace, this.ports.clock().now())?;
    }

    can_be_captured(&this, &request)?;
    let looking = Looking::begin(&this)?;
    let seen = sight::sight(&this, &request, &dir, &abort).await?;
    abort.check()?;
    let dependencies = if seen.is_own { dependencies(&this).await? } else { None };
    can_be_captured(&this, &request)?;

    let (intention, _underway) = intend(&this, &request, dir, seen, dependencies)?;
    id.get_or_init(|| intention.snapshot_id.clone());
    let intention = match marked(&this, &intention, false).await {
        Ok(marked) => marked,
        Err(error) => return Err(give_up(&this, intention, Failed { error, is_definite: true })),
    };
    let Stage::Making(making) = &intention.stage else { return Err(Error::defect()) };
    let check = sight::check(&this, making)?;
    let mark = intention.mark(&origin);
    let options = BackupOptions {
        dir: intention.dir.clone(),
        name: mark.to_string(),
        ttl: MAX_TTL,
        gitignore: request.gitignore,
        excludes: request.excludes,
        compression: request.compression,
        local_bucket: this.config.local_bucket,
    };
    let ports = Rc::clone(&this.ports);
    let visit = match ports.sandboxes() {
        Ok(sandboxes) => sandboxes.visit(&origin),
        Err(error) => return Err(give_up(&this, intention, Failed { error, is_definite: true })),
    };
    if let Err(error) = exclude::check_ignored(&this, &origin, &options).await {
        return Err(give_up(&this, intention, Failed { error, is_definite: true }));
    }
    let backup = match back_up(&this, &visit, &origin, &options, &check).await {
        Ok(backup) => backup,
        Err(failed) => return Err(give_up(&this, intention, failed)),
    };
    let mut intention = answered(&this, intention, &backup)?;
    if planted(Bug::MarkedAfterCapture) {
        intention = marked(&this, &intention, true).await?;
    }
    let confirmed = match confirm(&this, Some(&visit), &backup, &mark, &options.dir, &check).await {
        Ok(found) => abort.check().map(|()| found),
        Err(error) => Err(error),
    };
    match confirmed {
        Ok(found) => {
            let made = finish(&this, intention, backup, found)?;
            // What fails is left to the alarm.
            drop(looking.end(&this));
            Ok(made)
        }
        Err(error) => Err(discard(&this, intention, error).await),
    }
}

/// Keeps what is going to be done.
fn intend<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &SnapshotRequest,
    dir: Directory,
    seen: Seen,
    dependencies: Option<Dependencies>,
) -> Result<(SnapshotRecord, Underway)> {
    let Seen { sighting, look, marker, is_own, adopts } = seen;
    let is_rescue = request.aside || !is_own;
    let (_, seal) = this.founded()?;
    let now = this.ports.clock().now();
    if let Some(key) = &request.idempotency_key {
        supersede(this, key)?;
    }
    let (label, takes_label) = label::choose(this, request.label.as_ref(), request.replace, now)?;
    let snapshot_id = this.mint_snapshot_id(&seal)?;
    let underway = this.memory.take(Work::Snapshot(snapshot_id.clone())).ok_or_else(Error::defect)?;
    let loose = LooseEnd { due: now.plus_millis(FOLLOWED_UP_MILLIS), tries: 0 };
    let intention = SnapshotRecord {
        snapshot_id,
        label,
        dir,
        excludes: request.excludes.clone(),
        gitignore: request.gitignore,
        compression: request.compression,
        began_at: now,
        last_used_at: now,
        expiration_seconds: request.expiration_seconds,
        expires_at: None,
        pinned: false,
        aside: is_rescue,
        rescue: is_rescue && !planted(Bug::RescueReleases),
        suspect: None,
        dependencies,
        stage: Stage::Making(Making {
            sighting,
            look,
            marker,
            adopts,
            takes_label,
            backup: None,
            discarded: false,
            key: request.idempotency_key.clone(),
            loose,
        }),
    };
    if !planted(Bug::CaptureWithoutIntention) {
        this.ports.ledger()?.put_snapshot(&intention)?;
    }
    this.wake_by(loose.due)?;
    Ok((intention, underway))
}

/// Sees to it that the container can be known again by a marker, and keeps that one.
async fn marked<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    intention: &SnapshotRecord,
    is_late: bool,
) -> Result<SnapshotRecord> {
    let mut intention = intention.clone();
    let Stage::Making(making) = &mut intention.stage else { return Err(Error::defect()) };
    let is_now = is_late == planted(Bug::MarkedAfterCapture);
    if making.marker.is_some() || this.workspace()?.standing.is_some() || !is_now {
        return Ok(intention);
    }
    making.marker = Some(Marker::Own(sight::mark(this, making).await?));
    label::note(this, &mut intention)?;
    doubt::note(this, &mut intention)?;
    if let Some(known) = this.ports.ledger()?.snapshot(&intention.snapshot_id)?
        && let Stage::Making(making) = &mut intention.stage
    {
        making.discarded = known.is_unwanted();
    }
    this.ports.ledger()?.put_snapshot(&intention)?;
    Ok(intention)
}

/// Keeps what the sandbox answered.
fn answered<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut intention: SnapshotRecord,
    backup: &BackupHandle,
) -> Result<SnapshotRecord> {
    let is_unwanted = this.ports.ledger()?.snapshot(&intention.snapshot_id)?.is_some_and(|known| known.is_unwanted());
    if let Stage::Making(making) = &mut intention.stage {
        making.backup = Some(backup.clone());
        making.discarded = is_unwanted;
    }
    label::note(this, &mut intention)?;
    doubt::note(this, &mut intention)?;
    this.ports.ledger()?.put_snapshot(&intention)?;
    Ok(intention)
}

/// The snapshot is made: from now on it is kept as the policy says, and what it was made from is not needed here any more.
pub(super) fn finish<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut intention: SnapshotRecord,
    backup: BackupHandle,
    found: Found,
) -> Result<Made> {
    let Stage::Making(making) = &intention.stage else { return Err(Error::defect()) };
    let (takes_label, key) = (making.takes_label.clone(), making.key.clone());
    let marker = making.marker.clone().filter(|_| !intention.rescue || making.adopts);
    let stored = found.keep(backup, false, this.ports.clock().now());
    let mut workspace = this.workspace()?;
    if let Some(Marker::Own(marker)) = marker
        && workspace.marker.as_ref() != Some(&marker)
        && workspace.marked_at.is_none_or(|at| at <= intention.began_at)
    {
        // The container is known by its marker from now on, whenever it was started.
        (workspace.marker, workspace.doubt) = (Some(marker), None);
        workspace.marked_at = Some(intention.began_at);
        this.ports.ledger()?.put_workspace(&workspace)?;
    }
    suspect::compare(this, &mut workspace, &mut intention, stored.size_bytes)?;
    intention.last_used_at = stored.created_at;
    let size_bytes = stored.size_bytes;
    intention.stage = Stage::Ready { stored };
    label::note(this, &mut intention)?;
    if let Some(label) = takes_label {
        label::take(this, &mut intention, label)?;
    }
    let snapshot = this.keep(&workspace, intention)?;
    this.wake_by_policy(&workspace)?;
    let is_whole = |standing: &Standing| snapshot.is_whole(&standing.dir) || planted(Bug::PartGivesUpHold);
    if !snapshot.rescue && workspace.standing.as_ref().is_none_or(is_whole) {
        hold::give_up(this, &mut workspace)?;
    }
    let capture = Capture {
        label: snapshot.label.clone(),
        size_bytes,
        began_at: snapshot.began_at,
        shared: false,
        rescue: snapshot.rescue,
        suspect: snapshot.suspect,
    };
    let made = Made { snapshot: snapshot.to_ref(&workspace).ok_or_else(Error::defect)?, capture };
    if let Some(asked) = key.map(|key| this.ports.ledger()?.request(&key)).transpose()?.flatten() {
        once::answered(this, asked, &Taken { snapshot: made.snapshot.clone(), capture: made.capture.clone() })?;
    }
    Ok(made)
}

/// What a snapshot of a sandbox that stands for a name depends on.
async fn dependencies<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Dependencies>> {
    let Some(standing) = this.workspace()?.standing else { return Ok(None) };
    let mut files = BTreeMap::new();
    if !standing.files.is_empty() {
        let hashes = this.ports.sandboxes()?.hashes(&this.id, &standing.dir, &standing.files).await;
        files = hashes.map_err(|failure| from_sandbox(failure, &this.id, During::Look))?;
    }
    Ok(Some(Dependencies { files, fingerprint: standing.fingerprint, image: standing.image }))
}

/// Nothing is captured of a sandbox that is being filled, or is nobody's any more.
fn can_be_captured<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &SnapshotRequest) -> Result<()> {
    lifecycle::is_not_retired(this)?;
    // Whoever puts files aside has seen that they are somebody's work.
    if request.aside || planted(Bug::CapturedHalfFilled) { Ok(()) } else { lifecycle::is_not_being_filled(this) }
}
