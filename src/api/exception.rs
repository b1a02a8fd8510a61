//! Errors as JavaScript exceptions.

use js_sys::Object;
use serde_json::json;
use wasm_bindgen::{JsCast, JsValue};

use crate::cloudflare::value::to_js;
use crate::model::Error;

/// The `name` of every exception that this Worker throws.
const NAME: &str = "SnapshotterError";

/// An exception with the members of the error as own properties. Callers of an older compatibility date get only
/// its message, so that begins with the code and has all that a person needs.
pub(super) fn exception(error: &Error, correlation_id: &str) -> JsValue {
    let message = format!("{}: {} {}", error.code(), error.message(), error.remediation());
    let exception = js_sys::Error::new(&message);
    exception.set_name(NAME);
    if let Ok(body) = to_js(&json!(error.body(correlation_id))) {
        Object::assign(&exception, body.unchecked_ref());
        exception.set_message(&message);
    }
    exception.into()
}
