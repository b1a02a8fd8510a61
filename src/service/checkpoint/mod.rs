//! Checkpoints: named states of a directory that are kept inside of the sandbox.
//!
//! - `within`: the work is done in the container that the caller means, and in no other
//! - `refused`: why it was not done
//!
//! One call at a time works in a sandbox. What has begun goes on to its end, whatever becomes of the caller.

mod refused;
mod within;

use futures_util::FutureExt;
use futures_util::future::{Either, select};

use super::{Abort, CloudflareSandboxSnapshotter, lifecycle, session};
use crate::model::checkpoint::{
    CheckpointDescription, CheckpointDiff, Checkpoints, CreatedCheckpoint, RestoredCheckpoint,
};
use crate::model::checkpoint_call::{CheckpointCall, CheckpointDone};
use crate::model::request::{
    CheckpointsRequest, CreateCheckpointRequest, DiffCheckpointRequest, ListCheckpointsRequest,
    RestoreCheckpointRequest,
};
use crate::model::{Error, Result};
use crate::ports::Ports;

/// What is done inside of the sandbox. It needs no bucket.
impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Whether checkpoints are configured.
    pub fn has_sandboxes(&self) -> Result<()> {
        self.ports.sandboxes().map(drop)
    }

    /// Makes a checkpoint, in the place of the one of its name.
    pub async fn create_checkpoint(&self, request: CreateCheckpointRequest, abort: Abort) -> Result<CreatedCheckpoint> {
        let CreateCheckpointRequest { at, name, description } = request;
        let description = description.unwrap_or_else(|| CheckpointDescription::of(&name));
        match carry_out(self, at, CheckpointCall::Create { name, description }, abort).await? {
            CheckpointDone::Created(created) => Ok(created),
            _ => Err(Error::defect()),
        }
    }

    /// A page of the checkpoints of a directory, the newest first.
    pub async fn list_checkpoints(&self, request: ListCheckpointsRequest, abort: Abort) -> Result<Checkpoints> {
        let ListCheckpointsRequest { at, cursor, limit } = request;
        match carry_out(self, at, CheckpointCall::List { after: cursor, limit }, abort).await? {
            CheckpointDone::Listed(checkpoints) => Ok(checkpoints),
            _ => Err(Error::defect()),
        }
    }

    /// Makes the files of a directory again what they were at a checkpoint.
    pub async fn restore_checkpoint(
        &self,
        request: RestoreCheckpointRequest,
        abort: Abort,
    ) -> Result<RestoredCheckpoint> {
        let RestoreCheckpointRequest { at, name } = request;
        match carry_out(self, at, CheckpointCall::Restore { name }, abort).await? {
            CheckpointDone::Restored(restored) => Ok(restored),
            _ => Err(Error::defect()),
        }
    }

    /// Compares the files of a directory with what they were at a checkpoint.
    pub async fn diff_checkpoint(&self, request: DiffCheckpointRequest, abort: Abort) -> Result<CheckpointDiff> {
        let DiffCheckpointRequest { at, name, max_bytes } = request;
        match carry_out(self, at, CheckpointCall::Diff { name, max_bytes }, abort).await? {
            CheckpointDone::Compared(diff) => Ok(diff),
            _ => Err(Error::defect()),
        }
    }
}

/// Waits for its turn, as long as the caller does, and carries a call out.
async fn carry_out<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    at: CheckpointsRequest,
    call: CheckpointCall,
    abort: Abort,
) -> Result<CheckpointDone> {
    this.has_sandboxes()?;
    session::check_workspace(this, &at.session).await?;
    lifecycle::is_not_retired(this)?;
    abort.check()?;
    let dir = at.dir.unwrap_or_else(|| this.config.default_dir.clone());
    let what = format!("calls about the checkpoints of the sandbox {:?}", this.id.as_str());
    let place = this.memory.checkpoint_calls.stand(None, &what)?;
    let own = this.clone();
    let work = async move {
        let turn = async {
            let turn = own.memory.checkpoints.lock().await;
            // No capture holds files of which some went back.
            let goes_back = match call {
                CheckpointCall::Restore { .. } => Some(own.memory.going_back.lock().await),
                _ => None,
            };
            if goes_back.is_some() {
                own.memory.guard.is_still().await;
            }
            (turn, goes_back, place)
        };
        let _turn = match select(turn.boxed_local(), abort.fired().boxed_local()).await {
            Either::Left((turn, _)) => turn,
            Either::Right(((), _)) => return Err(Abort::error()),
        };
        within::carry_out(&own, &dir, &call).await.map_err(|error| refused::about(&own.id, error))
    };
    lifecycle::to_the_end(this, work).await
}
