//! The client of the Workspace objects, for the entrypoint and for other objects.
//!
//! Each sandbox has one Workspace object, whose name is the id of the sandbox. The object does the work, because it has
//! one memory and one storage for all callers, while the isolates of a Worker share nothing: only there can calls
//! exclude each other.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use worker::Env;

use super::objects::Objects;
use crate::model::answer::{Page, SandboxParent, WorkspaceLineage};
use crate::model::archive::LocatedSnapshot;
use crate::model::exec_call::{ObservedForExec, PrepareExecRequest, PreparedExec};
use crate::model::named::label_search::LabelSearch;
use crate::model::named::messages::{
    AutosaveRequest, Autosaved, CheckImageRequest, ClaimRequest, Condition, Decommissioned, EnsureRunningRequest,
    EnsuredRunning, FoundSnapshot, NewestSnapshot, ReserveRequest, SandboxStopped, StopSandboxRequest,
    SwitchRuntimeRequest,
};
use crate::model::named::{Address, PlatformSnapshot, StoragePolicy, Tenant};
use crate::model::operation::Operation;
use crate::model::request::{LineageScope, ListRequest, ReviveRequest};
use crate::model::revive::RevivedSandbox;
use crate::model::usage::SandboxUsage;
use crate::model::{
    BackupLocation, Error, Failure, Label, Policy, Result, Runtime, SandboxId, Selection, SnapshotCause, SnapshotId,
    SnapshotRequest, TakenSnapshot, Timestamp, json,
};
use crate::ports::{RestoreSource, SandboxLedgerClient};

/// The Workspace objects of this Worker.
pub struct WorkspaceObjects(pub Objects);

impl WorkspaceObjects {
    /// Opens the namespace that is bound as `Workspace`.
    pub fn open(env: &Env) -> Result<Self> {
        Ok(Self(Objects::open(env, "Workspace", "The workspace of the sandbox")?))
    }
}

/// A message from one object of this Worker to a Workspace object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Message {
    /// [`SandboxLedgerClient::claim`]
    Claim(Box<ClaimRequest>),
    /// [`SandboxLedgerClient::release`]
    Release {
        /// The snapshot.
        snapshot_id: SnapshotId,
        /// The sandbox that no longer depends on it.
        #[serde(alias = "holder")]
        dependent: SandboxId,
    },
    /// [`SandboxLedgerClient::root_id`]
    Root,
    /// [`SandboxLedgerClient::describe`]
    Describe,
    /// [`SandboxLedgerClient::parent_of`]
    Descent,
    /// [`SandboxLedgerClient::sweep`]
    Sweep {
        /// The backups with the mark of this sandbox, and the snapshots that they name.
        backups: Vec<(BackupLocation, SnapshotId)>,
        /// Whether to count the backups without deleting them.
        dry_run: bool,
    },
    /// [`SandboxLedgerClient::get_for_restore`]
    #[serde(alias = "lend")]
    GetForRestore {
        /// The snapshot.
        snapshot_id: SnapshotId,
        /// The sandbox that was made from it.
        #[serde(alias = "holder")]
        dependent: SandboxId,
    },
    /// [`SandboxLedgerClient::find_snapshot`]
    Find {
        /// The snapshot, as operations on snapshots name it.
        #[serde(deserialize_with = "with_present_names")]
        selection: Value,
        /// The tenant of the caller.
        tenant: Tenant,
    },
    /// [`SandboxLedgerClient::search_label`]
    SearchLabel {
        /// The label.
        label: Label,
        /// The idempotency key.
        key: Option<String>,
    },
    /// [`SandboxLedgerClient::locate_snapshot`]
    Locate {
        /// The snapshot, as operations on snapshots name it.
        selection: Value,
    },
    /// [`SandboxLedgerClient::newest_snapshot`]
    Newest,
    /// [`SandboxLedgerClient::take_snapshot`]
    TakeSnapshot {
        /// The options of `snapshot`.
        options: Value,
        /// Why the snapshot is taken.
        cause: SnapshotCause,
    },
    /// [`SandboxLedgerClient::platform_snapshot`]
    PlatformSnapshot,
    /// [`SandboxLedgerClient::check_storage`]
    CheckStorage {
        /// The storage.
        storage: StoragePolicy,
    },
    /// [`SandboxLedgerClient::check_image`]
    CheckImage(CheckImageRequest),
    /// [`SandboxLedgerClient::reserve`]
    Reserve(Box<ReserveRequest>),
    /// [`SandboxLedgerClient::probe_condition`]
    #[serde(alias = "look")]
    ProbeCondition,
    /// [`SandboxLedgerClient::changed_since_watch`]
    #[serde(alias = "stirred")]
    ChangedSinceWatch,
    /// [`SandboxLedgerClient::autosave`]
    Autosave(AutosaveRequest),
    /// [`SandboxLedgerClient::last_saved_at`]
    LastSavedAt,
    /// [`SandboxLedgerClient::has_ended`]
    HasEnded,
    /// [`SandboxLedgerClient::usage`]
    Usage,
    /// [`SandboxLedgerClient::ensure_running`]
    #[serde(alias = "resume")]
    EnsureRunning(Box<EnsureRunningRequest>),
    /// [`SandboxLedgerClient::stop_sandbox`]
    #[serde(alias = "halt")]
    StopSandbox(StopSandboxRequest),
    /// [`SandboxLedgerClient::switch_runtime`]
    SwitchRuntime(SwitchRuntimeRequest),
    /// [`SandboxLedgerClient::prepare_exec`]
    PrepareExec(PrepareExecRequest),
    /// [`SandboxLedgerClient::confirm_exec`]
    ConfirmExec(ObservedForExec),
    /// [`SandboxLedgerClient::flag_replaced`]
    FlagReplaced,
    /// [`SandboxLedgerClient::decommission`]
    #[serde(alias = "retire")]
    Decommission {
        /// The named workspace that the sandbox belongs to.
        address: Address,
    },
}

