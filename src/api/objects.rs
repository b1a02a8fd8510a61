//! The Durable Objects of this Worker: what their classes have in common.

use std::cell::RefCell;
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use futures_util::FutureExt;
use js_sys::Promise;
use js_sys::futures::future_to_promise;
use serde::de::DeserializeOwned;
use serde_json::Value;
use wasm_bindgen::prelude::*;
use worker::Env;

use super::access_log::{correlation_id, log_error};
use super::memory_budget::MemoryBudget;
use super::operations::{Operation, Request, Target};
use crate::cloudflare::Deployment;
use crate::cloudflare::log::LogLine;
use crate::cloudflare::objects::{Outcome, RpcEnvelope};
use crate::cloudflare::runtime::{WorkerClock, cancellation_token};
use crate::model::json::{self, RawJson};
use crate::model::{Error, Result};
use crate::ports::Clock;
use crate::service::CancellationToken;
use crate::service::calls::call_context::CallContext;

/// The service of an object: of one sandbox, or of one named workspace.
#[allow(async_fn_in_trait)] // Workers are single-threaded.
pub(super) trait ObjectService: Clone + 'static {
    /// What the object is for. Its text is the name of the object.
    type Id: Clone + PartialEq + Display + 'static;
    /// The messages of other objects.
    type Message: DeserializeOwned;
    /// The durable storage of the object.
    type Storage: 'static;
    /// What the object is for, in messages.
    const KIND: &'static str;

    /// Parses the name of the object.
    fn parse_id(name: &str) -> Result<Self::Id>;

    /// Opens the storage of the object with the state `ctx`.
    ///
    /// # Errors
    /// [`Code::LedgerTooNew`](crate::model::Code::LedgerTooNew) when it has a later version.
    fn open_storage(ctx: &JsValue) -> Result<Self::Storage>;

    /// Returns the id in the storage; `None` if it contains nothing yet.
    fn stored_id(storage: &Self::Storage) -> Result<Option<Self::Id>>;

    /// Returns the service for `id`.
    fn open(deployment: &Deployment, storage: Rc<Self::Storage>, id: Self::Id) -> Self;

    /// Returns the target of the operations that the object runs.
    fn target(id: Self::Id) -> Target;

    /// Returns the members of log lines.
    fn log_fields(id: &Self::Id) -> Vec<(&'static str, String)>;

    /// Runs an operation.
    async fn run(&self, request: Request, abort: CancellationToken) -> Result<Value>;

    /// Handles a message.
    async fn handle(&self, message: Self::Message) -> Result<Value>;

    /// Runs the due tasks.
    async fn alarm(&self) -> Result<()>;
}

/// An object with its service. It exists while the object is in memory, and so does the in-process state of the service.
pub(super) struct Object<S: ObjectService> {
    name: Option<String>,
    opened: Result<(Deployment, Rc<S::Storage>)>,
    memory_budget: MemoryBudget,
    service: RefCell<Option<(S::Id, S)>>,
}

