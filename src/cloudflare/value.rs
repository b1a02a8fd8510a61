//! JSON values on either side of the border to JavaScript, which they pass as text.

use js_sys::JSON;
use serde_json::Value;
use wasm_bindgen::JsValue;

use crate::model::json::{self, Printed};

/// As JavaScript has it.
pub fn to_js(value: &Value) -> Result<JsValue, JsValue> {
    JSON::parse(&json::text(value))
}

/// As JavaScript has it.
pub fn printed_to_js(printed: &Printed) -> Result<JsValue, JsValue> {
    JSON::parse(printed.as_str())
}

/// As Rust has it. What JSON has no form for is null.
pub fn from_js(value: &JsValue) -> Result<Value, JsValue> {
    let text = JSON::stringify(value)?.as_string().unwrap_or_else(|| "null".to_owned());
    serde_json::from_str(&text).map_err(|error| JsValue::from(error.to_string()))
}
