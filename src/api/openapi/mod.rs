//! The routes as an `OpenAPI` document, version 3.1. On the build machine only: feature `schema`.
//!
//! - `operations`: those under `/v1`
//! - `pages`: those for people, and for whoever watches the deployment
//! - `mcp`: the one for language models
//! - [`codes`]: which failures an operation can end with
//! - `problems`: these as answers
//! - `headers`: what every answer has
//! - `types`: what options and answers are made of
//!
//! Source: the `OpenAPI` Specification, version 3.1.1.

mod failures;
mod headers;
mod mcp;
mod operations;
mod pages;
mod problems;
mod types;

use serde_json::{Value, json};

pub use failures::codes;
use problems::Responses;

use super::operations::Operation;
use super::schema::Schemas;
use crate::model::Code;

/// What callers of the HTTP API have to know of all operations.
const DESCRIPTION: &str = "Snapshots of Cloudflare Sandboxes: capture a directory of a running sandbox, restore it into a \
    new one, branch from it, and keep workspaces and checkpoints of them.

Every operation is `POST /v1/<name>` with its options as one JSON object, and the header `Authorization: Bearer <API_TOKEN>`. \
    Options that are not known are refused. Answers may get more fields in later versions, and error codes may be added: \
    ignore what you don't know.

Every error is `application/problem+json` (RFC 9457). Programs switch on its `code`; `retryable` says whether the same call \
    may succeed when it is made again; `correlationId` is also in the log of the Worker.";

/// An operation as it was called once.
pub struct Example {
    /// The operation.
    pub operation: Operation,
    /// Its options.
    pub options: Value,
    /// What it answered.
    pub answer: Value,
}

/// The document, with these examples.
pub fn document(examples: &[Example]) -> Value {
    let Schemas { operations, types, .. } = Schemas::new();
    let mut responses = Responses::default();
    responses.of("", &[Code::RouteNotFound]);
    let mut paths = operations::paths(&operations, examples, &mut responses);
    paths.extend(pages::paths(examples));
    paths.extend(mcp::paths());
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
                "description": "The secret API_TOKEN of the Worker. For `/mcp` also a token that `tools/grant` made.",
            } },
            "headers": headers::components(),
            "responses": responses.components(),
            "schemas": types::components(types),
        },
    })
}

fn tags() -> Value {
    json!([
        { "name": "snapshots", "description": "Snapshots of sandboxes: taken, listed, kept, restored and let go." },
        { "name": "workspaces", "description": "Workspaces that persist by a name, across sandboxes that come and go." },
        { "name": "checkpoints", "description": "Points to return to within one running sandbox." },
        { "name": "tools", "description": "Tools for language models." },
        { "name": "deployment", "description": "The Worker itself." },
    ])
}
