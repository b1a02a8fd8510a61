//! What the objects of this Worker ask of each other.

use std::future::Future;

use serde_json::Value;

use crate::model::answer::Description;
use crate::model::named::answer::Entry;
use crate::model::named::messages::{
    Condition, HaltRequest, Halted, LastSnapshot, ReserveRequest, ResumeRequest, Resumed, Retired,
};
use crate::model::named::record::Origin;
use crate::model::named::standing::Standing;
use crate::model::named::{Address, Tenant};
use crate::model::record::{Loan, Parent};
use crate::model::request::{CreateRequest, NamesRequest};
use crate::model::{BackupId, Failure, Policy, Result, SandboxId, Selection, SnapshotId, SnapshotRequest, Taken};

/// The workspaces of other sandboxes.
pub trait Workspaces {
    /// Tells the workspace of a minted id where its sandbox comes from, what it stands for, and the marker that its container is
    /// going to carry; `false` when the id is already taken.
    fn claim(
        &self,
        id: &SandboxId,
        root_id: &SandboxId,
        parent: Option<&Parent>,
        standing: Option<&Standing>,
        marker: Option<&str>,
    ) -> impl Future<Output = Result<bool, Failure>>;

    /// Tells the workspace of `id` that `holder` does not need a snapshot of it any more.
    fn release(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        holder: &SandboxId,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// The first sandbox of the lineage of `id`.
    fn root(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxId, Failure>>;

    /// What the workspace of `id` knows of its lineage.
    fn describe(&self, id: &SandboxId) -> impl Future<Output = Result<Description, Failure>>;

    /// Has the workspace of `id` delete those backups with its mark that it does not own; answers how many. With
    /// `dry_run` they are only counted.
    fn sweep(
        &self,
        id: &SandboxId,
        backups: &[(BackupId, SnapshotId)],
        dry_run: bool,
    ) -> impl Future<Output = Result<usize, Failure>>;

    /// What is in R2 of a snapshot of `id` that `holder` was made from, which counts as a use of it.
    fn lend(&self, id: &SandboxId, snapshot_id: &SnapshotId, holder: &SandboxId) -> impl Future<Output = Result<Loan>>;

    /// The snapshot that is meant, if it is there to be used, and not another tenant's.
    fn find(&self, selection: &Selection, tenant: &Tenant) -> impl Future<Output = Result<LastSnapshot>>;

    /// The newest snapshot that the sandbox `id` could be started from.
    fn newest(&self, id: &SandboxId) -> impl Future<Output = Result<Option<LastSnapshot>>>;

    /// Has a snapshot taken.
    fn capture(&self, request: &SnapshotRequest) -> impl Future<Output = Result<Taken>>;

    /// Gives the workspace of `id` another policy.
    fn set_policy(&self, id: &SandboxId, policy: &Policy) -> impl Future<Output = Result<()>>;

    /// Records that a sandbox will be made from a snapshot of `id` and depends on it from now on. Returns `false` when the id of
    /// the new sandbox is already taken. A repeated call with the same id returns the same result.
    fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> impl Future<Output = Result<bool>>;

    /// What has become of the sandbox `id`, which stands for a name. Nothing is started, unless its container ended unnoticed.
    fn look(&self, id: &SandboxId) -> impl Future<Output = Result<Condition>>;

    /// Whether anything has changed in the files of the sandbox `id` since this was asked last.
    fn stirred(&self, id: &SandboxId) -> impl Future<Output = Result<bool>>;

    /// Gives the sandbox `id` its files, where they are not in place.
    fn resume(&self, id: &SandboxId, request: &ResumeRequest) -> impl Future<Output = Result<Resumed>>;

    /// Ends the sandbox `id`.
    fn halt(&self, id: &SandboxId, request: &HaltRequest) -> impl Future<Output = Result<Halted>>;

    /// Ends the sandbox `id`, which its workspace does not use any more, and deletes its snapshots once no other sandbox depends
    /// on them. A sandbox that does not belong to `address` is left unchanged.
    fn retire(&self, id: &SandboxId, address: &Address) -> impl Future<Output = Result<Retired>>;
}

/// The other named workspaces of this Worker, and the Directory that lists them.
pub trait Names {
    /// Tells the tenant's Directory what has become of a workspace.
    fn note(&self, tenant: &Tenant, entry: &Entry) -> impl Future<Output = Result<(), Failure>>;

    /// A page of what the Directory knows, as JSON: [`Entries`](crate::model::named::answer::Entries).
    fn list(&self, request: &NamesRequest) -> impl Future<Output = Result<Value>>;

    /// The snapshot with which another workspace begins where this one is now; it is taken, where the workspace is active.
    /// With a key the same call gets the same answer.
    fn source(&self, address: &Address, key: Option<&str>) -> impl Future<Output = Result<Origin>>;

    /// Makes another workspace; answers JSON: [`Started`](crate::model::named::answer::Started).
    fn create(&self, request: &CreateRequest) -> impl Future<Output = Result<Value>>;
}
