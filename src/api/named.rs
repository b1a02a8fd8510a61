//! The `NamedWorkspace` object, and the Directory object that lists named workspaces.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use js_sys::Promise;
use serde_json::Value;
use wasm_bindgen::prelude::*;
use worker::Env;

use super::memory_budget::MemoryBudget;
use super::objects::{protocol, respond, run_alarm};
use super::operations::{Operation, Request, Target, run_named, to_json};
use crate::cloudflare::Deployment;
use crate::cloudflare::deployment::WorkerPorts;
use crate::cloudflare::directory_store::SqlDirectoryStore;
use crate::cloudflare::named_workspaces::{DirectoryMessage, NamedMessage};
use crate::cloudflare::runtime::cancellation_token;
use crate::model::named::Address;
use crate::model::{Result, json};
use crate::ports::{Ports, WorkspaceStore};
use crate::service::CancellationToken;
use crate::service::workspace::{NamedWorkspace as Service, directory};

/// The Rust side of the Durable Object class `NamedWorkspace`.
#[wasm_bindgen]
pub struct NamedWorkspace {
    inner: AssertUnwindSafe<Rc<Inner>>,
}

struct Inner {
    name: Option<String>,
    deployment: Result<Deployment>,
    memory_budget: MemoryBudget,
    service: RefCell<Option<(Address, Service<WorkerPorts>)>>,
}

#[wasm_bindgen]
impl NamedWorkspace {
    /// Creates the object with the name `name`, which the runtime does not provide for every object.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::needless_pass_by_value)] // JavaScript passes it by value.
    pub fn new(name: Option<String>, ctx: JsValue, env: Env) -> Self {
        let deployment = Deployment::open_named(&env, ctx);
        Self {
            inner: AssertUnwindSafe(Rc::new(Inner {
                name,
                deployment,
                memory_budget: MemoryBudget::default(),
                service: RefCell::default(),
            })),
        }
    }

    /// Runs an operation for the workspace `address`. `arguments` is JSON, `signal` an `AbortSignal` or undefined.
    pub fn call(
        &self,
        address: String,
        operation: String,
        arguments: String,
        signal: JsValue,
        correlation_id: String,
    ) -> Promise {
        let inner = Rc::clone(&self.inner);
        respond(correlation_id, async move {
            let _reservation = inner.memory_budget.reserve(arguments.len(), &format!("the workspace {address:?}"))?;
            let operation = Operation::by_name(&operation).ok_or_else(|| protocol("an unknown operation"))?;
            let arguments: Value =
                serde_json::from_str(&arguments).map_err(|_| protocol("arguments that are not JSON"))?;
            let address = Address::parse(&address)?;
            let service = inner.service(&address)?;
            let request = Request::decode(operation, &arguments)?;
            if request.target() != Target::Named(address) {
                return Err(protocol("an operation for another workspace"));
            }
            let abort = signal.dyn_ref().map_or_else(CancellationToken::never, cancellation_token);
            run_named(&service, request, abort).await
        })
    }

    /// Handles a [`NamedMessage`] from another object for the workspace `address`, as JSON.
    #[wasm_bindgen(js_name = handleCall)]
    pub fn handle_call(&self, address: String, message: String, correlation_id: String) -> Promise {
        let inner = Rc::clone(&self.inner);
        respond(correlation_id, async move {
            let message: NamedMessage = json::from_str(&message).map_err(|_| protocol("an invalid message"))?;
            let service = inner.service(&Address::parse(&address)?)?;
            match message {
                NamedMessage::Source { key } => to_json(&service.source(key).await?),
            }
        })
    }

    /// Runs the due tasks of the workspace. The alarm calls it.
    pub fn alarm(&self) -> Promise {
        let inner = Rc::clone(&self.inner);
        let for_log = Rc::clone(&self.inner);
        let log_fields = move || for_log.log_fields();
        run_alarm(log_fields, async move {
            match inner.service_if_known()? {
                Some(service) => service.alarm().await,
                None => Ok(()),
            }
        })
    }
}

impl Inner {
    /// Returns the service of the workspace `address`, and caches it. Fails when the object belongs to another
    /// workspace.
    fn service(&self, address: &Address) -> Result<Service<WorkerPorts>> {
        if self.name.as_ref().is_some_and(|name| *name != address.to_string()) {
            return Err(protocol("an operation for another workspace"));
        }
        let deployment = self.deployment.as_ref().map_err(Clone::clone)?;
        let mut cached = self.service.borrow_mut();
        match &*cached {
            Some((own, service)) if own == address => Ok(service.clone()),
            Some(_) => Err(protocol("an operation for another workspace")),
            None => {
                let service = deployment.named_workspace(address.clone());
                *cached = Some((address.clone(), service.clone()));
                Ok(service)
            }
        }
    }

    /// Returns the service of this object's workspace; `None` when the workspace is unknown. If the runtime does not
    /// provide the name of the object, as after an alarm, the address comes from the record.
    fn service_if_known(&self) -> Result<Option<Service<WorkerPorts>>> {
        let deployment = self.deployment.as_ref().map_err(Clone::clone)?;
        let address = match &self.name {
            Some(name) => Some(Address::parse(name)?),
            None => deployment.ports().workspace_store()?.record()?.map(|record| record.address),
        };
        address.map(|address| self.service(&address)).transpose()
    }

    /// Returns the tenant and the name of the workspace for the log; empty when they are unknown.
    fn log_fields(&self) -> Vec<(&'static str, String)> {
        let parsed = self.name.as_ref().and_then(|name| Address::parse(name).ok());
        let address = parsed.or_else(|| Some(self.service.borrow().as_ref()?.0.clone()));
        let Some(address) = address else { return Vec::new() };
        vec![("tenant", address.tenant.to_string()), ("name", address.name.to_string())]
    }
}

/// The Rust side of the Durable Object class `Directory`, which lists the workspaces of one tenant.
#[wasm_bindgen]
pub struct Directory {
    store: AssertUnwindSafe<Rc<Result<SqlDirectoryStore>>>,
}

#[wasm_bindgen]
impl Directory {
    /// Creates the object over the storage of `ctx`.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::needless_pass_by_value)] // JavaScript passes it by value.
    pub fn new(ctx: JsValue) -> Self {
        Self { store: AssertUnwindSafe(Rc::new(SqlDirectoryStore::open(&ctx))) }
    }

    /// Handles a [`DirectoryMessage`], as JSON.
    #[wasm_bindgen(js_name = handleCall)]
    pub fn handle_call(&self, message: String, correlation_id: String) -> Promise {
        let store = Rc::clone(&self.store);
        respond(correlation_id, async move {
            let message: DirectoryMessage = json::from_str(&message).map_err(|_| protocol("an invalid message"))?;
            let store = store.as_ref().as_ref().map_err(Clone::clone)?;
            match message {
                DirectoryMessage::Note(entry) => to_json(&directory::record_entry(store, &entry)?),
                DirectoryMessage::List(request) => to_json(&directory::list(store, &request)?),
            }
        })
    }
}
