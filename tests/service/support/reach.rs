//! How the objects of the Worker reach each other: through JSON, as in production.

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::api::operations::{Operation, run, run_named};
use sandbox_snapshotter::model::answer::Description;
use sandbox_snapshotter::model::named::answer::Entry;
use sandbox_snapshotter::model::named::messages::{
    Condition, HaltRequest, Halted, LastSnapshot, ReserveRequest, ResumeRequest, Resumed, Retired,
};
use sandbox_snapshotter::model::named::record::Origin;
use sandbox_snapshotter::model::named::standing::Standing;
use sandbox_snapshotter::model::named::{Address, Tenant};
use sandbox_snapshotter::model::record::Parent;
use sandbox_snapshotter::model::request::{CreateRequest, NamesRequest};
use sandbox_snapshotter::model::{
    BackupId, Code, Error, Failure, Policy, Result, SandboxId, Selection, SnapshotId, SnapshotRequest, Taken,
};
use sandbox_snapshotter::ports::{Loan, Names, Workspaces};
use sandbox_snapshotter::service::{Abort, directory};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Method;
use super::workers::Workspace;

impl Workspaces for Workspace {
    async fn claim(
        &self,
        id: &SandboxId,
        root_id: &SandboxId,
        parent: Option<&Parent>,
        standing: Option<&Standing>,
        marker: Option<&str>,
    ) -> Result<bool, Failure> {
        let claim = || told(self.other(id).claim(root_id, parent, standing, marker));
        self.world.call(Method::Claim, id.as_str(), claim).await
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, holder: &SandboxId) -> Result<(), Failure> {
        let release = || told(self.other(id).release(snapshot_id, holder));
        self.world.call(Method::Release, id.as_str(), release).await
    }

    async fn root(&self, id: &SandboxId) -> Result<SandboxId, Failure> {
        self.world.call(Method::Root, id.as_str(), || told(self.other(id).root())).await
    }

    async fn describe(&self, id: &SandboxId) -> Result<Description, Failure> {
        self.world.call(Method::Describe, id.as_str(), || told(self.other(id).describe())).await
    }

    async fn sweep(&self, id: &SandboxId, backups: &[(BackupId, SnapshotId)], dry_run: bool) -> Result<usize, Failure> {
        let other = self.other(id);
        let sweep = async { told(other.sweep(backups, dry_run).await) };
        self.world.reach(Method::Sweep, id.as_str(), sweep).await
    }

    async fn lend(&self, id: &SandboxId, snapshot_id: &SnapshotId, holder: &SandboxId) -> Result<Loan> {
        let other = self.other(id);
        self.order(Method::Lend, id.as_str(), other.lend(snapshot_id, holder).boxed_local()).await
    }

    async fn find(&self, selection: &Selection, tenant: &Tenant) -> Result<LastSnapshot> {
        let id = selection.selector.origin_id();
        let (other, asked) = (self.other(id), Selection::decode(&serde_json::to_value(selection).unwrap())?);
        self.order(Method::Find, id.as_str(), other.find(asked, tenant).boxed_local()).await
    }

    async fn newest(&self, id: &SandboxId) -> Result<Option<LastSnapshot>> {
        let other = self.other(id);
        self.order(Method::Newest, id.as_str(), other.newest().boxed_local()).await
    }

    async fn capture(&self, request: &SnapshotRequest) -> Result<Taken> {
        let mut arguments = serde_json::to_value(request).unwrap();
        arguments["idempotencyKey"] = json!(request.idempotency_key);
        self.ask(Method::Capture, &request.sandbox_id, Operation::Snapshot, &arguments).await
    }

    async fn set_policy(&self, id: &SandboxId, policy: &Policy) -> Result<()> {
        let arguments = json!({ "sandboxId": id, "policy": policy });
        self.ask(Method::SetPolicy, id, Operation::SetRetention, &arguments).await.map(|_: Value| ())
    }

