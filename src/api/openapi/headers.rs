//! Headers of answers.

use serde_json::{Map, Value, json};

/// The header of every answer.
pub const NOSNIFF: &str = "X-Content-Type-Options";

/// Those of an answer of an operation, with this status.
pub fn of(status: u16) -> Value {
    named(["X-Correlation-Id", "Cache-Control", NOSNIFF].into_iter().chain(by_status(status)))
}

/// The one that a status brings with it.
pub fn by_status(status: u16) -> Option<&'static str> {
    match status {
        401 => Some("WWW-Authenticate"),
        405 => Some("Allow"),
        _ => None,
    }
}

/// Those with these names, by reference.
pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    let reference = |name: &str| (name.to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }));
    Value::Object(names.into_iter().map(reference).collect())
}

/// What each is.
pub fn components() -> Value {
    let header = |name: &str, description: &str, schema: Value| {
        (name.to_owned(), json!({ "description": description, "required": true, "schema": schema }))
    };
    Value::Object(Map::from_iter([
        header(
            "X-Correlation-Id",
            "By which the call is found in the log of the Worker.",
            json!({ "type": "string", "pattern": "^[0-9a-f]{16}$" }),
        ),
        header("Cache-Control", "No answer is kept.", json!({ "const": "no-store" })),
        header(NOSNIFF, "The type of an answer is the one that it has.", json!({ "const": "nosniff" })),
        header("WWW-Authenticate", "What the route wants.", json!({ "type": "string", "pattern": "^Bearer" })),
        header("Allow", "The methods that the route takes.", json!({ "type": "string" })),
        header("ETag", "Changes with the page.", json!({ "type": "string" })),
    ]))
}
