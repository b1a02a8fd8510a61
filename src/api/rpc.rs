//! The functions that `entry.mjs` calls, for RPC methods.

use std::future::ready;
use std::panic::AssertUnwindSafe;

use js_sys::futures::future_to_promise;
use js_sys::{Array, JSON, Object, Promise, Reflect};
use serde_json::Value;
use wasm_bindgen::prelude::*;
use worker::Env;

use super::answer::{Answer, Call, answer};
use super::exception::exception;
use super::operations::{MAX_ARGUMENTS, Operation, cron, too_large};
use crate::cloudflare::value::printed_to_js;
use crate::model::{Code, Error, Result};

/// The names of the operations, each of which is an RPC method.
#[wasm_bindgen]
pub fn operations() -> Vec<String> {
    Operation::ALL.iter().map(|operation| operation.name().to_owned()).collect()
}

/// Calls an operation by its name.
#[wasm_bindgen]
#[allow(clippy::needless_pass_by_value)] // The shape of what JavaScript calls.
pub fn call(name: String, options: JsValue, env: Env, ctx: JsValue) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let operation = Operation::by_name(&name).ok_or_else(|| exception(&Error::defect(), ""))?;
        perform(operation, options, env, ctx).await
    }))
}

/// What the cron trigger calls.
#[wasm_bindgen]
pub fn scheduled(env: Env, ctx: JsValue) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let (operation, arguments) = cron();
        let call = ready(Ok(Call { arguments, signal: JsValue::UNDEFINED }));
        let Answer { correlation_id, outcome } = answer(operation, call, &env, ctx).await;
        outcome.map(|_| JsValue::UNDEFINED).map_err(|error| exception(&error, &correlation_id))
    }))
}

async fn perform(
    operation: Operation,
    options: JsValue,
    env: Env,
    ctx: JsValue,
) -> std::result::Result<JsValue, JsValue> {
    let call = take_signal(&options).and_then(|(options, signal)| Ok(Call { arguments: read(&options)?, signal }));
    let Answer { correlation_id, outcome } = answer(operation, ready(call), &env, ctx).await;
    match outcome {
        Ok(answer) => printed_to_js(&answer),
        Err(error) => Err(exception(&error, &correlation_id)),
    }
}

/// The options without their `signal`, and the signal.
fn take_signal(options: &JsValue) -> Result<(JsValue, JsValue)> {
    if !options.is_object() || Array::is_array(options) {
        return Ok((options.clone(), JsValue::UNDEFINED));
    }
    let signal = Reflect::get(options, &"signal".into()).unwrap_or_default();
    let rest = Object::assign(&Object::new(), options.unchecked_ref());
    // It fails for no own property of a fresh object.
    let _ = Reflect::delete_property(&rest, &"signal".into());
    if signal.is_null() || signal.is_undefined() {
        return Ok((rest.into(), JsValue::UNDEFINED));
    }
    if signal.is_instance_of::<web_sys::AbortSignal>() {
        return Ok((rest.into(), signal));
    }
    Err(Error::new(
        Code::InvalidArgument,
        "`signal` is not an AbortSignal.",
        "Pass an AbortSignal, or none. Across RPC both Workers need the compatibility flag enable_abortsignal_rpc.",
    ))
}

/// JSON as it would come over HTTP: the same arguments mean the same there.
fn read(options: &JsValue) -> Result<Value> {
    let invalid = |why: &str| {
        Error::new(
            Code::InvalidArgument,
            format!("The arguments can't be written as JSON: {why}."),
            "Give one object with the operation's options.",
        )
    };
    let strict = Closure::<dyn FnMut(JsValue, JsValue) -> std::result::Result<JsValue, JsValue>>::new(only_json);
    let text = JSON::stringify_with_replacer(options, strict.as_ref().unchecked_ref())
        .map_err(|_| invalid("they hold a value that JSON has no form for"))?;
    let text = text.as_string().ok_or_else(|| invalid("they are not an object"))?;
    if text.len() > MAX_ARGUMENTS {
        return Err(too_large());
    }
    serde_json::from_str(&text).map_err(|error| invalid(&error.to_string()))
}

/// Refuses what `JSON.stringify` would leave out or turn into `null`.
fn only_json(_key: JsValue, value: JsValue) -> std::result::Result<JsValue, JsValue> {
    let is_lost = value.is_function() || value.is_symbol() || value.as_f64().is_some_and(|number| !number.is_finite());
    if is_lost { Err(JsValue::NULL) } else { Ok(value) }
}
