//! The operations on checkpoints.

use futures_util::Stream;

use super::pages::stream_items;
use super::{Client, Result, Transport};
use crate::model::checkpoint::{
    self, Checkpoint, CheckpointCursor, CheckpointDiff, CreatedCheckpoint, RestoredCheckpoint,
};
use crate::model::request::{
    CreateCheckpointRequest, DiffCheckpointRequest, ListCheckpointsRequest, RestoreCheckpointRequest,
};

/// The operations on checkpoints: named states inside a sandbox that are cheap and local, and disappear with the
/// container.
#[derive(Debug)]
pub struct Checkpoints<'a, T>(pub(super) &'a Client<T>);

impl<T: Transport> Checkpoints<'_, T> {
    /// Creates a checkpoint of the files in a running sandbox. The sandbox stores the checkpoint.
    pub async fn create(&self, request: &CreateCheckpointRequest) -> Result<CreatedCheckpoint> {
        self.0.call_typed("checkpoints/create", request).await
    }

    /// Returns a page of the checkpoints in a running sandbox, newest first.
    pub async fn list(&self, request: &ListCheckpointsRequest) -> Result<checkpoint::Checkpoints> {
        self.0.call_typed("checkpoints/list", request).await
    }

    /// Returns a stream of the checkpoints in a running sandbox, newest first. It reads pages of `limit` on demand.
    pub fn all(&self, request: ListCheckpointsRequest) -> impl Stream<Item = Result<Checkpoint>> {
        stream_items(request.cursor.clone(), async move |cursor| {
            let request = ListCheckpointsRequest { cursor, ..request.clone() };
            let checkpoint::Checkpoints { checkpoints, cursor } = self.list(&request).await?;
            Ok((checkpoints, cursor.as_deref().map(CheckpointCursor::parse).transpose()?))
        })
    }

    /// Restores the files of a running sandbox to a checkpoint.
    pub async fn restore(&self, request: &RestoreCheckpointRequest) -> Result<RestoredCheckpoint> {
        self.0.call_typed("checkpoints/restore", request).await
    }

    /// Compares the files of a running sandbox with a checkpoint.
    pub async fn diff(&self, request: &DiffCheckpointRequest) -> Result<CheckpointDiff> {
        self.0.call_typed("checkpoints/diff", request).await
    }
}
