//! Calls a Durable Object's methods.
//!
//! By [`Reflect::apply`], since a stub's functions proxy `call` too; and what they answer is thenable, but no promise.

use js_sys::futures::JsFuture;
use js_sys::{Array, Function, Promise, Reflect};
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};
use worker::ObjectNamespace;

use super::thrown::failure;
use super::value::to_js;
use crate::model::Failure;

/// A fresh stub of the object that is called `name`.
pub fn of(namespace: &ObjectNamespace, name: &str) -> Result<JsValue, Failure> {
    let stub = namespace.get_by_name(name).map_err(|error| Failure::new("Error", &error.to_string()))?;
    Ok(stub.into_rpc())
}

/// Calls a method of a stub, or of what was answered or is going to be.
pub async fn call(target: &JsValue, method: &str, arguments: &Array) -> Result<JsValue, Failure> {
    answer(&ask(target, method, arguments)?).await
}

/// Waits for an answer that was asked for.
pub async fn answer(asked: &JsValue) -> Result<JsValue, Failure> {
    JsFuture::from(Promise::resolve(asked)).await.map_err(|thrown| failure(&thrown))
}

/// The same, without waiting for the answer: calls on that can go out with this one.
pub fn ask(target: &JsValue, method: &str, arguments: &Array) -> Result<JsValue, Failure> {
    let call = || -> Result<JsValue, JsValue> {
        let function: Function = Reflect::get(target, &method.into())?.dyn_into()?;
        Reflect::apply(&function, target, arguments)
    };
    call().map_err(|thrown| failure(&thrown))
}

/// JSON values as the arguments of a method.
pub fn list(arguments: &[Value]) -> Result<Array, Failure> {
    let list = Array::new();
    for argument in arguments {
        list.push(&to_js(argument).map_err(|thrown| failure(&thrown))?);
    }
    Ok(list)
}
