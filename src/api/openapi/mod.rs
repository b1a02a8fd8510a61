//! The routes as an `OpenAPI` document, version 3.1. Built only with the feature `schema`, on the build machine.
//!
//! - `operations`: the routes under `/v1`
//! - `downloads`: the routes of downloads, whose options are in the query
//! - `pages`: the web pages, and the route for monitoring
//! - `mcp`: the route for language models
//! - `error_codes`: the errors of each operation
//! - `problems`: the error responses
//! - `headers`: the headers of responses
//! - `types`: the types of options and answers; `flatten`: without types that extend others
//!
//! Source: the `OpenAPI` Specification, version 3.1.1.

mod downloads;
mod error_codes;
mod flatten;
mod headers;
mod mcp;
mod operations;
mod pages;
mod problems;
mod types;

use serde_json::{Value, json};

pub use error_codes::{codes_of_downloads, error_codes};
use problems::Responses;

use super::operations::Operation;
use super::schema::Schemas;
use crate::model::Code;

/// The description of the API, which applies to all operations.
const DESCRIPTION: &str = "Snapshots of Cloudflare Sandboxes: capture a directory of a running sandbox, restore it into a \
    new sandbox, branch from it, and use named workspaces and checkpoints.

Every operation is `POST /v1/<name>` with its options as one JSON object, and the header `Authorization: Bearer <token>`: \
    the API_TOKEN of the deployment, or a token from `tokens/create` with the permission that the operation names. \
    Downloads are `GET /v1/files/download` and `GET /v1/files/export`, with their options in the query. \
    The Worker refuses unknown options. Later versions may add fields to answers, and may add error codes: ignore those that \
    you do not know.

Every error is `application/problem+json` (RFC 9457). Programs switch on its `code`. `retryable` says whether the same call \
    may succeed later. `correlationId` is also in the log of the Worker.";

/// A recorded call of an operation.
pub struct Example {
    /// The operation.
    pub operation: Operation,
    /// Its options.
    pub options: Value,
    /// Its answer.
    pub answer: Value,
}

/// Returns the document, with these examples.
pub fn document(examples: &[Example]) -> Value {
    let Schemas { operations, types, .. } = Schemas::new();
    let types = types::closed(flatten::flatten(&types), &operations);
    let mut responses = Responses::default();
    responses.for_codes("", &[Code::RouteNotFound]);
    let mut paths = operations::paths(&operations, examples, &mut responses);
    paths.extend(downloads::paths(&mut responses));
    paths.extend(pages::paths(examples));
    paths.extend(mcp::paths());
    let responses = responses.components();
    let mut schemas = types::components(types);
    flatten::retain_referenced(&mut schemas, &json!([paths, responses]));
    json!({
        "openapi": "3.1.1",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": env!("CARGO_PKG_NAME"),
            "version": env!("CARGO_PKG_VERSION"),
            "summary": env!("CARGO_PKG_DESCRIPTION"),
            "description": DESCRIPTION,
            "license": { "name": "Apache License 2.0", "identifier": env!("CARGO_PKG_LICENSE") },
        },
        "servers": [{ "url": "/", "description": "The Worker that serves this document." }],
        "security": [{ "bearer": [] }],
        "tags": tags(),
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "The secret API_TOKEN of the Worker, which permits everything, or a token from `tokens/create`, which \
                    permits what its permissions name in its workspaces. `/mcp` also accepts a token from `tools/grant`.",
            } },
            "headers": headers::components(),
            "responses": responses,
            "schemas": schemas,
        },
    })
}

fn tags() -> Value {
    json!([
        { "name": "snapshots", "description": "Snapshots of sandboxes: take, list, restore, compare, pin and delete." },
        { "name": "retention", "description": "Which snapshots stay, what they derive from, and what they cost." },
        { "name": "commands", "description": "Commands in sandboxes and workspaces." },
        { "name": "files", "description": "Files of snapshots, which are read without a container, and of running sandboxes." },
        { "name": "workspaces", "description": "Named workspaces, whose files persist while sandboxes are created and destroyed." },
        { "name": "checkpoints", "description": "Restore points within one running sandbox." },
        { "name": "tools", "description": "Tools for language models." },
        { "name": "tokens", "description": "Access tokens with permissions, for all workspaces of a tenant or for some of them." },
        { "name": "deployment", "description": "The Worker itself." },
    ])
}
