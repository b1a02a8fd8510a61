//! Captures a sandbox.

use super::container::{self, Sighting};
use super::failures::{During, from_sandbox};
use super::stored::look_up;
use super::undo::discard_backup;
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::request::MAX_TTL;
use crate::model::{
    BackupHandle, BackupOptions, Code, Directory, Error, Mark, Result, SandboxId, SnapshotRef, SnapshotRequest,
    Timestamp, root_of,
};
use crate::ports::{Ports, Sandboxes};

/// Takes the snapshot, or leaves nothing behind.
pub(super) async fn snapshot<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: SnapshotRequest,
    abort: Abort,
) -> Result<SnapshotRef> {
    let origin = request.sandbox_id.clone();
    let dir = request.dir.clone().unwrap_or_else(|| this.config.default_dir.clone());
    abort.check()?;

    let sighting = sight(&this, &request, &dir, &abort).await?;
    abort.check()?;

    let mark = Mark { snapshot_id: this.draw_snapshot_id()?, origin_id: origin.clone() };
    let options = BackupOptions {
        dir,
        name: mark.to_string(),
        ttl: request.ttl.unwrap_or(MAX_TTL),
        gitignore: request.gitignore,
        excludes: request.excludes,
        compression: request.compression,
        local_bucket: this.config.local_bucket,
    };
    let backup = back_up(&this, &origin, &options, &sighting).await?;

    let confirmed = match confirm(&this, &backup, &mark, &options.dir, &sighting).await {
        Ok(created_at) => abort.check().map(|()| created_at),
        Err(error) => Err(error),
    };
    match confirmed {
        Ok(created_at) => {
            let root = root_of(&origin);
            Ok(SnapshotRef::new(mark.snapshot_id, origin, root, backup, created_at))
        }
        Err(error) => Err(discard_backup(&this, backup.id(), &mark, error).await),
    }
}

async fn sight<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &SnapshotRequest,
    dir: &Directory,
    abort: &Abort,
) -> Result<Sighting> {
    match container::sight(&*this.ports, &request.sandbox_id, dir).await {
        Err(error) if request.wake && is_about_the_container(&error) => {
            container::wake(&*this.ports, &request.sandbox_id, dir, abort).await
        }
        seen => seen,
    }
}

fn is_about_the_container(error: &Error) -> bool {
    matches!(error.code(), Code::SandboxNotRunning | Code::SandboxStarting | Code::SandboxReplaced)
}

/// Has the SDK make the backup. A failure that may pass elsewhere does not pass here: when the container is gone, so
/// are the files, and a caller who simply tried again could capture the empty one that somebody started meanwhile.
async fn back_up<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    origin: &SandboxId,
    options: &BackupOptions,
    sighting: &Sighting,
) -> Result<BackupHandle> {
    let failure = match this.ports.sandboxes()?.create_backup(origin, options).await {
        Ok(backup) => return Ok(backup),
        Err(failure) => failure,
    };
    let error = from_sandbox(failure.clone(), origin, During::Backup);
    if !error.retryable() {
        return Err(error);
    }
    match container::is_the_same(&*this.ports, origin, &options.dir, sighting).await {
        Err(replaced) if replaced.code() == Code::SandboxReplaced => Err(replaced.caused_by(failure)),
        _ => Err(Error::new(
            Code::BackupInterrupted,
            error.message(),
            "Whether a backup was stored is not known. Make sure that the sandbox still has its files before you try \
             again: if its container was replaced, they are gone, and the newest snapshot has to be restored.",
        )
        .caused_by(failure)),
    }
}

/// Makes sure that what is in R2 is the whole backup, and of the container that was seen before.
async fn confirm<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    backup: &BackupHandle,
    mark: &Mark,
    dir: &Directory,
    sighting: &Sighting,
) -> Result<Timestamp> {
    let stored = look_up(this, backup.id()).await.map_err(|error| match error.code() {
        Code::RefMismatch => not_asked_for(backup),
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
    if stored.mark != *mark || stored.metadata.dir != dir.as_str() || backup.dir() != dir {
        return Err(not_asked_for(backup));
    }
    container::is_the_same(&*this.ports, &mark.origin_id, dir, sighting).await?;
    Ok(stored.metadata.created_at)
}

fn not_asked_for(backup: &BackupHandle) -> Error {
    Error::new(
        Code::BackupIncomplete,
        format!("The backup {} that the sandbox answered is not the one that was asked for.", backup.id()),
        "Make sure that the sandbox's class passes createBackup() the options that it is given.",
    )
}
