//! What reads outside data and can't be called from outside of this crate, for the targets in `fuzz/`. Feature `fuzzing`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::problem;
use crate::cloudflare::workspaces::RpcEnvelope;
use crate::cloudflare::{backups, checkpoints, js_error, scripts};
use crate::model::answer::Check;
use crate::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use crate::model::named::answer::HookRun;
use crate::model::named::binding::DirectoryListing;
use crate::model::{BackupId, BackupMetadata, Error, Failure, Probe, SandboxId};
use crate::service::failures::{self, During};
use crate::service::verify;

/// An error as `application/problem+json`: its status and its body.
pub fn problem(error: &Error) -> (u16, Value) {
    problem::problem(error, "0123456789abcdef")
}

/// What the probe of a container printed.
pub fn probe(stdout: &str) -> Option<Probe> {
    scripts::read_probe(stdout)
}

/// What the survey of a container printed.
pub fn directory_listing(stdout: &str) -> Option<DirectoryListing> {
    scripts::read_listing(stdout)
}

/// What the hashes of files were printed as.
pub fn hashes(stdout: &str, files: &[String]) -> Option<BTreeMap<String, String>> {
    scripts::read_hashes(stdout, files)
}

/// What a hook printed.
pub fn hook(stdout: &str, name: &str) -> Result<Option<HookRun>, Failure> {
    scripts::read_hook(stdout, name)
}

/// What the script that works on checkpoints printed.
pub fn checkpoint(
    stdout: &str,
    call: &CheckpointCall,
) -> Result<Result<CheckpointOutcome, CheckpointRefusal>, Failure> {
    checkpoints::read_answer(stdout, call)
}

/// What an object of this Worker answered another, written again.
pub fn rpc_envelope(text: &str) -> Result<String, String> {
    RpcEnvelope::parse(text)?.print()
}

/// The name of the class of what was thrown, by its own name and its stack.
pub fn class_of(name: &str, stack: &str) -> String {
    js_error::class_name(name.to_owned(), stack)
}

/// The errors for what a sandbox threw, by what was being done.
pub fn sandbox_failed(failure: &Failure, id: &SandboxId) -> Vec<Error> {
    use During::{Backup, Checkpoint, Destroy, Hook, Probe, Restore, Start};
    let during = [Probe, Backup, Restore, Destroy, Start, Hook, Checkpoint];
    during.into_iter().map(|during| failures::from_sandbox(failure.clone(), id, during)).collect()
}

/// The error for what R2 threw, or for what was found there and can't be read.
pub fn storage_failed(failure: Failure) -> Error {
    failures::from_storage(failure, "reading")
}

/// The backup that the object of a key belongs to, and the key of that object.
pub fn backup_of(key: &str) -> Option<(BackupId, String)> {
    let (id, part) = backups::parse_key(key)?;
    let own = backups::object_key(&id, part);
    Some((id, own))
}

/// What is in the `meta.json` of a backup.
pub fn metadata_of(id: &BackupId, bytes: &[u8]) -> Result<BackupMetadata, Failure> {
    backups::parse_metadata(id, bytes)
}

/// What the beginning of an archive of that size says of it.
pub fn header_of(head: &[u8], size_bytes: u64) -> Check {
    verify::check_header_bytes(head, size_bytes)
}
