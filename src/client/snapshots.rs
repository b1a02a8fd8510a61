//! The operations on the snapshots of sandboxes.

use futures_util::Stream;

use super::pages::each;
use super::{Client, Result, Transport};
use crate::model::answer::{Deletion, KeyRotation, Manifest, Page, Retention, Summary, Sweep, Tree, Verification};
use crate::model::health::Health;
use crate::model::request::{
    ApplyRetentionRequest, Cursor, DeleteRequest, HealthRequest, ImportRequest, LabelRequest, LineageRequest,
    ListRequest, PolicyRequest, SweepRequest, WorkspaceRequest,
};
use crate::model::{RestoreRequest, Selection, SnapshotRequest, Taken, WorkspaceRef};

impl<T: Transport> Client<T> {
    /// Captures a directory of a running sandbox.
    pub async fn snapshot(&self, request: &SnapshotRequest) -> Result<Taken> {
        self.ask("snapshot", request).await
    }

    /// Makes a new sandbox, `<origin>-restored-<id>`, with the files of a snapshot.
    pub async fn restore(&self, request: &RestoreRequest) -> Result<WorkspaceRef> {
        self.ask("restore", request).await
    }

    /// Makes a new sandbox, `<origin>-branch-<id>`, with the files of a snapshot, to try something else.
    pub async fn branch(&self, request: &RestoreRequest) -> Result<WorkspaceRef> {
        self.ask("branch", request).await
    }

    /// A page of the snapshots of a sandbox, the newest first.
    pub async fn list(&self, request: &ListRequest) -> Result<Page> {
        self.ask("list", request).await
    }

    /// The snapshots of a sandbox, the newest first, read in pages of `limit` as they are needed.
    pub fn snapshots(&self, request: ListRequest) -> impl Stream<Item = Result<Summary>> {
        each(request.cursor.clone(), async move |cursor| {
            let Page { snapshots, cursor } = self.list(&ListRequest { cursor, ..request.clone() }).await?;
            Ok((snapshots, cursor.as_deref().map(Cursor::parse).transpose()?))
        })
    }

    /// What lists show of one snapshot.
    pub async fn get(&self, snapshot: &Selection) -> Result<Summary> {
        self.ask("get", snapshot).await
    }

    /// Everything that is known about one snapshot.
    pub async fn manifest(&self, snapshot: &Selection) -> Result<Manifest> {
        self.ask("manifest", snapshot).await
    }

    /// Checks in R2 whether a snapshot can be restored. No container is started.
    pub async fn verify(&self, snapshot: &Selection) -> Result<Verification> {
        self.ask("verify", snapshot).await
    }

    /// Gives a snapshot another label.
    pub async fn label(&self, request: &LabelRequest) -> Result<Summary> {
        self.ask("label", request).await
    }

    /// Keeps a snapshot whatever the policy says.
    pub async fn pin(&self, snapshot: &Selection) -> Result<Summary> {
        self.ask("pin", snapshot).await
    }

    /// Leaves a snapshot to the policy again.
    pub async fn unpin(&self, snapshot: &Selection) -> Result<Summary> {
        self.ask("unpin", snapshot).await
    }

    /// Deletes a snapshot. One that is pinned, or that others need, goes by `force` alone.
    pub async fn delete(&self, request: &DeleteRequest) -> Result<Deletion> {
        self.ask("delete", request).await
    }

    /// Takes in a backup that the SDK made directly.
    pub async fn import(&self, request: &ImportRequest) -> Result<Taken> {
        self.ask("import", request).await
    }

    /// The tree of sandboxes and snapshots that a sandbox belongs to.
    pub async fn lineage(&self, sandbox: &LineageRequest) -> Result<Tree> {
        self.ask("lineage", sandbox).await
    }

    /// The policy of a sandbox, and what it means for each of its snapshots now.
    pub async fn retention(&self, sandbox: &WorkspaceRequest) -> Result<Retention> {
        self.ask("retention", sandbox).await
    }

    /// Gives a sandbox another policy, which is applied at once.
    pub async fn set_retention(&self, request: &PolicyRequest) -> Result<Retention> {
        self.ask("setRetention", request).await
    }

    /// Lets go what the policy says.
    pub async fn apply_retention(&self, request: &ApplyRetentionRequest) -> Result<Retention> {
        self.ask("applyRetention", request).await
    }

    /// Signs the refs of a sandbox with a new key from now on. The one before is still accepted.
    pub async fn rotate_key(&self, sandbox: &WorkspaceRequest) -> Result<KeyRotation> {
        self.ask("rotateKey", sandbox).await
    }

    /// Deletes what carries the snapshotter's mark in R2 and belongs to no sandbox's snapshots.
    pub async fn sweep(&self, request: &SweepRequest) -> Result<Sweep> {
        self.ask("sweep", request).await
    }

    /// Looks whether the deployment is fit for work.
    pub async fn health(&self) -> Result<Health> {
        self.ask("health", &HealthRequest::default()).await
    }
}
