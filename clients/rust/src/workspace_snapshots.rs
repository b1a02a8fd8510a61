//! The snapshots of a named workspace, which its present and its former sandboxes have.

use futures_util::TryStreamExt;

use crate::model::Selection;
use crate::model::operation::Operation;
use crate::model::operation::types::{SnapshotDiff, Summary};
use crate::model::request::{DiffRequest, InWorkspace, InWorkspaceBy, ListRequest, SandboxFiles, SnapshotText};
use crate::{Result, Transport, WorkspaceHandle};

impl<T: Transport> WorkspaceHandle<'_, T> {
    /// Returns the snapshots of the present and the former sandboxes of the workspace, newest first.
    pub async fn snapshots(&self) -> Result<Vec<Summary>> {
        let request = ListRequest { limit: ListRequest::MAX_LIMIT, ..ListRequest::of(self.address().clone()) };
        self.client().snapshots(request).try_collect().await
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
        let by = match snapshot {
            SnapshotText::Short(short) => return Ok(Selection::by_short_ref(short)),
            SnapshotText::Id(id) => InWorkspaceBy::Id(id),
            SnapshotText::Label(label) => InWorkspaceBy::Label(label),
        };
        let selection = InWorkspace { address: self.address().clone(), by };
        let found: Summary = self.client().call_typed(Operation::Get, &selection).await?;
        Ok(match found.short_ref {
            Some(short) => Selection::by_short_ref(short),
            // `diff` finds it in the lineage of the sandbox.
            None => Selection::by_id(self.describe().await?.sandbox_id, found.snapshot_id),
        })
    }
}
