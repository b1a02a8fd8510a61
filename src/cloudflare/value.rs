//! JSON values on either side of the border to JavaScript, which they pass as text.

use js_sys::JSON;
use serde_json::Value;
use wasm_bindgen::JsValue;

/// As JavaScript has it.
pub fn to_js(value: &Value) -> Result<JsValue, JsValue> {
    JSON::parse(&value.to_string())
}

/// As Rust has it. What JSON has no form for is null.
pub fn from_js(value: &JsValue) -> Result<Value, JsValue> {
    let text = JSON::stringify(value)?.as_string().unwrap_or_else(|| "null".to_owned());
    serde_json::from_str(&text).map_err(|error| JsValue::from(error.to_string()))
}
