//! The platform snapshot of a sandbox: a stop takes it, and a start restores it.
//!
//! The platform keeps no list of its snapshots, and an id that it does not know can start an empty container. Therefore
//! each snapshot has a token on its disk. A start sets its first marker only in a container that has the token, in the
//! same command. Until then, the container has no marker, and nothing is captured from it.

use std::collections::BTreeMap;

use super::ensure_running::ensured_running;
use super::stale;
use crate::model::named::answer::StartOutcome;
use crate::model::named::binding::{Dependencies, LastRestore, RestoreBegun};
use crate::model::named::messages::{EnsureRunningRequest, EnsuredRunning};
use crate::model::named::platform_snapshot::{ArchiveLink, PLATFORM_LIFETIME_MILLIS, PlatformSnapshot};
use crate::model::named::{ContainerMarker, Storage, StoragePolicy};
use crate::model::{Code, Directory, Error, Result, Timestamp};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::{During, is_failed_start};

/// Why a platform snapshot was not restored.
pub(super) struct PlatformFailure {
    /// The reason.
    pub reason: String,
    /// The error, if a later start may succeed.
    pub transient: Option<Error>,
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Verifies that the class of the sandbox has the storage.
    ///
    /// # Errors
    /// [`Code::Unsupported`].
    pub async fn check_storage(&self, storage: StoragePolicy) -> Result<()> {
        self.prepare_call().await?;
        self.ensure_storage_supported(storage).await
    }

    /// As [`check_storage`](Self::check_storage), for a call that is prepared.
    pub(super) async fn ensure_storage_supported(&self, storage: StoragePolicy) -> Result<()> {
        if storage.has_platform() && self.platform_image().await?.is_none() {
            return Err(Error::platform_storage_unsupported(&self.id));
        }
        Ok(())
    }

    /// Takes a platform snapshot of the container with the marker. `has_archive` says that the caller has just stored
    /// an archive of the same files. Replaces the former platform snapshot, which the platform keeps until it expires.
    pub(super) async fn take_platform_snapshot(&self, marker: &ContainerMarker, has_archive: bool) -> Result<()> {
        // A capture that began before would become newer than the platform snapshot.
        self.in_process.coalescer.wait_until_idle().await;
        let binding = self.binding()?;
        let image = match binding.start.class_image.clone() {
            Some(image) => image,
            None => self.platform_image().await?.ok_or_else(|| Error::platform_storage_unsupported(&self.id))?,
        };
        let listing = self.sandboxes()?.list_directory(&self.id, &binding.start.dir).await;
        let content_hash = listing.map_err(self.failed(During::Probe))?.content_hash;
        let dependencies = self.read_dependencies().await?.unwrap_or_default();
        let archive = self.newest_restorable(&binding.start.dir)?.map(|newest| ArchiveLink {
            created_at: newest.created_at(),
            snapshot_id: newest.snapshot_id,
            is_same: has_archive,
        });
        self.extend_platform_data()?;
        // A late call of an earlier attempt writes the same token.
        let token = marker.nonce();
        let disk = self
            .retry(async || {
                let answer = self.sandboxes()?.take_platform_snapshot(&self.id, marker, token).await;
                answer.map_err(self.failed(During::Backup))?.ok_or_else(|| Error::another_container(&self.id))
            })
            .await?;
        self.extend_platform_data()?;
        self.update_binding(|binding| {
            binding.platform_snapshot = Some(PlatformSnapshot {
                id: disk.id,
                token: token.to_owned(),
                size_bytes: disk.size_bytes,
                image,
                created_at: self.now(),
                last_restored_at: None,
                archive,
                content_hash,
                baseline: binding.start.baseline.clone(),
                dependencies,
                refresh_failure: None,
                unusable: None,
                attempted_at: None,
            });
        })?;
        self.schedule_refresh()
    }

    /// Returns the platform snapshot of the sandbox, unless an archive is newer.
    pub async fn platform_snapshot(&self) -> Result<Option<PlatformSnapshot>> {
        self.prepare_call().await?;
        self.current_platform_snapshot(&self.start_state()?.dir)
    }

    /// Returns the platform snapshot of the sandbox, unless an archive of the directory is newer.
    pub(super) fn current_platform_snapshot(&self, dir: &Directory) -> Result<Option<PlatformSnapshot>> {
        let binding = self.sandbox_record()?.binding;
        let Some(snapshot) = binding.and_then(|binding| binding.platform_snapshot) else { return Ok(None) };
        let newest = self.newest_restorable(dir)?;
        let is_older = newest.is_some_and(|newest| snapshot.is_older_than(newest.created_at()));
        Ok(Some(snapshot).filter(|_| !is_older))
    }

    /// Starts the sandbox from a platform snapshot, unless the snapshot cannot be restored. In that case, no container
    /// is left.
    pub(super) async fn start_from_platform(
        &self,
        request: &EnsureRunningRequest,
        snapshot: &PlatformSnapshot,
        may_have_lost: bool,
    ) -> Result<std::result::Result<EnsuredRunning, PlatformFailure>> {
        // The image of the next container is the one that the workspace has chosen.
        self.configure_sandbox(request).await?;
        if let Some(reason) = snapshot.obstacle(self.platform_image().await?.as_deref(), self.now()) {
            return Ok(Err(PlatformFailure { reason, transient: None }));
        }
        let (nonce, RestoreBegun { hashes, .. }) =
            match self.retry(async || self.or_destroy(self.prepare_disk(request, snapshot).await).await).await {
                Ok(started) => started,
                // The call may still start the container, or end the next one.
                Err(error)
                    if matches!(
                        error.code(),
                        Code::SandboxTimeout | Code::SandboxUnresponsive | Code::BackupInterrupted
                    ) =>
                {
                    return Err(error);
                }
                Err(error) => {
                    let reason = error.message().to_owned();
                    if error.code() == Code::BackupNotFound {
                        self.mark_unusable(&snapshot.id, &reason)?;
                    }
                    return Ok(Err(PlatformFailure { reason, transient: Some(error).filter(Error::is_retryable) }));
                }
            };
        let restore = LastRestore {
            storage: Storage::Platform,
            snapshot_id: snapshot.same_archive().cloned(),
            created_at: snapshot.created_at,
            at: self.now(),
            may_have_lost,
            lost_since: None,
            newer_partial_id: None,
            nonce,
        };
        let restore = self.with_loss(restore, request)?;
        self.or_destroy(self.complete_platform_start(request, snapshot, restore, hashes).await).await.map(Ok)
    }

