//! The operations as routes.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::problems::Responses;
use super::types::referring;
use super::{Example, codes, headers};
use crate::api::operations::{MAX_ARGUMENTS, Operation};
use crate::api::schema::Terms;

/// A path for each operation, by its schemas.
pub fn paths(operations: &[Terms], examples: &[Example], shared: &mut Responses) -> Map<String, Value> {
    let path = |terms: &Terms| {
        let example = examples.iter().find(|example| example.operation == terms.operation);
        let route = route(terms, example, shared);
        (format!("/v1/{}", terms.operation.name()), json!({ "post": route }))
    };
    operations.iter().map(path).collect()
}

fn route(terms: &Terms, example: Option<&Example>, shared: &mut Responses) -> Value {
    let Terms { operation, summary, options, answer } = terms;
    let first = summary.split_once(". ").map_or(*summary, |(first, _)| first);
    let done = json!({
        "description": "It is done.",
        "headers": headers::of(200),
        "content": { "application/json": body(answer, example.map(|example| &example.answer)) },
    });
    let mut responses = Map::from_iter([("200".to_owned(), done)]);
    responses.extend(shared.of(&format!("{operation:?}"), &codes(*operation)));
    json!({
        "operationId": id(*operation),
        "tags": [group(*operation)],
        "summary": first.trim_end_matches('.'),
        "description": summary,
        "requestBody": {
            "required": true,
            "description": format!("The options, in at most {MAX_ARGUMENTS} bytes."),
            "content": { "application/json": body(options, example.map(|example| &example.options)) },
        },
        "responses": responses,
    })
}

fn body(schema: &Schema, example: Option<&Value>) -> Value {
    json!({ "schema": referring(json!(schema)), "example": example })
}

/// The name that generated clients call it by: `createWorkspace`.
fn id(operation: Operation) -> String {
    let name = format!("{operation:?}");
    let mut letters = name.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// The tag that it is shown under.
fn group(operation: Operation) -> &'static str {
    match (operation, operation.name().split_once('/')) {
        (Operation::Sweep | Operation::Health, _) => "deployment",
        (_, Some(("workspaces", _))) => "workspaces",
        (_, Some(("checkpoints", _))) => "checkpoints",
        (_, Some(_)) => "tools",
        (_, None) => "snapshots",
    }
}