/// Reads a selection whose options may have the names of an earlier release: its objects may still run during a
/// rollout.
fn with_present_names<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Value, D::Error> {
    let mut selection = Value::deserialize(deserializer)?;
    if let Some(options) = selection.as_object_mut() {
        for (name, former) in LineageScope::FORMER_NAMES {
            if let Some(value) = options.remove(former) {
                options.insert(name.to_owned(), value);
            }
        }
    }
    Ok(selection)
}

impl SandboxLedgerClient for WorkspaceObjects {
    async fn claim(&self, id: &SandboxId, request: &ClaimRequest) -> Result<bool, Failure> {
        self.0.try_call(id.as_str(), &Message::Claim(Box::new(request.clone()))).await
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, dependent: &SandboxId) -> Result<(), Failure> {
        self.0
            .try_call(id.as_str(), &Message::Release { snapshot_id: snapshot_id.clone(), dependent: dependent.clone() })
            .await
    }

    async fn root_id(&self, id: &SandboxId) -> Result<SandboxId, Failure> {
        self.0.try_call(id.as_str(), &Message::Root).await
    }

    async fn describe(&self, id: &SandboxId) -> Result<WorkspaceLineage, Failure> {
        self.0.try_call(id.as_str(), &Message::Describe).await
    }

    async fn parent_of(&self, id: &SandboxId) -> Result<SandboxParent> {
        self.0.call(id.as_str(), &Message::Descent).await
    }

    async fn sweep(
        &self,
        id: &SandboxId,
        backups: &[(BackupLocation, SnapshotId)],
        dry_run: bool,
    ) -> Result<usize, Failure> {
        self.0.try_call(id.as_str(), &Message::Sweep { backups: backups.to_vec(), dry_run }).await
    }

    async fn get_for_restore(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        dependent: &SandboxId,
    ) -> Result<RestoreSource> {
        let (snapshot_id, dependent) = (snapshot_id.clone(), dependent.clone());
        self.0.call(id.as_str(), &Message::GetForRestore { snapshot_id, dependent }).await
    }

    async fn find_snapshot(&self, selection: &Selection, tenant: &Tenant) -> Result<FoundSnapshot> {
        let id = selection.selector.origin_id();
        let selection = json::to_value(selection).map_err(Error::message_unreadable)?;
        self.0.call(id.as_str(), &Message::Find { selection, tenant: tenant.clone() }).await
    }

    async fn search_label(&self, id: &SandboxId, label: &Label, key: Option<&str>) -> Result<LabelSearch> {
        let key = key.map(str::to_owned);
        self.0.call(id.as_str(), &Message::SearchLabel { label: label.clone(), key }).await
    }

    async fn locate_snapshot(&self, selection: &Selection) -> Result<LocatedSnapshot> {
        let id = selection.selector.origin_id();
        let selection = json::to_value(selection).map_err(Error::message_unreadable)?;
        self.0.call(id.as_str(), &Message::Locate { selection }).await
    }

    async fn newest_snapshot(&self, id: &SandboxId) -> Result<Option<NewestSnapshot>> {
        self.0.call(id.as_str(), &Message::Newest).await
    }

