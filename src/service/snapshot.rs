//! Captures a sandbox.
//!
//! The row of the snapshot is kept before the sandbox is touched, with what is needed to follow it up, and what the sandbox
//! answers as soon as that is known. So whenever its worker dies, the capture is found again (`recover`).

use std::collections::BTreeMap;

use super::container;
use super::doubt::Looking;
use super::failures::{During, from_sandbox, is_definite};
use super::memory::{Underway, Work};
use super::planted::{Bug, planted};
use super::stored::{Found, look_up};
use super::undo::discard_backup;
use super::{Abort, CloudflareSandboxSnapshotter, doubt, hold, label, lifecycle, once};
use crate::model::backup::MAX_TTL;
use crate::model::named::standing::Dependencies;
use crate::model::record::{LooseEnd, Making, Sighting, SnapshotRecord, Stage};
use crate::model::{
    BackupHandle, BackupOptions, Capture, Code, Directory, Error, Mark, Result, SandboxId, SnapshotRef,
    SnapshotRequest, Taken,
};
use crate::ports::{Clock, Ledger, Ports, Sandboxes};

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

/// Takes the snapshot, or leaves nothing behind.
pub(super) async fn snapshot<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: SnapshotRequest,
    abort: Abort,
) -> Result<Made> {
    let origin = request.sandbox_id.clone();
    let dir = request.dir.clone().unwrap_or_else(|| this.config.default_dir.clone());
    abort.check()?;
    label::choose(&this, request.label.as_ref(), request.replace, this.ports.clock().now())?;

    can_be_captured(&this, &request)?;
    let looking = Looking::begin(&this);
    let Seen { sighting, is_own } = sight(&this, &request, &dir, &abort).await?;
    abort.check()?;
    let dependencies = if is_own { dependencies(&this).await? } else { None };
    can_be_captured(&this, &request)?;

    let aside = request.aside || !is_own;
    let (intention, _underway) = intend(&this, &request, Begun { dir, sighting, dependencies, aside })?;
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
    let backup = match back_up(&this, &origin, &options, &sighting).await {
        Ok(backup) => backup,
        Err(failed) => return Err(give_up(&this, &intention, failed)),
    };
    let intention = answered(&this, intention, &backup)?;
    let confirmed = match confirm(&this, &backup, &mark, &options.dir, &sighting).await {
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
    begun: Begun,
) -> Result<(SnapshotRecord, Underway)> {
    let Begun { dir, sighting, dependencies, aside } = begun;
    let (_, seal) = this.founded()?;
    let now = this.ports.clock().now();
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
        aside,
        dependencies,
        stage: Stage::Making(Making {
            sighting,
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

/// Keeps what the sandbox answered.
fn answered<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut intention: SnapshotRecord,
    backup: &BackupHandle,
) -> Result<SnapshotRecord> {
    if let Stage::Making(making) = &mut intention.stage {
        making.backup = Some(backup.clone());
    }
    label::note(this, &mut intention)?;
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
    let stored = found.keep(backup, false, this.ports.clock().now());
    let mut workspace = this.workspace()?;
    intention.last_used_at = stored.created_at;
    let size_bytes = stored.size_bytes;
    intention.stage = Stage::Ready { stored };
    label::note(this, &mut intention)?;
    if let Some(label) = takes_label {
        label::take(this, &mut intention, label)?;
    }
    let snapshot = this.keep(&workspace, intention)?;
    this.wake_by_policy(&workspace)?;
    if workspace
        .standing
        .as_ref()
        .is_none_or(|standing| snapshot.is_whole(&standing.dir) || planted(Bug::PartGivesUpHold))
    {
        hold::give_up(this, &mut workspace)?;
    }
    let capture = Capture { label: snapshot.label.clone(), size_bytes, began_at: snapshot.began_at, shared: false };
    let made = Made { snapshot: snapshot.to_ref(&workspace).ok_or_else(Error::defect)?, capture };
    if let Some(asked) = key.map(|key| this.ports.ledger()?.request(&key)).transpose()?.flatten() {
        once::answered(this, asked, &Taken { snapshot: made.snapshot.clone(), capture: made.capture.clone() })?;
    }
    Ok(made)
}

/// Takes back what must not be used.
pub(super) async fn discard<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut intention: SnapshotRecord,
    error: Error,
) -> Error {
    let mark = intention.mark(&this.id);
    let Stage::Making(making) = &mut intention.stage else { return error };
    making.discarded = true;
    let Some(backup) = making.backup.clone() else { return error };
    let kept = label::note(this, &mut intention)
        .and_then(|()| this.ports.ledger())
        .and_then(|ledger| ledger.put_snapshot(&intention));
    let (error, is_gone) = discard_backup(this, backup.id(), &mark, error).await;
    let forgotten = match this.ports.ledger() {
        Ok(ledger) if is_gone => ledger.forget_snapshot(&intention.snapshot_id),
        _ => kept,
    };
    match forgotten {
        Ok(()) => error,
        Err(failed) => error.and(failed.message()),
    }
}

/// Forgets a capture that failed for certain. Of another one, something may still come: it is followed up.
fn give_up<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, intention: &SnapshotRecord, failed: Failed) -> Error {
    if !failed.is_definite {
        return failed.error;
    }
    match this.ports.ledger().and_then(|ledger| ledger.forget_snapshot(&intention.snapshot_id)) {
        Ok(()) => failed.error,
        Err(unkept) => failed.error.and(unkept.message()),
    }
}

/// What is going to be captured.
struct Begun {
    dir: Directory,
    sighting: Sighting,
    dependencies: Option<Dependencies>,
    aside: bool,
}

/// A container that can be captured.
struct Seen {
    sighting: Sighting,
    /// Whether its files are the workspace's, as far as that can be told.
    is_own: bool,
}

async fn sight<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &SnapshotRequest,
    dir: &Directory,
    abort: &Abort,
) -> Result<Seen> {
    let stands = this.workspace()?.standing.is_some();
    match container::sight(&*this.ports, &request.sandbox_id, dir, stands, || doubt::begin(this)).await {
        // Nobody would end it again.
        Err(error) if stands && error.code() == Code::SandboxNotRunning => Err(Error::new(
            error.code(),
            error.message(),
            "Start the workspace that it stands for, and take the snapshot then.",
        )),
        Err(error) if request.wake && is_about_the_container(&error) => {
            let sighting = container::wake(&*this.ports, &request.sandbox_id, dir, abort).await?;
            // What stands for a name is known by its stamp.
            if !stands {
                doubt::trust_from_now(this)?;
            }
            Ok(Seen { sighting, is_own: !stands })
        }
        Ok(sighting) => Ok(Seen { sighting, is_own: true }),
        Err(error) => Err(error),
    }
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

fn is_about_the_container(error: &Error) -> bool {
    matches!(error.code(), Code::SandboxNotRunning | Code::SandboxStarting | Code::SandboxReplaced)
}

/// A backup that failed.
struct Failed {
    error: Error,
    /// Whether it is certain that none comes of it.
    is_definite: bool,
}

/// Has the SDK make the backup. A failure that may pass elsewhere does not pass here: when the container is gone, so
/// are the files, and a caller who simply tried again could capture the empty one that somebody started meanwhile.
async fn back_up<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    origin: &SandboxId,
    options: &BackupOptions,
    sighting: &Sighting,
) -> Result<BackupHandle, Failed> {
    let sandboxes = this.ports.sandboxes().map_err(|error| Failed { error, is_definite: true })?;
    let failure = match sandboxes.create_backup(origin, options).await {
        Ok(backup) => return Ok(backup),
        Err(failure) => failure,
    };
    let is_definite = is_definite(&failure);
    let failed = |error| Err(Failed { error, is_definite });
    let error = from_sandbox(failure.clone(), origin, During::Backup);
    if !error.retryable() {
        return failed(error);
    }
    match container::is_the_same(&*this.ports, origin, &options.dir, sighting).await {
        Err(replaced) if replaced.code() == Code::SandboxReplaced => failed(replaced.caused_by(failure)),
        _ => failed(
            Error::new(
                Code::BackupInterrupted,
                error.message(),
                "Whether a backup was stored is not known; if one was, it will be deleted. Make sure that the sandbox still \
                 has its files before you try again: if its container was replaced, they are gone, and the newest snapshot \
                 has to be restored.",
            )
            .caused_by(failure),
        ),
    }
}

