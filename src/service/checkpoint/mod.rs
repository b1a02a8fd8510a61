//! Checkpoints: named states of a directory that are stored inside the sandbox.
//!
//! - `refusal`: the errors for calls that the sandbox refused
//!
//! One call at a time runs in a sandbox. A call that has begun runs to completion, even when its caller disconnects.

mod refusal;

use super::calls::failures::During;
use super::calls::queue::Permit;
use super::{CancellationToken, CloudflareSandboxSnapshotter};
use crate::model::checkpoint::{
    CheckpointDescription, CheckpointDiff, CheckpointName, CheckpointPage, CreatedCheckpoint, DeletedCheckpoint,
    RestoredCheckpoint,
};
use crate::model::checkpoint_call::{CheckpointCall, CheckpointOutcome};
use crate::model::request::{
    CheckpointLocation, CreateCheckpointRequest, DeleteCheckpointRequest, DiffCheckpointRequest,
    ListCheckpointsRequest, RestoreCheckpointRequest,
};
use crate::model::required_container::RequiredContainer;
use crate::model::similar::most_similar;
use crate::model::{Code, Error, Result};
use crate::ports::{CallerCommands, Ledger, Ports};

/// The operations on checkpoints. They need no bucket.
impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Creates a checkpoint. Replaces a checkpoint with the same name.
    pub async fn create_checkpoint(
        &self,
        request: CreateCheckpointRequest,
        abort: CancellationToken,
    ) -> Result<CreatedCheckpoint> {
        let CreateCheckpointRequest { location, name, description, expiration_seconds } = request;
        let description = description.unwrap_or_else(|| CheckpointDescription::default_for(&name));
        let expiration_seconds = expiration_seconds.unwrap_or_default();
        let call = CheckpointCall::Create { name, description, expiration_seconds };
        match self.run_checkpoint_call(location, call, abort).await? {
            CheckpointOutcome::Created(created) => Ok(created),
            _ => Err(Error::internal()),
        }
    }

    /// Returns a page of the checkpoints of a directory, the newest first.
    pub async fn list_checkpoints(
        &self,
        request: ListCheckpointsRequest,
        abort: CancellationToken,
    ) -> Result<CheckpointPage> {
        let ListCheckpointsRequest { location, cursor, limit } = request;
        match self.run_checkpoint_call(location, CheckpointCall::List { after: cursor, limit }, abort).await? {
            CheckpointOutcome::Listed(checkpoints) => Ok(checkpoints),
            _ => Err(Error::internal()),
        }
    }

    /// Restores the files of a directory to a checkpoint.
    pub async fn restore_checkpoint(
        &self,
        request: RestoreCheckpointRequest,
        abort: CancellationToken,
    ) -> Result<RestoredCheckpoint> {
        let RestoreCheckpointRequest { location, name, prune_empty_directories: prune } = request;
        let call = CheckpointCall::Restore { name: name.clone(), prune };
        match self.run_checkpoint_call(location.clone(), call, abort.clone()).await {
            Ok(CheckpointOutcome::Restored(restored)) => Ok(restored),
            Ok(_) => Err(Error::internal()),
            Err(error) => Err(self.suggest_checkpoint(location, &name, error, abort).await),
        }
    }

    /// Deletes a checkpoint. Does nothing if there is none with this name.
    pub async fn delete_checkpoint(
        &self,
        request: DeleteCheckpointRequest,
        abort: CancellationToken,
    ) -> Result<DeletedCheckpoint> {
        let DeleteCheckpointRequest { location, name } = request;
        match self.run_checkpoint_call(location, CheckpointCall::Delete { name }, abort).await? {
            CheckpointOutcome::Deleted(deleted) => Ok(deleted),
            _ => Err(Error::internal()),
        }
    }

    /// Compares the files of a directory with a checkpoint.
    pub async fn diff_checkpoint(
        &self,
        request: DiffCheckpointRequest,
        abort: CancellationToken,
    ) -> Result<CheckpointDiff> {
        let DiffCheckpointRequest { location, name, max_bytes } = request;
        let call = CheckpointCall::Diff { name: name.clone(), max_bytes };
        match self.run_checkpoint_call(location.clone(), call, abort.clone()).await {
            Ok(CheckpointOutcome::Diffed(diff)) => Ok(diff),
            Ok(_) => Err(Error::internal()),
            Err(error) => Err(self.suggest_checkpoint(location, &name, error, abort).await),
        }
    }

    /// Returns the error of a call for a checkpoint that does not exist with the most similar one among the newest. Returns any
    /// other error as it is.
    async fn suggest_checkpoint(
        &self,
        location: CheckpointLocation,
        name: &CheckpointName,
        error: Error,
        abort: CancellationToken,
    ) -> Error {
        if error.code() != Code::CheckpointNotFound {
            return error;
        }
        let request = ListCheckpointsRequest { location, cursor: None, limit: ListCheckpointsRequest::MAX_LIMIT };
        // Where the list fails, the error says enough.
        let Ok(page) = self.list_checkpoints(request, abort).await else { return error };
        let names = page.checkpoints.iter().map(|checkpoint| checkpoint.name.as_str());
        match most_similar(name.as_str(), names) {
            Some(similar) => {
                let remediation = format!("Did you mean the checkpoint {similar:?}? {}", error.remediation());
                error.with_remediation(&remediation)
            }
            None => error,
        }
    }

    /// Waits until no other call runs in the sandbox, or the caller cancels, and runs a call.
    async fn run_checkpoint_call(
        &self,
        location: CheckpointLocation,
        call: CheckpointCall,
        abort: CancellationToken,
    ) -> Result<CheckpointOutcome> {
        self.ports.check_bindings(false)?;
        self.check_lineage_scope(&location.lineage_scope).await?;
        self.ensure_not_decommissioned()?;
        abort.check()?;
        let dir = self.directory(location.dir)?;
        let what = format!("checkpoint calls for the sandbox {:?}", self.id.as_str());
        let permit = self.in_process.checkpoint_queue.acquire(None, &what)?;
        let snapshotter = self.in_runtime(location.runtime)?;
        let blocks_captures = matches!(call, CheckpointCall::Restore { .. });
        let work = async move |snapshotter: Self| {
            let outcome = snapshotter.run_in_container(async |required: &RequiredContainer| {
                let sent = snapshotter.sandboxes()?.run_checkpoint(&snapshotter.id, &dir, required, &call).await;
                sent.map_err(snapshotter.failed(During::Checkpoint))
            });
            match outcome.await {
                Ok(outcome) => outcome.map_err(|refusal| snapshotter.refusal_error(&dir, &call, refusal)),
                Err(error) => Err(error),
            }
            .map_err(|error| {
                let sandbox = snapshotter.ledger.sandbox().ok().flatten();
                refusal::adapt_container_error(&snapshotter.id, sandbox.as_ref(), error)
            })
        };
        snapshotter.run_exclusively(permit, blocks_captures, work, abort).await
    }

    /// Waits until no other call works on checkpoints or writes files in the sandbox, or the caller cancels, and runs the
    /// work to completion. Work that blocks captures waits for those in progress: none may store files that are partly
    /// written.
    pub(in crate::service) async fn run_exclusively<T: 'static>(
        &self,
        permit: Permit<()>,
        blocks_captures: bool,
        work: impl AsyncFnOnce(Self) -> Result<T> + 'static,
        abort: CancellationToken,
    ) -> Result<T> {
        let snapshotter = self.clone();
        let work = async move {
            let locks = async {
                let call_lock = snapshotter.in_process.checkpoint_lock.lock().await;
                let mut capture_lock = None;
                if blocks_captures {
                    capture_lock = Some(snapshotter.in_process.checkpoint_restore_lock.lock().await);
                    snapshotter.in_process.coalescer.wait_until_idle().await;
                }
                (call_lock, capture_lock, permit)
            };
            let _locks = abort.unless_cancelled(locks).await.ok_or_else(Error::cancelled)?;
            work(snapshotter.clone()).await
        };
        self.run_to_completion(work).await
    }
}
