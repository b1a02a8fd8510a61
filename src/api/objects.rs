//! The code that the classes of this Worker's own Durable Objects share.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use js_sys::Promise;
use js_sys::futures::future_to_promise;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use super::access_log::{correlation_id, log_error};
use crate::cloudflare::log::LogLine;
use crate::cloudflare::runtime::WorkerClock;
use crate::cloudflare::workspaces::{Outcome, RpcEnvelope};
use crate::model::json::RawJson;
use crate::model::{Code, Error, Result};
use crate::ports::Clock;
use crate::service::calls::call_context::CallContext;

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
/// had side effects or failed. After a failure, `entry.mjs` sets the alarm again.
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

/// Returns the error for a call with an invalid operation or message.
pub(super) fn protocol(what: &str) -> Error {
    Error::new(
        Code::Internal,
        format!("The Durable Object received {what}."),
        "Call the entrypoint of this Worker, not its Durable Objects.",
    )
}
