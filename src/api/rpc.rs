//! The functions that `worker.mjs` calls, for RPC methods. Callers over a service binding may call everything.

use std::future::ready;
use std::panic::AssertUnwindSafe;

use js_sys::futures::future_to_promise;
use js_sys::{Array, Object, Promise, Reflect};
use serde_json::Value;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use worker::Env;

use super::exception::to_exception;
use super::execute::{Answer, Call, execute};
use super::operations::{MAX_ARGUMENTS, Operation, cron_operation};
use crate::cloudflare::value::{from_caller, raw_json_to_js};
use crate::model::{Error, Result, json};
use crate::service::access::Access;

/// Returns the names of the operations. Each is an RPC method.
#[wasm_bindgen]
pub fn operations() -> Vec<String> {
    Operation::ALL.iter().map(|operation| operation.name().to_owned()).collect()
}

/// Calls the operation with the name `name`.
#[wasm_bindgen]
#[allow(clippy::needless_pass_by_value)] // JavaScript passes it by value.
pub fn call(name: String, options: JsValue, env: Env, ctx: JsValue) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let operation = Operation::by_name(&name).ok_or_else(|| to_exception(&Error::internal(), ""))?;
        execute_rpc(operation, options, env, ctx).await
    }))
}

/// Runs the scheduled operation. The cron trigger calls it.
#[wasm_bindgen]
pub fn scheduled(env: Env, ctx: JsValue) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let (operation, arguments) = cron_operation();
        let call = ready(Ok(Call { arguments, signal: JsValue::UNDEFINED, input: None }));
        let Answer { correlation_id, outcome } = execute(operation, Access::Everything, call, &env, ctx).await;
        outcome.map(|_| JsValue::UNDEFINED).map_err(|error| to_exception(&error, &correlation_id))
    }))
}

async fn execute_rpc(
    operation: Operation,
    options: JsValue,
    env: Env,
    ctx: JsValue,
) -> std::result::Result<JsValue, JsValue> {
    let (options, input) = match operation {
        Operation::WriteFile => take_stream(options, CONTENT),
        _ => (options, None),
    };
    let call = take_signal(&options).and_then(|(options, signal)| {
        let arguments = read_arguments(&options)?;
        let arguments = if input.is_some() { without_content(arguments)? } else { arguments };
        Ok(Call { arguments, signal, input })
    });
    let Answer { correlation_id, outcome } = execute(operation, Access::Everything, ready(call), &env, ctx).await;
    match outcome {
        Ok(answer) => raw_json_to_js(&answer),
        Err(error) => Err(to_exception(&error, &correlation_id)),
    }
}

/// The option with the content of a file.
const CONTENT: &str = "content";

/// Completes the options of a write whose content is a stream.
///
/// # Errors
/// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) for options that contain a content too.
pub(super) fn without_content(mut options: Value) -> Result<Value> {
    if let Some(options) = options.as_object_mut()
        && options.insert(CONTENT.to_owned(), String::new().into()).is_some_and(|given| !given.is_null())
    {
        return Err(Error::file_content_twice());
    }
    Ok(options)
}

/// Separates the option `name` from the options, if it is a stream.
pub(super) fn take_stream(options: JsValue, name: &str) -> (JsValue, Option<web_sys::ReadableStream>) {
    let stream =
        if options.is_object() { Reflect::get(&options, &name.into()).unwrap_or_default() } else { JsValue::NULL };
    let Ok(stream) = stream.dyn_into::<web_sys::ReadableStream>() else { return (options, None) };
    let rest = Object::assign(&Object::new(), options.unchecked_ref());
    // The deletion of an own property of a new object cannot fail.
    let _ = Reflect::delete_property(&rest, &name.into());
    (rest.into(), Some(stream))
}

/// Separates the `signal` from the options, and returns the other options and the signal.
pub(super) fn take_signal(options: &JsValue) -> Result<(JsValue, JsValue)> {
    if !options.is_object() || Array::is_array(options) {
        return Ok((options.clone(), JsValue::UNDEFINED));
    }
    let signal = Reflect::get(options, &"signal".into()).unwrap_or_default();
    let rest = Object::assign(&Object::new(), options.unchecked_ref());
    // The deletion of an own property of a new object cannot fail.
    let _ = Reflect::delete_property(&rest, &"signal".into());
    if signal.is_null() || signal.is_undefined() {
        return Ok((rest.into(), JsValue::UNDEFINED));
    }
    if signal.is_instance_of::<web_sys::AbortSignal>() {
        return Ok((rest.into(), signal));
    }
    Err(Error::signal_invalid())
}

/// Converts the options of a call that cannot be aborted.
pub(super) fn read_options(options: &JsValue) -> Result<Value> {
    let (options, _) = take_signal(options)?;
    read_arguments(&options)
}

/// Converts the options to JSON, so that the same arguments have the same meaning as over HTTP.
pub(super) fn read_arguments(options: &JsValue) -> Result<Value> {
    // Each value is at least one byte of JSON.
    let arguments = from_caller(options, MAX_ARGUMENTS).map_err(Error::arguments_not_json)?;
    if json::value_to_string(&arguments).len() > MAX_ARGUMENTS {
        return Err(Error::arguments_too_large(MAX_ARGUMENTS));
    }
    Ok(arguments)
}
