//! The log: one line of JSON for each piece of work. Ids, sizes and outcomes; never content, labels or secrets.

use serde_json::{Map, Value, json};

use crate::model::escape::escaped;
use crate::model::json::text;
use crate::service::trace::{Deeds, Trace};

/// How many ids of a kind are named in a line.
const MOST: usize = 20;

/// A line of the log.
#[derive(Debug)]
pub struct Line(Map<String, Value>);

impl Line {
    /// A line about `event`, by the correlation id of the call that it is for.
    pub fn of(event: &str, correlation_id: &str) -> Self {
        Self(Map::from_iter([("event".into(), json!(event)), ("correlationId".into(), json!(correlation_id))]))
    }

    /// A line about `event`, in the work that is being done.
    pub fn here(event: &str) -> Self {
        Trace::current().map_or_else(
            || Self(Map::from_iter([("event".into(), json!(event))])),
            |trace| Self::of(event, &trace.correlation_id),
        )
    }

    /// Says one thing more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.add(name, value);
        self
    }

    /// Says one thing more.
    pub fn add(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    /// Says what was done: how often it was tried, and for each kind how many there were, and the first of them.
    #[must_use]
    pub fn with_deeds(mut self, deeds: &Deeds) -> Self {
        self.add("attempts", deeds.attempts);
        for (name, ids) in [
            ("letGo", json!(deeds.let_go)),
            ("adopted", json!(deeds.adopted)),
            ("discarded", json!(deeds.discarded)),
            ("ended", json!(deeds.ended)),
        ] {
            if let Value::Array(mut ids) = ids
                && !ids.is_empty()
            {
                let count = ids.len();
                ids.truncate(MOST);
                self.add(name, json!({ "count": count, "ids": ids }));
            }
        }
        self
    }

    /// Writes it. An id that an application chose can't break the line, or change the order in which it is shown.
    pub fn write(self) {
        web_sys::console::log_1(&escaped(&text(&Value::Object(self.0))).as_ref().into());
    }
}
