//! What the classes of this Worker's own Durable Objects have in common.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use js_sys::Promise;
use js_sys::futures::future_to_promise;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use super::answer::refused;
use super::exception::exception;
use crate::cloudflare::workspaces::Outcome;
use crate::model::{Code, Error, Result, json};

/// Resets this module where that is due after a trap, so that no pointer into the old one is used.
#[wasm_bindgen]
pub fn touch() {}

/// An [`Outcome`] as JSON. It never throws: an exception would lose what an error carries.
pub(super) fn answer(work: impl Future<Output = Result<Value>> + 'static) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::defect()));
        let outcome = match outcome {
            Ok(answer) => Outcome::Answer(answer),
            Err(error) => Outcome::Error(error),
        };
        json::print(&outcome).map(JsValue::from).map_err(JsValue::from)
    }))
}

/// What an alarm came to. What could not be done is logged, and done by a later alarm; it throws only where none could be set.
pub(super) fn alarm(work: impl Future<Output = Result<()>> + 'static) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        match work.await {
            Err(error) if matches!(error.code(), Code::LedgerUnavailable | Code::Internal) => {
                Err(exception(&error, &refused("alarm", &error)))
            }
            Err(error) => {
                refused("alarm", &error);
                Ok(JsValue::UNDEFINED)
            }
            Ok(()) => Ok(JsValue::UNDEFINED),
        }
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
