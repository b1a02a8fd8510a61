//! Errors of any code, for tests that are about codes and not about what failed.

use sandbox_snapshotter::model::{Code, Error};
use serde_json::json;

/// Reads an error from its serialized form, because no constructor is for every code.
pub fn error(code: Code, message: &str, remediation: &str) -> Error {
    serde_json::from_value(json!({ "code": code, "message": message, "remediation": remediation })).unwrap()
}
