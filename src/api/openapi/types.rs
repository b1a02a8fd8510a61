//! The types that options and answers are made of, as components of the document.

use serde_json::{Map, Value, json};

use super::mcp;
use crate::model::Code;

/// The types of the operations, and those that only routes have.
pub fn components(types: Map<String, Value>) -> Value {
    let types = types.into_iter().map(|(name, schema)| {
        let schema = referring(schema);
        let schema = match name.as_str() {
            "Problem" => as_problem(schema),
            "Code" => with(schema, "x-meanings", meanings()),
            // It is the SDK's, which may put more into it.
            "BackupHandle" => with(schema, "additionalProperties", json!(true)),
            _ => schema,
        };
        (name, schema)
    });
    Value::Object(types.chain(mcp::schemas()).collect())
}

/// A schema whose references are to components of the document.
pub fn referring(schema: Value) -> Value {
    match schema {
        Value::String(text) => match text.strip_prefix("#/$defs/") {
            Some(name) => json!(format!("#/components/schemas/{name}")),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(referring).collect(),
        Value::Object(members) => members.into_iter().map(|(name, member)| (name, referring(member))).collect(),
        other => other,
    }
}

/// What each code means.
fn meanings() -> Value {
    Code::ALL.iter().map(|code| (code.as_str().to_owned(), json!(code.meaning().trim()))).collect()
}

/// An error as it is over HTTP, where it has the members of RFC 9457 too.
fn as_problem(error: Value) -> Value {
    let members = json!({
        "type": { "description": "The code as a URI.", "type": "string", "format": "uri" },
        "title": { "description": "The code in words.", "type": "string" },
        "status": { "description": "The HTTP status.", "type": "integer", "minimum": 400, "maximum": 599 },
        "detail": { "description": "What happened, to what: the same as `message`.", "type": "string" },
    });
    let mut problem =
        with(error, "description", json!("An error over HTTP, as RFC 9457 has it, with members of its own."));
    if let (Some(Value::Array(required)), Value::Object(members)) = (problem.get_mut("required"), &members) {
        required.extend(members.keys().map(|name| json!(name)));
    }
    if let (Some(Value::Object(properties)), Value::Object(members)) = (problem.get_mut("properties"), members) {
        properties.extend(members);
    }
    problem
}

/// A value with a member more.
fn with(mut value: Value, name: &str, member: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.insert(name.to_owned(), member);
    }
    value
}
