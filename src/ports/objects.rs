//! The calls between the Durable Objects of this Worker.

use std::future::Future;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::answer::{Page, SandboxParent, WorkspaceLineage};
use crate::model::archive::LocatedSnapshot;
use crate::model::exec_call::{ObservedForExec, PrepareExecRequest, PreparedExec};
use crate::model::named::answer::WorkspaceEntry;
use crate::model::named::label_search::LabelSearch;
use crate::model::named::messages::{
    AutosaveRequest, Autosaved, CheckImageRequest, ClaimRequest, Condition, Decommissioned, EnsureRunningRequest,
    EnsuredRunning, ForkSource, FoundSnapshot, NewestSnapshot, ReserveRequest, ResumedWorkspace, SandboxStopped,
    SnapshotKey, StopSandboxRequest, SwitchRuntimeRequest,
};
use crate::model::named::{Address, PlatformSnapshot, StoragePolicy, Tenant};
use crate::model::prices::InstanceType;
use crate::model::record::RestoreSource;
use crate::model::request::{CreateRequest, ListRequest, ListWorkspacesRequest, ReviveRequest};
use crate::model::revive::RevivedSandbox;
use crate::model::token_record::TokenMessage;
use crate::model::usage::{SandboxUsage, WorkspaceUsage};
use crate::model::{
    BackupLocation, Error, Failure, Label, Policy, Result, Runtime, SandboxId, Selection, SnapshotId, SnapshotRequest,
    TakenSnapshot, Timestamp,
};

/// The client for the ledgers of other sandboxes.
pub trait SandboxLedgerClient {
    /// Claims the minted id `id`: stores where its sandbox comes from, the named workspace that it belongs to, its
    /// runtime, and the marker that its container will carry. Returns `false` when the id is already taken.
    fn claim(&self, id: &SandboxId, request: &ClaimRequest) -> impl Future<Output = Result<bool, Failure>>;

