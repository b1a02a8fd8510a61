//! The private functions that parse data from outside, for the targets in `fuzz/`. Feature `fuzzing`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::problem;
use crate::cloudflare::objects::RpcEnvelope;
use crate::cloudflare::{backup_keys, backups, checkpoints, js_error, scripts};
use crate::model::answer::Check;
use crate::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use crate::model::named::answer::HookRun;
use crate::model::named::binding::DirectoryListing;
use crate::model::required_container::Refusal;
use crate::model::{ArchiveFormat, BackupId, BackupMetadata, BackupObjectKind, Error, Failure, Probe, SandboxId};
use crate::service::calls::failures::{self, During};
use crate::service::snapshot::verify;

/// The scripts of incremental snapshots, and the parsers of their output.
pub mod delta {
    use crate::cloudflare::prelude::PRELUDE;
    use crate::cloudflare::scripts::delta;
    use crate::model::delta::{CaptureBegin, CaptureBegun, Carrier, RestoreFinish, RestoreFinished, TracedBase};
    use crate::model::named::ContainerMarker;
    use crate::model::{Directory, FullReason, SnapshotId};

    fn with_prelude(script: &str) -> String {
        [PRELUDE, script].concat()
    }

    /// Returns the script that begins a capture.
    pub fn begin_capture(begin: &CaptureBegin) -> String {
        with_prelude(&delta::begin_capture(begin))
    }

    /// Parses its output.
    pub fn read_capture_begun(stdout: &str, begin: &CaptureBegin) -> Option<CaptureBegun> {
        delta::read_capture_begun(stdout, begin)
    }

    /// Returns the script that completes the inventory of a base.
    pub fn finish_inventory(dir: &Directory, snapshot_id: &SnapshotId) -> String {
        with_prelude(&delta::finish_inventory(dir, snapshot_id))
    }

    /// Parses its output.
    pub fn read_inventory(stdout: &str, snapshot_id: &SnapshotId) -> Option<Result<TracedBase, FullReason>> {
        delta::read_inventory(stdout, snapshot_id)
    }

    /// Returns the script that verifies and deletes a carrier.
    pub fn release_carrier(carrier: &Carrier) -> String {
        with_prelude(&delta::release_carrier(carrier))
    }

    /// Parses its output.
    pub fn read_carrier_released(stdout: &str) -> Option<bool> {
        delta::read_carrier_released(stdout)
    }

    /// Returns the script that completes a restore.
    pub fn finish_restore(finish: &RestoreFinish, marker: &ContainerMarker) -> String {
        with_prelude(&delta::finish_restore(finish, marker))
    }

    /// Parses its output.
    pub fn read_restore_finished(stdout: &str, base_id: &SnapshotId) -> Option<RestoreFinished> {
        delta::read_restore_finished(stdout, base_id)
    }
}

/// Returns the HTTP status and the `application/problem+json` body of an error.
pub fn problem(error: &Error) -> (u16, Value) {
    problem::problem(error, "0123456789abcdef")
}

/// Parses the output of the probe of a container.
pub fn probe(stdout: &str) -> Option<Probe> {
    scripts::read_probe(stdout)
}

/// Parses the output of the listing of a directory.
pub fn directory_listing(stdout: &str) -> Option<DirectoryListing> {
    scripts::read_listing(stdout)
}

/// Parses the printed hashes of files.
pub fn hashes(stdout: &str, files: &[String]) -> Option<BTreeMap<String, String>> {
    scripts::read_hashes(stdout, files)
}

/// Parses the output of a hook.
pub fn hook(stdout: &str, name: &str) -> Result<Option<HookRun>, Failure> {
    scripts::read_hook(stdout, name)
}

/// Parses the output of the script for checkpoints.
pub fn checkpoint(
    stdout: &str,
    call: &CheckpointCall,
) -> Result<Result<CheckpointOutcome, Refusal<CheckpointRefusal>>, Failure> {
    checkpoints::read_answer(stdout, call)
}

/// Parses the answer of another object of this Worker, and serializes it again.
pub fn rpc_envelope(text: &str) -> Result<String, String> {
    RpcEnvelope::parse(text)?.print()
}

/// Returns the class name of an exception, from its name and its stack.
pub fn class_of(name: &str, stack: &str) -> String {
    js_error::class_name(name.to_owned(), stack)
}

/// Returns the error for an exception of a sandbox during each kind of work.
pub fn sandbox_failed(failure: &Failure, id: &SandboxId) -> Vec<Error> {
    use During::{Backup, Checkpoint, Destroy, Hook, Probe, Restore, Start};
    let during = [Probe, Backup, Restore, Destroy, Start, Hook, Checkpoint];
    during.into_iter().map(|during| failures::from_sandbox(failure.clone(), id, during)).collect()
}

/// Returns the error for an exception of R2, or for an unreadable object.
pub fn storage_failed(failure: Failure) -> Error {
    failures::from_storage(failure, "reading")
}

/// Returns the backup that an object belongs to, and the key of that object.
pub fn backup_of(key: &str) -> Option<(BackupId, String)> {
    let (backup, kind) = backup_keys::parse_key(key)?;
    let object_key = match kind {
        BackupObjectKind::Metadata => backup_keys::metadata_key(backup.id()),
        BackupObjectKind::Archive | BackupObjectKind::DirectoryBackup => backup_keys::archive_key(&backup),
    };
    Some((backup.id().clone(), object_key))
}

/// Parses the `meta.json` of a backup.
pub fn metadata_of(id: &BackupId, bytes: &[u8]) -> Result<BackupMetadata, Failure> {
    backups::parse_metadata(id, bytes)
}

/// Checks the first bytes of a squashfs of a given size.
pub fn header_of(head: &[u8], size_bytes: u64) -> Check {
    verify::check_header_bytes(ArchiveFormat::Squashfs, head, size_bytes)
}
