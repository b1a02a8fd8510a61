//! Calls of the methods of a Durable Object.
//!
//! The calls use [`Reflect::apply`], because the functions of a stub proxy `call` too. Their answers are thenables, but
//! not promises.

use js_sys::futures::JsFuture;
use js_sys::{Array, Function, Promise, Reflect};
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};
use worker::ObjectNamespace;

use super::js_error::to_failure;
use super::value::to_js;
use crate::model::Failure;

/// Returns a new stub of the object with the name `name`.
pub fn get(namespace: &ObjectNamespace, name: &str) -> Result<JsValue, Failure> {
    let stub = namespace.get_by_name(name).map_err(|error| Failure::new("Error", &error.to_string()))?;
    Ok(stub.into_rpc())
}

/// Calls a method of a stub, of an answer or of a pending answer, and waits for its answer.
pub async fn call(target: &JsValue, method: &str, arguments: &Array) -> Result<JsValue, Failure> {
    await_answer(&start_call(target, method, arguments)?).await
}

/// Waits for a pending answer.
pub async fn await_answer(pending: &JsValue) -> Result<JsValue, Failure> {
    JsFuture::from(Promise::resolve(pending)).await.map_err(|thrown| to_failure(&thrown))
}

/// Calls a method and returns its pending answer, on which the caller can pipeline further calls.
pub fn start_call(target: &JsValue, method: &str, arguments: &Array) -> Result<JsValue, Failure> {
    let call = || -> Result<JsValue, JsValue> {
        let function: Function = Reflect::get(target, &method.into())?.dyn_into()?;
        Reflect::apply(&function, target, arguments)
    };
    call().map_err(|thrown| to_failure(&thrown))
}

/// Converts JSON values to the arguments of a method.
pub fn js_arguments(arguments: &[Value]) -> Result<Array, Failure> {
    let list = Array::new();
    for argument in arguments {
        list.push(&to_js(argument).map_err(|thrown| to_failure(&thrown))?);
    }
    Ok(list)
}
