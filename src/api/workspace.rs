//! The Workspace object, which does the work for one sandbox.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use js_sys::Promise;
use js_sys::futures::future_to_promise;
use serde_json::Value;
use wasm_bindgen::prelude::*;
use worker::Env;

use super::operations::{Operation, run, workspace_of};
use crate::cloudflare::Deployment;
use crate::cloudflare::deployment::Platform;
use crate::cloudflare::runtime::abort_of;
use crate::cloudflare::workspaces::Outcome;
use crate::model::{Code, Error, Result};
use crate::service::{Abort, CloudflareSandboxSnapshotter};

/// Resets this module where that is due after a trap, so that no pointer into the old one is used.
#[wasm_bindgen]
pub fn touch() {}

/// The Rust side of the Durable Object class `Workspace`. It lives as long as the object is in memory, and so do the
/// guards of its snapshotter.
#[wasm_bindgen]
pub struct Workspace {
    name: Option<String>,
    snapshotter: AssertUnwindSafe<Result<CloudflareSandboxSnapshotter<Platform>>>,
}

#[wasm_bindgen]
impl Workspace {
    /// The object called `name`, as the runtime makes it. The runtime does not know the name of every object.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::needless_pass_by_value)] // The shape of what JavaScript calls.
    pub fn new(name: Option<String>, ctx: JsValue, env: Env) -> Self {
        let snapshotter = Deployment::open(&env, ctx).map(|deployment| deployment.snapshotter().clone());
        Self { name, snapshotter: AssertUnwindSafe(snapshotter) }
    }

    /// Carries an operation out. `arguments` is JSON, `signal` an `AbortSignal` or undefined. Answers an [`Outcome`] as
    /// JSON, and never throws.
    pub fn perform(&self, operation: String, arguments: String, signal: JsValue) -> Promise {
        let (name, snapshotter) = (self.name.clone(), (*self.snapshotter).clone());
        future_to_promise(AssertUnwindSafe(async move {
            let work = async move {
                let operation = Operation::by_name(&operation).ok_or_else(|| unexpected("no operation"))?;
                let arguments: Value = serde_json::from_str(&arguments).map_err(|_| unexpected("no JSON"))?;
                let workspace = workspace_of(operation, &arguments)?;
                if name.is_some_and(|name| name != workspace.as_str()) {
                    return Err(unexpected("another sandbox's operation"));
                }
                let abort = signal.dyn_ref().map_or_else(Abort::never, abort_of);
                run(&snapshotter?, operation, &arguments, abort).await
            };
            let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::defect()));
            let outcome = match outcome {
                Ok(answer) => Outcome::Answer(answer),
                Err(error) => Outcome::Error(error),
            };
            serde_json::to_string(&outcome).map(JsValue::from).map_err(|error| error.to_string().into())
        }))
    }
}

fn unexpected(what: &str) -> Error {
    Error::new(
        Code::Internal,
        format!("The workspace was given {what}."),
        "Call the entrypoint of this Worker, and nothing behind it.",
    )
}
