//! `snapshot`: captures a sandbox.
//!
//! The Worker writes the row of the snapshot before it touches the sandbox, with everything that recovery needs, and
//! adds the answer of the sandbox as soon as it arrives. So recovery (`recover`) finds the capture when this object
//! ends at any point.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::backup::{FailedBackup, create_backup};
use super::discard::{abandon_capture, discard_capture, supersede};
use super::stored_backup::BackupHead;
use super::{exclude, label, suspect};
use crate::model::backup::MAX_TTL_SECONDS;
use crate::model::exclude::check_patterns;
use crate::model::named::binding::{Dependencies, WorkspaceBinding};
use crate::model::record::{CaptureInProgress, ExpectedMarker, PendingTask, SnapshotRecord, Stage};
use crate::model::{
    BackupHandle, BackupOptions, Capture, Directory, Error, Result, SnapshotId, SnapshotRef, SnapshotRequest,
    TakenSnapshot,
};
use crate::ports::{Clock, Ledger, Ports, Sandboxes};
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::calls::idempotency;
use crate::service::container::observation::{self, ObservedContainer};
use crate::service::container::unverified::{self, ActiveProbe};
use crate::service::in_process::{WorkKey, WorkLease};
use crate::service::planted::{Bug, planted};
use crate::service::retention::references;
use crate::service::workspace::sandbox::{self, stop_sandbox};
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

pub(in crate::service) use super::backup::verify_backup;
pub(in crate::service) use super::discard::mark_discarded;

/// The delay after which recovery reconciles an interrupted capture, in milliseconds.
const RECONCILE_AFTER_MILLIS: i64 = 60_000;

/// A snapshot that was created.
#[derive(Clone, Debug)]
pub(in crate::service) struct CreatedSnapshot {
    /// The snapshot.
    pub snapshot: SnapshotRef,
    /// The details of the capture that the caller receives.
    pub capture: Capture,
}

/// Takes a snapshot. On an error, rolls the capture back. Sets `id` to the id of its row as soon as there is one.
pub(in crate::service) async fn snapshot<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: SnapshotRequest,
    abort: CancellationToken,
    id: &OnceCell<SnapshotId>,
) -> Result<CreatedSnapshot> {
    let created = sandbox::note_late_call(&this, capture(this.clone(), request, abort, id).await);
    if created.is_err() && id.get().is_some() && this.workspace()?.binding.is_some() {
        // If this fails, the next start or stop repeats it.
        drop(stop_sandbox::allow_sleep_if_cold(&this).await);
    }
    created
}

async fn capture<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: SnapshotRequest,
    abort: CancellationToken,
    id: &OnceCell<SnapshotId>,
) -> Result<CreatedSnapshot> {
    let origin = request.sandbox_id.clone();
    let dir = request.dir.clone().unwrap_or_else(|| this.config.default_dir.clone());
    check_patterns(&request.excludes)?;
    dir.check_restorable()?;
    abort.check()?;
    if request.label.is_some() {
        label::choose(&this, request.label.as_ref(), request.replace, this.ports.clock().now())?;
    }

    check_capturable(&this, &request)?;
    let probe = ActiveProbe::begin(&this)?;
    let observed = observation::observe_container(&this, &request, &dir, &abort).await?;
    abort.check()?;
    let dependencies = if observed.is_same_origin { read_dependencies(&this).await? } else { None };
    check_capturable(&this, &request)?;

    let (record, _lease) = record_intent(&this, &request, dir, observed, dependencies)?;
    id.get_or_init(|| record.snapshot_id.clone());
    let record = match ensure_marked(&this, &record, false).await {
        Ok(marked) => marked,
        Err(error) => return Err(abandon_capture(&this, record, FailedBackup { error, is_definite: true })),
    };
    let Stage::Creating(progress) = &record.stage else { return Err(Error::internal()) };
    let expectation = observation::expectation(&this, progress)?;
    let mark = record.backup_owner(&origin);
    let options = BackupOptions {
        dir: record.dir.clone(),
        name: mark.to_string(),
        ttl: MAX_TTL_SECONDS,
        gitignore: request.gitignore,
        excludes: request.excludes,
        compression: request.compression,
        local_bucket: this.config.local_bucket,
    };
    let ports = Rc::clone(&this.ports);
    let session = match ports.sandboxes() {
        Ok(sandboxes) => sandboxes.open_session(&origin),
        Err(error) => return Err(abandon_capture(&this, record, FailedBackup { error, is_definite: true })),
    };
    if let Err(error) = exclude::check_ignored(&this, &origin, &options).await {
        return Err(abandon_capture(&this, record, FailedBackup { error, is_definite: true }));
    }
    let backup = match create_backup(&this, &session, &origin, &options, &expectation).await {
        Ok(backup) => backup,
        Err(failure) => return Err(abandon_capture(&this, record, failure)),
    };
    let mut record = record_backup(&this, record, &backup)?;
    if planted(Bug::MarkedAfterCapture) {
        record = ensure_marked(&this, &record, true).await?;
    }
    let verified = match verify_backup(&this, Some(&session), &backup, &mark, &options.dir, &expectation).await {
        Ok(found) => abort.check().map(|()| found),
        Err(error) => Err(error),
    };
    match verified {
        Ok(found) => {
            let created = finish_capture(&this, record, backup, found)?;
            // The alarm retries what fails.
            drop(probe.finish_verified(&this));
            Ok(created)
        }
        Err(error) => Err(discard_capture(&this, record, error).await),
    }
}

