//! The operations on the snapshots of sandboxes.

use futures_util::Stream;

use super::pages::stream_items;
use super::{Client, Result, Transport};
use crate::model::answer::{Deletion, KeyRotation, Manifest, Page, Retention, Summary, Sweep, Tree, Verification};
use crate::model::health::Health;
use crate::model::request::{
    ApplyRetentionRequest, DeleteRequest, HealthRequest, ImportRequest, LabelRequest, LineageRequest, ListRequest,
    SandboxRequest, SetRetentionRequest, SnapshotCursor, SweepRequest,
};
use crate::model::{RestoreRequest, Selection, SnapshotRequest, TakenSnapshot, WorkspaceRef};

impl<T: Transport> Client<T> {
    /// Captures a directory of a running sandbox.
    pub async fn snapshot(&self, request: &SnapshotRequest) -> Result<TakenSnapshot> {
        self.call_typed("snapshot", request).await
    }

    /// Creates a sandbox `<origin>-restored-<id>` with the files of a snapshot.
    pub async fn restore(&self, request: &RestoreRequest) -> Result<WorkspaceRef> {
        self.call_typed("restore", request).await
    }

    /// Creates a sandbox `<origin>-branch-<id>` with the files of a snapshot, for an alternative course of work.
    pub async fn branch(&self, request: &RestoreRequest) -> Result<WorkspaceRef> {
        self.call_typed("branch", request).await
    }

    /// Returns a page of the snapshots of a sandbox, newest first.
    pub async fn list(&self, request: &ListRequest) -> Result<Page> {
        self.call_typed("list", request).await
    }

    /// Returns a stream of the snapshots of a sandbox, newest first. It reads pages of `limit` on demand.
    pub fn snapshots(&self, request: ListRequest) -> impl Stream<Item = Result<Summary>> {
        stream_items(request.cursor.clone(), async move |cursor| {
            let Page { snapshots, cursor } = self.list(&ListRequest { cursor, ..request.clone() }).await?;
            Ok((snapshots, cursor.as_deref().map(SnapshotCursor::parse).transpose()?))
        })
    }

    /// Returns the summary of one snapshot, as lists contain it.
    pub async fn get(&self, snapshot: &Selection) -> Result<Summary> {
        self.call_typed("get", snapshot).await
    }

    /// Returns everything that the ledger records about one snapshot.
    pub async fn manifest(&self, snapshot: &Selection) -> Result<Manifest> {
        self.call_typed("manifest", snapshot).await
    }

    /// Verifies in R2 that a snapshot can be restored. It starts no container.
    pub async fn verify(&self, snapshot: &Selection) -> Result<Verification> {
        self.call_typed("verify", snapshot).await
    }

    /// Changes the label of a snapshot.
    pub async fn label(&self, request: &LabelRequest) -> Result<Summary> {
        self.call_typed("label", request).await
    }

    /// Pins a snapshot: retention does not remove it.
    pub async fn pin(&self, snapshot: &Selection) -> Result<Summary> {
        self.call_typed("pin", snapshot).await
    }

    /// Unpins a snapshot: the retention policy applies to it again.
    pub async fn unpin(&self, snapshot: &Selection) -> Result<Summary> {
        self.call_typed("unpin", snapshot).await
    }

    /// Deletes a snapshot. A snapshot that is pinned or has dependents is deleted only with `force`.
    pub async fn delete(&self, request: &DeleteRequest) -> Result<Deletion> {
        self.call_typed("delete", request).await
    }

    /// Imports a backup that the SDK created directly.
    pub async fn import(&self, request: &ImportRequest) -> Result<TakenSnapshot> {
        self.call_typed("import", request).await
    }

    /// Returns the tree of sandboxes and snapshots that a sandbox belongs to.
    pub async fn lineage(&self, sandbox: &LineageRequest) -> Result<Tree> {
        self.call_typed("lineage", sandbox).await
    }

    /// Returns the retention policy of a sandbox, and the present decision about each of its snapshots.
    pub async fn retention(&self, sandbox: &SandboxRequest) -> Result<Retention> {
        self.call_typed("retention", sandbox).await
    }

    /// Sets the retention policy of a sandbox, and applies it at once.
    pub async fn set_retention(&self, request: &SetRetentionRequest) -> Result<Retention> {
        self.call_typed("setRetention", request).await
    }

    /// Applies the retention policy of a sandbox: removes the snapshots that the policy does not keep.
    pub async fn apply_retention(&self, request: &ApplyRetentionRequest) -> Result<Retention> {
        self.call_typed("applyRetention", request).await
    }

    /// Creates a new key, which signs the refs of a sandbox from now on. Refs with the previous key are still accepted.
    pub async fn rotate_key(&self, sandbox: &SandboxRequest) -> Result<KeyRotation> {
        self.call_typed("rotateKey", sandbox).await
    }

    /// Deletes the backups in R2 that carry the snapshotter's mark and belong to no snapshot.
    pub async fn sweep(&self, request: &SweepRequest) -> Result<Sweep> {
        self.call_typed("sweep", request).await
    }

    /// Checks whether the deployment is ready for use.
    pub async fn health(&self) -> Result<Health> {
        self.call_typed("health", &HealthRequest::default()).await
    }
}
