//! The backup of a capture: calls `createBackup`, and verifies what the SDK stored.

use std::time::Duration;

use futures_util::future::join;

use super::stored_backup::BackupHead;
use crate::model::delta::is_carrier;
use crate::model::{BackupOptions, BackupOwner, Code, Directory, Error, LocatedBackup, Result};
use crate::ports::{BackupStore, Clock, Ports, SandboxSession, SandboxSessionOf};
use crate::service::calls::failures::{During, from_sandbox, is_reported_by_sandbox};
use crate::service::container::identity::ContainerExpectation;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// The delay before the first repetition of a probe that timed out. It doubles with each further one.
const FIRST_DELAY: Duration = Duration::from_secs(1);

/// For how long probes of a container that times out are repeated, in milliseconds. A probe in the container times out after
/// 10 seconds; one that gets no answer at all takes longer than this, so it is not repeated.
const MAX_REPEAT_MILLIS: i64 = 60_000;

/// A backup that failed.
pub(super) struct FailedBackup {
    /// The error.
    pub error: Error,
    /// Whether it is certain that no backup will be stored.
    pub stores_nothing: bool,
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Calls `createBackup` for the snapshot of a directory, with the expected size of its archive in bytes. A failure that
    /// is transient elsewhere is not transient here: if the container ended, its files are gone, and a caller that simply
    /// retried could capture an empty container that the application started in between.
    pub(super) async fn create_backup(
        &self,
        session: &SandboxSessionOf<'_, P>,
        options: &BackupOptions,
        (dir, bytes): (&Directory, Option<u64>),
        expectation: &ContainerExpectation,
    ) -> Result<LocatedBackup, FailedBackup> {
        let failure = match session.create_backup(options, bytes.or_else(|| self.expected_bytes())).await {
            Ok(handle) => {
                // The bucket is bound: it was checked before the capture began.
                let located = self.backups().map(|backups| backups.locate(handle));
                return located.map_err(|error| FailedBackup { error, stores_nothing: false });
            }
            Err(failure) => failure,
        };
        let stores_nothing = is_reported_by_sandbox(&failure);
        let failed = |error| Err(FailedBackup { error, stores_nothing });
        let error = from_sandbox(failure.clone(), &self.id, During::Backup);
        match self.verify_captured(dir, expectation).await {
            Err(container_error)
                if matches!(container_error.code(), Code::SandboxReplaced | Code::InvalidDirectory) =>
            {
                failed(container_error.caused_by(failure))
            }
            _ if !error.is_retryable() => failed(error),
            _ => failed(Error::backup_interrupted(&error).caused_by(failure)),
        }
    }

    /// Verifies a backup that was stored just now. Repeats a probe that timed out for about [`MAX_REPEAT_MILLIS`], because a
    /// container under load may answer the next one in time.
    pub(super) async fn verify_new_backup(
        &self,
        session: &SandboxSessionOf<'_, P>,
        backup: &LocatedBackup,
        mark: &BackupOwner,
        dir: &Directory,
        expectation: &ContainerExpectation,
        abort: &CancellationToken,
    ) -> Result<BackupHead> {
        let began_at = self.now();
        let (mut session, mut delay) = (Some(session), FIRST_DELAY);
        loop {
            let verified = self.verify_backup(session.take(), backup, mark, dir, expectation).await;
            let has_timed_out = verified.as_ref().is_err_and(|error| error.code() == Code::SandboxTimeout);
            if !has_timed_out || self.now().millis_since(began_at) >= MAX_REPEAT_MILLIS {
                return verified;
            }
            self.ports.clock().sleep(delay).await;
            abort.check()?;
            delay *= 2;
        }
    }

    /// Verifies that the container of a capture still runs. Starts none if the sandbox reports that it has ended.
    pub(super) async fn verify_captured(&self, dir: &Directory, expectation: &ContainerExpectation) -> Result<()> {
        // The identity is compared with that of the status.
        if !matches!(expectation, ContainerExpectation::Identified(_)) {
            self.verify_running().await?;
        }
        self.verify_container(None, dir, expectation).await
    }

    /// Verifies that the backup in R2 is complete, and that it is of the expected container. A delta is the backup of its
    /// carrier.
    pub(in crate::service) async fn verify_backup(
        &self,
        session: Option<&SandboxSessionOf<'_, P>>,
        backup: &LocatedBackup,
        mark: &BackupOwner,
        dir: &Directory,
        expectation: &ContainerExpectation,
    ) -> Result<BackupHead> {
        let container_check = async {
            if matches!(expectation, ContainerExpectation::Identified(_)) {
                return Ok(()); // The capture would have failed in another container.
            }
            self.verify_container(session, dir, expectation).await?;
            self.verify_was_own(expectation)
        };
        let (found, container_check) = join(self.head_backup(backup), container_check).await;
        let found = found.map_err(|error| match error.code() {
            Code::BackupNotFound => Error::backup_not_stored(backup.id(), &mark.origin_id).with_note(error.message()),
            _ => error,
        })?;
        let archived = backup.handle_dir();
        let is_of_dir = backup.delta().map_or(archived == dir, |_| is_carrier(archived));
        if found.mark.as_ref() != Some(mark) || found.metadata.dir != archived.as_str() || !is_of_dir {
            return Err(Error::unexpected_backup(backup.id()));
        }
        container_check.map(|()| found)
    }
}
