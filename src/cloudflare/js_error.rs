//! Conversion of JavaScript exceptions to failures.

use js_sys::Reflect;
use wasm_bindgen::JsValue;

use crate::model::Failure;

/// Converts an exception to a failure, whether or not RPC preserved its properties.
pub(super) fn to_failure(thrown: &JsValue) -> Failure {
    let response = property(thrown, "errorResponse");
    let code = text(&response, "code").or_else(|| text(thrown, "code"));
    let name = text(thrown, "name").map(|name| class_name(name, &text(thrown, "stack").unwrap_or_default()));
    let name = name.unwrap_or_else(|| "Error".into());
    let message = text(thrown, "message").or_else(|| thrown.as_string()).unwrap_or_else(|| format!("{thrown:?}"));
    let mut failure = Failure::new(name, &message);
    if let Some(code) = code {
        failure = failure.with_code(code);
    }
    failure.http_status = number(&response, "httpStatus");
    failure.retryable = ["retryable", "overloaded"].iter().any(|flag| property(thrown, flag).is_truthy());
    failure
}

/// Returns the name of the error's class. Where the Worker that threw it has an older compatibility date than this one,
/// only the first line of the stack contains the name.
pub(crate) fn class_name(name: String, stack: &str) -> String {
    if name != "Error" {
        return name;
    }
    let (class, _) = stack.split_once(':').unwrap_or_default();
    let is_class = class.ends_with("Error") && class.chars().all(char::is_alphanumeric);
    if is_class { class.to_owned() } else { name }
}

fn property(of: &JsValue, name: &str) -> JsValue {
    if of.is_object() { Reflect::get(of, &name.into()).unwrap_or_default() } else { JsValue::UNDEFINED }
}

fn text(of: &JsValue, name: &str) -> Option<String> {
    property(of, name).as_string()
}

fn number(of: &JsValue, name: &str) -> Option<u16> {
    let value = property(of, name).as_f64()?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The conversion saturates.
    Some(value as u16)
}
