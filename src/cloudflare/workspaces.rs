//! The Workspace objects, seen from the entrypoint and from each other.
//!
//! Each sandbox has one, by the sandbox's id. It is one place with one memory and one storage, where isolates of a Worker
//! share nothing, so it does the work: guards that hold for all callers can only be there. Arguments and answers pass as
//! text, which keeps JSON as it is.

use js_sys::Array;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use worker::{Env, ObjectNamespace};

use super::stub;
use crate::model::answer::{Descent, Description};
use crate::model::json::Printed;
use crate::model::named::messages::{
    Condition, HaltRequest, Halted, LastSnapshot, ReserveRequest, ResumeRequest, Resumed, Retired,
};
use crate::model::named::standing::Standing;
use crate::model::named::{Address, Tenant};
use crate::model::record::Parent;
use crate::model::{
    BackupId, Code, Error, Failure, Policy, Result, SandboxId, Selection, SnapshotId, SnapshotRequest, Taken, json,
};
use crate::ports::{Loan, Workspaces};
use crate::service::from_object;
use crate::service::trace::{self, Deeds, Trace};

const BINDING: &str = "Workspace";

/// The Workspace objects of this Worker.
pub struct WorkspaceObjects {
    namespace: ObjectNamespace,
}

/// What a Workspace object answers: an exception would lose what an error carries.
#[derive(Debug)]
pub enum Outcome {
    /// What was asked for.
    Answer(Printed),
    /// Why there is none.
    Error(Error),
}

/// What an object of this Worker answers another: a line of JSON about it and, below that, the answer as it is.
#[derive(Debug)]
pub struct Reply {
    /// What it came to.
    pub outcome: Outcome,
    /// What was done on the way.
    pub deeds: Deeds,
}

/// What is said about an answer.
#[derive(Serialize, Deserialize)]
struct Head {
    error: Option<Error>,
    deeds: Deeds,
}

impl Reply {
    /// Its text.
    pub fn print(self) -> Result<String, String> {
        let (error, answer) = match self.outcome {
            Outcome::Answer(answer) => (None, Some(answer)),
            Outcome::Error(error) => (Some(error), None),
        };
        let mut text = json::print(&Head { error, deeds: self.deeds })?;
        if let Some(answer) = answer {
            text.push('\n'); // There is none in JSON that was printed.
            text.push_str(answer.as_str());
        }
        Ok(text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (head, answer) = text.split_once('\n').map_or((text, None), |(head, answer)| (head, Some(answer)));
        let Head { error, deeds } = json::parse(head)?;
        let outcome = match (error, answer) {
            (None, Some(answer)) => Outcome::Answer(Printed::received(answer)),
            (Some(error), None) => Outcome::Error(error),
            _ => return Err("not either an answer or an error".to_owned()),
        };
        Ok(Self { outcome, deeds })
    }
}

impl WorkspaceObjects {
    /// Those in the namespace that is bound as `Workspace`.
    pub fn open(env: &Env) -> Result<Self> {
        Ok(Self { namespace: namespace(env, BINDING)? })
    }

    /// Has the Workspace object of `id` carry an operation out. `signal` is an `AbortSignal`, or undefined. It is a failure
    /// of the operation when the object can't be reached.
    pub async fn perform(
        &self,
        id: &SandboxId,
        operation: &str,
        arguments: &Value,
        signal: &JsValue,
    ) -> Result<Printed> {
        let list = Array::of4(&id.as_str().into(), &operation.into(), &json::text(arguments).into(), signal);
        let outcome = call(&self.namespace, id.as_str(), "perform", &list).await;
        outcome.map_err(|failure| from_object(failure, &of_sandbox(id)))?.answer()
    }

    /// Where the sandbox `id` came from.
    pub async fn descent(&self, id: &SandboxId) -> Result<Descent> {
        self.order(id, &Message::Descent).await
    }

    /// Has the Workspace object of `id` carry an operation out, for another object of this Worker.
    async fn ask<T: DeserializeOwned>(&self, id: &SandboxId, operation: &str, arguments: &Value) -> Result<T> {
        self.perform(id, operation, arguments, &JsValue::UNDEFINED).await?.read().map_err(misunderstood)
    }

