//! JSON values, converted between Rust and JavaScript.
//!
//! Arguments of callers are converted value by value, because JSON text would lose some of them silently. Everything else
//! is written by this Worker or the SDK, and passes as JSON text, which is faster.

use std::cell::Cell;

use js_sys::{Array, JSON, JsString, Object, Reflect};
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};

use crate::model::json::{self, RawJson};

/// How deeply the arguments of a caller may be nested.
const MAX_DEPTH: usize = 64;

const NOT_JSON: &str = "they contain a value that JSON cannot represent";

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

/// Converts the arguments of a caller to a JSON value. Members that are undefined are absent.
///
/// # Errors
/// The reason, for arguments that JSON cannot represent (functions, `BigInt`, `Map`, `Date`, `NaN`, half a
/// surrogate pair…), that are nested
/// more than 64 levels deep or contain themselves, or that have more than `max_values` values.
pub fn from_caller(value: &JsValue, max_values: usize) -> Result<Value, String> {
    let plain = PlainCopy { values_left: Cell::new(max_values) }.of(value, MAX_DEPTH)?;
    json::read_untrusted(serde_wasm_bindgen::Deserializer::from(plain)).map_err(|error| error.to_string())
}

/// Copies a value without its undefined members. Refuses what `serde-wasm-bindgen` would read as something else, and what
/// it would never finish to read.
struct PlainCopy {
    values_left: Cell<usize>,
}

impl PlainCopy {
    fn of(&self, value: &JsValue, levels: usize) -> Result<JsValue, &'static str> {
        self.values_left.set(self.values_left.get().checked_sub(1).ok_or("they have too many values")?);
        let is_scalar = value.is_null()
            || value.is_undefined()
            || value.as_bool().is_some()
            || value.as_f64().is_some_and(f64::is_finite)
            || value.dyn_ref().is_some_and(JsString::is_valid_utf16);
        if is_scalar {
            return Ok(value.clone());
        }
        let levels = levels.checked_sub(1).ok_or("they are nested more than 64 levels deep, or contain themselves");
        if let Some(list) = value.dyn_ref::<Array>() {
            let levels = levels?;
            let copies = list.iter().map(|item| self.of(&item, levels));
            return copies.collect::<Result<Array, _>>().map(Into::into);
        }
        if !is_plain_object(value) {
            return Err("they contain a value that JSON cannot represent");
        }
        // Without a prototype, a member with the name "__proto__" is one like any other.
        let (levels, copy) = (levels?, Object::create(JsValue::NULL.unchecked_ref::<Object>()));
        for member in Object::entries(value.unchecked_ref()).iter() {
            let member: Array = member.unchecked_into();
            let (name, value) = (member.get(0), member.get(1));
            if !name.dyn_ref().is_some_and(JsString::is_valid_utf16) {
                return Err(NOT_JSON);
            }
            if !value.is_undefined() {
                // The definition of a property of a new object cannot fail.
                let _ = Reflect::set(&copy, &name, &self.of(&value, levels)?);
            }
        }
        Ok(copy.into())
    }
}

fn is_plain_object(value: &JsValue) -> bool {
    value.is_object() && {
        let prototype = Object::get_prototype_of(value);
        prototype.is_null() || prototype == Object::get_prototype_of(&Object::new())
    }
}
