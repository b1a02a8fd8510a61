//! The options of the operations, as JSON.

use serde::Serialize;
use serde_json::Value;

use crate::model::json;

/// The options of an operation: one of the types in [`model::request`](crate::model::request).
pub trait Options {
    /// Returns the options as JSON, without those that are absent.
    fn to_json(&self) -> Value;
}

impl<T: Serialize> Options for T {
    fn to_json(&self) -> Value {
        let mut options = json::to_value(self).unwrap_or_default();
        if let Value::Object(fields) = &mut options {
            fields.retain(|_, value| !value.is_null());
        }
        options
    }
}
