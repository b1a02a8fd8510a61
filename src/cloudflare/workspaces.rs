//! The client of the Workspace objects, for the entrypoint and for other objects.
//!
//! Each sandbox has one Workspace object, whose name is the id of the sandbox. The object does the work, because it has
//! one memory and one storage for all callers, while the isolates of a Worker share nothing: only there can calls
//! exclude each other. Arguments and answers are passed as text, which preserves JSON exactly.

use js_sys::Array;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use worker::{Env, ObjectNamespace};

use super::stub;
use crate::model::answer::{SandboxParent, WorkspaceLineage};
use crate::model::json::RawJson;
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::messages::{
    Condition, Decommissioned, EnsureRunningRequest, EnsuredRunning, LastSnapshot, ReserveRequest, SandboxStopped,
    StopSandboxRequest,
};
use crate::model::named::{Address, Tenant};
use crate::model::record::ParentLink;
use crate::model::request::LineageScope;
use crate::model::{
    BackupId, Code, Error, Failure, Policy, Result, SandboxId, Selection, SnapshotId, SnapshotRequest, TakenSnapshot,
    json,
};
use crate::ports::{RestoreSource, SandboxLedgerClient};
use crate::service::calls::call_context::{self, CallContext, SideEffects};
use crate::service::from_object;

const BINDING: &str = "Workspace";

/// The Workspace objects of this Worker.
pub struct WorkspaceObjects {
    namespace: ObjectNamespace,
}

/// The answer of an object, or its error. Objects do not throw, because an exception would lose the members of an
/// error.
#[derive(Debug)]
pub enum Outcome {
    /// The answer.
    Answer(RawJson),
    /// The error.
    Error(Error),
}

/// The response of one object of this Worker to another. Its text is a line of JSON, the head, and then the answer
/// unchanged.
#[derive(Debug)]
pub struct RpcEnvelope {
    /// The answer or the error.
    pub outcome: Outcome,
    /// The side effects of the call.
    pub side_effects: SideEffects,
}

/// The head of an [`RpcEnvelope`].
#[derive(Serialize, Deserialize)]
struct EnvelopeHead {
    error: Option<Error>,
    #[serde(alias = "deeds")]
    side_effects: SideEffects,
}

impl RpcEnvelope {
    /// Returns the text of the envelope.
    pub fn print(self) -> Result<String, String> {
        let (error, answer) = match self.outcome {
            Outcome::Answer(answer) => (None, Some(answer)),
            Outcome::Error(error) => (Some(error), None),
        };
        let mut text = json::to_string(&EnvelopeHead { error, side_effects: self.side_effects })?;
        if let Some(answer) = answer {
            text.push('\n'); // The head contains no line break.
            text.push_str(answer.as_str());
        }
        Ok(text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (head, answer) = text.split_once('\n').map_or((text, None), |(head, answer)| (head, Some(answer)));
        let EnvelopeHead { error, side_effects } = json::from_str(head)?;
        let outcome = match (error, answer) {
            (None, Some(answer)) => Outcome::Answer(RawJson::from_text(answer)),
            (Some(error), None) => Outcome::Error(error),
            _ => return Err("expected either an answer or an error".to_owned()),
        };
        Ok(Self { outcome, side_effects })
    }
}

impl WorkspaceObjects {
    /// Opens the namespace that is bound as `Workspace`.
    pub fn open(env: &Env) -> Result<Self> {
        Ok(Self { namespace: namespace(env, BINDING)? })
    }

    /// Runs an operation in the Workspace object of `id`. `signal` is an `AbortSignal`, or undefined. Returns an error
    /// also when the object cannot be reached.
    pub async fn call(&self, id: &SandboxId, operation: &str, arguments: &Value, signal: &JsValue) -> Result<RawJson> {
        let list = Array::of4(&id.as_str().into(), &operation.into(), &json::value_to_string(arguments).into(), signal);
        let outcome = call_object(&self.namespace, id.as_str(), "perform", &list).await;
        outcome.map_err(|failure| from_object(failure, &display_name(id)))?.answer()
    }

    /// Returns the parent of the sandbox `id`.
    pub async fn descent(&self, id: &SandboxId) -> Result<SandboxParent> {
        self.call_message(id, &Message::Descent).await
    }

