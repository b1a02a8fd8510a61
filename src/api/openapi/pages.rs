//! The routes of the web pages, and the route for monitoring. They require no token.

use serde_json::{Map, Value, json};

use super::{Example, headers};
use crate::api::operations::Operation;
use crate::model::health::{Health, HealthCheck, HealthComponent};
use crate::model::{Code, Timestamp};

/// Returns the paths.
pub fn paths(examples: &[Example]) -> Map<String, Value> {
    let page = |path: &str, id: &str, summary: &str, media_type: &str| {
        let route = |method: &str| {
            json!({
                "operationId": format!("{method}{id}"),
                "tags": ["deployment"],
                "summary": summary,
                "security": [],
                "responses": {
                    "200": page(method, media_type),
                    "304": { "description": "The page has not changed since the version in `If-None-Match`.", "headers": etag() },
                    "405": not_allowed(),
                },
            })
        };
        (path.to_owned(), json!({ "get": route("get"), "head": route("head") }))
    };
    let health = (String::from("/healthz"), health(examples));
    let pages = [
        page("/", "Console", "The console, for browsers", "text/html"),
        page("/docs", "Docs", "This document, as a web page", "text/html"),
        page("/openapi.json", "Document", "This document", "application/json"),
    ];
    [health].into_iter().chain(pages).collect()
}

fn page(method: &str, media_type: &str) -> Value {
    let form = if media_type == "text/html" { "string" } else { "object" };
    let content = json!({ media_type: { "schema": { "type": form } } });
    answer(method, "The page.", &etag(), &content)
}

/// Returns the response for a method other than GET and HEAD.
fn not_allowed() -> Value {
    json!({ "$ref": "#/components/responses/MethodNotAllowed" })
}

fn etag() -> Value {
    headers::references(["ETag", headers::CONTENT_TYPE_OPTIONS])
}

/// Returns a response. A response to HEAD has no content.
fn answer(method: &str, description: &str, headers: &Value, content: &Value) -> Value {
    if method == "head" {
        return json!({ "description": description, "headers": headers });
    }
    json!({ "description": description, "headers": headers, "content": content })
}

fn health(examples: &[Example]) -> Value {
    let healthy = examples.iter().find(|example| example.operation == Operation::Health);
    let response = |method: &str, description: &str, example: Value| {
        let schema = json!({ "$ref": "#/components/schemas/Health" });
        let content = json!({ "application/json": { "schema": schema, "example": example } });
        answer(method, description, &headers::references(["Cache-Control", headers::CONTENT_TYPE_OPTIONS]), &content)
    };
    let route = |method: &str| {
        json!({
            "operationId": format!("{method}Healthz"),
            "tags": ["deployment"],
            "summary": "Checks the configuration of the deployment",
            "description": "For monitoring. Calls nothing: the operation `health` also checks whether the bucket and the list of \
                workspaces respond.",
            "security": [],
            "responses": {
                "200": response(method, "No check failed.", json!(healthy.map(|example| &example.answer))),
                "405": not_allowed(),
                "503": response(method, "A check failed. It contains what was found and what to do about it.", json!(unhealthy_example())),
            },
        })
    };
    json!({ "get": route("get"), "head": route("head") })
}

/// Returns the health of a deployment without a bucket binding.
fn unhealthy_example() -> Health {
    let bucket = HealthCheck::unhealthy(
        HealthComponent::Bucket,
        Code::R2BindingMissing,
        "The R2 bucket is not bound.",
        "Bind it in wrangler.toml as BACKUP_BUCKET, or under the name in the var BACKUP_R2_BINDING.",
    );
    Health::new(env!("CARGO_PKG_VERSION"), Timestamp::from_millis(1_795_150_800_000), vec![bucket])
}