/// Makes sure that what is in R2 is the whole backup, and of the container that was seen before.
pub(super) async fn confirm<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    backup: &BackupHandle,
    mark: &Mark,
    dir: &Directory,
    sighting: &Sighting,
) -> Result<Found> {
    let found = look_up(this, backup.id()).await.map_err(|error| match error.code() {
        Code::BackupNotFound => Error::new(
            Code::BackupIncomplete,
            format!(
                "The sandbox {:?} reported the backup {} as made, but it is not in the bucket that is bound to this Worker.",
                mark.origin_id.as_str(),
                backup.id(),
            ),
            "Bind the same bucket to this Worker and to the one that exports the sandbox's class.",
        ),
        _ => error,
    })?;
    if found.mark.as_ref() != Some(mark) || found.metadata.dir != dir.as_str() || backup.dir() != dir {
        return Err(not_asked_for(backup));
    }
    if !planted(Bug::ContainerNotCompared) {
        container::is_the_same(&*this.ports, &mark.origin_id, dir, sighting).await?;
    }
    Ok(found)
}

fn not_asked_for(backup: &BackupHandle) -> Error {
    Error::new(
        Code::BackupIncomplete,
        format!("The backup {} that the sandbox answered is not the one that was asked for.", backup.id()),
        "Make sure that the sandbox's class passes createBackup() the options that it is given.",
    )
}
