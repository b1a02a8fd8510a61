//! Errors as JavaScript exceptions.

use js_sys::Object;
use serde_json::json;
use wasm_bindgen::{JsCast, JsValue};

use crate::cloudflare::value::to_js;
use crate::model::Error;

/// The `name` of every exception that this Worker throws.
const EXCEPTION_NAME: &str = "SnapshotterError";

/// Converts an error to an exception with the members of the error as own properties. A caller with an older
/// compatibility date, or over the registry of `wrangler dev`, receives only the message, so the message starts with the code and
/// ends with the remediation.
pub(super) fn to_exception(error: &Error, correlation_id: &str) -> JsValue {
    let message = error.to_text();
    let exception = js_sys::Error::new(&message);
    exception.set_name(EXCEPTION_NAME);
    if let Ok(body) = to_js(&json!(error.body(correlation_id))) {
        Object::assign(&exception, body.unchecked_ref());
        exception.set_message(&message);
    }
    exception.into()
}
