//! The Workspace objects, seen from the entrypoint and from each other.
//!
//! Each sandbox has one, by the sandbox's id. It is one place with one memory and one storage, where isolates of a Worker
//! share nothing, so it does the work: guards that hold for all callers can only be there. Arguments and answers pass as
//! text, which keeps JSON as it is.

use js_sys::Array;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wasm_bindgen::JsValue;
use worker::{Env, ObjectNamespace};

use super::stub;
use crate::model::answer::Description;
use crate::model::record::Parent;
use crate::model::{BackupId, Code, Error, Failure, Result, SandboxId, SnapshotId, json};
use crate::ports::Workspaces;

const BINDING: &str = "Workspace";

/// The Workspace objects of this Worker.
pub struct WorkspaceObjects {
    namespace: ObjectNamespace,
}

/// What a Workspace object answers: an exception would lose what an error carries.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The JSON that was asked for.
    Answer(Value),
    /// Why there is none.
    Error(Error),
}

impl WorkspaceObjects {
    /// Those in the namespace that is bound as `Workspace`.
    pub fn open(env: &Env) -> Result<Self> {
        let namespace = env.durable_object(BINDING).map_err(|_| {
            Error::new(
                Code::WorkspaceBindingMissing,
                format!("This Worker's own Durable Objects are not bound to it as {BINDING:?}. Nothing was touched."),
                format!(
                    "Add to wrangler.toml and deploy again:\n\n[[durable_objects.bindings]]\nname = \"{BINDING}\"\n\
                     class_name = \"{BINDING}\"\n\n[[migrations]]\ntag = \"<a new one>\"\nnew_sqlite_classes = [\"{BINDING}\"]"
                ),
            )
        })?;
        Ok(Self { namespace })
    }

    /// Has the Workspace object of `id` carry an operation out. `signal` is an `AbortSignal`, or undefined. It is a failure
    /// of the operation when the object can't be reached.
    pub async fn perform(&self, id: &SandboxId, operation: &str, arguments: &Value, signal: &JsValue) -> Result<Value> {
        let failed = |failure: Failure| {
            Error::new(
                Code::WorkspaceUnavailable,
                format!("The workspace of the sandbox {:?} could not be reached: {}", id.as_str(), failure.message),
                "Whether the operation was carried out is not known. Look before you try again.",
            )
            .caused_by(failure)
        };
        let list = Array::of4(&id.as_str().into(), &operation.into(), &arguments.to_string().into(), signal);
        match self.call(id, "perform", &list).await.map_err(failed)? {
            Outcome::Answer(answer) => Ok(answer),
            Outcome::Error(error) => Err(error),
        }
    }

    async fn tell<T: DeserializeOwned>(&self, id: &SandboxId, message: &Message) -> Result<T, Failure> {
        let unexpected = |error: String| Failure::unexpected("the workspace", error);
        let message = json::print(message).map_err(unexpected)?;
        match self.call(id, "receive", &Array::of2(&id.as_str().into(), &message.into())).await? {
            Outcome::Answer(answer) => json::read(&answer).map_err(unexpected),
            Outcome::Error(error) => Err(Failure::new(error.code().as_str(), error.message())),
        }
    }

    async fn call(&self, id: &SandboxId, method: &str, arguments: &Array) -> Result<Outcome, Failure> {
        let answer = stub::call(&self.namespace, id.as_str(), method, arguments).await?;
        json::parse(&answer.as_string().unwrap_or_default())
            .map_err(|error| Failure::unexpected("the workspace", error))
    }
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
        parent: Parent,
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
    /// [`Workspaces::sweep`]
    Sweep {
        /// The backups with this workspace's mark, and the snapshots that they name.
        backups: Vec<(BackupId, SnapshotId)>,
        /// Whether they are only counted.
        dry_run: bool,
    },
}

impl Workspaces for WorkspaceObjects {
    async fn claim(&self, id: &SandboxId, root_id: &SandboxId, parent: &Parent) -> Result<bool, Failure> {
        self.tell(id, &Message::Claim { root_id: root_id.clone(), parent: parent.clone() }).await
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
}
