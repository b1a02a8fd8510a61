//! JSON values, converted between Rust and JavaScript by way of JSON text.

use js_sys::JSON;
use serde_json::Value;
use wasm_bindgen::JsValue;

use crate::model::json::{self, RawJson};

/// Converts a JSON value to a JavaScript value.
pub fn to_js(value: &Value) -> Result<JsValue, JsValue> {
    JSON::parse(&json::value_to_string(value))
}

/// Converts JSON text to a JavaScript value.
pub fn raw_json_to_js(text: &RawJson) -> Result<JsValue, JsValue> {
    JSON::parse(text.as_str())
}

/// Converts a JavaScript value to a JSON value. A value that JSON cannot represent becomes null.
pub fn from_js(value: &JsValue) -> Result<Value, JsValue> {
    let text = JSON::stringify(value)?.as_string().unwrap_or_else(|| "null".to_owned());
    serde_json::from_str(&text).map_err(|error| JsValue::from(error.to_string()))
}
