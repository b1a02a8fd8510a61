//! The log: one line of JSON for each call or background task. A line has ids, sizes and outcomes; never content,
//! labels or secrets.

use serde_json::{Map, Value, json};

use crate::model::escape::escape;
use crate::model::json::value_to_string;
use crate::service::calls::call_context::{CallContext, SideEffects};

/// The maximum number of ids of a kind in a line.
const MAX_IDS: usize = 20;

/// A line of the log.
#[derive(Debug)]
pub struct LogLine(Map<String, Value>);

impl LogLine {
    /// Returns a line about `event`, with the correlation id of its call.
    pub fn of(event: &str, correlation_id: &str) -> Self {
        Self(Map::from_iter([("event".into(), json!(event)), ("correlationId".into(), json!(correlation_id))]))
    }

    /// Returns a line about `event`, with the correlation id of the current call, if there is one.
    pub fn for_current_call(event: &str) -> Self {
        CallContext::current().map_or_else(
            || Self(Map::from_iter([("event".into(), json!(event))])),
            |context| Self::of(event, &context.correlation_id),
        )
    }

    /// Returns the line with one more member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.add(name, value);
        self
    }

    /// Adds a member.
    pub fn add(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    /// Adds the side effects: the number of attempts, and for each kind the number of ids and the first `MAX_IDS` of
    /// them.
    #[must_use]
    pub fn with_side_effects(mut self, side_effects: &SideEffects) -> Self {
        self.add("attempts", side_effects.attempts);
        for (name, ids) in [
            ("deleted", json!(side_effects.deleted)),
            ("recovered", json!(side_effects.recovered)),
            ("discarded", json!(side_effects.discarded)),
            ("ended", json!(side_effects.ended)),
        ] {
            if let Value::Array(mut ids) = ids
                && !ids.is_empty()
            {
                let count = ids.len();
                ids.truncate(MAX_IDS);
                self.add(name, json!({ "count": count, "ids": ids }));
            }
        }
        self
    }

    /// Writes the line. Escapes it, so that an id from an application cannot break the line or change its display
    /// order.
    pub fn write(self) {
        web_sys::console::log_1(&escape(&value_to_string(&Value::Object(self.0))).as_ref().into());
    }
}
