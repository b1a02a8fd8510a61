//! Calls between the objects of the Worker, with JSON messages as in production.

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::api::operations::{Operation, Request, run_named, run_sandbox};
use sandbox_snapshotter::model::answer::WorkspaceLineage;
use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::binding::WorkspaceBinding;
use sandbox_snapshotter::model::named::messages::{
    Condition, Decommissioned, EnsureRunningRequest, EnsuredRunning, LastSnapshot, ReserveRequest, SandboxStopped,
    StopSandboxRequest,
};
use sandbox_snapshotter::model::named::record::SnapshotKey;
use sandbox_snapshotter::model::named::{Address, Tenant};
use sandbox_snapshotter::model::record::ParentLink;
use sandbox_snapshotter::model::request::{CreateRequest, ListWorkspacesRequest};
use sandbox_snapshotter::model::{
    BackupId, Code, Error, Failure, Policy, Result, SandboxId, Selection, SnapshotId, SnapshotRequest, TakenSnapshot,
};
use sandbox_snapshotter::ports::{NamedWorkspaceClient, RestoreSource, SandboxLedgerClient};
use sandbox_snapshotter::service::CancellationToken;
use sandbox_snapshotter::service::workspace::directory;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Method;
use super::objects::ObjectPorts;

impl SandboxLedgerClient for ObjectPorts {
    async fn claim(
        &self,
        id: &SandboxId,
        root_id: &SandboxId,
        parent: Option<&ParentLink>,
        binding: Option<&WorkspaceBinding>,
        marker: Option<&str>,
    ) -> Result<bool, Failure> {
        let claim = || to_failure(self.sandbox_service(id).claim(root_id, parent, binding, marker));
        self.world.call(Method::Claim, id.as_str(), claim).await
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, dependent: &SandboxId) -> Result<(), Failure> {
        let release = || to_failure(self.sandbox_service(id).release(snapshot_id, dependent));
        self.world.call(Method::Release, id.as_str(), release).await
    }

    async fn root_id(&self, id: &SandboxId) -> Result<SandboxId, Failure> {
        self.world.call(Method::RootId, id.as_str(), || to_failure(self.sandbox_service(id).root())).await
    }

    async fn describe(&self, id: &SandboxId) -> Result<WorkspaceLineage, Failure> {
        self.world.call(Method::Describe, id.as_str(), || to_failure(self.sandbox_service(id).describe())).await
    }

    async fn sweep(&self, id: &SandboxId, backups: &[(BackupId, SnapshotId)], dry_run: bool) -> Result<usize, Failure> {
        let other = self.sandbox_service(id);
        let sweep = async { to_failure(other.sweep(backups, dry_run).await) };
        self.world.call_async(Method::Sweep, id.as_str(), sweep).await
    }

    async fn get_for_restore(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        dependent: &SandboxId,
    ) -> Result<RestoreSource> {
        let other = self.sandbox_service(id);
        self.call_object(
            Method::GetForRestore,
            id.as_str(),
            other.get_for_restore(snapshot_id, dependent).boxed_local(),
        )
        .await
    }

    async fn find_snapshot(&self, selection: &Selection, tenant: &Tenant) -> Result<LastSnapshot> {
        let id = selection.selector.origin_id();
        let (other, selection_copy) =
            (self.sandbox_service(id), Selection::decode(&serde_json::to_value(selection).unwrap())?);
        self.call_object(Method::FindSnapshot, id.as_str(), other.find_snapshot(selection_copy, tenant).boxed_local())
            .await
    }

    async fn newest_snapshot(&self, id: &SandboxId) -> Result<Option<LastSnapshot>> {
        let other = self.sandbox_service(id);
        self.call_object(Method::NewestSnapshot, id.as_str(), other.newest_snapshot().boxed_local()).await
    }

    async fn take_snapshot(&self, request: &SnapshotRequest) -> Result<TakenSnapshot> {
        let mut arguments = serde_json::to_value(request).unwrap();
        arguments["idempotencyKey"] = json!(request.idempotency_key);
        self.call_operation(Method::TakeSnapshot, &request.sandbox_id, Operation::Snapshot, &arguments).await
    }

    async fn set_policy(&self, id: &SandboxId, policy: &Policy) -> Result<()> {
        let arguments = json!({ "sandboxId": id, "policy": policy });
        self.call_operation(Method::SetPolicy, id, Operation::SetRetention, &arguments).await.map(|_: Value| ())
    }

