//! The object of a named workspace, and the Directory that lists them.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use js_sys::Promise;
use serde_json::Value;
use wasm_bindgen::prelude::*;
use worker::Env;

use super::objects::{alarm, answer, unexpected};
use super::operations::{Operation, Target, run_named, target_of, to_json};
use super::room::Room;
use crate::cloudflare::Deployment;
use crate::cloudflare::deployment::Platform;
use crate::cloudflare::index::SqlIndex;
use crate::cloudflare::names::{DirectoryMessage, NamedMessage};
use crate::cloudflare::runtime::abort_of;
use crate::model::named::Address;
use crate::model::{Result, json};
use crate::ports::{Home, Ports};
use crate::service::named::NamedWorkspace as Service;
use crate::service::{Abort, directory};

/// The Rust side of the Durable Object class `NamedWorkspace`.
#[wasm_bindgen]
pub struct NamedWorkspace {
    inner: AssertUnwindSafe<Rc<Inner>>,
}

struct Inner {
    name: Option<String>,
    deployment: Result<Deployment>,
    room: Room,
    service: RefCell<Option<(Address, Service<Platform>)>>,
}

#[wasm_bindgen]
impl NamedWorkspace {
    /// The object called `name`, as the runtime makes it. The runtime does not know the name of every object.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::needless_pass_by_value)] // The shape of what JavaScript calls.
    pub fn new(name: Option<String>, ctx: JsValue, env: Env) -> Self {
        let deployment = Deployment::open_named(&env, ctx);
        Self {
            inner: AssertUnwindSafe(Rc::new(Inner {
                name,
                deployment,
                room: Room::default(),
                service: RefCell::default(),
            })),
        }
    }

    /// Carries an operation out for the workspace `address`. `arguments` is JSON, `signal` an `AbortSignal` or undefined.
    pub fn perform(
        &self,
        address: String,
        operation: String,
        arguments: String,
        signal: JsValue,
        correlation_id: String,
    ) -> Promise {
        let inner = Rc::clone(&self.inner);
        answer(correlation_id, async move {
            let _part = inner.room.enter(arguments.len(), &format!("the workspace {address:?}"))?;
            let operation = Operation::by_name(&operation).ok_or_else(|| unexpected("no operation"))?;
            let arguments: Value = serde_json::from_str(&arguments).map_err(|_| unexpected("no JSON"))?;
            let address = Address::parse(&address)?;
            let service = inner.service(&address)?;
            if target_of(operation, &arguments)? != Target::Named(address) {
                return Err(unexpected("another workspace's operation"));
            }
            let abort = signal.dyn_ref().map_or_else(Abort::never, abort_of);
            run_named(&service, operation, &arguments, abort).await
        })
    }

    /// Takes a [`NamedMessage`] of another object for the workspace `address`, as JSON.
    pub fn receive(&self, address: String, message: String, correlation_id: String) -> Promise {
        let inner = Rc::clone(&self.inner);
        answer(correlation_id, async move {
            let message: NamedMessage = json::parse(&message).map_err(|_| unexpected("no message"))?;
            let service = inner.service(&Address::parse(&address)?)?;
            match message {
                NamedMessage::Source { key } => to_json(&service.source(key).await?),
            }
        })
    }

    /// What the alarm calls.
    pub fn alarm(&self) -> Promise {
        let inner = Rc::clone(&self.inner);
        let known = Rc::clone(&self.inner);
        let whose = move || known.words();
        alarm(whose, async move {
            match inner.known()? {
                Some(service) => service.alarm().await,
                None => Ok(()),
            }
        })
    }
}

impl Inner {
    /// The service of the workspace, which must be this object's.
    fn service(&self, address: &Address) -> Result<Service<Platform>> {
        if self.name.as_ref().is_some_and(|name| *name != address.to_string()) {
            return Err(unexpected("another workspace's operation"));
        }
        let deployment = self.deployment.as_ref().map_err(Clone::clone)?;
        let mut known = self.service.borrow_mut();
        match &*known {
            Some((known, service)) if known == address => Ok(service.clone()),
            Some(_) => Err(unexpected("another workspace's operation")),
            None => {
                let service = deployment.named(address.clone());
                *known = Some((address.clone(), service.clone()));
                Ok(service)
            }
        }
    }

    /// The service of this object's workspace, as far as that is known: an object that its alarm has woken may have to look into
    /// its storage for that.
    fn known(&self) -> Result<Option<Service<Platform>>> {
        let deployment = self.deployment.as_ref().map_err(Clone::clone)?;
        let address = match &self.name {
            Some(name) => Some(Address::parse(name)?),
            None => deployment.platform().home()?.named()?.map(|record| record.address),
        };
        address.map(|address| self.service(&address)).transpose()
    }

    /// Whose workspace it is and what it is called, as far as that is known.
    fn words(&self) -> Vec<(&'static str, String)> {
        let named = self.name.as_ref().and_then(|name| Address::parse(name).ok());
        let known = named.or_else(|| Some(self.service.borrow().as_ref()?.0.clone()));
        let Some(address) = known else { return Vec::new() };
        vec![("tenant", address.tenant.to_string()), ("name", address.name.to_string())]
    }
}

/// The Rust side of the Durable Object class `Directory`, which lists the workspaces of one tenant.
#[wasm_bindgen]
pub struct Directory {
    index: AssertUnwindSafe<Rc<Result<SqlIndex>>>,
}

#[wasm_bindgen]
impl Directory {
    /// The object whose state `ctx` is.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::needless_pass_by_value)] // The shape of what JavaScript calls.
    pub fn new(ctx: JsValue) -> Self {
        Self { index: AssertUnwindSafe(Rc::new(SqlIndex::open(&ctx))) }
    }

    /// Takes a [`DirectoryMessage`], as JSON.
    pub fn receive(&self, message: String, correlation_id: String) -> Promise {
        let index = Rc::clone(&self.index);
        answer(correlation_id, async move {
            let message: DirectoryMessage = json::parse(&message).map_err(|_| unexpected("no message"))?;
            let index = index.as_ref().as_ref().map_err(Clone::clone)?;
            match message {
                DirectoryMessage::Note(entry) => to_json(&directory::note(index, &entry)?),
                DirectoryMessage::List(request) => to_json(&directory::list(index, &request)?),
            }
        })
    }
}
