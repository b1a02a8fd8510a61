//! Calls between the objects of the Worker, with JSON messages as in production.

use std::future::Future;

use sandbox_snapshotter::api::operations::{Operation, Request, run_named, run_sandbox};
use sandbox_snapshotter::model::answer::{Page, SandboxParent, WorkspaceLineage};
use sandbox_snapshotter::model::archive::LocatedSnapshot;
use sandbox_snapshotter::model::exec_call::{ObservedForExec, PrepareExecRequest, PreparedExec};
use sandbox_snapshotter::model::named::answer::{LastSnapshot, WorkspaceEntry};
use sandbox_snapshotter::model::named::label_search::LabelSearch;
use sandbox_snapshotter::model::named::messages::{
    AutosaveRequest, Autosaved, CheckImageRequest, ClaimRequest, Condition, Decommissioned, EnsureRunningRequest,
    EnsuredRunning, ForkSource, FoundSnapshot, NewestSnapshot, ReserveRequest, ResumedWorkspace, SandboxStopped,
    SnapshotKey, StopSandboxRequest, SwitchRuntimeRequest,
};
use sandbox_snapshotter::model::named::{Address, PlatformSnapshot, StoragePolicy, Tenant};
use sandbox_snapshotter::model::prices::InstanceType;
use sandbox_snapshotter::model::request::{
    CapturePurpose, CreateRequest, ListRequest, ListWorkspacesRequest, ReviveRequest,
};
use sandbox_snapshotter::model::revive::RevivedSandbox;
use sandbox_snapshotter::model::token_record::TokenMessage;
use sandbox_snapshotter::model::usage::{SandboxUsage, WorkspaceUsage};
use sandbox_snapshotter::model::{
    BackupLocation, Code, Error, Failure, Label, Policy, Result, Runtime, SandboxId, Selection, SnapshotId,
    SnapshotRequest, TakenSnapshot, Timestamp,
};
use sandbox_snapshotter::ports::{NamedWorkspaceClient, RestoreSource, SandboxLedgerClient};
use sandbox_snapshotter::service::workspace::directory;
use sandbox_snapshotter::service::{CancellationToken, access};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Event, Method, NamedService, ObjectKey, ObjectPorts, ObjectService, SandboxService, Scheduler};

impl<S: Scheduler> SandboxLedgerClient for ObjectPorts<S> {
    async fn claim(&self, id: &SandboxId, request: &ClaimRequest) -> Result<bool, Failure> {
        S::observe(&self.world, Event::Claim(id));
        self.try_ask(Method::Claim, id, through_json(request), |own, request| async move { own.claim(&request) }).await
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, dependent: &SandboxId) -> Result<(), Failure> {
        let arguments = (snapshot_id.clone(), dependent.clone());
        self.try_ask(Method::Release, id, arguments, |own, (snapshot_id, dependent)| async move {
            own.release(&snapshot_id, &dependent)
        })
        .await
    }

    async fn root_id(&self, id: &SandboxId) -> Result<SandboxId, Failure> {
        self.try_ask(Method::RootId, id, (), |own, ()| async move { own.root() }).await
    }

    async fn describe(&self, id: &SandboxId) -> Result<WorkspaceLineage, Failure> {
        self.try_ask(Method::Describe, id, (), |own, ()| async move { own.describe() }).await
    }

    async fn parent_of(&self, id: &SandboxId) -> Result<SandboxParent> {
        self.ask(Method::ParentOf, id, (), |own, ()| async move { own.descent() }).await
    }

    async fn sweep(
        &self,
        id: &SandboxId,
        backups: &[(BackupLocation, SnapshotId)],
        dry_run: bool,
    ) -> Result<usize, Failure> {
        let arguments = (backups.to_vec(), dry_run);
        self.try_ask(Method::Sweep, id, arguments, |own, (backups, dry_run)| async move {
            own.sweep(&backups, dry_run).await
        })
        .await
    }

    async fn get_for_restore(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        dependent: &SandboxId,
    ) -> Result<RestoreSource> {
        let arguments = (snapshot_id.clone(), dependent.clone());
        self.ask(Method::GetForRestore, id, arguments, |own, (snapshot_id, dependent)| async move {
            own.get_for_restore(&snapshot_id, &dependent).await
        })
        .await
    }

    async fn search_label(&self, id: &SandboxId, label: &Label, key: Option<&str>) -> Result<LabelSearch> {
        let arguments = (label.clone(), key.map(str::to_owned));
        let search = |own: SandboxService<S>, (label, key): (Label, Option<String>)| async move {
            own.search_label(&label, key.as_deref()).await
        };
        self.ask(Method::SearchLabel, id, arguments, search).await
    }