    /// Runs an operation in the Workspace object of `id` on behalf of another object, and decodes its answer.
    async fn call_typed<T: DeserializeOwned>(&self, id: &SandboxId, operation: &str, arguments: &Value) -> Result<T> {
        self.call(id, operation, arguments, &JsValue::UNDEFINED).await?.parse().map_err(protocol)
    }

    /// Sends a message to the Workspace object of `id`. Returns its errors unchanged, for the caller of the operation.
    async fn call_message<T: DeserializeOwned>(&self, id: &SandboxId, message: &Message) -> Result<T> {
        let message = json::to_string(message).map_err(protocol)?;
        let list = Array::of2(&id.as_str().into(), &message.into());
        let outcome = call_object(&self.namespace, id.as_str(), "receive", &list).await;
        outcome.map_err(|failure| from_object(failure, &display_name(id)))?.answer()?.parse().map_err(protocol)
    }

    async fn try_call_message<T: DeserializeOwned>(&self, id: &SandboxId, message: &Message) -> Result<T, Failure> {
        let unexpected = |error: String| Failure::protocol("the workspace", error);
        let message = json::to_string(message).map_err(unexpected)?;
        let list = Array::of2(&id.as_str().into(), &message.into());
        match call_object(&self.namespace, id.as_str(), "receive", &list).await? {
            Outcome::Answer(answer) => answer.parse().map_err(unexpected),
            Outcome::Error(error) => Err(Failure::new(error.code().as_str(), error.message())),
        }
    }
}

impl Outcome {
    /// Returns the answer, or the error.
    pub fn answer(self) -> Result<RawJson> {
        match self {
            Self::Answer(answer) => Ok(answer),
            Self::Error(error) => Err(error),
        }
    }
}

/// Returns a namespace of this Worker's own objects.
pub(super) fn namespace(env: &Env, binding: &str) -> Result<ObjectNamespace> {
    env.durable_object(binding).map_err(|_| {
        Error::new(
            Code::WorkspaceBindingMissing,
            format!("This Worker's own Durable Objects are not bound as {binding:?}. Nothing was changed."),
            format!(
                "Add this to wrangler.toml and deploy again:\n\n[[durable_objects.bindings]]\nname = \"{binding}\"\n\
                 class_name = \"{binding}\"\n\n[[migrations]]\ntag = \"<a new one>\"\nnew_sqlite_classes = [\"{binding}\"]"
            ),
        )
    })
}

/// Calls an object of this Worker with the correlation id of the current call, and records the side effects of the
/// call.
pub(super) async fn call_object(
    namespace: &ObjectNamespace,
    name: &str,
    method: &str,
    arguments: &Array,
) -> Result<Outcome, Failure> {
    let correlation_id = CallContext::current().map(|context| context.correlation_id.clone()).unwrap_or_default();
    arguments.push(&correlation_id.into());
    let answer = stub::call(&stub::get(namespace, name)?, method, arguments).await?;
    let envelope = RpcEnvelope::parse(&answer.as_string().unwrap_or_default())
        .map_err(|error| Failure::protocol("the workspace", error))?;
    call_context::record(envelope.side_effects);
    Ok(envelope.outcome)
}

fn display_name(id: &SandboxId) -> String {
    format!("The workspace of the sandbox {:?}", id.as_str())
}

#[allow(clippy::needless_pass_by_value)] // `map_err` passes the error by value.
fn protocol(error: String) -> Error {
    Error::new(
        Code::Internal,
        format!("An object of this Worker can't read a message of another: {error}."),
        "Report it.",
    )
}

/// A message from one object of this Worker to a Workspace object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Message {
    /// [`SandboxLedgerClient::claim`]
    Claim {
        /// The first sandbox of the lineage.
        root_id: SandboxId,
        /// The snapshot that the sandbox is made from.
        parent: Option<ParentLink>,
        /// The named workspace that the sandbox belongs to.
        #[serde(alias = "standing")]
        binding: Option<WorkspaceBinding>,
        /// The marker that its container will have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        marker: Option<String>,
    },
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
    /// [`WorkspaceObjects::descent`]
    Descent,
    /// [`SandboxLedgerClient::sweep`]
    Sweep {
        /// The backups with the mark of this workspace, and the snapshots that they name.
        backups: Vec<(BackupId, SnapshotId)>,
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
    /// [`SandboxLedgerClient::newest_snapshot`]
    Newest,
    /// [`SandboxLedgerClient::reserve`]
    Reserve(ReserveRequest),
    /// [`SandboxLedgerClient::probe_condition`]
    #[serde(alias = "look")]
    ProbeCondition,
    /// [`SandboxLedgerClient::changed_since_watch`]
    #[serde(alias = "stirred")]
    ChangedSinceWatch,
    /// [`SandboxLedgerClient::ensure_running`]
    #[serde(alias = "resume")]
    EnsureRunning(Box<EnsureRunningRequest>),
    /// [`SandboxLedgerClient::stop_sandbox`]
    #[serde(alias = "halt")]
    StopSandbox(StopSandboxRequest),
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
    async fn claim(
        &self,
        id: &SandboxId,
        root_id: &SandboxId,
        parent: Option<&ParentLink>,
        binding: Option<&WorkspaceBinding>,
        marker: Option<&str>,
    ) -> Result<bool, Failure> {
        let (parent, binding, marker) = (parent.cloned(), binding.cloned(), marker.map(str::to_owned));
        self.try_call_message(id, &Message::Claim { root_id: root_id.clone(), parent, binding, marker }).await
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, dependent: &SandboxId) -> Result<(), Failure> {
        self.try_call_message(id, &Message::Release { snapshot_id: snapshot_id.clone(), dependent: dependent.clone() })
            .await
    }

    async fn root_id(&self, id: &SandboxId) -> Result<SandboxId, Failure> {
        self.try_call_message(id, &Message::Root).await
    }

    async fn describe(&self, id: &SandboxId) -> Result<WorkspaceLineage, Failure> {
        self.try_call_message(id, &Message::Describe).await
    }

    async fn sweep(&self, id: &SandboxId, backups: &[(BackupId, SnapshotId)], dry_run: bool) -> Result<usize, Failure> {
        self.try_call_message(id, &Message::Sweep { backups: backups.to_vec(), dry_run }).await
    }

    async fn get_for_restore(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        dependent: &SandboxId,
    ) -> Result<RestoreSource> {
        self.call_message(
            id,
            &Message::GetForRestore { snapshot_id: snapshot_id.clone(), dependent: dependent.clone() },
        )
        .await
    }

    async fn find_snapshot(&self, selection: &Selection, tenant: &Tenant) -> Result<LastSnapshot> {
        let id = selection.selector.origin_id();
        let selection = json::to_value(selection).map_err(protocol)?;
        self.call_message(id, &Message::Find { selection, tenant: tenant.clone() }).await
    }

    async fn newest_snapshot(&self, id: &SandboxId) -> Result<Option<LastSnapshot>> {
        self.call_message(id, &Message::Newest).await
    }

    async fn take_snapshot(&self, request: &SnapshotRequest) -> Result<TakenSnapshot> {
        let arguments = json::to_value(request).map_err(protocol)?;
        self.call_typed(&request.sandbox_id, "snapshot", &arguments).await
    }

    async fn set_policy(&self, id: &SandboxId, policy: &Policy) -> Result<()> {
        let arguments = json!({ "sandboxId": id, "policy": policy });
        self.call_typed(id, "setRetention", &arguments).await.map(|_: Value| ())
    }

    async fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> Result<bool> {
        self.call_message(id, &Message::Reserve(request.clone())).await
    }

    async fn probe_condition(&self, id: &SandboxId) -> Result<Condition> {
        self.call_message(id, &Message::ProbeCondition).await
    }

    async fn changed_since_watch(&self, id: &SandboxId) -> Result<bool> {
        self.call_message(id, &Message::ChangedSinceWatch).await
    }

    async fn ensure_running(&self, id: &SandboxId, request: &EnsureRunningRequest) -> Result<EnsuredRunning> {
        self.call_message(id, &Message::EnsureRunning(Box::new(request.clone()))).await
    }

    async fn stop_sandbox(&self, id: &SandboxId, request: &StopSandboxRequest) -> Result<SandboxStopped> {
        self.call_message(id, &Message::StopSandbox(request.clone())).await
    }

    async fn decommission(&self, id: &SandboxId, address: &Address) -> Result<Decommissioned> {
        self.call_message(id, &Message::Decommission { address: address.clone() }).await
    }
}
