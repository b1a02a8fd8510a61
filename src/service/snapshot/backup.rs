//! Has the SDK make the backup, and makes sure of what it stored.

use futures_util::future::join;

use crate::model::{BackupHandle, BackupOptions, Code, Directory, Error, Mark, Result, SandboxId};
use crate::ports::{Ports, Visit, VisitOf};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::container::{self, Check};
use crate::service::failures::{During, from_sandbox, is_definite};
use crate::service::limits::expected_bytes;
use crate::service::planted::{Bug, planted};
use crate::service::sight;
use crate::service::stored::{Found, look_up};

/// A backup that failed.
pub(super) struct Failed {
    /// Why.
    pub error: Error,
    /// Whether it is certain that none comes of it.
    pub is_definite: bool,
}

/// Has the SDK make the backup. A failure that is transient elsewhere is not transient here: if the container ended, its files are
/// gone, and a caller that simply retried could capture an empty container that the application started in between.
pub(super) async fn back_up<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    visit: &VisitOf<'_, P>,
    origin: &SandboxId,
    options: &BackupOptions,
    check: &Check,
) -> Result<BackupHandle, Failed> {
    let failure = match visit.create_backup(options, expected_bytes(this)).await {
        Ok(backup) => return Ok(backup),
        Err(failure) => failure,
    };
    let is_definite = is_definite(&failure);
    let failed = |error| Err(Failed { error, is_definite });
    let error = from_sandbox(failure.clone(), origin, During::Backup);
    let ports = &*this.ports;
    let still = match container::is_still_up(ports, origin).await {
        Ok(()) => container::is_meant(ports, None, origin, &options.dir, check).await,
        Err(error) => Err(error),
    };
    match still {
        Err(why) if matches!(why.code(), Code::SandboxReplaced | Code::InvalidDirectory) => {
            failed(why.caused_by(failure))
        }
        _ if !error.retryable() => failed(error),
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

/// Makes sure that what is in R2 is the whole backup, and of the container that is meant.
pub(in crate::service) async fn confirm<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    visit: Option<&VisitOf<'_, P>>,
    backup: &BackupHandle,
    mark: &Mark,
    dir: &Directory,
    check: &Check,
) -> Result<Found> {
    let is_meant = async {
        if planted(Bug::ContainerNotCompared) {
            return Ok(());
        }
        container::is_meant(&*this.ports, visit, &mark.origin_id, dir, check).await?;
        sight::was_own(this, check)
    };
    let (found, is_meant) = join(look_up(this, backup.id()), is_meant).await;
    let found = found.map_err(|error| match error.code() {
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
    is_meant.map(|()| found)
}

fn not_asked_for(backup: &BackupHandle) -> Error {
    Error::new(
        Code::BackupIncomplete,
        format!("The backup {} that the sandbox answered is not the one that was asked for.", backup.id()),
        "Make sure that the sandbox's class passes createBackup() the options that it is given.",
    )
}