    /// Releases a snapshot of `id`: the sandbox `dependent` no longer depends on it.
    fn release(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        dependent: &SandboxId,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// Returns the first sandbox of the lineage of `id`.
    fn root_id(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxId, Failure>>;

    /// Returns the part of the lineage that the ledger of `id` contains.
    fn describe(&self, id: &SandboxId) -> impl Future<Output = Result<WorkspaceLineage, Failure>>;

    /// Returns the sandbox that the sandbox `id` was made from, and the named workspace that `id` belongs to.
    fn parent_of(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxParent>>;

    /// Deletes those of `backups` that carry the mark of `id` and that its ledger does not own. Returns how many. With
    /// `dry_run` it only counts them.
    fn sweep(
        &self,
        id: &SandboxId,
        backups: &[(BackupLocation, SnapshotId)],
        dry_run: bool,
    ) -> impl Future<Output = Result<usize, Failure>>;

    /// Returns the backup of a snapshot of `id`, from which the sandbox `dependent` was made. This counts as a use of
    /// the snapshot.
    fn get_for_restore(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        dependent: &SandboxId,
    ) -> impl Future<Output = Result<RestoreSource>>;

    /// Returns the selected snapshot if it exists, can be used, and does not belong to another tenant.
    fn find_snapshot(&self, selection: &Selection, tenant: &Tenant) -> impl Future<Output = Result<FoundSnapshot>>;

    /// Searches for a label, and for a call with an idempotency key, in the ledger of `id`.
    fn search_label(
        &self,
        id: &SandboxId,
        label: &Label,
        key: Option<&str>,
    ) -> impl Future<Output = Result<LabelSearch>>;

    /// Returns the selected snapshot and the place of its archive.
    fn locate_snapshot(&self, selection: &Selection) -> impl Future<Output = Result<LocatedSnapshot>>;

    /// Returns the newest snapshot from which the sandbox `id` can be started, and whether it may have held newer files.
    fn newest_snapshot(&self, id: &SandboxId) -> impl Future<Output = Result<Option<NewestSnapshot>>>;

    /// Takes a snapshot.
    fn take_snapshot(&self, request: &SnapshotRequest) -> impl Future<Output = Result<TakenSnapshot>>;

    /// Revives a sandbox that belongs to no named workspace.
    fn revive(&self, request: &ReviveRequest) -> impl Future<Output = Result<RevivedSandbox>>;

    /// Returns a page of the snapshots of a sandbox.
    fn list(&self, id: &SandboxId, request: &ListRequest) -> impl Future<Output = Result<Page>>;

    /// Sets the retention policy of `id`.
    fn set_policy(&self, id: &SandboxId, policy: &Policy) -> impl Future<Output = Result<()>>;

    /// Returns the platform snapshot of `id`, unless one of its archives is newer.
    fn platform_snapshot(&self, id: &SandboxId) -> impl Future<Output = Result<Option<PlatformSnapshot>>>;

    /// Verifies that the class of the sandbox `id` has the storage.
    fn check_storage(&self, id: &SandboxId, storage: StoragePolicy) -> impl Future<Output = Result<()>>;

    /// Verifies that a class of sandboxes can start an image: that of the sandbox `id`, or that of sandboxes which are made from
    /// it in another runtime.
    fn check_image(&self, id: &SandboxId, request: &CheckImageRequest) -> impl Future<Output = Result<()>>;

    /// Records that a sandbox will be made from a snapshot of `id` and depends on it from now on. Returns `false` when
    /// the id of the new sandbox is already taken. A repeated call with the same id returns the same result.
    fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> impl Future<Output = Result<bool>>;

    /// Returns the condition of the sandbox `id`, which belongs to a named workspace. Starts no container, unless the
    /// container ended after its status was read.
    fn probe_condition(&self, id: &SandboxId) -> impl Future<Output = Result<Condition>>;

    /// Returns whether files of the sandbox `id` have changed since the previous call.
    fn changed_since_watch(&self, id: &SandboxId) -> impl Future<Output = Result<bool>>;

    /// Saves the files of the sandbox `id` if they have changed since the last automatic save. Starts no container, as
    /// `probe_condition`.
    fn autosave(&self, id: &SandboxId, request: &AutosaveRequest) -> impl Future<Output = Result<Autosaved>>;

    /// Returns when the newest snapshot of `id` was taken from which its workspace can start.
    fn last_saved_at(&self, id: &SandboxId) -> impl Future<Output = Result<Option<Timestamp>>>;

    /// Returns whether the container of the sandbox `id` has ended, as its status says. Starts nothing.
    fn has_ended(&self, id: &SandboxId) -> impl Future<Output = Result<bool>>;

    /// Returns what the sandbox `id` and its snapshots use.
    fn usage(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxUsage>>;

    /// Starts the sandbox `id` and restores its files, unless they are already in place.
    fn ensure_running(
        &self,
        id: &SandboxId,
        request: &EnsureRunningRequest,
    ) -> impl Future<Output = Result<EnsuredRunning>>;

    /// Ends the container of the sandbox `id`.
    fn stop_sandbox(
        &self,
        id: &SandboxId,
        request: &StopSandboxRequest,
    ) -> impl Future<Output = Result<SandboxStopped>>;

    /// Moves the stopped sandbox `id` to another runtime, in which its next start restores its files. Returns the runtime
    /// that the sandbox then has.
    fn switch_runtime(
        &self,
        id: &SandboxId,
        request: &SwitchRuntimeRequest,
    ) -> impl Future<Output = Result<Option<Runtime>>>;

    /// Returns in which container of the sandbox `id` a command may run. The sandbox must be running. Starts nothing.
    fn prepare_exec(&self, id: &SandboxId, request: &PrepareExecRequest) -> impl Future<Output = Result<PreparedExec>>;

    /// Verifies that the container that was observed for a command is the one that runs now.
    fn confirm_exec(&self, id: &SandboxId, observed: ObservedForExec) -> impl Future<Output = Result<()>>;

    /// Records that a command found another container of the sandbox `id` than the expected one, and returns the error
    /// about it.
    fn flag_replaced(&self, id: &SandboxId) -> impl Future<Output = Result<Error>>;

    /// Ends the sandbox `id`, which its workspace no longer uses, and deletes its snapshots once no other sandbox
    /// depends on them. A sandbox that does not belong to `address` is left unchanged.
    fn decommission(&self, id: &SandboxId, address: &Address) -> impl Future<Output = Result<Decommissioned>>;
}

/// The client for the other named workspaces of this Worker, and for the Directory that lists them.
pub trait NamedWorkspaceClient {
    /// Updates a workspace's entry in the tenant's Directory.
    fn update_directory(&self, tenant: &Tenant, entry: &WorkspaceEntry) -> impl Future<Output = Result<(), Failure>>;

    /// Returns a page of the Directory as JSON: [`WorkspacePage`](crate::model::named::answer::WorkspacePage).
    fn list_workspaces(&self, request: &ListWorkspacesRequest) -> impl Future<Output = Result<Value>>;

    /// Returns the snapshot from which a fork of the workspace `address` starts. Takes it first when that workspace is
    /// active. Calls with the same key return the same snapshot.
    fn fork_source(&self, address: &Address, key: Option<&str>) -> impl Future<Output = Result<ForkSource>>;

    /// Returns the sandbox of the workspace `address` for a command. Starts the workspace if it is not active; with
    /// `verify`, also if its sandbox is not running with the files in place.
    fn resume(&self, address: &Address, verify: bool) -> impl Future<Output = Result<ResumedWorkspace>>;

    /// Returns the sandbox of the workspace `address` if it is active. Starts nothing.
    fn active_sandbox(&self, address: &Address) -> impl Future<Output = Result<SandboxId>>;

    /// Returns the sandboxes of the workspace `address`, the present one first. Starts nothing.
    fn sandbox_ids(&self, address: &Address) -> impl Future<Output = Result<Vec<SandboxId>>>;

    /// Returns whether the workspace `address` is stopped, or about to be.
    fn is_stopped(&self, address: &Address) -> impl Future<Output = Result<bool>>;

    /// Returns the sandbox of the snapshot that the workspace `address` was created from. Also for a workspace that was
    /// deleted a short time ago. `None` for a sandbox `of` that is not one of the workspace: it is one of another workspace,
    /// which had the name before.
    fn source_of(&self, address: &Address, of: Option<&SandboxId>) -> impl Future<Output = Result<Option<SandboxId>>>;

    /// Returns the sandbox of a snapshot, which is one of the lineage of the workspace `address`.
    fn origin_of(&self, address: &Address, snapshot_id: &SnapshotId) -> impl Future<Output = Result<SandboxId>>;

    /// Returns the snapshot of the workspace `address` with a label; for `latest`, if none has it, the newest one of the present
    /// files. `key` is the idempotency key of the call that uses it.
    fn find_label(
        &self,
        address: &Address,
        label: &Label,
        key: Option<&str>,
    ) -> impl Future<Output = Result<SnapshotKey>>;

    /// Returns what the workspace `address` uses. The cost is that of containers of the type `instance`.
    fn usage(&self, address: &Address, instance: InstanceType) -> impl Future<Output = Result<WorkspaceUsage>>;

    /// Sends a message about the tokens of a tenant to its Directory.
    fn call_tokens<T: DeserializeOwned + 'static>(
        &self,
        tenant: &Tenant,
        message: &TokenMessage,
    ) -> impl Future<Output = Result<T>>;

    /// Creates a fork. `may_have_lost` says whether files of the workspace that it is forked from may be lost. Returns JSON:
    /// [`StartedWorkspace`](crate::model::named::answer::StartedWorkspace).
    fn create_fork(&self, request: &CreateRequest, may_have_lost: bool) -> impl Future<Output = Result<Value>>;
}
