//! The snapshots of a named workspace, which its present and its former sandboxes have.

use std::cmp::Reverse;

use futures_util::TryStreamExt;

use crate::model::operation::types::{SnapshotDiff, Summary, WorkspaceDescription};
use crate::model::request::{DiffRequest, ListRequest, SandboxFiles, SnapshotText};
use crate::model::{SandboxId, Selection};
use crate::{Result, Transport, WorkspaceHandle};

impl<T: Transport> WorkspaceHandle<'_, T> {
    /// Returns the snapshots of the present and the former sandboxes of the workspace, newest first.
    pub async fn snapshots(&self) -> Result<Vec<Summary>> {
        let mut snapshots = Vec::new();
        for sandbox_id in self.sandbox_ids().await? {
            let request = ListRequest { limit: ListRequest::MAX_LIMIT, ..ListRequest::of(sandbox_id) };
            snapshots.extend(self.client().snapshots(request).try_collect::<Vec<_>>().await?);
        }
        snapshots.sort_by_key(|snapshot| Reverse((snapshot.created_at, snapshot.snapshot_id.clone())));
        Ok(snapshots)
    }

    /// Returns the differences between two snapshots of the workspace. Without `to`, they lead to the present files: the
    /// workspace must be running, and is not started. `options` changes the request.
    pub async fn diff(
        &self,
        from: SnapshotText,
        to: Option<SnapshotText>,
        options: impl FnOnce(DiffRequest) -> DiffRequest,
    ) -> Result<SnapshotDiff> {
        let from = self.select(from).await?;
        let request = match to {
            Some(to) => DiffRequest::of(from, self.select(to).await?),
            None => DiffRequest::of(from, SandboxFiles::named(self.address().clone())),
        };
        self.client().diff(&options(request)).await
    }

    async fn select(&self, snapshot: SnapshotText) -> Result<Selection> {
        let id = match snapshot {
            SnapshotText::Short(short) => return Ok(Selection::by_short_ref(short)),
            SnapshotText::Id(id) => id,
        };
        // `get` finds the snapshot in the lineage of the sandbox.
        let selection = Selection::by_id(self.describe().await?.sandbox_id, id);
        let short_ref = self.client().get(&selection).await?.short_ref;
        Ok(short_ref.map_or(selection, Selection::by_short_ref))
    }

    /// Returns the present sandbox of the workspace, and its former ones.
    async fn sandbox_ids(&self) -> Result<Vec<SandboxId>> {
        let WorkspaceDescription { sandbox_id, former_sandbox_ids, .. } = self.describe().await?;
        Ok(std::iter::once(sandbox_id).chain(former_sandbox_ids).collect())
    }
}
