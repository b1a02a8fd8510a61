//! The Workspace object, which does the work for one sandbox.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use js_sys::Promise;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use worker::Env;

use super::memory_budget::MemoryBudget;
use super::objects::{protocol, respond, run_alarm};
use super::operations::{Operation, Request, Target, run_sandbox, to_json};
use crate::cloudflare::Deployment;
use crate::cloudflare::deployment::WorkerPorts;
use crate::cloudflare::runtime::cancellation_token;
use crate::cloudflare::workspaces::Message;
use crate::model::{self, Result, SandboxId, Selection};
use crate::ports::{Ledger, Ports};
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// The Rust side of the Durable Object class `Workspace`. It exists while the object is in memory, and so does the
/// in-process state of its snapshotter.
#[wasm_bindgen]
pub struct Workspace {
    inner: AssertUnwindSafe<Rc<Inner>>,
}

struct Inner {
    name: Option<String>,
    deployment: Result<Deployment>,
    memory_budget: MemoryBudget,
    snapshotter: RefCell<Option<(SandboxId, CloudflareSandboxSnapshotter<WorkerPorts>)>>,
}

#[wasm_bindgen]
impl Workspace {
    /// Creates the object with the name `name`, which the runtime does not provide for every object.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::needless_pass_by_value)] // JavaScript passes it by value.
    pub fn new(name: Option<String>, ctx: JsValue, env: Env) -> Self {
        let deployment = Deployment::open_workspace(&env, ctx);
        Self {
            inner: AssertUnwindSafe(Rc::new(Inner {
                name,
                deployment,
                memory_budget: MemoryBudget::default(),
                snapshotter: RefCell::default(),
            })),
        }
    }

    /// Runs an operation for the sandbox `id`. `arguments` is JSON, `signal` an `AbortSignal` or undefined. Returns an
    /// [`RpcEnvelope`](crate::cloudflare::workspaces::RpcEnvelope) as text, and never throws.
    pub fn call(
        &self,
        id: String,
        operation: String,
        arguments: String,
        signal: JsValue,
        correlation_id: String,
    ) -> Promise {
        let inner = Rc::clone(&self.inner);
        respond(correlation_id, async move {
            let _reservation = inner.memory_budget.reserve(arguments.len(), &format!("the sandbox {id:?}"))?;
            let operation = Operation::by_name(&operation).ok_or_else(|| protocol("an unknown operation"))?;
            let arguments: Value =
                serde_json::from_str(&arguments).map_err(|_| protocol("arguments that are not JSON"))?;
            let snapshotter = inner.snapshotter(&id)?;
            let request = Request::decode(operation, &arguments)?;
            if request.target() != Target::Sandbox(SandboxId::parse(&id)?) {
                return Err(protocol("an operation for another sandbox"));
            }
            let abort = signal.dyn_ref().map_or_else(CancellationToken::never, cancellation_token);
            run_sandbox(&snapshotter, request, abort).await
        })
    }

    /// Handles a [`Message`] from another object for the sandbox `id`, as JSON. Returns the same as [`Self::call`].
    #[wasm_bindgen(js_name = handleCall)]
    pub fn handle_call(&self, id: String, message: String, correlation_id: String) -> Promise {
        let inner = Rc::clone(&self.inner);
        respond(correlation_id, async move {
            let message: Message = model::json::from_str(&message).map_err(|_| protocol("an invalid message"))?;
            let snapshotter = inner.snapshotter(&id)?;
            Ok(match message {
                Message::Claim { root_id, parent, binding, marker } => {
                    json!(snapshotter.claim(&root_id, parent.as_ref(), binding.as_ref(), marker.as_deref())?)
                }
                Message::Release { snapshot_id, dependent } => {
                    json!(snapshotter.release(&snapshot_id, &dependent)?)
                }
                Message::Root => json!(snapshotter.root()?),
                Message::Describe => json!(snapshotter.describe()?),
                Message::Descent => json!(snapshotter.descent()?),
                Message::Sweep { backups, dry_run } => json!(snapshotter.sweep(&backups, dry_run).await?),
                Message::GetForRestore { snapshot_id, dependent } => {
                    to_json(&snapshotter.get_for_restore(&snapshot_id, &dependent).await?)?
                }
                Message::Find { selection, tenant } => {
                    to_json(&snapshotter.find_snapshot(Selection::decode(&selection)?, &tenant).await?)?
                }
                Message::Newest => to_json(&snapshotter.newest_snapshot().await?)?,
                Message::Reserve(request) => json!(snapshotter.reserve(&request).await?),
                Message::ProbeCondition => to_json(&snapshotter.condition().await?)?,
                Message::ChangedSinceWatch => json!(snapshotter.changed_since_watch().await?),
                Message::EnsureRunning(request) => to_json(&snapshotter.ensure_running(*request).await?)?,
                Message::StopSandbox(request) => to_json(&snapshotter.stop_sandbox(request).await?)?,
                Message::Decommission { address } => to_json(&snapshotter.decommission(address).await?)?,
            })
        })
    }

    /// Runs the due tasks of the sandbox. The alarm calls it.
    pub fn alarm(&self) -> Promise {
        let inner = Rc::clone(&self.inner);
        let for_log = Rc::clone(&self.inner);
        let log_fields = move || for_log.id().map(|id| ("sandboxId", id)).into_iter().collect();
        run_alarm(log_fields, async move {
            match inner.snapshotter_if_known()? {
                Some(snapshotter) => snapshotter.alarm().await,
                None => Ok(()),
            }
        })
    }
}

impl Inner {
    /// Returns the snapshotter of the sandbox `id`, and caches it. Fails when the object belongs to another sandbox.
    fn snapshotter(&self, id: &str) -> Result<CloudflareSandboxSnapshotter<WorkerPorts>> {
        let id = SandboxId::parse(id)?;
        if self.name.as_ref().is_some_and(|name| name != id.as_str()) {
            return Err(protocol("an operation for another sandbox"));
        }
        let deployment = self.deployed()?;
        let mut cached = self.snapshotter.borrow_mut();
        match &*cached {
            Some((own, snapshotter)) if *own == id => Ok(snapshotter.clone()),
            Some(_) => Err(protocol("an operation for another sandbox")),
            None => {
                let snapshotter = deployment.snapshotter(id.clone());
                *cached = Some((id, snapshotter.clone()));
                Ok(snapshotter)
            }
        }
    }

    /// Returns the snapshotter of this object's sandbox; `None` when the sandbox is unknown. If the runtime does not
    /// provide the name of the object, as after an alarm, the id comes from the ledger.
    fn snapshotter_if_known(&self) -> Result<Option<CloudflareSandboxSnapshotter<WorkerPorts>>> {
        let id = match &self.name {
            Some(name) => Some(name.clone()),
            None => self.deployed()?.ports().ledger()?.workspace()?.map(|workspace| workspace.sandbox_id.into()),
        };
        id.map(|id| self.snapshotter(&id)).transpose()
    }

    /// Returns the id of this object's sandbox; `None` when it is unknown.
    fn id(&self) -> Option<String> {
        self.name.clone().or_else(|| Some(self.snapshotter.borrow().as_ref()?.0.to_string()))
    }

    fn deployed(&self) -> Result<&Deployment> {
        self.deployment.as_ref().map_err(Clone::clone)
    }
}