/// Writes the row of a capture that is about to begin.
fn record_intent<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &SnapshotRequest,
    dir: Directory,
    observed: ObservedContainer,
    dependencies: Option<Dependencies>,
) -> Result<(SnapshotRecord, WorkLease)> {
    let ObservedContainer { observation, verification, marker, is_same_origin, adopts } = observed;
    let is_rescue = request.rescue || !is_same_origin;
    let (_, id_key) = this.ensure_initialized()?;
    let now = this.ports.clock().now();
    if let Some(key) = &request.idempotency_key {
        supersede(this, key)?;
    }
    let (label, takes_label) = label::choose(this, request.label.as_ref(), request.replace, now)?;
    let snapshot_id = this.mint_snapshot_id(&id_key)?;
    let lease = this.in_process.try_acquire(WorkKey::Snapshot(snapshot_id.clone())).ok_or_else(Error::internal)?;
    let task = PendingTask { due_at: now.plus_millis(RECONCILE_AFTER_MILLIS), attempt: 0 };
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
        rescue: is_rescue && !planted(Bug::RescueReleasesReference),
        suspect: None,
        dependencies,
        stage: Stage::Creating(CaptureInProgress {
            observation,
            verification,
            expected_marker: marker,
            adopts,
            takes_label,
            backup: None,
            discarded: false,
            key: request.idempotency_key.clone(),
            task,
        }),
    };
    if !planted(Bug::CaptureNotRecorded) {
        this.ports.ledger()?.put_snapshot(&record)?;
    }
    this.schedule_alarm(task.due_at)?;
    Ok((record, lease))
}

/// Marks the container, so that it can be recognized later, and records the marker.
async fn ensure_marked<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    record: &SnapshotRecord,
    is_late: bool,
) -> Result<SnapshotRecord> {
    let mut record = record.clone();
    let Stage::Creating(progress) = &mut record.stage else { return Err(Error::internal()) };
    let is_due = is_late == planted(Bug::MarkedAfterCapture);
    if progress.expected_marker.is_some() || this.workspace()?.binding.is_some() || !is_due {
        return Ok(record);
    }
    progress.expected_marker = Some(ExpectedMarker::Own(observation::mark_container(this, progress).await?));
    label::refresh(this, &mut record)?;
    unverified::refresh_verification(this, &mut record)?;
    if let Some(known) = this.ports.ledger()?.snapshot(&record.snapshot_id)?
        && let Stage::Creating(progress) = &mut record.stage
    {
        progress.discarded = known.is_discarded();
    }
    this.ports.ledger()?.put_snapshot(&record)?;
    Ok(record)
}