    async fn find_snapshot(&self, selection: &Selection, tenant: &Tenant) -> Result<FoundSnapshot> {
        let id = selection.selector.origin_id();
        let arguments = (Selection::decode(&serde_json::to_value(selection).unwrap())?, tenant.clone());
        self.ask(Method::FindSnapshot, id, arguments, |own, (selection, tenant)| async move {
            own.find_snapshot(selection, &tenant).await
        })
        .await
    }

    async fn locate_snapshot(&self, selection: &Selection) -> Result<LocatedSnapshot> {
        let id = selection.selector.origin_id();
        let selection = Selection::decode(&serde_json::to_value(selection).unwrap())?;
        self.ask(Method::LocateSnapshot, id, selection, |own, selection| async move {
            own.locate_snapshot(&selection).await
        })
        .await
    }

    async fn newest_snapshot(&self, id: &SandboxId) -> Result<Option<NewestSnapshot>> {
        self.ask(Method::NewestSnapshot, id, (), |own, ()| async move { own.newest_snapshot().await }).await
    }

    async fn take_snapshot(&self, request: &SnapshotRequest) -> Result<TakenSnapshot> {
        let message = (serde_json::to_value(request).unwrap(), request.purpose.cause());
        self.ask(Method::TakeSnapshot, &request.sandbox_id, message, |own, (options, cause)| async move {
            let purpose = CapturePurpose::Workspace(cause);
            let request = SnapshotRequest { purpose, ..SnapshotRequest::decode(&options)? };
            own.snapshot(request, CancellationToken::never()).await
        })
        .await
    }

    async fn revive(&self, request: &ReviveRequest) -> Result<RevivedSandbox> {
        let arguments = serde_json::to_value(request).unwrap();
        self.run_operation(Method::Revive, &request.sandbox_id, Operation::Revive, arguments).await
    }

    async fn list(&self, id: &SandboxId, request: &ListRequest) -> Result<Page> {
        let arguments = json!(ListRequest { target: id.clone().into(), ..request.clone() });
        self.ask(Method::ListSnapshots, id, arguments, |own, arguments| async move {
            own.list(ListRequest::decode(&arguments)?).await
        })
        .await
    }

    async fn set_policy(&self, id: &SandboxId, policy: &Policy) -> Result<()> {
        let arguments = json!({ "sandboxId": id, "policy": policy });
        self.run_operation(Method::SetPolicy, id, Operation::SetRetention, arguments).await.map(|_: Value| ())
    }

    async fn platform_snapshot(&self, id: &SandboxId) -> Result<Option<PlatformSnapshot>> {
        self.ask(Method::PlatformSnapshot, id, (), |own, ()| async move { own.platform_snapshot().await }).await
    }

    async fn check_storage(&self, id: &SandboxId, storage: StoragePolicy) -> Result<()> {
        self.ask(Method::CheckStorage, id, storage, |own, storage| async move { own.check_storage(storage).await })
            .await
    }

    async fn check_image(&self, id: &SandboxId, request: &CheckImageRequest) -> Result<()> {
        let check = |own: SandboxService<S>, request: CheckImageRequest| async move { own.check_image(&request).await };
        self.ask(Method::CheckImage, id, through_json(request), check).await
    }

    async fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> Result<bool> {
        let request = through_json(request);
        self.ask(Method::Reserve, id, request, |own, request| async move { own.reserve(&request).await }).await
    }

    async fn probe_condition(&self, id: &SandboxId) -> Result<Condition> {
        self.ask(Method::CheckCondition, id, (), |own, ()| async move { own.condition().await }).await
    }

    async fn changed_since_watch(&self, id: &SandboxId) -> Result<bool> {
        self.ask(Method::AskChangedSinceWatch, id, (), |own, ()| async move { own.changed_since_watch().await }).await
    }

    async fn autosave(&self, id: &SandboxId, request: &AutosaveRequest) -> Result<Autosaved> {
        let save = |own: SandboxService<S>, request| async move { own.autosave(request).await };
        self.ask(Method::Autosave, id, through_json(request), save).await
    }

    async fn usage(&self, id: &SandboxId) -> Result<SandboxUsage> {
        self.ask(Method::SandboxUsage, id, (), |own, ()| async move { own.usage() }).await
    }

    async fn has_ended(&self, id: &SandboxId) -> Result<bool> {
        self.ask(Method::HasEnded, id, (), |own, ()| async move { own.has_ended().await }).await
    }

    async fn last_saved_at(&self, id: &SandboxId) -> Result<Option<Timestamp>> {
        self.ask(Method::LastSavedAt, id, (), |own, ()| async move { own.last_saved_at() }).await
    }

