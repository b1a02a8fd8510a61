//! The operations on checkpoints.

use futures_util::Stream;

use super::pages::each;
use super::{Client, Result, Transport};
use crate::model::checkpoint::{
    self, Checkpoint, CheckpointCursor, CheckpointDiff, CreatedCheckpoint, RestoredCheckpoint,
};
use crate::model::request::{
    CreateCheckpointRequest, DiffCheckpointRequest, ListCheckpointsRequest, RestoreCheckpointRequest,
};

/// Named states inside of a sandbox: cheap, local, gone with the container.
#[derive(Debug)]
pub struct Checkpoints<'a, T>(pub(super) &'a Client<T>);

impl<T: Transport> Checkpoints<'_, T> {
    /// Keeps the files of a running sandbox as a checkpoint in it.
    pub async fn create(&self, request: &CreateCheckpointRequest) -> Result<CreatedCheckpoint> {
        self.0.ask("checkpoints/create", request).await
    }

    /// A page of the checkpoints in a running sandbox, the newest first.
    pub async fn list(&self, request: &ListCheckpointsRequest) -> Result<checkpoint::Checkpoints> {
        self.0.ask("checkpoints/list", request).await
    }

    /// The checkpoints in a running sandbox, the newest first, read in pages of `limit` as they are needed.
    pub fn all(&self, request: ListCheckpointsRequest) -> impl Stream<Item = Result<Checkpoint>> {
        each(request.cursor.clone(), async move |cursor| {
            let request = ListCheckpointsRequest { cursor, ..request.clone() };
            let checkpoint::Checkpoints { checkpoints, cursor } = self.list(&request).await?;
            Ok((checkpoints, cursor.as_deref().map(CheckpointCursor::parse).transpose()?))
        })
    }

    /// Puts the files of a running sandbox back as they were at a checkpoint.
    pub async fn restore(&self, request: &RestoreCheckpointRequest) -> Result<RestoredCheckpoint> {
        self.0.ask("checkpoints/restore", request).await
    }

    /// Compares the files of a running sandbox with a checkpoint.
    pub async fn diff(&self, request: &DiffCheckpointRequest) -> Result<CheckpointDiff> {
        self.0.ask("checkpoints/diff", request).await
    }
}