    async fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> Result<bool> {
        let (other, request) = (self.sandbox_service(id), through_json(request));
        self.call_object(Method::Reserve, id.as_str(), other.reserve(&request).boxed_local()).await
    }

    async fn probe_condition(&self, id: &SandboxId) -> Result<Condition> {
        let other = self.sandbox_service(id);
        self.call_object(Method::CheckCondition, id.as_str(), other.condition().boxed_local()).await
    }

    async fn changed_since_watch(&self, id: &SandboxId) -> Result<bool> {
        let other = self.sandbox_service(id);
        self.call_object(Method::AskChangedSinceWatch, id.as_str(), other.changed_since_watch().boxed_local()).await
    }

    async fn ensure_running(&self, id: &SandboxId, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        let other = self.sandbox_service(id);
        self.call_object(Method::EnsureRunning, id.as_str(), other.ensure_running(through_json(request)).boxed_local())
            .await
    }

    async fn stop_sandbox(&self, id: &SandboxId, request: &StopSandboxRequest) -> Result<SandboxStopped> {
        let other = self.sandbox_service(id);
        self.call_object(Method::StopSandbox, id.as_str(), other.stop_sandbox(through_json(request)).boxed_local())
            .await
    }

    async fn decommission(&self, id: &SandboxId, address: &Address) -> Result<Decommissioned> {
        let other = self.sandbox_service(id);
        self.call_object(Method::Decommission, id.as_str(), other.decommission(address.clone()).boxed_local()).await
    }
}

impl NamedWorkspaceClient for ObjectPorts {
    async fn update_directory(&self, tenant: &Tenant, entry: &WorkspaceEntry) -> Result<(), Failure> {
        let record = || to_failure(directory::record_entry(&*self.world.directory(tenant), &through_json(entry)));
        self.world.call(Method::UpdateDirectory, tenant.as_str(), record).await
    }

    async fn list_workspaces(&self, request: &ListWorkspacesRequest) -> Result<Value> {
        let store = self.world.directory(&request.tenant);
        let list = async { Ok(directory::list(&*store, &through_json(request))) };
        let listed = self.world.call_async(Method::ListWorkspaces, request.tenant.as_str(), list).await;
        let unavailable = |failure: Failure| Error::new(Code::DirectoryUnavailable, failure.message, "Try again.");
        listed.map_err(unavailable)?.map(|entries| serde_json::to_value(entries).unwrap())
    }

    async fn fork_source(&self, address: &Address, key: Option<&str>) -> Result<SnapshotKey> {
        let other = self.named_service(address);
        self.call_object(Method::ForkSource, &address.to_string(), other.source(key.map(str::to_owned)).boxed_local())
            .await
    }

    async fn create_workspace(&self, request: &CreateRequest) -> Result<Value> {
        let (address, arguments) = (request.address.to_string(), json!(request));
        let other = self.named_service(&request.address);
        let create =
            run_named(&other, Request::decode(Operation::CreateWorkspace, &arguments)?, CancellationToken::never());
        self.call_object(Method::CreateWorkspace, &address, create.boxed_local()).await
    }
}

impl ObjectPorts {
    /// Calls another object, and returns its errors to the caller.
    async fn call_object<T: Serialize + DeserializeOwned>(
        &self,
        method: Method,
        target: &str,
        work: LocalBoxFuture<'_, Result<T>>,
    ) -> Result<T> {
        let unreachable = |failure: Failure| {
            Error::new(Code::WorkspaceUnavailable, failure.message.clone(), "Check the state before you try again.")
                .caused_by(failure)
        };
        let outcome = self.world.call_async(method, target, async { Ok(work.await) }).await;
        outcome.map_err(unreachable)?.map(|answer| through_json(&answer))
    }

    /// Runs an operation in another object.
    async fn call_operation<T: DeserializeOwned>(
        &self,
        method: Method,
        id: &SandboxId,
        operation: Operation,
        arguments: &Value,
    ) -> Result<T> {
        let other = self.sandbox_service(id);
        let answer = self
            .call_object(
                method,
                id.as_str(),
                run_sandbox(&other, Request::decode(operation, arguments)?, CancellationToken::never()).boxed_local(),
            )
            .await?;
        Ok(serde_json::from_value(answer).unwrap())
    }
}

/// Converts an error of another object to the failure that its caller gets.
fn to_failure<T>(outcome: Result<T>) -> Result<T, Failure> {
    outcome.map_err(|error| Failure::new(error.code().as_str(), error.message()))
}

/// Serializes a value to JSON and back, as a call between objects does.
fn through_json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}
