//! What the classes of this Worker's own Durable Objects have in common.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use js_sys::Promise;
use js_sys::futures::future_to_promise;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use super::tell::{add_error, correlation_id};
use crate::cloudflare::log::Line;
use crate::cloudflare::runtime::WorkerClock;
use crate::cloudflare::workspaces::{Outcome, Reply};
use crate::model::json::Printed;
use crate::model::{Code, Error, Result};
use crate::ports::Clock;
use crate::service::trace::Trace;

/// Resets this module where that is due after a trap, so that no pointer into the old one is used.
#[wasm_bindgen]
pub fn touch() {}

/// A [`Reply`] as text, to a call with a correlation id. It never throws: an exception would lose what an error carries.
pub(super) fn answer(correlation_id: String, work: impl Future<Output = Result<Value>> + 'static) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let trace = Trace::new(correlation_id);
        let outcome =
            AssertUnwindSafe(trace.within(work)).catch_unwind().await.unwrap_or_else(|_| Err(Error::defect()));
        let outcome = match outcome {
            Ok(answer) => Outcome::Answer(Printed::of(&answer)),
            Err(error) => Outcome::Error(error),
        };
        Reply { outcome, deeds: trace.tell() }.print().map(JsValue::from).map_err(JsValue::from)
    }))
}

/// What an alarm came to, for the object that `whose` names: whether all was done. A line tells of it where something was done or
/// failed. What could not be done is to be tried again: see `entry.mjs`.
pub(super) fn alarm(
    whose: impl FnOnce() -> Vec<(&'static str, String)> + 'static,
    work: impl Future<Output = Result<()>> + 'static,
) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let trace = Trace::new(correlation_id());
        let started = WorkerClock.now();
        let work = AssertUnwindSafe(trace.within(work)).catch_unwind();
        let outcome = work.await.unwrap_or_else(|_| Err(Error::defect()));
        let deeds = trace.tell();
        if outcome.is_err() || !deeds.is_nothing() {
            let mut line = Line::of("alarm", &trace.correlation_id);
            for (name, value) in whose() {
                line.add(name, value);
            }
            line.add("durationMs", WorkerClock.now().millis_since(started));
            match &outcome {
                Ok(()) => line.add("outcome", "success"),
                Err(error) => add_error(&mut line, error),
            }
            line.with_deeds(&deeds).write();
        }
        Ok(outcome.is_ok().into())
    }))
}

/// The error of who calls an object with what it does not take.
pub(super) fn unexpected(what: &str) -> Error {
    Error::new(
        Code::Internal,
        format!("The workspace was given {what}."),
        "Call the entrypoint of this Worker, and nothing behind it.",
    )
}
