//! `snapshot`: captures a sandbox.
//!
//! The Worker writes the row of the snapshot before it touches the sandbox, with everything that recovery needs, and
//! adds the answer of the sandbox as soon as it arrives. So recovery (`reconcile.rs`) finds the capture when this
//! object ends at any point.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use futures_util::future::join;

use super::backup::FailedBackup;
use super::discard::can_be_completed;
use super::finish::Finished;
use super::freeze::Frozen;
use super::settle::CaptureWatch;
use crate::model::exclude::check_patterns;
use crate::model::freeze::FreezeReport;
use crate::model::named::binding::Dependencies;
use crate::model::record::{CaptureInProgress, ExpectedMarker, SnapshotRecord, Stage, Verification};
use crate::model::request::CapturePurpose;
use crate::model::stored_backup::MAX_TTL_SECONDS;
use crate::model::{
    BackupOptions, Directory, Error, LocatedBackup, Result, SnapshotCause, SnapshotId, SnapshotRequest, TakenSnapshot,
};
use crate::ports::{Ledger, Ports, Sandboxes};
use crate::service::calls::failures::During;
use crate::service::container::identity::ContainerExpectation;
use crate::service::container::observation::ObservedContainer;
use crate::service::container::unverified::ActiveProbe;
use crate::service::in_process::{WorkKey, WorkLease};
use crate::service::tasks::backoff::Backoff;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Captures the sandbox's directory, or shares the capture of another caller that made the same request.
    pub async fn snapshot(&self, request: SnapshotRequest, abort: CancellationToken) -> Result<TakenSnapshot> {
        self.prepare_call().await?;
        self.in_runtime(request.runtime)?.snapshot_in_runtime(request, abort).await
    }

    async fn snapshot_in_runtime(&self, request: SnapshotRequest, abort: CancellationToken) -> Result<TakenSnapshot> {
        if request.lineage_scope.sandbox_id.is_some() {
            self.check_lineage_scope(&request.lineage_scope).await?;
        }
        let work = self.capture_consistently(request.clone(), abort.clone());
        let key = request.idempotency_key.as_deref();
        self.run_once(key, "snapshot", &request.without_caller(), &abort, work).await
    }

    /// Takes a snapshot. On an error, rolls the capture back. Sets `id` to the id of its row as soon as there is one.
    pub(in crate::service) async fn capture(
        &self,
        request: SnapshotRequest,
        abort: CancellationToken,
        id: &OnceCell<SnapshotId>,
    ) -> Result<TakenSnapshot> {
        let created = self.note_late_call(self.try_capture(request, abort, id).await);
        if created.is_err() && id.get().is_some() && self.sandbox_record()?.binding.is_some() {
            // If this fails, the next start or stop repeats it.
            drop(self.allow_sleep_if_cold().await);
        }
        created
    }

    async fn try_capture(
        &self,
        request: SnapshotRequest,
        abort: CancellationToken,
        id: &OnceCell<SnapshotId>,
    ) -> Result<TakenSnapshot> {
        let dir = self.directory(request.dir.clone())?;
        check_patterns(&request.excludes)?;
        dir.check_restorable()?;
        abort.check()?;
        if let Some(label) = &request.label {
            self.check_label(label, request.replace).await?;
        }

        self.check_capturable(&request).await?;
        let probe = ActiveProbe::begin(self)?;
        let observed = self.observe_container(&request, &dir, &abort).await?;
        abort.check()?;
        let dependencies = if observed.is_same_origin { self.read_dependencies().await? } else { None };
        let saved_state = if observed.is_same_origin {
            self.name_saved_state(&request.purpose, observed.observation.identity()).await?
        } else {
            None
        };
        self.check_capturable(&request).await?;

        let (record, _lease) = self.record_capture(&request, dir, observed, dependencies, saved_state)?;
        id.get_or_init(|| record.snapshot_id.clone());
        let mut record = match self.ensure_marked(&record).await {
            Ok(marked) => marked,
            Err(error) => return Err(self.abandon_capture(record, FailedBackup { error, stores_nothing: true })),
        };
        let Stage::Creating(progress) = &record.stage else { return Err(Error::internal()) };
        let expectation = self.container_expectation(progress)?;
        let mut options = BackupOptions {
            dir: record.dir.clone(),
            name: record.backup_owner(&self.id).to_string(),
            ttl: MAX_TTL_SECONDS,
            gitignore: request.gitignore,
            excludes: request.excludes.clone(),
            compression: request.compression,
            local_bucket: self.config.local_bucket,
            expected_last_change: progress.observation.identity(),
        };
        if let Err(error) = self.exclude_ignored(&mut options, &expectation).await {
            return Err(self.abandon_capture(record, FailedBackup { error, stores_nothing: true }));
        }
        if let Some(mode) = request.secrets
            && let Err(error) = self.find_secrets(mode, &mut record, &mut options).await
        {
            return Err(self.abandon_capture(record, FailedBackup { error, stores_nothing: true }));
        }
        let frozen = match self.freeze(&request, &record, &expectation, &abort).await {
            Ok(frozen) => frozen,
            Err(error) => return Err(self.abandon_capture(record, FailedBackup { error, stores_nothing: true })),
        };
        let taken = self.capture_files(&request, record, options, &expectation, &abort, frozen.as_ref()).await;
        if taken.is_err() {
            self.thaw_after_failure(frozen.as_ref()).await;
        }
        let taken = taken?;
        // The alarm retries what fails.
        drop(probe.finish_verified(self));
        Ok(taken)
    }

    /// Captures the files of a recorded capture. Thaws them as soon as their archive is stored.
    async fn capture_files(
        &self,
        request: &SnapshotRequest,
        mut record: SnapshotRecord,
        options: BackupOptions,
        expectation: &ContainerExpectation,
        abort: &CancellationToken,
        frozen: Option<&Frozen>,
    ) -> Result<TakenSnapshot> {
        let sandboxes = match self.sandboxes() {
            Ok(sandboxes) => sandboxes,
            Err(error) => return Err(self.abandon_capture(record, FailedBackup { error, stores_nothing: true })),
        };
        let is_watched = CaptureWatch::is_of(&request.purpose);
        let watch = self.watch_capture(&request.purpose, options.expected_last_change).await;
        // A start has recorded the image before anything was installed in the container.
        record.provenance = record.provenance.or_else(|| watch.as_ref()?.provenance.clone());
        let form = match self.begin_form(&sandboxes.open_session(&self.id), request, &mut record).await {
            Ok(form) => form,
            Err(error) => return Err(self.abandon_capture(record, FailedBackup { error, stores_nothing: true })),
        };
        // A session of its own: once a session has answered, errors of a Worker with an older compatibility date lose their
        // class.
        let session = sandboxes.open_session(&self.id);
        let options = form.adapt(options);
        let (dir, mark) = (record.dir.clone(), record.backup_owner(&self.id));
        let backup = self.create_backup(&session, &options, (&dir, form.expected_bytes()), expectation);
        let backup = match self.thaw_if_canceled(frozen, abort, backup).await {
            Ok(backup) => form.describe(backup),
            Err(failure) => return Err(self.abandon_capture(record, failure)),
        };
        let mut record = self.record_backup(record, &backup)?;
        let verify = self.verify_new_backup(&session, &backup, &mark, &dir, expectation, abort);
        let finish = async {
            // What the program writes after the thaw is not a change during the capture.
            let finished = join(self.finish_form(&session, &form, &record), self.end_watch(watch, &dir)).await;
            (finished, self.thaw(frozen).await)
        };
        let (verified, ((traced, changed), freeze)) = join(verify, finish).await;
        let changed = match changed {
            // No other check has seen the directory.
            Ok(None) if is_watched && matches!(expectation, ContainerExpectation::Identified(_)) => {
                self.verify_captured(&dir, expectation).await.map(|()| None)
            }
            changed => changed,
        };
        record.freeze = freeze;
        let traced = traced.and_then(|traced| {
            record.changed_during_capture = changed?;
            Ok(traced)
        });
        let outcome = match (verified, traced) {
            (Ok(found), Ok(traced)) => abort.check().map(|()| (found, traced)),
            (Err(error), Ok(_)) if can_be_completed(&record, &error) && abort.check().is_ok() => {
                return Err(self.keep_unverified(record, error));
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        match outcome {
            Ok((found, traced)) => {
                let finished = Finished { reason: form.reason(), traced };
                self.finish_capture(record, backup, found, finished)
            }
            Err(error) => Err(self.discard_capture(record, error).await),
        }
    }

    /// Writes the row of a capture that is about to begin.
    fn record_capture(
        &self,
        request: &SnapshotRequest,
        dir: Directory,
        observed: ObservedContainer,
        dependencies: Option<Dependencies>,
        saved_state: Option<String>,
    ) -> Result<(SnapshotRecord, WorkLease)> {
        let ObservedContainer { observation, verification, marker, is_same_origin, adopts } = observed;
        let is_rescue = request.purpose == CapturePurpose::Rescue || !is_same_origin;
        let (_, id_key) = self.ensure_initialized()?;
        let now = self.now();
        if let Some(key) = &request.idempotency_key {
            self.supersede(key)?;
        }
        let (label, takes_label) = self.choose_label(request.label.as_ref(), request.replace, now)?;
        let snapshot_id = self.mint_snapshot_id(&id_key)?;
        let lease = self.in_process.try_acquire(WorkKey::Snapshot(snapshot_id.clone())).ok_or_else(Error::internal)?;
        let record = SnapshotRecord {
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
            foreign: is_rescue,
            rescue: is_rescue,
            cause: Some(if is_rescue { SnapshotCause::Rescue } else { request.purpose.cause() }),
            saved_state,
            autosave: matches!(request.purpose, CapturePurpose::Save { .. }),
            changed_during_capture: None,
            freeze: request.freeze.as_ref().map(|_| FreezeReport::default()),
            secrets: None,
            suspect: None,
            provenance: dependencies.as_ref().and_then(Dependencies::provenance),
            dependencies,
            stage: Stage::Creating(CaptureInProgress {
                observation,
                verification,
                expected_marker: marker,
                adopts,
                takes_label,
                base: None,
                backup: None,
                discarded: false,
                key: request.idempotency_key.clone(),
                task: self.schedule_task(Backoff::BACKUP_SEARCH, 0)?,
            }),
        };
        self.ledger.put_snapshot(&record)?;
        Ok((record, lease))
    }

    /// Marks the container, so that it can be recognized later, and records the marker. A container with an identity needs
    /// none.
    async fn ensure_marked(&self, record: &SnapshotRecord) -> Result<SnapshotRecord> {
        let mut record = record.clone();
        let Stage::Creating(progress) = &mut record.stage else { return Err(Error::internal()) };
        let is_identified = progress.verification == Verification::Done && progress.observation.identity().is_some();
        if is_identified || progress.expected_marker.is_some() || self.sandbox_record()?.binding.is_some() {
            return Ok(record);
        }
        progress.expected_marker = Some(ExpectedMarker::Own(self.mark_container(progress).await?));
        self.save_capture(&mut record)?;
        Ok(record)
    }

    /// Records the backup handle that the sandbox returned.
    fn record_backup(&self, mut record: SnapshotRecord, backup: &LocatedBackup) -> Result<SnapshotRecord> {
        if let Stage::Creating(progress) = &mut record.stage {
            progress.backup = Some(backup.clone());
        }
        self.save_capture(&mut record)?;
        Ok(record)
    }

    /// Reads what a snapshot depends on, for a sandbox that belongs to a named workspace.
    pub(in crate::service) async fn read_dependencies(&self) -> Result<Option<Dependencies>> {
        let Some(binding) = self.sandbox_record()?.binding else { return Ok(None) };
        let mut files = BTreeMap::new();
        if !binding.files.is_empty() {
            let hashes = self.sandboxes()?.hash_files(&self.id, &binding.start.dir, &binding.files).await;
            files = hashes.map_err(self.failed(During::Probe))?;
        }
        Ok(Some(Dependencies { files, fingerprint: binding.fingerprint, image: binding.start.image }))
    }

    /// Refuses the capture of a sandbox that files are restored into, or that is decommissioned. Permits one without
    /// waiting, so that the state is still the same when the capture is recorded.
    async fn check_capturable(&self, request: &SnapshotRequest) -> Result<()> {
        self.ensure_not_decommissioned()?;
        if request.purpose == CapturePurpose::Rescue {
            // Its caller has already verified that the files must be saved.
            return Ok(());
        }
        let permitted = self.ensure_not_restoring();
        let is_interrupted = permitted.is_err() && self.in_process.lifecycle_lock.try_lock().is_some();
        if is_interrupted && !request.wake {
            // Where no container runs, the files are gone, and another attempt finds no others.
            self.running_status().await?;
        }
        permitted
    }
}
