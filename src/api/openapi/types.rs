//! The types that options and answers refer to, as components of the document.

use serde_json::{Map, Value, json};

use super::mcp;
use crate::api::schema::OperationSchema;
use crate::model::Code;

/// Returns the types of the operations, and those that only routes use.
pub fn components(types: Map<String, Value>) -> Map<String, Value> {
    let types = types.into_iter().map(|(name, schema)| {
        let schema = with_component_refs(schema);
        let schema = match name.as_str() {
            "Problem" => as_problem(schema),
            "Code" => with_member(schema, "x-meanings", meanings()),
            // The SDK defines the handle, and may add members.
            "BackupHandle" => with_member(schema, "additionalProperties", json!(true)),
            _ => schema,
        };
        (name, schema)
    });
    types.chain(mcp::schemas()).collect()
}

/// Returns the types where those of options permit no further properties.
pub fn closed(mut types: Map<String, Value>, operations: &[OperationSchema]) -> Map<String, Value> {
    for OperationSchema { options, .. } in operations {
        if let Some(name) = options.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"))
            && let Some(schema) = types.get_mut(name)
        {
            *schema = with_member(schema.take(), "additionalProperties", json!(false));
        }
    }
    types
}

/// Replaces the references of a schema with references to components of the document.
pub fn with_component_refs(schema: Value) -> Value {
    match schema {
        Value::String(text) => match text.strip_prefix("#/$defs/") {
            Some(name) => json!(format!("#/components/schemas/{name}")),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(with_component_refs).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, member)| (name, with_component_refs(member))).collect()
        }
        other => other,
    }
}

/// Returns the meaning of each code.
fn meanings() -> Value {
    Code::ALL.iter().map(|code| (code.as_str().to_owned(), json!(code.meaning().trim()))).collect()
}

/// Converts the schema of an error to that of an HTTP error, which also has the members of RFC 9457.
fn as_problem(error: Value) -> Value {
    let members = json!({
        "type": { "description": "The code as a URI.", "type": "string", "format": "uri" },
        "title": { "description": "The code as a title.", "type": "string" },
        "status": { "description": "The HTTP status.", "type": "integer", "minimum": 400, "maximum": 599 },
        "detail": { "description": "What failed, for which object: the same as `message`.", "type": "string" },
    });
    let mut problem = with_member(
        error,
        "description",
        json!("An error over HTTP: a problem document of RFC 9457 with additional members."),
    );
    if let (Some(Value::Array(required)), Value::Object(members)) = (problem.get_mut("required"), &members) {
        required.extend(members.keys().map(|name| json!(name)));
    }
    if let (Some(Value::Object(properties)), Value::Object(members)) = (problem.get_mut("properties"), members) {
        properties.extend(members);
    }
    problem
}

/// Adds a member to a value.
fn with_member(mut value: Value, name: &str, member: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.insert(name.to_owned(), member);
    }
    value
}
