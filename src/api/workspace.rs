//! The Workspace object, which does the work for one sandbox.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use js_sys::Promise;
use js_sys::futures::future_to_promise;
use serde::Serialize;
use serde_json::Value;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::prelude::*;
use worker::Env;

use super::operations::{Operation, run};
use crate::cloudflare::Deployment;
use crate::cloudflare::deployment::Platform;
use crate::cloudflare::runtime::abort_of;
use crate::cloudflare::workspaces::Outcome;
use crate::model::{Code, Error, Result};
use crate::service::{Abort, CloudflareSandboxSnapshotter};

/// The Rust side of the Durable Object class `Workspace`. It lives as long as the object is in memory, and so do the
/// guards of its snapshotter.
#[wasm_bindgen]
pub struct Workspace {
    snapshotter: AssertUnwindSafe<Result<CloudflareSandboxSnapshotter<Platform>>>,
}

#[wasm_bindgen]
impl Workspace {
    /// The object, as the runtime makes it.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::needless_pass_by_value)] // The shape of what JavaScript calls.
    pub fn new(ctx: JsValue, env: Env) -> Self {
        let snapshotter = Deployment::open(&env, ctx).map(|deployment| deployment.snapshotter().clone());
        Self { snapshotter: AssertUnwindSafe(snapshotter) }
    }

    /// Carries an operation out; `signal` is an `AbortSignal` or undefined. Answers an [`Outcome`], and never throws.
    pub fn perform(&self, operation: String, arguments: JsValue, signal: JsValue) -> Promise {
        let snapshotter = (*self.snapshotter).clone();
        future_to_promise(AssertUnwindSafe(async move {
            let work = async move {
                let operation = Operation::by_name(&operation).ok_or_else(|| unexpected("the operation"))?;
                let arguments: Value =
                    serde_wasm_bindgen::from_value(arguments).map_err(|_| unexpected("the arguments"))?;
                let abort = signal.dyn_ref().map_or_else(Abort::never, abort_of);
                run(&snapshotter?, operation, &arguments, abort).await
            };
            let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::defect()));
            let outcome = match outcome {
                Ok(answer) => Outcome::Answer(answer),
                Err(error) => Outcome::Error(error),
            };
            Ok(outcome.serialize(&Serializer::json_compatible())?)
        }))
    }
}

fn unexpected(what: &str) -> Error {
    Error::new(
        Code::Internal,
        format!("The workspace was given something else than expected: {what}."),
        "Deploy the entrypoint and the Workspace class in one version.",
    )
}
