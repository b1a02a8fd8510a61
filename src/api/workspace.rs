//! The Workspace object, which does the work for one sandbox.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use js_sys::Promise;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use worker::Env;

use super::objects::{alarm, answer, unexpected};
use super::operations::{Operation, Target, run, target_of, to_json};
use super::room::Room;
use crate::cloudflare::Deployment;
use crate::cloudflare::deployment::Platform;
use crate::cloudflare::runtime::abort_of;
use crate::cloudflare::workspaces::Message;
use crate::model::{self, Result, SandboxId, Selection};
use crate::ports::{Ledger, Ports};
use crate::service::{Abort, CloudflareSandboxSnapshotter};

/// The Rust side of the Durable Object class `Workspace`. It lives as long as the object is in memory, and so does what its
/// snapshotter knows to be under way.
#[wasm_bindgen]
pub struct Workspace {
    inner: AssertUnwindSafe<Rc<Inner>>,
}

struct Inner {
    name: Option<String>,
    deployment: Result<Deployment>,
    room: Room,
    snapshotter: RefCell<Option<(SandboxId, CloudflareSandboxSnapshotter<Platform>)>>,
}

#[wasm_bindgen]
impl Workspace {
    /// The object called `name`, as the runtime makes it. The runtime does not know the name of every object.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::needless_pass_by_value)] // The shape of what JavaScript calls.
    pub fn new(name: Option<String>, ctx: JsValue, env: Env) -> Self {
        let deployment = Deployment::open_workspace(&env, ctx);
        Self {
            inner: AssertUnwindSafe(Rc::new(Inner {
                name,
                deployment,
                room: Room::default(),
                snapshotter: RefCell::default(),
            })),
        }
    }

    /// Carries an operation out for the sandbox `id`. `arguments` is JSON, `signal` an `AbortSignal` or undefined. Answers
    /// a [`Reply`](crate::cloudflare::workspaces::Reply) as text, and never throws.
    pub fn perform(
        &self,
        id: String,
        operation: String,
        arguments: String,
        signal: JsValue,
        correlation_id: String,
    ) -> Promise {
        let inner = Rc::clone(&self.inner);
        answer(correlation_id, async move {
            let _part = inner.room.enter(arguments.len(), &format!("the sandbox {id:?}"))?;
            let operation = Operation::by_name(&operation).ok_or_else(|| unexpected("no operation"))?;
            let arguments: Value = serde_json::from_str(&arguments).map_err(|_| unexpected("no JSON"))?;
            let snapshotter = inner.snapshotter(&id)?;
            if target_of(operation, &arguments)? != Target::Sandbox(SandboxId::parse(&id)?) {
                return Err(unexpected("another sandbox's operation"));
            }
            let abort = signal.dyn_ref().map_or_else(Abort::never, abort_of);
            run(&snapshotter, operation, &arguments, abort).await
        })
    }

    /// Takes a [`Message`] of another Workspace object for the sandbox `id`, as JSON. Answers as [`Self::perform`]
    /// does.
    pub fn receive(&self, id: String, message: String, correlation_id: String) -> Promise {
        let inner = Rc::clone(&self.inner);
        answer(correlation_id, async move {
            let message: Message = model::json::parse(&message).map_err(|_| unexpected("no message"))?;
            let snapshotter = inner.snapshotter(&id)?;
            Ok(match message {
                Message::Claim { root_id, parent, standing, marker } => {
                    json!(snapshotter.claim(&root_id, parent.as_ref(), standing.as_ref(), marker.as_deref())?)
                }
                Message::Release { snapshot_id, holder } => json!(snapshotter.release(&snapshot_id, &holder)?),
                Message::Root => json!(snapshotter.root()?),
                Message::Describe => json!(snapshotter.describe()?),
                Message::Descent => json!(snapshotter.descent()?),
                Message::Sweep { backups, dry_run } => json!(snapshotter.sweep(&backups, dry_run).await?),
                Message::Lend { snapshot_id, holder } => to_json(&snapshotter.lend(&snapshot_id, &holder).await?)?,
                Message::Find { selection, tenant } => {
                    to_json(&snapshotter.find(Selection::decode(&selection)?, &tenant).await?)?
                }
                Message::Newest => to_json(&snapshotter.newest().await?)?,
                Message::Reserve(request) => json!(snapshotter.reserve(&request).await?),
                Message::Look => to_json(&snapshotter.look().await?)?,
                Message::Stirred => json!(snapshotter.stirred().await?),
                Message::Resume(request) => to_json(&snapshotter.resume(*request).await?)?,
                Message::Halt(request) => to_json(&snapshotter.halt(request).await?)?,
                Message::Retire { address } => to_json(&snapshotter.retire(address).await?)?,
            })
        })
    }

    /// What the alarm calls.
    pub fn alarm(&self) -> Promise {
        let inner = Rc::clone(&self.inner);
        let known = Rc::clone(&self.inner);
        let whose = move || known.id().map(|id| ("sandboxId", id)).into_iter().collect();
        alarm(whose, async move {
            match inner.known()? {
                Some(snapshotter) => snapshotter.alarm().await,
                None => Ok(()),
            }
        })
    }
}

impl Inner {
    /// The snapshotter of the sandbox `id`, which must be this object's.
    fn snapshotter(&self, id: &str) -> Result<CloudflareSandboxSnapshotter<Platform>> {
        let id = SandboxId::parse(id)?;
        if self.name.as_ref().is_some_and(|name| name != id.as_str()) {
            return Err(unexpected("another sandbox's operation"));
        }
        let deployment = self.deployed()?;
        let mut known = self.snapshotter.borrow_mut();
        match &*known {
            Some((known, snapshotter)) if *known == id => Ok(snapshotter.clone()),
            Some(_) => Err(unexpected("another sandbox's operation")),
            None => {
                let snapshotter = deployment.snapshotter(id.clone());
                *known = Some((id, snapshotter.clone()));
                Ok(snapshotter)
            }
        }
    }

    /// The snapshotter of this object's sandbox, as far as that is known: an object that its alarm has woken may have to look
    /// into its ledger for that.
    fn known(&self) -> Result<Option<CloudflareSandboxSnapshotter<Platform>>> {
        let id = match &self.name {
            Some(name) => Some(name.clone()),
            None => self.deployed()?.platform().ledger()?.workspace()?.map(|workspace| workspace.sandbox_id.into()),
        };
        id.map(|id| self.snapshotter(&id)).transpose()
    }

    /// The id of this object's sandbox, as far as it is known.
    fn id(&self) -> Option<String> {
        self.name.clone().or_else(|| Some(self.snapshotter.borrow().as_ref()?.0.to_string()))
    }

    fn deployed(&self) -> Result<&Deployment> {
        self.deployment.as_ref().map_err(Clone::clone)
    }
}
