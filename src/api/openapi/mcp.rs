//! The route for language models.

use serde_json::{Map, Value, json};

use super::headers::CONTENT_TYPE_OPTIONS;
use super::{headers, problems};
use crate::api::mcp::versions;

/// The statuses of refusals, and their conditions.
const REFUSALS: [(u16, &str); 9] = [
    (
        400,
        "The body is not a JSON-RPC 2.0 message, has an unsupported protocol version, or has invalid parameters for its method.",
    ),
    (401, "The token is missing or wrong, was revoked, or has expired."),
    (403, "Web pages of this origin may not use the route: see the var ALLOWED_ORIGINS."),
    (404, "The method does not exist."),
    (406, "The caller does not accept `application/json`."),
    (413, "The message is too large."),
    (415, "The `Content-Type` of the message is not `application/json`."),
    (500, "The configuration of the deployment is invalid, or the Worker has a defect."),
    (503, "The route is closed, because no API_TOKEN is configured; or the token cannot be verified at the moment."),
];

/// Returns the path.
pub fn paths() -> Map<String, Value> {
    let mut responses = Map::from_iter([
        ("200".to_owned(), answer(200, "The result of the request, or its error.", &example_result())),
        (
            "202".to_owned(),
            json!({ "description": "The message was a notification, which has no response message.", "headers": headers::references([CONTENT_TYPE_OPTIONS]) }),
        ),
        (
            "405".to_owned(),
            json!({
                "description": "The route accepts only POST: the server opens no streams.",
                "headers": headers::references(["X-Correlation-Id", CONTENT_TYPE_OPTIONS].into_iter().chain(headers::status_header(405))),
            }),
        ),
    ]);
    responses.extend(
        REFUSALS.map(|(status, condition)| (status.to_string(), answer(status, condition, &example_refusal(status)))),
    );
    responses.sort_keys();
    let route = json!({
        "operationId": "mcp",
        "tags": ["tools"],
        "summary": "The tools over the Model Context Protocol, by Streamable HTTP",
        "description": "Accepts one JSON-RPC 2.0 message per request, of a protocol version up to 2025-11-25 or of 2026-07-28. \
            The Worker keeps no state between requests. A token from `tools/grant` contains its tools, and the URL must then \
            have no query. With another token, the query of the URL selects the tools, and the token must permit them.",
        "parameters": parameters(),
        "requestBody": {
            "required": true,
            "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/JsonRpcMessage" },
                "example": { "jsonrpc": "2.0", "id": 1, "method": "tools/list" },
            } },
        },
        "responses": responses,
    });
    Map::from_iter([("/mcp".to_owned(), json!({ "post": route }))])
}

/// Returns the schemas that only this route uses.
pub fn schemas() -> Map<String, Value> {
    let message = json!({
        "description": "A request, or a notification, which has no `id`.",
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0", "description": "The version of JSON-RPC." },
            "id": { "type": ["string", "integer"], "description": "The id of the request, which the response repeats." },
            "method": { "type": "string", "description": "The method, such as `tools/call`." },
            "params": { "type": "object", "description": "The parameters of the method." },
        },
        "required": ["jsonrpc", "method"],
    });
    let answer = json!({
        "description": "The response to a request: a result or an error.",
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0", "description": "The version of JSON-RPC." },
            "id": { "type": ["string", "integer", "null"], "description": "The id of the request; null if it could not be read." },
            "result": { "type": "object", "description": "The result, in the form that the protocol defines." },
            "error": { "$ref": "#/components/schemas/JsonRpcError", "description": "The error, if there is no result." },
        },
        "required": ["jsonrpc", "id"],
        "oneOf": [{ "required": ["result"] }, { "required": ["error"] }],
    });
    let error = json!({
        "description": "An error of JSON-RPC.",
        "type": "object",
        "properties": {
            "code": { "type": "integer", "description": "The code of JSON-RPC or of the protocol." },
            "message": { "type": "string", "description": "What failed, and what to do about it." },
            "data": { "type": "object", "description": "The `correlationId` of the call, and the error of the snapshotter if there is one." },
        },
        "required": ["code", "message"],
    });
    Map::from_iter(
        [("JsonRpcMessage", message), ("JsonRpcAnswer", answer), ("JsonRpcError", error)]
            .map(|(name, schema)| (name.to_owned(), schema)),
    )
}

fn parameters() -> Value {
    let query = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "query", "description": description, "schema": schema });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let text = || json!({ "type": "string" });
    let header = |name: &str, description: &str| json!({ "name": name, "in": "header", "description": description, "schema": text() });
    let workspace = json!({
        "name": "workspace",
        "in": "query",
        "description": "The name of a workspace to return tools for. Repeat the parameter for several workspaces.",
        "schema": texts(),
        "example": ["notebook"],
    });
    json!([
        query(
            "sandbox",
            "The id of a sandbox to return tools for. Repeat the parameter for several sandboxes.",
            texts()
        ),
        workspace,
        query("tenant", "The tenant of these workspaces.", text()),
        query("dir", "The directory of these sandboxes.", text()),
        query("style", "The style of the tool names.", json!({ "type": "string", "enum": ["namespaced", "flat"] })),
        query("readOnly", "Whether to offer only tools that change nothing.", json!({ "type": "boolean" })),
        query(
            "branch",
            "Whether to offer the tool that creates a branch; true if absent.",
            json!({ "type": "boolean" })
        ),
        json!({
            "name": "MCP-Protocol-Version",
            "in": "header",
            "description": "The version of the protocol.",
            "schema": { "type": "string", "enum": versions() },
        }),
        header("Mcp-Method", "The `method` of the message. Version 2026-07-28 requires it."),
        header("Mcp-Name", "The name of the tool. Version 2026-07-28 requires it for `tools/call`."),
        header("Origin", "The origin of the web page that sends the request, if any."),
    ])
}

fn answer(status: u16, description: &str, example: &Value) -> Value {
    // A successful response may come without an operation, and then has no log line.
    let correlation = (status != 200).then_some("X-Correlation-Id");
    let schema = json!({ "$ref": "#/components/schemas/JsonRpcAnswer" });
    json!({
        "description": description,
        "headers": headers::references(["Cache-Control", CONTENT_TYPE_OPTIONS].into_iter().chain(correlation).chain(headers::status_header(status))),
        "content": { "application/json": { "schema": schema, "example": example } },
    })
}

fn example_result() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } })
}

fn example_refusal(status: u16) -> Value {
    let (code, message) = match status {
        404 => (-32601, "There is no method \"resources/list\"."),
        400 => (-32700, "The body cannot be read as JSON: EOF while parsing a value at line 1 column 0."),
        401 => (
            -32600,
            "The bearer token is wrong. Send the header `Authorization: Bearer <token>`, with the API_TOKEN or an access token.",
        ),
        403 => (-32600, "Web pages of this origin may not use this server."),
        406 => (-32600, "`Accept` must include application/json, in addition to text/event-stream."),
        413 => (-32600, "The message is larger than 65536 bytes."),
        415 => (-32600, "Send the message as application/json."),
        503 => (-32600, "The HTTP API is closed, because no API_TOKEN is configured."),
        _ => (-32600, "An internal error occurred in this Worker."),
    };
    let data = json!({ "correlationId": problems::CORRELATION_ID });
    json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message, "data": data } })
}
