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

/// Calls a method on a fresh stub of the object that is called `name`.
pub async fn call(
    namespace: &ObjectNamespace,
    name: &str,
    method: &str,
    arguments: &Array,
) -> Result<JsValue, Failure> {
    let stub = namespace.get_by_name(name).map_err(|error| Failure::new("Error", &error.to_string()))?;
    invoke(&stub.into_rpc(), method, arguments).await.map_err(|thrown| failure(&thrown))
}

/// JSON values as the arguments of a method.
pub fn list(arguments: &[Value]) -> Result<Array, Failure> {
    let list = Array::new();
    for argument in arguments {
        list.push(&to_js(argument).map_err(|thrown| failure(&thrown))?);
    }
    Ok(list)
}

async fn invoke(stub: &JsValue, method: &str, arguments: &Array) -> Result<JsValue, JsValue> {
    let function: Function = Reflect::get(stub, &method.into())?.dyn_into()?;
    JsFuture::from(Promise::resolve(&Reflect::apply(&function, stub, arguments)?)).await
}