    async fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> Result<bool> {
        let (other, request) = (self.other(id), through_json(request));
        self.order(Method::Reserve, id.as_str(), other.reserve(&request).boxed_local()).await
    }

    async fn look(&self, id: &SandboxId) -> Result<Condition> {
        let other = self.other(id);
        self.order(Method::Look, id.as_str(), other.look().boxed_local()).await
    }

    async fn stirred(&self, id: &SandboxId) -> Result<bool> {
        let other = self.other(id);
        self.order(Method::AskStirred, id.as_str(), other.stirred().boxed_local()).await
    }

    async fn resume(&self, id: &SandboxId, request: &ResumeRequest) -> Result<Resumed> {
        let other = self.other(id);
        self.order(Method::Resume, id.as_str(), other.resume(through_json(request)).boxed_local()).await
    }

    async fn halt(&self, id: &SandboxId, request: &HaltRequest) -> Result<Halted> {
        let other = self.other(id);
        self.order(Method::Halt, id.as_str(), other.halt(through_json(request)).boxed_local()).await
    }

    async fn retire(&self, id: &SandboxId, address: &Address) -> Result<Retired> {
        let other = self.other(id);
        self.order(Method::Retire, id.as_str(), other.retire(address.clone()).boxed_local()).await
    }
}

impl Names for Workspace {
    async fn note(&self, tenant: &Tenant, entry: &Entry) -> Result<(), Failure> {
        let note = || told(directory::note(&*self.world.directory(tenant), &through_json(entry)));
        self.world.call(Method::Note, tenant.as_str(), note).await
    }

    async fn list(&self, request: &NamesRequest) -> Result<Value> {
        let index = self.world.directory(&request.tenant);
        let list = async { Ok(directory::list(&*index, &through_json(request))) };
        let listed = self.world.reach(Method::ListNames, request.tenant.as_str(), list).await;
        let unavailable = |failure: Failure| Error::new(Code::DirectoryUnavailable, failure.message, "Try again.");
        listed.map_err(unavailable)?.map(|entries| serde_json::to_value(entries).unwrap())
    }

    async fn source(&self, address: &Address, key: Option<&str>) -> Result<Origin> {
        let other = self.other_named(address);
        self.order(Method::Source, &address.to_string(), other.source(key.map(str::to_owned)).boxed_local()).await
    }

    async fn create(&self, request: &CreateRequest) -> Result<Value> {
        let (address, arguments) = (request.address.to_string(), request.to_arguments().unwrap());
        let other = self.other_named(&request.address);
        let create = run_named(&other, Operation::CreateWorkspace, &arguments, Abort::never());
        self.order(Method::Create, &address, create.boxed_local()).await
    }
}

impl Workspace {
    /// Has another object do something whose errors are for callers.
    async fn order<T: Serialize + DeserializeOwned>(
        &self,
        method: Method,
        target: &str,
        work: LocalBoxFuture<'_, Result<T>>,
    ) -> Result<T> {
        let unreachable = |failure: Failure| {
            Error::new(Code::WorkspaceUnavailable, failure.message.clone(), "Look before you try again.")
                .caused_by(failure)
        };
        let outcome = self.world.reach(method, target, async { Ok(work.await) }).await;
        outcome.map_err(unreachable)?.map(|answer| through_json(&answer))
    }

    /// Has another object carry an operation out.
    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        id: &SandboxId,
        operation: Operation,
        arguments: &Value,
    ) -> Result<T> {
        let other = self.other(id);
        let answer =
            self.order(method, id.as_str(), run(&other, operation, arguments, Abort::never()).boxed_local()).await?;
        Ok(serde_json::from_value(answer).unwrap())
    }
}

/// An error of another object, as it arrives.
fn told<T>(outcome: Result<T>) -> Result<T, Failure> {
    outcome.map_err(|error| Failure::new(error.code().as_str(), error.message()))
}

/// What arrives of something that is passed on.
fn through_json<T: Serialize + DeserializeOwned>(passed: &T) -> T {
    serde_json::from_str(&serde_json::to_string(passed).unwrap()).unwrap()
}
