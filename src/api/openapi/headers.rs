//! The headers of responses.

use serde_json::{Map, Value, json};

/// The header that every response has.
pub const CONTENT_TYPE_OPTIONS: &str = "X-Content-Type-Options";

/// Returns the headers of a response of an operation with this status.
pub fn for_status(status: u16) -> Value {
    references(["X-Correlation-Id", "Cache-Control", CONTENT_TYPE_OPTIONS].into_iter().chain(status_header(status)))
}

/// Returns the additional header of a status.
pub fn status_header(status: u16) -> Option<&'static str> {
    match status {
        401 => Some("WWW-Authenticate"),
        405 => Some("Allow"),
        _ => None,
    }
}

/// Returns references to the headers with these names.
pub fn references<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    let reference = |name: &str| (name.to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }));
    Value::Object(names.into_iter().map(reference).collect())
}

/// Returns the definitions of the headers.
pub fn components() -> Value {
    let header = |name: &str, description: &str, schema: Value| {
        (name.to_owned(), json!({ "description": description, "required": true, "schema": schema }))
    };
    Value::Object(Map::from_iter([
        header(
            "X-Correlation-Id",
            "The id of the call in the log of the Worker.",
            json!({ "type": "string", "pattern": "^[0-9a-f]{16}$" }),
        ),
        header("Cache-Control", "Responses are not cached.", json!({ "const": "no-store" })),
        header(CONTENT_TYPE_OPTIONS, "Browsers do not guess another media type.", json!({ "const": "nosniff" })),
        header(
            "WWW-Authenticate",
            "The authentication scheme that the route requires.",
            json!({ "type": "string", "pattern": "^Bearer" }),
        ),
        header("Allow", "The methods that the route accepts.", json!({ "type": "string" })),
        header("ETag", "The version of the page.", json!({ "type": "string" })),
    ]))
}