    async fn ensure_running(&self, id: &SandboxId, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        S::observe(&self.world, Event::EnsureRunning(id, request));
        let request = through_json(request);
        self.ask(Method::EnsureRunning, id, request, |own, request| async move { own.ensure_running(request).await })
            .await
    }

    async fn stop_sandbox(&self, id: &SandboxId, request: &StopSandboxRequest) -> Result<SandboxStopped> {
        S::observe(&self.world, Event::StopSandbox(id, request));
        let request = through_json(request);
        self.ask(Method::StopSandbox, id, request, |own, request| async move { own.stop_sandbox(request).await }).await
    }

    async fn switch_runtime(&self, id: &SandboxId, request: &SwitchRuntimeRequest) -> Result<Option<Runtime>> {
        let request = through_json(request);
        self.ask(Method::SwitchRuntime, id, request, |own, request| async move { own.switch_runtime(request).await })
            .await
    }

    async fn prepare_exec(&self, id: &SandboxId, request: &PrepareExecRequest) -> Result<PreparedExec> {
        let request = through_json(request);
        self.ask(Method::PrepareExec, id, request, |own, request| async move { own.prepare_exec(request).await }).await
    }

    async fn confirm_exec(&self, id: &SandboxId, observed: ObservedForExec) -> Result<()> {
        let confirm = |own: SandboxService<S>, observed| async move { own.confirm_exec(observed).await };
        self.ask(Method::ConfirmExec, id, through_json(&observed), confirm).await
    }

    async fn flag_replaced(&self, id: &SandboxId) -> Result<Error> {
        self.ask(Method::FlagReplaced, id, (), |own, ()| async move { own.flag_replaced_container().await }).await
    }

    async fn decommission(&self, id: &SandboxId, address: &Address) -> Result<Decommissioned> {
        let address = address.clone();
        self.ask(Method::Decommission, id, address, |own, address| async move { own.decommission(address).await }).await
    }
}

impl<S: Scheduler> NamedWorkspaceClient for ObjectPorts<S> {
    async fn update_directory(&self, tenant: &Tenant, entry: &WorkspaceEntry) -> Result<(), Failure> {
        let (store, entry) = (self.world.directory(tenant), through_json(entry));
        let update = |_| async move { to_failure(directory::record_entry(&*store, &entry)) };
        S::call(&self.world, Method::UpdateDirectory, tenant.as_str(), update).await
    }

    async fn list_workspaces(&self, request: &ListWorkspacesRequest) -> Result<Value> {
        let (store, request) = (self.world.directory(&request.tenant), through_json(request));
        let tenant = request.tenant.clone();
        let list = |_| async move { Ok(directory::list(&*store, &request)) };
        let listed = S::call(&self.world, Method::ListWorkspaces, tenant.as_str(), list).await;
        listed.map_err(Error::directory_unavailable)?.map(|entries| serde_json::to_value(entries).unwrap())
    }

    async fn fork_source(&self, address: &Address, key: Option<&str>) -> Result<ForkSource> {
        let key = key.map(str::to_owned);
        self.ask_named(Method::ForkSource, address, key, |own, key| async move { own.source(key).await }).await
    }

    async fn resume(&self, address: &Address, verify: bool) -> Result<ResumedWorkspace> {
        self.ask_named(Method::Resume, address, verify, |own, verify| async move { own.resume(verify).await }).await
    }

    async fn active_sandbox(&self, address: &Address) -> Result<SandboxId> {
        self.ask_named(Method::ActiveSandbox, address, (), |own, ()| async move { own.active_sandbox() }).await
    }

    async fn sandbox_ids(&self, address: &Address) -> Result<Vec<SandboxId>> {
        self.ask_named(Method::SandboxIds, address, (), |own, ()| async move { own.sandbox_ids() }).await
    }

    async fn is_stopped(&self, address: &Address) -> Result<bool> {
        self.ask_named(Method::IsStopped, address, (), |own, ()| async move { own.is_stopped() }).await
    }

    async fn source_of(&self, address: &Address, of: Option<&SandboxId>) -> Result<Option<SandboxId>> {
        let find = |own: NamedService<S>, of: Option<SandboxId>| async move { own.creation_source(of.as_ref()) };
        self.ask_named(Method::SourceOf, address, of.cloned(), find).await
    }

    async fn usage(&self, address: &Address, instance: InstanceType) -> Result<WorkspaceUsage> {
        self.ask_named(
            Method::WorkspaceUsage,
            address,
            instance,
            |own, instance| async move { own.usage(instance).await },
        )
        .await
    }