    /// Tells the Workspace object of `id` something whose errors are for callers.
    async fn order<T: DeserializeOwned>(&self, id: &SandboxId, message: &Message) -> Result<T> {
        let message = json::print(message).map_err(misunderstood)?;
        let list = Array::of2(&id.as_str().into(), &message.into());
        let outcome = call(&self.namespace, id.as_str(), "receive", &list).await;
        outcome.map_err(|failure| from_object(failure, &of_sandbox(id)))?.answer()?.read().map_err(misunderstood)
    }

    async fn tell<T: DeserializeOwned>(&self, id: &SandboxId, message: &Message) -> Result<T, Failure> {
        let unexpected = |error: String| Failure::unexpected("the workspace", error);
        let message = json::print(message).map_err(unexpected)?;
        let list = Array::of2(&id.as_str().into(), &message.into());
        match call(&self.namespace, id.as_str(), "receive", &list).await? {
            Outcome::Answer(answer) => answer.read().map_err(unexpected),
            Outcome::Error(error) => Err(Failure::new(error.code().as_str(), error.message())),
        }
    }
}

impl Outcome {
    /// The answer, or the error.
    pub fn answer(self) -> Result<Printed> {
        match self {
            Self::Answer(answer) => Ok(answer),
            Self::Error(error) => Err(error),
        }
    }
}

/// A namespace of this Worker's own objects.
pub(super) fn namespace(env: &Env, binding: &str) -> Result<ObjectNamespace> {
    env.durable_object(binding).map_err(|_| {
        Error::new(
            Code::WorkspaceBindingMissing,
            format!("This Worker's own Durable Objects are not bound to it as {binding:?}. Nothing was touched."),
            format!(
                "Add to wrangler.toml and deploy again:\n\n[[durable_objects.bindings]]\nname = \"{binding}\"\n\
                 class_name = \"{binding}\"\n\n[[migrations]]\ntag = \"<a new one>\"\nnew_sqlite_classes = [\"{binding}\"]"
            ),
        )
    })
}

/// Calls an object of this Worker, in the trace of the work that is being done.
pub(super) async fn call(
    namespace: &ObjectNamespace,
    name: &str,
    method: &str,
    arguments: &Array,
) -> Result<Outcome, Failure> {
    let correlation_id = Trace::current().map(|trace| trace.correlation_id.clone()).unwrap_or_default();
    arguments.push(&correlation_id.into());
    let answer = stub::call(&stub::of(namespace, name)?, method, arguments).await?;
    let reply = Reply::parse(&answer.as_string().unwrap_or_default())
        .map_err(|error| Failure::unexpected("the workspace", error))?;
    trace::note(reply.deeds);
    Ok(reply.outcome)
}

fn of_sandbox(id: &SandboxId) -> String {
    format!("The workspace of the sandbox {:?}", id.as_str())
}

#[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
fn misunderstood(error: String) -> Error {
    Error::new(Code::Internal, format!("Objects of this Worker do not understand each other: {error}."), "Report it.")
}

/// What one Workspace object tells another.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Message {
    /// [`Workspaces::claim`]
    Claim {
        /// The first sandbox of the lineage.
        root_id: SandboxId,
        /// What the sandbox is made from.
        parent: Option<Parent>,
        /// What it stands for.
        standing: Option<Standing>,
        /// The marker that its container is going to carry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        marker: Option<String>,
    },
    /// [`Workspaces::release`]
    Release {
        /// The snapshot.
        snapshot_id: SnapshotId,
        /// Who does not need it any more.
        holder: SandboxId,
    },
    /// [`Workspaces::root`]
    Root,
    /// [`Workspaces::describe`]
    Describe,
    /// [`WorkspaceObjects::descent`]
    Descent,
    /// [`Workspaces::sweep`]
    Sweep {
        /// The backups with this workspace's mark, and the snapshots that they name.
        backups: Vec<(BackupId, SnapshotId)>,
        /// Whether they are only counted.
        dry_run: bool,
    },
    /// [`Workspaces::lend`]
    Lend {
        /// The snapshot.
        snapshot_id: SnapshotId,
        /// The sandbox that was made from it.
        holder: SandboxId,
    },
    /// [`Workspaces::find`]
    Find {
        /// The snapshot, as operations on snapshots name it.
        selection: Value,
        /// Who asks.
        tenant: Tenant,
    },
    /// [`Workspaces::newest`]
    Newest,
    /// [`Workspaces::reserve`]
    Reserve(ReserveRequest),
    /// [`Workspaces::look`]
    Look,
    /// [`Workspaces::stirred`]
    Stirred,
    /// [`Workspaces::resume`]
    Resume(Box<ResumeRequest>),
    /// [`Workspaces::halt`]
    Halt(HaltRequest),
    /// [`Workspaces::retire`]
    Retire {
        /// What it stands for.
        address: Address,
    },
}