/// Records the backup handle that the sandbox returned.
fn record_backup<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut record: SnapshotRecord,
    backup: &BackupHandle,
) -> Result<SnapshotRecord> {
    let is_discarded = this.ports.ledger()?.snapshot(&record.snapshot_id)?.is_some_and(|known| known.is_discarded());
    if let Stage::Creating(progress) = &mut record.stage {
        progress.backup = Some(backup.clone());
        progress.discarded = is_discarded;
    }
    label::refresh(this, &mut record)?;
    unverified::refresh_verification(this, &mut record)?;
    this.ports.ledger()?.put_snapshot(&record)?;
    Ok(record)
}

/// Completes a capture: records the snapshot as ready, subject to the policy, and releases the snapshot that the
/// sandbox was made from.
pub(in crate::service) fn finish_capture<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mut record: SnapshotRecord,
    backup: BackupHandle,
    found: BackupHead,
) -> Result<CreatedSnapshot> {
    let Stage::Creating(progress) = &record.stage else { return Err(Error::internal()) };
    let (takes_label, key) = (progress.takes_label.clone(), progress.key.clone());
    let marker = progress.expected_marker.clone().filter(|_| !record.rescue || progress.adopts);
    let stored = found.into_stored(backup, false, this.ports.clock().now());
    let mut workspace = this.workspace()?;
    if let Some(ExpectedMarker::Own(marker)) = marker
        && workspace.marker.as_ref() != Some(&marker)
        && workspace.marked_at.is_none_or(|at| at <= record.began_at)
    {
        // From now on the marker identifies the container, whatever its age.
        (workspace.marker, workspace.unverified) = (Some(marker), None);
        workspace.marked_at = Some(record.began_at);
        this.ports.ledger()?.put_workspace(&workspace)?;
    }
    suspect::compare_with_predecessor(this, &mut workspace, &mut record, stored.size_bytes)?;
    record.last_used_at = stored.created_at;
    let size_bytes = stored.size_bytes;
    record.stage = Stage::Ready { stored };
    label::refresh(this, &mut record)?;
    if let Some(label) = takes_label {
        label::assign(this, &mut record, label)?;
    }
    let snapshot = this.save_snapshot(&workspace, record)?;
    this.schedule_retention(&workspace)?;
    let is_whole =
        |binding: &WorkspaceBinding| snapshot.is_whole(&binding.dir) || planted(Bug::PartialReleasesReference);
    if !snapshot.rescue && workspace.binding.as_ref().is_none_or(is_whole) {
        references::release(this, &mut workspace)?;
    }
    let capture = Capture {
        label: snapshot.label.clone(),
        size_bytes,
        began_at: snapshot.began_at,
        shared: false,
        rescue: snapshot.rescue,
        suspect: snapshot.suspect,
    };
    let created = CreatedSnapshot { snapshot: snapshot.to_ref(&workspace).ok_or_else(Error::internal)?, capture };
    if let Some(idempotency_record) =
        key.map(|key| this.ports.ledger()?.idempotency_record(&key)).transpose()?.flatten()
    {
        idempotency::save_answer(
            this,
            idempotency_record,
            &TakenSnapshot { snapshot: created.snapshot.clone(), capture: created.capture.clone() },
        )?;
    }
    Ok(created)
}

/// Reads what a snapshot depends on, for a sandbox that belongs to a named workspace.
async fn read_dependencies<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Dependencies>> {
    let Some(binding) = this.workspace()?.binding else { return Ok(None) };
    let mut files = BTreeMap::new();
    if !binding.files.is_empty() {
        let hashes = this.ports.sandboxes()?.hash_files(&this.id, &binding.dir, &binding.files).await;
        files = hashes.map_err(|failure| from_sandbox(failure, &this.id, During::Probe))?;
    }
    Ok(Some(Dependencies { files, fingerprint: binding.fingerprint, image: binding.image }))
}

/// Refuses the capture of a sandbox that files are restored into, or that is decommissioned.
fn check_capturable<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &SnapshotRequest) -> Result<()> {
    sandbox::ensure_not_decommissioned(this)?;
    // The caller of a rescue snapshot has already verified that the files must be saved.
    if request.rescue || planted(Bug::CapturedDuringRestore) { Ok(()) } else { sandbox::ensure_not_restoring(this) }
}