    async fn take_snapshot(&self, request: &SnapshotRequest) -> Result<TakenSnapshot> {
        let options = json::to_value(request).map_err(Error::message_unreadable)?;
        let cause = request.purpose.cause();
        self.0.call(request.sandbox_id.as_str(), &Message::TakeSnapshot { options, cause }).await
    }

    async fn revive(&self, request: &ReviveRequest) -> Result<RevivedSandbox> {
        let arguments = json::to_value(request).map_err(Error::message_unreadable)?;
        let answer =
            self.0.run(request.sandbox_id.as_str(), Operation::Revive, &arguments, &JsValue::UNDEFINED).await?;
        answer.parse().map_err(Error::message_unreadable)
    }

    async fn list(&self, id: &SandboxId, request: &ListRequest) -> Result<Page> {
        let request = ListRequest { target: id.clone().into(), ..request.clone() };
        let arguments = json::to_value(&request).map_err(Error::message_unreadable)?;
        let answer = self.0.run(id.as_str(), Operation::List, &arguments, &JsValue::UNDEFINED).await?;
        answer.parse().map_err(Error::message_unreadable)
    }

    async fn set_policy(&self, id: &SandboxId, policy: &Policy) -> Result<()> {
        let arguments = json!({ "sandboxId": id, "policy": policy });
        self.0.run(id.as_str(), Operation::SetRetention, &arguments, &JsValue::UNDEFINED).await.map(drop)
    }

    async fn platform_snapshot(&self, id: &SandboxId) -> Result<Option<PlatformSnapshot>> {
        self.0.call(id.as_str(), &Message::PlatformSnapshot).await
    }

    async fn check_storage(&self, id: &SandboxId, storage: StoragePolicy) -> Result<()> {
        self.0.call(id.as_str(), &Message::CheckStorage { storage }).await
    }

    async fn check_image(&self, id: &SandboxId, request: &CheckImageRequest) -> Result<()> {
        self.0.call(id.as_str(), &Message::CheckImage(request.clone())).await
    }

    async fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> Result<bool> {
        self.0.call(id.as_str(), &Message::Reserve(Box::new(request.clone()))).await
    }

    async fn probe_condition(&self, id: &SandboxId) -> Result<Condition> {
        self.0.call(id.as_str(), &Message::ProbeCondition).await
    }

    async fn changed_since_watch(&self, id: &SandboxId) -> Result<bool> {
        self.0.call(id.as_str(), &Message::ChangedSinceWatch).await
    }

    async fn autosave(&self, id: &SandboxId, request: &AutosaveRequest) -> Result<Autosaved> {
        self.0.call(id.as_str(), &Message::Autosave(request.clone())).await
    }

    async fn usage(&self, id: &SandboxId) -> Result<SandboxUsage> {
        self.0.call(id.as_str(), &Message::Usage).await
    }

    async fn has_ended(&self, id: &SandboxId) -> Result<bool> {
        self.0.call(id.as_str(), &Message::HasEnded).await
    }

    async fn last_saved_at(&self, id: &SandboxId) -> Result<Option<Timestamp>> {
        self.0.call(id.as_str(), &Message::LastSavedAt).await
    }

    async fn ensure_running(&self, id: &SandboxId, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        self.0.call(id.as_str(), &Message::EnsureRunning(Box::new(request.clone()))).await
    }

    async fn stop_sandbox(&self, id: &SandboxId, request: &StopSandboxRequest) -> Result<SandboxStopped> {
        self.0.call(id.as_str(), &Message::StopSandbox(request.clone())).await
    }

    async fn switch_runtime(&self, id: &SandboxId, request: &SwitchRuntimeRequest) -> Result<Option<Runtime>> {
        self.0.call(id.as_str(), &Message::SwitchRuntime(request.clone())).await
    }

    async fn prepare_exec(&self, id: &SandboxId, request: &PrepareExecRequest) -> Result<PreparedExec> {
        self.0.call(id.as_str(), &Message::PrepareExec(request.clone())).await
    }

    async fn confirm_exec(&self, id: &SandboxId, observed: ObservedForExec) -> Result<()> {
        self.0.call(id.as_str(), &Message::ConfirmExec(observed)).await
    }

    async fn flag_replaced(&self, id: &SandboxId) -> Result<Error> {
        self.0.call(id.as_str(), &Message::FlagReplaced).await
    }

    async fn decommission(&self, id: &SandboxId, address: &Address) -> Result<Decommissioned> {
        self.0.call(id.as_str(), &Message::Decommission { address: address.clone() }).await
    }
}