    async fn origin_of(&self, address: &Address, snapshot_id: &SnapshotId) -> Result<SandboxId> {
        let id = snapshot_id.clone();
        self.ask_named(Method::OriginOf, address, id, |own, id| async move { own.origin_of(&id).await }).await
    }

    async fn find_label(&self, address: &Address, label: &Label, key: Option<&str>) -> Result<SnapshotKey> {
        let arguments = (label.clone(), key.map(str::to_owned));
        let find = |own: NamedService<S>, (label, key): (Label, Option<String>)| async move {
            own.find_label(&label, key.as_deref()).await
        };
        self.ask_named(Method::FindLabel, address, arguments, find).await
    }

    async fn call_tokens<T: DeserializeOwned + 'static>(&self, tenant: &Tenant, message: &TokenMessage) -> Result<T> {
        let (store, message) = (self.world.directory(tenant), through_json(message));
        let handle = |_| async move { Ok(access::tokens::handle(&*store, message)) };
        let answer = S::call(&self.world, Method::CallTokens, tenant.as_str(), handle).await;
        Ok(serde_json::from_value(answer.map_err(Error::tokens_unavailable)??).unwrap())
    }

    async fn create_fork(&self, request: &CreateRequest, may_have_lost: bool) -> Result<Value> {
        let arguments = json!(request);
        self.ask_named(Method::CreateFork, &request.address, arguments, move |own, arguments| async move {
            own.create_fork(CreateRequest::decode(&arguments)?, may_have_lost).await.map(|created| json!(created))
        })
        .await
    }
}

impl<S: Scheduler> ObjectPorts<S> {
    /// Calls the object of a sandbox, and returns its errors to the caller.
    async fn ask<A, T, F>(
        &self,
        method: Method,
        id: &SandboxId,
        arguments: A,
        act: impl Fn(SandboxService<S>, A) -> F + Copy + 'static,
    ) -> Result<T>
    where
        A: Clone + 'static,
        T: Serialize + DeserializeOwned + 'static,
        F: Future<Output = Result<T>> + 'static,
    {
        let act = move |object: ObjectService<S>| act(object.into_sandbox(), arguments.clone());
        answer_of(S::send(&self.world, method, &ObjectKey::Sandbox(id.clone()), act).await)
    }

    /// As [`ask`](Self::ask), for the object of a named workspace.
    async fn ask_named<A, T, F>(
        &self,
        method: Method,
        address: &Address,
        arguments: A,
        act: impl Fn(NamedService<S>, A) -> F + Copy + 'static,
    ) -> Result<T>
    where
        A: Clone + 'static,
        T: Serialize + DeserializeOwned + 'static,
        F: Future<Output = Result<T>> + 'static,
    {
        let act = move |object: ObjectService<S>| act(object.into_workspace(), arguments.clone());
        answer_of(S::send(&self.world, method, &ObjectKey::Workspace(address.clone()), act).await)
    }

    /// As [`ask`](Self::ask), but returns the errors of the object as failures of the call.
    async fn try_ask<A, T, F>(
        &self,
        method: Method,
        id: &SandboxId,
        arguments: A,
        act: impl Fn(SandboxService<S>, A) -> F + Copy + 'static,
    ) -> Result<T, Failure>
    where
        A: Clone + 'static,
        T: 'static,
        F: Future<Output = Result<T>> + 'static,
    {
        let act = move |object: ObjectService<S>| act(object.into_sandbox(), arguments.clone());
        to_failure(S::send(&self.world, method, &ObjectKey::Sandbox(id.clone()), act).await?)
    }

    /// Runs an operation in the object of a sandbox.
    async fn run_operation<T: DeserializeOwned>(
        &self,
        method: Method,
        id: &SandboxId,
        operation: Operation,
        arguments: Value,
    ) -> Result<T> {
        let run = |own, (operation, arguments)| async move {
            run_sandbox(&own, Request::decode(operation, &arguments)?, CancellationToken::never()).await
        };
        let answer: Value = self.ask(method, id, (operation, arguments), run).await?;
        Ok(serde_json::from_value(answer).unwrap())
    }
}

/// Returns the answer of an object to its caller.
fn answer_of<T: Serialize + DeserializeOwned>(outcome: Result<Result<T>, Failure>) -> Result<T> {
    outcome.map_err(|failure| Error::object_unavailable("The object", failure))?.map(|answer| through_json(&answer))
}

/// Converts an error of another object to the failure that its caller gets.
fn to_failure<T>(outcome: Result<T>) -> Result<T, Failure> {
    outcome.map_err(|error| Failure::new(error.code().as_str(), error.message()))
}

/// Serializes a value to JSON and back, as a call between objects does.
fn through_json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}