    /// Sets the environment variables of the sandbox, and starts it from a platform snapshot.
    async fn prepare_disk(
        &self,
        request: &EnsureRunningRequest,
        snapshot: &PlatformSnapshot,
    ) -> Result<(String, RestoreBegun)> {
        self.schedule_reconcile()?;
        self.set_env_before_start(request).await?;
        let dir = &request.settings.dir;
        self.start_disk(snapshot, dir, &stale::paths_outside(&request.settings.depends_on.files, dir)).await
    }

    /// Starts a container from a platform snapshot, and marks it as restoring if it has the files of the snapshot.
    pub(super) async fn start_disk(
        &self,
        snapshot: &PlatformSnapshot,
        dir: &Directory,
        files: &[String],
    ) -> Result<(String, RestoreBegun)> {
        // The restore extends the lifetime of the snapshot, also if its answer is lost.
        self.extend_platform_data()?;
        self.update_start(|start| start.platform_content.clone_from(&snapshot.content_hash))?;
        let former = self.note_attempt(&snapshot.id, Some(self.now()))?;
        let started = self.sandboxes()?.start_from_platform_snapshot(&self.id, &snapshot.id).await;
        if started.as_ref().is_err_and(is_failed_start) {
            self.note_attempt(&snapshot.id, former)?;
        }
        self.note_late_call(started.map_err(self.failed(During::Start)))?;
        if let Some(marked) = self.mark_restoring(dir, files, Some(&snapshot.token)).await? {
            return Ok(marked);
        }
        // The platform did not restore the snapshot, and so did not extend its lifetime.
        self.note_attempt(&snapshot.id, former)?;
        Err(Error::platform_snapshot_not_in_container(&self.id, &snapshot.id))
    }

    async fn complete_platform_start(
        &self,
        request: &EnsureRunningRequest,
        snapshot: &PlatformSnapshot,
        restore: LastRestore,
        hashes: BTreeMap<String, String>,
    ) -> Result<EnsuredRunning> {
        let (nonce, settings) = (restore.nonce.clone(), &request.settings);
        self.extend_platform_data()?;
        self.update_binding(|binding| {
            let start = &mut binding.start;
            (start.saved, start.saved_state, start.last_restore) = (None, None, Some(restore.clone()));
            start.image.clone_from(&snapshot.dependencies.image);
            start.baseline.clone_from(&snapshot.baseline);
            (start.class_image, start.class_image_uncertain) = (Some(snapshot.image.clone()), false);
            start.restore_nonce = Some(nonce.clone());
            if let Some(own) = binding.platform_snapshot.as_mut().filter(|own| own.id == snapshot.id) {
                (own.last_restored_at, own.attempted_at, own.refresh_failure) = (Some(restore.at), None, None);
            }
        })?;
        // The disk has the files of the snapshot, and so the image's, too.
        let fingerprint = settings.depends_on.fingerprint.clone();
        let current = Dependencies { files: hashes, fingerprint, image: snapshot.dependencies.image.clone() };
        let stale = stale::check(&snapshot.id, &snapshot.dependencies, &current, settings, &request.start)?;
        let populated = Self::populated_marker(request, &nonce);
        self.advance_marker(&ContainerMarker::Restoring(nonce.clone()), &populated).await?;
        let outcome = EnsuredRunning { restore: Some(restore), stale, ..ensured_running(StartOutcome::Restored) };
        self.finish_start(request, &populated, nonce, outcome).await
    }

    pub(super) async fn platform_image(&self) -> Result<Option<String>> {
        self.retry(async || self.sandboxes()?.platform_image(&self.id).await.map_err(self.failed(During::Probe))).await
    }

    pub(super) fn mark_unusable(&self, id: &str, reason: &str) -> Result<()> {
        self.update_binding(|binding| {
            if let Some(own) = binding.platform_snapshot.as_mut().filter(|own| own.id == id) {
                own.unusable = Some(reason.to_owned());
            }
        })
    }

    /// Records when an attempt to start from the snapshot with the id `id` began, and returns what was recorded before.
    fn note_attempt(&self, id: &str, at: Option<Timestamp>) -> Result<Option<Timestamp>> {
        let mut former = None;
        self.update_binding(|binding| {
            if let Some(own) = binding.platform_snapshot.as_mut().filter(|own| own.id == id) {
                former = std::mem::replace(&mut own.attempted_at, at);
            }
        })?;
        Ok(former)
    }

    /// Records that the platform may keep a snapshot of the sandbox for its whole lifetime from now on.
    fn extend_platform_data(&self) -> Result<()> {
        let until = self.now().plus_millis(PLATFORM_LIFETIME_MILLIS);
        self.update_binding(|binding| binding.platform_data_until = Some(until))
    }
}