impl Workspaces for WorkspaceObjects {
    async fn claim(
        &self,
        id: &SandboxId,
        root_id: &SandboxId,
        parent: Option<&Parent>,
        standing: Option<&Standing>,
        marker: Option<&str>,
    ) -> Result<bool, Failure> {
        let (parent, standing, marker) = (parent.cloned(), standing.cloned(), marker.map(str::to_owned));
        self.tell(id, &Message::Claim { root_id: root_id.clone(), parent, standing, marker }).await
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, holder: &SandboxId) -> Result<(), Failure> {
        self.tell(id, &Message::Release { snapshot_id: snapshot_id.clone(), holder: holder.clone() }).await
    }

    async fn root(&self, id: &SandboxId) -> Result<SandboxId, Failure> {
        self.tell(id, &Message::Root).await
    }

    async fn describe(&self, id: &SandboxId) -> Result<Description, Failure> {
        self.tell(id, &Message::Describe).await
    }

    async fn sweep(&self, id: &SandboxId, backups: &[(BackupId, SnapshotId)], dry_run: bool) -> Result<usize, Failure> {
        self.tell(id, &Message::Sweep { backups: backups.to_vec(), dry_run }).await
    }

    async fn lend(&self, id: &SandboxId, snapshot_id: &SnapshotId, holder: &SandboxId) -> Result<Loan> {
        self.order(id, &Message::Lend { snapshot_id: snapshot_id.clone(), holder: holder.clone() }).await
    }

    async fn find(&self, selection: &Selection, tenant: &Tenant) -> Result<LastSnapshot> {
        let id = selection.selector.origin_id();
        let selection = json::write(selection).map_err(misunderstood)?;
        self.order(id, &Message::Find { selection, tenant: tenant.clone() }).await
    }

    async fn newest(&self, id: &SandboxId) -> Result<Option<LastSnapshot>> {
        self.order(id, &Message::Newest).await
    }

    async fn capture(&self, request: &SnapshotRequest) -> Result<Taken> {
        let mut arguments = json::write(request).map_err(misunderstood)?;
        if let (Value::Object(arguments), Some(key)) = (&mut arguments, &request.idempotency_key) {
            arguments.insert("idempotencyKey".into(), key.as_str().into());
        }
        self.ask(&request.sandbox_id, "snapshot", &arguments).await
    }

    async fn set_policy(&self, id: &SandboxId, policy: &Policy) -> Result<()> {
        let arguments = json!({ "sandboxId": id, "policy": policy });
        self.ask(id, "setRetention", &arguments).await.map(|_: Value| ())
    }

    async fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> Result<bool> {
        self.order(id, &Message::Reserve(request.clone())).await
    }

    async fn look(&self, id: &SandboxId) -> Result<Condition> {
        self.order(id, &Message::Look).await
    }

    async fn stirred(&self, id: &SandboxId) -> Result<bool> {
        self.order(id, &Message::Stirred).await
    }

    async fn resume(&self, id: &SandboxId, request: &ResumeRequest) -> Result<Resumed> {
        self.order(id, &Message::Resume(Box::new(request.clone()))).await
    }

    async fn halt(&self, id: &SandboxId, request: &HaltRequest) -> Result<Halted> {
        self.order(id, &Message::Halt(request.clone())).await
    }

    async fn retire(&self, id: &SandboxId, address: &Address) -> Result<Retired> {
        self.order(id, &Message::Retire { address: address.clone() }).await
    }
}
