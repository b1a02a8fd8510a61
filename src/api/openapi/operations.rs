//! The operations as routes.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::problems::Responses;
use super::types::with_component_refs;
use super::{Example, error_codes, headers};
use crate::api::operations::{MAX_ARGUMENTS, Operation};
use crate::api::reference::group;
use crate::api::schema::OperationSchema;

/// Returns a path for each operation.
pub fn paths(operations: &[OperationSchema], examples: &[Example], shared: &mut Responses) -> Map<String, Value> {
    let path = |schema: &OperationSchema| {
        let example = examples.iter().find(|example| example.operation == schema.operation);
        let route = route(schema, example, shared);
        (format!("/v1/{}", schema.operation.name()), json!({ "post": route }))
    };
    operations.iter().map(path).collect()
}

fn route(schema: &OperationSchema, example: Option<&Example>, shared: &mut Responses) -> Value {
    let OperationSchema { operation, options, answer } = schema;
    let summary = operation.summary();
    let first = summary.split_once(". ").map_or(summary, |(first, _)| first);
    let success = json!({
        "description": "The operation succeeded.",
        "headers": headers::for_status(200),
        "content": { "application/json": body(answer, example.map(|example| &example.answer)) },
    });
    let mut responses = Map::from_iter([("200".to_owned(), success)]);
    responses.extend(shared.for_codes(&format!("{operation:?}"), &error_codes(*operation)));
    json!({
        "operationId": operation_id(*operation),
        "tags": [group(*operation)],
        "summary": first.trim_end_matches('.'),
        "description": format!("{summary} {}", permission(*operation)),
        "requestBody": {
            "required": true,
            "description": format!("The options, at most {MAX_ARGUMENTS} bytes."),
            "content": { "application/json": body(options, example.map(|example| &example.options)) },
        },
        "responses": responses,
    })
}

/// Returns the sentence about the permission that an operation needs.
fn permission(operation: Operation) -> String {
    match operation.permission() {
        Some(permission) if matches!(operation, Operation::ListFiles | Operation::StatFile | Operation::ReadFile) => {
            format!("A token needs the permission `{permission}`, and for a running sandbox or a workspace `work`.")
        }
        Some(permission) => format!("A token needs the permission `{permission}`."),
        None => "It needs the API_TOKEN, because it is about all tenants.".to_owned(),
    }
}

fn body(schema: &Schema, example: Option<&Value>) -> Value {
    // The type itself permits no further properties.
    let schema = schema.get("$ref").map_or_else(|| json!(schema), |path| json!({ "$ref": path }));
    json!({ "schema": with_component_refs(schema), "example": example })
}

/// Returns the name of an operation in generated clients, such as `createWorkspace`.
fn operation_id(operation: Operation) -> String {
    let name = format!("{operation:?}");
    let mut letters = name.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