/// Declares the class of an object for JavaScript.
macro_rules! object_class {
    ($(#[$doc:meta])+ $Class:ident, $Service:ty) => {
        $(#[$doc])+
        #[wasm_bindgen]
        pub struct $Class(AssertUnwindSafe<Rc<Object<$Service>>>);

        #[wasm_bindgen]
        impl $Class {
            /// Creates the object with the name `name`, which the runtime does not provide for every object.
            #[wasm_bindgen(constructor)]
            #[allow(clippy::needless_pass_by_value)] // JavaScript passes it by value.
            pub fn new(name: Option<String>, ctx: JsValue, env: Env) -> Self {
                Self(AssertUnwindSafe(Rc::new(Object::new(name, &ctx, &env))))
            }

            /// Runs an operation for `id`. `arguments` is JSON, `signal` an `AbortSignal` or undefined. Returns an
            /// [`RpcEnvelope`](crate::cloudflare::objects::RpcEnvelope) as text, and never throws.
            pub fn call(
                &self,
                id: String,
                operation: String,
                arguments: String,
                signal: JsValue,
                correlation_id: String,
            ) -> Promise {
                let object = Rc::clone(&self.0);
                respond(correlation_id, async move { object.run(&id, &operation, &arguments, &signal).await })
            }

            /// Handles a message of another object for `id`, as JSON. Returns the same as [`Self::call`].
            #[wasm_bindgen(js_name = handleCall)]
            pub fn handle_call(&self, id: String, message: String, correlation_id: String) -> Promise {
                let object = Rc::clone(&self.0);
                respond(correlation_id, async move { object.handle(&id, &message).await })
            }

            /// Runs the due tasks. The alarm calls it.
            pub fn alarm(&self) -> Promise {
                let object = Rc::clone(&self.0);
                let for_log = Rc::clone(&self.0);
                run_alarm(move || for_log.log_fields(), async move { object.alarm().await })
            }
        }
    };
}
pub(super) use object_class;

impl<S: ObjectService> Object<S> {
    pub fn new(name: Option<String>, ctx: &JsValue, env: &Env) -> Self {
        let opened =
            Deployment::open(env, ctx.clone()).and_then(|deployment| Ok((deployment, Rc::new(S::open_storage(ctx)?))));
        Self { name, opened, memory_budget: MemoryBudget::default(), service: RefCell::default() }
    }

    /// Runs an operation.
    pub async fn run(&self, id: &str, operation: &str, arguments: &str, signal: &JsValue) -> Result<Value> {
        let _reservation = self.memory_budget.reserve(arguments.len(), &format!("the {} {id:?}", S::KIND))?;
        let operation = Operation::by_name(operation).ok_or_else(|| Error::protocol("an unknown operation"))?;
        let arguments: Value =
            serde_json::from_str(arguments).map_err(|_| Error::protocol("arguments that are not JSON"))?;
        let id = S::parse_id(id)?;
        let service = self.service(&id)?;
        let request = Request::decode(operation, &arguments)?;
        if request.target() != S::target(id) {
            return Err(other_target::<S>());
        }
        let abort = signal.dyn_ref().map_or_else(CancellationToken::never, cancellation_token);
        service.run(request, abort).await
    }

    /// Handles a message.
    pub async fn handle(&self, id: &str, message: &str) -> Result<Value> {
        let message = json::from_str(message).map_err(|_| Error::protocol("an invalid message"))?;
        self.service(&S::parse_id(id)?)?.handle(message).await
    }

    /// Runs the due tasks. Does nothing if the id is unknown. If the runtime does not provide the name of the object, as
    /// after an alarm, the id comes from the storage.
    pub async fn alarm(&self) -> Result<()> {
        let id = match &self.name {
            Some(name) => Some(S::parse_id(name)?),
            None => S::stored_id(&self.opened()?.1)?,
        };
        match id {
            Some(id) => self.service(&id)?.alarm().await,
            None => Ok(()),
        }
    }

    /// Returns the members of log lines; none if the id is unknown.
    pub fn log_fields(&self) -> Vec<(&'static str, String)> {
        let parsed = self.name.as_ref().and_then(|name| S::parse_id(name).ok());
        let id = parsed.or_else(|| Some(self.service.borrow().as_ref()?.0.clone()));
        id.map(|id| S::log_fields(&id)).unwrap_or_default()
    }

    /// Returns the service for `id`, and caches it. Fails when the object has another id.
    fn service(&self, id: &S::Id) -> Result<S> {
        if self.name.as_ref().is_some_and(|name| *name != id.to_string()) {
            return Err(other_target::<S>());
        }
        let (deployment, storage) = self.opened()?;
        let mut cached = self.service.borrow_mut();
        match &*cached {
            Some((own, service)) if own == id => Ok(service.clone()),
            Some(_) => Err(other_target::<S>()),
            None => {
                let service = S::open(deployment, Rc::clone(storage), id.clone());
                *cached = Some((id.clone(), service.clone()));
                Ok(service)
            }
        }
    }

    fn opened(&self) -> Result<&(Deployment, Rc<S::Storage>)> {
        self.opened.as_ref().map_err(Clone::clone)
    }
}

/// Resets this WebAssembly module if a call has trapped, so that JavaScript uses no pointer into the old instance.
#[wasm_bindgen(js_name = resetIfTrapped)]
pub fn reset_if_trapped() {}

/// Runs `work` with a correlation id, and returns its outcome as the text of an [`RpcEnvelope`]. Never throws, because
/// an exception would lose the members of an error.
pub(super) fn respond(correlation_id: String, work: impl Future<Output = Result<Value>> + 'static) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let context = CallContext::new(correlation_id);
        let outcome =
            AssertUnwindSafe(context.scope(work)).catch_unwind().await.unwrap_or_else(|_| Err(Error::internal()));
        let outcome = match outcome {
            Ok(answer) => Outcome::Answer(RawJson::from_value(&answer)),
            Err(error) => Outcome::Error(error),
        };
        RpcEnvelope { outcome, side_effects: context.effects_for_log() }
            .print()
            .map(JsValue::from)
            .map_err(JsValue::from)
    }))
}

/// Runs the work of an alarm, and returns whether it succeeded. Writes a log line, with `log_fields`, where the work
/// had side effects or failed. After a failure, `worker.mjs` sets the alarm again.
pub(super) fn run_alarm(
    log_fields: impl FnOnce() -> Vec<(&'static str, String)> + 'static,
    work: impl Future<Output = Result<()>> + 'static,
) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let context = CallContext::new(correlation_id());
        let started = WorkerClock.now();
        let work = AssertUnwindSafe(context.scope(work)).catch_unwind();
        let outcome = work.await.unwrap_or_else(|_| Err(Error::internal()));
        let side_effects = context.effects_for_log();
        if outcome.is_err() || !side_effects.is_empty() {
            let mut line = LogLine::of("alarm", &context.correlation_id);
            for (name, value) in log_fields() {
                line.add(name, value);
            }
            line.add("durationMs", WorkerClock.now().millis_since(started));
            match &outcome {
                Ok(()) => line.add("outcome", "success"),
                Err(error) => log_error(&mut line, error),
            }
            line.with_side_effects(&side_effects).write();
        }
        Ok(outcome.is_ok().into())
    }))
}

fn other_target<S: ObjectService>() -> Error {
    Error::protocol(&format!("an operation for another {}", S::KIND))
}
